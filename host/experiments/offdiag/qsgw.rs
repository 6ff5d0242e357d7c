//! The matrix at the bands' own energies, as QSGW takes it.

use gpp_core::offdiag::{Sums, once_each};
use nalgebra::DMatrix;
use num_complex::Complex64;

use super::bands::Bands;
use crate::error::{Error, Result};
use crate::problem::Header;
use crate::problem::grid::Grid;
use crate::record::offdiag::Qsgw;

/// The energies of bands l, each once, and whose is which: those of the problem's bands n of the same numbers.
///
/// # Errors
/// [`Error::Data`] for bands that the problem has not got.
pub fn energies(header: &Header, bands: Bands) -> Result<(Grid, Vec<usize>)> {
    let own = bands.first..bands.first + bands.count;
    if own.end > header.nbands {
        let what = format!(
            "needs bands n of the same numbers, of which the problem has 1 to {}; found bands {} to {}",
            header.nbands,
            own.start + 1,
            own.end
        );
        return Err(Error::Data { origin: "--at bands".into(), what });
    }
    let above: Vec<f64> = own.map(|n| header.e(n) - header.e_lk).collect();
    let (each, numbers) = once_each(&above);
    Ok((Grid::Listed(each), numbers))
}

/// The Hermitian part `½(M + M†)` of `M_lm = ½[Σ_lm(E_l) + Σ_lm(E_m)]`, element (l, m) at `l + bands · m`.
pub fn hermitian(sums: &Sums) -> Vec<Complex64> {
    let bands = sums.bands;
    let sigma = |l, m, plane| {
        let at = sums.at(l, m, plane);
        sums.sx[at] + sums.ch[at]
    };
    let both = |l, m| 0.5 * (sigma(l, m, 0) + sigma(l, m, 1));
    let part = |at: usize| {
        let (l, m) = (at % bands, at / bands);
        0.5 * (both(l, m) + both(m, l).conj())
    };
    (0..bands * bands).map(part).collect()
}

/// What it is like; `energies` are those of the bands above the state's.
pub fn told(sums: &Sums, bands_above_state_ev: Vec<f64>) -> Qsgw {
    let matrix = DMatrix::from_vec(sums.bands, sums.bands, hermitian(sums));
    // What is no number has no eigenvalues, and would be iterated on without end.
    let mut eigenvalues = match matrix.iter().all(|z| z.re.is_finite() && z.im.is_finite()) {
        true => matrix.symmetric_eigenvalues().as_slice().to_vec(),
        false => vec![f64::NAN; sums.bands],
    };
    eigenvalues.sort_by(f64::total_cmp);
    Qsgw { bands_above_state_ev, eigenvalues }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eigenvalues_have_the_trace_and_the_square_of_the_matrix() {
        for bands in [1, 2, 3, 8, 33] {
            let mut sums = Sums::zero(bands, 2);
            for (at, (sx, ch)) in sums.sx.iter_mut().zip(&mut sums.ch).enumerate() {
                let at = at as f64;
                *sx = Complex64::new((1.3 * at).sin(), (0.7 * at).cos());
                *ch = Complex64::new((2.1 * at).cos(), at.sin() * 3.0);
            }
            let matrix = hermitian(&sums);
            let Qsgw { eigenvalues, .. } = told(&sums, vec![0.0; bands]);
            let at = |l: usize, m: usize| matrix[l + bands * m];
            for (l, m) in (0..bands).flat_map(|l| (0..bands).map(move |m| (l, m))) {
                assert_eq!(at(l, m), at(m, l).conj());
                let sigma =
                    |l, m, plane| sums.sx[sums.at(l, m, plane)] + sums.ch[sums.at(l, m, plane)];
                let of_both = [sigma(l, m, 0), sigma(l, m, 1)].iter().sum::<Complex64>() / 4.0;
                let crossed = [sigma(m, l, 0), sigma(m, l, 1)].iter().sum::<Complex64>() / 4.0;
                let error = (at(l, m) - of_both - crossed.conj()).norm();
                assert!(error <= 1e-14, "{l} {m}: {error}");
            }
            let trace: f64 = (0..bands).map(|l| at(l, l).re).sum();
            let square: f64 = matrix.iter().map(|z| z.norm_sqr()).sum();
            let sum: f64 = eigenvalues.iter().sum();
            let of_squares: f64 = eigenvalues.iter().map(|x| x * x).sum();
            let scale = 1e-13 * square.max(1.0) * bands as f64;
            assert!((sum - trace).abs() <= scale, "{bands}: {sum} {trace}");
            assert!((of_squares - square).abs() <= scale, "{bands}: {of_squares} {square}");
            assert!(eigenvalues.is_sorted() && eigenvalues.len() == bands);
        }
    }

    #[test]
    fn what_is_no_number_has_no_eigenvalues() {
        let mut sums = Sums::zero(2, 2);
        sums.sx[1].im = f64::NAN;
        assert!(told(&sums, vec![0.0; 2]).eigenvalues.iter().all(|x| x.is_nan()));
    }
}
