//! A caller's arrays, the problem that they make, and errors in his words.

use gpp_kernels::arrays::Layout;
use num_complex::Complex64;

use crate::error::{Error, Result};
use crate::problem;
use crate::problem::arrays::{AQSM_LOCAL, AQSMTEMP, Extents, MOST_TOGETHER, WX};
use crate::problem::header::MOST_ENERGIES;
use crate::problem::{Header, Matrix, Unmasked};
use crate::system::memory::{require, zeros};

/// The screening of one MPI rank at one q, shared by all states. Column-major, the first index named fastest;
/// indices are 1-based, as in BerkeleyGW and the mini-app.
#[derive(Clone, Copy, Debug)]
pub struct Screening<'a> {
    /// Plasmon poles ω̃ in eV, `wtilde_array(ncouls, ngpown)`.
    pub wtilde: &'a [Complex64],
    /// `δ − ε⁻¹`, `I_eps_array(ncouls, ngpown)`.
    pub eps: &'a [Complex64],
    /// Coulomb interaction of each G, `(ncouls)`; its length says how many there are.
    pub vcoul: &'a [f64],
    /// G′ of each column, an index into `indinv`, `(ngpown)`; its length says how many there are.
    pub inv_igp_index: &'a [i32],
    /// Row of each G vector in `wtilde`, from 1; other values than 1..=ncouls mean no row. Use 1, 2, 3, … if
    /// G′ are rows already.
    pub indinv: &'a [i32],
}

/// Matrix elements of G′.
#[derive(Clone, Copy, Debug)]
pub enum Aqsm<'a> {
    /// `aqsmtemp(ncouls, nbands)`: all rows, from which those of G′ are copied.
    Whole(&'a [Complex64]),
    /// `(ngpown, nbands)`: only the rows of G′.
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
    /// Distance from a pole in eV below which the near form of the term applies, `sig_gamma`: see
    /// [`gpp_kernels::formula`].
    pub gamma: f64,
    /// Bound on `|ssx| / |eps|` if ω is below the band's energy, `sexcut`; larger terms are dropped.
    pub sexcut: f64,
}

/// BerkeleyGW's defaults: gamma 0.5 eV, sexcut 4.
impl Default for Formula {
    fn default() -> Formula {
        Formula { gamma: 0.5, sexcut: 4.0 }
    }
}

/// A screening and a band whose sums are zero at all energies: the G′ has no row.
pub const NOTHING: (Screening<'static>, Bands<'static>) = (
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
pub const NAME: &str = "the arrays given";

/// A screening's part of a header.
pub fn screening_header(screening: &Screening) -> Header {
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
pub fn header(screening: Header, e: &[f64], omega: &[f64], formula: Formula) -> Header {
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

/// Matrix elements of the G′ of a header, `(ngpown, nbands)`: those given, if none is left out.
///
/// # Safety
/// It may refer to them, and has to be dropped before they are.
pub unsafe fn aqsm_local(aqsm: Aqsm, header: &Header) -> Result<Matrix> {
    match (aqsm, &header.unmasked) {
        (Aqsm::Whole(whole), _) => {
            AQSMTEMP.check(header.extents(), whole.len()).map_err(wrong)?;
            let rows: Vec<_> = header.rows().collect();
            taken(whole.chunks_exact(header.ncouls), header, |igp| rows[igp])
        }
        // SAFETY: this function's own contract.
        (Aqsm::Local(local), None) => Ok(unsafe { Matrix::kept(local) }),
        (Aqsm::Local(local), Some(Unmasked { all, columns })) => {
            let extents = Extents { ngpown: *all, ..header.extents() };
            AQSM_LOCAL.check(extents, local.len()).map_err(wrong)?;
            taken(local.chunks_exact(*all), header, |igp| Some(columns[igp]))
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
pub fn wrong(what: Error) -> Error {
    problem::wrong(NAME, what)
}

/// Fails without energies, and for more than a problem has.
pub fn check_omega(nw: usize) -> Result<()> {
    let name = "the length of omega";
    match nw {
        0 => Err(Error::of(name, " must be at least 1, found 0")),
        1..=MOST_ENERGIES => Ok(()),
        _ => Err(Error::exceeds(name, nw, "the most energies", MOST_ENERGIES)),
    }
}

/// Fails if the host has no room for what calls have of such a problem beside the caller's matrices: small arrays, and
/// what its energies are in the problem and in its batches; `ng` is the length of `indinv`.
pub fn require_small(extents: Extents, ng: usize) -> Result<()> {
    require(NAME, small(extents) + 8 * ng as u64)
}

pub fn small(extents: Extents) -> u64 {
    let Extents { nbands, ngpown, ncouls, nw } = extents;
    let energies = |of| WX.bytes(of, Layout::Original);
    let numbers = [nbands, ngpown, ncouls, nw].iter().fold(0, |all: u64, n| all + *n as u64);
    64 * numbers + 4 * energies(extents) + 12 * energies(batch(extents))
}

/// So many energies as a batch has at most.
pub fn batch(extents: Extents) -> Extents {
    Extents { nw: extents.nw.min(MOST_TOGETHER), ..extents }
}

// Errors in the words of the caller: his names of arrays, and indices from the base that he counts from.

/// How the caller of a function knows what it is given.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// The index of a first element.
    pub base: usize,
    /// The screening's, if `aqsm` has a row for each G.
    pub whole: Option<&'a Header>,
}

impl Words<'_> {
    /// This error with names and indices of the caller's.
    pub fn say(self, error: Error) -> Error {
        match error {
            Error::Input { origin, what } if origin == NAME => {
                Error::Input { origin, what: self.put_into(&what) }
            }
            other => other,
        }
    }

    /// Indices are the numbers in parentheses, `(3)` or `(3,5)`.
    fn put_into(self, text: &str) -> String {
        let is_row = text.starts_with("aqsm_local");
        let mut said = String::new();
        for (at, part) in text.split('(').enumerate() {
            if at > 0 {
                said.push('(');
            }
            let indices = part.split_once(')').and_then(|(inner, rest)| {
                let indices: Option<Vec<usize>> =
                    inner.split(',').map(|i| i.parse().ok()).collect();
                Some((indices?, rest))
            });
            let Some((mut indices, rest)) = indices else {
                said.push_str(part);
                continue;
            };
            if let (true, Some(header)) = (is_row, self.whole) {
                indices[0] = header.row_of_column(indices[0] - 1).map_or(indices[0], |row| row + 1);
            }
            let indices: Vec<_> =
                indices.iter().map(|i| (i + self.base).saturating_sub(1).to_string()).collect();
            said += &format!("{}){rest}", indices.join(","));
        }
        let aqsm = if self.whole.is_some() { "aqsm(ig,n)" } else { "aqsm(igp,n)" };
        let said = said.replace("aqsm_local(igp,n)", aqsm);
        NAMES.iter().fold(said, |said, [name, own]| said.replace(name, own))
    }
}

/// Names of arrays and numbers in files, and those of the caller's.
const NAMES: [[&str; 2]; 12] = [
    ["wtilde_array(", "wtilde("],
    ["I_eps_array(", "eps("],
    ["aqsntemp(", "aqsn("],
    ["aqsmtemp(", "aqsm("],
    ["wfnkq_ekq", "e"],
    ["energies(", "omega("],
    ["sig_gamma", "gamma"],
    ["sig_ntband", "the length of e"],
    ["peinf_ntband_dist", "the length of e"],
    ["gvec_ng", "the length of indinv"],
    ["ncouls", "the length of vcoul"],
    ["ngpown", "the length of inv_igp_index"],
];
