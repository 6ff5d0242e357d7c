//! When this process launched its first calculation.

use std::sync::OnceLock;
use std::time::Instant;

static FIRST: OnceLock<Instant> = OnceLock::new();

/// A calculation is about to be launched; only the first counts.
pub(super) fn now() {
    FIRST.get_or_init(Instant::now);
}

/// When it was, kernels compiled and data in place; none before.
pub fn first_launch() -> Option<Instant> {
    FIRST.get().copied()
}
