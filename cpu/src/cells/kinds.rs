//! What cells are: pairs whose poles lie between two bounds, or in a disc.

use std::ops::Range;

use gpp_kernels::pairs::{Disc, Part, Pole};
use num_complex::Complex64;

use super::{Energies, Task, discs, moments, ways};
use crate::compensated::Compensated;
use crate::lanes::Lanes;

/// What cells are.
pub(super) trait Cell: Copy {
    /// What a pole is.
    type Wtilde: Copy + Into<Complex64> + Send + Sync;

    /// Its pairs.
    fn pairs(&self) -> Range<usize>;

    /// Whether it has moments.
    fn has_moments(&self) -> bool;

    /// Sums what its moments give a chunk's bands at all energies, and lists the bands and energies at which
    /// they do not tell it.
    fn by_moments<L: Lanes>(
        &self,
        token: L::Token,
        task: &Task,
        poles: &[Pole<Self::Wtilde>],
        of: (usize, &Energies),
        to: (&mut [Compensated], &mut Vec<(usize, usize)>),
    );
}

impl Cell for Part {
    type Wtilde = f64;

    fn pairs(&self) -> Range<usize> {
        self.begin as usize..self.end as usize
    }

    fn has_moments(&self) -> bool {
        !self.low.is_nan()
    }

    #[inline(always)]
    fn by_moments<L: Lanes>(
        &self,
        token: L::Token,
        task: &Task,
        poles: &[Pole],
        of: (usize, &Energies),
        to: (&mut [Compensated], &mut Vec<(usize, usize)>),
    ) {
        let moments = moments::of_part::<L>(token, task, (self, poles), of.0);
        let cell = ways::Cell::<L>::of(token, self, task.limits);
        ways::at_energies(token, task, (&cell, &moments), of, to);
    }
}

impl Cell for Disc {
    type Wtilde = Complex64;

    fn pairs(&self) -> Range<usize> {
        self.begin as usize..self.end as usize
    }

    fn has_moments(&self) -> bool {
        !self.radius.is_nan()
    }

    #[inline(always)]
    fn by_moments<L: Lanes>(
        &self,
        token: L::Token,
        task: &Task,
        poles: &[Pole<Complex64>],
        of: (usize, &Energies),
        to: (&mut [Compensated], &mut Vec<(usize, usize)>),
    ) {
        let moments = discs::moments::of_disc::<L>(token, task, (self, poles), of.0);
        let bounds = discs::ways::Bounds::<L>::of(token, self, task.limits);
        ways::at_energies(token, task, (&bounds, &moments), of, to);
    }
}
