//! The driver, through cust: safe types that own their context, so several contexts and threads work at the same time.
//! Work goes to named streams, and an error names the operation that failed and its object.

mod library;
mod memory;
mod stream;

use std::ffi::{CString, c_void};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytemuck::Pod;
use cust::context::{Context as CudaContext, CurrentContext};
use cust::device::Device;
pub use cust::device::DeviceAttribute;
use cust::error::CudaResult;
pub use cust::function::FunctionAttribute;
use cust::function::{BlockSize, GridSize};
use cust::module::ModuleJitOption;
use cust::{CudaApiVersion, CudaFlags};

use crate::devices::gpu::driver::memory::{Budget, copy_in};
pub use crate::devices::gpu::driver::memory::{
    Buffer, Pinned, Transfer, Visit, fetched, is_on_device, require_on,
};
pub use crate::devices::gpu::driver::stream::{Event, ForeignStream, GpuStream};
use crate::devices::gpu::driver::stream::{InContext, Operation};
use crate::error::{Error, Result};

/// Initializes the driver. The number of devices, one at least.
pub fn devices() -> Result<usize> {
    let no_gpu = |why: String| Err(Error::NoGpu { why });
    if let Some(why) = library::missing() {
        return no_gpu(format!("no NVIDIA driver (libcuda) on this machine: {why}"));
    }
    let visible = std::env::var("CUDA_VISIBLE_DEVICES")
        .map_or(String::new(), |list| format!("; CUDA_VISIBLE_DEVICES is `{list}`"));
    if cust::init(CudaFlags::empty()).is_err() {
        let failure = library::last_failure();
        let why = if visible.is_empty() { library::meaning() } else { &visible };
        return no_gpu(format!("the driver found no device: {failure}{why}"));
    }
    if let Some(name) = library::lacking() {
        let version =
            driver_version().map_or(String::new(), |version| format!(", for CUDA {version},"));
        return no_gpu(format!("the driver{version} lacks {name}, which one for CUDA 11.4 has"));
    }
    match Device::num_devices().named(|| "device count".into())? {
        0 => no_gpu(format!("the driver found no device{visible}")),
        count => Ok(count as usize),
    }
}

/// Whether the driver's library can be opened.
pub fn is_there() -> bool {
    library::missing().is_none()
}

/// The driver's version of CUDA, as `12.9`.
pub fn driver_version() -> Result<String> {
    let version = CudaApiVersion::get().named(|| "driver version".into())?;
    Ok(format!("{}.{}", version.major(), version.minor()))
}

/// A device's primary context. Everything made in it keeps it alive and may be used on any thread.
#[derive(Clone)]
pub struct Context {
    device: Device,
    context: Arc<CudaContext>,
    budget: Arc<Budget>,
}

impl Context {
    /// Opens device `index`, after [`devices`].
    pub fn open(index: usize) -> Result<Context> {
        let device = Device::get_device(index as u32).named(|| format!("open gpu:{index}"))?;
        let context = CudaContext::new(device);
        let context = Arc::new(context.named(|| format!("context of gpu:{index}"))?);
        let budget = Arc::new(Budget { limit: u64::MAX, taken: AtomicU64::new(0) });
        Ok(Context { device, context, budget })
    }

    /// Limits the total size of all buffers allocated from now on.
    #[must_use]
    pub fn limited(self, limit: u64) -> Context {
        Context { budget: Arc::new(Budget { limit, taken: AtomicU64::new(0) }), ..self }
    }

    pub fn name(&self) -> Result<String> {
        self.device.name().named(|| "device name".into())
    }

    /// The UUID as other tools show it: `GPU-…`.
    pub fn uuid(&self) -> Result<String> {
        let bytes = library::uuid(self.device).named(|| "UUID of the device".into())?;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Ok(format!("GPU-{}", parts.join("-")))
    }

    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<u32> {
        let value = self.device.get_attribute(attribute);
        Ok(value.named(|| format!("device attribute {attribute:?}"))? as u32)
    }

    /// Free and total memory in bytes; with a limit, no more is free than what it leaves.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (free, total) = CurrentContext::set_current(&*self.context)
            .and_then(|()| cust::memory::mem_get_info())
            .named(|| "free memory".into())?;
        Ok((self.budget.left().min(free as u64), total as u64))
    }

    /// Loads a kernel from PTX, with the line information that a profiler needs.
    pub fn function(&self, ptx: &str, symbol: &str) -> Result<Function> {
        let text =
            CString::new(ptx).map_err(|_| Error::driver(LOAD, "the PTX holds a zero byte"))?;
        let options = [ModuleJitOption::GenerateLineInfo(true)];
        let load = || cust::module::Module::from_ptx_cstr(&text, &options);
        let module = InContext::new(&self.context, load).map_err(|_| {
            let code = library::last_failure();
            // cust does not return the compiler's log, so the PTX is loaded once more.
            let log = library::load_log(&text);
            let lines: Vec<&str> = log.trim().lines().take(LOG_LINES).collect();
            Error::driver(LOAD, format!("{code}\n{}", lines.join("\n")))
        })?;
        let look_up = || module.get()?.get_function(symbol);
        let function = look_up().named(|| format!("look-up of kernel {symbol}"))?;
        // SAFETY: only the lifetime changes; the module is stored with the function.
        let function = unsafe {
            mem::transmute::<cust::function::Function<'_>, cust::function::Function<'static>>(
                function,
            )
        };
        Ok(Function { function, module, symbol: symbol.into() })
    }
}

const LOG_LINES: usize = 8;

const LOAD: &str = "load of the kernels";

/// A kernel and its module.
pub struct Function {
    /// Valid as long as the module.
    function: cust::function::Function<'static>,
    module: InContext<cust::module::Module>,
    symbol: String,
}

impl Function {
    fn get(&self) -> CudaResult<&cust::function::Function<'static>> {
        self.module.get().map(|_| &self.function)
    }

    pub fn attribute(&self, attribute: FunctionAttribute) -> Result<u32> {
        let operation = || format!("attribute {attribute:?} of kernel {}", self.symbol);
        let value = self.get().and_then(|function| function.get_attribute(attribute));
        Ok(value.named(operation)? as u32)
    }

    /// Blocks of `threads` threads that fit on a multiprocessor.
    pub fn blocks_per_multiprocessor(&self, threads: u32) -> Result<u32> {
        let block = BlockSize::x(threads);
        self.get()
            .and_then(|function| function.max_active_blocks_per_multiprocessor(block, 0))
            .named(|| format!("occupancy of kernel {}", self.symbol))
    }

    /// Fills the first elements of a variable of the module after earlier work in `stream`, and waits for it. No
    /// kernel that reads the variable may run meanwhile in another stream.
    pub fn set<T: Pod>(&self, variable: &str, values: &[T], stream: &GpuStream) -> Result<()> {
        let name = CString::new(variable).unwrap_or_default();
        let found = self
            .get()
            .and_then(|function| library::variable(function, &name))
            .named(|| format!("look-up of {variable} for kernel {}", self.symbol))?;
        let (bytes, needed) = (found.len(), size_of_val(values));
        if needed > bytes {
            let reason = format!("the variable has {bytes} bytes, {needed} needed");
            return Err(Error::driver(format!("fill of {variable}"), reason));
        }
        copy_in(&mut found.index(..needed), bytemuck::cast_slice(values), stream)
            .named(|| format!("fill of {variable}"))
    }

    /// Enqueues `blocks` blocks of `threads` threads with `shared` bytes of dynamic shared memory.
    ///
    /// # Safety
    /// - `parameters` point to the kernel's parameters, in order and of their types; they are copied before this
    ///   returns.
    /// - The stream belongs to the module's context.
    /// - The kernel's contract holds for this grid and the memory that the parameters name until the stream has passed
    ///   the launch: it is allocated, and other streams and the host write there before or after.
    pub unsafe fn launch(
        &self,
        stream: &GpuStream,
        [blocks, threads, shared]: [u32; 3],
        parameters: &[*const c_void],
    ) -> Result<()> {
        let parameters: Vec<*mut c_void> = parameters.iter().map(|at| at.cast_mut()).collect();
        let launch = || {
            let stream = stream.get()?;
            if shared > 0 {
                library::allow_shared(&self.function, shared)?;
            }
            let (grid, block) = (GridSize::x(blocks), BlockSize::x(threads));
            // SAFETY: the caller's contract.
            unsafe { stream.launch(&self.function, grid, block, shared, &parameters) }
        };
        launch().named(|| format!("launch of kernel {} ({blocks} × {threads})", self.symbol))
    }
}
