//! Synthetic systems with the statistics of BerkeleyGW's arrays.
//!
//! Every column has a stream of its own, keyed by the seed, the array and the column, and only
//! correctly rounded operations are used: the same bits on every machine, for any thread count.
//!
//! - Bands from −6 eV to 13 eV with silicon's gap, valence maximum at `e_lk`.
//! - G′ columns dealt out round-robin over a pool of 8 ranks, of which this is the first. A share of them,
//!   [`System::masked`], is masked: `indinv` is 0, and `wtilde`, `eps` and `aqsm` are zero.
//! - `eps`: the diagonal falls from 0.94 with |G|; off it, entries of random sign and phase fall
//!   with |G|, |G′| and the distance between them. 6.2 % of all are zero, and so are their poles.
//! - Real poles have the shares and quantiles of one call of `sigma` with Hybertsen-Louie's model, 16 silicon
//!   atoms at q → 0, 1471 G: 33 % are static and hold 1e12 eV, 2.5 % are zero beside an `eps` that is not,
//!   the others lie between 0.3 and 540 eV.
//! - Complex poles have those of a call with Godby-Needs' model and `invalid_gpp_mode 1`, two atoms of GaAs, 64 G:
//!   11.8 % are off the real axis, at angles of 53° to 87° on either side of it; none is static or zero.
//! - Poles do not depend on `eps`, as the measured ones hardly do. But those on the diagonal are real, 17 eV at the
//!   head, and rise as `eps` falls.
//! - `aqsn` and `aqsm` fall with |G|; `vcoul` falls as 1/|G|².

mod elements;

use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::plan::Poles;
use num_complex::Complex64;
use rayon::prelude::*;

use self::elements::{Stream, Uniform, g2, matrix_element, matrix_elements, mode, row};
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
    /// Without masked columns.
    header: Arc<Header>,
}

impl<'a> Synthesis<'a> {
    /// Of this system; nothing large is made yet.
    pub fn new(system: &'a System, seed: u64, progress: impl Into<Progress>) -> Synthesis<'a> {
        let (rows, header) = (rows(system), header(system, seed).into());
        Synthesis { system, seed, progress: progress.into(), rows, header }
    }

    /// Makes the column of an igp (0-based) of `wtilde` and `eps`, given as zeros.
    fn modes(&self, igp: usize, wtilde: &mut [Complex64], eps: &mut [Complex64]) {
        let k = self.header.column(igp);
        let Some(igp) = row(self.system, self.seed, k) else { return };
        let mut uniform = Uniform::new(self.seed, Stream::Modes, k);
        for (ig, g2) in self.rows.iter().enumerate() {
            let (is_diagonal, complex) = (ig == igp, self.system.complex_modes);
            (wtilde[ig], eps[ig]) = mode(is_diagonal, complex, [*g2, self.rows[igp]], &mut uniform);
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
        self.header.extents()
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
        let bands = Bands::new(self.header.clone(), aqsn);
        Ok(bands.map_err(|what| wrong(self.name(), what))?.into())
    }

    fn slab(&self, bands: &Bands, igp: Range<usize>) -> Result<Given<'_>> {
        check_slab(self, &igp)?;
        let System { nbands, ncouls, .. } = *self.system;
        let n = igp.len();
        let rows: Vec<Option<usize>> = bands.header().rows_of(igp.clone()).collect();
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
            for (aqsm, row) in aqsm_local.iter_mut().zip(&rows) {
                let Some(row) = *row else { continue };
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
        // Nearly every column has some that are not real.
        let is_any = |k| {
            let [mut wtilde, mut eps] = [(); 2].map(|()| vec![Complex64::ZERO; ncouls]);
            self.modes(k, &mut wtilde, &mut eps);
            range::poles_of(&wtilde, &eps) == Poles::Any
        };
        let found = complex_modes && igp.into_iter().any(is_any);
        Ok(if found { Poles::Any } else { Poles::Real })
    }
}

/// `|G|²` of each row of a system.
fn rows(system: &System) -> Vec<f64> {
    (0..system.ncouls).map(|ig| g2(ig, system.ncouls)).collect()
}

/// The small records of a system made with this seed, at its own energies and without masked columns.
pub fn header(system: &System, seed: u64) -> Header {
    elements::header(system, seed, &rows(system)).without_masked()
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

/// Matrix elements `A_l(ig,n)` of a system's bands l, each column by itself.
pub struct Elements<'a> {
    system: &'a System,
    seed: u64,
    rows: Vec<f64>,
}

impl<'a> Elements<'a> {
    /// Of this system.
    pub fn new(system: &'a System, seed: u64) -> Elements<'a> {
        Elements { system, seed, rows: rows(system) }
    }

    /// `A_l(:,n)`; l and n are 0-based, and n is one of the system's bands.
    pub fn column(&self, l: usize, n: usize, column: &mut [Complex64]) {
        let at = l * self.system.nbands + n;
        matrix_elements(self.seed, Stream::Bands, at, &self.rows, column);
    }
}
