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
//!   atoms at q → 0, 1471 G: 33 % are static and hold 1e12 eV, 2.5 % are zero with an `eps` that is not,
//!   the others lie between 0.3 and 540 eV.
//! - Complex poles have the statistics of a call with Godby-Needs' model and `invalid_gpp_mode 1`, two atoms of GaAs, 64 G:
//!   11.8 % are off the real axis, at angles of 53° to 87° on either side of it; none is static or zero.
//! - Poles do not depend on `eps`, as the measured ones hardly do. But those on the diagonal are real, 17 eV at the
//!   head, and rise as `eps` falls.
//! - `aqsn` and `aqsm` fall with |G|; `vcoul` falls as 1/|G|².

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use gpp_kernels::plan::Poles;
use num_complex::Complex64;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::os::memory;
use crate::problem::arrays::{Extents, Of};
use crate::problem::{
    CheckedBands, Header, Origin, Slab, Source, System, check_slab, range, wrong,
};
use crate::progress::{Bars, StepBar};

/// The usual seed of the built-in systems.
pub const DEFAULT_SEED: u64 = 214;

/// The sources of the statistics of their poles.
pub const STATISTICS: &str = "\
Poles have the shares and quantiles of BerkeleyGW's: real ones of Hybertsen-Louie for 16 silicon atoms at q → 0,
complex ones of Godby-Needs for two atoms of GaAs. See docs/usage.md.";

pub static SYSTEMS: LazyLock<Vec<System>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("systems.json")).expect("systems.json is checked by a test")
});

impl System {
    pub fn find(name: &str) -> Result<&'static System> {
        SYSTEMS.iter().find(|system| system.name == name).ok_or_else(|| {
            Error::unknown("system", name, SYSTEMS.iter().map(|system| system.name.as_str()))
        })
    }

    pub fn extents(&self) -> Extents {
        let System { nbands, ngpown, ncouls, nstart, nend, .. } = *self;
        Extents { nbands, ngpown, ncouls, nw: (nend + 1).saturating_sub(nstart) }
    }
}

pub struct Synthesis {
    system: System,
    seed: u64,
    progress: Bars,
    /// `|G|²` of each row.
    rows: Vec<f64>,
    header: Arc<Header>,
}

impl Synthesis {
    pub fn new(system: &System, seed: u64, progress: impl Into<Bars>) -> Synthesis {
        let (rows, header) = (rows(system), header(system, seed).into());
        Synthesis { system: system.clone(), seed, progress: progress.into(), rows, header }
    }

    /// Makes the column of an igp (0-based) of `wtilde` and `eps`, which are zeros.
    fn modes(&self, igp: usize, wtilde: &mut [Complex64], eps: &mut [Complex64]) {
        let k = self.header.column(igp);
        let Some(igp) = row(&self.system, self.seed, k) else { return };
        let mut uniform = Uniform::new(self.seed, RandomStream::Modes, k);
        for (ig, g2) in self.rows.iter().enumerate() {
            let (is_diagonal, complex) = (ig == igp, self.system.complex_modes);
            (wtilde[ig], eps[ig]) = mode(is_diagonal, complex, [*g2, self.rows[igp]], &mut uniform);
        }
    }

    fn bar(&self, steps: usize) -> StepBar {
        self.progress.bar(&format!("making {}", self.system.name), steps as u64)
    }
}

impl Source for Synthesis {
    fn name(&self) -> &str {
        &self.system.name
    }

    fn origin(&self) -> Origin {
        Origin::System(self.system.clone(), self.seed)
    }

    fn header(&self) -> &Header {
        &self.header
    }

    fn set_header(&mut self, header: Header) {
        self.header = header.into();
    }

    fn bands(&self) -> Result<CheckedBands> {
        let System { nbands, ncouls, .. } = self.system;
        memory::require(self.name(), self.extents().bytes_of(Of::Bands))?;
        let bar = self.bar(nbands);
        let mut aqsn = vec![Complex64::ZERO; ncouls * nbands];
        aqsn.par_chunks_mut(ncouls).enumerate().for_each(|(n, aqsn)| {
            matrix_elements(self.seed, RandomStream::Aqsn, n, &self.rows, aqsn);
            bar();
        });
        drop(bar);
        CheckedBands::new(self.header.clone(), aqsn).map_err(|what| wrong(self.name(), what))
    }

    fn slab(&self, bands: &CheckedBands, igp: Range<usize>) -> Result<Slab> {
        check_slab(self, &igp)?;
        let System { nbands, ncouls, .. } = self.system;
        let n = igp.len();
        let rows: Vec<Option<usize>> = bands.header().rows_of(igp.clone()).collect();
        let bar = self.bar(n + nbands);

        let mut wtilde = vec![Complex64::ZERO; ncouls * n];
        let mut eps = vec![Complex64::ZERO; ncouls * n];
        wtilde.par_chunks_mut(ncouls).zip(eps.par_chunks_mut(ncouls)).zip(igp.clone()).for_each(
            |((wtilde, eps), k)| {
                self.modes(k, wtilde, eps);
                bar();
            },
        );
        let mut aqsm_local = vec![Complex64::ZERO; n * nbands];
        aqsm_local.par_chunks_mut(n).enumerate().for_each(|(n, aqsm_local)| {
            let mut uniform = Uniform::new(self.seed, RandomStream::Aqsm, n);
            for (aqsm, row) in aqsm_local.iter_mut().zip(&rows) {
                let Some(row) = *row else { continue };
                // Where as many squares have been drawn and nothing else: two numbers of two words each.
                uniform.0.set_word_pos(4 * row as u128);
                *aqsm = matrix_element(self.rows[row], &mut uniform);
            }
            bar();
        });
        drop(bar);
        Slab::new(bands, igp, wtilde, eps, aqsm_local).map_err(|what| wrong(self.name(), what))
    }

    fn poles(&self, igp: Range<usize>) -> Result<Poles> {
        let System { ncouls, complex_modes, .. } = self.system;
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

/// `|G|²` in Ry of each row: the number of vectors in a sphere grows as `|G|³`.
pub(crate) fn rows(system: &System) -> Vec<f64> {
    let g = |ig: usize| libm::cbrt(ig as f64 / system.ncouls as f64);
    (0..system.ncouls).map(g).map(|g| G2_MAX * g * g).collect()
}

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
/// Share of pairs whose pole and `eps` are both zero.
const BOTH_ZERO: f64 = 0.062;
/// Share of static poles, in systems with real poles.
const STATIC: f64 = 0.33;
/// Share of pairs whose pole is zero and whose `eps` is not, in systems with real poles.
const ZERO: f64 = 0.025;
/// What BerkeleyGW stores if a mode is static: `1/TOL_ZERO`, in eV.
const STATIC_WTILDE: f64 = 1e12;
/// The other real poles in eV, at 0, 1/40, … 1 of them: Hybertsen-Louie, 16 silicon atoms.
const REAL_POLES: [f64; 41] = [
    0.2993, 4.808, 6.566, 7.943, 9.245, 10.55, 11.85, 13.16, 14.5, 15.9, 17.42, 19.01, 20.65,
    22.37, 24.22, 26.11, 28.03, 30.05, 32.14, 34.36, 36.67, 39.18, 41.7, 44.29, 47.03, 49.89,
    52.81, 55.82, 59.18, 62.84, 66.86, 71.35, 76.76, 83.19, 90.84, 100.8, 113.2, 131.3, 158.5,
    212.8, 540.0,
];
/// Absolute values of complex poles in eV, at 0, 1/10, … 1 of them: Godby-Needs, two atoms of GaAs.
const COMPLEX_POLES: [f64; 11] =
    [2.94, 6.67, 9.08, 10.82, 12.06, 13.45, 14.31, 15.6, 16.81, 20.4, 41.64];
/// Share of complex poles that are not real: one half above the real axis, the other below it.
const OFF_AXIS: f64 = 0.118;
/// Smallest and largest angle between these and the positive real axis: 53° and 87°.
const ANGLES: [f64; 2] = [0.93, 1.52];

/// Array of a stream, its high word; the column is the low word.
#[derive(Clone, Copy)]
pub(crate) enum RandomStream {
    Modes = 1,
    Aqsn = 2,
    Aqsm = 3,
    Masked = 4,
    Bands = 5,
}

struct Uniform(ChaCha8Rng);

impl Uniform {
    fn new(seed: u64, stream: RandomStream, column: usize) -> Uniform {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream((stream as u64) << 32 | column as u64);
        Uniform(rng)
    }

    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In the square [−1, 1)².
    fn square(&mut self) -> Complex64 {
        Complex64::new(2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0)
    }
}

/// The fall of the diagonal of `eps` with `|G|²`.
fn falloff(g2: f64) -> f64 {
    1.0 / ((1.0 + 0.5 * g2) * (1.0 + 0.5 * g2))
}

/// G vector (0-based) of this rank's G′ `k` (0-based); in every built-in system all have one of their own.
fn vector(k: usize, ncouls: usize) -> usize {
    k * POOL % ncouls
}

/// Row (0-based) of this rank's G′ `k` (0-based); none if it is masked.
fn row(system: &System, seed: u64, k: usize) -> Option<usize> {
    let is_masked = Uniform::new(seed, RandomStream::Masked, k).unit() < system.masked;
    (!is_masked).then(|| vector(k, system.ncouls))
}

fn mode(
    diagonal: bool,
    complex: bool,
    [g2, g2p]: [f64; 2],
    uniform: &mut Uniform,
) -> (Complex64, Complex64) {
    // Each pair draws the same numbers, whatever it is.
    let (size, phase, height, kind) =
        (uniform.unit(), uniform.square(), uniform.unit(), uniform.unit());
    if diagonal {
        let eps = HEAD_EPS * falloff(g2);
        return ((HEAD_WTILDE * (HEAD_EPS / eps).sqrt()).into(), eps.into());
    }
    if kind < BOTH_ZERO {
        return (Complex64::ZERO, Complex64::ZERO);
    }
    let distance = g2 - g2p;
    let scale = OFF_DIAGONAL * (falloff(g2) * falloff(g2p)).sqrt() / (1.0 + distance * distance);
    let norm = phase.norm_sqr().sqrt();
    let eps = if norm > 0.0 { phase * (size * scale / norm) } else { Complex64::ZERO };
    let wtilde = if complex {
        complex_pole(height, (kind - BOTH_ZERO) / (1.0 - BOTH_ZERO))
    } else if kind < BOTH_ZERO + STATIC {
        STATIC_WTILDE.into()
    } else if kind < BOTH_ZERO + STATIC + ZERO {
        Complex64::ZERO
    } else {
        quantile(&REAL_POLES, height).into()
    };
    (wtilde, eps)
}

/// A pole as Godby-Needs gives them: its absolute value and its angle as two numbers in [0, 1) say.
fn complex_pole(height: f64, turn: f64) -> Complex64 {
    let abs = quantile(&COMPLEX_POLES, height);
    // In [−1, 1) off the axis.
    let side = 2.0 * turn / OFF_AXIS - 1.0;
    if side >= 1.0 {
        return abs.into();
    }
    let angle = (ANGLES[0] + (ANGLES[1] - ANGLES[0]) * side.abs()).copysign(side);
    Complex64::new(libm::cos(angle), libm::sin(angle)) * abs
}

/// Between numbers that are evenly spaced quantiles, at `unit` in [0, 1).
fn quantile(quantiles: &[f64], unit: f64) -> f64 {
    let position = unit * (quantiles.len() - 1) as f64;
    let [low, high] = [quantiles[position as usize], quantiles[position as usize + 1]];
    low + (high - low) * position.fract()
}

/// Column `n` of `aqsn` or `aqsm`, or of the elements of bands, no element above one.
pub(crate) fn matrix_elements(
    seed: u64,
    stream: RandomStream,
    n: usize,
    rows: &[f64],
    column: &mut [Complex64],
) {
    let mut uniform = Uniform::new(seed, stream, n);
    for (element, g2) in column.iter_mut().zip(rows) {
        *element = matrix_element(*g2, &mut uniform);
    }
}

fn matrix_element(g2: f64, uniform: &mut Uniform) -> Complex64 {
    uniform.square() * (std::f64::consts::FRAC_1_SQRT_2 / (1.0 + g2))
}

/// The small records of a system made with this seed, at its own energies and without masked columns.
pub fn header(system: &System, seed: u64) -> Header {
    let System { nbands, nvband, ngpown, ncouls, nstart, nend, .. } = *system;
    let between = |low: f64, high: f64, index: usize, last: usize| {
        if index == last { high } else { low + (high - low) * (index as f64 / last as f64) }
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
    let gvec_ng = ncouls.max(vector(ngpown - 1, ncouls) + 1);
    let mut indinv: Vec<i32> = (1..=gvec_ng as i32).collect();
    for masked in (0..ngpown).filter(|&k| row(system, seed, k).is_none()) {
        indinv[vector(masked, ncouls)] = 0;
    }
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
        sig_fdf: 2,
        sig_dw: 1.0,
        sig_gamma: 0.5,
        e_lk: VALENCE_TOP,
        inv_igp_index: (0..ngpown).map(|k| vector(k, ncouls) as i32 + 1).collect(),
        indinv,
        nvband: nvband as i32,
        tol: 1e-6,
        efermi: 6.383,
        // Rydberg units; the head is held finite as by a small q.
        vcoul: rows(system).iter().map(|g2| 8.0 * std::f64::consts::PI / (g2 + 0.01)).collect(),
        sexcut: 4.0,
        ..Header::default()
    }
    .without_masked()
}
