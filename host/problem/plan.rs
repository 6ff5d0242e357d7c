//! The plan that the later versions follow, made once when a problem is loaded; see
//! [`gpp_kernels::plan`].

use std::collections::HashSet;

use gpp_kernels::arrays::Limits;
use gpp_kernels::plan::{Plan, Table};
use gpp_kernels::registry::{Extents, Poles};
use num_complex::Complex64;
use rayon::prelude::*;

use super::{Header, Problem};

/// Largest pole and energy of the fast loops: products of four of them are finite.
const LARGEST: f64 = 1e30;

/// What `q − p` may lose, where `|ω̃|` is that much smaller than `|w|`.
const MOST_CANCELLATION: f64 = 512.0;

/// A pole is no smaller than this part of half the difference of two energies that share a
/// reciprocal.
const LEAST_OF_HALF: f64 = 1.0 / 16.0;

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
    /// Bands that are not far.
    pub far: usize,
    /// What the regular poles have in common.
    pub poles: Poles,
    /// See [`Plan::odd_mask`].
    pub odd_mask: Vec<u32>,
    /// See [`Plan::odd_pairs`].
    pub odd_pairs: Vec<u32>,
    /// The energies.
    pub table: EnergyTable,
}

impl Planned {
    /// Finds it out.
    pub fn of(problem: &Problem) -> Planned {
        let nw = problem.nw();
        let energies = |n: usize| &problem.wx[n * nw..(n + 1) * nw];
        let is_empty = |n: &usize| problem.occ[*n] == 0.0;
        let bands = 0..problem.header.nbands;
        let counts = |at: usize| problem.eps[at] != Complex64::ZERO;
        let poles = if (0..problem.wtilde.len())
            .into_par_iter()
            .all(|at| problem.wtilde[at].im == 0.0 || !counts(at))
        {
            Poles::Real
        } else {
            Poles::Any
        };
        // Two energies of a band are its mean and half, or nearly so for the smaller of them.
        let half = match energies(0) {
            [first, second, ..] => 0.5 * (second - first),
            _ => 0.0,
        };
        let is_halved = |w: &[f64]| {
            w.len() < 2
                || (0.5 * (w[1] - w[0]) - half).abs()
                    <= HALVED * f64::EPSILON * w[0].abs().min(w[1].abs())
        };
        let is_plain = |n: &usize| {
            let w = energies(*n);
            problem.occ[*n] == 1.0 && w.iter().all(|&w| w >= 0.0) && is_halved(w)
        };
        let limits = problem.limits();
        let gamma = limits.limittwo.sqrt();
        // Regular poles are not behind the imaginary axis, so |w − ω̃| is at least |w| and |ω̃|.
        let far_is_possible = limits.limitone >= 1.0 && half.abs() <= WIDEST * gamma;
        let is_far = |n: &usize| {
            let w = energies(*n);
            far_is_possible && w.iter().all(|&w| w < -gamma) && is_halved(w)
        };

        let mut order: Vec<usize> = bands.clone().filter(is_plain).collect();
        let plain = order.len();
        order.extend(bands.clone().filter(|n| !is_empty(n) && !is_plain(n)));
        let occupied = order.len();
        order.extend(bands.clone().filter(|n| is_empty(n) && !is_far(n)));
        let far = order.len();
        order.extend(bands.filter(|n| is_empty(n) && is_far(n)));
        let table = EnergyTable::of(problem, &order, half);

        let regular = Regular::of(problem, &order[..occupied], poles, half);

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
        Planned { order, plain, occupied, far, poles, odd_mask, odd_pairs, table }
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
            far: self.far as u32,
            odd_mask: self.odd_mask.as_ptr(),
            odd_pairs: self.odd_pairs.as_ptr(),
            odd_count: self.odd_pairs.len() as u32,
            table: self.table.view(),
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

/// Half the difference of two energies at most, in gammas: sharing a reciprocal costs them no more
/// digits than such a factor does.
const WIDEST: f64 = 8.0;

/// Relative error of an energy taken for its band's mean and half of the difference, in units of the
/// last digit.
const HALVED: f64 = 32.0;

/// The memory that a [`Table`] points to.
#[derive(Clone, Debug, PartialEq)]
pub struct EnergyTable {
    /// See [`Table::wx`].
    pub wx: Vec<f64>,
    /// See [`Table::half`].
    pub half: f64,
}

impl EnergyTable {
    fn of(problem: &Problem, order: &[usize], half: f64) -> EnergyTable {
        let nw = problem.nw();
        let wx = order.iter().flat_map(|n| &problem.wx[n * nw..(n + 1) * nw]).copied().collect();
        EnergyTable { wx, half }
    }

    /// What a kernel on the host reads; the pointer is good as long as `self` is.
    pub fn view(&self) -> Table {
        let (wx, half) = (self.wx.as_ptr(), self.half);
        Table { wx, constant: false, half, square: self.square() }
    }

    /// See [`Table::square`].
    pub fn square(&self) -> f64 {
        self.half * self.half
    }

    /// Whether the constant memory holds it.
    pub fn is_constant(&self) -> bool {
        self.wx.len() <= Table::CONSTANT
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
    fn of(problem: &Problem, occupied: &[usize], poles: Poles, half: f64) -> Regular {
        let nw = problem.nw();
        let of_band = |n: &usize| problem.wx[n * nw..(n + 1) * nw].iter();
        let largest = occupied.iter().flat_map(of_band).fold(0.0, |max: f64, w| max.max(w.abs()));
        let all = problem.wx.iter().fold(0.0, |max: f64, w| max.max(w.abs()));
        let mut smallest = (SMALLEST * problem.limits().limittwo.sqrt()).max(1.0 / LARGEST);
        smallest = smallest.max(largest / MOST_CANCELLATION).max(half.abs() * LEAST_OF_HALF);
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
            // w + ω̃ may vanish.
            Poles::Any => pole.re < 0.0,
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
