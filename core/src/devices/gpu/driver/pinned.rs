//! Memory of the host that the device copies from and to by itself.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytemuck::Pod;
use cust::context::Context;
use cust::memory::{AsyncCopyDestination, LockedBuffer};

use super::held::{Held, Operation};
use super::{Buffer, Event, Stream};
use crate::error::Result;

/// Page-locked memory of the host. A transfer takes it until the copy is done, so nobody can look at
/// it meanwhile, and whoever forgets a transfer only loses the memory.
pub struct Pinned<T> {
    /// At least one byte, and so at the start of a page.
    memory: Held<LockedBuffer<u8>>,
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
        let memory = Held::new(context, || LockedBuffer::new(&0, bytes.max(1)))
            .of(|| format!("allocation of {bytes} page-locked bytes for {what}"))?;
        let done = Event::new(context)?;
        Ok(Pinned { memory, done, length, what, elements: PhantomData })
    }

    /// Enqueues a copy of the first `length` elements to the first ones of `to`, which is of the same
    /// context.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Panics
    /// Where either has fewer elements.
    pub fn upload(self, length: usize, to: &Buffer<T>, stream: &Stream) -> Result<Transfer<T>> {
        self.upload_part(length, to, 0, stream)
    }

    /// Enqueues a copy of the bytes of `length` elements of `to`, to those from number `at` on.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Panics
    /// Where either has fewer.
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
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Panics
    /// Where either has fewer elements.
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
    /// Marks the end of what was enqueued last in `stream`; where that fails, nothing is under way
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
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver), also of what failed before in the stream.
    ///
    /// # Panics
    /// Never: it takes the transfer, which holds the memory until then.
    pub fn wait(self) -> Result<Pinned<T>> {
        let what = self.pinned.as_ref().expect("taken below only").what;
        self.wait_for(what)
    }

    /// The same where errors call what comes before the copy `what`.
    ///
    /// # Errors
    /// As [`Transfer::wait`].
    ///
    /// # Panics
    /// Never, as there.
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
