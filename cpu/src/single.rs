//! Regular pairs of Σ alone in single precision: cpu:single.
//!
//! A vector has sixteen bands of one pair. Energies and poles are two FP32 numbers each, so that `w − ω̃` has the digits
//! of an FP32 number next to a pole too; of far bands, where their sizes add up, one is enough. Matrix elements are
//! rounded, those of G once for all tiles, multiplied by a power of two for each `ig` and `igp` that makes the largest
//! about one. Sums go to FP64 every [`CHAIN`] rows, and are multiplied there by what a pair has in common. What single
//! precision loses is in `core/src/problem/plan/heavy.rs`.

use fearless_simd::prelude::*;
use gpp_kernels::arrays::Limits;
use gpp_kernels::formula::VALUES;
use gpp_kernels::plan::{Poles, two_floats};
use num_complex::Complex64;

use crate::definition::add_fallback;
use crate::planned::{
    self, BandRows, Fraction, PairSums, PairVector, PerBand, PlannedBlock, StaticSums,
};
use crate::problem::{PlanSlices, SlabTask};
use crate::rounded::{BANDS, Rounded, Row, power_of_two, round};
use crate::sigma_alone::{AnyAlone, RealAlone};
use crate::simd::{ComplexVector, Line, Lines, WIDTH, array};
use crate::work::{self, CompensatedSum, SlabTile, add_lanes};

/// Rows that are added up in FP32.
const CHAIN: usize = 48;

/// Two energies of far bands share a reciprocal if their middle is so many times as far from the pole as either from it.
const SHARED: f64 = 15.0;

/// Largest such half, in eV: its square and that of any other energy are FP32 numbers.
const LARGEST_HALF: f64 = 1024.0;

/// The bands in rows, in the plan's order.
struct Bands<'a, const NW: usize> {
    /// Each energy as two numbers, `(rows)`.
    w: Vec<[[Row; 2]; NW]>,
    /// The middle of two energies.
    middle: Vec<[Row; 2]>,
    occ: Vec<Row>,
    /// The plan with its classes [in rows](PlanSlices::in_rows).
    plan: PlanSlices<'a>,
    /// The least |w| of the middles of a far row and of those before it that are plain, or after it that are empty.
    least: Vec<f64>,
    limits: Limits,
}

impl<'a, const NW: usize> Bands<'a, NW> {
    #[inline(never)]
    fn from_task(task: &SlabTask<'a>) -> Bands<'a, NW> {
        let (plan, _) = task.plan.expect("checked before");
        let (nbands, half, plan) = (plan.order.len(), plan.half, plan.in_rows(BANDS));
        let rows = nbands.div_ceil(BANDS);
        let (mut w, mut middle) =
            (vec![[[Row::default(); 2]; NW]; rows], vec![[Row::default(); 2]; rows]);
        let (mut occ, mut least) = (vec![Row::default(); rows], vec![f64::INFINITY; rows]);
        for at in 0..rows * BANDS {
            // Past the last band there are more like it, without matrix elements or occupation.
            let n = plan.order[at.min(nbands - 1)];
            let (row, band) = (at / BANDS, at % BANDS);
            let set = |to: &mut [Row; 2], x: f64| {
                for (row, part) in to.iter_mut().zip(two_floats(x)) {
                    row.0[band] = part;
                }
            };
            let wx = &task.bands.wx[n * NW..][..NW];
            for e in 0..NW {
                set(&mut w[row][e], wx[e]);
            }
            set(&mut middle[row], wx[0] + half);
            least[row] = least[row].min((wx[0] + half).abs());
            occ[row].0[band] = if at < nbands { task.bands.occ[n] as f32 } else { 0.0 };
        }
        for row in 1..plan.plain_far {
            least[row] = least[row].min(least[row - 1]);
        }
        for row in (plan.far_begin + 1..rows).rev() {
            least[row - 1] = least[row - 1].min(least[row]);
        }
        Bands { w, middle, occ, plan, least, limits: task.bands.limits }
    }
}

/// A pair and the bands from `lane` on.
#[derive(Clone, Copy)]
struct Pair<'a, S: Simd, const NW: usize> {
    token: S,
    lane: usize,
    aqsn: &'a [[Row; 2]],
    aqsm: &'a [[Row; 2]],
    bands: &'a Bands<'a, NW>,
    wtilde: Complex64,
}

#[inline(always)]
fn splat<S: Simd>(token: S, x: f64) -> S::f32s {
    S::f32s::splat(token, x as f32)
}

/// `1/z`: an approximation of 14 bits corrected once, or a division.
#[inline(always)]
fn reciprocal<S: Simd>(token: S, z: S::f32s) -> S::f32s {
    let one = splat(token, 1.0);
    if S::f32s::LEN < 16 {
        return one / z;
    }
    let approximate = z.approximate_recip();
    approximate.mul_add((-z).mul_add(approximate, one), approximate)
}

impl<S: Simd, const NW: usize> Pair<'_, S, NW> {
    #[inline(always)]
    fn m(&self, row: usize) -> [S::f32s; 2] {
        let [a_re, a_im] = array!(2, at => self.aqsm[row][at].vector(self.token, self.lane));
        let [b_re, b_im] = array!(2, at => self.aqsn[row][at].vector(self.token, self.lane));
        [a_im.mul_add(b_im, a_re * b_re), (-a_im).mul_add(b_re, a_re * b_im)]
    }

    #[inline(always)]
    fn sum_of(&self, w: &[Row; 2], c: [S::f32s; 2]) -> S::f32s {
        let [high, low] = array!(2, at => w[at].vector(self.token, self.lane));
        (high + c[0]) + (low + c[1])
    }

    /// [`Pair::sum_of`] of a far row, where `w` and `c` have one sign: their first numbers are enough.
    #[inline(always)]
    fn far_sum(&self, w: &[Row; 2], c: [S::f32s; 2]) -> S::f32s {
        w[0].vector(self.token, self.lane) + c[0]
    }

    /// The real part of ω̃ times a sign, as two numbers.
    #[inline(always)]
    fn pole(&self, sign: f64) -> [S::f32s; 2] {
        let [high, low] = two_floats(sign * self.wtilde.re);
        [S::f32s::splat(self.token, high), S::f32s::splat(self.token, low)]
    }

    /// Largest `|w − ω̃|²` of the second branch.
    #[inline(always)]
    fn largest2(&self) -> f64 {
        let Limits { limittwo, limitone, .. } = self.bands.limits;
        limittwo.max(self.wtilde.norm_sqr() / limitone)
    }
}

/// Sums of `N` values: complex numbers in FP32, and in FP64 after each chain.
#[derive(Clone, Copy)]
struct Sums<S: Simd, const N: usize> {
    token: S,
    /// Rows of the chain, less than [`CHAIN`].
    rows: usize,
    chain: [[S::f32s; 2]; N],
    total: [[S::f64s; 2]; N],
}

impl<S: Simd, const N: usize> Sums<S, N> {
    #[inline(always)]
    fn zero(token: S) -> Self {
        let total = [[S::f64s::splat(token, 0.0); 2]; N];
        Sums { token, rows: 0, chain: [[splat(token, 0.0); 2]; N], total }
    }

    #[inline(always)]
    fn add(&mut self, value: usize, m: [S::f32s; 2], factor: S::f32s) {
        let chain = &mut self.chain[value];
        *chain = array!(2, part => m[part].mul_add(factor, chain[part]));
    }

    /// Counts rows that were added, and ends the chain if it is full.
    #[inline(always)]
    fn added(&mut self, rows: usize) {
        self.rows += rows;
        if self.rows == CHAIN {
            self.end_chain();
            self.rows = 0;
        }
    }

    #[inline(always)]
    fn end_chain(&mut self) {
        for value in 0..N {
            for part in 0..2 {
                let (low, high) = self.chain[value][part].widen();
                self.total[value][part] += low + high;
                self.chain[value][part] = splat(self.token, 0.0);
            }
        }
    }

    #[inline(always)]
    fn sum(&self, value: usize) -> ComplexVector<S> {
        let [re, im] = array!(2, part => {
            let (low, high) = self.chain[value][part].widen();
            self.total[value][part] + (low + high)
        });
        ComplexVector { re, im }
    }
}

/// Goes through the rows `$begin..$end` in chains of all sums. A function with a closure would be compiled without the
/// instructions of the level.
macro_rules! over_rows {
    ($begin:expr, $end:expr, [$first:ident $(, $other:ident)?], $row:ident => $body:block) => {
        let (mut begin, end) = ($begin, $end);
        while begin < end {
            let stop = end.min(begin + CHAIN - $first.rows);
            for $row in begin..stop $body
            $first.added(stop - begin);
            $($other.added(stop - begin);)?
            begin = stop;
        }
    };
}

/// The sums of a real pole over all bands, without what the terms have in common.
#[inline(always)]
fn real<S: Simd, const NW: usize>(pair: &Pair<S, NW>) -> [ComplexVector<S>; NW] {
    let &Pair { token, lane, bands, .. } = pair;
    let (zero, one) = (splat(token, 0.0), splat(token, 1.0));
    let (plus, minus, h) = (pair.pole(1.0), pair.pole(-1.0), bands.plan.half);
    let rows = bands.occ.len();
    let are_shared = |least: &f64| least + pair.wtilde.re >= SHARED * h.abs();
    let (plain, empty) =
        (&bands.least[..bands.plan.plain_far], &bands.least[bands.plan.far_begin..]);
    let [plain_far, far_begin] = match NW {
        2 if h.abs() <= LARGEST_HALF => {
            // A search takes as long as some rows.
            let all_plain = plain.last().is_none_or(are_shared);
            let all_empty = empty.first().is_none_or(are_shared);
            let plain = if all_plain { plain.len() } else { plain.partition_point(are_shared) };
            let skipped =
                if all_empty { 0 } else { empty.partition_point(|least| !are_shared(least)) };
            [plain, bands.plan.far_begin + skipped]
        }
        _ => [0, rows],
    };

    let mut far = Sums::<S, NW>::zero(token);
    let square = splat(token, -h * h);
    for (begin, end, c) in [(0, plain_far, plus), (far_begin, rows, minus)] {
        over_rows!(begin, end, [far], row => {
            let m = pair.m(row);
            let x = pair.far_sum(&bands.middle[row], c);
            let y = reciprocal(token, x.mul_add(x, square));
            far.add(0, m, y);
            far.add(NW - 1, m, x * y);
        });
    }
    let mut sums = Sums::<S, NW>::zero(token);
    over_rows!(plain_far, bands.plan.plain, [sums], row => {
        let m = pair.m(row);
        for e in 0..NW {
            let s = pair.sum_of(&bands.w[row][e], plus);
            sums.add(e, m, reciprocal(token, s));
        }
    });
    let bound = splat(token, pair.wtilde.re * pair.wtilde.re / bands.limits.sexcut);
    let largest = splat(token, pair.largest2().sqrt());
    over_rows!(bands.plan.plain, bands.plan.occupied, [sums], row => {
        let (m, occ) = (pair.m(row), bands.occ[row].vector(token, lane));
        for e in 0..NW {
            let w = &bands.w[row][e];
            let (d, s) = (pair.sum_of(w, minus), pair.sum_of(w, plus));
            let near = d.abs().simd_le(largest);
            let z = (near.select(plus[0] * -2.0, d) * s).abs();
            let cut = w[0].vector(token, lane).simd_lt(0.0) & z.simd_lt(bound);
            // Of an empty band nothing needs `p`, which is infinite where its energy is −ω̃.
            let cut = cut | occ.simd_le(0.0);
            let share = cut.select(zero, occ);
            let q = near.select(zero, (one - share) * reciprocal(token, d));
            // An occupation of one has no part in q.
            let q = share.simd_ge(1.0).select(zero, q);
            sums.add(e, m, share.mul_add(cut.select(zero, reciprocal(token, s)), q));
        }
    });
    over_rows!(bands.plan.occupied, far_begin, [sums], row => {
        let m = pair.m(row);
        for e in 0..NW {
            let d = pair.sum_of(&bands.w[row][e], minus);
            let near = d.abs().simd_le(largest);
            sums.add(e, m, near.select(zero, reciprocal(token, d)));
        }
    });
    let (of_one, of_x) = (far.sum(0) * h, far.sum(NW - 1));
    array!(NW, e => match (NW, e) {
        (2, 0) => sums.sum(e) + (of_x + of_one),
        (2, _) => sums.sum(e) + (of_x - of_one),
        _ => sums.sum(e),
    })
}

/// The same of any pole: the sums of `M/|w ∓ ω̃|²`, and of that times `w ∓ Re ω̃`.
#[inline(always)]
fn any<S: Simd, const NW: usize>(pair: &Pair<S, NW>) -> [ComplexVector<S>; NW] {
    let &Pair { token, lane, bands, .. } = pair;
    let (zero, one) = (splat(token, 0.0), splat(token, 1.0));
    let (plus, minus) = (pair.pole(1.0), pair.pole(-1.0));
    let (im, size2) = (pair.wtilde.im, pair.wtilde.norm_sqr());
    let im2 = splat(token, im * im);
    let [mut factor, mut re] = [Sums::<S, NW>::zero(token); 2];
    // Of rows without branches.
    macro_rules! add_quotients {
        ($begin:expr, $end:expr, $sum:ident, $c:ident, $is_opposite:literal) => {
            over_rows!($begin, $end, [re, factor], row => {
                let m = pair.m(row);
                for e in 0..NW {
                    let x = pair.$sum(&bands.w[row][e], $c);
                    let one = reciprocal(token, x.mul_add(x, im2));
                    factor.add(e, m, if $is_opposite { -one } else { one });
                    re.add(e, m, x * one);
                }
            });
        };
    }
    add_quotients!(0, bands.plan.plain_far, far_sum, plus, true);
    add_quotients!(bands.plan.plain_far, bands.plan.plain, sum_of, plus, true);
    // Parts of |ω̃|², so that no square is too large for a number.
    let (inverse, bound) =
        (splat(token, 1.0 / size2), splat(token, size2 / bands.limits.sexcut.powi(2)));
    let largest2 = splat(token, pair.largest2());
    over_rows!(bands.plan.plain, bands.plan.occupied, [re, factor], row => {
        let m = pair.m(row);
        let occ = bands.occ[row].vector(token, lane);
        for e in 0..NW {
            let w = &bands.w[row][e];
            let (d, s) = (pair.sum_of(w, minus), pair.sum_of(w, plus));
            let (d2, s2) = (d.mul_add(d, im2), s.mul_add(s, im2));
            let near = d2.simd_le(largest2);
            let z2 = near.select(splat(token, 4.0), d2 * inverse) * s2;
            let cut = w[0].vector(token, lane).simd_lt(0.0) & z2.simd_lt(bound);
            let cut = cut | occ.simd_le(0.0);
            let share = cut.select(zero, occ);
            let q = near.select(zero, (one - share) * reciprocal(token, d2));
            let q = share.simd_ge(1.0).select(zero, q);
            let p = share * cut.select(zero, reciprocal(token, s2));
            factor.add(e, m, q - p);
            re.add(e, m, d.mul_add(q, s * p));
        }
    });
    over_rows!(bands.plan.occupied, bands.plan.far_begin, [re, factor], row => {
        let m = pair.m(row);
        for e in 0..NW {
            let d = pair.sum_of(&bands.w[row][e], minus);
            let d2 = d.mul_add(d, im2);
            let q = d2.simd_le(largest2).select(zero, reciprocal(token, d2));
            factor.add(e, m, q);
            re.add(e, m, d * q);
        }
    });
    add_quotients!(bands.plan.far_begin, bands.occ.len(), far_sum, minus, false);
    array!(NW, e => {
        let (factor, re) = (factor.sum(e) * im, re.sum(e));
        ComplexVector { re: re.re - factor.im, im: re.im + factor.re }
    })
}

/// Adds the sums of a tile to totals `(nw · VALUES, igp)`.
#[inline(always)]
pub fn sum<S: Simd>(token: S, task: &SlabTask, tile: &SlabTile, totals: &mut [CompensatedSum]) {
    match task.bands.nw {
        1 => sum_energies::<S, 1>(token, task, tile, totals),
        2 => sum_energies::<S, 2>(token, task, tile, totals),
        _ => sum_energies::<S, 3>(token, task, tile, totals),
    }
}

#[inline(always)]
fn sum_energies<S: Simd, const NW: usize>(
    token: S,
    task: &SlabTask,
    tile: &SlabTile,
    totals: &mut [CompensatedSum],
) {
    let (plan, fallback) = task.plan.expect("checked before");
    let heavy = task.heavy.expect("checked before");
    let words = task.bands.ncouls.div_ceil(32);
    let (lines, bands) = (&BandRows::<Line>::from_task::<NW>(task), &Bands::<NW>::from_task(task));
    let rows = bands.occ.len();
    let panels = task.panels.expect("checked before");
    let aqsm: Vec<Vec<Lines>> = tile.igp.clone().map(|igp| planned::aqsm(task, igp)).collect();
    let mut rounded_aqsm = vec![[Row::default(); 2]; rows * aqsm.len()];
    let columns = rounded_aqsm.chunks_mut(rows).zip(&aqsm);
    let of_gp: Vec<f64> = columns.map(|(to, from)| round(from, to)).collect();
    let aqsn = &panels.rounded;
    // The sums of each chain, value and igp.
    let mut lanes = vec![[0.0; WIDTH]; tile.igp.len() * NW * VALUES];
    for first in tile.ig.clone().step_by(Line::BLOCK) {
        for (at, igp) in tile.igp.clone().enumerate() {
            if task.stop.is_asked() {
                return;
            }
            let lanes = &mut lanes[at * NW * VALUES..][..NW * VALUES];
            let block = PlannedBlock { task, tile, igp, ig: first, aqsm: &aqsm[at], bands: lines };
            let (mut others, of_static) = planned::pairs(&block);
            let is_heavy = |ig: usize| heavy[igp * words + ig / 32] >> (ig % 32) & 1 == 1;
            let of_static = StaticPairs::new(&block, aqsn, &of_static, is_heavy, &mut others);
            for ig in others {
                if is_heavy(ig) {
                    for lane in (0..WIDTH).step_by(S::f64s::LEN) {
                        let pair = PairVector::from_ig(token, &block, ig, lane);
                        let sums = match plan.poles {
                            Poles::Real => RealAlone::sums::<S, Line, NW, NW>(&pair),
                            _ => AnyAlone::sums::<S, Line, NW, NW>(&pair),
                        };
                        sums.add_to(token, lane, lanes);
                    }
                    continue;
                }
                let pair = igp * task.bands.ncouls + ig;
                let (wtilde, eps) = (task.slab.wtilde[pair], task.slab.eps[pair]);
                let scale = 0.5 * task.slab.vcoul_loc[igp] * of_gp[at] * aqsn.scales[ig];
                let half = ComplexVector::splat(token, eps * wtilde * scale);
                for lane in (0..BANDS).step_by(S::f32s::LEN) {
                    let (aqsn, aqsm) = (aqsn.column(ig), &rounded_aqsm[at * rows..][..rows]);
                    let pair = Pair { token, lane, aqsn, aqsm, bands, wtilde };
                    let sums = if plan.poles == Poles::Real { real(&pair) } else { any(&pair) };
                    let sums = PairSums { asx: None, ach: array!(NW, e => half * sums[e]) };
                    sums.add_to(token, lane / 2, lanes);
                }
            }
            if !of_static.pairs.is_empty() {
                for lane in (0..BANDS).step_by(S::f32s::LEN) {
                    let sums = of_static.sums::<S, NW>(token, lane, &block);
                    sums.add_to(token, lane / 2, lanes);
                }
            }
        }
    }
    add_lanes(totals, &lanes);
    for (igp, totals) in tile.igp.clone().zip(totals.chunks_exact_mut(NW * VALUES)) {
        add_fallback::<S, NW, NW>(token, task, &fallback, (igp, &tile.ig), totals);
    }
}

/// Static pairs whose matrix elements are added up in FP32, two operations each.
const STATIC_CHAIN: usize = 16;

/// Least weight, of the largest of the block, of static pairs that are summed together: what vanishes of their products is
/// within `VANISHING` of `core/src/problem/plan/heavy.rs`.
const LEAST: f64 = 1.0 / (1u64 << 48) as f64;

/// Static pairs of a block: their `aqsn` are summed in FP32 with their weights, and all else is done in FP64.
struct StaticPairs<'a> {
    /// Rows of `aqsn`, and the real and the imaginary part of a weight.
    pairs: Vec<(&'a [[Row; 2]], [f32; 2])>,
    /// What the weights are divided by, a power of two.
    scale: f64,
}

impl<'a> StaticPairs<'a> {
    /// Those of `of_static` that are neither heavy nor of small weight, which join the `others`.
    #[inline(never)]
    fn new(
        block: &PlannedBlock<Line>,
        aqsn: &'a Rounded,
        of_static: &[usize],
        is_heavy: impl Fn(usize) -> bool,
        others: &mut Vec<usize>,
    ) -> StaticPairs<'a> {
        let &PlannedBlock { task, igp, .. } = block;
        let vcoul = task.slab.vcoul_loc[igp];
        let weight = |&ig: &usize| {
            let eps = task.slab.eps[igp * task.bands.ncouls + ig];
            (ig, eps * (vcoul * aqsn.scales[ig]))
        };
        let weights: Vec<_> = of_static.iter().map(weight).collect();
        let size = |z: Complex64| z.re.abs().max(z.im.abs());
        let light = weights.iter().filter(|(ig, _)| !is_heavy(*ig));
        let scale = power_of_two(light.fold(0.0, |largest, (_, z)| size(*z).max(largest)));
        let mut pairs = Vec::with_capacity(weights.len());
        for (ig, weight) in weights {
            let weight = weight / scale;
            if is_heavy(ig) || size(weight) < LEAST {
                others.push(ig);
            } else {
                pairs.push((aqsn.column(ig), [weight.re as f32, weight.im as f32]));
            }
        }
        StaticPairs { pairs, scale }
    }

    /// The sums for the bands from `lane` on of each row.
    #[inline(always)]
    fn sums<S: Simd, const NW: usize>(
        &self,
        token: S,
        lane: usize,
        block: &PlannedBlock<Line>,
    ) -> PairSums<S, NW> {
        const FEW: usize = 4;
        let rows = block.bands.occ.len().div_ceil(2);
        let mut sums = StaticSums::<S, NW>::zero(token);
        for begin in (0..rows).step_by(FEW) {
            if begin + FEW <= rows {
                self.add_rows::<S, NW, FEW>(token, lane, block, begin, &mut sums);
            } else {
                for row in begin..rows {
                    self.add_rows::<S, NW, 1>(token, lane, block, row, &mut sums);
                }
            }
            // Each row adds two of up to eight bands.
            if (2 * (begin + FEW)).is_multiple_of(work::CHAIN) {
                sums.end_chain(token);
            }
        }
        sums.end_chain(token);
        sums.of_pair::<RealAlone, NW>()
    }

    /// Adds `N` rows from `begin` on.
    #[inline(always)]
    fn add_rows<S: Simd, const NW: usize, const N: usize>(
        &self,
        token: S,
        lane: usize,
        block: &PlannedBlock<Line>,
        begin: usize,
        sums: &mut StaticSums<S, NW>,
    ) {
        let mut total = [[ComplexVector::zero(token); 2]; N];
        for pairs in self.pairs.chunks(STATIC_CHAIN) {
            let mut chain = [[splat(token, 0.0); 2]; N];
            for (row, weight) in pairs {
                let [w_re, w_im] = array!(2, part => S::f32s::splat(token, weight[part]));
                let row = &row[begin..begin + N];
                for at in 0..N {
                    let [re, im] = array!(2, part => row[at][part].vector(token, lane));
                    let [sum_re, sum_im] = chain[at];
                    chain[at] = [
                        (-w_im).mul_add(im, w_re.mul_add(re, sum_re)),
                        w_im.mul_add(re, w_re.mul_add(im, sum_im)),
                    ];
                }
            }
            for at in 0..N {
                let [re, im] = array!(2, part => chain[at][part].widen());
                total[at][0] = total[at][0] + ComplexVector { re: re.0, im: im.0 };
                total[at][1] = total[at][1] + ComplexVector { re: re.1, im: im.1 };
            }
        }
        for at in 0..N {
            for half in 0..2 {
                let band = lane + half * S::f64s::LEN;
                let line = 2 * (begin + at) + band / WIDTH;
                // The last row may have one line.
                if line < block.bands.occ.len() {
                    let aqsn = total[at][half] * self.scale;
                    sums.add_row::<NW>(token, band % WIDTH, block, line, aqsn);
                }
            }
        }
    }
}
