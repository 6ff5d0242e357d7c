//! `libcuda.so.1`, opened when its first function is called: the program is not linked with it, starts without and is
//! built without CUDA.

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use std::fmt::{self, Display, Formatter};
use std::ptr;
use std::sync::LazyLock;

use libloading::Library;

/// Never closed, so that addresses of functions stay valid.
static LIBRARY: LazyLock<Result<Library, String>> = LazyLock::new(|| {
    // SAFETY: the driver's library may be loaded at any time, by any thread.
    unsafe { Library::new("libcuda.so.1") }
        .map_err(|error| error.source().unwrap_or(&error).to_string())
});

/// Why the library cannot be opened, if it cannot.
pub fn missing() -> Option<&'static str> {
    LIBRARY.as_ref().err().map(String::as_str)
}

/// A function of the list that the library lacks, if there is one.
pub fn lacking() -> Option<&'static str> {
    // SAFETY: the address is not followed.
    NAMES.iter().copied().find(|name| unsafe { find::<*const c_void>(name) }.is_err())
}

/// The driver's code for a call that failed, shown with its name and text if the driver knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure(c_int);

pub type CudaResult<T> = Result<T, Failure>;

pub const OUT_OF_MEMORY: Failure = Failure(2);
const NO_LIBRARY: Failure = Failure(3);
const NO_FUNCTION: Failure = Failure(500);

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Failure(code) = *self;
        let text = |function: &str| {
            let mut text: *const c_char = ptr::null();
            // SAFETY: both functions take a code, and set `text` to a static string if they know it.
            unsafe {
                type Text = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;
                let get: Text = find(function).ok()?;
                (get(code, &mut text) == 0 && !text.is_null())
                    .then(|| CStr::from_ptr(text).to_string_lossy())
            }
        };
        match text("cuGetErrorName").zip(text("cuGetErrorString")) {
            Some((name, text)) => write!(f, "{name}: {text}"),
            None => write!(f, "code {code}"),
        }
    }
}

impl Failure {
    /// What a code of the driver's start means on this machine; nothing of others.
    pub fn meaning(self) -> &'static str {
        match self.0 {
            34 => {
                "; libcuda.so.1 is a CUDA toolkit's stub library, made to link with: take its folder out of \
                    LD_LIBRARY_PATH"
            }
            100 => {
                "; `nvidia-smi` lists the machine's GPUs; a container has those that it is started with"
            }
            802 => "; a machine with NVSwitch needs its fabric manager",
            803 => {
                "; libcuda.so.1 is not of the loaded driver: reboot after an update, or take another libcuda.so.1 out \
                    of LD_LIBRARY_PATH"
            }
            999 => {
                "; the kernel module nvidia_uvm may not be loaded: `nvidia-modprobe -u -c 0` loads it"
            }
            _ => "",
        }
    }
}

/// A function of the library, or the code of its absence.
///
/// # Safety
/// `F` is a pointer to a function of this name.
unsafe fn find<F: Copy>(name: &str) -> CudaResult<F> {
    let library = LIBRARY.as_ref().map_err(|_| NO_LIBRARY)?;
    // SAFETY: the caller's contract; the library is never closed.
    unsafe { library.get::<F>(name) }.map(|function| *function).map_err(|_| NO_FUNCTION)
}

/// The number or handle that a call writes.
pub fn written<T: Default>(call: impl FnOnce(&mut T) -> CudaResult<()>) -> CudaResult<T> {
    let mut value = T::default();
    call(&mut value).map(|()| value)
}

/// The address of something of the driver's, which nobody follows here: a context, a module, a kernel, a stream, an
/// event, memory of the device; 0 for none.
pub type Handle = usize;

macro_rules! functions {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
        /// The function of this name.
        ///
        /// # Safety
        /// Its contract, in CUDA's documentation of the driver.
        #[allow(non_snake_case, clippy::too_many_arguments)]
        pub unsafe fn $name($($argument: $kind),*) -> CudaResult<()> {
            type Function = unsafe extern "C" fn($($kind),*) -> c_int;
            static FUNCTION: LazyLock<CudaResult<Function>> =
                // SAFETY: the function has this type; its result, an enum in C, is a number.
                LazyLock::new(|| unsafe { find(stringify!($name)) });
            // SAFETY: the caller fulfils the function's contract.
            match unsafe { (*FUNCTION)?($($argument),*) } {
                0 => Ok(()),
                code => Err(Failure(code)),
            }
        }
    )*};
}

functions! {
    cuInit(flags: c_uint);
    cuDriverGetVersion(version: &mut c_int);
    cuDeviceGet(device: &mut c_int, index: c_int);
    cuDeviceGetCount(count: &mut c_int);
    cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int);
    cuDeviceGetAttribute(value: &mut c_int, attribute: c_int, device: c_int);
    cuDeviceGetUuid_v2(uuid: &mut [u8; 16], device: c_int);
    cuDevicePrimaryCtxRetain(context: &mut Handle, device: c_int);
    cuDevicePrimaryCtxRelease_v2(device: c_int);
    cuCtxSetCurrent(context: Handle);
    cuCtxGetCurrent(context: &mut Handle);
    cuMemGetInfo_v2(free: &mut usize, total: &mut usize);
    cuMemAlloc_v2(address: &mut Handle, bytes: usize);
    cuMemFree_v2(address: Handle);
    cuMemAllocHost_v2(address: &mut Handle, bytes: usize);
    cuMemFreeHost(address: Handle);
    cuMemcpyHtoDAsync_v2(to: Handle, from: *const u8, bytes: usize, stream: Handle);
    cuMemcpyDtoHAsync_v2(to: *mut u8, from: Handle, bytes: usize, stream: Handle);
    cuPointerGetAttributes(count: c_uint, attributes: *const c_int, data: *mut *mut c_void, address: u64);
    cuMemsetD8Async(address: Handle, byte: c_uchar, bytes: usize, stream: Handle);
    cuModuleLoadDataEx(
        module: &mut Handle,
        image: *const c_char,
        count: c_uint,
        options: *const c_int,
        values: *mut *mut c_void
    );
    cuModuleUnload(module: Handle);
    cuModuleGetFunction(function: &mut Handle, module: Handle, name: *const c_char);
    cuModuleGetGlobal_v2(address: &mut Handle, bytes: &mut usize, module: Handle, name: *const c_char);
    cuFuncGetAttribute(value: &mut c_int, attribute: c_int, function: Handle);
    cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: &mut c_int,
        function: Handle,
        threads: c_int,
        dynamic_shared: usize
    );
    cuStreamCreateWithPriority(stream: &mut Handle, flags: c_uint, priority: c_int);
    cuStreamDestroy_v2(stream: Handle);
    cuStreamSynchronize(stream: Handle);
    cuStreamWaitEvent(stream: Handle, event: Handle, flags: c_uint);
    cuEventCreate(event: &mut Handle, flags: c_uint);
    cuEventDestroy_v2(event: Handle);
    cuEventRecord(event: Handle, stream: Handle);
    cuEventSynchronize(event: Handle);
    cuEventElapsedTime(milliseconds: &mut f32, begin: Handle, end: Handle);
    cuLaunchKernel(
        function: Handle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        dynamic_shared: c_uint,
        stream: Handle,
        parameters: *const *const c_void,
        extra: *mut *mut c_void
    );
}
