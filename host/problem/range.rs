//! How large and how small the numbers of a problem may be.
//!
//! The versions square `|w² − ω̃²|` and `|ω̃|²`: four factors, which are finite up to 1e75. A larger
//! `|w|` makes `ssx` vanish, which is right as long as no pole is anywhere near it. Where `w = −ω̃` the
//! term has no bound; below zero the cutoff takes it.

use num_complex::Complex64;

use super::header::Header;
use super::{Matrices, elements};

/// Largest `|ω̃|` in eV, and largest `|w|` with any pole.
pub const LARGEST_POLE: f64 = 1e75;

/// Largest `|w|` in eV.
pub const LARGEST_ENERGY: f64 = 1e150;

/// Largest `|ω̃|` in eV where some `|w|` is above [`LARGEST_POLE`].
const LARGEST_BESIDE: f64 = 1e3;

/// Largest `eps`, `aqsn`, `aqsm_local` and `vcoul`: products of them are finite.
pub const LARGEST_FACTOR: f64 = 1e50;

/// Smallest `eps`, `aqsn` and `aqsm_local`: squares of them, and sums over products of two, are numbers.
const SMALLEST_FACTOR: f64 = 1e-120;

/// Smallest imaginary part, relative to the real one, of a pole whose real part is an energy: its square
/// and those of what is divided by it are finite.
const SMALLEST_IMAGINARY: f64 = 1e-40;

/// Largest cutoff under which a term behind such a pole is cut off for certain.
const LARGEST_CUTOFF: f64 = 1e39;

/// Checks a problem's matrices and `wx(nw, nbands)`.
///
/// # Errors
/// The element that is too large, or whose term has no bound.
pub fn check(header: &Header, matrices: &Matrices, wx: &[f64]) -> Result<(), String> {
    let Matrices { wtilde, .. } = matrices;
    let named_wx = |at: usize| {
        let (iw, n) = (at % header.nw() + header.nstart, at / header.nw() + 1);
        format!("wx({iw},{n}) is {:e} eV (e_lk + sig_dw·(iw − 2) − wfnkq_ekq)", wx[at])
    };
    let named_pole = |at: usize| {
        let (ig, igp) = (at % header.ncouls + 1, at / header.ncouls + 1);
        format!("wtilde_array({ig},{igp}) is {:e} eV", wtilde[at])
    };
    let is_within = |limit: f64| move |z: &Complex64| z.re.abs() <= limit && z.im.abs() <= limit;
    for (what, matrix, rows, _) in elements(header, matrices).into_iter().skip(1) {
        if let Some(at) = matrix.iter().position(|z| !is_within(LARGEST_FACTOR)(z)) {
            let (first, second) = (at % rows + 1, at / rows + 1);
            let found = matrix[at];
            return Err(format!(
                "{what} is {found:e} at ({first},{second}); its parts must be at most \
                 {LARGEST_FACTOR:e}"
            ));
        }
    }
    for row in header.rows().flatten() {
        let vcoul = header.vcoul[row];
        if !(0.0..=LARGEST_FACTOR).contains(&vcoul.abs()) {
            let at = row + 1;
            return Err(format!(
                "vcoul({at}) is {vcoul:e}; its size must be at most {LARGEST_FACTOR:e}"
            ));
        }
    }
    if let Some(at) = wx.iter().position(|w| !(0.0..=LARGEST_ENERGY).contains(&w.abs())) {
        return Err(format!("{}; its size must be at most {LARGEST_ENERGY:e}", named_wx(at)));
    }
    if let Some(at) = wtilde.iter().position(|z| !is_within(LARGEST_POLE)(z)) {
        return Err(format!("{}; its parts must be at most {LARGEST_POLE:e}", named_pole(at)));
    }
    if let Some(w) = wx.iter().position(|w| w.abs() > LARGEST_POLE)
        && let Some(at) = wtilde.iter().position(|z| !is_within(LARGEST_BESIDE)(z))
    {
        return Err(format!(
            "{}, beyond {LARGEST_POLE:e}, and {}; beside such energies the parts of poles must be at \
             most {LARGEST_BESIDE:e}",
            named_wx(w),
            named_pole(at)
        ));
    }
    let lookup = Lookup::of(wx);
    let unbounded = wtilde.iter().position(|z| {
        let certain = z.im == 0.0 || header.sexcut <= LARGEST_CUTOFF;
        is_thin(z) && !(z.re > 0.0 && certain) && lookup.holds(-z.re)
    });
    if let Some(at) = unbounded {
        let w = wx.iter().position(|&w| w == -wtilde[at].re).unwrap_or_default();
        return Err(format!(
            "{} and {}, its negative: their term has no bound, and no cutoff",
            named_pole(at),
            named_wx(w)
        ));
    }
    Ok(())
}

/// Takes factors below 1e-120 for zero, and moves poles whose real part is an energy and whose imaginary
/// part is next to nothing, but not zero, to where their squares are numbers: a term there changes by
/// 1e-40 of itself.
pub fn resolve(matrices: &mut Matrices, wx: &[f64]) {
    let Matrices { wtilde, eps, aqsn, aqsm_local } = matrices;
    let is_tiny = |z: &&mut Complex64| z.re.abs().max(z.im.abs()) < SMALLEST_FACTOR;
    for z in [eps, aqsn, aqsm_local].into_iter().flatten().filter(is_tiny) {
        *z = Complex64::ZERO;
    }
    let moved = |z: &Complex64| z.im != 0.0 && is_thin(z);
    if !wtilde.iter().any(moved) {
        return;
    }
    let lookup = Lookup::of(wx);
    for z in wtilde.iter_mut().filter(|z| moved(z)) {
        if lookup.holds(z.re) {
            z.im = (SMALLEST_IMAGINARY * z.re.abs()).copysign(z.im);
        }
    }
}

/// Whether a pole is next to real.
fn is_thin(z: &Complex64) -> bool {
    z.im.abs() < SMALLEST_IMAGINARY * z.re.abs()
}

/// Energies, sorted.
struct Lookup(Vec<f64>);

impl Lookup {
    fn of(wx: &[f64]) -> Lookup {
        let mut sorted = wx.to_vec();
        sorted.sort_by(f64::total_cmp);
        Lookup(sorted)
    }

    fn holds(&self, w: f64) -> bool {
        self.0.binary_search_by(|other| other.total_cmp(&w)).is_ok()
    }
}
