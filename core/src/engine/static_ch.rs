//! The static CH of a problem: another sum over its slabs.

use std::mem;

use super::{Calculation, Engine};
use crate::catalogue::Kernel;
use crate::devices::Watch;
use crate::error::Result;

impl Engine<'_> {
    /// The static CH, `−½ Σ vcoul · eps · M` over all bands, as the `ach` of one energy, by a kernel of
    /// [`crate::catalogue::static_ch`]. A checkpoint keeps none of it: slabs that an earlier run has finished are
    /// summed too. Collective.
    ///
    /// # Errors
    /// Those of [`Engine::run`].
    pub fn static_ch(&mut self, kernel: Kernel, watch: Watch) -> Result<Calculation> {
        let (skipped, finished) = (mem::take(&mut self.skipped), mem::take(&mut self.finished));
        let checkpoint = self.checkpoint.take();
        let found = self.run_at(&[0], kernel, watch);
        (self.skipped, self.finished, self.checkpoint) = (skipped, finished, checkpoint);
        found
    }
}
