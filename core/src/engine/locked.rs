//! Slabs that are uploaded again and again, page-locked where they are.

use std::sync::Arc;

use crate::devices::{Locked, Worker};
use crate::problem::{Matrix, Slab, Slabs};

/// The page-locked arrays of a problem. Locking takes longer than the copies of one calculation, so it
/// is done when slabs are uploaded for the second time.
#[derive(Default)]
pub struct Locks {
    /// Whether there was a calculation before.
    ran: bool,
    /// Whether the devices have forgotten since then what was in place.
    forgotten: bool,
    /// Nothing was tried yet: a lock that was refused once is not tried again.
    held: Option<Vec<Locked>>,
}

impl Locks {
    /// Says that the next calculation uploads all slabs again.
    pub fn forgotten(&mut self) {
        self.forgotten = true;
    }

    /// Page-locks, once, the slabs that stay in memory, where the calculation that begins uploads them again.
    /// Returns whether it uploads them again.
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
