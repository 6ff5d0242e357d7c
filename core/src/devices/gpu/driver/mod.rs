//! The driver, through cust: safe types that own their context, so several contexts and threads work at the same time.
//! Work goes to named streams, and an error names the operation that failed and its object.

mod library;
mod memory;

use std::ffi::{CString, c_void};
use std::mem;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use cust::context::{Context as CudaContext, CurrentContext};
use cust::device::Device;
pub use cust::device::DeviceAttribute;
use cust::error::CudaResult;
use cust::event::EventFlags;
pub use cust::function::FunctionAttribute;
use cust::function::{BlockSize, GridSize};
use cust::module::ModuleJitOption;
use cust::stream::StreamFlags;
use cust::sys::CUstream;
use cust::{CudaApiVersion, CudaFlags};

use crate::devices::gpu::driver::library::Mark;
use crate::devices::gpu::driver::memory::copy_in;

pub use crate::devices::gpu::driver::memory::{
    Buffer, Pinned, Transfer, Visit, fetched, is_on_device, require_on,
};
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
        return no_gpu(format!("the driver found no device: {failure}{visible}"));
    }
    if let Some(name) = library::lacking() {
        let own =
            driver_version().map_or(String::new(), |own| format!(", this one has CUDA {own}"));
        return no_gpu(format!(
            "the driver lacks {name}: gpp needs a driver for CUDA 11.4 or later{own}"
        ));
    }
    match Device::num_devices().of(|| "device count".into())? {
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
    let version = CudaApiVersion::get().of(|| "driver version".into())?;
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
        let device = Device::get_device(index as u32).of(|| format!("open gpu:{index}"))?;
        let context = CudaContext::new(device);
        let context = Arc::new(context.of(|| format!("context of gpu:{index}"))?);
        let budget = Arc::new(Budget { limit: u64::MAX, taken: AtomicU64::new(0) });
        Ok(Context { device, context, budget })
    }

    /// Limits the total size of all buffers allocated from now on.
    #[must_use]
    pub fn limited(self, limit: u64) -> Context {
        Context { budget: Arc::new(Budget { limit, taken: AtomicU64::new(0) }), ..self }
    }

    pub fn name(&self) -> Result<String> {
        self.device.name().of(|| "device name".into())
    }

    /// The UUID as other tools show it: `GPU-…`.
    pub fn uuid(&self) -> Result<String> {
        let bytes = library::uuid(self.device).of(|| "UUID of the device".into())?;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Ok(format!("GPU-{}", parts.join("-")))
    }

    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<u32> {
        let value = self.device.get_attribute(attribute);
        Ok(value.of(|| format!("device attribute {attribute:?}"))? as u32)
    }

    /// Free and total memory in bytes; with a limit, no more is free than what it leaves.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (free, total) = CurrentContext::set_current(&*self.context)
            .and_then(|()| cust::memory::mem_get_info())
            .of(|| "free memory".into())?;
        Ok((self.budget.left().min(free as u64), total as u64))
    }

    pub fn stream(&self, what: &'static str) -> Result<Stream> {
        let stream = || cust::stream::Stream::new(StreamFlags::DEFAULT, None);
        let stream = InContext::new(&self.context, stream).of(|| format!("stream of {what}"))?;
        let mark = InContext::new(&self.context, Mark::new).of(|| "event".into())?;
        Ok(Stream { stream, mark: Mutex::new(mark), what })
    }

    pub fn event(&self) -> Result<Event> {
        Event::new(&self.context)
    }

    /// Memory of the device for `length` elements, not initialized.
    pub fn buffer<T: Pod>(&self, what: &'static str, length: usize) -> Result<Buffer<T>> {
        let bytes = length.saturating_mul(size_of::<T>()) as u64;
        Buffer::new(&self.context, self.budget.take(what, bytes)?, what, length)
    }

    /// Memory of the device with a copy of `values`.
    pub fn upload<T: Pod>(
        &self,
        what: &'static str,
        values: &[T],
        stream: &Stream,
    ) -> Result<Buffer<T>> {
        let buffer = self.buffer(what, values.len())?;
        buffer.upload(values, stream)?;
        Ok(buffer)
    }

    /// Page-locked memory of the host for `length` elements, all zero.
    pub fn pinned<T: Pod>(&self, what: &'static str, length: usize) -> Result<Pinned<T>> {
        Pinned::new(&self.context, what, length)
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
        let function = look_up().of(|| format!("look-up of kernel {symbol}"))?;
        // SAFETY: only the lifetime changes; the module is stored with the function.
        let function = unsafe {
            mem::transmute::<cust::function::Function<'_>, cust::function::Function<'static>>(
                function,
            )
        };
        Ok(Function { function, module, symbol: symbol.into() })
    }
}

/// The bytes of a context's memory that buffers take, and the most that they may.
pub struct Budget {
    pub limit: u64,
    pub taken: AtomicU64,
}

impl Budget {
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.taken.load(Ordering::Relaxed))
    }

    /// Takes `bytes` for `what` until the result is dropped.
    pub fn take(self: &Arc<Self>, what: &str, bytes: u64) -> Result<Taken> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|&taken| taken <= self.limit);
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Taken { from: self.clone(), bytes }),
            Err(_) => Err(Error::memory("device", what, bytes, self.left(), None)),
        }
    }
}

pub struct Taken {
    from: Arc<Budget>,
    bytes: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.from.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

pub trait Operation<T> {
    fn of(self, operation: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Operation<T> for CudaResult<T> {
    fn of(self, operation: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|_| Error::driver(operation(), library::last_failure()))
    }
}

/// An object of the driver's with its context, which it keeps alive. The driver's functions act on the context that is
/// current on the thread, so it is made current before each use and before the drop: some tens of nanoseconds.
pub struct InContext<T> {
    object: ManuallyDrop<T>,
    context: Arc<CudaContext>,
}

impl<T> InContext<T> {
    pub fn new(
        context: &Arc<CudaContext>,
        create: impl FnOnce() -> CudaResult<T>,
    ) -> CudaResult<Self> {
        CurrentContext::set_current(&**context)?;
        Ok(InContext { object: ManuallyDrop::new(create()?), context: context.clone() })
    }

    /// The object, its context current.
    pub fn get(&self) -> CudaResult<&T> {
        CurrentContext::set_current(&*self.context)?;
        Ok(&self.object)
    }

    /// The object for uses without a call of the driver, or with its context current.
    pub fn peek(&self) -> &T {
        &self.object
    }

    pub fn peek_mut(&mut self) -> &mut T {
        &mut self.object
    }
}

impl<T> Drop for InContext<T> {
    fn drop(&mut self) {
        // A failure cannot be reported; the object is then lost with its context.
        let _ = CurrentContext::set_current(&*self.context);
        // SAFETY: dropped here and nowhere else.
        unsafe { ManuallyDrop::drop(&mut self.object) }
    }
}

/// A stream. cust's streams wait for the default stream, and it for them, so this folder never uses that one.
pub struct Stream {
    stream: InContext<cust::stream::Stream>,
    /// By which it waits for other streams.
    mark: Mutex<InContext<Mark>>,
    what: &'static str,
}

impl Stream {
    fn get(&self) -> CudaResult<&cust::stream::Stream> {
        self.stream.get()
    }

    /// Waits until all that was enqueued is done.
    pub fn synchronize(&self) -> Result<()> {
        self.get().and_then(|stream| stream.synchronize()).of(|| format!("work of {}", self.what))
    }

    /// What is enqueued here from now on begins after all that is enqueued now in `other`, of the same context.
    pub fn wait_for(&self, other: &Stream) -> Result<()> {
        let handle = other.stream.peek().as_inner();
        self.wait_for_handle(handle).of(|| format!("wait of {} for {}", self.what, other.what))
    }

    /// As [`Stream::wait_for`], for a caller's stream.
    pub fn wait_for_foreign(&self, ForeignStream(handle): ForeignStream) -> Result<()> {
        let handle = std::ptr::with_exposed_provenance_mut(handle);
        self.wait_for_handle(handle).of(|| "wait for the caller's stream".into())
    }

    fn wait_for_handle(&self, other: CUstream) -> CudaResult<()> {
        let own = self.get()?.as_inner();
        // Locked, so that no other thread records the event before the stream waits for it.
        let mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the other stream is one of ours, or one by the contract of `ForeignStream::new`.
        unsafe { mark.peek().wait(own, other) }
    }
}

/// A caller's stream, `CUstream` or `cudaStream_t`; the default one is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignStream(usize);

impl ForeignStream {
    /// The stream of a handle.
    ///
    /// # Safety
    /// It is a stream of the device's primary context, or a default stream, for as long as this is used.
    pub unsafe fn new(handle: *mut std::ffi::c_void) -> ForeignStream {
        ForeignStream(handle.addr())
    }
}

/// A point in a stream's time.
pub struct Event(InContext<cust::event::Event>);

impl Event {
    fn new(context: &Arc<CudaContext>) -> Result<Event> {
        let event = InContext::new(context, || cust::event::Event::new(EventFlags::DEFAULT));
        Ok(Event(event.of(|| "event".into())?))
    }

    /// Marks this point of `stream`, a stream of the event's context.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        let record = || self.0.peek().record(stream.get()?);
        record().of(|| format!("event of {}", stream.what))
    }

    /// Waits until the point has been reached; errors call what precedes it `what`.
    pub fn wait(&self, what: &str) -> Result<()> {
        self.0.get().and_then(|event| event.synchronize()).of(|| format!("run of {what}"))
    }

    /// Waits for this event. Seconds since `earlier`, an event of the same context, to half a microsecond.
    pub fn seconds_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        self.wait(what)?;
        self.elapsed_since(earlier, what)
    }

    /// [`Event::seconds_since`] of an event that has been reached.
    pub fn elapsed_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        let time = || self.0.get()?.elapsed_time_f32(earlier.0.peek());
        Ok(f64::from(time().of(|| format!("time of {what}"))?) * 1e-3)
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
        Ok(value.of(operation)? as u32)
    }

    /// Blocks of `threads` threads that fit on a multiprocessor.
    pub fn blocks_per_multiprocessor(&self, threads: u32) -> Result<u32> {
        let block = BlockSize::x(threads);
        self.get()
            .and_then(|function| function.max_active_blocks_per_multiprocessor(block, 0))
            .of(|| format!("occupancy of kernel {}", self.symbol))
    }

    /// Fills the first elements of a variable of the module after earlier work in `stream`, and waits for it. No
    /// kernel that reads the variable may run meanwhile in another stream.
    pub fn set<T: Pod>(&self, variable: &str, values: &[T], stream: &Stream) -> Result<()> {
        let name = CString::new(variable).unwrap_or_default();
        let found = self
            .get()
            .and_then(|function| library::variable(function, &name))
            .of(|| format!("look-up of {variable} for kernel {}", self.symbol))?;
        let (bytes, needed) = (found.len(), size_of_val(values));
        if needed > bytes {
            let reason = format!("the variable has {bytes} bytes, {needed} needed");
            return Err(Error::driver(format!("fill of {variable}"), reason));
        }
        copy_in(&mut found.index(..needed), bytemuck::cast_slice(values), stream)
            .of(|| format!("fill of {variable}"))
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
        stream: &Stream,
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
        launch().of(|| format!("launch of kernel {} ({blocks} × {threads})", self.symbol))
    }
}
