//! Σ as a matrix: `SX_lm` and `CH_lm` of many bands l, m.
//!
//! With `A_l(ig,n)` the matrix elements of band l, `A_m(igp,n)` those of band m at the G of igp, and `ssx`, `sch` of
//! (ig, igp) at `wx(iw,n)` as in [`gpp_kernels::formula`]:
//!
//! ```text
//! SX_lm(iw) = − Σ_n occ(n) Σ_igp vcoul_loc(igp) conj(A_m(igp,n)) Σ_ig A_l(ig,n) ssx(ig,igp)
//! CH_lm(iw) = + ½ Σ_n      Σ_igp vcoul_loc(igp) conj(A_m(igp,n)) Σ_ig A_l(ig,n) sch(ig,igp)
//! ```
//!
//! `l = m` is the sum of [`crate::engine`]. [`Task`] is what is asked for, [`Sums`] what comes of it. Bands n are
//! summed in [`parts`], which workers take in turn ([`deal`]) and whose sums are added in order ([`calculation`]).

mod blocks;
pub mod calculation;
pub mod deal;
pub mod elements;
pub mod emulated;
pub mod gpu;
pub mod gpus;
pub mod images;
mod launches;
pub mod needs;
pub mod parts;
mod processor;
mod products;
mod steps;
pub mod versions;

use std::ops::{AddAssign, Range};

use gpp_cpu::stop::{NEVER, Stop};
use num_complex::Complex64;

use crate::problem::Problem;
pub use elements::{Elements, Synthesised};
use gpp_kernels::arrays::Limits;
pub use processor::{OnProcessor, on_processor};

/// More bands l and m than any matrix has.
pub const MOST_BANDS: usize = 8192;

/// What is summed.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// ω̃, eps, vcoul and the map of igp, bands n with their energies and occupations, and the energies. Its own
    /// matrix elements are not read.
    pub problem: &'a Problem,
    /// `A_l(ig,n)` of all bands l.
    pub elements: &'a dyn Elements,
    /// Which elements at which energies.
    pub at: At<'a>,
    /// Ends the calculation, within a part too.
    pub stop: &'a Stop,
}

/// Which elements at which energies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At<'a> {
    /// All elements at all energies of the problem: a matrix for each.
    Energies,
    /// `Σ_lm(E_l)` and `Σ_lm(E_m)`: two matrices, the first of rows at the energies of their bands, the second of
    /// columns. It has the number of each band's energy (0-based), `bands` of them.
    Bands(&'a [usize]),
}

impl At<'_> {
    /// In which of a task's matrices an element at an energy is.
    pub fn planes(self, l: usize, m: usize, iw: usize) -> impl Iterator<Item = usize> {
        let kept = match self {
            At::Energies => [Some(iw), None],
            At::Bands(of) => [(of[l] == iw).then_some(0), (of[m] == iw).then_some(1)],
        };
        kept.into_iter().flatten()
    }
}

impl<'a> Task<'a> {
    /// All elements at all energies of a problem.
    pub fn new(problem: &'a Problem, elements: &'a dyn Elements) -> Task<'a> {
        Task { problem, elements, at: At::Energies, stop: &NEVER }
    }

    /// Matrices that come of it.
    pub fn planes(&self) -> usize {
        match self.at {
            At::Energies => self.nw(),
            At::Bands(_) => 2,
        }
    }

    /// Bands l and m: the extent of the matrix.
    pub fn bands(&self) -> usize {
        self.elements.bands()
    }

    /// Energies.
    pub fn nw(&self) -> usize {
        self.problem.nw()
    }

    /// Operations: eight a complex product and addition, of both products.
    pub fn operations(&self) -> f64 {
        self.operations_of(0..self.problem.extents().nbands)
    }

    /// Those of some bands n.
    pub fn operations_of(&self, n: Range<usize>) -> f64 {
        let (extents, occ) = (self.problem.extents(), &self.problem.occ()[n]);
        let occupied = occ.iter().filter(|&&occ| occ != 0.0).count();
        let items = (self.nw() * (occ.len() + occupied)) as f64;
        let (bands, ngpown) = (self.bands() as f64, extents.ngpown as f64);
        8.0 * items * ngpown * bands * (extents.ncouls as f64 + bands)
    }

    /// Limits of the formula.
    pub fn limits(&self) -> Limits {
        self.problem.limits()
    }
}

/// The matrices of all energies, in the unit of the sums of [`crate::problem::Sums`]: element (l, m) at energy iw is entry
/// `l + bands · (m + bands · iw)`. Of [`At::Bands`] rows come first, then columns, as of two energies.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    /// Bands l and m.
    pub bands: usize,
    /// Screened exchange.
    pub sx: Vec<Complex64>,
    /// Coulomb hole.
    pub ch: Vec<Complex64>,
}

impl Sums {
    /// All zero.
    pub fn zero(bands: usize, nw: usize) -> Sums {
        let zeros = vec![Complex64::ZERO; bands * bands * nw];
        Sums { bands, sx: zeros.clone(), ch: zeros }
    }

    /// Energies.
    pub fn nw(&self) -> usize {
        self.sx.len() / (self.bands * self.bands)
    }

    /// Takes what a task keeps of `SX_lm` and `CH_lm` at one of the problem's energies.
    fn take(&mut self, at: At, iw: usize, of: impl Fn(usize, usize) -> [Complex64; 2]) {
        let bands = self.bands;
        let mut set = |l, m, plane| {
            let at = self.at(l, m, plane);
            [self.sx[at], self.ch[at]] = of(l, m);
        };
        match at {
            At::Energies => (0..bands * bands).for_each(|at| set(at % bands, at / bands, iw)),
            At::Bands(energies) => {
                for own in (0..bands).filter(|&own| energies[own] == iw) {
                    (0..bands).for_each(|m| set(own, m, 0));
                    (0..bands).for_each(|l| set(l, own, 1));
                }
            }
        }
    }

    /// Adds others.
    fn add(&mut self, other: &Sums) {
        for (to, from) in self.parts_mut().into_iter().zip(other.parts()) {
            to.iter_mut().zip(from).for_each(|(to, from)| to.add_assign(from));
        }
    }

    /// SX and CH.
    fn parts(&self) -> [&Vec<Complex64>; 2] {
        [&self.sx, &self.ch]
    }

    /// As [`Sums::parts`].
    fn parts_mut(&mut self) -> [&mut Vec<Complex64>; 2] {
        [&mut self.sx, &mut self.ch]
    }

    /// The place of element (l, m) at an energy.
    pub fn at(&self, l: usize, m: usize, iw: usize) -> usize {
        l + self.bands * (m + self.bands * iw)
    }
}

/// Energies of bands, each once from the lowest on, and for each band the number of its own: of [`At::Bands`].
pub fn once_each(of_bands: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let mut each = of_bands.to_vec();
    each.sort_by(f64::total_cmp);
    each.dedup();
    let numbers = of_bands.iter().map(|own| each.partition_point(|other| other < own)).collect();
    (each, numbers)
}

/// What came of a calculation.
#[derive(Clone, Debug, PartialEq)]
pub struct Summed {
    /// The matrices.
    pub sums: Sums,
    /// Seconds of the products, by the device's clock where it has one; of several devices those of the longest.
    pub seconds: f64,
    /// Seconds in all, with making and moving A.
    pub total: f64,
}
