//! Memory of the device, and memory of the host that it copies from and to.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;

use crate::devices::gpu::driver::library::{CudaResult, DeviceBytes, DeviceMemory, LockedMemory};
use crate::devices::gpu::driver::stream::{Event, GpuStream, InContext, Operation};
use crate::devices::gpu::driver::{Context, library};
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
    memory: InContext<DeviceMemory>,
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
        let allocate = || DeviceMemory::allocate(bytes.max(1));
        let memory = InContext::new(&self.context, allocate)
            .named(|| format!("allocation for {what}"))
            .map_err(|error| match error {
                Error::Memory { free, .. } => {
                    Error::device_memory(what, bytes as u64, free.unwrap_or(u64::MAX))
                }
                error => error,
            })?;
        Ok(Buffer { memory, length, what, elements: PhantomData, _taken: taken })
    }

    /// Memory of the device with a copy of `values`.
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
        let memory =
            InContext::new(&self.context, || LockedMemory::zeroed(bytes.max(1))).map_err(|_| {
                // Memory of the host, which says the same code if it has no more.
                let operation = format!("allocation of {bytes} page-locked bytes for {what}");
                Error::driver(operation, library::last_failure())
            })?;
        Ok(Pinned { memory, done: self.event()?, length, what, elements: PhantomData })
    }
}

impl<T: Pod> Buffer<T> {
    /// The address for kernels, not to be followed on the host.
    pub fn pointer(&self) -> *mut T {
        ptr::without_provenance_mut(self.memory.peek().all().at as usize)
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn part(&self, begin: usize, elements: usize) -> DeviceBytes {
        let end = begin.checked_add(elements).filter(|&end| end <= self.length);
        let end = end.unwrap_or_else(|| panic!("{} is used within its size", self.what));
        self.memory.peek().all().part(begin * size_of::<T>()..end * size_of::<T>())
    }

    /// Enqueues a fill of the first `length` elements with one bits, which as `f64` are NaN.
    pub fn poison(&self, length: usize, stream: &GpuStream) -> Result<()> {
        self.fill(0xff, length, stream)
    }

    pub fn clear(&self, stream: &GpuStream) -> Result<()> {
        self.fill(0, self.length, stream)
    }

    fn fill(&self, byte: u8, length: usize, stream: &GpuStream) -> Result<()> {
        // SAFETY: the memory is freed after the device's work, and any bytes are a `T`.
        let fill = || unsafe { self.part(0, length).fill(byte, stream.get()?) };
        fill().named(|| format!("fill of {}", self.what))
    }

    /// Copies `values` to the first elements after all earlier work in `stream`, and waits for it.
    pub fn upload(&self, values: &[T], stream: &GpuStream) -> Result<()> {
        copy_in(self.part(0, values.len()), bytemuck::cast_slice(values), stream)
            .named(|| format!("upload of {}", self.what))
    }
}

pub(super) fn copy_in(to: DeviceBytes, from: &[u8], stream: &GpuStream) -> CudaResult<()> {
    let stream = stream.get()?;
    // SAFETY: the stream is waited for while the source is borrowed.
    let copied = unsafe { to.copy_from(from, stream) };
    stream.synchronize().and(copied)
}

/// Page-locked memory of the host. A transfer owns it until the copy is done; one that is forgotten leaks it.
pub struct Pinned<T> {
    memory: InContext<LockedMemory>,
    done: Event,
    length: usize,
    what: &'static str,
    elements: PhantomData<T>,
}

impl<T: Pod> Pinned<T> {
    /// Enqueues a copy of the bytes of `length` elements of `to`, a buffer of the same context, to those from element `at`
    /// on.
    pub fn upload<U: Pod>(
        self,
        length: usize,
        to: &Buffer<U>,
        at: usize,
        stream: &GpuStream,
    ) -> Result<Transfer<T>> {
        let host = &self.memory.peek()[..length * size_of::<U>()];
        // SAFETY: the transfer owns the host's memory until the copy is done, and the device's is not freed before.
        let copy = || unsafe { to.part(at, length).copy_from(host, stream.get()?) };
        let enqueued = copy().named(|| format!("upload of {}", to.what));
        Transfer::new(self, enqueued, stream)
    }

    /// Enqueues a copy of the first `length` elements of `from`, a buffer of the same context, to the first ones here.
    pub fn download(
        mut self,
        length: usize,
        from: &Buffer<T>,
        stream: &GpuStream,
    ) -> Result<Transfer<T>> {
        let bytes = size_of_val(&self[..length]);
        let host = &mut self.memory.peek_mut()[..bytes];
        // SAFETY: as in `upload`.
        let mut copy = || unsafe { from.part(0, length).copy_to(host, stream.get()?) };
        let enqueued = copy().named(|| format!("download of {}", from.what));
        Transfer::new(self, enqueued, stream)
    }
}

impl<T: Pod> Deref for Pinned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.memory.peek()[..self.length * size_of::<T>()])
    }
}

impl<T: Pod> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let bytes = self.length * size_of::<T>();
        bytemuck::cast_slice_mut(&mut self.memory.peek_mut()[..bytes])
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

    /// Waits for the copy and returns the memory.
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

/// Whether an address is in a device's memory, managed memory included; false without a driver.
pub fn is_on_device(address: u64) -> bool {
    library::device_of(address).is_ok_and(|device| device.is_some())
}

/// Fails if not all `bytes` from `at` on are in the memory of device `index`.
pub fn require_on(index: usize, name: &str, address: u64, bytes: u64) -> Result<()> {
    let last = address.saturating_add(bytes.saturating_sub(1));
    for (which, address) in [("", address), ("the end of it ", last)] {
        let what = match library::device_of(address) {
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

/// Copies a column-major matrix of a device, `ld` elements from one column to the next, to the host, after all earlier
/// work in `stream`.
///
/// # Safety
/// It is in memory of the stream's device, and nobody writes it meanwhile.
pub unsafe fn fetched<T: Pod>(
    what: &'static str,
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
        let from = DeviceBytes { at: at + (column * ld * size) as u64, length };
        let mut copy = || {
            let stream = stream.get()?;
            // SAFETY: the caller's contract; the stream is waited for while the destination is borrowed.
            let copied = unsafe { from.copy_to(to, stream) };
            stream.synchronize().and(copied)
        };
        copy().named(|| format!("download of {what}"))?;
    }
    Ok(values)
}
