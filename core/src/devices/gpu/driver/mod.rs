//! The driver: safe types that own their context, so several contexts and threads work at the same time.
//! Work goes to named streams, and an error names the operation that failed and its object.

mod library;
mod memory;

use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;

pub use crate::devices::gpu::driver::library::missing;
use crate::devices::gpu::driver::library::*;
use crate::devices::gpu::driver::memory::Budget;
pub use crate::devices::gpu::driver::memory::{
    Buffer, Pinned, Transfer, fetched, is_on_device, require_on,
};
use crate::error::{Error, Result};

/// Initializes the driver. The number of devices, one at least.
pub fn devices() -> Result<usize> {
    let no_gpu = |why: String| Err(Error::NoGpu { why });
    if let Some(why) = missing() {
        return no_gpu(format!("no NVIDIA driver (libcuda) on this machine: {why}"));
    }
    let visible = std::env::var("CUDA_VISIBLE_DEVICES")
        .map_or(String::new(), |list| format!("; CUDA_VISIBLE_DEVICES is `{list}`"));
    // SAFETY: it may be called at any time.
    if let Err(failure) = unsafe { cuInit(0) } {
        let why = if visible.is_empty() { failure.meaning() } else { &visible };
        return no_gpu(format!("the driver found no device: {failure}{why}"));
    }
    if let Some(name) = library::lacking() {
        let version =
            driver_version().map_or(String::new(), |version| format!(", for CUDA {version},"));
        return no_gpu(format!("the driver{version} lacks {name}, which one for CUDA 11.4 has"));
    }
    // SAFETY: writes a number.
    match written(|count| unsafe { cuDeviceGetCount(count) }).named(|| "device count".into())? {
        0 => no_gpu(format!("the driver found no device{visible}")),
        count => Ok(count as usize),
    }
}

/// The driver's version of CUDA, as `12.9`.
pub fn driver_version() -> Result<String> {
    // SAFETY: writes a number, 12090 for CUDA 12.9.
    let version = written(|version| unsafe { cuDriverGetVersion(version) });
    let version = version.named(|| "driver version".into())?;
    Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
}

trait Operation<T> {
    fn named(self, operation: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Operation<T> for CudaResult<T> {
    fn named(self, operation: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|failure| match failure {
            OUT_OF_MEMORY => Error::device_memory(&operation(), 0, free()),
            failure => Error::driver(operation(), failure),
        })
    }
}

/// Free and total bytes of the current context's device.
fn memory() -> CudaResult<(u64, u64)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: writes two numbers.
    unsafe { cuMemGetInfo_v2(&mut free, &mut total) }.map(|()| (free as u64, total as u64))
}

/// The free bytes alone; `u64::MAX` if they are unknown.
fn free() -> u64 {
    memory().map_or(u64::MAX, |(free, _)| free)
}

/// A device's primary context, which CUDA's runtime uses. What is made in it keeps it alive, for use on any thread.
#[derive(Clone)]
pub struct Context {
    primary: Arc<PrimaryContext>,
    budget: Arc<Budget>,
}

struct PrimaryContext {
    device: c_int,
    handle: Handle,
}

impl PrimaryContext {
    fn make_current(&self) -> CudaResult<()> {
        // SAFETY: retained.
        unsafe { cuCtxSetCurrent(self.handle) }
    }
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: retained once. A failure cannot be reported.
        _ = unsafe { cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// An object of the driver's with its context, which it keeps alive. The driver's functions act on the context that is
/// current on the thread, so it is made current before each use and before the end: some tens of nanoseconds.
struct Object {
    handle: Handle,
    context: Arc<PrimaryContext>,
    end: unsafe fn(Handle) -> CudaResult<()>,
}

impl Object {
    /// Its handle, its context current.
    fn get(&self) -> CudaResult<Handle> {
        self.context.make_current().map(|()| self.handle)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // A failure cannot be reported; the object is then lost with its context.
        _ = self.context.make_current();
        // SAFETY: made for this end, and not used again; the driver ends streams and events after their work, and waits for
        // the device's before it frees memory.
        _ = unsafe { (self.end)(self.handle) };
    }
}

/// In the numbers of `CUdevice_attribute`.
#[derive(Clone, Copy, Debug)]
pub enum DeviceAttribute {
    ClockRate = 13,
    MultiprocessorCount = 16,
    L2CacheSize = 38,
    ComputeCapabilityMajor = 75,
    ComputeCapabilityMinor = 76,
    SingleToDoublePrecisionPerfRatio = 87,
}

impl Context {
    /// Opens device `index`, after [`devices`].
    pub fn open(index: usize) -> Result<Context> {
        // SAFETY: writes a number.
        let device = written(|device| unsafe { cuDeviceGet(device, index as c_int) });
        let device = device.named(|| format!("open gpu:{index}"))?;
        // SAFETY: writes one handle.
        let handle = written(|context| unsafe { cuDevicePrimaryCtxRetain(context, device) });
        let handle = handle.named(|| format!("context of gpu:{index}"))?;
        let budget = Budget { limit: u64::MAX, taken: AtomicU64::new(0) };
        Ok(Context { primary: PrimaryContext { device, handle }.into(), budget: budget.into() })
    }

    /// Limits the total size of all buffers allocated from now on.
    #[must_use]
    pub fn limited(self, limit: u64) -> Context {
        Context { budget: Arc::new(Budget { limit, taken: AtomicU64::new(0) }), ..self }
    }

    /// What `create` makes in this context, until `end`.
    fn object(
        &self,
        create: impl FnOnce(&mut Handle) -> CudaResult<()>,
        end: unsafe fn(Handle) -> CudaResult<()>,
    ) -> CudaResult<Object> {
        self.primary.make_current()?;
        Ok(Object { handle: written(create)?, context: self.primary.clone(), end })
    }

    pub fn name(&self) -> Result<String> {
        let mut name = [0u8; 256];
        // SAFETY: writes at most so many bytes, with a zero at the end.
        unsafe { cuDeviceGetName(name.as_mut_ptr().cast(), 256, self.primary.device) }
            .named(|| "device name".into())?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// The UUID as other tools show it: `GPU-…`.
    pub fn uuid(&self) -> Result<String> {
        // SAFETY: writes one identifier.
        let bytes = written(|uuid| unsafe { cuDeviceGetUuid_v2(uuid, self.primary.device) })
            .named(|| "UUID of the device".into())?;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        Ok(format!("GPU-{}", parts.join("-")))
    }

    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<u32> {
        // SAFETY: writes a number.
        let value = written(|value| unsafe {
            cuDeviceGetAttribute(value, attribute as c_int, self.primary.device)
        });
        let value = value.named(|| format!("device attribute {attribute:?}"))?;
        Ok(value as u32)
    }

    /// Free and total memory in bytes; with a limit, no more is free than what it leaves.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let found = self.primary.make_current().and_then(|()| memory());
        let (free, total) = found.named(|| "free memory".into())?;
        Ok((self.budget.left().min(free), total))
    }

    /// Loads a kernel from PTX, with the line information that a profiler needs.
    pub fn function(&self, ptx: &str, symbol: &str) -> Result<Function> {
        let text =
            CString::new(ptx).map_err(|_| Error::driver(LOAD, "the PTX holds a zero byte"))?;
        let load = |options: &[c_int], values: &mut [*mut c_void]| {
            assert_eq!(options.len(), values.len());
            let (count, options) = (options.len() as c_uint, options.as_ptr());
            let (text, values) = (text.as_ptr(), values.as_mut_ptr());
            // SAFETY: the PTX ends with a zero, and each option has the number or the address that it needs.
            let load =
                |to: &mut Handle| unsafe { cuModuleLoadDataEx(to, text, count, options, values) };
            self.object(load, cuModuleUnload)
        };
        let module = load(&[LINE_INFO], &mut [ptr::without_provenance_mut(1)]);
        let module = module.map_err(|failure| {
            // Only what is rejected is compiled for a log.
            let mut log = vec![0u8; 1 << 14];
            let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len())];
            _ = load(&[ERROR_LOG, ERROR_LOG_BYTES], &mut values);
            let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
            let lines: Vec<&str> = log.trim().lines().take(LOG_LINES).collect();
            Error::driver(LOAD, format!("{failure}\n{}", lines.join("\n")))
        })?;
        let name = CString::new(symbol).unwrap_or_default();
        // SAFETY: writes one handle, for a name with its end.
        let look_up =
            |to: &mut Handle| unsafe { cuModuleGetFunction(to, module.get()?, name.as_ptr()) };
        let kernel = written(look_up).named(|| format!("look-up of kernel {symbol}"))?;
        Ok(Function { kernel, module, symbol: symbol.into() })
    }
}

// Options of the driver's compiler.
const ERROR_LOG: c_int = 5;
const ERROR_LOG_BYTES: c_int = 6;
const LINE_INFO: c_int = 13;

const LOG_LINES: usize = 8;

const LOAD: &str = "load of the kernels";

/// In the numbers of `CUfunction_attribute`.
#[derive(Clone, Copy, Debug)]
pub enum FunctionAttribute {
    SharedMemorySizeBytes = 1,
    LocalSizeBytes = 3,
    NumRegisters = 4,
}

pub struct Function {
    kernel: Handle,
    module: Object,
    symbol: String,
}

impl Function {
    /// The kernel, its context current.
    fn get(&self) -> CudaResult<Handle> {
        self.module.get().map(|_| self.kernel)
    }

    pub fn attribute(&self, attribute: FunctionAttribute) -> Result<u32> {
        // SAFETY: writes a number; the function belongs to a loaded module, here and below.
        let value =
            written(|value| unsafe { cuFuncGetAttribute(value, attribute as c_int, self.get()?) });
        let value = value.named(|| format!("attribute {attribute:?} of kernel {}", self.symbol))?;
        Ok(value as u32)
    }

    /// Blocks of `threads` threads that fit on a multiprocessor.
    pub fn blocks_per_multiprocessor(&self, threads: u32) -> Result<u32> {
        // SAFETY: as above.
        let blocks = written(|blocks| unsafe {
            cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, self.get()?, threads as c_int, 0)
        });
        Ok(blocks.named(|| format!("occupancy of kernel {}", self.symbol))? as u32)
    }

    /// Fills the first elements of a variable of the module after earlier work in `stream`, and waits for it. No
    /// kernel that reads the variable may run meanwhile in another stream.
    pub fn set<T: Pod>(&self, variable: &str, values: &[T], stream: &GpuStream) -> Result<()> {
        let name = CString::new(variable).unwrap_or_default();
        let (mut bytes, needed) = (0, size_of_val(values));
        // SAFETY: writes address and size, for a name with its end.
        let look_up = |to: &mut Handle| unsafe {
            cuModuleGetGlobal_v2(to, &mut bytes, self.module.get()?, name.as_ptr())
        };
        let at = written(look_up)
            .named(|| format!("look-up of {variable} for kernel {}", self.symbol))?;
        if needed > bytes {
            let reason = format!("the variable has {bytes} bytes, {needed} needed");
            return Err(Error::driver(format!("fill of {variable}"), reason));
        }
        // SAFETY: the variable has as many bytes; the stream is waited for while the source is borrowed.
        let copied = unsafe { stream.copy_in(at, bytemuck::cast_slice(values)) };
        stream.done(copied).named(|| format!("fill of {variable}"))
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
        const MOST_DYNAMIC_SHARED_BYTES: c_int = 8;
        let launch = || {
            let (stream, kernel) = (stream.get()?, self.kernel);
            let (parameters, extra) = (parameters.as_ptr(), ptr::null_mut());
            // SAFETY: the caller's contract.
            unsafe {
                if shared > 0 {
                    cuFuncSetAttribute(kernel, MOST_DYNAMIC_SHARED_BYTES, shared as c_int)?;
                }
                cuLaunchKernel(
                    kernel, blocks, 1, 1, threads, 1, 1, shared, stream, parameters, extra,
                )
            }
        };
        launch().named(|| format!("launch of kernel {} ({blocks} × {threads})", self.symbol))
    }
}

/// Restores the context that was current on the calling thread when dropped.
#[must_use]
pub struct Visit(Option<Handle>);

impl Visit {
    pub fn begin() -> Visit {
        // SAFETY: writes one handle.
        Visit(written(|context| unsafe { cuCtxGetCurrent(context) }).ok())
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // SAFETY: the driver refuses a context that was destroyed meanwhile, which cannot be current again.
            _ = unsafe { cuCtxSetCurrent(before) };
        }
    }
}

/// A stream. It neither waits for the default stream nor that for it: otherwise a mark there would wait for all streams.
pub struct GpuStream {
    stream: Object,
    /// By which it waits for a caller's stream.
    mark: Mutex<Object>,
    what: &'static str,
}

impl Context {
    pub fn stream(&self, what: &'static str) -> Result<GpuStream> {
        const NO_TIME: c_uint = 2;
        const NON_BLOCKING: c_uint = 1;
        // SAFETY: writes one handle.
        let create =
            |stream: &mut Handle| unsafe { cuStreamCreateWithPriority(stream, NON_BLOCKING, 0) };
        let stream = self.object(create, cuStreamDestroy_v2);
        let stream = stream.named(|| format!("stream of {what}"))?;
        Ok(GpuStream { stream, mark: Mutex::new(self.mark(NO_TIME)?), what })
    }

    pub fn event(&self) -> Result<Event> {
        Ok(Event(self.mark(0)?))
    }

    fn mark(&self, flags: c_uint) -> Result<Object> {
        // SAFETY: writes one handle.
        let create = |event: &mut Handle| unsafe { cuEventCreate(event, flags) };
        self.object(create, cuEventDestroy_v2).named(|| "event".into())
    }
}

impl GpuStream {
    /// With its context current.
    fn get(&self) -> CudaResult<Handle> {
        self.stream.get()
    }

    /// Enqueues a copy to the device.
    ///
    /// # Safety
    /// As many bytes are allocated there until that is done, and nobody else uses them or writes `from` meanwhile.
    unsafe fn copy_in(&self, to: Handle, from: &[u8]) -> CudaResult<()> {
        let stream = self.get()?;
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's contract.
        unsafe { cuMemcpyHtoDAsync_v2(to, from.as_ptr(), from.len(), stream) }
    }

    /// Enqueues a copy from the device.
    ///
    /// # Safety
    /// As many bytes are allocated there until that is done, and nobody writes them or uses `to` meanwhile.
    unsafe fn copy_out(&self, from: Handle, to: &mut [u8]) -> CudaResult<()> {
        let stream = self.get()?;
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's contract.
        unsafe { cuMemcpyDtoHAsync_v2(to.as_mut_ptr(), from, to.len(), stream) }
    }

    /// Waits until all that was enqueued is done, and returns whether it could be enqueued.
    fn done(&self, enqueued: CudaResult<()>) -> CudaResult<()> {
        // SAFETY: it exists.
        unsafe { cuStreamSynchronize(self.get()?) }.and(enqueued)
    }

    pub fn synchronize(&self) -> Result<()> {
        self.done(Ok(())).named(|| format!("work of {}", self.what))
    }

    /// What is enqueued here from now on begins after this point of another stream of the same context.
    pub fn wait_for(&self, event: &Event) -> Result<()> {
        // SAFETY: both exist.
        let wait = || unsafe { cuStreamWaitEvent(self.get()?, event.0.handle, 0) };
        wait().named(|| format!("wait of {}", self.what))
    }

    /// What is enqueued here from now on begins after all that is enqueued now in a caller's stream, and in the default one.
    pub fn wait_for_foreign(&self, ForeignStream(other): ForeignStream) -> Result<()> {
        let wait = || {
            let stream = self.get()?;
            // Locked, so that no other thread records the event before the stream waits for it.
            let mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
            let default = ForeignStream::default().0;
            for pending in [default, other].into_iter().skip((other == default).into()) {
                // SAFETY: the other stream is one by the contract of `ForeignStream::new`.
                unsafe {
                    cuEventRecord(mark.handle, pending)?;
                    cuStreamWaitEvent(stream, mark.handle, 0)?;
                }
            }
            Ok(())
        };
        wait().named(|| "wait for the caller's stream".into())
    }
}

/// A caller's stream, `CUstream` or `cudaStream_t`; the default one is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignStream(Handle);

impl ForeignStream {
    /// The stream of a handle.
    ///
    /// # Safety
    /// It is a stream of the device's primary context, or a default stream, for as long as this is used.
    pub unsafe fn new(handle: *mut c_void) -> ForeignStream {
        ForeignStream(handle.addr())
    }
}

/// A point in a stream's time.
pub struct Event(Object);

impl Event {
    /// Marks this point of `stream`, a stream of the event's context.
    pub fn record(&self, stream: &GpuStream) -> Result<()> {
        // SAFETY: both exist.
        let record = || unsafe { cuEventRecord(self.0.handle, stream.get()?) };
        record().named(|| format!("event of {}", stream.what))
    }

    /// Waits until the point has been reached; errors call what precedes it `what`.
    pub fn wait(&self, what: &str) -> Result<()> {
        // SAFETY: it exists.
        let wait = || unsafe { cuEventSynchronize(self.0.get()?) };
        wait().named(|| format!("run of {what}"))
    }

    /// Waits for this event. Seconds since `earlier`, an event of the same context, to half a microsecond.
    pub fn seconds_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        self.wait(what)?;
        // SAFETY: writes a number; both exist, with times.
        let time =
            |to: &mut f32| unsafe { cuEventElapsedTime(to, earlier.0.handle, self.0.get()?) };
        Ok(f64::from(written(time).named(|| format!("time of {what}"))?) * 1e-3)
    }
}
