//! The small records of the file format, what follows from them, and energies that replace a problem's own.

use std::fmt::{self, Display};
use std::ops::Range;
use std::str::FromStr;

use gpp_kernels::arrays::Limits;
use gpp_kernels::formula::{LIMITONE, UNLIMITED};

use crate::error::{Error, Fault, Quantity, Result, invalid};
use crate::problem::arrays::{ArraySpec, ComplexMatrix, Extents};
use crate::problem::range::{LARGEST_CUTOFF, LARGEST_FACTOR, LARGEST_POLE, within};

/// Everything in an input file but the matrices, in the file's names. Indices are 1-based.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Bands of the whole calculation, the length of `wfnkq_ekq`.
    pub sig_ntband: usize,
    /// G vectors, the length of `indinv`.
    pub gvec_ng: usize,
    /// Length of `vcoul`.
    pub ncoul: usize,
    /// Length of `inv_igp_index`.
    pub epsmpi_ngpown_max: usize,
    /// Length of `peinf_indext_dist`.
    pub peinf_ntband_max: usize,
    /// Bands of this rank, `peinf_ntband_dist`.
    pub nbands: usize,
    pub ipe: i32,
    pub ispin: i32,
    pub ngpown: usize,
    pub ncouls: usize,
    /// Index of each of this rank's bands.
    pub peinf_indext_dist: Vec<i32>,
    /// Band energies in eV.
    pub wfnkq_ekq: Vec<f64>,
    /// First energy, from 1.
    pub nstart: usize,
    /// Last energy, `nstart..=`[`MOST_ENERGIES`].
    pub nend: usize,
    /// Energies `nstart..=nend` in eV above `e_lk`, if not `sig_dw·(iw − 2)`: a file has no place for them.
    pub energies: Option<Vec<f64>>,
    pub sig_fdf: i32,
    /// Spacing of the energies in eV.
    pub sig_dw: f64,
    /// Width of a pole in eV.
    pub sig_gamma: f64,
    /// Energy of the state in eV.
    pub e_lk: f64,
    /// G′ of each of this rank's columns, an index into `indinv`.
    pub inv_igp_index: Vec<i32>,
    /// Which columns these are, if [`Header::without_masked`] left some out.
    pub unmasked: Option<Unmasked>,
    /// Row of each G vector; outside 1..=ncouls it has none.
    pub indinv: Vec<i32>,
    pub nvband: i32,
    /// Nearer than this to `efermi`, in eV, a band is half occupied.
    pub tol: f64,
    /// Fermi energy in eV.
    pub efermi: f64,
    pub vcoul: Vec<f64>,
    /// Bound on `|ssx| / |eps|` if `wx < 0`.
    pub sexcut: f64,
    /// Broadening in eV of the time-ordered formula, for which a file has no place; none for BerkeleyGW's formula.
    pub eta: Option<f64>,
    /// Window of that formula in eV: see [`Formula`](crate::Formula).
    pub window: f64,
}

/// The columns of a problem that are summed: those that are not masked.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmasked {
    /// Columns with the masked ones.
    pub ngpown: usize,
    /// Columns without the masked ones: more than are summed in a [sample](Header::sampled).
    pub count: usize,
    /// The number (0-based) of each of those that are summed.
    pub columns: Vec<usize>,
}

pub const MOST_ENERGIES: usize = 100_000;

const TOL_WX: f64 = 1e-12;

/// Products of four are numbers.
const SMALLEST_WX: f64 = 1e-30;

/// Largest window of the time-ordered formula in eV.
pub const LARGEST_WINDOW: f64 = 1e30;

impl Header {
    pub fn nw(&self) -> usize {
        (self.nend + 1).saturating_sub(self.nstart)
    }

    pub fn extents(&self) -> Extents {
        let Header { nbands, ngpown, ncouls, .. } = *self;
        Extents { nbands, ngpown, ncouls, nw: self.nw() }
    }

    pub fn validate(&self) -> Result<()> {
        for (of, found) in [
            (Quantity::SigNtband, self.sig_ntband),
            (Quantity::GvecNg, self.gvec_ng),
            (Quantity::PeinfNtbandDist, self.nbands),
            (Quantity::Ngpown, self.ngpown),
            (Quantity::Ncouls, self.ncouls),
        ] {
            dimension(of, found as i64, [1, i32::MAX as usize])?;
        }
        let ntband_max = (Quantity::PeinfNtbandMax, self.peinf_ntband_max);
        at_most((Quantity::PeinfNtbandDist, self.nbands), ntband_max)?;
        let ngpown_max = (Quantity::EpsmpiNgpownMax, self.epsmpi_ngpown_max);
        at_most((Quantity::Ngpown, self.ngpown), ngpown_max)?;
        at_most((Quantity::Ncouls, self.ncouls), (Quantity::Ncoul, self.ncoul))?;
        self.validate_energies()?;
        let bands = (Quantity::SigNtband, self.sig_ntband.min(self.wfnkq_ekq.len()));
        in_range(Quantity::PeinfIndextDist, &self.peinf_indext_dist, self.nbands, bands)?;
        let rows = (Quantity::GvecNg, self.gvec_ng.min(self.indinv.len()));
        in_range(Quantity::InvIgpIndex, &self.inv_igp_index, self.ngpown, rows)?;
        long_enough(Quantity::Vcoul, self.vcoul.len(), self.ncouls)?;
        let used = self.peinf_indext_dist[..self.nbands].iter().map(|&i| i as usize - 1);
        within(Quantity::WfnkqEkq, used.map(|i| (i, self.wfnkq_ekq[i])), FINITE)?;
        let used = self.rows().flatten().map(|row| (row, self.vcoul[row]));
        within(Quantity::Vcoul, used, [-LARGEST_FACTOR, LARGEST_FACTOR])
    }

    fn validate_energies(&self) -> Result<()> {
        let (nstart, nend) = (self.nstart, self.nend);
        dimension(Quantity::Nstart, nstart as i64, [1, MOST_ENERGIES])?;
        dimension(Quantity::Nend, nend as i64, [nstart, MOST_ENERGIES])?;
        if let Some(energies) = &self.energies {
            if energies.len() != self.nw() {
                let fault =
                    Fault::Length { needed: self.nw() as u64, found: energies.len() as u64 };
                return Err(Error::data(Quantity::Energies, fault));
            }
            within(Quantity::Energies, energies.iter().copied().enumerate(), FINITE)?;
        }
        let not_negative = [0.0, f64::MAX];
        for (of, found, bounds @ [low, high]) in [
            (Quantity::SigDw, self.sig_dw, FINITE),
            (Quantity::SigGamma, self.sig_gamma, not_negative),
            (Quantity::ELk, self.e_lk, FINITE),
            (Quantity::Tol, self.tol, FINITE),
            (Quantity::Efermi, self.efermi, FINITE),
            (Quantity::Sexcut, self.sexcut, not_negative),
            (Quantity::Eta, self.eta.unwrap_or_default(), [0.0, LARGEST_POLE]),
            (Quantity::Window, self.window, [0.0, LARGEST_WINDOW]),
        ] {
            if !(low..=high).contains(&found) {
                return Err(Error::data(of, Fault::value(&[], found, bounds)));
            }
        }
        match self.eta {
            Some(0.0) => Ok(()),
            _ if self.window == 0.0 => Ok(()),
            _ => Err(invalid("window", "needs the time-ordered formula with eta 0")),
        }
    }

    /// Limits of the formula; the file's own are recomputed, as the reference does.
    pub fn limits(&self) -> Limits {
        if self.eta.is_some() {
            // Neither a near form nor a cutoff: the poles have the broadening.
            let window = if self.window < SMALLEST_WX { 0.0 } else { self.window };
            let limittwo = window * window;
            return Limits { limittwo, limitone: UNLIMITED, sexcut: LARGEST_CUTOFF };
        }
        Limits {
            limittwo: self.sig_gamma * self.sig_gamma,
            limitone: LIMITONE,
            sexcut: self.sexcut,
        }
    }

    /// Energy of this rank's band `n` (0-based) in eV.
    pub fn e(&self, n: usize) -> f64 {
        self.wfnkq_ekq[self.peinf_indext_dist[n] as usize - 1]
    }

    /// Energies in eV above `e_lk`, `(nw)`: from [`Header::energies`], or `sig_dw·(iw − 2)`.
    pub fn above_state(&self) -> Vec<f64> {
        let spaced = || (self.nstart..=self.nend).map(|iw| self.sig_dw * (iw as f64 - 2.0));
        self.energies.clone().unwrap_or_else(|| spaced().collect())
    }

    /// Energy of the state in eV; none in files of `finite_difference_form -3`, whose `e_lk` belongs to their grid.
    pub fn state(&self) -> Option<f64> {
        (self.sig_fdf != -3).then_some(self.e_lk)
    }

    /// Energies in eV, `(nw)`: above the state's, or ω if that is not known.
    pub fn shown(&self) -> Vec<f64> {
        let from = if self.state().is_none() { self.e_lk } else { 0.0 };
        self.above_state().iter().map(|above| from + above).collect()
    }

    /// `wx(iw,n) = ω(iw) − e(n)`, `(nw, nbands)`; ω is `e_lk` + `above_state`. At least 1e-12 from zero (time-ordered 1e-30).
    pub fn wx(&self) -> Vec<f64> {
        let omega: Vec<f64> = self.above_state().iter().map(|above| self.e_lk + above).collect();
        let of_band = |n: usize| {
            let e = self.e(n);
            omega.iter().map(move |omega| omega - e)
        };
        let nearest = if self.eta.is_none() { TOL_WX } else { SMALLEST_WX };
        let off_zero = |wx: f64| if wx.abs() < nearest { nearest } else { wx };
        (0..self.nbands).flat_map(of_band).map(off_zero).collect()
    }

    /// Occupation of each band: 0 above `nvband`, ½ at the Fermi energy, else 1.
    pub fn occ(&self) -> Vec<f64> {
        (0..self.nbands)
            .map(|n| {
                if self.peinf_indext_dist[n] > self.nvband {
                    0.0
                } else if (self.e(n) - self.efermi).abs() < self.tol {
                    0.5
                } else {
                    1.0
                }
            })
            .collect()
    }

    /// Row (0-based) of each of this rank's G′, if it has one.
    pub fn rows(&self) -> impl Iterator<Item = Option<usize>> + '_ {
        self.rows_of(0..self.ngpown)
    }

    /// The same of some G′ (0-based).
    pub fn rows_of(&self, igp: Range<usize>) -> impl Iterator<Item = Option<usize>> + '_ {
        self.inv_igp_index[igp].iter().map(|&index| {
            let igp = self.indinv[index as usize - 1];
            (1 <= igp && igp as usize <= self.ncouls).then(|| igp as usize - 1)
        })
    }

    /// Coulomb interaction of each of these G′ (0-based), zero for one without a row.
    pub fn vcoul_loc(&self, igp: Range<usize>) -> Vec<f64> {
        self.rows_of(igp).map(|row| row.map_or(0.0, |igp| self.vcoul[igp])).collect()
    }
}

const FINITE: [f64; 2] = [-f64::MAX, f64::MAX];

pub(crate) fn dimension(quantity: Quantity, found: i64, [least, most]: [usize; 2]) -> Result<()> {
    let [least, most] = [least as i64, most as i64];
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(Error::data(quantity, Fault::Dimension { found, least, most }))
}

pub(super) fn at_most(
    (of, found): (Quantity, usize),
    (limit, most): (Quantity, usize),
) -> Result<()> {
    if found <= most {
        return Ok(());
    }
    Err(Error::data(of, Fault::Exceeds { found, limit, most }))
}

/// Fails if there are fewer than `used` indices, or if one of these is not from 1 to a dimension.
fn in_range(
    quantity: Quantity,
    indices: &[i32],
    used: usize,
    (dimension, most): (Quantity, usize),
) -> Result<()> {
    long_enough(quantity, indices.len(), used)?;
    match indices[..used].iter().position(|&index| index < 1 || index as usize > most) {
        Some(index) => Err(Error::data(
            quantity,
            Fault::Index { index, found: indices[index], dimension, most },
        )),
        None => Ok(()),
    }
}

fn long_enough(quantity: Quantity, found: usize, needed: usize) -> Result<()> {
    if found >= needed {
        return Ok(());
    }
    Err(Error::data(quantity, Fault::Length { needed: needed as u64, found: found as u64 }))
}

impl Header {
    /// Leaves out masked columns, whose G′ has no row or no Coulomb interaction; if all are, the first stays.
    #[must_use]
    pub fn without_masked(self) -> Header {
        let vcoul = self.vcoul_loc(0..self.ngpown);
        let mut columns: Vec<usize> = (0..self.ngpown).filter(|&k| vcoul[k] != 0.0).collect();
        if columns.is_empty() {
            columns.push(0);
        }
        let unmasked = columns.len();
        if unmasked == self.ngpown { self } else { self.with_igp(&columns, unmasked) }
    }

    /// A sample of `count` of these columns, 1 to `ngpown`: the middle one of each of as many equal parts.
    #[must_use]
    pub fn sampled(self, count: usize) -> Header {
        let unmasked = self.ngpown;
        let igp: Vec<usize> = (0..count).map(|at| (2 * at + 1) * unmasked / (2 * count)).collect();
        self.with_igp(&igp, unmasked)
    }

    fn with_igp(self, igp: &[usize], count: usize) -> Header {
        let inv_igp_index = igp.iter().map(|&k| self.inv_igp_index[k]).collect();
        let columns = igp.iter().map(|&k| self.column(k)).collect();
        let (ngpown, unmasked) =
            (igp.len(), Unmasked { ngpown: self.all_ngpown(), count, columns });
        let unmasked = Some(unmasked);
        Header { ngpown, epsmpi_ngpown_max: ngpown, inv_igp_index, unmasked, ..self }
    }

    /// Columns of this rank, masked ones included.
    pub fn all_ngpown(&self) -> usize {
        self.unmasked.as_ref().map_or(self.ngpown, |unmasked| unmasked.ngpown)
    }

    /// Columns of this rank without the masked ones: more than `ngpown` if these are a sample.
    pub fn whole_ngpown(&self) -> usize {
        self.unmasked.as_ref().map_or(self.ngpown, |unmasked| unmasked.count)
    }

    /// A matrix of all columns, `(ncouls, ngpown)`, without the masked ones.
    pub(crate) fn unmasked_columns(
        &self,
        array: &ArraySpec,
        matrix: ComplexMatrix,
    ) -> Result<ComplexMatrix> {
        array.check(Extents { ngpown: self.all_ngpown(), ..self.extents() }, matrix.len())?;
        Ok(match &self.unmasked {
            Some(unmasked) => matrix.with_columns(array.name(), self.ncouls, &unmasked.columns)?,
            None => matrix,
        })
    }

    /// Row (0-based) of the G′ of a column (0-based) among all columns, if it is not masked.
    pub(crate) fn row_of_column(&self, column: usize) -> Option<usize> {
        let igp = (0..self.ngpown).find(|&igp| self.column(igp) == column)?;
        self.rows_of(igp..igp + 1).next()?
    }

    /// The number (0-based) of an igp (0-based) among all columns, masked ones included.
    pub fn column(&self, igp: usize) -> usize {
        self.unmasked.as_ref().map_or(igp, |unmasked| unmasked.columns[igp])
    }
}

/// Energies that replace a problem's own, at equal distances: `FROM:TO:COUNT`, or one alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Even {
    from: f64,
    to: f64,
    count: usize,
}

impl Even {
    /// `count` energies from `from` to `to`, in eV above `e_lk`.
    pub fn new(from: f64, to: f64, count: usize) -> Result<Even> {
        for (name, part) in [("FROM", from), ("TO", to), ("TO − FROM", to - from)] {
            if !part.is_finite() {
                return Err(no_number(name, part));
            }
        }
        match count {
            1 if from == to => Ok(Even { from, to, count }),
            1 => Err(invalid("", format!("one energy needs FROM = TO, found {from} and {to}"))),
            2..=MOST_ENERGIES if from < to => Ok(Even { from, to, count }),
            2..=MOST_ENERGIES => Err(invalid(
                "",
                format!("several energies need FROM below TO, found {from} and {to}"),
            )),
            _ => Err(no_count(count)),
        }
    }

    /// A header with these energies, which relative to no state are ω.
    #[must_use]
    pub fn apply_to(self, header: &Header) -> Header {
        let (energies, e_lk) = (self.above_state(), header.state().unwrap_or(0.0));
        let (nstart, nend, energies) = (1, energies.len(), Some(energies));
        Header { nstart, nend, energies, e_lk, ..header.clone() }
    }

    /// In eV above `e_lk`, ascending; both ends are exact, and the others the doubles nearest to the decimal numbers.
    fn above_state(self) -> Vec<f64> {
        let Even { from, to, count } = self;
        let last = count - 1;
        let is_whole =
            |unit: &f64| [from, to].iter().all(|end| (end * unit).round() / unit == *end);
        let unit = (0..16).map(|digits| 10_u64.pow(digits) as f64).find(is_whole);
        let [low, high] = [from, to].map(|end| unit.map_or(end, |unit| (end * unit).round()));
        let energy = |i: usize| match i {
            0 => from,
            i if i == last => to,
            // A single operation rounds, the last one.
            i => (low * (last - i) as f64 + high * i as f64) / (last as f64 * unit.unwrap_or(1.0)),
        };
        (0..count).map(energy).collect()
    }
}

impl Display for Even {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.from, self.to, self.count)
    }
}

fn no_number(name: &str, found: impl Display) -> Error {
    invalid("", format!("{name} needs a finite number, found `{found}`"))
}

fn no_count(found: impl Display) -> Error {
    invalid("", format!("COUNT needs a whole number from 1 to {MOST_ENERGIES}, found `{found}`"))
}

impl FromStr for Even {
    type Err = Error;

    fn from_str(text: &str) -> Result<Even> {
        let number = |name, text: &str| text.trim().parse().map_err(|_| no_number(name, text));
        match text.split(':').collect::<Vec<_>>()[..] {
            [only] if !only.is_empty() => {
                let only = number("FROM", only)?;
                Even::new(only, only, 1)
            }
            [from, to, count] => {
                let (from, to) = (number("FROM", from)?, number("TO", to)?);
                let count = count.trim().parse().map_err(|_| no_count(count))?;
                Even::new(from, to, count)
            }
            _ => Err(invalid("", "needs FROM:TO:COUNT or one energy, in eV above the state's")),
        }
    }
}

#[cfg(test)]
mod tests;
