//! How long the program takes from its start to the first calculation on a GPU.

use std::sync::OnceLock;
use std::time::Instant;

static BEGAN: OnceLock<Instant> = OnceLock::new();
static TOOK: OnceLock<f64> = OnceLock::new();

/// The process starts: the first thing that `main` does.
pub fn began() {
    BEGAN.get_or_init(Instant::now);
}

/// A calculation is about to be launched; only the first counts.
pub fn launched() {
    if let Some(began) = BEGAN.get() {
        TOOK.get_or_init(|| began.elapsed().as_secs_f64());
    }
}

/// Seconds from the start to the first launch, kernels compiled and data in place.
pub fn seconds() -> Option<f64> {
    TOOK.get().copied()
}
