//! The numbers of a synthetic system, column by column.

use num_complex::Complex64;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::problem::{Header, System};

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
pub enum Stream {
    Modes = 1,
    Aqsn = 2,
    Aqsm = 3,
    Phases = 4,
    Bands = 5,
}

/// Uniform numbers of one column.
pub struct Uniform(ChaCha8Rng);

impl Uniform {
    pub fn new(seed: u64, stream: Stream, column: usize) -> Uniform {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream((stream as u64) << 32 | column as u64);
        Uniform(rng)
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Goes to where `at` squares have been drawn and nothing else.
    pub fn pass_to_square(&mut self, at: usize) {
        // Two numbers of two words each.
        self.0.set_word_pos(4 * at as u128);
    }

    /// In the square [−1, 1)².
    fn square(&mut self) -> Complex64 {
        Complex64::new(2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0)
    }
}

/// `|G|²` in Ry of row `ig` (0-based) of `ncouls`: the number of vectors in a sphere grows as `|G|³`.
pub fn g2(ig: usize, ncouls: usize) -> f64 {
    let g = libm::cbrt(ig as f64 / ncouls as f64);
    G2_MAX * g * g
}

/// Fall of the diagonal of `eps` with `|G|²`.
fn falloff(g2: f64) -> f64 {
    1.0 / ((1.0 + 0.5 * g2) * (1.0 + 0.5 * g2))
}

/// Row (0-based) of this rank's G′ `k` (0-based), of `ncouls`; in every built-in system all have one of
/// their own.
pub fn row(k: usize, ncouls: usize) -> usize {
    k * POOL % ncouls
}

/// `wtilde` and `eps` of one pair.
pub fn mode(diagonal: bool, g2: f64, g2p: f64, uniform: &mut Uniform) -> (Complex64, Complex64) {
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
pub fn turned(mode: Complex64, unit: f64) -> Complex64 {
    if mode.re == INVALID_WTILDE {
        return mode;
    }
    let phase = (2.0 * unit - 1.0) * std::f64::consts::FRAC_PI_8;
    mode * Complex64::new(libm::cos(phase), libm::sin(phase))
}

/// Column `n` of `aqsn` or `aqsm`, no element above one.
pub fn matrix_elements(
    seed: u64,
    stream: Stream,
    n: usize,
    rows: &[f64],
    column: &mut [Complex64],
) {
    let mut uniform = Uniform::new(seed, stream, n);
    for (element, g2) in column.iter_mut().zip(rows) {
        *element = matrix_element(*g2, &mut uniform);
    }
}

/// The element of a row with this `|G|²`.
pub fn matrix_element(g2: f64, uniform: &mut Uniform) -> Complex64 {
    uniform.square() * (std::f64::consts::FRAC_1_SQRT_2 / (1.0 + g2))
}

pub fn header(system: &System, rows: &[f64]) -> Header {
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
        energies: None,
        sig_fdf: -3,
        sig_dw: 1.0,
        sig_gamma: 0.5,
        e_lk: VALENCE_TOP,
        inv_igp_index: (0..ngpown).map(|k| row(k, ncouls) as i32 + 1).collect(),
        unmasked: None,
        indinv: (1..=gvec_ng as i32).collect(),
        nvband: nvband as i32,
        tol: 1e-6,
        efermi: 6.383,
        // Rydberg units; the head is held finite as by a small q.
        vcoul: rows.iter().map(|g2| 8.0 * std::f64::consts::PI / (g2 + 0.01)).collect(),
        sexcut: 4.0,
    }
}
