//! The pairs of a slab, sorted by something of their poles.

use std::ops::Range;

use gpp_kernels::pairs::{Disc, PAIRS, Part, Pole};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::problem::{Extents, SlabView, range};

/// The pairs of a slab that contribute, cell by cell, in parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Sorted<W, P> {
    poles: Vec<Pole<W>>,
    parts: Vec<P>,
}

/// A part of a cell.
pub trait Span: Copy + Send {
    /// The same with these pairs.
    fn over(self, pairs: Range<u32>) -> Self;

    /// How many it has.
    fn count(&self) -> u32;
}

impl Span for Part {
    fn over(self, pairs: Range<u32>) -> Part {
        Part { begin: pairs.start, end: pairs.end, ..self }
    }

    fn count(&self) -> u32 {
        self.end - self.begin
    }
}

impl Span for Disc {
    fn over(self, pairs: Range<u32>) -> Disc {
        Disc { begin: pairs.start, end: pairs.end, ..self }
    }

    fn count(&self) -> u32 {
        self.end - self.begin
    }
}

impl<W: Copy + Default + Send + Sync, P: Span> Sorted<W, P> {
    /// Of a slab: `wtilde` is what is kept of a pole, `cell` the number of its cell, below `cells`, and `part`
    /// what a cell of these pairs is.
    pub(super) fn of(
        slab: SlabView,
        cells: usize,
        wtilde: impl Fn(Complex64) -> W + Sync,
        cell: impl Fn(W) -> usize + Sync,
        part: impl Fn(usize, &[Pole<W>]) -> P + Sync,
    ) -> Sorted<W, P> {
        let sorted: Vec<Chunk<W>> = (0..slab.len())
            .collect::<Vec<_>>()
            .par_chunks(slab.len().div_ceil(SORTED_IN))
            .map(|igp| Chunk::of(slab, igp[0]..igp[igp.len() - 1] + 1, cells, &wtilde, &cell))
            .collect();
        let length =
            |cell: usize| sorted.iter().map(|some| some.of_cell(cell).len()).sum::<usize>();
        let lengths: Vec<usize> = (0..cells).map(length).collect();

        let mut poles = vec![zero(); lengths.iter().sum()];
        let mut rest = &mut poles[..];
        let mut of_cells = Vec::with_capacity(cells);
        for &length in &lengths {
            let (own, behind) = rest.split_at_mut(length);
            of_cells.push(own);
            rest = behind;
        }
        let of_cell = |(cell, own): (usize, &mut [Pole<W>])| {
            let from = sorted.iter().flat_map(|some| some.of_cell(cell));
            own.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            part(cell, own)
        };
        let parts: Vec<P> = of_cells.into_par_iter().enumerate().map(of_cell).collect();
        Sorted { parts: in_parts(&parts, &lengths), poles }
    }
}

/// The parts at most that pairs are sorted in, each by itself.
const SORTED_IN: usize = 64;

/// Pairs at most that bounds are found with.
const SAMPLE: u64 = 1 << 20;

impl<W, P> Sorted<W, P> {
    /// Bytes at most of those of a slab in so many cells, and of what they are sorted in: each pair is there twice,
    /// with the number of its cell.
    pub(super) fn bytes_while_made(slab: Extents, cells: u64) -> u64 {
        let pairs = (slab.ncouls as u64).saturating_mul(slab.ngpown as u64);
        let of_pair = (2 * size_of::<Pole<W>>() + size_of::<u32>()) as u64;
        let parts = (2 * cells + pairs / u64::from(PAIRS)) * size_of::<P>() as u64;
        // Where cells begin in each of the parts.
        let sorted_in = slab.ngpown.min(SORTED_IN);
        let begins = sorted_in as u64 * cells * size_of::<u32>() as u64;
        let sample = pairs.min(SAMPLE) * size_of::<u64>() as u64;
        pairs.saturating_mul(of_pair).saturating_add(parts + begins + sample)
    }

    /// The pairs, those of a part next to each other.
    pub fn poles(&self) -> &[Pole<W>] {
        &self.poles
    }

    /// The parts, the largest first.
    pub fn parts(&self) -> &[P] {
        &self.parts
    }
}

fn zero<W: Default>() -> Pole<W> {
    Pole { wtilde: W::default(), ig: 0, igp: 0, eps: Complex64::ZERO }
}

/// The pairs of some `igp`, by cell.
struct Chunk<W> {
    poles: Vec<Pole<W>>,
    /// Where the pairs of each cell end.
    ends: Vec<u32>,
}

impl<W: Copy + Default> Chunk<W> {
    fn of(
        slab: SlabView,
        igp: Range<usize>,
        cells: usize,
        wtilde: impl Fn(Complex64) -> W,
        cell: impl Fn(W) -> usize,
    ) -> Chunk<W> {
        let ncouls = slab.ncouls();
        let wtilde = &wtilde;
        let pairs = || {
            igp.clone().flat_map(|igp| {
                let column = igp * ncouls..(igp + 1) * ncouls;
                let both = slab.wtilde()[column.clone()].iter().zip(&slab.eps()[column]);
                let pole = move |(ig, (&of, &eps)): (usize, (&Complex64, &Complex64))| {
                    let pole = || Pole { wtilde: wtilde(of), ig: ig as u32, igp: igp as u32, eps };
                    range::contributes(of, eps).then(pole)
                };
                both.enumerate().filter_map(pole)
            })
        };
        let of_pairs: Vec<u32> = pairs().map(|pole| cell(pole.wtilde) as u32).collect();
        // Where the pairs of each cell go next: at first where it begins, in the end where the next one does.
        let mut next = vec![0; cells + 1];
        of_pairs.iter().for_each(|&cell| next[cell as usize + 1] += 1);
        (0..cells).for_each(|cell| next[cell + 1] += next[cell]);
        let mut poles = vec![zero(); of_pairs.len()];
        for (pole, cell) in pairs().zip(of_pairs) {
            let at = &mut next[cell as usize];
            poles[*at as usize] = pole;
            *at += 1;
        }
        Chunk { poles, ends: next }
    }

    fn of_cell(&self, cell: usize) -> &[Pole<W>] {
        let begin = cell.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.poles[begin as usize..self.ends[cell] as usize]
    }
}

/// The parts of these cells of these lengths, which follow each other.
fn in_parts<P: Span>(cells: &[P], lengths: &[usize]) -> Vec<P> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    for (cell, &length) in cells.iter().zip(lengths) {
        let count = length.div_ceil(PAIRS as usize);
        let at = |part: usize| (begin + part * length / count) as u32;
        parts.extend((0..count).map(|part| cell.over(at(part)..at(part + 1))));
        begin += length;
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.count()));
    parts
}
