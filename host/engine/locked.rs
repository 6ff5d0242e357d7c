//! Slabs that are uploaded again and again, page-locked where they are.

use bytemuck::cast_slice;

use crate::devices::{Locked, Worker};
use crate::problem::Slabs;

/// What of a problem is page-locked. That takes longer than the copies of one calculation, so it is done when
/// slabs are uploaded for the second time.
#[derive(Default)]
pub struct Locks<'a> {
    /// Whether there was a calculation before.
    ran: bool,
    /// Whether what was in place has been forgotten since then.
    forgotten: bool,
    /// Nothing before it was tried: who is refused once does not ask again.
    held: Option<Vec<Locked<'a>>>,
}

impl<'a> Locks<'a> {
    /// Says that the next calculation uploads all slabs again.
    pub fn forgotten(&mut self) {
        self.forgotten = true;
    }

    /// Page-locks, once, what stays in memory of the slabs, where the calculation that begins uploads it again.
    /// Returns whether it does.
    pub fn take(&mut self, slabs: Slabs<'a>, workers: &[Box<dyn Worker + 'a>]) -> bool {
        let forgotten = std::mem::take(&mut self.forgotten);
        let again = forgotten || workers.iter().any(|worker| worker.streams());
        if std::mem::replace(&mut self.ran, true) && self.held.is_none() && again {
            let held = slabs.held();
            let arrays = held.iter().flat_map(|slab| [slab.wtilde(), slab.eps()]);
            let lock = |array| workers.iter().find_map(|worker| worker.lock(cast_slice(array)));
            self.held = Some(arrays.filter_map(lock).collect());
        }
        again
    }
}
