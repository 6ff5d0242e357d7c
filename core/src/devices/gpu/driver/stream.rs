//! Streams and events.

use std::sync::{Arc, Mutex};

use cust::context::Context;
use cust::error::CudaResult;
use cust::event::EventFlags;
use cust::stream::{StreamFlags, StreamWaitEventFlags};

use super::held::{Held, Operation};
use super::raw::Mark;
use crate::error::Result;

/// Work in the order in which it is enqueued, beside that of other streams. cust's streams wait for
/// the default stream, and it for them, so nothing in this folder uses that one.
pub struct Stream {
    stream: Held<cust::stream::Stream>,
    /// What waits for streams of others, once it was wanted.
    pub(super) mark: Mutex<Option<Held<Mark>>>,
    what: &'static str,
}

impl Stream {
    pub(super) fn new(context: &Arc<Context>, what: &'static str) -> Result<Stream> {
        let stream = Held::new(context, || cust::stream::Stream::new(StreamFlags::DEFAULT, None))
            .of(|| format!("stream of {what}"))?;
        Ok(Stream { stream, mark: Mutex::default(), what })
    }

    /// cust's stream, its context current.
    pub(super) fn get(&self) -> CudaResult<&cust::stream::Stream> {
        self.stream.get()
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        self.stream.context()
    }

    /// Waits until all that was enqueued is done.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver), also of what failed in the stream.
    pub fn synchronize(&self) -> Result<()> {
        self.get().and_then(|stream| stream.synchronize()).of(|| format!("work of {}", self.what))
    }

    /// What is enqueued here from now on begins when all that is enqueued in `other` now is done. The
    /// host does not wait. The streams may be of two devices.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
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
}

/// A point in a stream's time.
pub struct Event {
    event: Held<cust::event::Event>,
}

impl Event {
    pub(super) fn new(context: &Arc<Context>) -> Result<Event> {
        let event = Held::new(context, || cust::event::Event::new(EventFlags::DEFAULT));
        Ok(Event { event: event.of(|| "event".into())? })
    }

    /// Marks this point of `stream`, which is of the event's context.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    pub fn record(&self, stream: &Stream) -> Result<()> {
        // One context is current for both.
        let record = || self.event.peek().record(stream.get()?);
        record().of(|| format!("event of {}", stream.what))
    }

    /// Waits until the point has been reached; `what` is what comes before it.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver), also of what failed before in the stream.
    pub fn wait(&self, what: &str) -> Result<()> {
        self.event.get().and_then(|event| event.synchronize()).of(|| format!("run of {what}"))
    }

    /// Seconds from `earlier` to this event, once it has been reached, to half a microsecond; both
    /// are of one context and were recorded.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver), also of a kernel that failed before; `what` names it.
    pub fn seconds_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        self.wait(what)?;
        self.elapsed_since(earlier, what)
    }

    /// The same of an event that is known to have been reached.
    ///
    /// # Errors
    /// As [`Event::seconds_since`].
    pub fn elapsed_since(&self, earlier: &Event, what: &str) -> Result<f64> {
        let time = || self.event.get()?.elapsed_time_f32(earlier.event.peek());
        Ok(f64::from(time().of(|| format!("time of {what}"))?) * 1e-3)
    }
}
