//! The driver: safe types that own their context, so several contexts and threads work at the same time.
//! Work goes to named streams, and an error names the operation that failed and its object.

mod library;
mod memory;
mod stream;

use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytemuck::Pod;

use crate::devices::gpu::driver::library::{CudaResult, Device, Kernel, Module, PrimaryContext};
pub use crate::devices::gpu::driver::library::{DeviceAttribute, FunctionAttribute};
use crate::devices::gpu::driver::memory::{Budget, copy_in};
pub use crate::devices::gpu::driver::memory::{
    Buffer, Pinned, Transfer, fetched, is_on_device, require_on,
};
pub use crate::devices::gpu::driver::stream::{Event, ForeignStream, GpuStream, Visit};
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
    if library::init().is_err() {
        let failure = library::last_failure();
        let why = if visible.is_empty() { library::meaning() } else { &visible };
        return no_gpu(format!("the driver found no device: {failure}{why}"));
    }
    if let Some(name) = library::lacking() {
        let version =
            driver_version().map_or(String::new(), |version| format!(", for CUDA {version},"));
        return no_gpu(format!("the driver{version} lacks {name}, which one for CUDA 11.4 has"));
    }
    match library::device_count().named(|| "device count".into())? {
        0 => no_gpu(format!("the driver found no device{visible}")),
        count => Ok(count),
    }
}

/// Whether the driver's library can be opened.
pub fn is_there() -> bool {
    library::missing().is_none()
}

/// The driver's version of CUDA, as `12.9`.
pub fn driver_version() -> Result<String> {
    let version = library::version().named(|| "driver version".into())?;
    Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
}

/// A device's primary context. Everything made in it keeps it alive and may be used on any thread.
#[derive(Clone)]
pub struct Context {
    device: Device,
    context: Arc<PrimaryContext>,
    budget: Arc<Budget>,
}

impl Context {
    /// Opens device `index`, after [`devices`].
    pub fn open(index: usize) -> Result<Context> {
        let device = Device::get(index).named(|| format!("open gpu:{index}"))?;
        let context = PrimaryContext::retain(device);
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
        let bytes = self.device.uuid().named(|| "UUID of the device".into())?;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Ok(format!("GPU-{}", parts.join("-")))
    }

    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<u32> {
        self.device.attribute(attribute).named(|| format!("device attribute {attribute:?}"))
    }

    /// Free and total memory in bytes; with a limit, no more is free than what it leaves.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (free, total) = self
            .context
            .make_current()
            .and_then(|()| library::memory())
            .named(|| "free memory".into())?;
        Ok((self.budget.left().min(free), total))
    }

    /// Loads a kernel from PTX, with the line information that a profiler needs.
    pub fn function(&self, ptx: &str, symbol: &str) -> Result<Function> {
        let text =
            CString::new(ptx).map_err(|_| Error::driver(LOAD, "the PTX holds a zero byte"))?;
        let module = InContext::new(&self.context, || Module::load(&text)).map_err(|_| {
            let code = library::last_failure();
            // Only what is rejected is compiled for a log.
            let log = library::load_log(&text);
            let lines: Vec<&str> = log.trim().lines().take(LOG_LINES).collect();
            Error::driver(LOAD, format!("{code}\n{}", lines.join("\n")))
        })?;
        let name = CString::new(symbol).unwrap_or_default();
        let look_up = || module.get()?.kernel(&name);
        let kernel = look_up().named(|| format!("look-up of kernel {symbol}"))?;
        Ok(Function { kernel, module, symbol: symbol.into() })
    }
}

const LOG_LINES: usize = 8;

const LOAD: &str = "load of the kernels";

/// A kernel and its module.
pub struct Function {
    kernel: Kernel,
    module: InContext<Module>,
    symbol: String,
}

impl Function {
    fn get(&self) -> CudaResult<Kernel> {
        self.module.get().map(|_| self.kernel)
    }

    pub fn attribute(&self, attribute: FunctionAttribute) -> Result<u32> {
        let operation = || format!("attribute {attribute:?} of kernel {}", self.symbol);
        self.get().and_then(|kernel| kernel.attribute(attribute)).named(operation)
    }

    /// Blocks of `threads` threads that fit on a multiprocessor.
    pub fn blocks_per_multiprocessor(&self, threads: u32) -> Result<u32> {
        self.get()
            .and_then(|kernel| kernel.blocks_per_multiprocessor(threads))
            .named(|| format!("occupancy of kernel {}", self.symbol))
    }

    /// Fills the first elements of a variable of the module after earlier work in `stream`, and waits for it. No
    /// kernel that reads the variable may run meanwhile in another stream.
    pub fn set<T: Pod>(&self, variable: &str, values: &[T], stream: &GpuStream) -> Result<()> {
        let name = CString::new(variable).unwrap_or_default();
        let found = self
            .module
            .get()
            .and_then(|module| module.variable(&name))
            .named(|| format!("look-up of {variable} for kernel {}", self.symbol))?;
        let (bytes, needed) = (found.length, size_of_val(values));
        if needed > bytes {
            let reason = format!("the variable has {bytes} bytes, {needed} needed");
            return Err(Error::driver(format!("fill of {variable}"), reason));
        }
        copy_in(found.part(0..needed), bytemuck::cast_slice(values), stream)
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
        let launch = || {
            let stream = stream.get()?;
            if shared > 0 {
                self.kernel.allow_shared(shared)?;
            }
            // SAFETY: the caller's contract.
            unsafe { self.kernel.launch(stream, [blocks, threads, shared], parameters) }
        };
        launch().named(|| format!("launch of kernel {} ({blocks} × {threads})", self.symbol))
    }
}
