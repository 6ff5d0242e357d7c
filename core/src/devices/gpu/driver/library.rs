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

use cust::sys::*;
use libloading::Library;

use crate::error::Code;

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

/// What the last failure on this thread was.
pub fn last_failure() -> Code {
    let code = LAST_FAILURE.get();
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
    let stub = || (code == STUB).then(|| ["CUDA_ERROR_STUB_LIBRARY", STUB_TEXT].map(String::from));
    let meaning = text("cuGetErrorName").zip(text("cuGetErrorString"));
    Code { code, meaning: meaning.or_else(|| stub().map(Into::into)) }
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
