//! Slabs that are uploaded again and again, page-locked where they are.

use std::sync::Arc;

use crate::devices::{Locked, Worker};
use crate::problem::{Matrix, Slab, Slabs};

/// What of a problem is page-locked. That takes longer than the copies of one calculation, so it is done when
/// slabs are uploaded for the second time.
#[derive(Default)]
pub struct Locks {
    /// Whether there was a calculation before.
    ran: bool,
    /// Whether what was in place has been forgotten since then.
    forgotten: bool,
    /// Nothing before it was tried: who is refused once does not ask again.
    held: Option<Vec<Locked>>,
}

impl Locks {
    /// Says that the next calculation uploads all slabs again.
    pub fn forgotten(&mut self) {
        self.forgotten = true;
    }

    /// Page-locks, once, what stays in memory of the slabs, where the calculation that begins uploads it again.
    /// Returns whether it does.
    pub fn take(&mut self, slabs: Slabs, workers: &[Box<dyn Worker + '_>]) -> bool {
        let forgotten = std::mem::take(&mut self.forgotten);
        let again = forgotten || workers.iter().any(|worker| worker.streams());
        if std::mem::replace(&mut self.ran, true) && self.held.is_none() && again {
            let held = slabs.held();
            let arrays = held.into_iter().flat_map(Slab::shared);
            let lock = |array: Arc<Matrix>| workers.iter().find_map(|to| to.lock(array.clone()));
            self.held = Some(arrays.filter_map(lock).collect());
        }
        again
    }
}
