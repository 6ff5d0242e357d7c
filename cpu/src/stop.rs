//! How a caller stops a calculation.

use std::sync::atomic::{AtomicI64, Ordering};

/// A request to stop, with a code of the caller's, that of a signal for instance. Versions look at it between tiles
/// of a few milliseconds; what they return after that is not a sum.
pub struct Stop(AtomicI64);

/// No `i32`: not requested yet, or never to be.
const NOT_REQUESTED: i64 = i64::MAX;
const UNSTOPPABLE: i64 = i64::MIN;

impl Stop {
    pub const fn new() -> Stop {
        Stop(AtomicI64::new(NOT_REQUESTED))
    }

    /// Requests it. Returns whether this is the first time; later ones have no effect.
    pub fn ask(&self, code: i32) -> bool {
        let (order, code) = (Ordering::SeqCst, code.into());
        self.0.compare_exchange(NOT_REQUESTED, code, order, order).is_ok()
    }

    /// The code, if it was requested.
    pub fn asked(&self) -> Option<i32> {
        i32::try_from(self.0.load(Ordering::Relaxed)).ok()
    }

    #[inline(always)]
    pub fn is_asked(&self) -> bool {
        self.asked().is_some()
    }
}

impl Default for Stop {
    fn default() -> Self {
        Stop::new()
    }
}

/// A stop for calculations that cannot be stopped: it takes no request.
pub static NEVER: Stop = Stop(AtomicI64::new(UNSTOPPABLE));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_request_counts_and_never_takes_none() {
        let stop = Stop::new();
        assert_eq!((stop.asked(), stop.is_asked()), (None, false));
        assert!(stop.ask(0) && !stop.ask(7));
        assert_eq!((stop.asked(), stop.is_asked()), (Some(0), true));
        assert!(!NEVER.ask(1) && !NEVER.is_asked());
    }
}
