//! A caller's arrays, and the header that they make.

use num_complex::Complex64;
use rayon::prelude::*;

use crate::error::{Quantity, Result};
use crate::os::memory::{require, zeros};
use crate::problem::arrays::{AQSM_LOCAL, AQSMTEMP, Extents, MOST_TOGETHER, MatrixRef};
use crate::problem::header::{MOST_ENERGIES, dimension};
use crate::problem::range::LARGEST_CUTOFF;
use crate::problem::{ComplexMatrix, Header, Unmasked};

/// The screening of one MPI rank at one q, shared by all states. Column-major, the first index named fastest;
/// indices are 1-based, as in BerkeleyGW and the mini-app.
#[derive(Clone, Copy, Debug)]
pub struct Screening<'a> {
    /// Plasmon poles ω̃ in eV, `wtilde_array(ncouls, ngpown)`.
    pub wtilde: MatrixRef<'a>,
    /// `δ − ε⁻¹`, `I_eps_array(ncouls, ngpown)`.
    pub eps: MatrixRef<'a>,
    /// Coulomb interaction of each G, `(ncouls)`; its length says how many there are.
    pub vcoul: &'a [f64],
    /// G′ of each column, an index into `indinv`, `(ngpown)`; its length says how many there are. Several columns of a
    /// G′ are several poles of its pairs.
    pub inv_igp_index: &'a [i32],
    /// Row of each G vector in `wtilde`, 1..=ncouls; any other number: none. If `inv_igp_index` has rows, use 1, 2, 3, …
    pub indinv: &'a [i32],
}

/// The bands that are summed over.
#[derive(Clone, Copy, Debug)]
pub struct Bands<'a> {
    /// Matrix elements of G, `aqsntemp(ncouls, nbands)`.
    pub aqsn: MatrixRef<'a>,
    /// Matrix elements of G′: `aqsmtemp(ncouls, nbands)`, or its rows of G′ alone, `(ngpown, nbands)`.
    pub aqsm: MatrixRef<'a>,
    /// Whether `aqsm` has the rows of G′ alone.
    pub aqsm_local: bool,
    /// Energy of each band in eV, `(nbands)`; its length says how many there are.
    pub e: &'a [f64],
    /// Occupation of each band, 0 to 1, `(nbands)`.
    pub occ: &'a [f64],
}

/// What a term is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Formula {
    /// BerkeleyGW's, with a near form and a cutoff: [`gpp_kernels::formula`].
    BerkeleyGw {
        /// Distance from a pole in eV below which the near form applies, `sig_gamma`; with 0 only at the pole, and for poles
        /// 500 times as large as the distance.
        gamma: f64,
        /// Bound on `|ssx| / |eps|` if ω is below the band's energy, `sexcut`; larger terms are dropped, with infinity
        /// none.
        sexcut: f64,
    },
    /// That of other plasmon-pole codes, without either. With the occupation f of a band and w = ω − e(n), SX − X and CH
    /// add up to `½·vcoul·ω̃·eps·M·[(1 − f)/(w − ω̃ + iη) + f/(w + ω̃ − iη)]`. With η = 0 a pair
    /// has no term exactly at w = ω̃, and that of CH alone at w = −ω̃.
    TimeOrdered {
        /// The broadening η in eV.
        eta: f64,
        /// A distance g in eV, ABINIT's `zcut`, or zero. Where |w − ω̃| ≤ g or |w + ω̃| ≤ g, a quotient 1/x is
        /// (x − ig)/(x² + g²) or (x + ig)/(x² + g²), that of η = g. Real poles and η = 0 only; sums are then Σ alone,
        /// by v15 or cpu:alone. 1e-30 to 1e30; less counts as zero.
        window: f64,
    },
}

/// BerkeleyGW's with its defaults: gamma 0.5 eV, sexcut 4.
impl Default for Formula {
    fn default() -> Formula {
        Formula::BerkeleyGw { gamma: 0.5, sexcut: 4.0 }
    }
}

pub const NAME: &str = "the caller's arrays";

/// A screening's part of a header, checked if it has pairs. It has only the rows of this rank's G′.
pub fn screening_header(screening: &Screening) -> Result<Header> {
    let (ncouls, ngpown) = (screening.vcoul.len(), screening.inv_igp_index.len());
    let gvec_ng = screening.indinv.len();
    require_small(Extents { nbands: 1, ngpown, ncouls, nw: 1 }, gvec_ng)?;
    let header = Header {
        gvec_ng,
        ncoul: ncouls,
        epsmpi_ngpown_max: ngpown,
        ispin: 1,
        ngpown,
        ncouls,
        inv_igp_index: screening.inv_igp_index.to_vec(),
        indinv: screening.indinv.to_vec(),
        vcoul: screening.vcoul.to_vec(),
        ..Header::default()
    };
    if [ncouls, ngpown].contains(&0) {
        return Ok(header);
    }
    // A band and an energy that no problem has, for the check.
    let header = header_of(header, &[0.0], &[0.0], Formula::default());
    header.validate()?;
    let rows = header.rows().map(|row| row.map_or(0, |row| row as i32 + 1)).collect();
    let inv_igp_index = (1..).take(ngpown).collect();
    Ok(Header { gvec_ng: ngpown, indinv: rows, inv_igp_index, ..header }.without_masked())
}

pub fn header_of(screening: Header, e: &[f64], omega: &[f64], formula: Formula) -> Header {
    let nbands = e.len();
    let (sig_gamma, sexcut, eta, window) = match formula {
        Formula::BerkeleyGw { gamma, sexcut } => (gamma, sexcut, None, 0.0),
        Formula::TimeOrdered { eta, window } => (0.0, f64::INFINITY, Some(eta), window),
    };
    Header {
        sig_ntband: nbands,
        peinf_ntband_max: nbands,
        nbands,
        peinf_indext_dist: (1..).take(nbands).collect(),
        wfnkq_ekq: e.to_vec(),
        nstart: 1,
        nend: omega.len(),
        energies: Some(omega.to_vec()),
        sig_gamma,
        // No term is so large that this drops it.
        sexcut: if sexcut == f64::INFINITY { LARGEST_CUTOFF } else { sexcut },
        eta,
        window,
        ..screening
    }
}

/// Matrix elements of the G′ of a header, `(ngpown, nbands)`: the caller's own if they are `local` and no column is
/// masked, or if all G are G′ in their order.
///
/// # Safety
/// The result may refer to them, and is dropped before they are.
pub unsafe fn aqsm_local(
    aqsm: &[Complex64],
    local: bool,
    header: &Header,
) -> Result<ComplexMatrix> {
    let extents = header.extents();
    match &header.unmasked {
        _ if !local => {
            AQSMTEMP.check(extents, aqsm.len())?;
            let rows: Vec<_> = header.rows().collect();
            if rows.iter().copied().eq((0..header.ncouls).map(Some)) {
                // SAFETY: this function's own contract.
                return Ok(unsafe { ComplexMatrix::kept(aqsm) });
            }
            picked(aqsm, header.ncouls, header, |igp| rows[igp])
        }
        // SAFETY: this function's own contract.
        None => Ok(unsafe { ComplexMatrix::kept(aqsm) }),
        Some(Unmasked { ngpown: all, columns, .. }) => {
            AQSM_LOCAL.check(Extents { ngpown: *all, ..extents }, aqsm.len())?;
            picked(aqsm, *all, header, |igp| Some(columns[igp]))
        }
    }
}

/// Of each band, `height` elements, that in the row of each G′, `(ngpown, nbands)`; zero for a G′ without a row.
fn picked(
    from: &[Complex64],
    height: usize,
    header: &Header,
    row: impl Fn(usize) -> Option<usize> + Sync,
) -> Result<ComplexMatrix> {
    let mut elements = zeros(AQSM_LOCAL.name(), header.ngpown * header.nbands)?;
    let bands = elements.par_chunks_exact_mut(header.ngpown).zip(from.par_chunks_exact(height));
    bands.for_each(|(to, from)| {
        for (igp, to) in to.iter_mut().enumerate() {
            *to = row(igp).map_or(Complex64::ZERO, |row| from[row]);
        }
    });
    Ok(elements.into())
}

pub fn check_omega(nw: usize) -> Result<()> {
    dimension(Quantity::Nend, i64::try_from(nw).unwrap_or(i64::MAX), [1, MOST_ENERGIES])
}

/// Fails without memory for the small arrays of a call and its energies, in problem and batches.
pub fn require_small(extents: Extents, ng: usize) -> Result<()> {
    let Extents { nbands, ngpown, ncouls, nw } = extents;
    let numbers = [nbands, ngpown, ncouls, nw, ng].iter().fold(0, |sum: u64, n| sum + *n as u64);
    let energies = nbands as u64 * (4 * nw + 12 * nw.min(MOST_TOGETHER)) as u64;
    require(NAME, 64 * numbers + 8 * energies)
}
