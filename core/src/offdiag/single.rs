//! Σ alone in single precision: which pairs FP32 can sum, what they are packed as, and the bound of the error.
//!
//! Items are P of an empty band, `ω̃·eps/(w − ω̃)`, or of a full one with `w ≥ 0`, `ω̃·eps/(w + ω̃)`; all others are in
//! FP64. A *centre* is what ω̃ is subtracted from: w, or −w.
//!
//! [`f16x2`](gpp_kernels::offdiag::f16x2) bounds what an element of U loses by `c·Σ_ig |A_l|·|P|` and a floor. By Cauchy
//! and Schwarz, twice,
//!
//! ```text
//! |error of Σ_lm| ≤ ½ Σ_n ‖A_l(n)‖ · ‖√v·A_m(n)‖ · (c‖√v·P(n)‖ + floor)
//! ```
//!
//! of norms over ig, over igp, and over both. Those of P are bounded for groups of poles whose first digits are the
//! same: each pair by its residue over the distance of the group to the centre, or over the least distance of the pair
//! to any, whichever is less for the group. FP64 rounds too, which this leaves out.

use std::collections::BTreeMap;

use gpp_kernels::offdiag::f16x2::{
    DEPTH, FLOOR, IGP, LOST, POLES, in_two_floats, packed_pole, scales,
};
use gpp_kernels::offdiag::mma::{COLUMNS, ROWS};
use gpp_kernels::offdiag::pack::{B_FRAGMENT, packed_b};
use rayon::prelude::*;

use crate::offdiag::images::ImageShape;
use crate::offdiag::task::MatrixTask;
use crate::problem::plan::heavy::SIZES;

/// The least part of `w` and `ω̃` that `w ∓ ω̃` may be: of two numbers in FP32, 32 digits are left.
const NEAREST: f64 = 1.0 / (1u64 << 16) as f64;

/// Room around γ, as part of it and of `w` and `ω̃`, in which FP32 cannot tell the branch.
const ROOM: [f64; 2] = [1.0 / (1u64 << 21) as f64, 1.0 / (1u64 << 46) as f64];

/// Whether an item is in single precision, with its centre.
pub fn centre(occ: f64, w: f64) -> Option<f64> {
    if occ != 1.0 {
        return Some(w);
    }
    (w >= 0.0).then_some(-w)
}

/// The centres of a task, ascending.
pub struct Centres {
    /// Of empty bands, and of full ones.
    of: [Vec<f64>; 2],
    largest: f64,
    gamma: f64,
}

impl Centres {
    pub fn new(task: &MatrixTask) -> Centres {
        let (problem, nw) = (task.problem, task.nw());
        let sorted = |is_full: bool| {
            let energies = problem.wx().iter().zip(0..);
            let own = energies.filter_map(|(&w, at): (&f64, usize)| {
                let occ = problem.occ()[at / nw];
                centre(occ, w).filter(|_| (occ == 1.0) == is_full)
            });
            let mut own: Vec<f64> = own.collect();
            own.sort_by(f64::total_cmp);
            own
        };
        Centres {
            of: [sorted(false), sorted(true)],
            largest: problem.wx().iter().fold(0.0, |most: f64, w| most.max(w.abs())),
            gamma: problem.limits().limittwo.sqrt(),
        }
    }

    /// The least `|w ∓ ω̃|` of an item whose P is not zero; none if FP32 cannot sum the pair.
    pub fn distance(&self, pole: f64) -> Option<f64> {
        let [empty, full] = &self.of;
        let both = self.largest + pole.abs();
        let room = ROOM[0] * self.gamma + ROOM[1] * both;
        let is_undecided = self.gamma > 0.0
            && [-self.gamma, self.gamma].iter().any(|gamma| nearest(empty, pole + gamma) <= room);
        let least = nearest(empty, pole).max(self.gamma).min(nearest(full, pole));
        let suits = (SIZES[0]..=SIZES[1]).contains(&pole.abs()) && least >= NEAREST * both;
        Some(least).filter(|_| suits && !is_undecided)
    }
}

/// The distance to the nearest of ascending numbers, infinite without any.
fn nearest(sorted: &[f64], x: f64) -> f64 {
    let at = sorted.partition_point(|&other| other < x);
    let distance = |at: Option<usize>| {
        at.and_then(|at| sorted.get(at)).map_or(f64::INFINITY, |other| (other - x).abs())
    };
    distance(Some(at)).min(distance(at.checked_sub(1)))
}

/// Digits of poles of a group that need not be the same, of 64: some 3 % of a pole.
const DIGITS: u32 = 47;

/// Sums of groups of poles: of `v·|ω̃·eps|²`, and of that over the squares of the pairs' least distances.
type Groups = BTreeMap<u64, [f64; 2]>;

/// What single precision has of the poles of a task.
pub struct SinglePoles {
    /// See [`packed_pole`]; igp are whole blocks.
    pub poles: Vec<f32>,
    /// What P of each igp is multiplied with after the products.
    pub unscale: Vec<f64>,
    /// Bounds of what P of each energy and band loses, n fastest: the bracket above.
    pub lost: Vec<f64>,
}

/// Steps of 16 ig.
pub fn steps(shape: &ImageShape) -> u32 {
    shape.steps.div_ceil(2)
}

/// igp of whole blocks.
pub fn igp(shape: &ImageShape) -> u32 {
    (shape.right * COLUMNS).next_multiple_of(IGP)
}

/// Numbers of the packed poles.
pub fn numbers(shape: &ImageShape) -> usize {
    steps(shape) as usize * (igp(shape) / ROWS) as usize * POLES
}

impl SinglePoles {
    /// Of the packed poles of FP64.
    pub fn new(task: &MatrixTask, shape: &ImageShape, image: &[f64]) -> SinglePoles {
        let (centres, right) = (Centres::new(task), shape.right as usize);
        // ω̃ and the parts of ω̃·eps.
        let pair = |ig: usize, igp: usize| {
            let step = ig / 8 * right * 3 * B_FRAGMENT as usize;
            let at = step + packed_b(ig % 8, igp, right, 3);
            [0, 1, 2].map(|word| image[at + word * B_FRAGMENT as usize])
        };
        let ncouls = task.problem.extents().ncouls;
        let vcoul = |igp: usize| task.problem.vcoul_loc().get(igp).map_or(0.0, |v| v.abs());
        // Eight igp are next to each other in memory.
        let of_columns = |eight: usize| {
            let (mut largest, mut groups) = ([0.0f64; 8], Groups::new());
            for ig in 0..ncouls {
                for (at, largest) in largest.iter_mut().enumerate() {
                    let [pole, re, im] = pair(ig, 8 * eight + at);
                    let residue = re.hypot(im);
                    if residue > 0.0 {
                        let bound = residue / centres.distance(pole).unwrap_or(f64::NAN);
                        *largest = largest.max(bound);
                        let [all, least] = groups.entry(pole.to_bits() >> DIGITS).or_default();
                        *all += vcoul(8 * eight + at) * residue * residue;
                        *least += vcoul(8 * eight + at) * bound * bound;
                    }
                }
            }
            (largest, groups)
        };
        let columns: Vec<_> = (0..right).into_par_iter().map(of_columns).collect();
        let (mut groups, mut largest, mut floor) = (Groups::new(), Vec::new(), 0.0);
        for (at, (of_columns, own)) in columns.into_iter().enumerate() {
            for (group, sums) in own {
                let total = groups.entry(group).or_default();
                total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            }
            let squares = of_columns.iter().enumerate();
            floor += squares.map(|(of, x)| vcoul(8 * at + of) * x * x).sum::<f64>();
            largest.extend(of_columns);
        }
        largest.resize(igp(shape) as usize, 0.0);

        let mut poles = vec![0.0; numbers(shape)];
        let step = poles.len() / steps(shape) as usize;
        let of_steps = poles.par_chunks_mut(step).enumerate();
        of_steps.for_each(|(step, poles)| {
            for igp in 0..largest.len() {
                let [times, _] = scales(largest[igp]);
                for k in 0..DEPTH as usize {
                    let ig = step * DEPTH as usize + k;
                    let is_packed = igp < 8 * right && ig < 8 * shape.steps as usize;
                    // Padding is far from all energies, and has no residue.
                    let [pole, re, im] =
                        if is_packed { pair(ig, igp) } else { [SIZES[1], 0.0, 0.0] };
                    let [upper, lower] = in_two_floats(pole);
                    let words = [upper, lower, (re * times) as f32, (im * times) as f32];
                    poles[packed_pole(ig, igp)..][..4].copy_from_slice(&words);
                }
            }
        });
        let (ncouls, floor) = (ncouls as f64, floor.sqrt());
        let constant = LOST + 2f64.sqrt() * FLOOR * ncouls.sqrt();
        let nw = task.nw();
        let lost = (0..nw).flat_map(|iw| {
            task.problem.occ().iter().enumerate().map(move |(n, &occ)| (occ, n * nw + iw))
        });
        let lost = lost.map(|(occ, at)| {
            let Some(centre) = centre(occ, task.problem.wx()[at]) else { return 0.0 };
            let of_group = |(group, [all, least]): (&u64, &[f64; 2])| {
                let ends = [group << DIGITS, ((group + 1) << DIGITS) - 1].map(f64::from_bits);
                let [low, high] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
                let distance = (low - centre).max(centre - high).max(0.0);
                (all / (distance * distance)).min(*least)
            };
            let of_p = groups.iter().map(of_group).sum::<f64>().sqrt();
            constant * of_p + 2f64.sqrt() * FLOOR * (ncouls.sqrt() * floor)
        });
        let unscale = largest.iter().map(|&bound| scales(bound)[1]).collect();
        SinglePoles { unscale, lost: lost.collect(), poles }
    }
}

/// Norms of A of a band l and n, over ig, and of √v·A over igp.
pub fn norms(task: &MatrixTask, column: &[num_complex::Complex64]) -> [f64; 2] {
    let largest = column.iter().fold(0.0f64, |most, z| most.max(z.re.abs()).max(z.im.abs()));
    if largest == 0.0 {
        return [0.0; 2];
    }
    let square = |z: &num_complex::Complex64| (z / largest).norm_sqr();
    let rows = task.problem.header().rows().zip(task.problem.vcoul_loc());
    let of_rows = rows.map(|(row, v)| row.map_or(0.0, |row| v.abs() * square(&column[row])));
    [column.iter().map(square).sum::<f64>(), of_rows.sum()].map(|sum| largest * sum.sqrt())
}

/// Bounds of what the elements of bands n lose at an energy, l fastest; `norms` has those of all l for each n.
pub fn bounds(task: &MatrixTask, norms: &[[f64; 2]], lost: &[f64]) -> Vec<f64> {
    let bands = task.bands();
    let mut bounds = vec![0.0; bands * bands];
    bounds.par_chunks_mut(bands).enumerate().for_each(|(m, bounds)| {
        for (norms, lost) in norms.chunks_exact(bands).zip(lost) {
            let of_m = 0.5 * norms[m][1] * lost;
            bounds.iter_mut().zip(norms).for_each(|(bound, of_l)| *bound += of_l[0] * of_m);
        }
    });
    bounds
}
