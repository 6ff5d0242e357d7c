//! A caller's arrays, and the problem that they make.

use num_complex::Complex64;

use crate::error::{DataError, Error, Result};
use crate::problem::memory::{AQSM_LOCAL, AQSMTEMP, Extents, zeros};
use crate::problem::{self, Header, Matrix, Unmasked};

/// The screening of one rank at one q: what bands and states have in common. Column-major, the first index
/// named fastest; indices are 1-based, as BerkeleyGW and the mini-app have them.
#[derive(Clone, Copy, Debug)]
pub struct Screening<'a> {
    /// Plasmon-pole modes in eV, `wtilde_array(ncouls, ngpown)`.
    pub wtilde: &'a [Complex64],
    /// `δ − ε⁻¹`, `I_eps_array(ncouls, ngpown)`.
    pub eps: &'a [Complex64],
    /// Coulomb interaction of each G, `(ncouls)`; its length says how many there are.
    pub vcoul: &'a [f64],
    /// G′ of each column, an index into `indinv`, `(ngpown)`; its length says how many there are.
    pub inv_igp_index: &'a [i32],
    /// Row of each G vector; outside of 1..=ncouls it has none. 1, 2, 3, … where G′ are rows themselves.
    pub indinv: &'a [i32],
}

/// Matrix elements of G′.
#[derive(Clone, Copy, Debug)]
pub enum Aqsm<'a> {
    /// `aqsmtemp(ncouls, nbands)`: the rows of G′ are taken from it.
    Whole(&'a [Complex64]),
    /// `(ngpown, nbands)`: those rows.
    Local(&'a [Complex64]),
}

/// The bands that are summed over.
#[derive(Clone, Copy, Debug)]
pub struct Bands<'a> {
    /// Matrix elements of G, `aqsntemp(ncouls, nbands)`.
    pub aqsn: &'a [Complex64],
    /// Matrix elements of G′.
    pub aqsm: Aqsm<'a>,
    /// Energy of each band in eV, `(nbands)`; its length says how many there are.
    pub e: &'a [f64],
    /// Occupation of each band, 0 to 1, `(nbands)`.
    pub occ: &'a [f64],
}

/// Limits of the formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Formula {
    /// How near to a pole the other formula begins, in eV, `sig_gamma`: see [`gpp_kernels::formula`].
    pub gamma: f64,
    /// Bound on `|ssx| / |eps|` where ω is below the band's energy, `sexcut`: larger ones count as zero.
    pub sexcut: f64,
}

/// BerkeleyGW's.
impl Default for Formula {
    fn default() -> Formula {
        Formula { gamma: 0.5, sexcut: 4.0 }
    }
}

/// A screening and a band whose sums are zero at all energies: the G′ has no row.
pub(super) const NOTHING: (Screening<'static>, Bands<'static>) = (
    Screening {
        wtilde: &[Complex64::ONE],
        eps: &[Complex64::ZERO],
        vcoul: &[1.0],
        inv_igp_index: &[1],
        indinv: &[0],
    },
    Bands { aqsn: &[Complex64::ONE], aqsm: Aqsm::Whole(&[Complex64::ONE]), e: &[0.0], occ: &[1.0] },
);

/// How messages call the problem.
pub(super) const NAME: &str = "the arrays given";

/// A screening's part of a header.
pub(super) fn screening_header(screening: &Screening) -> Header {
    let (ncouls, ngpown) = (screening.vcoul.len(), screening.inv_igp_index.len());
    Header {
        gvec_ng: screening.indinv.len(),
        ncoul: ncouls,
        epsmpi_ngpown_max: ngpown,
        ispin: 1,
        ngpown,
        ncouls,
        inv_igp_index: screening.inv_igp_index.to_vec(),
        indinv: screening.indinv.to_vec(),
        vcoul: screening.vcoul.to_vec(),
        ..Header::default()
    }
}

/// The header of a screening's with bands.
pub(super) fn header(screening: Header, e: &[f64], omega: &[f64], formula: Formula) -> Header {
    let nbands = e.len();
    Header {
        sig_ntband: nbands,
        peinf_ntband_max: nbands,
        nbands,
        peinf_indext_dist: (1..).take(nbands).collect(),
        wfnkq_ekq: e.to_vec(),
        nstart: 1,
        nend: omega.len(),
        energies: Some(omega.to_vec()),
        sig_gamma: formula.gamma,
        sexcut: formula.sexcut,
        ..screening
    }
}

/// Matrix elements of the G′ of a header, `(ngpown, nbands)`: those given, where none is left out.
///
/// # Safety
/// It may refer to them, and has to be dropped before they are.
pub(super) unsafe fn aqsm_local(aqsm: Aqsm, header: &Header) -> Result<Matrix> {
    match (aqsm, &header.unmasked) {
        (Aqsm::Whole(whole), _) => {
            AQSMTEMP.check(header.extents(), whole.len()).map_err(wrong)?;
            let rows: Vec<_> = header.rows().collect();
            taken(whole.chunks_exact(header.ncouls), header, |igp| rows[igp])
        }
        // SAFETY: this function's own contract.
        (Aqsm::Local(local), None) => Ok(unsafe { Matrix::kept(local) }),
        (Aqsm::Local(local), Some(Unmasked { given, columns })) => {
            let extents = Extents { ngpown: *given, ..header.extents() };
            AQSM_LOCAL.check(extents, local.len()).map_err(wrong)?;
            taken(local.chunks_exact(*given), header, |igp| Some(columns[igp]))
        }
    }
}

/// Of each band the element that each G′ of a header has there, `(ngpown, nbands)`; zero for one without.
fn taken<'a>(
    bands: impl Iterator<Item = &'a [Complex64]>,
    header: &Header,
    row: impl Fn(usize) -> Option<usize>,
) -> Result<Matrix> {
    let mut all = zeros(AQSM_LOCAL.name, header.ngpown * header.nbands)?;
    for (to, from) in all.chunks_exact_mut(header.ngpown).zip(bands) {
        let element = |igp: usize| row(igp).map_or(Complex64::ZERO, |row| from[row]);
        to.iter_mut().enumerate().for_each(|(igp, to)| *to = element(igp));
    }
    Ok(all.into())
}

/// The error of arrays that are wrong.
pub(super) fn wrong(what: DataError) -> Error {
    problem::wrong(NAME, what)
}
