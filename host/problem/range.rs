//! How large and how small the energies of a problem may be.
//!
//! The versions square `|w² − ω̃²|` and `|ω̃|²`: four factors, which are finite up to 1e75. A larger
//! `|w|` makes `ssx` vanish, which is right as long as no pole is anywhere near it.

use num_complex::Complex64;

/// Largest `|ω̃|` in eV, and largest `|w|` with any pole.
pub const LARGEST_POLE: f64 = 1e75;

/// Largest `|w|` in eV.
pub const LARGEST_ENERGY: f64 = 1e150;

/// Largest `|ω̃|` in eV where some `|w|` is above [`LARGEST_POLE`].
const LARGEST_BESIDE: f64 = 1e3;

/// Smallest imaginary part, relative to the real one, of a pole whose real part is an energy or the
/// negative of one: its square and those of what is divided by it are finite.
const SMALLEST_IMAGINARY: f64 = 1e-40;

/// Checks `wtilde(ncouls, ngpown)` and `wx(nw, nbands)`, energies from `nstart` on.
///
/// # Errors
/// The element that is too large.
pub fn check(
    wtilde: &[Complex64],
    ncouls: usize,
    wx: &[f64],
    nw: usize,
    nstart: usize,
) -> Result<(), String> {
    let named_wx = |at: usize| format!("wx({},{}) is {:e}", at % nw + nstart, at / nw + 1, wx[at]);
    let named_pole = |at: usize| {
        let (ig, igp) = (at % ncouls + 1, at / ncouls + 1);
        format!("wtilde_array({ig},{igp}) is {:e}", wtilde[at])
    };
    if let Some(at) = wx.iter().position(|w| w.abs() > LARGEST_ENERGY) {
        return Err(format!(
            "{} eV (e_lk + sig_dw·(iw − 2) − wfnkq_ekq); its size must be at most \
             {LARGEST_ENERGY:e}",
            named_wx(at)
        ));
    }
    let is_above = |limit: f64| move |z: &Complex64| z.re.abs().max(z.im.abs()) > limit;
    if let Some(at) = wtilde.iter().position(is_above(LARGEST_POLE)) {
        return Err(format!("{} eV; its parts must be at most {LARGEST_POLE:e}", named_pole(at)));
    }
    if let Some(w) = wx.iter().position(|w| w.abs() > LARGEST_POLE)
        && let Some(at) = wtilde.iter().position(is_above(LARGEST_BESIDE))
    {
        return Err(format!(
            "{} eV, beyond {LARGEST_POLE:e}, and {} eV; beside such energies the parts of poles must \
             be at most {LARGEST_BESIDE:e}",
            named_wx(w),
            named_pole(at)
        ));
    }
    Ok(())
}

/// Moves poles whose real part is an energy, or the negative of one, and whose imaginary part is next to
/// nothing, but not zero, to where their squares are numbers. At the energy a term changes by
/// 1e-40 of itself; at its negative it was, and stays, beyond any cutoff.
pub fn resolve(wtilde: &mut [Complex64], wx: &[f64]) {
    let is_thin = |z: &Complex64| z.im != 0.0 && z.im.abs() < SMALLEST_IMAGINARY * z.re.abs();
    if !wtilde.iter().any(is_thin) {
        return;
    }
    let mut sizes: Vec<f64> = wx.iter().map(|w| w.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    for z in wtilde.iter_mut().filter(|z| is_thin(z)) {
        if sizes.binary_search_by(|w| w.total_cmp(&z.re.abs())).is_ok() {
            z.im = (SMALLEST_IMAGINARY * z.re.abs()).copysign(z.im);
        }
    }
}
