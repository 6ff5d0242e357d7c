//! Tells a caller, on his own thread, how far a calculation is, and has it stop when he says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use gpp_cpu::stop::Stop;

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

    /// Waits for a result; none comes of a thread that panicked.
    pub fn wait<R>(&self, tell: &Tell, result: &Receiver<R>) -> Option<R> {
        loop {
            if !self.stop.is_asked()
                && let Some(code) = tell(f64::from_bits(self.part.load(Ordering::Relaxed)))
            {
                self.stop.ask(code);
            }
            match result.recv_timeout(EVERY) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(result) => {
                    if !self.stop.is_asked() {
                        tell(1.0);
                    }
                    return Some(result);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}
