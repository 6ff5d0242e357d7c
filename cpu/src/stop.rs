//! Being asked to stop.

use std::sync::atomic::{AtomicI64, Ordering};

/// What a calculation is asked to stop for: a number of the caller's, of a signal for instance. Versions look at it
/// between pieces of work of a few milliseconds; what they return after that is not a sum.
pub struct Stop(AtomicI64);

/// No `i32`.
const NOTHING: i64 = i64::MAX;

impl Stop {
    /// Nobody has asked.
    pub const fn new() -> Stop {
        Stop(AtomicI64::new(NOTHING))
    }

    /// Asks for it. Returns whether this is the first time.
    pub fn ask(&self, code: i32) -> bool {
        self.0.swap(code.into(), Ordering::SeqCst) == NOTHING
    }

    /// What it was asked for last, if it was.
    pub fn asked(&self) -> Option<i32> {
        i32::try_from(self.0.load(Ordering::SeqCst)).ok()
    }

    /// Whether it was asked.
    #[inline(always)]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) != NOTHING
    }
}

impl Default for Stop {
    fn default() -> Self {
        Stop::new()
    }
}

/// For calculations that nobody stops.
pub static NEVER: Stop = Stop::new();
