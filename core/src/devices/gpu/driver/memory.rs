//! Memory of the device, and memory of the host that it copies from and to.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{ptr, slice};

use bytemuck::Pod;

use crate::devices::gpu::driver::library::*;
use crate::devices::gpu::driver::{Context, Event, GpuStream, Object, Operation, free};
use crate::error::{Error, Result, invalid};
use crate::os::memory::zeros;

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
            Err(_) => Err(Error::device_memory(what, bytes, self.left())),
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

/// An array in the device's memory. The driver frees it once all work of the device is done.
pub struct Buffer<T> {
    /// At least one byte, so that there always is an address.
    memory: Object,
    length: usize,
    what: &'static str,
    elements: PhantomData<T>,
    _taken: Taken,
}

impl Context {
    /// Memory of the device for `length` elements, not initialized.
    pub fn buffer<T: Pod>(&self, what: &'static str, length: usize) -> Result<Buffer<T>> {
        let bytes = length.saturating_mul(size_of::<T>());
        let taken = self.budget.take(what, bytes as u64)?;
        // SAFETY: writes an address.
        let allocate = |to: &mut Handle| unsafe { cuMemAlloc_v2(to, bytes.max(1)) };
        let memory = self.object(allocate, cuMemFree_v2).map_err(|failure| match failure {
            OUT_OF_MEMORY => Error::device_memory(what, bytes as u64, free()),
            failure => Error::driver(format!("allocation for {what}"), failure),
        })?;
        Ok(Buffer { memory, length, what, elements: PhantomData, _taken: taken })
    }

    pub fn upload<T: Pod>(
        &self,
        what: &'static str,
        values: &[T],
        stream: &GpuStream,
    ) -> Result<Buffer<T>> {
        let buffer = self.buffer(what, values.len())?;
        buffer.upload(values, stream)?;
        Ok(buffer)
    }

    /// Page-locked memory of the host for `length` elements, all zero.
    pub fn pinned<T: Pod>(&self, what: &'static str, length: usize) -> Result<Pinned<T>> {
        let bytes = length.saturating_mul(size_of::<T>());
        // SAFETY: writes an address.
        let allocate = |to: &mut Handle| unsafe { cuMemAllocHost_v2(to, bytes.max(1)) };
        let memory = self.object(allocate, cuMemFreeHost).map_err(|failure| {
            // Memory of the host, which says the same code if it has no more.
            Error::driver(format!("allocation of {bytes} page-locked bytes for {what}"), failure)
        })?;
        let at: *mut T = ptr::with_exposed_provenance_mut(memory.handle);
        // SAFETY: so many bytes are there, at the begin of a page, and this call's alone.
        unsafe { at.write_bytes(0, length) };
        Ok(Pinned { memory, done: self.event()?, length, what, elements: PhantomData })
    }
}

impl<T: Pod> Buffer<T> {
    /// The address for kernels, not to be followed on the host.
    pub fn pointer(&self) -> *mut T {
        ptr::without_provenance_mut(self.memory.handle)
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The address of `elements` elements from `begin` on; panics if it has fewer.
    fn at(&self, begin: usize, elements: usize) -> Handle {
        let end = begin.checked_add(elements);
        assert!(end.is_some_and(|end| end <= self.length), "{} is used within its size", self.what);
        self.memory.handle + begin * size_of::<T>()
    }

    /// Enqueues a fill of the first `length` elements; with one bits, `0xff`, an `f64` is NaN.
    pub fn fill(&self, byte: u8, length: usize, stream: &GpuStream) -> Result<()> {
        let (at, bytes) = (self.at(0, length), length * size_of::<T>());
        // SAFETY: the memory is freed after the device's work, and any bytes are a `T`.
        let fill = || unsafe { cuMemsetD8Async(at, byte, bytes, stream.get()?) };
        fill().named(|| format!("fill of {}", self.what))
    }

    /// Copies `values` to the first elements after all earlier work in `stream`, and waits for it.
    pub fn upload(&self, values: &[T], stream: &GpuStream) -> Result<()> {
        let to = self.at(0, values.len());
        // SAFETY: there is room; the stream is waited for while the source is borrowed.
        let copied = unsafe { stream.copy_in(to, bytemuck::cast_slice(values)) };
        stream.done(copied).named(|| format!("upload of {}", self.what))
    }
}

/// Page-locked memory of the host. A transfer owns it until the copy is done; one that is forgotten leaks it.
pub struct Pinned<T> {
    memory: Object,
    done: Event,
    length: usize,
    what: &'static str,
    elements: PhantomData<T>,
}

impl<T: Pod> Pinned<T> {
    /// Enqueues a copy of the bytes of `length` elements to those of `to`, a buffer of the same context, from `at` on.
    pub fn upload<U: Pod>(
        self,
        length: usize,
        to: &Buffer<U>,
        at: usize,
        stream: &GpuStream,
    ) -> Result<Transfer<T>> {
        let host = &bytemuck::cast_slice(&self)[..length * size_of::<U>()];
        // SAFETY: the transfer owns the host's memory until the copy is done, and the device's is not freed before.
        let enqueued = unsafe { stream.copy_in(to.at(at, length), host) };
        let enqueued = enqueued.named(|| format!("upload of {}", to.what));
        Transfer::new(self, enqueued, stream)
    }

    /// Enqueues a copy of the first `length` elements of `from`, a buffer of the same context, to the first ones here.
    pub fn download(
        mut self,
        length: usize,
        from: &Buffer<T>,
        stream: &GpuStream,
    ) -> Result<Transfer<T>> {
        let host = bytemuck::cast_slice_mut(&mut self[..length]);
        // SAFETY: as in `upload`.
        let enqueued = unsafe { stream.copy_out(from.at(0, length), host) };
        let enqueued = enqueued.named(|| format!("download of {}", from.what));
        Transfer::new(self, enqueued, stream)
    }
}

impl<T: Pod> Deref for Pinned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: allocated by `Context::pinned`, and written there.
        unsafe {
            slice::from_raw_parts(ptr::with_exposed_provenance(self.memory.handle), self.length)
        }
    }
}

impl<T: Pod> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let at = ptr::with_exposed_provenance_mut(self.memory.handle);
        // SAFETY: as above, borrowed alone.
        unsafe { slice::from_raw_parts_mut(at, self.length) }
    }
}

/// A copy in progress; dropping it waits.
#[must_use = "dropping a transfer waits for it"]
pub struct Transfer<T> {
    /// None once waited for.
    pinned: Option<Pinned<T>>,
}

impl<T> Transfer<T> {
    /// Marks the end of what was enqueued last in `stream`. If that fails, waits for the stream.
    fn new(pinned: Pinned<T>, enqueued: Result<()>, stream: &GpuStream) -> Result<Transfer<T>> {
        let marked = enqueued.and_then(|()| pinned.done.record(stream));
        marked.inspect_err(|_| _ = stream.synchronize())?;
        Ok(Transfer { pinned: Some(pinned) })
    }

    pub fn wait(self) -> Result<Pinned<T>> {
        let what = self.pinned.as_ref().expect("taken below only").what;
        self.wait_for(what)
    }

    /// [`Transfer::wait`], with a name for errors of what precedes the copy.
    pub fn wait_for(mut self, what: &str) -> Result<Pinned<T>> {
        let pinned = self.pinned.take().expect("taken here only");
        pinned.done.wait(what)?;
        Ok(pinned)
    }
}

impl<T> Drop for Transfer<T> {
    fn drop(&mut self) {
        if let Some(pinned) = &self.pinned {
            let _ = pinned.done.wait(pinned.what);
        }
    }
}

/// The device whose memory contains an address; none for host memory.
fn device_of(address: u64) -> CudaResult<Option<usize>> {
    const ON_HOST: u32 = 1;
    let asked = [2, 9]; // the kind of memory, the device
    let (mut kind, mut device) = (0u32, 0i32);
    let mut to: [*mut c_void; 2] = [(&raw mut kind).cast(), (&raw mut device).cast()];
    // SAFETY: the first attribute is an unsigned number, the second a number.
    unsafe { cuPointerGetAttributes(2, asked.as_ptr(), to.as_mut_ptr(), address) }?;
    Ok(usize::try_from(device).ok().filter(|_| ![0, ON_HOST].contains(&kind)))
}

/// Whether an address is in a device's memory, managed memory included; false without a driver.
pub fn is_on_device(address: u64) -> bool {
    device_of(address).is_ok_and(|device| device.is_some())
}

/// Fails if not all `bytes` from `at` on are in the memory of device `index`.
pub fn require_on(index: usize, name: &str, address: u64, bytes: u64) -> Result<()> {
    let last = address.saturating_add(bytes.saturating_sub(1));
    for (which, address) in [("", address), ("the end of it ", last)] {
        let what = match device_of(address) {
            Ok(Some(device)) if device == index => continue,
            Ok(Some(other)) => {
                format!("{which}is in memory of gpu:{other}, but gpu:{index} was opened")
            }
            _ => format!("{which}is not in memory of gpu:{index}"),
        };
        return Err(invalid(name, what));
    }
    Ok(())
}

/// Copies a column-major matrix, `ld` elements from one column to the next, to the host after earlier work in `stream`.
///
/// # Safety
/// It is in memory of the stream's device, and nobody writes it meanwhile.
pub unsafe fn fetched<T: Pod>(
    what: &str,
    at: u64,
    ld: usize,
    [rows, columns]: [usize; 2],
    stream: &GpuStream,
) -> Result<Vec<T>> {
    let size = size_of::<T>();
    let mut values = zeros(what, rows * columns)?;
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
    // Without gaps between columns all are copied at once.
    let length = if ld == rows { bytes.len().max(1) } else { rows * size };
    for (column, to) in bytes.chunks_exact_mut(length).enumerate() {
        let from = at as usize + column * ld * size;
        // SAFETY: the caller's contract; the stream is waited for while the destination is borrowed.
        let copied = unsafe { stream.copy_out(from, to) };
        stream.done(copied).named(|| format!("download of {what}"))?;
    }
    Ok(values)
}
