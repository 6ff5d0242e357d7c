//! Prepares the arrays of a calculation, and keeps them for the next one.

use super::Engine;
use crate::catalogue::Kernel;
use crate::error::Result;

impl Engine<'_> {
    /// Allows so many bytes of the host's memory for what workers compute from slabs and need again.
    pub fn keep(&mut self, bytes: u64) {
        self.kept = bytes;
        let each = bytes / self.workers.len() as u64;
        self.workers.iter_mut().for_each(|worker| worker.keep(each));
    }

    /// Bytes that are allowed for it.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Whether slabs displace each other, so that every calculation uploads them again.
    pub fn streams(&self) -> bool {
        self.workers.iter().any(|worker| worker.streams())
    }

    /// Places all that a version's kernels read, where it stays there. The next calculation, even the
    /// first, then only launches, and prepares the next batch of energies.
    ///
    /// # Errors
    /// Those of the worker.
    pub fn ready(&mut self, kernel: Kernel) -> Result<()> {
        let slabs = self.slabs;
        let (held, [only]) = (slabs.held(), &mut self.workers[..]) else { return Ok(()) };
        let ([slab], 1, 1) = (&held[..], slabs.count(), self.ranks.size()) else { return Ok(()) };
        // The first batch last: its energies are to be there.
        let kinds: Vec<_> = slabs.frame().batches_for(kernel).kinds().collect();
        kinds.iter().rev().try_for_each(|batch| only.ready(slab.view(), batch, kernel))
    }
}
