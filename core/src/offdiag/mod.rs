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
//! `l = m` is the sum of [`crate::engine`]. [`Task`] is what is asked for, [`Sums`] what comes of it.

pub mod elements;

use num_complex::Complex64;

use crate::problem::Problem;
pub use elements::{Elements, Synthesised};
use gpp_kernels::arrays::Limits;

/// What is summed.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// ω̃, eps, vcoul and the map of igp, bands n with their energies and occupations, and the energies. Its own
    /// matrix elements are not read.
    pub problem: &'a Problem,
    /// `A_l(ig,n)` of all bands l.
    pub elements: &'a dyn Elements,
}

impl Task<'_> {
    /// Bands l and m: the extent of the matrix.
    pub fn bands(&self) -> usize {
        self.elements.bands()
    }

    /// Energies.
    pub fn nw(&self) -> usize {
        self.problem.nw()
    }

    /// Limits of the formula.
    pub fn limits(&self) -> Limits {
        self.problem.limits()
    }
}

/// The matrices of all energies, in eV as the sums of [`crate::problem::Sums`]: element (l, m) at energy iw is entry
/// `l + bands · (m + bands · iw)`.
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

    /// The place of element (l, m) at an energy.
    pub fn at(&self, l: usize, m: usize, iw: usize) -> usize {
        l + self.bands * (m + self.bands * iw)
    }
}
