//! `libcuda.so.1`, opened when its first function is called: the program is not linked with it and starts without.
//!
//! cust declares the driver's functions and leaves them to the linker. Those that are called are defined here and
//! forward to the library; a missing one is an error of the linker, another signature one of the compiler.

use std::cell::Cell;
use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use std::ptr;
use std::sync::LazyLock;

use cust::device::Device;
use cust::error::{CudaError, CudaResult};
use cust::function::Function;
use cust::memory::{DevicePointer, DeviceSlice};
use cust::sys::*;
use libloading::Library;

/// Never closed, so that addresses of functions stay valid.
static LIBRARY: LazyLock<Result<Library, String>> = LazyLock::new(|| {
    // SAFETY: the driver's library may be loaded at any time, by any thread.
    unsafe { Library::new("libcuda.so.1") }
        .map_err(|error| error.source().unwrap_or(&error).to_string())
});

thread_local! {
    static LAST_FAILURE: Cell<c_int> = const { Cell::new(0) };
}

pub fn missing() -> Option<&'static str> {
    LIBRARY.as_ref().err().map(String::as_str)
}

/// A function of the list that the library lacks, if there is one.
pub fn lacking() -> Option<&'static str> {
    // SAFETY: the address is not followed.
    NAMES.iter().copied().find(|name| unsafe { find::<*const c_void>(name) }.is_err())
}

pub fn is_out_of_memory() -> bool {
    LAST_FAILURE.get() == CUresult::CUDA_ERROR_OUT_OF_MEMORY as c_int
}

/// Name and text of the last failure on this thread, if the driver knows them.
pub fn last_failure() -> String {
    let code = LAST_FAILURE.get();
    let text = |function: &str| {
        let mut text: *const c_char = ptr::null();
        // SAFETY: both functions take a code, a number here since it may be newer than cust's list, and set `text`
        // to a static string if they know it.
        unsafe {
            type Text = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
            let get: Text = find(function).ok()?;
            (get(code, &mut text) == SUCCESS && !text.is_null())
                .then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    match text("cuGetErrorName").zip(text("cuGetErrorString")) {
        Some((name, text)) => format!("{name}: {text}"),
        None => format!("code {code}"),
    }
}

/// What a code of the driver's start means on this machine; nothing of others.
pub fn meaning() -> &'static str {
    match LAST_FAILURE.get() {
        34 => {
            "; libcuda.so.1 is a CUDA toolkit's stub library, made to link with: take its folder out of LD_LIBRARY_PATH"
        }
        100 => {
            "; `nvidia-smi` lists the machine's GPUs; a container has those that it is started with"
        }
        802 => "; a machine with NVSwitch needs its fabric manager",
        803 => {
            "; libcuda.so.1 is not of the loaded driver: reboot after an update, or take another libcuda.so.1 out of \
                LD_LIBRARY_PATH"
        }
        999 => {
            "; the kernel module nvidia_uvm may not be loaded: `nvidia-modprobe -u -c 0` loads it"
        }
        _ => "",
    }
}

const SUCCESS: c_int = CUresult::CUDA_SUCCESS as c_int;
const UNKNOWN: c_int = CUresult::CUDA_ERROR_UNKNOWN as c_int;
const NO_LIBRARY: c_int = CUresult::CUDA_ERROR_NOT_INITIALIZED as c_int;
const NO_FUNCTION: c_int = CUresult::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND as c_int;

/// A function of the library, or the code of its absence.
///
/// # Safety
/// `F` is a pointer to a function of this name.
unsafe fn find<F: Copy>(name: &str) -> Result<F, c_int> {
    let library = LIBRARY.as_ref().map_err(|_| NO_LIBRARY)?;
    // SAFETY: the caller's contract; the library is never closed.
    unsafe { library.get::<F>(name) }.map(|function| *function).map_err(|_| NO_FUNCTION)
}

/// Stores the code of a failure: cust's enum ends with CUDA 11 and may hold no other.
fn checked(code: c_int) -> c_int {
    if code == SUCCESS {
        return SUCCESS;
    }
    LAST_FAILURE.set(code);
    UNKNOWN
}

macro_rules! forward {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
        const _: unsafe extern "C" fn($($kind),*) -> CUresult = cust::sys::$name;

        // SAFETY: the program defines no other function with this name.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            type Function = unsafe extern "C" fn($($kind),*) -> c_int;
            static FUNCTION: LazyLock<Result<Function, c_int>> =
                // SAFETY: cust declares this type, see above; the enum that it returns is a number.
                LazyLock::new(|| unsafe { find(stringify!($name)) });
            checked(match *FUNCTION {
                // SAFETY: the caller fulfils the function's contract.
                Ok(function) => unsafe { function($($argument),*) },
                Err(code) => code,
            })
        }
    )*};
}

forward! {
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
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize);
    cuMemFree_v2(address: CUdeviceptr);
    cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize);
    cuMemFreeHost(address: *mut c_void);
    cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream);
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream);
    cuPointerGetAttributes(
        count: c_uint, attributes: *mut CUpointer_attribute, data: *mut *mut c_void, address: CUdeviceptr);
    cuMemsetD8Async(address: CUdeviceptr, byte: c_uchar, bytes: usize, stream: CUstream);
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
        address: *mut CUdeviceptr,
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

// What cust has no types for. Unless a comment says more, these calls read and write local variables only.

/// The code as a result of cust's; [`last_failure`] says which one it was.
fn result(code: c_int) -> CudaResult<()> {
    if code == SUCCESS { Ok(()) } else { Err(CudaError::UnknownError) }
}

pub fn uuid(device: Device) -> CudaResult<[u8; 16]> {
    let mut uuid = CUuuid::default();
    // SAFETY: writes one identifier.
    result(unsafe { cuDeviceGetUuid_v2(&mut uuid, device.as_raw()) })?;
    Ok(uuid.bytes.map(|byte| byte as u8))
}

/// The context that is current on this thread, as a number; 0 for none.
pub fn current() -> CudaResult<usize> {
    let mut context = ptr::null_mut();
    // SAFETY: writes one handle.
    result(unsafe { cuCtxGetCurrent(&mut context) })?;
    Ok(context.addr())
}

/// Makes a context that [`current`] returned current again.
pub fn set_current(context: usize) -> CudaResult<()> {
    // SAFETY: the driver refuses what is no context.
    result(unsafe { cuCtxSetCurrent(ptr::with_exposed_provenance_mut(context)) })
}

/// The device whose memory contains an address; none for host memory.
pub fn device_of(address: u64) -> CudaResult<Option<usize>> {
    use CUpointer_attribute::*;
    let mut asked = [CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL];
    let (mut kind, mut device) = (0u32, 0i32);
    let mut to: [*mut c_void; 2] = [(&raw mut kind).cast(), (&raw mut device).cast()];
    // SAFETY: the first attribute is an unsigned number, the second a number.
    result(unsafe { cuPointerGetAttributes(2, asked.as_mut_ptr(), to.as_mut_ptr(), address) })?;
    let is_on_device = kind != 0 && kind != CUmemorytype::CU_MEMORYTYPE_HOST as u32;
    Ok(usize::try_from(device).ok().filter(|_| is_on_device))
}

/// An event without a time by which one stream waits for another, which cust's cannot do for a caller's stream.
pub struct Mark(CUevent);

// SAFETY: the driver's functions take events on any thread.
unsafe impl Send for Mark {}

impl Mark {
    pub fn new() -> CudaResult<Mark> {
        const NO_TIME: u32 = 2;
        let mut event = ptr::null_mut();
        // SAFETY: writes one handle.
        result(unsafe { cuEventCreate(&mut event, NO_TIME) })?;
        Ok(Mark(event))
    }

    /// Makes `stream` wait for all that is enqueued now in `other`.
    ///
    /// # Safety
    /// Both are streams of the event's context, which is current.
    pub unsafe fn wait(&self, stream: CUstream, other: CUstream) -> CudaResult<()> {
        // SAFETY: the caller's contract.
        unsafe {
            result(cuEventRecord(self.0, other))?;
            result(cuStreamWaitEvent(stream, self.0, 0))
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: created by `new`; the driver allows this before the event is reached. A failure cannot be reported.
        let _ = unsafe { cuEventDestroy_v2(self.0) };
    }
}

/// The log of the driver's compiler for PTX that it rejects in the current context.
pub fn load_log(ptx: &CStr) -> String {
    use CUjit_option::*;
    let mut log = vec![0u8; 1 << 14];
    let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len())];
    let mut module = ptr::null_mut();
    let (image, names, values) = (ptx.as_ptr().cast(), options.as_mut_ptr(), values.as_mut_ptr());
    // SAFETY: the PTX ends with a zero, there are two options with a value each, and the log is as long as its option
    // says. A module that is loaded after all is unloaded.
    unsafe {
        if cuModuleLoadDataEx(&mut module, image, 2, names, values) == SUCCESS {
            cuModuleUnload(module);
        }
    }
    CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy().into_owned()
}

pub fn allow_shared(function: &Function<'_>, bytes: u32) -> CudaResult<()> {
    let most = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the function belongs to a loaded module.
    result(unsafe { cuFuncSetAttribute(function.to_raw(), most, bytes as i32) })
}

/// A variable of the kernel's module. cust finds only types of known size, and copies by the default stream.
pub fn variable(function: &Function<'_>, name: &CStr) -> CudaResult<DeviceSlice<u8>> {
    let mut module = ptr::null_mut();
    let (mut at, mut bytes) = (0, 0);
    // SAFETY: the function belongs to a loaded module, and the driver returns address and size.
    unsafe {
        result(cuFuncGetModule(&mut module, function.to_raw()))?;
        result(cuModuleGetGlobal_v2(&mut at, &mut bytes, module, name.as_ptr()))?;
        Ok(DeviceSlice::from_raw_parts(DevicePointer::from_raw(at), bytes))
    }
}
