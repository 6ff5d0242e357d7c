//! How much of a device's memory may be taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

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

    /// What may still be taken.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.taken.load(Ordering::Relaxed))
    }

    /// Takes `bytes` for `what` until the result is dropped.
    ///
    /// # Errors
    /// [`Error::Memory`] where fewer are left.
    pub fn take(self: &Arc<Self>, what: &str, bytes: u64) -> Result<Taken> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|&taken| taken <= self.limit);
        match self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more) {
            Ok(_) => Ok(Taken { from: self.clone(), bytes }),
            Err(_) => {
                let (what, free) = (what.into(), self.left());
                let limit = None;
                Err(Error::Memory { place: "device", what, needed: bytes, free, limit })
            }
        }
    }
}

/// A part of a budget.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is() {
        let budget = Budget::of(100);
        let first = budget.take("one", 60).unwrap();
        let error = budget.take("two", 41).unwrap_err().to_string();
        assert!(error.contains("device memory for two"), "{error}");
        assert!(budget.take("all there is", u64::MAX).is_err());
        let second = budget.take("two", 40).unwrap();
        assert_eq!(budget.left(), 0);
        drop(first);
        assert_eq!(budget.left(), 60);
        drop(second);
        assert_eq!(budget.left(), 100);
    }
}
