//! The pairs of a slab sorted by their poles: see [`gpp_kernels::cells`].

use std::ops::Range;
use std::slice;

use gpp_kernels::arrays::Limits;
use gpp_kernels::cells::series::LEAST;
use gpp_kernels::pairs::{PAIRS, Part, Pole};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::problem::SlabView;

/// Poles beyond are summed one by one.
const LARGEST: f64 = 1e30;

/// Relative to gamma: where poles below are near, the second branch may be none.
const SMALLEST: f64 = 2e-6;

/// A cell is at most this part of its poles wide: see [`gpp_kernels::cells::series`].
const WIDEST: f64 = 1.0 / 32.0;

/// Cells at most, of poles that energies come near to.
const MOST: f64 = 16384.0;

/// The pairs of a slab that contribute, cell by cell, in parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    poles: Vec<Pole>,
    parts: Vec<Part>,
}

impl Cells {
    /// Of a slab whose contributing poles are real, for `nw` energies and all `wx`.
    pub fn of(slab: SlabView, wx: &[f64], nw: usize, limits: Limits) -> Cells {
        let bounds = bounds(wx, nw, slab.wtilde().len(), limits);
        let cells = bounds.len();
        // The last one is of the poles that are within no bounds.
        let cell = |wtilde: f64| match bounds.partition_point(|&bound| bound <= wtilde) {
            0 => cells - 1,
            above => above - 1,
        };
        let sorted: Vec<Sorted> = (0..slab.len())
            .collect::<Vec<_>>()
            .par_chunks(slab.len().div_ceil(64))
            .map(|igp| Sorted::of(slab, igp[0]..igp[igp.len() - 1] + 1, cells, cell))
            .collect();
        let length =
            |cell: usize| sorted.iter().map(|some| some.of_cell(cell).len()).sum::<usize>();
        let lengths: Vec<usize> = (0..cells).map(length).collect();

        let mut poles = vec![ZERO; lengths.iter().sum()];
        let mut rest = &mut poles[..];
        let mut of_cells = Vec::with_capacity(cells);
        for &length in &lengths {
            let (own, behind) = rest.split_at_mut(length);
            of_cells.push(own);
            rest = behind;
        }
        of_cells.into_par_iter().enumerate().for_each(|(cell, own)| {
            let from = sorted.iter().flat_map(|some| some.of_cell(cell));
            own.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        });
        Cells { parts: parts(&bounds, &lengths), poles }
    }

    /// The pairs, those of a part next to each other.
    pub fn poles(&self) -> &[Pole] {
        &self.poles
    }

    /// The parts, the largest first.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// How many parts: fewer than there are pairs, or bounds.
    pub fn count(&self) -> u32 {
        self.parts.len() as u32
    }

    /// Both as they are copied to a device.
    pub fn words(&self) -> (&[[u64; 4]], &[[u64; 3]]) {
        const _: () = assert!(size_of::<Pole>() == 32 && size_of::<Part>() == 24);
        // SAFETY: the structures are `repr(C)`, of numbers of 8 and 4 bytes, and as long as these (asserted
        // above), so that nothing lies between; each is a multiple of 8 bytes, aligned so.
        unsafe {
            (
                slice::from_raw_parts(self.poles.as_ptr().cast(), self.poles.len()),
                slice::from_raw_parts(self.parts.as_ptr().cast(), self.parts.len()),
            )
        }
    }
}

const ZERO: Pole = Pole { wtilde: 0.0, ig: 0, igp: 0, eps: Complex64::ZERO };

/// The pairs of some `igp`, by cell.
struct Sorted {
    poles: Vec<Pole>,
    begins: Vec<u32>,
}

impl Sorted {
    fn of(slab: SlabView, igp: Range<usize>, cells: usize, cell: impl Fn(f64) -> usize) -> Sorted {
        let ncouls = slab.ncouls();
        let pairs = || {
            igp.clone().flat_map(|igp| {
                let column = igp * ncouls..(igp + 1) * ncouls;
                let both = slab.wtilde()[column.clone()].iter().zip(&slab.eps()[column]);
                let pole = move |(ig, (wtilde, &eps)): (usize, (&Complex64, _))| Pole {
                    wtilde: wtilde.re,
                    ig: ig as u32,
                    igp: igp as u32,
                    eps,
                };
                both.enumerate().map(pole).filter(|pole| pole.eps != Complex64::ZERO)
            })
        };
        let of_pairs: Vec<u32> = pairs().map(|pole| cell(pole.wtilde) as u32).collect();
        let mut begins = vec![0; cells + 1];
        of_pairs.iter().for_each(|&cell| begins[cell as usize + 1] += 1);
        (0..cells).for_each(|cell| begins[cell + 1] += begins[cell]);
        let mut next = begins.clone();
        let mut poles = vec![ZERO; of_pairs.len()];
        for (pole, cell) in pairs().zip(of_pairs) {
            let at = &mut next[cell as usize];
            poles[*at as usize] = pole;
            *at += 1;
        }
        Sorted { poles, begins }
    }

    fn of_cell(&self, cell: usize) -> &[Pole] {
        &self.poles[self.begins[cell] as usize..self.begins[cell + 1] as usize]
    }
}

/// The parts of cells of these lengths between `bounds`, the last one within none.
fn parts(bounds: &[f64], lengths: &[usize]) -> Vec<Part> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    for (cell, &length) in lengths.iter().enumerate() {
        let (low, high) = match bounds.get(cell + 1) {
            Some(&high) => (bounds[cell], high),
            None => (f64::NAN, f64::NAN),
        };
        let count = length.div_ceil(PAIRS as usize);
        let at = |part: usize| (begin + part * length / count) as u32;
        parts.extend((0..count).map(|part| Part { low, high, begin: at(part), end: at(part + 1) }));
        begin += length;
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.end - part.begin));
    parts
}

/// Bounds of the cells, ascending. What they are changes how long it takes, not what comes of it.
///
/// Energies come near to poles up to the largest `wx` and gamma beyond. There a cell is so wide that moments
/// tell its sums as soon as none of its poles is near; the more energies, the narrower, since each finds its
/// bounds in some cell whose pairs it sums one by one; but wide enough to hold many more pairs than there are
/// energies. Beyond, cells grow with the distance from the energies.
fn bounds(wx: &[f64], nw: usize, pairs: usize, limits: Limits) -> Vec<f64> {
    let gamma = limits.limittwo.sqrt();
    let reach = wx.iter().fold(0.0, |most: f64, w| most.max(w.abs())) + gamma;
    let near = |wtilde: f64| gamma.max(wtilde / limits.limitone.sqrt());
    let share = 2.0 / (LEAST - 1.0);
    let narrower = (nw as f64 / 64.0).clamp(1.0, 2.0);
    let least = (reach / MOST).max(reach * (nw + 32) as f64 / pairs as f64);
    let mut bounds = vec![(SMALLEST * gamma).max(1.0 / LARGEST)];
    while let Some(&last) = bounds.last().filter(|&&last| last < LARGEST) {
        let apart = near(last).max(last - reach);
        let width = (share * apart / narrower).max(least).min(WIDEST * last);
        bounds.push(last + width);
    }
    bounds
}
