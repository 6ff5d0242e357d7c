//! Memory of the device.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;
use cust::context::{Context, CurrentContext};
use cust::error::CudaResult;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, DeviceSlice, LockedBuffer};
use cust::sys::CUresult;

use crate::devices::gpu::driver::library;
use crate::devices::gpu::driver::stream::{Event, InContext, Operation, Stream, Taken};
use crate::error::{Error, Result};

/// `T`s in the device's memory. They are freed when dropped, which the driver does once all work of
/// the device is done.
pub struct Buffer<T> {
    /// At least one byte, so that there always is an address.
    memory: InContext<DeviceBuffer<u8>>,
    length: usize,
    what: &'static str,
    elements: PhantomData<T>,
    _taken: Taken,
}

impl<T: Pod> Buffer<T> {
    pub(super) fn new(
        context: &Arc<Context>,
        taken: Taken,
        what: &'static str,
        length: usize,
    ) -> Result<Buffer<T>> {
        let bytes = length.saturating_mul(size_of::<T>());
        // SAFETY: whatever the memory holds is a `T`, and the host sees it through copies only.
        let memory =
            InContext::new(context, || unsafe { DeviceBuffer::uninitialized(bytes.max(1)) })
                .of(|| format!("allocation of {bytes} bytes for {what}"))
                .map_err(|error| too_little(error, what, bytes as u64))?;
        Ok(Buffer { memory, length, what, elements: PhantomData, _taken: taken })
    }

    /// Where it is, for kernels: not to be followed on the host.
    pub fn pointer(&self) -> *mut T {
        ptr::without_provenance_mut(self.memory.peek().as_device_ptr().as_raw() as usize)
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }

    pub(super) fn what(&self) -> &'static str {
        self.what
    }

    /// The first elements, as bytes.
    pub(super) fn first(&self, elements: usize) -> DeviceSlice<u8> {
        self.part(0, elements)
    }

    /// Some elements from number `at` on, as bytes.
    pub(super) fn part(&self, at: usize, elements: usize) -> DeviceSlice<u8> {
        let end = at.checked_add(elements).filter(|&end| end <= self.length);
        let end = end.unwrap_or_else(|| panic!("{} is used within its size", self.what));
        self.memory.peek().index(at * size_of::<T>()..end * size_of::<T>())
    }

    /// Enqueues a fill of the first `length` elements with ones, NaN to whoever reads them as `f64`.
    pub fn poison(&self, length: usize, stream: &Stream) -> Result<()> {
        self.fill(0xff, length, stream)
    }

    pub fn clear(&self, stream: &Stream) -> Result<()> {
        self.fill(0, self.length, stream)
    }

    fn fill(&self, byte: u8, length: usize, stream: &Stream) -> Result<()> {
        let fill = || {
            let stream = stream.get()?;
            // SAFETY: the memory is not freed before the device is done with it, and any bytes are a
            // `T`.
            unsafe { self.first(length).set_8_async(byte, stream) }
        };
        fill().of(|| format!("fill of {}", self.what))
    }

    /// Copies `values` to the first elements, once all work before in `stream` is done, and waits
    /// for it.
    pub fn upload(&self, values: &[T], stream: &Stream) -> Result<()> {
        copy_in(&mut self.first(values.len()), bytemuck::cast_slice(values), stream)
            .of(|| format!("upload of {}", self.what))
    }

    /// Copies the first `length` elements back, once all work before in `stream` is done.
    pub fn download(&self, length: usize, stream: &Stream) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); length];
        let source = self.first(length);
        let mut copy = || {
            let stream = stream.get()?;
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
            // SAFETY: the stream is waited for before the values are looked at or dropped.
            let copied = unsafe { source.async_copy_to(bytes, stream) };
            stream.synchronize().and(copied)
        };
        copy().of(|| format!("download of {}", self.what))?;
        Ok(values)
    }
}

/// The error of an allocation that found no room, with what is free; others as they are.
fn too_little(error: Error, what: &str, needed: u64) -> Error {
    if library::last_code() != OUT_OF_MEMORY {
        return error;
    }
    let free = cust::memory::mem_get_info().map_or(0, |(free, _)| free as u64);
    Error::memory("device", what, needed, free, None)
}

const OUT_OF_MEMORY: i32 = CUresult::CUDA_ERROR_OUT_OF_MEMORY as i32;

/// Copies to memory of the device and waits for it.
pub(super) fn copy_in(to: &mut DeviceSlice<u8>, from: &[u8], stream: &Stream) -> CudaResult<()> {
    let stream = stream.get()?;
    // SAFETY: the stream is waited for while the source is borrowed.
    let copied = unsafe { to.async_copy_from(from, stream) };
    stream.synchronize().and(copied)
}

// Memory of the host that the device copies from and to by itself.

/// Page-locked memory of the host. A transfer takes it until the copy is done, so nobody can look at
/// it meanwhile, and whoever forgets a transfer only loses the memory.
pub struct Pinned<T> {
    /// At least one byte, and so at the start of a page.
    memory: InContext<LockedBuffer<u8>>,
    /// The end of its last transfer.
    done: Event,
    length: usize,
    what: &'static str,
    elements: PhantomData<T>,
}

impl<T: Pod> Pinned<T> {
    pub(super) fn new(
        context: &Arc<Context>,
        what: &'static str,
        length: usize,
    ) -> Result<Pinned<T>> {
        let bytes = length.saturating_mul(size_of::<T>());
        let memory = InContext::new(context, || LockedBuffer::new(&0, bytes.max(1)))
            .of(|| format!("allocation of {bytes} page-locked bytes for {what}"))?;
        let done = Event::new(context)?;
        Ok(Pinned { memory, done, length, what, elements: PhantomData })
    }

    /// Enqueues a copy of the first `length` elements to the first ones of `to`, which is of the same
    /// context.
    pub fn upload(self, length: usize, to: &Buffer<T>, stream: &Stream) -> Result<Transfer<T>> {
        self.upload_part(length, to, 0, stream)
    }

    /// Enqueues a copy of the bytes of `length` elements of `to`, to those from number `at` on.
    pub fn upload_part<U: Pod>(
        self,
        length: usize,
        to: &Buffer<U>,
        at: usize,
        stream: &Stream,
    ) -> Result<Transfer<T>> {
        let mut device = to.part(at, length);
        let host = &self.memory.peek()[..length * size_of::<U>()];
        let enqueued = stream
            .get()
            // SAFETY: the transfer holds the host's memory until the copy is done; the device's is not
            // freed before.
            .and_then(|stream| unsafe { device.async_copy_from(host, stream) })
            .of(|| format!("upload of {}", to.what()));
        Transfer::new(self, enqueued, stream)
    }

    /// Enqueues a copy of the first `length` elements of `from`, which is of the same context, to the
    /// first ones here.
    pub fn download(
        mut self,
        length: usize,
        from: &Buffer<T>,
        stream: &Stream,
    ) -> Result<Transfer<T>> {
        let device = from.first(length);
        let bytes = size_of_val(&self[..length]);
        let host = &mut self.memory.peek_mut()[..bytes];
        let enqueued = stream
            .get()
            // SAFETY: as in `upload`.
            .and_then(|stream| unsafe { device.async_copy_to(host, stream) })
            .of(|| format!("download of {}", from.what()));
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

/// A copy under way, which holds the memory of the host.
#[must_use = "who drops a transfer waits for it"]
pub struct Transfer<T> {
    /// There until [`Transfer::wait`] gives it back.
    pinned: Option<Pinned<T>>,
}

impl<T> Transfer<T> {
    /// Marks the end of what was enqueued last in `stream`; if that fails, nothing is under way
    /// when this returns.
    fn new(pinned: Pinned<T>, enqueued: Result<()>, stream: &Stream) -> Result<Transfer<T>> {
        match enqueued.and_then(|()| pinned.done.record(stream)) {
            Ok(()) => Ok(Transfer { pinned: Some(pinned) }),
            Err(error) => {
                let _ = stream.synchronize();
                Err(error)
            }
        }
    }

    /// Waits for the copy and gives the memory back.
    pub fn wait(self) -> Result<Pinned<T>> {
        let what = self.pinned.as_ref().expect("taken below only").what;
        self.wait_for(what)
    }

    /// The same where errors call what comes before the copy `what`.
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

// Memory of the host that is page-locked where it is.

/// What is registered, by its address: one list for the process, as the driver has one for all of its
/// contexts.
static RANGES: Mutex<BTreeMap<usize, Range>> = Mutex::new(BTreeMap::new());

/// Memory that a [`Registered`] owns.
struct Range {
    bytes: usize,
    /// Where transfers from there may be under way.
    contexts: Vec<Arc<Context>>,
}

fn ranges() -> MutexGuard<'static, BTreeMap<usize, Range>> {
    // Every change is whole, whatever a thread that panicked did before or after.
    RANGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory that is page-locked for the devices of all contexts, and owned meanwhile: it stays where it is as
/// long as this lives, and for ever if this is forgotten. Whoever drops it waits for the transfers from there.
pub struct Registered<M: Deref<Target = [T]>, T: Pod> {
    memory: Arc<M>,
    context: Arc<Context>,
}

impl<M: Deref<Target = [T]>, T: Pod> Registered<M, T> {
    pub(super) fn new(context: &Arc<Context>, memory: Arc<M>) -> Result<Self> {
        let bytes: &[u8] = bytemuck::cast_slice(&memory[..]);
        let register = || {
            CurrentContext::set_current(&**context)?;
            // SAFETY: the memory is owned, and nobody can change what is shared, until `drop` gives it back.
            unsafe { library::register(bytes) }
        };
        register().of(|| format!("page-locking of {} bytes where they are", bytes.len()))?;
        let range = Range { bytes: bytes.len(), contexts: Vec::new() };
        ranges().insert(bytes.as_ptr().addr(), range);
        Ok(Registered { memory, context: context.clone() })
    }
}

impl<M: Deref<Target = [T]>, T: Pod> Drop for Registered<M, T> {
    fn drop(&mut self) {
        let bytes: &[u8] = bytemuck::cast_slice(&self.memory[..]);
        // From here on no transfer begins.
        let range = ranges().remove(&bytes.as_ptr().addr());
        for context in range.into_iter().flat_map(|range| range.contexts) {
            // If this fails the context is lost, and its transfers with it.
            let _ =
                CurrentContext::set_current(&*context).and_then(|()| CurrentContext::synchronize());
        }
        let _ = CurrentContext::set_current(&*self.context)
            // SAFETY: registered by `new`; every context with a transfer was waited for.
            .and_then(|()| unsafe { library::unregister(bytes) });
    }
}

impl<T: Pod> Buffer<T> {
    /// Enqueues a copy of `values` to the first elements where they are in memory that is
    /// [`Registered`], and says whether they are. They may be read until the stream has passed the
    /// copy, or the memory is registered no more.
    pub fn upload_registered(&self, values: &[T], stream: &Stream) -> Result<bool> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let begin = bytes.as_ptr().addr();
        let mut ranges = ranges();
        let Some((at, range)) = ranges.range_mut(..=begin).next_back() else { return Ok(false) };
        if bytes.is_empty() || begin - at + bytes.len() > range.bytes {
            return Ok(false);
        }
        if !range.contexts.iter().any(|context| Arc::ptr_eq(context, stream.context())) {
            range.contexts.push(stream.context().clone());
        }
        let mut device = self.first(values.len());
        stream
            .get()
            // SAFETY: these bytes are owned by a `Registered`, which cannot be dropped while the list is
            // locked, and then waits for this context; the device's memory is not freed before the copy
            // is done.
            .and_then(|stream| unsafe { device.async_copy_from(bytes, stream) })
            .of(|| format!("upload of {}", self.what()))?;
        Ok(true)
    }
}

// What others have on a device: memory, and the context that is current on their thread.

/// Gives the calling thread back the context that was current on it.
#[must_use]
pub struct Visit(Option<usize>);

impl Visit {
    pub fn begin() -> Visit {
        Visit(library::current().ok())
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // A context that is gone meanwhile cannot be current again.
            let _ = library::set_current(before);
        }
    }
}

/// Whether an address is of a device's memory, managed memory included; not without a driver.
pub fn is_on_device(at: u64) -> bool {
    library::device_of(at).is_ok_and(|device| device.is_some())
}

/// Fails if not all `bytes` from `at` on are in the memory of device `index`.
pub fn require_on(index: usize, name: &str, at: u64, bytes: u64) -> Result<()> {
    let wrong = |what: String| Err(Error::Input { origin: name.into(), what });
    let last = at.saturating_add(bytes.saturating_sub(1));
    for (which, at) in [("", at), ("the end of it ", last)] {
        match library::device_of(at) {
            Ok(Some(device)) if device == index => {}
            Ok(Some(other)) => {
                let what = format!("{which}is in memory of gpu:{other}, gpu:{index} was opened");
                return wrong(what);
            }
            _ => return wrong(format!("{which}is not in memory of gpu:{index}")),
        }
    }
    Ok(())
}

/// Copies a column-major matrix of a device, `ld` elements from one column to the next, to the host, once
/// all work before in `stream` is done.
///
/// # Safety
/// It is there, in memory of the stream's device, and nobody writes it meanwhile.
pub unsafe fn fetched<T: Pod>(
    what: &'static str,
    at: u64,
    ld: usize,
    [rows, columns]: [usize; 2],
    stream: &Stream,
) -> Result<Vec<T>> {
    let (length, size) = (rows * columns, size_of::<T>());
    crate::system::memory::require(what, (length * size) as u64)?;
    let mut values = crate::system::memory::zeros(what, length)?;
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
    let mut copy = || {
        // The context is current then.
        let to = stream.get()?.as_inner();
        // SAFETY: the caller's word for the device; the host's memory holds so many columns without gaps,
        // and is waited for below.
        let copied = unsafe { library::fetch(bytes, at, [ld * size, rows * size, columns], to) };
        stream.get()?.synchronize().and(copied)
    };
    copy().of(|| format!("download of {what}"))?;
    Ok(values)
}
