//! Tells a caller, on his own thread, how far a calculation is, and has it stop when he says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use gpp_cpu::stop::Stop;

use crate::error::Result;

/// A caller's function.
pub type Tell = Arc<dyn Fn(f64) -> Option<i32> + Send + Sync>;

/// How often it is called.
const EVERY: Duration = Duration::from_millis(10);

/// One calculation.
#[derive(Default)]
pub struct Progress {
    /// The bits of the largest part that is done: those of positive numbers have their order.
    part: AtomicU64,
    pub stop: Stop,
}

impl Progress {
    /// A part is done, from 0 to 1.
    pub fn done(&self, part: f64) {
        self.part.fetch_max(part.to_bits(), Ordering::Relaxed);
    }

    /// Calls the caller's function, unless it has had it stop.
    pub fn tell(&self, tell: &Tell) {
        if !self.stop.is_asked()
            && let Some(code) = tell(f64::from_bits(self.part.load(Ordering::Relaxed)))
        {
            self.stop.ask(code);
        }
    }

    /// Waits for a result, and tells how far it is; none comes of a thread that panicked.
    pub fn wait<R>(&self, tell: &Tell, result: &Receiver<Result<R>>) -> Option<Result<R>> {
        loop {
            match result.recv_timeout(EVERY) {
                Err(RecvTimeoutError::Timeout) => self.tell(tell),
                Ok(result) => {
                    if result.is_ok() {
                        tell(1.0);
                    }
                    return Some(result);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}
