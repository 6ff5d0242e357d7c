//! `libcuda.so.1`, opened when its first function is called: the program is not linked with it, starts without and is
//! built without CUDA. Below the functions are the objects that they make, each of which ends with its owner.

use std::cell::Cell;
use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};
use std::ops::{Deref, DerefMut, Range};
use std::ptr;
use std::slice;
use std::sync::LazyLock;

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
    LAST_FAILURE.get() == OUT_OF_MEMORY
}

/// Name and text of the last failure on this thread, if the driver knows them.
pub fn last_failure() -> String {
    let code = LAST_FAILURE.get();
    let text = |function: &str| {
        let mut text: *const c_char = ptr::null();
        // SAFETY: both functions take a code, and set `text` to a static string if they know it.
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

// Codes of the driver.
const SUCCESS: c_int = 0;
const OUT_OF_MEMORY: c_int = 2;
const NO_LIBRARY: c_int = 3;
const NO_FUNCTION: c_int = 500;

/// A function of the library, or the code of its absence.
///
/// # Safety
/// `F` is a pointer to a function of this name.
unsafe fn find<F: Copy>(name: &str) -> Result<F, c_int> {
    let library = LIBRARY.as_ref().map_err(|_| NO_LIBRARY)?;
    // SAFETY: the caller's contract; the library is never closed.
    unsafe { library.get::<F>(name) }.map(|function| *function).map_err(|_| NO_FUNCTION)
}

/// A call failed; [`last_failure`] says how, on the same thread.
#[derive(Debug)]
pub struct CallFailed;

pub type CudaResult<T> = Result<T, CallFailed>;

fn checked(code: c_int) -> CudaResult<()> {
    if code == SUCCESS {
        return Ok(());
    }
    LAST_FAILURE.set(code);
    Err(CallFailed)
}

/// The address of something of the driver's, which nobody follows here: a context, a module, a kernel, a stream, an
/// event; 0 for none.
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
        unsafe fn $name($($argument: $kind),*) -> CudaResult<()> {
            type Function = unsafe extern "C" fn($($kind),*) -> c_int;
            static FUNCTION: LazyLock<Result<Function, c_int>> =
                // SAFETY: the function has this type; its result, an enum in C, is a number.
                LazyLock::new(|| unsafe { find(stringify!($name)) });
            checked(match *FUNCTION {
                // SAFETY: the caller fulfils the function's contract.
                Ok(function) => unsafe { function($($argument),*) },
                Err(code) => code,
            })
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
    cuMemAlloc_v2(address: &mut u64, bytes: usize);
    cuMemFree_v2(address: u64);
    cuMemAllocHost_v2(address: &mut *mut u8, bytes: usize);
    cuMemFreeHost(address: *mut u8);
    cuMemcpyHtoDAsync_v2(to: u64, from: *const u8, bytes: usize, stream: Handle);
    cuMemcpyDtoHAsync_v2(to: *mut u8, from: u64, bytes: usize, stream: Handle);
    cuPointerGetAttributes(count: c_uint, attributes: *const c_int, data: *mut *mut c_void, address: u64);
    cuMemsetD8Async(address: u64, byte: c_uchar, bytes: usize, stream: Handle);
    cuModuleLoadDataEx(
        module: &mut Handle,
        image: *const c_char,
        count: c_uint,
        options: *const c_int,
        values: *mut *mut c_void
    );
    cuModuleUnload(module: Handle);
    cuModuleGetFunction(function: &mut Handle, module: Handle, name: *const c_char);
    cuModuleGetGlobal_v2(address: &mut u64, bytes: &mut usize, module: Handle, name: *const c_char);
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

// Unless a comment says more, these calls read and write local variables only.

pub fn init() -> CudaResult<()> {
    // SAFETY: it may be called at any time.
    unsafe { cuInit(0) }
}

/// As 12090 for CUDA 12.9.
pub fn version() -> CudaResult<u32> {
    let mut version = 0;
    // SAFETY: writes a number.
    unsafe { cuDriverGetVersion(&mut version) }.map(|()| version as u32)
}

pub fn device_count() -> CudaResult<usize> {
    let mut count = 0;
    // SAFETY: writes a number.
    unsafe { cuDeviceGetCount(&mut count) }.map(|()| count as usize)
}

/// The context that is current on this thread.
pub fn current() -> CudaResult<Handle> {
    let mut context = 0;
    // SAFETY: writes one handle.
    unsafe { cuCtxGetCurrent(&mut context) }.map(|()| context)
}

/// Makes a context that [`current`] returned current again.
pub fn set_current(context: Handle) -> CudaResult<()> {
    // SAFETY: the driver refuses what is no context.
    unsafe { cuCtxSetCurrent(context) }
}

/// Free and total bytes of the current context's device.
pub fn memory() -> CudaResult<(u64, u64)> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: writes two numbers.
    unsafe { cuMemGetInfo_v2(&mut free, &mut total) }.map(|()| (free as u64, total as u64))
}

/// The device whose memory contains an address; none for host memory.
pub fn device_of(address: u64) -> CudaResult<Option<usize>> {
    const ON_HOST: u32 = 1;
    let asked = [2, 9]; // the kind of memory, the device
    let (mut kind, mut device) = (0u32, 0i32);
    let mut to: [*mut c_void; 2] = [(&raw mut kind).cast(), (&raw mut device).cast()];
    // SAFETY: the first attribute is an unsigned number, the second a number.
    unsafe { cuPointerGetAttributes(2, asked.as_ptr(), to.as_mut_ptr(), address) }?;
    Ok(usize::try_from(device).ok().filter(|_| ![0, ON_HOST].contains(&kind)))
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

#[derive(Clone, Copy)]
pub struct Device(c_int);

impl Device {
    pub fn get(index: usize) -> CudaResult<Device> {
        let mut device = 0;
        // SAFETY: writes a number.
        unsafe { cuDeviceGet(&mut device, index as c_int) }.map(|()| Device(device))
    }

    pub fn name(self) -> CudaResult<String> {
        let mut name = [0u8; 256];
        // SAFETY: writes at most so many bytes, with a zero at the end.
        unsafe { cuDeviceGetName(name.as_mut_ptr().cast(), 256, self.0) }?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    pub fn uuid(self) -> CudaResult<[u8; 16]> {
        let mut uuid = [0; 16];
        // SAFETY: writes one identifier.
        unsafe { cuDeviceGetUuid_v2(&mut uuid, self.0) }.map(|()| uuid)
    }

    pub fn attribute(self, attribute: DeviceAttribute) -> CudaResult<u32> {
        let mut value = 0;
        // SAFETY: writes a number.
        unsafe { cuDeviceGetAttribute(&mut value, attribute as c_int, self.0) }?;
        Ok(value as u32)
    }
}

/// A device's primary context, the one that CUDA's runtime uses.
pub struct PrimaryContext {
    context: Handle,
    device: Device,
}

impl PrimaryContext {
    pub fn retain(device: Device) -> CudaResult<PrimaryContext> {
        let mut context = 0;
        // SAFETY: writes one handle.
        unsafe { cuDevicePrimaryCtxRetain(&mut context, device.0) }?;
        Ok(PrimaryContext { context, device })
    }

    pub fn make_current(&self) -> CudaResult<()> {
        set_current(self.context)
    }
}

impl Drop for PrimaryContext {
    fn drop(&mut self) {
        // SAFETY: retained once. A failure cannot be reported, here and below.
        let _ = unsafe { cuDevicePrimaryCtxRelease_v2(self.device.0) };
    }
}

// What follows belongs to the context that is current when it is made, and is used and dropped with it current.

/// Memory of the device.
pub struct DeviceMemory(DeviceBytes);

impl DeviceMemory {
    pub fn allocate(bytes: usize) -> CudaResult<DeviceMemory> {
        let mut at = 0;
        // SAFETY: writes an address.
        unsafe { cuMemAlloc_v2(&mut at, bytes) }?;
        Ok(DeviceMemory(DeviceBytes { at, length: bytes }))
    }

    pub fn all(&self) -> DeviceBytes {
        self.0
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        // SAFETY: allocated by `allocate`; the driver waits for the device's work.
        let _ = unsafe { cuMemFree_v2(self.0.at) };
    }
}

/// A range of the device's memory.
#[derive(Clone, Copy)]
pub struct DeviceBytes {
    pub at: u64,
    pub length: usize,
}

impl DeviceBytes {
    /// Panics if the range ends behind this one.
    pub fn part(self, Range { start, end }: Range<usize>) -> DeviceBytes {
        assert!(start <= end && end <= self.length, "{start}..{end} of {} bytes", self.length);
        DeviceBytes { at: self.at + start as u64, length: end - start }
    }

    /// Enqueues a fill.
    ///
    /// # Safety
    /// The range is allocated until that is done, and nobody else uses it meanwhile.
    pub unsafe fn fill(self, byte: u8, stream: &Stream) -> CudaResult<()> {
        // SAFETY: the caller's contract.
        unsafe { cuMemsetD8Async(self.at, byte, self.length, stream.0) }
    }

    /// Enqueues a copy of as many bytes to here.
    ///
    /// # Safety
    /// As for [`DeviceBytes::fill`], of both.
    pub unsafe fn copy_from(self, from: &[u8], stream: &Stream) -> CudaResult<()> {
        assert_eq!(from.len(), self.length, "bytes of a copy");
        if from.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's contract; both have this length.
        unsafe { cuMemcpyHtoDAsync_v2(self.at, from.as_ptr(), self.length, stream.0) }
    }

    /// Enqueues a copy of as many bytes from here.
    ///
    /// # Safety
    /// As for [`DeviceBytes::fill`], of both.
    pub unsafe fn copy_to(self, to: &mut [u8], stream: &Stream) -> CudaResult<()> {
        assert_eq!(to.len(), self.length, "bytes of a copy");
        if to.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's contract; both have this length.
        unsafe { cuMemcpyDtoHAsync_v2(to.as_mut_ptr(), self.at, self.length, stream.0) }
    }
}

/// Page-locked memory of the host.
pub struct LockedMemory {
    at: *mut u8,
    bytes: usize,
}

// SAFETY: it owns its bytes as a vector does, and the driver takes them on any thread.
unsafe impl Send for LockedMemory {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for LockedMemory {}

impl LockedMemory {
    /// So many bytes, at least one, all zero.
    pub fn zeroed(bytes: usize) -> CudaResult<LockedMemory> {
        let mut at = ptr::null_mut();
        // SAFETY: writes an address, from which on so many bytes are the caller's.
        unsafe {
            cuMemAllocHost_v2(&mut at, bytes)?;
            at.write_bytes(0, bytes);
        }
        Ok(LockedMemory { at, bytes })
    }
}

impl Deref for LockedMemory {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: allocated and written by `zeroed`.
        unsafe { slice::from_raw_parts(self.at, self.bytes) }
    }
}

impl DerefMut for LockedMemory {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, borrowed alone.
        unsafe { slice::from_raw_parts_mut(self.at, self.bytes) }
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated by `zeroed`.
        let _ = unsafe { cuMemFreeHost(self.at) };
    }
}

pub struct Stream(Handle);

impl Stream {
    /// One that waits for the default stream, as that does for it.
    pub fn new() -> CudaResult<Stream> {
        let mut stream = 0;
        // SAFETY: writes one handle.
        unsafe { cuStreamCreateWithPriority(&mut stream, 0, 0) }.map(|()| Stream(stream))
    }

    pub fn handle(&self) -> Handle {
        self.0
    }

    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: created by `new`.
        unsafe { cuStreamSynchronize(self.0) }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: created by `new`; the driver ends it after its work.
        let _ = unsafe { cuStreamDestroy_v2(self.0) };
    }
}

/// An event.
pub struct Mark(Handle);

impl Mark {
    /// With the time at which it is reached, or without.
    pub fn new(timed: bool) -> CudaResult<Mark> {
        const NO_TIME: c_uint = 2;
        let mut event = 0;
        // SAFETY: writes one handle.
        unsafe { cuEventCreate(&mut event, if timed { 0 } else { NO_TIME }) }?;
        Ok(Mark(event))
    }

    pub fn record(&self, stream: &Stream) -> CudaResult<()> {
        // SAFETY: both exist.
        unsafe { cuEventRecord(self.0, stream.0) }
    }

    pub fn synchronize(&self) -> CudaResult<()> {
        // SAFETY: created by `new`.
        unsafe { cuEventSynchronize(self.0) }
    }

    /// Milliseconds since another, both with times.
    pub fn since(&self, earlier: &Mark) -> CudaResult<f32> {
        let mut time = 0.0;
        // SAFETY: writes a number; both exist.
        unsafe { cuEventElapsedTime(&mut time, earlier.0, self.0) }.map(|()| time)
    }

    /// Makes `stream` wait for all that is enqueued now in `other`.
    ///
    /// # Safety
    /// Both are streams of the event's context, which is current.
    pub unsafe fn wait(&self, stream: Handle, other: Handle) -> CudaResult<()> {
        // SAFETY: the caller's contract.
        unsafe {
            cuEventRecord(self.0, other)?;
            cuStreamWaitEvent(stream, self.0, 0)
        }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: created by `new`; the driver allows this before the event is reached.
        let _ = unsafe { cuEventDestroy_v2(self.0) };
    }
}

// Options of the driver's compiler.
const ERROR_LOG: c_int = 5;
const ERROR_LOG_BYTES: c_int = 6;
const LINE_INFO: c_int = 13;

pub struct Module(Handle);

impl Module {
    /// Of PTX, with its line information.
    pub fn load(ptx: &CStr) -> CudaResult<Module> {
        Module::with(ptx, &[LINE_INFO], &mut [ptr::without_provenance_mut(1)])
    }

    /// The values are numbers or addresses, one for each option.
    fn with(ptx: &CStr, options: &[c_int], values: &mut [*mut c_void]) -> CudaResult<Module> {
        assert_eq!(options.len(), values.len());
        let (mut module, count) = (0, options.len() as c_uint);
        let values = values.as_mut_ptr();
        // SAFETY: the PTX ends with a zero, and each option has the value that it needs.
        unsafe { cuModuleLoadDataEx(&mut module, ptx.as_ptr(), count, options.as_ptr(), values) }?;
        Ok(Module(module))
    }

    pub fn kernel(&self, symbol: &CStr) -> CudaResult<Kernel> {
        let mut function = 0;
        // SAFETY: writes one handle, for a name with its end.
        unsafe { cuModuleGetFunction(&mut function, self.0, symbol.as_ptr()) }?;
        Ok(Kernel(function))
    }

    pub fn variable(&self, name: &CStr) -> CudaResult<DeviceBytes> {
        let (mut at, mut length) = (0, 0);
        // SAFETY: writes address and size, for a name with its end.
        unsafe { cuModuleGetGlobal_v2(&mut at, &mut length, self.0, name.as_ptr()) }?;
        Ok(DeviceBytes { at, length })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded by `with`.
        let _ = unsafe { cuModuleUnload(self.0) };
    }
}

/// The log of the driver's compiler for PTX that it rejects in the current context.
pub fn load_log(ptx: &CStr) -> String {
    let mut log = vec![0u8; 1 << 14];
    let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len())];
    // A module that is loaded after all is unloaded.
    let _ = Module::with(ptx, &[ERROR_LOG, ERROR_LOG_BYTES], &mut values);
    CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy().into_owned()
}

/// In the numbers of `CUfunction_attribute`.
#[derive(Clone, Copy, Debug)]
pub enum FunctionAttribute {
    SharedMemorySizeBytes = 1,
    LocalSizeBytes = 3,
    NumRegisters = 4,
}

/// A function of a module, which is loaded for as long as this is used.
#[derive(Clone, Copy)]
pub struct Kernel(Handle);

impl Kernel {
    pub fn attribute(self, attribute: FunctionAttribute) -> CudaResult<u32> {
        let mut value = 0;
        // SAFETY: writes a number; the function belongs to a loaded module.
        unsafe { cuFuncGetAttribute(&mut value, attribute as c_int, self.0) }?;
        Ok(value as u32)
    }

    /// Blocks of so many threads that fit on a multiprocessor.
    pub fn blocks_per_multiprocessor(self, threads: u32) -> CudaResult<u32> {
        let (mut blocks, threads) = (0, threads as c_int);
        // SAFETY: as above.
        unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.0, threads, 0) }?;
        Ok(blocks as u32)
    }

    pub fn allow_shared(self, bytes: u32) -> CudaResult<()> {
        const MOST_DYNAMIC_SHARED_BYTES: c_int = 8;
        // SAFETY: as above.
        unsafe { cuFuncSetAttribute(self.0, MOST_DYNAMIC_SHARED_BYTES, bytes as c_int) }
    }

    /// Enqueues a launch of blocks of threads with bytes of dynamic shared memory.
    ///
    /// # Safety
    /// `parameters` point to the kernel's, and its contract holds until the stream has passed the launch.
    pub unsafe fn launch(
        self,
        stream: &Stream,
        [blocks, threads, shared]: [u32; 3],
        parameters: &[*const c_void],
    ) -> CudaResult<()> {
        let (parameters, extra) = (parameters.as_ptr(), ptr::null_mut());
        // SAFETY: the caller's contract.
        unsafe {
            cuLaunchKernel(self.0, blocks, 1, 1, threads, 1, 1, shared, stream.0, parameters, extra)
        }
    }
}
