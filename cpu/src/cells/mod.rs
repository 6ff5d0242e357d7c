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
//! functions are smooth in `t`, a few Chebyshev polynomials ([`real`]), and the *moments* of the cell,
//! `Σ c·M·T_k(t)` over its pairs, tell its sums at every energy of the band. Where a bound between branches
//! or the pole itself is in the cell, or too near to it, its pairs are summed one by one, by the definition.
//! Other poles lie in discs of the complex plane, and their moments are those of powers (`discs`).
//!
//! Work is shared out by chunks of bands and parts of the pairs. Moments are summed with bands in the
//! vectors, what they give with energies, and what is summed one by one with pairs; each number adds the same
//! terms at every level.

use std::ops::Range;

use gpp_kernels::arrays::Limits;
use gpp_kernels::formula::VALUES;
use gpp_kernels::sigma::{Disc, Interval as Part, Pole};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::caller::Stop;
use crate::cells::singly::Left;
use crate::definition::prefetch;
use crate::lanes::{Lanes, WIDTH};
use crate::level::{Level, Levelled, at_level};
use crate::pool::Pool;
use crate::work::Compensated;

mod discs;
pub mod real;
mod singly;

/// Bands of a chunk, a multiple of [`WIDTH`].
pub const CHUNK: usize = 16;

/// Shares of the parts for each chunk, the same ones however many threads there are.
const SHARES: usize = 16;

/// The pairs of a slab, those of a part next to each other, and the parts, the largest first.
#[derive(Clone, Copy)]
pub enum Pairs<'a> {
    /// Of real poles.
    Real(&'a [Pole], &'a [Part]),
    /// Of any.
    Any(&'a [Pole<Complex64>], &'a [Disc]),
}

/// The pairs of a slab, the bands and the energies.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub pairs: Pairs<'a>,
    /// Matrix elements of G.
    pub aqsn: &'a Chunks,
    /// Matrix elements of G′.
    pub aqsm: &'a Chunks,
    /// Coulomb interaction of each `igp`.
    pub vcoul_loc: &'a [f64],
    /// Energies `ω(iw) − e(n)` in eV, `(nw, nbands)`.
    pub wx: &'a [f64],
    /// Occupation of each band.
    pub occ: &'a [f64],
    pub limits: Limits,
    /// What is looked at between pieces of work.
    pub stop: &'a Stop,
}

/// Parts of the pairs that a chunk of bands is summed with.
#[derive(Clone, Copy, Debug)]
struct Share {
    chunk: usize,
    share: usize,
}

/// The energies of a chunk's bands, padded to whole vectors.
struct Energies {
    values: Vec<f64>,
    length: usize,
}

impl Energies {
    /// Those of band `at` of the chunk.
    #[inline(always)]
    fn of_band(&self, at: usize) -> &[f64] {
        &self.values[at * self.length..(at + 1) * self.length]
    }
}

impl Task<'_> {
    fn parts(&self) -> usize {
        match self.pairs {
            Pairs::Real(_, parts) => parts.len(),
            Pairs::Any(_, parts) => parts.len(),
        }
    }

    fn shares(&self) -> Vec<Share> {
        let chunks = 0..self.nbands().div_ceil(CHUNK);
        let shares = SHARES.min(self.parts());
        chunks.flat_map(|chunk| (0..shares).map(move |share| Share { chunk, share })).collect()
    }

    /// The bands of a chunk.
    fn bands(&self, chunk: usize) -> std::ops::Range<usize> {
        chunk * CHUNK..self.nbands().min((chunk + 1) * CHUNK)
    }

    fn nbands(&self) -> usize {
        self.occ.len()
    }

    fn nw(&self) -> usize {
        self.wx.len() / self.nbands()
    }

    fn energies(&self, chunk: usize) -> Energies {
        let nw = self.nw();
        let length = nw.next_multiple_of(WIDTH);
        let bands = self.bands(chunk);
        let mut values = vec![1.0; bands.len() * length];
        for (own, n) in values.chunks_exact_mut(length).zip(bands) {
            own[..nw].copy_from_slice(&self.wx[n * nw..(n + 1) * nw]);
        }
        Energies { values, length }
    }

    /// Fails where arrays do not go with each other.
    fn check(&self) {
        let (energies, bands) = (self.wx.len(), self.nbands());
        assert!(bands > 0 && energies > 0 && energies.is_multiple_of(bands), "energies of bands");
        assert_eq!(self.aqsm.rows, self.vcoul_loc.len(), "igp");
        match self.pairs {
            Pairs::Real(poles, parts) => self.check_pairs(poles, parts),
            Pairs::Any(poles, parts) => self.check_pairs(poles, parts),
        }
    }

    fn check_pairs<C: Cell>(&self, poles: &[Pole<C::Wtilde>], parts: &[C]) {
        let is_there = |pole: &Pole<C::Wtilde>| {
            (pole.ig as usize) < self.aqsn.rows && (pole.igp as usize) < self.aqsm.rows
        };
        assert!(poles.par_iter().all(is_there), "pairs have rows");
        assert!(parts.iter().all(|part| part.pairs().end <= poles.len()), "parts have pairs");
    }
}

/// Bytes of the sums of all shares of so many bands and energies at most.
pub fn bytes_of_sums(nbands: usize, nw: usize) -> u64 {
    let shares = (nbands.div_ceil(CHUNK) * SHARES) as u64;
    shares * (nw * VALUES * size_of::<Compensated>()) as u64
}

/// The sums of a share in the vectors of a level.
struct Sorted;

impl<'a> Levelled<(&'a Task<'a>, Share, &'a mut [Compensated])> for Sorted {
    #[inline(always)]
    fn run<L: Lanes>(token: L::Token, (task, share, sums): (&Task, Share, &mut [Compensated])) {
        match task.pairs {
            Pairs::Real(poles, parts) => {
                add_share::<L, Part>(token, task, poles, parts, share, sums)
            }
            Pairs::Any(poles, parts) => {
                add_share::<L, Disc>(token, task, poles, parts, share, sums)
            }
        }
    }
}

/// Adds the sums of a share of these parts.
#[inline(always)]
fn add_share<L: Lanes, C: Cell>(
    token: L::Token,
    task: &Task,
    poles: &[Pole<C::Wtilde>],
    parts: &[C],
    Share { chunk, share }: Share,
    sums: &mut [Compensated],
) {
    let energies = task.energies(chunk);
    let mut at = share;
    let mut left = Vec::new();
    while at < parts.len() && !task.stop.is_asked() {
        let part = parts[at];
        let own = &poles[part.pairs()];
        left.clear();
        if part.has_moments() {
            part.by_moments::<L>(token, task, own, (chunk, &energies), (sums, &mut left));
        } else {
            let bands = task.bands(chunk);
            left.extend(bands.flat_map(|n| (0..task.nw()).map(move |iw| Left::new(n, iw, false))));
        }
        singly::add::<L, _>(token, task, own, &left, sums);
        at += SHARES.min(parts.len());
    }
}

/// The sums of a slab, `(nw · VALUES)`, in the pool: for each energy as in [`gpp_kernels::formula::VALUES`].
/// `done` is told the part that is summed, now and then.
///
/// # Panics
/// Where the arrays of the task do not go with each other, or the processor has not this level.
pub fn sum(task: &Task, level: Level, pool: &Pool, done: &(dyn Fn(f64) + Sync)) -> Vec<f64> {
    assert!(level.is_available(), "this processor has no {level}");
    pool.install(|| {
        task.check();
        let (shares, values) = (task.shares(), task.nw() * VALUES);
        let ran = std::sync::atomic::AtomicUsize::new(0);
        let of_shares: Vec<Vec<Compensated>> = shares
            .par_iter()
            .with_max_len(1)
            .map(|&share| {
                let mut sums = vec![Compensated::default(); values];
                at_level::<Sorted, _>(level, (task, share, &mut sums));
                let ran = ran.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                done(ran as f64 / shares.len() as f64);
                sums
            })
            .collect();
        let mut totals = vec![Compensated::default(); values];
        for sums in &of_shares {
            totals.iter_mut().zip(sums).for_each(|(total, sum)| total.add(sum.value()));
        }
        totals.into_iter().map(Compensated::value).collect()
    })
}

// What cells are: pairs whose poles lie between two bounds, or in a disc.

trait Cell: Copy {
    type Wtilde: Copy + Into<Complex64> + Send + Sync;

    fn pairs(&self) -> Range<usize>;

    fn has_moments(&self) -> bool;

    /// Sums what its moments give a chunk's bands at all energies, and lists the bands and energies at which
    /// they do not tell it.
    fn by_moments<L: Lanes>(
        &self,
        token: L::Token,
        task: &Task,
        poles: &[Pole<Self::Wtilde>],
        of: (usize, &Energies),
        to: (&mut [Compensated], &mut Vec<Left>),
    );
}

impl Cell for Part {
    type Wtilde = f64;

    fn pairs(&self) -> Range<usize> {
        self.begin as usize..self.end as usize
    }

    fn has_moments(&self) -> bool {
        !self.low.is_nan()
    }

    #[inline(always)]
    fn by_moments<L: Lanes>(
        &self,
        token: L::Token,
        task: &Task,
        poles: &[Pole],
        of: (usize, &Energies),
        to: (&mut [Compensated], &mut Vec<Left>),
    ) {
        let moments = real::of_part::<L>(token, task, (self, poles), of.0);
        let cell = real::Cell::<L>::of(token, self, task.limits);
        real::at_energies(token, task, (&cell, &moments), of, to);
    }
}

impl Cell for Disc {
    type Wtilde = Complex64;

    fn pairs(&self) -> Range<usize> {
        self.begin as usize..self.end as usize
    }

    fn has_moments(&self) -> bool {
        !self.radius.is_nan()
    }

    #[inline(always)]
    fn by_moments<L: Lanes>(
        &self,
        token: L::Token,
        task: &Task,
        poles: &[Pole<Complex64>],
        of: (usize, &Energies),
        to: (&mut [Compensated], &mut Vec<Left>),
    ) {
        let moments = discs::of_disc::<L>(token, task, (self, poles), of.0);
        let bounds = discs::Bounds::<L>::of(token, self, task.limits);
        real::at_energies(token, task, (&bounds, &moments), of, to);
    }
}

// Matrix elements, chunk by chunk of the bands.

/// A matrix of complex numbers whose columns are bands, chunk by chunk: of each row the real parts of the
/// chunk's bands, then the imaginary ones; zeros behind the last band.
#[derive(Clone, Debug)]
pub struct Chunks {
    values: Vec<f64>,
    /// Numbers of a column.
    pub(super) rows: usize,
}

impl Chunks {
    /// Of columns of `rows` numbers.
    ///
    /// # Panics
    /// Where a column has another length.
    pub fn of(columns: &[&[Complex64]], rows: usize) -> Chunks {
        assert!(columns.iter().all(|column| column.len() == rows), "columns of {rows}");
        let mut values = vec![0.0; columns.len().div_ceil(CHUNK) * rows * 2 * CHUNK];
        let chunks = values.par_chunks_mut((rows * 2 * CHUNK).max(1));
        chunks.zip(columns.par_chunks(CHUNK)).for_each(|(chunk, columns)| {
            for (row, parts) in chunk.chunks_exact_mut(2 * CHUNK).enumerate() {
                let (re, im) = parts.split_at_mut(CHUNK);
                for ((re, im), column) in re.iter_mut().zip(im).zip(columns) {
                    (*re, *im) = (column[row].re, column[row].im);
                }
            }
        });
        Chunks { values, rows }
    }

    /// Bytes of so many columns of `rows` numbers.
    pub fn bytes(columns: usize, rows: usize) -> u64 {
        let of_row = columns.div_ceil(CHUNK) * 2 * CHUNK * size_of::<f64>();
        (of_row as u64).saturating_mul(rows as u64)
    }

    /// A row of a chunk.
    #[inline(always)]
    pub(super) fn row(&self, chunk: usize, row: usize) -> &[f64; 2 * CHUNK] {
        let at = (chunk * self.rows + row) * 2 * CHUNK;
        self.values[at..at + 2 * CHUNK].try_into().expect("as long")
    }

    /// Has a row of a chunk on its way to the cache.
    #[inline(always)]
    pub(super) fn fetch(&self, chunk: usize, row: usize) {
        prefetch(self.row(chunk, row));
    }

    #[inline(always)]
    pub(super) fn at(&self, band: usize, row: usize) -> Complex64 {
        let parts = self.row(band / CHUNK, row);
        Complex64::new(parts[band % CHUNK], parts[CHUNK + band % CHUNK])
    }
}
