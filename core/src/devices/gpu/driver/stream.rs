//! What all things of a context have in common: its memory's budget, the context that is current, streams and events.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cust::context::{Context as CudaContext, CurrentContext};
use cust::error::CudaResult;
use cust::event::EventFlags;
use cust::stream::{StreamFlags, StreamWaitEventFlags};

use crate::devices::gpu::driver::library;
use crate::devices::gpu::driver::library::Mark;
use crate::error::{Error, Result};

// How much of a device's memory may be taken.

/// What is taken of a context's memory, and the most that may be.
#[derive(Debug)]
pub struct Budget {
    limit: u64,
    taken: AtomicU64,
}

impl Budget {
    /// At most so many bytes.
    pub fn of(limit: u64) -> Arc<Budget> {
        Arc::new(Budget { limit, taken: AtomicU64::new(0) })
    }

    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.taken.load(Ordering::Relaxed))
    }

    /// Takes `bytes` for `what` until the result is dropped.
    pub fn take(self: &Arc<Self>, what: &str, bytes: u64) -> Result<Taken> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|&taken| taken <= self.limit);
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Taken { from: self.clone(), bytes }),
            Err(_) => Err(Error::memory("device", what, bytes, self.left(), None)),
        }
    }
}

#[derive(Debug)]
pub struct Taken {
    from: Arc<Budget>,
    bytes: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.from.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

// What belongs to a context, and how a failure gets its operation.

/// Gives a failed call the operation that it was part of.
pub trait Operation<T> {
    /// The value, or an error of `operation`.
    fn of(self, operation: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Operation<T> for CudaResult<T> {
    fn of(self, operation: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|_| Error::driver(operation(), library::last_failure()))
    }
}

/// Something of the driver's and the context that it belongs to, which it keeps alive. The context is
/// made current on whichever thread uses or drops it, as the driver's functions act on the current
/// one. That takes some tens of nanoseconds.
pub struct InContext<T> {
    thing: ManuallyDrop<T>,
    context: Arc<CudaContext>,
}

impl<T> InContext<T> {
    pub fn new(
        context: &Arc<CudaContext>,
        make: impl FnOnce() -> CudaResult<T>,
    ) -> CudaResult<Self> {
        CurrentContext::set_current(&**context)?;
        Ok(InContext { thing: ManuallyDrop::new(make()?), context: context.clone() })
    }

    /// The thing, with its context current.
    pub fn get(&self) -> CudaResult<&T> {
        CurrentContext::set_current(&*self.context)?;
        Ok(&self.thing)
    }

    /// The thing, for what the driver has no part in.
    pub fn peek(&self) -> &T {
        &self.thing
    }

    /// The thing, for what the driver has no part in.
    pub fn peek_mut(&mut self) -> &mut T {
        &mut self.thing
    }

    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }
}

impl<T> Drop for InContext<T> {
    fn drop(&mut self) {
        // A failure here and below can no longer be told: the thing is then lost with its context.
        let _ = CurrentContext::set_current(&*self.context);
        // SAFETY: dropped here and nowhere else.
        unsafe { ManuallyDrop::drop(&mut self.thing) }
    }
}

// Streams and events.

/// Work in the order in which it is enqueued, beside that of other streams. cust's streams wait for
/// the default stream, and it for them, so nothing in this folder uses that one.
pub struct Stream {
    stream: InContext<cust::stream::Stream>,
    /// What waits for streams of others, once it was wanted.
    mark: Mutex<Option<InContext<Mark>>>,
    what: &'static str,
}

impl Stream {
    pub(super) fn new(context: &Arc<CudaContext>, what: &'static str) -> Result<Stream> {
        let stream =
            InContext::new(context, || cust::stream::Stream::new(StreamFlags::DEFAULT, None))
                .of(|| format!("stream of {what}"))?;
        Ok(Stream { stream, mark: Mutex::default(), what })
    }

    pub(super) fn get(&self) -> CudaResult<&cust::stream::Stream> {
        self.stream.get()
    }

    pub(super) fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    /// Waits until all that was enqueued is done.
    pub fn synchronize(&self) -> Result<()> {
        self.get().and_then(|stream| stream.synchronize()).of(|| format!("work of {}", self.what))
    }

    /// What is enqueued here from now on begins when all that is enqueued in `other` now is done. The
    /// host does not wait. The streams may be of two devices.
    pub fn wait_for(&self, other: &Stream) -> Result<()> {
        let wait = || {
            let source = other.get()?;
            let event = cust::event::Event::new(EventFlags::DISABLE_TIMING)?;
            event.record(source)?;
            // Destroys the event, as the driver allows before it is reached.
            self.get()?.wait_event(event, StreamWaitEventFlags::DEFAULT)
        };
        wait().of(|| format!("wait of {} for {}", self.what, other.what))
    }

    /// What is enqueued here from now on begins when all that is enqueued now in a stream of someone
    /// else's is done. The host does not wait.
    pub fn wait_for_foreign(&self, other: ForeignStream) -> Result<()> {
        let wait = || {
            let own = self.get()?.as_inner();
            // Of marks that are half made nobody hears.
            let mut mark = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
            let mark = match &mut *mark {
                Some(mark) => mark,
                none => none.insert(InContext::new(self.context(), Mark::new)?),
            };
            mark.peek_mut().wait(own, other.handle())
        };
        wait().of(|| "wait for the caller's stream".into())
    }
}

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

    fn handle(self) -> usize {
        self.0
    }
}

/// A point in a stream's time.
pub struct Event {
    event: InContext<cust::event::Event>,
}

impl Event {
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Event> {
        let event = InContext::new(context, || cust::event::Event::new(EventFlags::DEFAULT));
        Ok(Event { event: event.of(|| "event".into())? })
    }

    /// Marks this point of `stream`, which is of the event's context.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        // One context is current for both.
        let record = || self.event.peek().record(stream.get()?);
        record().of(|| format!("event of {}", stream.what))
    }

    /// Waits until the point has been reached; `what` is what comes before it.
    pub fn wait(&self, what: &str) -> Result<()> {
        self.event.get().and_then(|event| event.synchronize()).of(|| format!("run of {what}"))
    }

    /// Seconds from `earlier` to this event, once it has been reached, to half a microsecond; both
    /// are of one context and were recorded.
    pub fn seconds_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        self.wait(what)?;
        self.elapsed_since(earlier, what)
    }

    /// The same of an event that is known to have been reached.
    pub fn elapsed_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        let time = || self.event.get()?.elapsed_time_f32(earlier.event.peek());
        Ok(f64::from(time().of(|| format!("time of {what}"))?) * 1e-3)
    }
}
