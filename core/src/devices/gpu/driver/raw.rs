//! What cust has no types for, through its raw layer.

use std::ffi::{CStr, c_void};
use std::ptr;

use cust::device::Device;
use cust::error::{CudaError, CudaResult};
use cust::function::Function;
use cust::memory::{DevicePointer, DeviceSlice};
use cust::sys;

/// The code as cust gives it; which one it was is in [`super::library::last_failure`].
fn result(code: sys::CUresult) -> CudaResult<()> {
    match code {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(CudaError::UnknownError),
    }
}

/// The device's universally unique identifier.
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

/// What the driver's compiler or loader says of an image that it refuses.
///
/// # Safety
/// `image` is PTX ended by a zero, or a whole cubin. The context that refused it is current.
pub unsafe fn load_log(image: &[u8]) -> String {
    use sys::CUjit_option::*;
    let mut log = vec![0u8; 1 << 14];
    let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values: [*mut c_void; 2] =
        [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len())];
    let mut module = ptr::null_mut();
    // SAFETY: the image is whole by the caller's contract, options and values have the length named,
    // and the log is as long as its option says. A module that is loaded after all is unloaded.
    unsafe {
        let loaded = sys::cuModuleLoadDataEx(
            &mut module,
            image.as_ptr().cast(),
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
