//! What tells data from all other data of this process.

use std::sync::atomic::{AtomicU64, Ordering};

/// The identity of data that never change: of the same data, and of their copies, the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(u64);

impl Id {
    /// One that nothing has yet.
    pub fn unique() -> Id {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Id(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
