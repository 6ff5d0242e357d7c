//! Being asked to stop.

use std::sync::atomic::{AtomicI64, Ordering};

/// What a calculation is asked to stop for: a number of the caller's, of a signal for instance. Versions look at it
/// between pieces of work of a few milliseconds; what they return after that is not a sum.
pub struct Stop(AtomicI64);

/// No `i32`: nobody has asked yet, or nobody may.
const NOTHING: i64 = i64::MAX;
const NOBODY: i64 = i64::MIN;

impl Stop {
    /// Nobody has asked.
    pub const fn new() -> Stop {
        Stop(AtomicI64::new(NOTHING))
    }

    /// Asks for it. Returns whether this is the first time; later ones have no effect.
    pub fn ask(&self, code: i32) -> bool {
        let (order, code) = (Ordering::SeqCst, code.into());
        self.0.compare_exchange(NOTHING, code, order, order).is_ok()
    }

    /// What it was asked for, if it was.
    pub fn asked(&self) -> Option<i32> {
        i32::try_from(self.0.load(Ordering::Relaxed)).ok()
    }

    /// Whether it was asked.
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

/// For calculations that nobody stops: it takes no asking.
pub static NEVER: Stop = Stop(AtomicI64::new(NOBODY));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_who_asks_is_heard_and_nobody_by_never() {
        let stop = Stop::new();
        assert_eq!((stop.asked(), stop.is_asked()), (None, false));
        assert!(stop.ask(0) && !stop.ask(7));
        assert_eq!((stop.asked(), stop.is_asked()), (Some(0), true));
        assert!(!NEVER.ask(1) && !NEVER.is_asked());
    }
}
