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

use std::ops::Range;
use std::sync::Arc;

use gpp_kernels::registry::Poles;
use indicatif::ProgressBar;
use num_complex::Complex64;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::memory::{self, Extents, Of};
use super::source::{Part, Source, check_slab};
use super::{Bands, Header, Origin, Problem, Slab, System, range, wrong};
use crate::error::Result;
use crate::process::progress::Progress;

/// Ranks that share the G′ columns.
const POOL: usize = 8;
/// `|G|²` of the last G vector, in Ry.
const G2_MAX: f64 = 10.0;
const BAND_BOTTOM: f64 = -6.0;
const VALENCE_TOP: f64 = 6.208;
const CONDUCTION_BOTTOM: f64 = 6.558;
const BAND_TOP: f64 = 13.0;
const HEAD_EPS: f64 = 0.94;
const HEAD_WTILDE: f64 = 17.0;
const OFF_DIAGONAL: f64 = 0.135;
const SMALLEST_EPS: f64 = 1e-6;
const INVALID_SHARE: f64 = 0.03;
/// What BerkeleyGW stores where a mode is not valid.
const INVALID_WTILDE: f64 = 1e12;

/// Array of a stream, its high word; the column is the low word.
#[derive(Clone, Copy)]
enum Stream {
    Modes = 1,
    Aqsn = 2,
    Aqsm = 3,
    Phases = 4,
}

/// Uniform numbers of one column.
struct Uniform(ChaCha8Rng);

impl Uniform {
    fn new(seed: u64, stream: Stream, column: usize) -> Uniform {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream((stream as u64) << 32 | column as u64);
        Uniform(rng)
    }

    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Goes to where `at` squares have been drawn and nothing else.
    fn pass_to_square(&mut self, at: usize) {
        // Two numbers of two words each.
        self.0.set_word_pos(4 * at as u128);
    }

    /// In the square [−1, 1)².
    fn square(&mut self) -> Complex64 {
        Complex64::new(2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0)
    }
}

/// `|G|²` in Ry of row `ig` (0-based) of `ncouls`: the number of vectors in a sphere grows as `|G|³`.
fn g2(ig: usize, ncouls: usize) -> f64 {
    let g = libm::cbrt(ig as f64 / ncouls as f64);
    G2_MAX * g * g
}

/// Fall of the diagonal of `eps` with `|G|²`.
fn falloff(g2: f64) -> f64 {
    1.0 / ((1.0 + 0.5 * g2) * (1.0 + 0.5 * g2))
}

/// Row (0-based) of this rank's G′ `k` (0-based), of `ncouls`; in every built-in system all have one of
/// their own.
fn row(k: usize, ncouls: usize) -> usize {
    k * POOL % ncouls
}

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
    pub fn new(system: &'a System, seed: u64, progress: Progress) -> Synthesis<'a> {
        let rows = (0..system.ncouls).map(|ig| g2(ig, system.ncouls)).collect();
        Synthesis { system, seed, progress, rows }
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

    fn bar(&self, steps: usize) -> ProgressBar {
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
            bar.inc(1);
        });
        bar.finish_and_clear();
        let bands = Bands::new(header(self.system, &self.rows), aqsn);
        Ok(bands.map_err(|what| wrong(self.name(), what))?.into())
    }

    fn slab(&self, bands: &Bands, igp: Range<usize>) -> Result<Part<'_>> {
        check_slab(self, &igp)?;
        let System { nbands, ncouls, .. } = *self.system;
        let n = igp.len();
        let bar = self.bar(n + nbands);

        let mut wtilde = vec![Complex64::ZERO; ncouls * n];
        let mut eps = vec![Complex64::ZERO; ncouls * n];
        wtilde.par_chunks_mut(ncouls).zip(eps.par_chunks_mut(ncouls)).zip(igp.clone()).for_each(
            |((wtilde, eps), k)| {
                self.modes(k, wtilde, eps);
                bar.inc(1);
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
            bar.inc(1);
        });
        bar.finish_and_clear();
        let slab = Slab::new(bands, igp, wtilde, eps, aqsm_local);
        Ok(Part::Made(slab.map_err(|what| wrong(self.name(), what))?))
    }

    fn poles(&self) -> Result<Poles> {
        let System { ngpown, ncouls, complex_modes, .. } = *self.system;
        if !complex_modes {
            return Ok(Poles::Real);
        }
        // Nearly every column has some that are not real.
        let (mut wtilde, mut eps) = (vec![Complex64::ZERO; ncouls], vec![Complex64::ZERO; ncouls]);
        for k in 0..ngpown {
            self.modes(k, &mut wtilde, &mut eps);
            if range::poles_of(&wtilde, &eps) == Poles::Any {
                return Ok(Poles::Any);
            }
        }
        Ok(Poles::Real)
    }
}

/// A built-in system with all its arrays.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory) before anything is allocated;
/// [`Error::Problem`](crate::Error::Problem) for a system that breaks its own rules.
pub fn synthesise(system: &System, seed: u64, progress: Progress) -> Result<Problem> {
    Synthesis::new(system, seed, progress).load()
}

/// Column `n` of `aqsmtemp`, of which `aqsm_local` holds this rank's rows.
pub fn aqsmtemp_column(system: &System, seed: u64, n: usize, column: &mut [Complex64]) {
    let rows: Vec<f64> = (0..system.ncouls).map(|ig| g2(ig, system.ncouls)).collect();
    matrix_elements(seed, Stream::Aqsm, n, &rows, column);
}

/// `wtilde` and `eps` of one pair.
fn mode(diagonal: bool, g2: f64, g2p: f64, uniform: &mut Uniform) -> (Complex64, Complex64) {
    // Each pair draws the same numbers, whatever it is.
    let (size, phase, height, valid) =
        (uniform.unit(), uniform.square(), uniform.unit(), uniform.unit());
    let eps = if diagonal {
        Complex64::new(HEAD_EPS * falloff(g2), 0.0)
    } else {
        let distance = g2 - g2p;
        let scale =
            OFF_DIAGONAL * (falloff(g2) * falloff(g2p)).sqrt() / (1.0 + distance * distance);
        let norm = phase.norm_sqr().sqrt();
        if norm > 0.0 { phase * (size * scale / norm) } else { Complex64::ZERO }
    };
    let abs = eps.norm_sqr().sqrt();
    if abs < SMALLEST_EPS {
        return (Complex64::ZERO, Complex64::ZERO);
    }
    let wtilde = if diagonal {
        HEAD_WTILDE * (HEAD_EPS / abs).sqrt()
    } else if valid < INVALID_SHARE {
        INVALID_WTILDE
    } else {
        HEAD_WTILDE * (HEAD_EPS / abs).sqrt().sqrt() * height * (0.56 + 0.44 * height)
    };
    (Complex64::new(wtilde, 0.0), eps)
}

/// A valid mode turned by up to a quarter of a right angle either way, as `unit` in [0, 1) says; its
/// size is kept.
fn turned(mode: Complex64, unit: f64) -> Complex64 {
    if mode.re == INVALID_WTILDE {
        return mode;
    }
    let phase = (2.0 * unit - 1.0) * std::f64::consts::FRAC_PI_8;
    mode * Complex64::new(libm::cos(phase), libm::sin(phase))
}

/// Column `n` of `aqsn` or `aqsm`, no element above one.
fn matrix_elements(seed: u64, stream: Stream, n: usize, rows: &[f64], column: &mut [Complex64]) {
    let mut uniform = Uniform::new(seed, stream, n);
    for (element, g2) in column.iter_mut().zip(rows) {
        *element = matrix_element(*g2, &mut uniform);
    }
}

/// The element of a row with this `|G|²`.
fn matrix_element(g2: f64, uniform: &mut Uniform) -> Complex64 {
    uniform.square() * (std::f64::consts::FRAC_1_SQRT_2 / (1.0 + g2))
}

fn header(system: &System, rows: &[f64]) -> Header {
    let System { nbands, nvband, ngpown, ncouls, nstart, nend, .. } = *system;
    let between = |low: f64, high: f64, at: usize, last: usize| {
        if at == last { high } else { low + (high - low) * (at as f64 / last as f64) }
    };
    let wfnkq_ekq = (0..nbands)
        .map(|n| {
            if n < nvband {
                between(BAND_BOTTOM, VALENCE_TOP, n, nvband - 1)
            } else {
                between(CONDUCTION_BOTTOM, BAND_TOP, n - nvband, (nbands - nvband).max(2) - 1)
            }
        })
        .collect();
    let gvec_ng = ncouls.max(row(ngpown - 1, ncouls) + 1);
    Header {
        sig_ntband: nbands,
        gvec_ng,
        ncoul: ncouls,
        epsmpi_ngpown_max: ngpown,
        peinf_ntband_max: nbands,
        nbands,
        ipe: 1,
        ispin: 1,
        ngpown,
        ncouls,
        peinf_indext_dist: (1..=nbands as i32).collect(),
        wfnkq_ekq,
        nstart,
        nend,
        sig_fdf: -3,
        sig_dw: 1.0,
        sig_gamma: 0.5,
        e_lk: VALENCE_TOP,
        inv_igp_index: (0..ngpown).map(|k| row(k, ncouls) as i32 + 1).collect(),
        indinv: (1..=gvec_ng as i32).collect(),
        nvband: nvband as i32,
        tol: 1e-6,
        efermi: 6.383,
        // Rydberg units; the head is held finite as by a small q.
        vcoul: rows.iter().map(|g2| 8.0 * std::f64::consts::PI / (g2 + 0.01)).collect(),
        sexcut: 4.0,
    }
}
