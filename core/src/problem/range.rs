//! How large and how small the numbers of a problem may be, and the look-up of energies by range.
//!
//! The versions square `|w² − ω̃²|` and `|ω̃|²`, products of four factors, finite up to 1e75. A larger `|w|` makes
//! `ssx` vanish, right if no pole is near. If `w = −ω̃`, the term has no bound; below zero the cutoff drops it.

use gpp_kernels::plan::Poles;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::error::{EnergyAt, Error, Fault, Quantity, Result};
use crate::problem::arrays::{ArraySpec, ComplexMatrix, EPS, WTILDE, copied};
use crate::problem::header::Header;
use crate::problem::heavy::widest;

/// Largest `|ω̃|` in eV, and largest `|w|` with any pole.
pub const LARGEST_POLE: f64 = 1e75;

/// Largest `|w|` in eV.
pub const LARGEST_ENERGY: f64 = 1e150;

/// Largest `|ω̃|` in eV if some `|w|` is above [`LARGEST_POLE`].
const LARGEST_POLE_OF_LARGE_ENERGY: f64 = 1e3;

/// Largest `eps`, `aqsn`, `aqsm_local` and `vcoul`: products of them are finite.
pub const LARGEST_FACTOR: f64 = 1e50;

/// Smallest `eps`, `aqsn` and `aqsm_local`: squares of them, and sums over products of two, are numbers.
const SMALLEST_FACTOR: f64 = 1e-120;

/// Smallest imaginary part, relative to the real one, of a pole at an energy: squares in a term stay finite.
const SMALLEST_IMAGINARY: f64 = 1e-40;

/// Largest cutoff under which a term behind such a pole is cut off for certain.
pub(crate) const LARGEST_CUTOFF: f64 = 1e39;

/// Fails at the first element that is not finite or too large; `index` gives an element's indices (0-based).
pub(super) fn check_size(
    array: &ArraySpec,
    elements: &[Complex64],
    most: f64,
    index: impl Fn(usize) -> [usize; 2],
) -> Result<()> {
    let Some(at) = first(elements, |z| !is_within(most, z)) else { return Ok(()) };
    let (index, found, bounds) = (index(at).into(), elements[at], [-most, most]);
    Err(Error::data(array.quantity, Fault::Value { index, found, bounds }))
}

/// Checks factors and replaces those below 1e-120 by zero. Returns whether it replaced any.
pub(super) fn check_factors(
    array: &ArraySpec,
    factors: &mut ComplexMatrix,
    index: impl Fn(usize) -> [usize; 2],
) -> Result<bool> {
    // One pass without branches: most arrays remain as they are.
    let all_remain = |chunk: &[Complex64]| chunk.iter().fold(true, |all, z| all & remains(z));
    if factors.par_chunks(AT_ONCE).all(all_remain) {
        return Ok(false);
    }
    check_size(array, factors, LARGEST_FACTOR, index)?;
    factors.to_mut(array.name())?.par_chunks_mut(AT_ONCE).for_each(|factors| {
        factors.iter_mut().filter(|z| !remains(z)).for_each(|z| *z = Complex64::ZERO);
    });
    Ok(true)
}

/// Whether [`check_factors`] takes all of them and replaces none.
pub(super) fn remain(factors: &[Complex64]) -> bool {
    widest(
        #[inline(always)]
        || factors.iter().fold(true, |all, z| all & remains(z)),
    )
}

#[inline(always)]
fn remains(z: &Complex64) -> bool {
    is_within(LARGEST_FACTOR, z) & (!vanishes(z) | (*z == Complex64::ZERO))
}

pub(super) fn check_energies(header: &Header, wx: &[f64]) -> Result<()> {
    let is_wrong = |w: &f64| !(0.0..=LARGEST_ENERGY).contains(&w.abs());
    let Some(at) = wx.iter().position(is_wrong) else { return Ok(()) };
    let (index, w) = energy(header, wx, at);
    let bounds = [-LARGEST_ENERGY, LARGEST_ENERGY];
    Err(Error::data(Quantity::Wx, Fault::value(&index, w, bounds)))
}

/// Whether poles have to be checked with the energies of each problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Care {
    /// Some are too large for large energies.
    large: bool,
    /// Some are next to real, and complex or not positive.
    thin: bool,
}

impl Care {
    pub(super) fn for_poles(wtilde: &[Complex64]) -> Care {
        let is_large = |z: &Complex64| !is_within(LARGEST_POLE_OF_LARGE_ENERGY, z);
        let is_thin = |z: &Complex64| is_thin(z) && (z.im != 0.0 || z.re <= 0.0);
        Care { large: first(wtilde, is_large).is_some(), thin: first(wtilde, is_thin).is_some() }
    }

    pub(super) fn is_needed(self, header: &Header, wx: &[f64]) -> bool {
        let is_certain = header.sexcut <= LARGEST_CUTOFF;
        self.thin || !is_certain || self.large && wx.iter().any(|w| w.abs() > LARGEST_POLE)
    }
}

/// Fails at the first pole that is too large, or whose term has no bound at one of `wx(nw, nbands)`. A tiny imaginary
/// part of a pole at an energy is raised, in a copy, until its squared distance is a number: a term changes by 1e-40.
pub(super) fn resolved_poles(
    header: &Header,
    wx: &[f64],
    wtilde: &[Complex64],
    index: impl Fn(usize) -> [usize; 2],
) -> Result<Option<ComplexMatrix>> {
    check_size(&WTILDE, wtilde, LARGEST_POLE, &index)?;
    let wrong = |pole: usize, at: usize, most| {
        let (index, found, energy) = (index(pole).into(), wtilde[pole], energy(header, wx, at));
        Err(Error::data(Quantity::Wtilde, Fault::Pole { index, found, energy, most }))
    };
    if let Some(at) = wx.iter().position(|w| w.abs() > LARGEST_POLE)
        && let Some(large) = first(wtilde, |z| !is_within(LARGEST_POLE_OF_LARGE_ENERGY, z))
    {
        return wrong(large, at, Some(LARGEST_POLE_OF_LARGE_ENERGY));
    }
    let lookup = Lookup::from_energies(wx.iter().copied());
    // A window bounds all terms.
    let has_window = header.limits().has_window();
    let unbounded = first(wtilde, |z| {
        let certain = z.im == 0.0 || header.sexcut <= LARGEST_CUTOFF;
        is_thin(z) && !(z.re > 0.0 && certain) && !has_window && lookup.contains(-z.re)
    });
    if let Some(thin) = unbounded {
        let at = wx.iter().position(|&w| w == -wtilde[thin].re).unwrap_or_default();
        return wrong(thin, at, None);
    }
    let changes = |z: &Complex64| z.im != 0.0 && is_thin(z) && lookup.contains(z.re);
    if first(wtilde, changes).is_none() {
        return Ok(None);
    }
    let mut resolved = copied(WTILDE.name(), wtilde)?;
    resolved.par_chunks_mut(AT_ONCE).for_each(|wtilde| {
        wtilde
            .iter_mut()
            .filter(|z| changes(z))
            .for_each(|z| z.im = (SMALLEST_IMAGINARY * z.re.abs()).copysign(z.im));
    });
    Ok(Some(resolved.into()))
}

/// Whether a pair has terms: with a pole of exactly zero `delw` and Ω² are zero, so both branches are.
pub(super) fn contributes(wtilde: Complex64, eps: Complex64) -> bool {
    wtilde != Complex64::ZERO && eps != Complex64::ZERO
}

/// ω̃ − iη and `eps·ω̃/(ω̃ − iη)` in place of ω̃ and `eps`, whose product stays: with these poles `1/(w − ω̃)` and
/// `1/(w + ω̃)` have the broadening η, in eV, of the time-ordered formula.
pub(super) fn broaden(wtilde: &mut ComplexMatrix, eps: &mut ComplexMatrix, eta: f64) -> Result<()> {
    if eta == 0.0 {
        return Ok(());
    }
    let wtilde = wtilde.to_mut(WTILDE.name())?.par_iter_mut();
    let eps = eps.to_mut(EPS.name())?.par_iter_mut();
    wtilde.zip(eps).filter(|(wtilde, _)| **wtilde != Complex64::ZERO).for_each(|(wtilde, eps)| {
        let before = *wtilde;
        wtilde.im -= eta;
        if *wtilde == Complex64::ZERO {
            // A pole of zero has no terms; one that is as near to it as rounding has those of iη.
            wtilde.re = 1e-17 * eta;
        }
        *eps *= before / *wtilde;
    });
    Ok(())
}

#[inline(always)]
fn vanishes(factor: &Complex64) -> bool {
    factor.re.abs().max(factor.im.abs()) < SMALLEST_FACTOR
}

/// What the poles whose `eps` does not count as zero have in common.
pub(super) fn poles_of(wtilde: &[Complex64], eps: &[Complex64]) -> Poles {
    let are_real = |(wtilde, eps): (&[Complex64], &[Complex64])| {
        wtilde.iter().zip(eps).all(|(pole, eps)| pole.im == 0.0 || vanishes(eps))
    };
    let are_real = wtilde.par_chunks(AT_ONCE).zip(eps.par_chunks(AT_ONCE)).all(are_real);
    if are_real { Poles::Real } else { Poles::Any }
}

/// Elements that a thread looks at before it checks whether another one has found something.
const AT_ONCE: usize = 1 << 14;

fn first(elements: &[Complex64], is_so: impl Fn(&Complex64) -> bool + Sync) -> Option<usize> {
    let of_chunk = |(chunk, elements): (usize, &[Complex64])| {
        elements.iter().position(&is_so).map(|at| chunk * AT_ONCE + at)
    };
    elements.par_chunks(AT_ONCE).enumerate().find_map_first(of_chunk)
}

#[inline(always)]
fn is_within(limit: f64, z: &Complex64) -> bool {
    (z.re.abs() <= limit) & (z.im.abs() <= limit)
}

/// Fails at the first of these elements, with their indices (0-based), that is not within bounds.
pub(super) fn within(
    quantity: Quantity,
    mut values: impl Iterator<Item = (usize, f64)>,
    bounds @ [low, high]: [f64; 2],
) -> Result<()> {
    match values.find(|(_, found)| !(low..=high).contains(found)) {
        Some((at, found)) => Err(Error::data(quantity, Fault::value(&[at], found, bounds))),
        None => Ok(()),
    }
}

/// Energy `at` of `wx(nw, nbands)`.
fn energy(header: &Header, wx: &[f64], index: usize) -> EnergyAt {
    ([index % header.nw() + header.nstart - 1, index / header.nw()], wx[index])
}

fn is_thin(z: &Complex64) -> bool {
    z.im.abs() < SMALLEST_IMAGINARY * z.re.abs()
}

/// Energies to look up by range.
#[derive(Debug)]
pub struct Lookup {
    pub(super) sorted: Vec<f64>,
    /// Whether an energy lies in each of evenly spaced cells, by bits.
    taken: Vec<u64>,
    scale: f64,
}

/// Cells for each energy, so many that few are taken, and in all, so few that their bits are in the cache.
const CELLS_EACH: usize = 128;
const MOST_CELLS: usize = 1 << 18;

impl Lookup {
    /// From finite energies in any order, or none.
    pub fn from_energies(energies: impl IntoIterator<Item = f64>) -> Lookup {
        let mut sorted: Vec<f64> = energies.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        let width = sorted.last().zip(sorted.first()).map_or(0.0, |(last, first)| last - first);
        let cells = (CELLS_EACH * sorted.len()).next_power_of_two().clamp(1 << 10, MOST_CELLS);
        // Finite if all are the same.
        let scale = cells as f64 / width.max(1e-300);
        let mut lookup = Lookup { sorted, taken: vec![0; cells / 64], scale };
        for at in 0..lookup.sorted.len() {
            let cell = lookup.cell(lookup.sorted[at]);
            lookup.taken[cell / 64] |= 1 << (cell % 64);
        }
        lookup
    }

    /// The cell of an energy, or the nearest one.
    fn cell(&self, w: f64) -> usize {
        let first = self.sorted.first().copied().unwrap_or_default();
        (((w - first) * self.scale).max(0.0) as usize).min(64 * self.taken.len() - 1)
    }

    /// Whether there are any within, ends included.
    pub fn any(&self, low: f64, high: f64) -> bool {
        let (begin, end) = (self.cell(low), self.cell(high));
        let is_taken = |cell: usize| self.taken[cell / 64] >> (cell % 64) & 1 == 1;
        if begin <= end && end <= begin + 1 && !is_taken(begin) && !is_taken(end) {
            return false;
        }
        !self.within(low, high).is_empty()
    }

    /// All within, ends included, ascending, each once.
    pub fn within(&self, low: f64, high: f64) -> &[f64] {
        // Most ranges lie outside of all energies. A bound that is not a number holds nothing.
        let meets = |(&first, &last)| low <= high && low <= last && high >= first;
        if !self.sorted.first().zip(self.sorted.last()).is_some_and(meets) {
            return &[];
        }
        let begin = self.sorted.partition_point(|&w| w < low);
        let end = self.sorted.partition_point(|&w| w <= high);
        &self.sorted[begin..end]
    }

    pub fn contains(&self, w: f64) -> bool {
        self.any(w, w)
    }
}
