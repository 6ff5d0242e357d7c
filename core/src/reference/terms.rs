//! Which terms of a problem are evaluated.

use rayon::prelude::*;

use crate::error::Result;
use crate::problem::{Bands, Problem, SlabView, Slabs};

/// All bands and `ig` of a problem, at some energies, of some `igp`.
#[derive(Clone)]
pub struct Terms<'a> {
    slabs: Slabs<'a>,
    energies: Vec<usize>,
    /// One `igp` of so many.
    every: usize,
}

impl<'a> From<Slabs<'a>> for Terms<'a> {
    /// All.
    fn from(slabs: Slabs<'a>) -> Terms<'a> {
        Terms { slabs, energies: (0..slabs.frame().nw()).collect(), every: 1 }
    }
}

impl<'a> From<&'a Problem> for Terms<'a> {
    /// All.
    fn from(problem: &'a Problem) -> Terms<'a> {
        Slabs::from(problem).into()
    }
}

impl<'a> Terms<'a> {
    /// The same at these energies (0-based) only.
    #[must_use]
    pub fn at(self, energies: &[usize]) -> Terms<'a> {
        Terms { energies: energies.to_vec(), ..self }
    }

    /// The same of as few `igp`, evenly spaced, as have so many terms at most; of one where it has more.
    #[must_use]
    pub fn at_most(self, most: u64) -> Terms<'a> {
        let of_igp = self.count() / self.igp().max(1) as u64;
        let igp = (most / of_igp.max(1)).max(1) as usize;
        let every = self.slabs.frame().header().ngpown.div_ceil(igp);
        Terms { every: every.max(self.every), ..self }
    }

    /// The energies (0-based).
    pub fn energies(&self) -> &[usize] {
        &self.energies
    }

    /// How many `igp`.
    pub fn igp(&self) -> usize {
        self.slabs.frame().header().ngpown.div_ceil(self.every)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        let whole = self.slabs.frame().extents();
        let extents = [whole.nbands, self.igp(), whole.ncouls, self.energies.len()];
        extents.map(|n| n as u64).into_iter().fold(1, u64::saturating_mul)
    }

    /// What `column` says of each `igp`, in their order; of its own it knows the number within the slab.
    ///
    /// # Errors
    /// Those of [`Slabs::part`].
    pub(super) fn columns<T: Send>(
        &self,
        column: impl Fn(&Bands, SlabView, usize) -> T + Sync,
    ) -> Result<Vec<T>> {
        let (bands, mut columns) = (self.slabs.frame().bands(), Vec::new());
        for igp in self.slabs.ranges() {
            // Those of a slab begin where those of the last one would go on.
            let first = igp.start.next_multiple_of(self.every) - igp.start;
            if first >= igp.len() {
                continue;
            }
            let part = self.slabs.part(igp)?;
            let slab = part.view();
            let some = (first..slab.len()).into_par_iter().step_by(self.every);
            columns.par_extend(some.map(|igp| column(bands, slab, igp)));
        }
        Ok(columns)
    }
}
