//! The plan that the later versions follow, made once when a problem is loaded; see
//! [`gpp_kernels::plan`].

use std::collections::HashSet;

use gpp_kernels::arrays::Limits;
use gpp_kernels::plan::Plan;
use gpp_kernels::registry::{Extents, Poles};
use num_complex::Complex64;
use rayon::prelude::*;

use super::{Header, Problem};

/// Largest pole and energy of the fast loops: products of four of them are finite.
const LARGEST: f64 = 1e30;

/// Complex poles lose up to this factor in `q − p`, where `|ω̃|` is that much smaller than `|w|`.
const MOST_CANCELLATION: f64 = 64.0;

/// Relative to gamma: below this `|delw|²` may fall to `TOL_ZERO` within the second branch.
const SMALLEST: f64 = 2e-6;

/// The plan of one problem, with the memory that a [`Plan`] points to.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Bands in the plan's order.
    pub order: Vec<usize>,
    /// Plain bands.
    pub plain: usize,
    /// Plain and other occupied bands.
    pub occupied: usize,
    /// What the regular poles have in common.
    pub poles: Poles,
    /// See [`Plan::odd_mask`].
    pub odd_mask: Vec<u32>,
    /// See [`Plan::odd_pairs`].
    pub odd_pairs: Vec<u32>,
}

impl Planned {
    /// Finds it out.
    pub fn of(problem: &Problem) -> Planned {
        let nw = problem.nw();
        let energies = |n: usize| &problem.wx[n * nw..(n + 1) * nw];
        let is_empty = |n: &usize| problem.occ[*n] == 0.0;
        let is_plain = |n: &usize| problem.occ[*n] == 1.0 && energies(*n).iter().all(|&w| w >= 0.0);
        let bands = 0..problem.header.nbands;
        let mut order: Vec<usize> = bands.clone().filter(is_plain).collect();
        let plain = order.len();
        order.extend(bands.clone().filter(|n| !is_empty(n) && !is_plain(n)));
        let occupied = order.len();
        order.extend(bands.filter(is_empty));

        let counts = |at: usize| problem.eps[at] != Complex64::ZERO;
        let poles = if (0..problem.wtilde.len())
            .into_par_iter()
            .all(|at| problem.wtilde[at].im == 0.0 || !counts(at))
        {
            Poles::Real
        } else {
            Poles::Any
        };
        let regular = Regular::of(problem, &order[..occupied], poles);

        let ncouls = problem.header.ncouls;
        let columns: Vec<(Vec<u32>, Vec<u32>)> = problem
            .wtilde
            .par_chunks(ncouls)
            .enumerate()
            .map(|(igp, column)| {
                let mut mask = vec![0; Plan::words(ncouls as u32) as usize];
                let mut pairs = Vec::new();
                for (ig, &pole) in column.iter().enumerate() {
                    if !regular.holds(pole) {
                        mask[ig / 32] |= 1 << (ig % 32);
                        let at = igp * ncouls + ig;
                        if counts(at) {
                            pairs.push(at as u32);
                        }
                    }
                }
                (mask, pairs)
            })
            .collect();
        let (odd_mask, odd_pairs): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        let (odd_mask, odd_pairs) = (odd_mask.concat(), odd_pairs.concat());
        Planned { order, plain, occupied, poles, odd_mask, odd_pairs }
    }

    /// Whether the bands stand in the plan's order already.
    pub fn keeps_order(&self) -> bool {
        self.order.is_sorted()
    }

    /// What the grids of the versions depend on.
    pub fn extents(&self, header: &Header) -> Extents {
        Extents {
            nbands: header.nbands as u32,
            ngpown: header.ngpown as u32,
            ncouls: header.ncouls as u32,
            odd_count: self.odd_pairs.len() as u32,
        }
    }

    /// What a kernel on the host reads; the pointers are good as long as `self` is.
    pub fn view(&self) -> Plan {
        Plan {
            plain: self.plain as u32,
            occupied: self.occupied as u32,
            odd_mask: self.odd_mask.as_ptr(),
            odd_pairs: self.odd_pairs.as_ptr(),
            odd_count: self.odd_pairs.len() as u32,
        }
    }

    /// Columns of a matrix of `rows` rows in the plan's order of bands, zeros added to each up to
    /// `padded` rows.
    pub fn reordered<T: Copy + Default>(&self, matrix: &[T], rows: usize, padded: usize) -> Vec<T> {
        let mut columns = vec![T::default(); padded * self.order.len()];
        for (column, n) in columns.chunks_mut(padded).zip(&self.order) {
            column[..rows].copy_from_slice(&matrix[n * rows..(n + 1) * rows]);
        }
        columns
    }
}

/// What a pole must be for the fast loops.
struct Regular {
    poles: Poles,
    /// Of the larger of the two parts.
    smallest: f64,
    /// The occupied bands' energies, by their bits: a pole exactly there is an edge case.
    occupied: HashSet<u64>,
    /// All energies: one at a pole's bound between the branches is another.
    energies: Energies,
    limits: Limits,
    /// False where no pole is.
    possible: bool,
}

impl Regular {
    fn of(problem: &Problem, occupied: &[usize], poles: Poles) -> Regular {
        let nw = problem.nw();
        let of_band = |n: &usize| problem.wx[n * nw..(n + 1) * nw].iter();
        let largest = occupied.iter().flat_map(of_band).fold(0.0, |max: f64, w| max.max(w.abs()));
        let all = problem.wx.iter().fold(0.0, |max: f64, w| max.max(w.abs()));
        let mut smallest = (SMALLEST * problem.limits().limittwo.sqrt()).max(1.0 / LARGEST);
        if poles == Poles::Any {
            smallest = smallest.max(largest / MOST_CANCELLATION);
        }
        Regular {
            poles,
            smallest,
            occupied: occupied.iter().flat_map(of_band).map(|w| w.to_bits()).collect(),
            energies: Energies::of(&problem.wx),
            limits: problem.limits(),
            possible: all <= LARGEST,
        }
    }

    fn holds(&self, pole: Complex64) -> bool {
        let size = pole.re.abs().max(pole.im.abs());
        let on_axis = pole.im == 0.0;
        let behind = match self.poles {
            Poles::Real => pole.re <= 0.0,
            // On the axis w + ω̃ may vanish.
            Poles::Any => pole.re < 0.0 && on_axis,
        };
        self.possible
            && (self.smallest..=LARGEST).contains(&size)
            && !behind
            && !(on_axis && self.occupied.contains(&pole.re.to_bits()))
            && !self.at_bound(pole)
    }

    /// Whether some energy is so near to the bound between the branches that upper words cannot
    /// tell on which side.
    fn at_bound(&self, pole: Complex64) -> bool {
        let near2 = self.limits.limittwo.max(pole.norm_sqr() / self.limits.limitone);
        let least = near2 * (1.0 - UPPER) - pole.im * pole.im;
        let most = near2 * (1.0 + UPPER) - pole.im * pole.im;
        if most < 0.0 {
            return false;
        }
        let (least, most) = (least.max(0.0).sqrt(), most.sqrt());
        self.energies.any_in(pole.re + least, pole.re + most)
            || self.energies.any_in(pole.re - most, pole.re - least)
    }
}

/// Two numbers that differ by this part of themselves have different upper words; with room for
/// rounding.
const UPPER: f64 = 1.0 / (1u64 << 18) as f64;

/// Energies to look up by range.
struct Energies {
    sorted: Vec<f64>,
    /// How many lie below each of evenly spaced bounds, from the first energy to the last.
    below: Vec<u32>,
    scale: f64,
}

impl Energies {
    const CELLS: usize = 1 << 14;

    fn of(energies: &[f64]) -> Energies {
        let mut sorted = energies.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (sorted[0], sorted[sorted.len() - 1]);
        let scale = Self::CELLS as f64 / (last - first).max(f64::MIN_POSITIVE);
        let below = (0..=Self::CELLS)
            .map(|cell| sorted.partition_point(|w| ((w - first) * scale) < cell as f64) as u32)
            .collect();
        Energies { sorted, below, scale }
    }

    /// Whether some energy lies within, ends included.
    fn any_in(&self, low: f64, high: f64) -> bool {
        let first = self.sorted[0];
        if high < first || low > self.sorted[self.sorted.len() - 1] {
            return false;
        }
        let cell = |w: f64| (((w - first) * self.scale).max(0.0) as usize).min(Self::CELLS - 1);
        let begin = self.below[cell(low)] as usize;
        let end = match cell(high) + 1 {
            Self::CELLS => self.sorted.len(),
            cell => self.below[cell] as usize,
        };
        self.sorted[begin..end].iter().any(|&w| (low..=high).contains(&w))
    }
}
