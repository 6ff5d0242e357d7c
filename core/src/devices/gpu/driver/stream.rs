//! Objects of the driver with their context, streams and events.

use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};

use crate::devices::gpu::driver::Context;
use crate::devices::gpu::driver::library::{
    self, CudaResult, Handle, Mark, PrimaryContext, Stream,
};
use crate::error::{Error, Result};

pub trait Operation<T> {
    fn named(self, operation: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Operation<T> for CudaResult<T> {
    fn named(self, operation: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|_| {
            if library::is_out_of_memory() {
                let free = library::memory().map_or(u64::MAX, |(free, _)| free);
                return Error::device_memory(&operation(), 0, free);
            }
            Error::driver(operation(), library::last_failure())
        })
    }
}

/// Restores the context that was current on the calling thread when dropped.
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
            // A context that was destroyed meanwhile cannot be current again.
            let _ = library::set_current(before);
        }
    }
}

/// An object of the driver's with its context, which it keeps alive. The driver's functions act on the context that is
/// current on the thread, so it is made current before each use and before the drop: some tens of nanoseconds.
pub struct InContext<T> {
    object: ManuallyDrop<T>,
    context: Arc<PrimaryContext>,
}

impl<T> InContext<T> {
    pub fn new(
        context: &Arc<PrimaryContext>,
        create: impl FnOnce() -> CudaResult<T>,
    ) -> CudaResult<Self> {
        context.make_current()?;
        Ok(InContext { object: ManuallyDrop::new(create()?), context: context.clone() })
    }

    /// The object, its context current.
    pub fn get(&self) -> CudaResult<&T> {
        self.context.make_current()?;
        Ok(&self.object)
    }

    /// The object for uses without a call of the driver, or with its context current.
    pub fn peek(&self) -> &T {
        &self.object
    }

    pub fn peek_mut(&mut self) -> &mut T {
        &mut self.object
    }
}

impl<T> Drop for InContext<T> {
    fn drop(&mut self) {
        // A failure cannot be reported; the object is then lost with its context.
        let _ = self.context.make_current();
        // SAFETY: dropped here and nowhere else.
        unsafe { ManuallyDrop::drop(&mut self.object) }
    }
}

/// A stream. It waits for the default stream, and that for it, so this folder never uses that one.
pub struct GpuStream {
    stream: InContext<Stream>,
    /// By which it waits for other streams.
    mark: Mutex<InContext<Mark>>,
    what: &'static str,
}

impl Context {
    pub fn stream(&self, what: &'static str) -> Result<GpuStream> {
        let stream =
            InContext::new(&self.context, Stream::new).named(|| format!("stream of {what}"))?;
        let mark = InContext::new(&self.context, || Mark::new(false)).named(|| "event".into())?;
        Ok(GpuStream { stream, mark: Mutex::new(mark), what })
    }

    pub fn event(&self) -> Result<Event> {
        let event = InContext::new(&self.context, || Mark::new(true));
        Ok(Event(event.named(|| "event".into())?))
    }
}

impl GpuStream {
    pub(super) fn get(&self) -> CudaResult<&Stream> {
        self.stream.get()
    }

    /// Waits until all that was enqueued is done.
    pub fn synchronize(&self) -> Result<()> {
        self.get()
            .and_then(|stream| stream.synchronize())
            .named(|| format!("work of {}", self.what))
    }

    /// What is enqueued here from now on begins after all that is enqueued now in `other`, of the same context.
    pub fn wait_for(&self, other: &GpuStream) -> Result<()> {
        let handle = other.stream.peek().handle();
        self.wait_for_handle(handle).named(|| format!("wait of {} for {}", self.what, other.what))
    }

    /// As [`GpuStream::wait_for`], for a caller's stream.
    pub fn wait_for_foreign(&self, ForeignStream(handle): ForeignStream) -> Result<()> {
        self.wait_for_handle(handle).named(|| "wait for the caller's stream".into())
    }

    fn wait_for_handle(&self, other: Handle) -> CudaResult<()> {
        let stream = self.get()?.handle();
        // Locked, so that no other thread records the event before the stream waits for it.
        let mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the other stream is one of ours, or one by the contract of `ForeignStream::new`.
        unsafe { mark.peek().wait(stream, other) }
    }
}

/// A caller's stream, `CUstream` or `cudaStream_t`; the default one is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignStream(usize);

impl ForeignStream {
    /// The stream of a handle.
    ///
    /// # Safety
    /// It is a stream of the device's primary context, or a default stream, for as long as this is used.
    pub unsafe fn new(handle: *mut std::ffi::c_void) -> ForeignStream {
        ForeignStream(handle.addr())
    }
}

/// A point in a stream's time.
pub struct Event(InContext<Mark>);

impl Event {
    /// Marks this point of `stream`, a stream of the event's context.
    pub fn record(&self, stream: &GpuStream) -> Result<()> {
        let record = || self.0.peek().record(stream.get()?);
        record().named(|| format!("event of {}", stream.what))
    }

    /// Waits until the point has been reached; errors call what precedes it `what`.
    pub fn wait(&self, what: &str) -> Result<()> {
        self.0.get().and_then(|event| event.synchronize()).named(|| format!("run of {what}"))
    }

    /// Waits for this event. Seconds since `earlier`, an event of the same context, to half a microsecond.
    pub fn seconds_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        self.wait(what)?;
        let time = || self.0.get()?.since(earlier.0.peek());
        Ok(f64::from(time().named(|| format!("time of {what}"))?) * 1e-3)
    }
}
