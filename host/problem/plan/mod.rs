//! The plan that the later versions follow, made once when a problem is loaded; see
//! [`gpp_kernels::plan`].

mod cutoff;
mod energies;
mod regular;

use gpp_kernels::kernel::{Extents, Gpu, Kernel};
use gpp_kernels::plan::{Plan, Poles};
use gpp_kernels::table::Table;
use num_complex::Complex64;
use rayon::prelude::*;

use self::regular::Regular;
use super::{Header, Problem};

/// The plan of one problem, with the memory that a [`Plan`] points to.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Bands in the plan's order.
    pub order: Vec<usize>,
    /// Plain bands.
    pub plain: usize,
    /// Plain and other occupied bands.
    pub occupied: usize,
    /// The first far band.
    pub far_begin: usize,
    /// What the regular poles have in common.
    pub poles: Poles,
    /// The odd poles of kernels that take any.
    odd: Odd,
    /// Those of kernels that take real ones.
    odd_if_real: Option<Odd>,
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
        let is_plain = |n: &usize| problem.occ[*n] == 1.0 && energies(*n).iter().all(|&w| w >= 0.0);
        let limits = problem.limits();
        let half = half_of_most(bands.clone().filter(is_empty).map(energies));
        let is_halved = |w: &[f64]| {
            w.len() < 2
                || (half_of(w) - half).abs() <= HALVED * f64::EPSILON * w[0].abs().min(w[1].abs())
        };
        // Regular poles are not behind the imaginary axis, so |w − ω̃| is at least |w| and |ω̃|: more
        // than gamma, and with the mean of two energies for w, at least three halves.
        let nearest_far = limits.limittwo.sqrt().max(2.0 * half.abs());
        let is_far = |n: &usize| {
            let w = energies(*n);
            limits.limitone >= 1.0 && w.iter().all(|&w| w < -nearest_far) && is_halved(w)
        };

        let mut order: Vec<usize> = bands.clone().filter(is_plain).collect();
        let plain = order.len();
        order.extend(bands.clone().filter(|n| !is_empty(n) && !is_plain(n)));
        let occupied = order.len();
        order.extend(bands.clone().filter(|n| is_empty(n) && !is_far(n)));
        let far_begin = order.len();
        order.extend(bands.filter(|n| is_empty(n) && is_far(n)));
        let table = EnergyTable::of(problem, &order, half);

        let odd_of = |poles| {
            let regular = Regular::of(problem, &order[..occupied], poles);
            Odd::of(&problem.wtilde, problem.header.ncouls, |at| {
                (counts(at), counts(at) && regular.holds(problem.wtilde[at]))
            })
        };
        let odd = odd_of(Poles::Any);
        let odd_if_real = (poles == Poles::Real).then(|| odd_of(Poles::Real));
        Planned { order, plain, occupied, far_begin, poles, odd, odd_if_real, table }
    }

    /// The odd poles of kernels that take these.
    pub fn odd(&self, takes: Poles) -> &Odd {
        match &self.odd_if_real {
            Some(odd) if takes == Poles::Real => odd,
            _ => &self.odd,
        }
    }

    /// Whether the bands stand in the plan's order already.
    pub fn keeps_order(&self) -> bool {
        self.order.is_sorted()
    }

    /// The version as it runs here: by its own kernels, or by another's where they do not hold the
    /// energies.
    pub fn running<'a>(&self, version: &'a Gpu) -> &'a Gpu {
        version.holding(self.table.wx.len())
    }

    /// The kernel of a version that runs here.
    pub fn kernel<'a>(&self, version: &'a Gpu) -> &'a Kernel {
        self.running(version).kernel(self.poles)
    }

    /// What the grids of a kernel depend on.
    pub fn extents(&self, header: &Header, kernel: &Kernel) -> Extents<'_> {
        Extents {
            nbands: header.nbands as u32,
            ngpown: header.ngpown as u32,
            ncouls: header.ncouls as u32,
            nw: header.nw() as u32,
            odd_begins: &self.odd(kernel.poles).begins,
        }
    }

    /// What a kernel on the host reads; the pointers are good as long as `self` is.
    pub fn view(&self, kernel: &Kernel) -> Plan {
        let odd = self.odd(kernel.poles);
        Plan {
            plain: self.plain as u32,
            occupied: self.occupied as u32,
            far_begin: self.far_begin as u32,
            odd_mask: odd.mask.as_ptr(),
            odd_pairs: odd.pairs.as_ptr(),
            odd_begins: odd.begins.as_ptr(),
            odd_blocks: kernel.odd_blocks(&odd.begins),
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

/// The pairs that the fast loops pass by.
#[derive(Clone, Debug, PartialEq)]
pub struct Odd {
    /// See [`Plan::odd_mask`]; pairs of no weight are in it too.
    pub mask: Vec<u32>,
    /// See [`Plan::odd_pairs`].
    pub pairs: Vec<u32>,
    /// See [`Plan::odd_begins`].
    pub begins: Vec<u32>,
}

impl Odd {
    /// Of `wtilde(ncouls, ngpown)`; `of` says of an element whether it counts and whether it is regular.
    fn of(wtilde: &[Complex64], ncouls: usize, of: impl Fn(usize) -> (bool, bool) + Sync) -> Odd {
        let of_each: Vec<_> = (0..wtilde.len() / ncouls)
            .into_par_iter()
            .map(|igp| {
                let mut mask = vec![0; Plan::words(ncouls as u32) as usize];
                let mut pairs = Vec::new();
                for ig in 0..ncouls {
                    let at = igp * ncouls + ig;
                    let (counts, is_regular) = of(at);
                    if !is_regular {
                        mask[ig / 32] |= 1 << (ig % 32);
                        if counts {
                            pairs.push(at as u32);
                        }
                    }
                }
                (mask, pairs)
            })
            .collect();
        let (mask, pairs): (Vec<_>, Vec<_>) = of_each.into_iter().unzip();
        let mut begins = vec![0];
        begins.extend(pairs.iter().scan(0, |end, of_igp| {
            *end += of_igp.len() as u32;
            Some(*end)
        }));
        Odd { mask: mask.concat(), pairs: pairs.concat(), begins }
    }
}

/// Relative error of an energy taken for its band's mean and half of the difference, in units of the
/// last digit. A quotient of a far band has no larger one.
const HALVED: f64 = 32.0;

/// Half of what a band's second energy is above its first.
fn half_of(w: &[f64]) -> f64 {
    0.5 * (w[1] - w[0])
}

/// The middle one of the bands' halves, zero without bands or with one energy.
fn half_of_most<'a>(bands: impl Iterator<Item = &'a [f64]>) -> f64 {
    let mut halves: Vec<f64> = bands.filter(|w| w.len() > 1).map(half_of).collect();
    halves.sort_by(f64::total_cmp);
    halves.get(halves.len() / 2).copied().unwrap_or_default()
}

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
        Table { wx, half, square: self.square() }
    }

    /// See [`Table::square`].
    pub fn square(&self) -> f64 {
        self.half * self.half
    }
}
