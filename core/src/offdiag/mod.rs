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
pub mod emulated;
pub mod gpu;
pub mod images;
mod launches;
mod processor;
mod products;
pub mod versions;

use num_complex::Complex64;

use crate::problem::Problem;
pub use elements::{Elements, Synthesised};
use gpp_kernels::arrays::Limits;
pub use processor::on_processor;

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

    /// Operations: eight a complex product and addition, of both products.
    pub fn operations(&self) -> f64 {
        let extents = self.problem.extents();
        let occupied = self.problem.occ().iter().filter(|&&occ| occ != 0.0).count();
        let items = (self.nw() * (extents.nbands + occupied)) as f64;
        let (bands, ngpown) = (self.bands() as f64, extents.ngpown as f64);
        8.0 * items * ngpown * bands * (extents.ncouls as f64 + bands)
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

    /// Takes `SX_lm` and `CH_lm` of an energy.
    fn take(&mut self, iw: usize, of: impl Fn(usize, usize) -> [Complex64; 2]) {
        for m in 0..self.bands {
            for l in 0..self.bands {
                let at = self.at(l, m, iw);
                [self.sx[at], self.ch[at]] = of(l, m);
            }
        }
    }

    /// The place of element (l, m) at an energy.
    pub fn at(&self, l: usize, m: usize, iw: usize) -> usize {
        l + self.bands * (m + self.bands * iw)
    }
}

/// What came of a calculation.
#[derive(Clone, Debug, PartialEq)]
pub struct Summed {
    /// The matrices.
    pub sums: Sums,
    /// Seconds of the products, by the device's clock where it has one.
    pub seconds: f64,
    /// Seconds in all, with making and moving A.
    pub total: f64,
}
