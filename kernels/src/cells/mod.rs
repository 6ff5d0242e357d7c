//! Pairs sorted by their poles: any number of energies for little more than a few.
//!
//! For real poles, with `c = vcoul·½·ω̃·eps`, `q = 1/(w − ω̃)` where the first branch holds and zero
//! elsewhere, and `p = 1/(w + ω̃)`, both branches are
//!
//! ```text
//! ach(iw) += c·M·q            asx(iw) −= occ·c·M·(q − p)   unless it is cut off
//! ```
//!
//! so `c·M` of a band is summed with weights that are functions of `w` and `ω̃` alone. A *cell* is the
//! pairs whose poles lie between two bounds, `ω̃ = mid + half·t` with `|t| ≤ 1`. Far from it these
//! functions are smooth in `t`, a few Chebyshev polynomials ([`series`]), and the *moments* of the cell,
//! `Σ c·M·T_k(t)` over its pairs, tell its sums at every energy of the band. Where a bound between branches
//! or the pole itself is in the cell, or too near to it, its pairs are summed one by one, by the definition.
//!
//! A block has 64 bands, a thread each, and goes through *parts*, cells that are not too large: it sums
//! moments, then its threads share energies and bands out anew (`share.rs`) and add what moments give there,
//! and their warps what has to be summed one by one. The sums of the shares stay in shared memory to its end.

use core::ops::Range;

use num_complex::{Complex, Complex64};

use crate::arguments::CellsArguments;
use crate::arrays::Limits;
use crate::cells::at_energies::{at_energy, one_by_one};
use crate::cells::series::{MOMENTS, Way, sum_moments, way};
use crate::formula::{TermFn, VALUES};
use crate::grid::split;
use crate::intrinsics::{WARP, load};
use crate::pairs::{Part, Pole};

mod at_energies;
pub mod series;
mod team;

pub use team::*;

/// Blocks of a launch at most: each has its share of the parts, and the sums depend on how many share.
pub const BLOCKS: u32 = 1056;

/// The unit of a block in a round. For each chunk of bands parts get ever smaller, so who has the largest of a
/// round has the smallest of the next.
#[inline(always)]
fn unit(block: u32, blocks: u32, round: u32) -> u32 {
    round * blocks + if round.is_multiple_of(2) { block } else { blocks - 1 - block }
}

/// What a block does, all of its threads together: its share of the parts, whose sums it stores.
///
/// # Safety
/// The [launch contract](crate::contract), `block` one of `blocks`; `team` has [`BANDS`] threads and room for
/// the numbers of such cells: [`NUMBERS`], or those of [`crate::discs`].
#[inline(always)]
pub unsafe fn block<C: Cell, T: Team>(
    a: &CellsArguments,
    team: &T,
    block: u32,
    blocks: u32,
    term: impl TermFn + Copy,
) {
    team.all(|thread| {
        each_of(thread, VALUES as u32 * HOLDS, |at| team.set(C::SUMS + at, 0.0));
    });
    let units = a.units();
    let mut round = 0;
    loop {
        let unit = unit(block, blocks, round);
        if unit >= units {
            break;
        }
        let (chunk, part) = split(unit, a.count);
        // The part is one of all, the bands are within the rows.
        let (part, first) = (C::read(a, part), chunk * BANDS);
        part.sum_moments(a, team, first);
        team.warps(|warp| {
            each_of_warp(warp, |shares| {
                team.lanes(|lane| part.at_energy(a, team, first, shares + lane));
                one_by_one(a, team, &part, first, shares, term);
            });
        });
        round += 1;
    }
    team.all(|thread| {
        each_of(thread, VALUES as u32 * a.nw, |at| {
            let (iw, value) = (at / VALUES as u32, at % VALUES as u32);
            let mut sum = 0.0;
            each_of_energy(iw, a, |share| sum = sum + team.get(sum_at::<C>(share) + value));
            // Room for the values of all blocks, this one's own.
            *a.partials.add((at * blocks + block) as usize) = sum
        });
    });
}

// What kernels of sorted pairs know of their cells.

/// What the cells of a kernel are: pairs next to each other whose poles lie between two bounds, or in a disc
/// ([`crate::discs`]).
pub trait Cell: Copy {
    /// What a pole is: a real number, or any.
    type Wtilde: Copy;

    /// Where the sums of the shares stand in shared memory.
    const SUMS: u32;

    /// Number `part` of all.
    ///
    /// # Safety
    /// The [launch contract](crate::contract), with parts of this kind; there are more than `part`.
    unsafe fn read(a: &CellsArguments, part: u32) -> Self;

    /// Pair `at`.
    ///
    /// # Safety
    /// As [`Cell::read`]; there are more than `at`.
    unsafe fn pole(a: &CellsArguments, at: u32) -> Pole<Self::Wtilde>;

    fn wtilde(of: Self::Wtilde) -> Complex64;

    fn pairs(&self) -> Range<u32>;

    /// How its moments tell its sums at an energy, of an occupied band or an empty one; `None` where they do
    /// not.
    fn ways(&self, limits: Limits) -> impl Fn(f64, bool) -> Option<Way>;

    /// Sums its moments for each band from `first` on, which the block then shares.
    unsafe fn sum_moments<T: Team>(&self, a: &CellsArguments, team: &T, first: u32);

    /// Adds what its moments of the bands from `first` on give a share.
    unsafe fn at_energy<T: Team>(&self, a: &CellsArguments, team: &T, first: u32, share: u32);
}

// Cells of real poles between two bounds.

impl Cell for Part {
    type Wtilde = f64;

    const SUMS: u32 = SUMS;

    #[inline(always)]
    unsafe fn read(a: &CellsArguments, part: u32) -> Part {
        // The parts of real poles are such ones.
        Part::read(a.parts, part)
    }

    #[inline(always)]
    unsafe fn pole(a: &CellsArguments, at: u32) -> Pole {
        // The pairs of real poles are such ones.
        Pole::read(a.poles, at)
    }

    #[inline(always)]
    fn wtilde(of: f64) -> Complex64 {
        Complex::new(of, 0.0)
    }

    #[inline(always)]
    fn pairs(&self) -> Range<u32> {
        self.begin..self.end
    }

    #[inline(always)]
    fn ways(&self, limits: Limits) -> impl Fn(f64, bool) -> Option<Way> {
        move |w, occupied| way(w, self, occupied, &limits)
    }

    #[inline(always)]
    unsafe fn sum_moments<T: Team>(&self, a: &CellsArguments, team: &T, first: u32) {
        sum_moments(a, team, self, first)
    }

    #[inline(always)]
    unsafe fn at_energy<T: Team>(&self, a: &CellsArguments, team: &T, first: u32, share: u32) {
        at_energy(a, team, self, first, share)
    }
}

// The size of a block, and where things stand in its shared memory, in numbers.

/// Bands of a block, one for each of its threads.
pub const BANDS: u32 = 64;

/// Energies of a launch at most.
pub const HOLDS: u32 = 128;

/// Pairs whose factors a block has at hand at a time, one for each of its threads to make.
pub const STAGED: u32 = BANDS;

/// Polynomials of a pair: all but the first, which is one.
const OF_PAIR: u32 = MOMENTS as u32 - 1;
const _: () = assert!(OF_PAIR.is_multiple_of(2), "they are read two at a time");

/// `(2, BANDS, MOMENTS)`.
pub const MOMENT: u32 = 0;
/// `(VALUES, HOLDS)`, of a share each.
pub const SUMS: u32 = MOMENT + 2 * BANDS * MOMENTS as u32;
/// Two buffers of `(OF_PAIR, STAGED)`.
pub const POLYNOMIALS: u32 = SUMS + VALUES as u32 * HOLDS;
/// Two buffers of `(2, STAGED)`.
pub const WEIGHTS: u32 = POLYNOMIALS + 2 * STAGED * OF_PAIR;
pub const NUMBERS: u32 = WEIGHTS + 2 * STAGED * 2;

/// Moment `k` of band `b`.
#[inline(always)]
pub const fn moment(b: u32, k: usize) -> u32 {
    MOMENT + 2 * (k as u32 * BANDS + b)
}

/// The polynomials `k + 1` and `k + 2` of a staged pair.
#[inline(always)]
pub const fn polynomials(buffer: u32, at: u32, k: usize) -> u32 {
    POLYNOMIALS + (buffer * STAGED + at) * OF_PAIR + k as u32
}

/// The weight of a staged pair.
#[inline(always)]
pub const fn weight(buffer: u32, at: u32) -> u32 {
    WEIGHTS + (buffer * STAGED + at) * 2
}

// Who has which energies and bands, after the moments: as many shares as energies fit, however few there are.

/// An energy, and which of the bands of a block: every `step`-th from `begin` on. A thread has a few shares,
/// whose sums stand in shared memory to the block's end.
#[derive(Clone, Copy)]
pub struct Share {
    /// The energy, which there need not be.
    pub iw: u32,
    /// The first band of the block's.
    pub begin: u32,
    /// How far the next one is.
    pub step: u32,
}

impl Share {
    /// Number `at` of [`HOLDS`].
    #[inline(always)]
    pub fn of(at: u32, a: &CellsArguments) -> Share {
        let bits = energies(a).trailing_zeros();
        Share { iw: at & (energies(a) - 1), begin: at >> bits, step: HOLDS >> bits }
    }
}

/// Energies that there are shares of: a power of two.
#[inline(always)]
fn energies(a: &CellsArguments) -> u32 {
    a.nw.next_power_of_two()
}

/// The shares of an energy, in the order in which they are added up.
#[inline(always)]
pub fn each_of_energy(iw: u32, a: &CellsArguments, mut each: impl FnMut(u32)) {
    let mut at = iw;
    while at < HOLDS {
        each(at);
        at += energies(a);
    }
}

/// Calls `each` for the first share of each group that a warp's threads have, one each.
#[inline(always)]
pub fn each_of_warp(warp: u32, mut each: impl FnMut(u32)) {
    let mut first = warp * WARP;
    while first < HOLDS {
        each(first);
        first += BANDS;
    }
}

impl CellsArguments {
    pub(crate) fn limits(&self) -> Limits {
        let CellsArguments { limittwo, limitone, sexcut, .. } = *self;
        Limits { limittwo, limitone, sexcut }
    }

    /// Parts of all bands.
    pub fn units(&self) -> u32 {
        self.rows / BANDS * self.count
    }

    #[inline(always)]
    pub(crate) unsafe fn wx(&self, iw: u32, n: u32) -> f64 {
        *self.wx.add((n * self.nw + iw) as usize)
    }

    /// Whether a band is occupied, and how much.
    ///
    /// # Safety
    /// As [`CellsArguments::wx`].
    #[inline(always)]
    pub(crate) unsafe fn occ(&self, n: u32) -> f64 {
        *self.occ.add(n as usize)
    }

    /// Bands of a block from `first` on.
    #[inline(always)]
    pub(crate) fn bands(&self, first: u32) -> u32 {
        BANDS.min(self.nbands - first.min(self.nbands))
    }

    /// `aqsm_local` and `aqsn` of a pair and a band.
    ///
    /// # Safety
    /// As [`CellsArguments::wx`], `n < rows`.
    #[inline(always)]
    pub(crate) unsafe fn elements<W>(&self, pole: &Pole<W>, n: u32) -> [Complex64; 2] {
        let (aqsm, aqsn) = (
            load(self.aqsm_local, pole.igp * self.rows + n),
            load(self.aqsn, pole.ig * self.rows + n),
        );
        [aqsm, aqsn]
    }
}

/// Calls `each` for every [`BANDS`]-th of `count`, from `first` on.
#[inline(always)]
pub fn each_of(first: u32, count: u32, mut each: impl FnMut(u32)) {
    let mut at = first;
    while at < count {
        each(at);
        at += BANDS;
    }
}

/// Where the sums of a share stand.
#[inline(always)]
pub const fn sum_at<C: Cell>(share: u32) -> u32 {
    C::SUMS + VALUES as u32 * share
}

/// Adds to the sums of a share.
#[inline(always)]
pub fn add<C: Cell, T: Team>(team: &T, share: u32, values: [f64; VALUES]) {
    let at = sum_at::<C>(share);
    let ([a, b], [c, d]) = (team.pair(at), team.pair(at + 2));
    team.set_pair(at, [a + values[0], b + values[1]]);
    team.set_pair(at + 2, [c + values[2], d + values[3]]);
}
