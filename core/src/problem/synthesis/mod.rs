//! Synthetic systems with the statistics known of the real ones.
//!
//! Every column has a stream of its own, keyed by the seed, the array and the column, and only
//! correctly rounded operations are used: the same bits on every machine, for any thread count.
//!
//! - Bands from −6 eV to 13 eV with silicon's gap, valence maximum at `e_lk`.
//! - G′ columns dealt out round-robin over a pool of 8 ranks, of which this is the first.
//! - `eps`: the diagonal falls from 0.94 with |G|; off it, entries of random sign and phase fall
//!   with |G|, |G′| and the distance between them. Entries below 1e-6 are zero.
//! - `wtilde`: real, 17 eV at the head and rising as `eps` falls; off the diagonal anywhere below
//!   that, since there Ω² is of any size. A zero `eps` has none; 3 % of the modes are
//!   invalid and hold 1e12.
//!   Systems with complex modes have the same ones, turned by up to π/8 each.
//! - `aqsn` and `aqsm` fall with |G|; `vcoul` falls as 1/|G|².

mod elements;

use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::plan::Poles;
use num_complex::Complex64;
use rayon::prelude::*;

use self::elements::{Stream, Uniform, g2, matrix_element, matrix_elements, mode, row, turned};
use super::memory::{self, Extents, Of};
use super::source::{Given, Source, check_slab};
use super::{Bands, Header, Origin, Problem, Slab, System, range, wrong};
use crate::error::Result;
use crate::progress::{Bar, Progress};

/// A built-in system, made whole or slab by slab.
pub struct Synthesis<'a> {
    system: &'a System,
    seed: u64,
    progress: Progress,
    /// `|G|²` of each row.
    rows: Vec<f64>,
}

impl<'a> Synthesis<'a> {
    /// Of this system; nothing large is made yet.
    pub fn new(system: &'a System, seed: u64, progress: impl Into<Progress>) -> Synthesis<'a> {
        Synthesis { system, seed, progress: progress.into(), rows: rows(system) }
    }

    /// Makes column `k` (0-based) of `wtilde` and `eps`.
    fn modes(&self, k: usize, wtilde: &mut [Complex64], eps: &mut [Complex64]) {
        let mut uniform = Uniform::new(self.seed, Stream::Modes, k);
        let igp = row(k, self.system.ncouls);
        for (ig, g2) in self.rows.iter().enumerate() {
            (wtilde[ig], eps[ig]) = mode(ig == igp, *g2, self.rows[igp], &mut uniform);
        }
        if self.system.complex_modes {
            // A stream of its own: all else is that of the system with real modes.
            let mut uniform = Uniform::new(self.seed, Stream::Phases, k);
            wtilde.iter_mut().for_each(|mode| *mode = turned(*mode, uniform.unit()));
        }
    }

    fn bar(&self, steps: usize) -> Box<dyn Bar> {
        self.progress.bar(&format!("making {}", self.system.name), steps as u64)
    }
}

impl Source for Synthesis<'_> {
    fn name(&self) -> &str {
        &self.system.name
    }

    fn origin(&self) -> Origin {
        Origin::System(self.system.clone(), self.seed)
    }

    fn extents(&self) -> Extents {
        self.system.extents()
    }

    fn bands(&self) -> Result<Arc<Bands>> {
        let System { nbands, ncouls, .. } = *self.system;
        memory::require(self.name(), self.extents().bytes_of(Of::Bands))?;
        let bar = self.bar(nbands);
        let mut aqsn = vec![Complex64::ZERO; ncouls * nbands];
        aqsn.par_chunks_mut(ncouls).enumerate().for_each(|(n, aqsn)| {
            matrix_elements(self.seed, Stream::Aqsn, n, &self.rows, aqsn);
            bar.step();
        });
        drop(bar);
        let bands = Bands::new(elements::header(self.system, &self.rows), aqsn);
        Ok(bands.map_err(|what| wrong(self.name(), what))?.into())
    }

    fn slab(&self, bands: &Bands, igp: Range<usize>) -> Result<Given<'_>> {
        check_slab(self, &igp)?;
        let System { nbands, ncouls, .. } = *self.system;
        let n = igp.len();
        let bar = self.bar(n + nbands);

        let mut wtilde = vec![Complex64::ZERO; ncouls * n];
        let mut eps = vec![Complex64::ZERO; ncouls * n];
        wtilde.par_chunks_mut(ncouls).zip(eps.par_chunks_mut(ncouls)).zip(igp.clone()).for_each(
            |((wtilde, eps), k)| {
                self.modes(k, wtilde, eps);
                bar.step();
            },
        );
        let mut aqsm_local = vec![Complex64::ZERO; n * nbands];
        aqsm_local.par_chunks_mut(n).enumerate().for_each(|(n, aqsm_local)| {
            let mut uniform = Uniform::new(self.seed, Stream::Aqsm, n);
            for (aqsm, k) in aqsm_local.iter_mut().zip(igp.clone()) {
                let row = row(k, ncouls);
                uniform.pass_to_square(row);
                *aqsm = matrix_element(self.rows[row], &mut uniform);
            }
            bar.step();
        });
        drop(bar);
        let slab = Slab::new(bands, igp, wtilde, eps, aqsm_local);
        Ok(Given::Made(slab.map_err(|what| wrong(self.name(), what))?))
    }

    fn poles(&self, igp: Range<usize>) -> Result<Poles> {
        let System { ncouls, complex_modes, .. } = *self.system;
        if !complex_modes {
            return Ok(Poles::Real);
        }
        // Nearly every column has some that are not real.
        let (mut wtilde, mut eps) = (vec![Complex64::ZERO; ncouls], vec![Complex64::ZERO; ncouls]);
        for k in igp {
            self.modes(k, &mut wtilde, &mut eps);
            if range::poles_of(&wtilde, &eps) == Poles::Any {
                return Ok(Poles::Any);
            }
        }
        Ok(Poles::Real)
    }
}

/// `|G|²` of each row of a system.
fn rows(system: &System) -> Vec<f64> {
    (0..system.ncouls).map(|ig| g2(ig, system.ncouls)).collect()
}

/// The small records of a system, at its own energies.
pub fn header(system: &System) -> Header {
    elements::header(system, &rows(system))
}

/// A built-in system with all its arrays.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory) before anything is allocated;
/// [`Error::Problem`](crate::Error::Problem) for a system that breaks its own rules.
pub fn synthesise(system: &System, seed: u64, progress: impl Into<Progress>) -> Result<Problem> {
    Synthesis::new(system, seed, progress).load()
}

/// Column `n` of `aqsmtemp`, of which `aqsm_local` holds this rank's rows.
pub fn aqsmtemp_column(system: &System, seed: u64, n: usize, column: &mut [Complex64]) {
    matrix_elements(seed, Stream::Aqsm, n, &rows(system), column);
}
