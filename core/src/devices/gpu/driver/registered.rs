//! Memory of the host that is page-locked where it is.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;
use cust::context::{Context, CurrentContext};
use cust::memory::AsyncCopyDestination;

use super::held::Operation;
use super::{Buffer, Stream, raw};
use crate::error::Result;

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
/// long as this lives, and for ever where this is forgotten. Whoever drops it waits for the transfers from there.
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
            unsafe { raw::register(bytes) }
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
            // Where this fails the context is lost, and its transfers with it.
            let _ =
                CurrentContext::set_current(&*context).and_then(|()| CurrentContext::synchronize());
        }
        let _ = CurrentContext::set_current(&*self.context)
            // SAFETY: registered by `new`; every context with a transfer was waited for.
            .and_then(|()| unsafe { raw::unregister(bytes) });
    }
}

impl<T: Pod> Buffer<T> {
    /// Enqueues a copy of `values` to the first elements where they are in memory that is
    /// [`Registered`], and says whether they are. They may be read until the stream has passed the
    /// copy, or the memory is registered no more.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Panics
    /// Where the buffer is smaller.
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
