//! The driver's library, opened when its first function is called: the program is linked with none
//! and starts without.
//!
//! cust declares the driver's functions and leaves it to the linker to find them. Those that it and
//! this folder call are defined here and hand on to the library. A function that is missing in the
//! list is an error of the linker; one whose signature is not cust's is an error of the compiler.

use std::cell::Cell;
use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use std::ptr;
use std::sync::LazyLock;

use cust::device::Device;
use cust::error::{CudaError, CudaResult};
use cust::function::Function;
use cust::memory::{DevicePointer, DeviceSlice};
use cust::sys;
use cust::sys::*;
use libloading::Library;

/// The library's name, which every NVIDIA driver installs.
const NAME: &str = "libcuda.so.1";

/// Held until the process ends, so that the functions stay where they are.
static LIBRARY: LazyLock<Result<Library, String>> = LazyLock::new(|| {
    // SAFETY: the driver's library may be loaded at any time, by any thread.
    unsafe { Library::new(NAME) }.map_err(|error| error.source().unwrap_or(&error).to_string())
});

thread_local! {
    /// The last code other than success that a function returned on this thread.
    static LAST_FAILURE: Cell<c_int> = const { Cell::new(0) };
}

/// Why there is no driver, where there is none.
pub fn missing() -> Option<&'static str> {
    LIBRARY.as_ref().err().map(String::as_str)
}

/// A function that is called from here and the library does not have, if there is one.
pub fn lacking() -> Option<&'static str> {
    // SAFETY: the address is not followed.
    NAMES.iter().copied().find(|name| unsafe { find::<*const c_void>(name) }.is_err())
}

/// The code of the last failure on this thread.
pub fn last_code() -> c_int {
    LAST_FAILURE.get()
}

/// What the last failure on this thread was: its name and the driver's text if the driver knows it.
pub fn last_failure() -> String {
    let code = last_code();
    let text = |function: &str| {
        let mut text: *const c_char = ptr::null();
        // SAFETY: both functions that are asked for take a code, as a number since this may be newer
        // than cust's list, and set `text` to a static string where they know it.
        unsafe {
            type Text = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
            let get: Text = find(function).ok()?;
            (get(code, &mut text) == SUCCESS && !text.is_null())
                .then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    match text("cuGetErrorName").zip(text("cuGetErrorString")) {
        Some((name, text)) => format!("{name}: {text}"),
        None if code == STUB => format!("CUDA_ERROR_STUB_LIBRARY: {STUB_TEXT}"),
        None => format!("code {code}"),
    }
}

/// What each function of a toolkit's stub returns, newer than cust's list.
const STUB: c_int = 34;
const STUB_TEXT: &str = "libcuda.so.1 is a CUDA toolkit's stub library, made to link with: \
                         take its folder out of LD_LIBRARY_PATH";

const SUCCESS: c_int = CUresult::CUDA_SUCCESS as c_int;
const UNKNOWN: c_int = CUresult::CUDA_ERROR_UNKNOWN as c_int;
const NO_LIBRARY: c_int = CUresult::CUDA_ERROR_NOT_INITIALIZED as c_int;
const NO_FUNCTION: c_int = CUresult::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND as c_int;

/// A function of the library, or the code for its absence.
///
/// # Safety
/// `F` is the type of a pointer to the function of this name.
unsafe fn find<F: Copy>(name: &str) -> Result<F, c_int> {
    let library = LIBRARY.as_ref().map_err(|_| NO_LIBRARY)?;
    // SAFETY: the caller's contract; the library is never closed.
    unsafe { library.get::<F>(name) }.map(|function| *function).map_err(|_| NO_FUNCTION)
}

/// What cust is told of a code. Its enum ends with CUDA 11 and may hold nothing else, so it learns
/// only that something failed; what it was is in [`last_failure`].
fn told(code: c_int) -> c_int {
    if code == SUCCESS {
        return SUCCESS;
    }
    LAST_FAILURE.set(code);
    UNKNOWN
}

macro_rules! handed_on {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
        const _: unsafe extern "C" fn($($kind),*) -> CUresult = cust::sys::$name;

        // SAFETY: no other function of the program has a name of the driver's.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            type Function = unsafe extern "C" fn($($kind),*) -> c_int;
            static FUNCTION: LazyLock<Result<Function, c_int>> =
                // SAFETY: cust's declaration, see above; the enum that it returns is a number.
                LazyLock::new(|| unsafe { find(stringify!($name)) });
            told(match *FUNCTION {
                // SAFETY: the caller keeps the function's own contract.
                Ok(function) => unsafe { function($($argument),*) },
                Err(code) => code,
            })
        }
    )*};
}

handed_on! {
    cuInit(flags: c_uint);
    cuDriverGetVersion(version: *mut c_int);
    cuGetErrorString(code: CUresult, text: *mut *const c_char);
    cuDeviceGet(device: *mut CUdevice, index: c_int);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGetName(name: *mut c_char, length: c_int, device: CUdevice);
    cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    cuDeviceGetUuid_v2(uuid: *mut CUuuid, device: CUdevice);
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    cuCtxSetCurrent(context: CUcontext);
    cuCtxGetCurrent(context: *mut CUcontext);
    cuCtxSynchronize();
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemAlloc_v2(at: *mut CUdeviceptr, bytes: usize);
    cuMemFree_v2(at: CUdeviceptr);
    cuMemAllocHost_v2(at: *mut *mut c_void, bytes: usize);
    cuMemFreeHost(at: *mut c_void);
    cuMemHostRegister_v2(at: *mut c_void, bytes: usize, flags: c_uint);
    cuMemHostUnregister(at: *mut c_void);
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream);
    cuPointerGetAttributes(
        count: c_uint, attributes: *mut CUpointer_attribute, data: *mut *mut c_void, at: CUdeviceptr);
    cuMemsetD8Async(at: CUdeviceptr, byte: c_uchar, bytes: usize, stream: CUstream);
    cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        count: c_uint,
        options: *mut CUjit_option,
        values: *mut *mut c_void
    );
    cuModuleUnload(module: CUmodule);
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuModuleGetGlobal_v2(
        at: *mut CUdeviceptr,
        bytes: *mut usize,
        module: CUmodule,
        name: *const c_char
    );
    cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction);
    cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    cuFuncGetModule(module: *mut CUmodule, function: CUfunction);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        threads: c_int,
        dynamic_shared: usize
    );
    cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int);
    cuStreamDestroy_v2(stream: CUstream);
    cuStreamSynchronize(stream: CUstream);
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    cuEventCreate(event: *mut CUevent, flags: c_uint);
    cuEventDestroy_v2(event: CUevent);
    cuEventRecord(event: CUevent, stream: CUstream);
    cuEventSynchronize(event: CUevent);
    cuEventElapsedTime(milliseconds: *mut f32, begin: CUevent, end: CUevent);
    cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        dynamic_shared: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void
    );
}

// What cust has no types for, through its raw layer.

/// The code as cust gives it; which one it was is in [`last_failure`].
fn result(code: sys::CUresult) -> CudaResult<()> {
    match code {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(CudaError::UnknownError),
    }
}

pub fn uuid(device: Device) -> CudaResult<[u8; 16]> {
    let mut uuid = sys::CUuuid::default();
    // SAFETY: writes one identifier.
    result(unsafe { sys::cuDeviceGetUuid_v2(&mut uuid, device.as_raw()) })?;
    Ok(uuid.bytes.map(|byte| byte as u8))
}

/// Page-locks memory where it is, for the contexts of all devices.
///
/// # Safety
/// It stays allocated until it is given to [`unregister`]. A context is current.
pub unsafe fn register(memory: &[u8]) -> CudaResult<()> {
    let flags = sys::CU_MEMHOSTREGISTER_PORTABLE;
    // SAFETY: the caller's contract; the driver writes nothing there by itself.
    result(unsafe {
        sys::cuMemHostRegister_v2(memory.as_ptr().cast_mut().cast(), memory.len(), flags)
    })
}

/// Takes [`register`] back.
///
/// # Safety
/// The memory was registered, and no transfer from it is under way. A context is current.
pub unsafe fn unregister(memory: &[u8]) -> CudaResult<()> {
    // SAFETY: the caller's contract.
    result(unsafe { sys::cuMemHostUnregister(memory.as_ptr().cast_mut().cast()) })
}

/// The context that is current on this thread, as a number; 0 for none.
pub fn current() -> CudaResult<usize> {
    let mut context = ptr::null_mut();
    // SAFETY: writes one handle.
    result(unsafe { sys::cuCtxGetCurrent(&mut context) })?;
    Ok(context.addr())
}

/// Makes a context of [`current`] current again.
pub fn set_current(context: usize) -> CudaResult<()> {
    // SAFETY: the driver refuses what is no context.
    result(unsafe { sys::cuCtxSetCurrent(ptr::with_exposed_provenance_mut(context)) })
}

/// The device in whose memory an address is; none for an address of the host's, which is no failure here.
pub fn device_of(at: u64) -> CudaResult<Option<usize>> {
    use sys::CUpointer_attribute::*;
    let mut asked = [CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL];
    let (mut kind, mut device) = (0u32, 0i32);
    let mut to: [*mut c_void; 2] = [(&raw mut kind).cast(), (&raw mut device).cast()];
    let count = asked.len() as u32;
    // SAFETY: the first attribute is an unsigned number, the second a number.
    result(unsafe { sys::cuPointerGetAttributes(count, asked.as_mut_ptr(), to.as_mut_ptr(), at) })?;
    let is_known = kind != 0 && kind != sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32;
    Ok(usize::try_from(device).ok().filter(|_| is_known))
}

/// Enqueues a copy of columns, so many bytes from one to the next, of so many bytes each, to the host,
/// where they follow each other.
///
/// # Safety
/// The columns are there, and `to` stays until the stream has passed the copy. The context is current.
pub unsafe fn fetch(
    to: &mut [u8],
    at: u64,
    [pitch, width, count]: [usize; 3],
    stream: sys::CUstream,
) -> CudaResult<()> {
    assert_eq!(to.len(), width * count, "the columns follow each other");
    let host = to.as_mut_ptr().cast::<c_void>();
    if pitch == width {
        // SAFETY: the caller's contract.
        return result(unsafe { sys::cuMemcpyDtoHAsync_v2(host, at, to.len(), stream) });
    }
    let copy = sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: ptr::null(),
        srcDevice: at,
        srcArray: ptr::null_mut(),
        srcPitch: pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: host,
        dstDevice: 0,
        dstArray: ptr::null_mut(),
        dstPitch: width,
        WidthInBytes: width,
        Height: count,
    };
    // SAFETY: the caller's contract; the driver reads the description before it returns.
    result(unsafe { sys::cuMemcpy2DAsync_v2(&copy, stream) })
}

/// A point in the time of someone else's stream. The context that it is made in is current wherever it is used.
pub struct Mark(sys::CUevent);

// SAFETY: the driver's functions take events on any thread.
unsafe impl Send for Mark {}

impl Mark {
    /// One that was not reached.
    pub fn new() -> CudaResult<Mark> {
        const NO_TIME: u32 = 2;
        let mut event = ptr::null_mut();
        // SAFETY: writes one handle.
        result(unsafe { sys::cuEventCreate(&mut event, NO_TIME) })?;
        Ok(Mark(event))
    }

    /// Has a stream wait for all that is enqueued now in another one.
    pub fn wait(&mut self, stream: sys::CUstream, other: usize) -> CudaResult<()> {
        let other = ptr::with_exposed_provenance_mut(other);
        // SAFETY: the event is this one's; the other stream is one by the word of who named it.
        unsafe {
            result(sys::cuEventRecord(self.0, other))?;
            result(sys::cuStreamWaitEvent(stream, self.0, 0))
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: made by `new`, and destroyed here alone, as the driver allows before it is reached. A failure
        // can no longer be told.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// What the driver's compiler says of PTX that it refuses in the current context.
pub fn load_log(ptx: &CStr) -> String {
    use sys::CUjit_option::*;
    let mut log = vec![0u8; 1 << 14];
    let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] =
        [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len())];
    let mut module = ptr::null_mut();
    // SAFETY: PTX ends with a zero; options and values have the length named,
    // and the log is as long as its option says. A module that is loaded after all is unloaded.
    unsafe {
        let loaded = sys::cuModuleLoadDataEx(
            &mut module,
            ptx.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        );
        if loaded == sys::CUresult::CUDA_SUCCESS {
            sys::cuModuleUnload(module);
        }
    }
    CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy().into_owned()
}

/// Lets blocks of a kernel have so many bytes of dynamic shared memory.
pub fn allow_shared(function: &Function<'_>, bytes: u32) -> CudaResult<()> {
    let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the function is of a loaded module.
    result(unsafe { sys::cuFuncSetAttribute(function.to_raw(), most, bytes as i32) })
}

/// The memory of a variable of the kernel's module. cust finds only variables of a type whose size
/// is known, and copies to them through the default stream.
pub fn variable(function: &Function<'_>, name: &CStr) -> CudaResult<DeviceSlice<u8>> {
    let mut module = ptr::null_mut();
    let (mut at, mut bytes) = (0, 0);
    // SAFETY: the function is of a loaded module, of which the driver gives address and size.
    unsafe {
        result(sys::cuFuncGetModule(&mut module, function.to_raw()))?;
        result(sys::cuModuleGetGlobal_v2(&mut at, &mut bytes, module, name.as_ptr()))?;
        Ok(DeviceSlice::from_raw_parts(DevicePointer::from_raw(at), bytes))
    }
}
