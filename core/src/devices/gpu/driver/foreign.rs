//! What others have on a device: memory, streams, and the context that is current on their thread.

use std::sync::PoisonError;

use bytemuck::Pod;

use super::held::{Held, Operation};
use super::raw::Mark;
use super::{Stream, raw};
use crate::error::{Error, Result};

/// A stream of someone else's, `CUstream` or `cudaStream_t`; the default one is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignStream(usize);

impl ForeignStream {
    /// Of a handle.
    ///
    /// # Safety
    /// It is a stream of the device's primary context, or a default stream, for as long as this is used.
    pub unsafe fn new(handle: *mut std::ffi::c_void) -> ForeignStream {
        ForeignStream(handle.addr())
    }

    /// Its handle.
    pub(super) fn handle(self) -> usize {
        self.0
    }
}

/// Gives the calling thread back the context that was current on it.
#[must_use]
pub struct Visit(Option<usize>);

impl Visit {
    /// From now on.
    pub fn begin() -> Visit {
        Visit(raw::current().ok())
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(before) = self.0 {
            // A context that is gone meanwhile cannot be current again.
            let _ = raw::set_current(before);
        }
    }
}

/// Whether an address is of a device's memory, managed memory included; not without a driver.
pub fn is_on_device(at: u64) -> bool {
    raw::device_of(at).is_ok_and(|device| device.is_some())
}

/// Fails where not all `bytes` from `at` on are in the memory of device `index`.
///
/// # Errors
/// [`Error::Data`], which names the array.
pub fn require_on(index: usize, name: &str, at: u64, bytes: u64) -> Result<()> {
    let wrong = |what: String| Err(Error::Data { origin: name.into(), what });
    let last = at.saturating_add(bytes.saturating_sub(1));
    for (which, at) in [("", at), ("the end of it ", last)] {
        match raw::device_of(at) {
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
/// # Errors
/// [`Error::Memory`] where the host has no room; [`Error::Driver`].
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
        let copied = unsafe { raw::fetch(bytes, at, [ld * size, rows * size, columns], to) };
        stream.get()?.synchronize().and(copied)
    };
    copy().of(|| format!("download of {what}"))?;
    Ok(values)
}

impl Stream {
    /// What is enqueued here from now on begins when all that is enqueued now in a stream of someone
    /// else's is done. The host does not wait.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn wait_for_foreign(&self, other: ForeignStream) -> Result<()> {
        let wait = || {
            let own = self.get()?.as_inner();
            // Of marks that are half made nobody hears.
            let mut mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
            let mark = match &mut *mark {
                Some(mark) => mark,
                none => none.insert(Held::new(self.context(), Mark::new)?),
            };
            mark.peek_mut().wait(own, other.handle())
        };
        wait().of(|| "wait for the caller's stream".into())
    }
}
