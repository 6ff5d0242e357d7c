//! Synthetic arrays as a GW code has them: 40 G vectors, of which 12 are this rank's G′, and 10 bands.

use num_complex::Complex64;

const NCOULS: usize = 40;
const NGPOWN: usize = 12;
const NBANDS: usize = 10;

/// RankArrays of one rank.
pub struct RankArrays {
    /// In eV, `(ncouls, ngpown)`.
    pub wtilde: Vec<Complex64>,
    /// `δ − ε⁻¹`, `(ncouls, ngpown)`.
    pub eps: Vec<Complex64>,
    /// `(ncouls)`.
    pub vcoul: Vec<f64>,
    /// `(ngpown)`, into `indinv`.
    pub inv_igp_index: Vec<i32>,
    /// Rows of G vectors.
    pub indinv: Vec<i32>,
    /// In eV, `(nbands)`.
    pub e: Vec<f64>,
    /// `(nbands)`.
    pub occ: Vec<f64>,
}

impl RankArrays {
    pub fn new() -> RankArrays {
        let pairs = || (0..NGPOWN).flat_map(|igp| (0..NCOULS).map(move |ig| (ig, igp)));
        let wtilde = |(ig, igp)| Complex64::new(8.0 + 0.3 * ig as f64 + 0.2 * igp as f64, 0.0);
        let eps = |(ig, igp): (usize, usize)| {
            Complex64::new(0.6 * (-0.2 * ig.abs_diff(3 * igp) as f64).exp(), 0.01)
        };
        RankArrays {
            wtilde: pairs().map(wtilde).collect(),
            eps: pairs().map(eps).collect(),
            vcoul: (0..NCOULS).map(|ig| 4.0 / (1.0 + ig as f64)).collect(),
            inv_igp_index: (0..NGPOWN as i32).map(|igp| 1 + 3 * igp).collect(),
            indinv: (1..=NCOULS as i32).collect(),
            e: (0..NBANDS).map(|n| -6.0 + 1.5 * n as f64).collect(),
            occ: (0..NBANDS).map(|n| if n < 4 { 1.0 } else { 0.0 }).collect(),
        }
    }
}

/// Matrix elements `⟨n|exp(i(q+G)·r)|state⟩`, `(ncouls, nbands)`.
pub fn elements(state: usize) -> Vec<Complex64> {
    let element = |offset: usize| {
        let (ig, n) = (offset % NCOULS, offset / NCOULS);
        Complex64::from_polar(
            1.0 / (1.0 + ig as f64 + n.abs_diff(state) as f64),
            0.1 * offset as f64,
        )
    };
    (0..NCOULS * NBANDS).map(element).collect()
}
