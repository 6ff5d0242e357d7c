//! Safe types over the driver's calls, which are loaded when the first is made. Every failed call
//! says which operation it was and on what.

use std::ffi::{CStr, CString, c_void};
use std::marker::PhantomData;
use std::ptr;

use bytemuck::Pod;
use cudarc::driver::sys;

use crate::error::{Error, Result};

/// Lines of the compiler's log that an error shows.
const LOG_LINES: usize = 8;

/// Turns a driver code into an error of `operation`.
fn check(code: sys::CUresult, operation: impl FnOnce() -> String) -> Result<()> {
    if code == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    Err(Error::Driver { operation: operation(), reason: reason(code) })
}

/// The driver's name and text for a code.
fn reason(code: sys::CUresult) -> String {
    let text = |get: unsafe fn(sys::CUresult, *mut *const i8) -> sys::CUresult| {
        let mut text = ptr::null();
        // SAFETY: the driver sets `text` to a static string where it knows the code.
        unsafe {
            (get(code, &mut text) == sys::CUresult::CUDA_SUCCESS && !text.is_null())
                .then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    match (text(sys::cuGetErrorName), text(sys::cuGetErrorString)) {
        (Some(name), Some(what)) => format!("{name}: {what}"),
        _ => format!("code {}", code as i32),
    }
}

/// Devices of this machine.
///
/// # Errors
/// [`Error::NoGpu`] without a driver or device.
pub fn devices() -> Result<usize> {
    let none = |why: String| Error::NoGpu { why };
    // SAFETY: opens the driver's library by name.
    if !unsafe { sys::is_culib_present() } {
        return Err(none("no NVIDIA driver (libcuda) on this machine".into()));
    }
    // SAFETY: the driver is present; initialising it has no other precondition.
    let code = unsafe { sys::cuInit(0) };
    if code != sys::CUresult::CUDA_SUCCESS {
        return Err(none(format!("the driver found no device: {}", reason(code))));
    }
    let mut count = 0;
    // SAFETY: the driver is initialised.
    check(unsafe { sys::cuDeviceGetCount(&mut count) }, || "device count".into())?;
    match count {
        0 => Err(none("the driver found no device".into())),
        count => Ok(count as usize),
    }
}

/// One device's primary context, current on the thread that opened it and bound to it.
pub struct Context {
    device: sys::CUdevice,
    thread_bound: PhantomData<*const ()>,
}

impl Context {
    /// Opens device `index`, which must be below [`devices`].
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn open(index: usize) -> Result<Context> {
        let mut device = 0;
        let mut context = ptr::null_mut();
        // SAFETY: the driver is initialised, as `devices` was called; each call gets a valid place
        // for its result.
        unsafe {
            check(sys::cuDeviceGet(&mut device, index as i32), || format!("open gpu:{index}"))?;
            check(sys::cuDevicePrimaryCtxRetain(&mut context, device), || {
                format!("context of gpu:{index}")
            })?;
            check(sys::cuCtxSetCurrent(context), || format!("context of gpu:{index}"))?;
        }
        Ok(Context { device, thread_bound: PhantomData })
    }

    /// The device's name.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn name(&self) -> Result<String> {
        let mut name = [0; 256];
        // SAFETY: the driver writes at most the given length, its zero included.
        unsafe {
            check(sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as i32, self.device), || {
                "device name".into()
            })?;
            Ok(CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned())
        }
    }

    /// One of the device's attributes.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn attribute(&self, attribute: sys::CUdevice_attribute) -> Result<u32> {
        let mut value = 0;
        // SAFETY: the device exists.
        check(unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, self.device) }, || {
            format!("device attribute {attribute:?}")
        })?;
        Ok(value as u32)
    }

    /// Version of the driver's API, as 1000·major + 10·minor.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn driver_version(&self) -> Result<u32> {
        let mut version = 0;
        // SAFETY: writes one number.
        check(unsafe { sys::cuDriverGetVersion(&mut version) }, || "driver version".into())?;
        Ok(version as u32)
    }

    /// Free and total memory in bytes.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the context is current.
        check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }, || "free memory".into())?;
        Ok((free as u64, total as u64))
    }

    /// Loads PTX, with line information for profilers.
    ///
    /// # Errors
    /// [`Error::Driver`] with the compiler's log.
    pub fn module(&self, ptx: &str) -> Result<Module> {
        let image = CString::new(ptx).map_err(|_| Error::Driver {
            operation: "load of the kernels".into(),
            reason: "the PTX holds a zero byte".into(),
        })?;
        // SAFETY: PTX, ended by a zero.
        unsafe { self.image(image.as_bytes_with_nul()) }
    }

    /// Loads an image that a compiler wrote for this device.
    ///
    /// # Errors
    /// [`Error::Driver`] with the loader's log.
    ///
    /// # Safety
    /// `image` is PTX ended by a zero, or a whole cubin.
    pub unsafe fn image(&self, image: &[u8]) -> Result<Module> {
        let mut log = vec![0u8; 1 << 14];
        let mut options = [
            sys::CUjit_option::CU_JIT_GENERATE_LINE_INFO,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values = [
            ptr::without_provenance_mut::<c_void>(1),
            log.as_mut_ptr().cast(),
            ptr::without_provenance_mut::<c_void>(log.len()),
        ];
        let mut module = ptr::null_mut();
        // SAFETY: the image is whole by the caller's contract, options and values have the length named, and the
        // log is as long as its option says.
        let code = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if code != sys::CUresult::CUDA_SUCCESS {
            let text = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
            let lines: Vec<&str> = text.trim().lines().collect();
            let shown = lines[..lines.len().min(LOG_LINES)].join("\n");
            let more = lines.len().saturating_sub(LOG_LINES);
            let rest = if more > 0 { format!("\n({more} more lines)") } else { String::new() };
            return Err(Error::Driver {
                operation: "load of the kernels".into(),
                reason: format!("{}\n{shown}{rest}", reason(code)),
            });
        }
        Ok(Module { module })
    }

    /// Memory for `values`, filled with them.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn upload<T: Pod>(&self, what: &'static str, values: &[T]) -> Result<Buffer> {
        let buffer = self.buffer(what, size_of_val(values))?;
        // SAFETY: the buffer has the size of the slice.
        let code =
            unsafe { sys::cuMemcpyHtoD_v2(buffer.at, values.as_ptr().cast(), size_of_val(values)) };
        check(code, || format!("upload of {what}"))?;
        Ok(buffer)
    }

    /// `bytes` of memory.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn buffer(&self, what: &'static str, bytes: usize) -> Result<Buffer> {
        let mut at = 0;
        // SAFETY: the context is current.
        check(unsafe { sys::cuMemAlloc_v2(&mut at, bytes.max(1)) }, || {
            format!("allocation of {bytes} bytes for {what}")
        })?;
        Ok(Buffer { at, bytes, what })
    }

    /// A timing event.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn event(&self) -> Result<Event> {
        let mut event = ptr::null_mut();
        // SAFETY: the context is current; 0 asks for the default, timing, event.
        check(unsafe { sys::cuEventCreate(&mut event, 0) }, || "event".into())?;
        Ok(Event { event })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained by `open`; a failure here can no longer be told.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

/// A loaded module.
pub struct Module {
    module: sys::CUmodule,
}

// SAFETY: the handle is of the device's primary context, not of the thread that loaded it, and the
// driver's functions may be called from any thread where that context is current.
unsafe impl Send for Module {}

impl Module {
    /// A kernel by its symbol.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn function(&self, symbol: &str) -> Result<Function> {
        let name = CString::new(symbol).unwrap_or_default();
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded and stays so as long as the primary context.
        let code = unsafe { sys::cuModuleGetFunction(&mut function, self.module, name.as_ptr()) };
        check(code, || format!("look-up of kernel {symbol}"))?;
        Ok(Function { function, symbol: symbol.into() })
    }

    /// Fills the first elements of one of the module's variables, once all work before is done.
    ///
    /// # Errors
    /// [`Error::Driver`], also for a variable that is too small.
    pub fn set<T: Pod>(&self, symbol: &str, values: &[T]) -> Result<()> {
        let name = CString::new(symbol).unwrap_or_default();
        let (mut at, mut bytes) = (0, 0);
        // SAFETY: the module is loaded.
        let code =
            unsafe { sys::cuModuleGetGlobal_v2(&mut at, &mut bytes, self.module, name.as_ptr()) };
        check(code, || format!("look-up of {symbol}"))?;
        if size_of_val(values) > bytes {
            return check(sys::CUresult::CUDA_ERROR_INVALID_VALUE, || {
                format!("{symbol} has {bytes} bytes, {} needed", size_of_val(values))
            });
        }
        // SAFETY: the variable holds that many bytes.
        let code = unsafe { sys::cuMemcpyHtoD_v2(at, values.as_ptr().cast(), size_of_val(values)) };
        check(code, || format!("fill of {symbol}"))
    }
}

/// A kernel.
pub struct Function {
    function: sys::CUfunction,
    symbol: String,
}

impl Function {
    /// One of the kernel's attributes.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn attribute(&self, attribute: sys::CUfunction_attribute) -> Result<u32> {
        let mut value = 0;
        // SAFETY: the function is of a loaded module.
        check(unsafe { sys::cuFuncGetAttribute(&mut value, attribute, self.function) }, || {
            format!("attribute {attribute:?} of kernel {}", self.symbol)
        })?;
        Ok(value as u32)
    }

    /// Blocks of `threads` threads that fit on a multiprocessor.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn blocks_per_multiprocessor(&self, threads: u32) -> Result<u32> {
        let mut blocks = 0;
        // SAFETY: the function is of a loaded module.
        let code = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.function,
                threads as i32,
                0,
            )
        };
        check(code, || format!("occupancy of kernel {}", self.symbol))?;
        Ok(blocks as u32)
    }

    /// Launches the kernel on the default stream.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Safety
    /// `arguments` are the kernel's parameters in their order and of their types, and what they
    /// point to outlives the launch and satisfies the kernel's contract for this grid.
    pub unsafe fn launch(&self, blocks: u32, threads: u32, arguments: &[Argument]) -> Result<()> {
        let mut pointers: Vec<*mut c_void> =
            arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
        // SAFETY: the caller's contract; the driver copies the arguments before it returns.
        let code = unsafe {
            sys::cuLaunchKernel(
                self.function,
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                ptr::null_mut(),
                pointers.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        check(code, || format!("launch of kernel {} ({blocks} × {threads})", self.symbol))
    }
}

/// One kernel parameter.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// Device memory.
    Memory(u64),
    /// A count or index.
    Count(u32),
    /// A number.
    Number(f64),
}

impl Argument {
    fn as_ptr(&self) -> *const c_void {
        match self {
            Argument::Memory(value) => ptr::from_ref(value).cast(),
            Argument::Count(value) => ptr::from_ref(value).cast(),
            Argument::Number(value) => ptr::from_ref(value).cast(),
        }
    }
}

/// Device memory.
pub struct Buffer {
    at: sys::CUdeviceptr,
    bytes: usize,
    what: &'static str,
}

impl Buffer {
    /// As a kernel parameter.
    pub fn argument(&self) -> Argument {
        Argument::Memory(self.at)
    }

    /// Fills the memory with ones, NaN to whoever reads it as `f64`.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn poison(&self) -> Result<()> {
        self.fill(0xff)
    }

    /// Fills the memory with zeros.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn clear(&self) -> Result<()> {
        self.fill(0)
    }

    /// Bytes of the memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn fill(&self, byte: u8) -> Result<()> {
        // SAFETY: as long as the allocation.
        check(unsafe { sys::cuMemsetD8_v2(self.at, byte, self.bytes) }, || {
            format!("fill of {}", self.what)
        })
    }

    /// Copies the first elements back, once all work before is done.
    ///
    /// # Errors
    /// [`Error::Driver`], also of a kernel that failed before.
    pub fn download<T: Pod>(&self, length: usize) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); length];
        let bytes = size_of_val(values.as_slice());
        assert!(bytes <= self.bytes, "a buffer is read within its size");
        // SAFETY: both sides have `bytes` bytes.
        check(unsafe { sys::cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), self.at, bytes) }, || {
            format!("download of {}", self.what)
        })?;
        Ok(values)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated by `Context::buffer`; a failure here can no longer be told.
        let _ = unsafe { sys::cuMemFree_v2(self.at) };
    }
}

/// A point in the default stream's time.
pub struct Event {
    event: sys::CUevent,
}

impl Event {
    /// Marks this point of the stream.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn record(&self) -> Result<()> {
        // SAFETY: a live event on the default stream.
        check(unsafe { sys::cuEventRecord(self.event, ptr::null_mut()) }, || "event".into())
    }

    /// Seconds from `earlier` to this event, once it has been reached.
    ///
    /// # Errors
    /// [`Error::Driver`], also of a kernel that failed before; `what` names it.
    pub fn seconds_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        let mut milliseconds = 0.0;
        // SAFETY: live events, both recorded.
        unsafe {
            check(sys::cuEventSynchronize(self.event), || format!("run of {what}"))?;
            check(sys::cuEventElapsedTime(&mut milliseconds, earlier.event, self.event), || {
                format!("time of {what}")
            })?;
        }
        Ok(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created by `Context::event`; a failure here can no longer be told.
        let _ = unsafe { sys::cuEventDestroy_v2(self.event) };
    }
}
