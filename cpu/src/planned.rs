//! The tiles of versions that follow the plan: regular pairs in vectors by a [`Fraction`], the others by the
//! definition. The lanes of a vector hold eight pairs with one band, whose numbers are [`f64`], or one pair of a list with
//! eight bands, whose numbers are [`Line`]s.

use fearless_simd::prelude::*;
use gpp_kernels::formula::VALUES;
use gpp_kernels::lists::STATIC;
use gpp_kernels::tiling::HARMLESS;
use num_complex::Complex64;

use crate::definition::{add_fallback, filled_up};
use crate::problem::{PlanSlices, SlabSlices, SlabTask};
use crate::simd::{
    ComplexVector, Line, Lines, WIDTH, add_to, array, prefetch, reciprocal, reciprocals, registers,
    splat,
};
use crate::work::{CHAIN, CompensatedSum, SlabTile, add_lanes};

/// A way to write the terms of regular poles.
pub trait Fraction {
    /// Whether its sums are Σ alone, in the place of CH.
    const IS_SIGMA_ALONE: bool;

    /// The sums of each pair of a vector over all bands, at `NW` energies; if `SUMS` are more, at one energy and the
    /// derivative, which only ways for Σ alone have.
    fn sums<S: Simd, R: PerBand, const NW: usize, const SUMS: usize>(
        pairs: &PairVector<S, R>,
    ) -> PairSums<S, SUMS>;

    /// The sums of two vectors, whose loops over bands may be one if there are registers for both.
    #[inline(always)]
    fn sums_of_two<S: Simd, R: PerBand, const NW: usize, const SUMS: usize>(
        pairs: &[PairVector<S, R>; 2],
    ) -> [PairSums<S, SUMS>; 2] {
        array!(2, at => Self::sums::<S, R, NW, SUMS>(&pairs[at]))
    }
}

#[derive(Clone, Copy)]
pub struct PairSums<S: Simd, const NW: usize> {
    /// Screened exchange, with the sign of the definition; none of Σ alone.
    pub asx: Option<[ComplexVector<S>; NW]>,
    pub ach: [ComplexVector<S>; NW],
}

impl<S: Simd, const NW: usize> PairSums<S, NW> {
    /// Adds them to the sums of each value and chain, from chain `lane` on.
    #[inline(always)]
    pub fn add_to(&self, token: S, lane: usize, lanes: &mut [[f64; WIDTH]]) {
        for e in 0..NW {
            let lanes = &mut lanes[e * VALUES..][..VALUES];
            if let Some(asx) = self.asx {
                add_to(token, asx[e].re, &mut lanes[0][lane..]);
                add_to(token, asx[e].im, &mut lanes[1][lane..]);
            }
            add_to(token, self.ach[e].re, &mut lanes[2][lane..]);
            add_to(token, self.ach[e].im, &mut lanes[3][lane..]);
        }
    }
}

/// A number of each band of a row.
pub trait PerBand: Copy + Default {
    /// Bands of a row: one, the same in all lanes, or one for each chain.
    const BANDS: usize;
    /// Rows of a [`Span`], which divide [`CHAIN`].
    const SPAN: usize;
    /// `ig` that are summed for one `igp` after the other.
    const BLOCK: usize;

    fn set(&mut self, band: usize, number: f64);

    fn vector<S: Simd>(&self, token: S, lane: usize) -> S::f64s;

    /// Adds the regular pairs of a block to the sums of each value and chain.
    fn add_block<F: Fraction, S: Simd, const NW: usize, const SUMS: usize>(
        token: S,
        block: &PlannedBlock<Self>,
        lanes: &mut [[f64; WIDTH]],
    );
}

/// The pairs of an `igp` and [`PerBand::BLOCK`] of a tile's `ig`, with all bands.
pub struct PlannedBlock<'a, R> {
    pub task: &'a SlabTask<'a>,
    pub tile: &'a SlabTile,
    pub igp: usize,
    pub ig: usize,
    /// Matrix elements of G′, `(rows)`.
    pub aqsm: &'a [[R; 2]],
    pub bands: &'a BandRows<'a, R>,
}

/// Adds the sums of a tile to totals `(nw · VALUES, igp)`.
#[inline(always)]
pub fn sum<F: Fraction, R: PerBand, S: Simd>(
    token: S,
    task: &SlabTask,
    tile: &SlabTile,
    totals: &mut [CompensatedSum],
) {
    match task.bands.nw {
        1 => sum_energies::<F, R, S, 1, 1>(token, task, tile, totals),
        2 => sum_energies::<F, R, S, 2, 2>(token, task, tile, totals),
        _ => sum_energies::<F, R, S, 3, 3>(token, task, tile, totals),
    }
}

/// The same of `NW` energies; if `SUMS` are more, of one energy and the derivative.
#[inline(always)]
pub fn sum_energies<F: Fraction, R: PerBand, S: Simd, const NW: usize, const SUMS: usize>(
    token: S,
    task: &SlabTask,
    tile: &SlabTile,
    totals: &mut [CompensatedSum],
) {
    let (_, fallback) = task.plan.expect("checked before");
    let bands = &BandRows::<R>::from_task::<NW>(task);
    let aqsm: Vec<Vec<[R; 2]>> = tile.igp.clone().map(|igp| aqsm(task, igp)).collect();
    // The sums of each chain, value and igp.
    let mut lanes = vec![[0.0; WIDTH]; tile.igp.len() * SUMS * VALUES];
    for ig in tile.ig.clone().step_by(R::BLOCK) {
        let lanes = lanes.chunks_exact_mut(SUMS * VALUES);
        for ((igp, aqsm), lanes) in tile.igp.clone().zip(&aqsm).zip(lanes) {
            if task.stop.is_asked() {
                return;
            }
            R::add_block::<F, S, NW, SUMS>(
                token,
                &PlannedBlock { task, tile, igp, ig, aqsm, bands },
                lanes,
            );
        }
    }
    add_lanes(totals, &lanes);
    for (igp, totals) in tile.igp.clone().zip(totals.chunks_exact_mut(SUMS * VALUES)) {
        add_fallback::<S, NW, SUMS>(token, task, &fallback, (igp, &tile.ig), totals);
    }
}

/// The bands in rows, in the plan's order.
pub struct BandRows<'a, R> {
    /// Energies, `(nw, rows)`.
    pub wx: Vec<R>,
    pub occ: Vec<R>,
    /// The plan with its classes [in rows](PlanSlices::in_rows).
    pub plan: PlanSlices<'a>,
    /// Of the plain rows, and of the empty ones that are not far.
    pub spans: [Vec<Span>; 2],
}

impl<'a, R: PerBand> BandRows<'a, R> {
    #[inline(never)]
    pub fn from_task<const NW: usize>(task: &SlabTask<'a>) -> BandRows<'a, R> {
        let (plan, _) = task.plan.expect("checked before");
        let (order, nbands) = (plan.order, plan.order.len());
        let rows = nbands.div_ceil(R::BANDS);
        let (mut wx, mut occ) = (vec![R::default(); rows * NW], vec![R::default(); rows]);
        for at in 0..rows * R::BANDS {
            // Past the last band there are more like it, without matrix elements or occupation.
            let n = order[at.min(nbands - 1)];
            let (row, band) = (at / R::BANDS, at % R::BANDS);
            for e in 0..NW {
                wx[row * NW + e].set(band, task.bands.wx[n * NW + e]);
            }
            occ[row].set(band, if at < nbands { task.bands.occ[n] } else { 0.0 });
        }
        let plan = plan.in_rows(R::BANDS);
        let spans = |begin: usize, end: usize| -> Vec<Span> {
            let [begin, end] = [begin, end].map(|row| (row * R::BANDS).min(nbands));
            let energies = |n: &usize| &task.bands.wx[n * NW..][..NW];
            let wider = |[least, most]: Span, &w: &f64| [least.min(w), most.max(w)];
            let none = [f64::INFINITY, f64::NEG_INFINITY];
            let spans = order[begin..end].chunks(R::SPAN * R::BANDS);
            spans.map(|bands| bands.iter().flat_map(energies).fold(none, wider)).collect()
        };
        let spans = [spans(0, plan.plain), spans(plan.occupied, plan.far_begin)];
        BandRows { wx, occ, plan, spans }
    }
}

/// Matrix elements of G′ of one `igp` in the plan's order.
#[inline(never)]
pub fn aqsm<R: PerBand>(task: &SlabTask, igp: usize) -> Vec<[R; 2]> {
    let (plan, _) = task.plan.expect("checked before");
    let column = &task.slab.aqsm[igp * task.bands.nbands..][..task.bands.nbands];
    let mut rows = vec![[R::default(); 2]; column.len().div_ceil(R::BANDS)];
    for (at, &n) in plan.order.iter().enumerate() {
        let [re, im] = &mut rows[at / R::BANDS];
        re.set(at % R::BANDS, column[n].re);
        im.set(at % R::BANDS, column[n].im);
    }
    rows
}

/// One band for all lanes, which have neighbouring `ig`.
impl PerBand for f64 {
    const BANDS: usize = 1;
    const SPAN: usize = CHAIN / 2;
    const BLOCK: usize = WIDTH;

    #[inline]
    fn set(&mut self, _: usize, number: f64) {
        *self = number;
    }

    #[inline(always)]
    fn vector<S: Simd>(&self, token: S, _: usize) -> S::f64s {
        splat(token, *self)
    }

    #[inline(always)]
    fn add_block<F: Fraction, S: Simd, const NW: usize, const SUMS: usize>(
        token: S,
        block: &PlannedBlock<f64>,
        lanes: &mut [[f64; WIDTH]],
    ) {
        let &PlannedBlock { task, igp, ig, .. } = block;
        let aqsn = task.panels.expect("checked before").panel(ig / WIDTH);
        let (wtilde, eps) = regular(block);
        for lane in (0..WIDTH.min(task.bands.ncouls - ig)).step_by(S::f64s::LEN) {
            let wtilde = ComplexVector::load(token, &wtilde[lane..]);
            let weight = ComplexVector::load(token, &eps[lane..]) * task.slab.vcoul_loc[igp];
            let pairs = PairVector { token, block, wtilde, weight, aqsn, lane };
            F::sums::<S, f64, NW, SUMS>(&pairs).add_to(token, lane, lanes);
        }
    }
}

/// ω̃ and eps of eight neighbouring pairs of an `igp`: a harmless pole of weight zero for each that is not regular.
fn regular(block: &PlannedBlock<f64>) -> ([Complex64; WIDTH], [Complex64; WIDTH]) {
    let &PlannedBlock { task, tile, igp, ig, .. } = block;
    let (_, fallback) = task.plan.expect("checked before");
    let (SlabSlices { wtilde, eps, .. }, ncouls) = (task.slab, task.bands.ncouls);
    let count = WIDTH.min(ncouls - ig);
    let pairs = |igp: usize| igp * ncouls + ig..igp * ncouls + ig + count;
    let mut poles = filled_up(&wtilde[pairs(igp)], HARMLESS.into());
    let mut weights = filled_up(&eps[pairs(igp)], Complex64::ZERO);
    let bits = fallback.bits(ncouls, igp, ig);
    for at in (0..WIDTH).filter(|at| bits >> at & 1 == 1) {
        (poles[at], weights[at]) = (HARMLESS.into(), Complex64::ZERO);
    }
    let next = pairs((igp + 1).min(tile.igp.end - 1));
    prefetch(&wtilde[next.clone()]);
    prefetch(&eps[next]);
    (poles, weights)
}

/// Sums of some energies over bands, compensated after each chain of [`CHAIN`] bands.
#[derive(Clone, Copy)]
pub struct BandSums<S: Simd, const NW: usize> {
    /// Of the bands of the chain.
    pub chain: [ComplexVector<S>; NW],
    total: [ComplexVector<S>; NW],
    lost: [ComplexVector<S>; NW],
}

impl<S: Simd, const NW: usize> BandSums<S, NW> {
    #[inline(always)]
    pub fn zero(token: S) -> Self {
        let zero = [ComplexVector::zero(token); NW];
        BandSums { chain: zero, total: zero, lost: zero }
    }

    /// Adds a band's `m · factor` to the chain of energy `e`.
    #[inline(always)]
    pub fn add(&mut self, e: usize, m: ComplexVector<S>, factor: S::f64s) {
        self.chain[e] = self.chain[e].add_scaled(m, factor);
    }

    /// Adds the chain to the total, and if it is to be compensated what that rounds off to what is lost (D. E. Knuth,
    /// TAOCP 2, 4.2.2, theorem B).
    #[inline(always)]
    pub fn end_chain(&mut self, token: S, compensated: bool) {
        for e in 0..NW {
            let (chain, total) = (self.chain[e], self.total[e]);
            let sum = total + chain;
            if compensated {
                let added = sum - total;
                self.lost[e] = self.lost[e] + ((total - (sum - added)) + (chain - added));
            }
            self.total[e] = sum;
            self.chain[e] = ComplexVector::zero(token);
        }
    }

    /// The sum of energy `e`, after the last chain.
    #[inline(always)]
    pub fn sum(&self, e: usize) -> ComplexVector<S> {
        self.total[e] + self.lost[e]
    }
}

/// Goes through the rows of `begin..end` in chains and ends the sums' chains after each. With spans, `$CLEAR`
/// is a constant of the body: whether `$is_clear` holds of the row's span. A function with a closure would be
/// compiled without the instructions of the level.
macro_rules! over_bands {
    ($pairs:ident, $begin:expr, $end:expr, [$($sum:ident),+], $band:ident => $body:block) => {
        over_bands!(@chains $pairs, $begin, $end, [$($sum),+], chain => {
            over_bands!(@rows $pairs, chain.start, chain.end, $band => $body);
        });
    };
    (
        $pairs:ident, $spans:expr, $begin:expr, $end:expr, [$($sum:ident),+],
        $span:ident => $is_clear:expr, ($CLEAR:ident, $band:ident) => $body:block
    ) => {
        let mut spans = $spans.iter();
        over_bands!(@chains $pairs, $begin, $end, [$($sum),+], chain => {
            for begin in chain.clone().step_by(R::SPAN) {
                let stop = chain.end.min(begin + R::SPAN);
                if spans.next().is_some_and(|$span| $is_clear) {
                    const $CLEAR: bool = true;
                    over_bands!(@rows $pairs, begin, stop, $band => $body);
                } else {
                    const $CLEAR: bool = false;
                    over_bands!(@rows $pairs, begin, stop, $band => $body);
                }
            }
        });
    };
    (@rows $pairs:ident, $begin:expr, $end:expr, $band:ident => $body:block) => {
        for row in $pairs.rows::<NW>($begin, $end) {
            let $band = $pairs.band(row);
            $body
        }
    };
    (@chains $pairs:ident, $begin:expr, $end:expr, [$($sum:ident),+], $chain:ident => $body:block) => {
        let (mut begin, end) = ($begin, $end);
        while begin < end {
            let $chain = begin..end.min(begin + $crate::work::CHAIN);
            begin = $chain.end;
            $body
            // Rows of several bands are few: to compensate short chains would take as long as some of their terms.
            let compensated = R::BANDS == 1 || $chain.len() == $crate::work::CHAIN;
            $($sum.end_chain($pairs.token, compensated);)+
        }
    };
}

pub(crate) use over_bands;

/// The least and the largest energy of neighbouring bands.
pub type Span = [f64; 2];

/// Pairs in lanes, or one pair in all of them, and the bands that they are summed over.
#[derive(Clone, Copy)]
pub struct PairVector<'a, S: Simd, R> {
    pub token: S,
    pub block: &'a PlannedBlock<'a, R>,
    /// ω̃ of the regular pairs; a dummy pole for others.
    pub wtilde: ComplexVector<S>,
    /// vcoul · eps of the regular pairs; zero for others.
    pub weight: ComplexVector<S>,
    /// Matrix elements of G: a panel of [`crate::problem::IgPanels`].
    pub aqsn: &'a [Lines],
    /// The first of the lanes in rows of the panel.
    pub lane: usize,
}

/// A band for all lanes, or one for each.
#[derive(Clone, Copy)]
pub struct Band<S: Simd, const NW: usize> {
    /// `conj(aqsm)·aqsn`.
    pub m: ComplexVector<S>,
    pub w: [S::f64s; NW],
    pub occ: S::f64s,
}

/// `aqsn` of the panel, `aqsm`, energies and occupations of a row.
type RowOf<'a, R, const NW: usize> = ((&'a Lines, &'a [R; 2]), (&'a [R; NW], &'a R));

impl<S: Simd, R: PerBand> PairVector<'_, S, R> {
    /// The rows `begin..end` in memory. An iterator over [`Band`]s would be stepped by functions of the library,
    /// without the instructions of the level.
    #[inline(always)]
    pub fn rows<const NW: usize>(
        &self,
        begin: usize,
        end: usize,
    ) -> impl Iterator<Item = RowOf<'_, R, NW>> {
        let &PlannedBlock { aqsm, bands, .. } = self.block;
        let (wx, _) = bands.wx.as_chunks::<NW>();
        let elements = self.aqsn[begin..end].iter().zip(&aqsm[begin..end]);
        elements.zip(wx[begin..end].iter().zip(&bands.occ[begin..end]))
    }

    #[inline(always)]
    pub fn band<const NW: usize>(&self, row: RowOf<'_, R, NW>) -> Band<S, NW> {
        let (token, lane) = (self.token, self.lane);
        let ((aqsn, [re, im]), (wx, occ)) = row;
        let aqsn = ComplexVector::from_lines(token, aqsn, lane);
        let aqsm = ComplexVector::new(re.vector(token, lane), im.vector(token, lane));
        let w = array!(NW, e => wx[e].vector(token, lane));
        Band { m: aqsm.conj_mul(aqsn), w, occ: occ.vector(token, lane) }
    }

    /// Largest `|wdiff|²` that takes the second branch.
    #[inline(always)]
    pub fn largest2(&self) -> S::f64s {
        let limits = self.block.task.bands.limits;
        let two = splat(self.token, limits.limittwo);
        let one = self.wtilde.norm_sqr() / limits.limitone;
        two.simd_lt(one).select(one, two)
    }
}

// How terms of regular poles are written, in partial fractions.
//
// With `q = 1/(w − ω̃)`, zero near the pole, and `p = 1/(w + ω̃)`, `ssx = ½ω̃·eps·(q − p)` and `sch = ω̃·eps·q` in both
// branches. `q − p` is taken term by term: a difference of two sums would lose digits. Each class of bands has a loop:
// only occupied bands have an `ssx`, and nothing cuts off the plain ones.

/// Poles of any kind: see [`gpp_kernels::versions::v10`].
///
/// `1/z = conj(z)/|z|²` has the pair's own `Im ω̃`, so a sum over `M·q` is two sums of `M` times something real.
pub struct AnyPoles;

/// The sum of `M·f` for factors `f` whose imaginary part is a real number times the pair's `Im ω̃`: the
/// sums of `M` times that number and of `M·Re f`.
pub struct Split<S: Simd, const NW: usize> {
    factor: BandSums<S, NW>,
    re: BandSums<S, NW>,
}

impl<S: Simd, const NW: usize> Split<S, NW> {
    #[inline(always)]
    pub fn zero(token: S) -> Self {
        Split { factor: BandSums::zero(token), re: BandSums::zero(token) }
    }

    #[inline(always)]
    pub fn add(&mut self, e: usize, m: ComplexVector<S>, im: S::f64s, re: S::f64s) {
        self.factor.add(e, m, im);
        self.re.add(e, m, re);
    }

    #[inline(always)]
    pub fn end_chain(&mut self, token: S, compensated: bool) {
        self.factor.end_chain(token, compensated);
        self.re.end_chain(token, compensated);
    }

    /// The sum of energy `e`, for `im = Im ω̃`.
    #[inline(always)]
    pub fn sum(&self, e: usize, im: S::f64s) -> ComplexVector<S> {
        self.joined([self.factor.sum(e), self.re.sum(e)], im)
    }

    /// Of factors whose squares have the size of that number, that of the squares, from sums `e` of half of their numbers, half
    /// of the factors' own added to the real part.
    #[inline(always)]
    pub fn sum_of_squares(&self, e: usize, im: S::f64s) -> ComplexVector<S> {
        let re = self.re.sum(e) * 2.0 - self.factor.sum(0);
        self.joined([self.factor.sum(e) * 2.0, re], im)
    }

    #[inline(always)]
    fn joined(&self, [factor, re]: [ComplexVector<S>; 2], im: S::f64s) -> ComplexVector<S> {
        ComplexVector::new((-im).mul_add(factor.im, re.re), im.mul_add(factor.re, re.im))
    }
}

impl Fraction for AnyPoles {
    const IS_SIGMA_ALONE: bool = false;

    #[inline(always)]
    fn sums<S: Simd, R: PerBand, const NW: usize, const SUMS: usize>(
        pairs: &PairVector<S, R>,
    ) -> PairSums<S, SUMS> {
        let (token, bands) = (pairs.token, pairs.block.bands);
        let sexcut = pairs.block.task.bands.limits.sexcut;
        let (zero, largest2) = (splat(pairs.token, 0.0), pairs.largest2());
        let has_registers = registers::<S>() >= 32;
        let ComplexVector { re, im } = pairs.wtilde;
        let im2 = im * im;
        let (mut q, mut y) = (Split::<S, NW>::zero(token), Split::<S, NW>::zero(token));
        over_bands!(pairs, 0, bands.plan.plain, [q, y], band => {
            for e in 0..NW {
                let (d, s) = (band.w[e] - re, band.w[e] + re);
                let (d2, s2) = (d.mul_add(d, im2), s.mul_add(s, im2));
                // Neither is zero: regular poles are on no occupied energy.
                let [one_q, one_p] = reciprocals(token, [d2, s2], has_registers);
                let one_q = d2.simd_le(largest2).select(zero, one_q);
                let of_q = d * one_q;
                q.add(e, band.m, one_q, of_q);
                y.add(e, band.m, one_q + one_p, (-s).mul_add(one_p, of_q));
            }
        });
        over_bands!(pairs, bands.plan.plain, bands.plan.occupied, [q, y], band => {
            let size2 = re.mul_add(re, im2);
            let bound = size2 / sexcut;
            for e in 0..NW {
                let (d, s) = (band.w[e] - re, band.w[e] + re);
                let (d2, s2) = (d.mul_add(d, im2), s.mul_add(s, im2));
                let near = d2.simd_le(largest2);
                let z2 = near.select(size2 * 4.0, d2) * s2;
                let cut = band.w[e].simd_lt(0.0) & z2.simd_lt(bound * bound);
                // Of an empty band nothing needs `p`, which is infinite where its energy is −ω̃.
                let cut = cut | band.occ.simd_le(0.0);
                let one_q = near.select(zero, reciprocal(token, d2));
                let one_p = cut.select(zero, reciprocal(token, s2));
                let of_q = d * one_q;
                q.add(e, band.m, one_q, of_q);
                let m = band.m.scale(cut.select(zero, band.occ));
                y.add(e, m, one_q + one_p, (-s).mul_add(one_p, of_q));
            }
        });
        let half = pairs.weight * pairs.wtilde * 0.5;
        // That of pairs with small poles is summed by the definition.
        let small = splat(token, bands.plan.small);
        let of_y = half.keep(token, re.abs().simd_ge(small) | im.abs().simd_ge(small));
        let asx = array!(SUMS, e => of_y * y.sum(e, im) * -1.0);
        over_bands!(pairs, bands.plan.occupied, bands.plan.far_begin, [q], band => {
            for e in 0..NW {
                let d = band.w[e] - re;
                let d2 = d.mul_add(d, im2);
                let one = d2.simd_le(largest2).select(zero, reciprocal(token, d2));
                q.add(e, band.m, one, d * one);
            }
        });
        // Of no two energies is a pole near.
        over_bands!(pairs, bands.plan.far_begin, bands.occ.len(), [q], band => {
            let d = array!(NW, e => band.w[e] - re);
            let one = reciprocals(token, array!(NW, e => d[e].mul_add(d[e], im2)), has_registers);
            for e in 0..NW {
                q.add(e, band.m, one[e], d[e] * one[e]);
            }
        });
        PairSums { asx: Some(asx), ach: array!(SUMS, e => half * q.sum(e, im)) }
    }
}

/// Purely real, positive poles: see [`gpp_kernels::versions::v12`].
///
/// Both quotients are real, an accumulation is two fused operations, and one reciprocal of
/// `z = (near ? −2ω̃ : w − ω̃)·(w + ω̃)` gives `y = 1/z` and `q = (w + ω̃)·y`. The test for the second branch is left
/// out of spans of bands near whose energies no pole is.
pub struct RealPoles;

#[derive(Clone, Copy)]
pub struct RealPoleLanes<S: Simd> {
    pub token: S,
    pub wtilde: S::f64s,
    /// Largest |w − ω̃| of the second branch.
    pub largest: S::f64s,
    /// Least |z| that is not cut off if `w < 0`.
    pub bound: S::f64s,
}

impl<S: Simd> RealPoleLanes<S> {
    #[inline(always)]
    pub fn from_pairs<R: PerBand>(pairs: &PairVector<S, R>) -> Self {
        let (token, wtilde) = (pairs.token, pairs.wtilde.re);
        let bound = wtilde * wtilde / pairs.block.task.bands.limits.sexcut;
        RealPoleLanes { token, wtilde, largest: pairs.largest2().sqrt(), bound }
    }

    /// Whether nothing needs `p` of a band with this denominator: the cutoff takes `ssx`, or the band is empty, of which `p`
    /// is infinite where its energy is −ω̃.
    #[inline(always)]
    pub fn has_no_p(&self, w: S::f64s, z: S::f64s, occ: S::f64s) -> S::mask64s {
        w.simd_lt(0.0) & (z * z).simd_lt(self.bound * self.bound) | occ.simd_le(0.0)
    }

    /// `s`, the denominator `z`, and whether the pole is near; it is not if that `is_clear`.
    #[inline(always)]
    pub fn denominator(&self, w: S::f64s, is_clear: bool) -> (S::f64s, S::f64s, S::mask64s) {
        let (d, s) = (w - self.wtilde, w + self.wtilde);
        let near = d.abs().simd_le(self.largest);
        let first = if is_clear { d } else { near.select(self.wtilde * -2.0, d) };
        (s, first * s, near)
    }

    /// Whether no pole is near an energy of a span: differences keep their order when they are rounded.
    #[inline(always)]
    fn is_clear(&self, [least, largest]: Span) -> bool {
        let below = self.largest.simd_lt(splat(self.token, least) - self.wtilde);
        let above = (splat(self.token, largest) - self.wtilde).simd_lt(-self.largest);
        (below | above).all_true()
    }
}

impl Fraction for RealPoles {
    const IS_SIGMA_ALONE: bool = false;

    #[inline(always)]
    fn sums<S: Simd, R: PerBand, const NW: usize, const SUMS: usize>(
        pairs: &PairVector<S, R>,
    ) -> PairSums<S, SUMS> {
        let (token, bands, zero) = (pairs.token, pairs.block.bands, splat(pairs.token, 0.0));
        let pole = RealPoleLanes::from_pairs(pairs);
        let RealPoleLanes { wtilde, largest, .. } = pole;
        let (mut q, mut y) = (BandSums::<S, NW>::zero(token), BandSums::<S, NW>::zero(token));
        let [of_plain, of_empty] = &bands.spans;
        over_bands!(
            pairs, of_plain, 0, bands.plan.plain, [q, y],
            span => pole.is_clear(*span),
            (CLEAR, band) => {
                // As nothing is cut off, `w ≥ 0`, no denominator is zero.
                let denominators = array!(NW, e => pole.denominator(band.w[e], CLEAR));
                let z = array!(NW, e => denominators[e].1);
                // With few registers the values of a pair would be spilled, which costs more than it saves.
                let one = reciprocals(token, z, registers::<S>() >= 32);
                for e in 0..NW {
                    let (s, _, near) = denominators[e];
                    y.add(e, band.m, one[e]);
                    let s = if CLEAR { s } else { near.select(zero, s) };
                    q.add(e, band.m, s * one[e]);
                }
            }
        );
        over_bands!(pairs, bands.plan.plain, bands.plan.occupied, [q, y], band => {
            for e in 0..NW {
                let (_, z, near) = pole.denominator(band.w[e], false);
                let one = pole.has_no_p(band.w[e], z, band.occ).select(zero, reciprocal(token, z));
                y.add(e, band.m, one * band.occ);
                let one = near.select(zero, reciprocal(token, band.w[e] - wtilde));
                q.add(e, band.m, one);
            }
        });
        let weight = pairs.weight.scale(wtilde);
        let omega2 = weight.scale(-wtilde);
        let asx = array!(SUMS, e => omega2 * y.sum(e));
        over_bands!(
            pairs, of_empty, bands.plan.occupied, bands.plan.far_begin, [q],
            span => pole.is_clear(*span),
            (CLEAR, band) => {
                let d = array!(NW, e => band.w[e] - wtilde);
                let one = reciprocals(token, d, CLEAR);
                for e in 0..NW {
                    let near = d[e].abs().simd_le(largest);
                    let one = if CLEAR { one[e] } else { near.select(zero, one[e]) };
                    q.add(e, band.m, one);
                }
            }
        );
        // With x between two energies, less ω̃, and half of their difference, h: sums of `M/(x² − h²)` and `M·x/(x² − h²)`
        // for these two, of `M/(w − ω̃)` for another.
        let (half, square) = (splat(token, bands.plan.half), bands.plan.half * bands.plan.half);
        let mut far = BandSums::<S, NW>::zero(token);
        over_bands!(pairs, bands.plan.far_begin, bands.occ.len(), [far], band => {
            if NW > 1 {
                let x = band.w[0] + (half - wtilde);
                let one = splat(token, 1.0) / x.mul_add(x, -square);
                far.add(0, band.m, one);
                far.add(1, band.m, x * one);
            }
            let mut e = if NW > 1 { 2 } else { 0 };
            while e < NW {
                let one = reciprocal(token, band.w[e] - wtilde);
                far.add(e, band.m, one);
                e += 1;
            }
        });
        let mut far = array!(NW, e => far.sum(e));
        if NW > 1 {
            let (one, x) = (far[0].scale(half), far[1]);
            (far[0], far[1]) = (x + one, x - one);
        }
        let half = weight * 0.5;
        PairSums { asx: Some(asx), ach: array!(SUMS, e => half * (q.sum(e) + far[e])) }
    }
}

// Lists of the pairs of an `igp`, each with eight bands in a vector: `cpu:static`. Static pairs are those of
// [`gpp_kernels::lists::STATIC`]: their `aqsn` are summed with their weights before anything else is done with them.

/// A band for each lane; all lanes have the same pair.
impl PerBand for Line {
    const BANDS: usize = WIDTH;
    const SPAN: usize = 16;
    /// So many that their `aqsn` stay in the second cache for all `igp` of a tile: 400 KB for 800 bands.
    const BLOCK: usize = 32;

    #[inline]
    fn set(&mut self, band: usize, number: f64) {
        self.0[band] = number;
    }

    #[inline(always)]
    fn vector<S: Simd>(&self, token: S, lane: usize) -> S::f64s {
        Line::vector(self, token, lane)
    }

    #[inline(always)]
    fn add_block<F: Fraction, S: Simd, const NW: usize, const SUMS: usize>(
        token: S,
        block: &PlannedBlock<Line>,
        lanes: &mut [[f64; WIDTH]],
    ) {
        let &PlannedBlock { task, igp, .. } = block;
        let (others, of_static) = &pairs(block);
        let (panels, vcoul) = (task.panels.expect("checked before"), task.slab.vcoul_loc[igp]);
        let weighted =
            |&ig: &usize| (panels.panel(ig), task.slab.eps[igp * task.bands.ncouls + ig] * vcoul);
        let of_static = &of_static.iter().map(weighted).collect::<Vec<_>>();
        let (twos, single) = others.as_chunks::<2>();
        for lane in (0..WIDTH).step_by(S::f64s::LEN) {
            for two in twos {
                let pairs = array!(2, at => PairVector::from_ig(token, block, two[at], lane));
                let sums = F::sums_of_two::<S, Line, NW, SUMS>(&pairs);
                sums[0].add_to(token, lane, lanes);
                sums[1].add_to(token, lane, lanes);
            }
            for &ig in single {
                let pair = PairVector::from_ig(token, block, ig, lane);
                F::sums::<S, Line, NW, SUMS>(&pair).add_to(token, lane, lanes);
            }
            if !of_static.is_empty() {
                let sums = static_sums::<F, S, NW, SUMS>(token, lane, block, of_static);
                sums.add_to(token, lane, lanes);
            }
        }
    }
}

impl<'a, S: Simd> PairVector<'a, S, Line> {
    #[inline(always)]
    pub fn from_ig(token: S, block: &'a PlannedBlock<'a, Line>, ig: usize, lane: usize) -> Self {
        let &PlannedBlock { task, igp, .. } = block;
        let (pair, vcoul) = (igp * task.bands.ncouls + ig, task.slab.vcoul_loc[igp]);
        let wtilde = ComplexVector::splat(token, task.slab.wtilde[pair]);
        let weight = ComplexVector::splat(token, task.slab.eps[pair] * vcoul);
        let aqsn = task.panels.expect("checked before").panel(ig);
        PairVector { token, block, wtilde, weight, aqsn, lane }
    }
}

/// `ig` of the regular pairs of a block: of those that are not static, then of the static ones.
#[inline(never)]
pub fn pairs(block: &PlannedBlock<Line>) -> (Vec<usize>, Vec<usize>) {
    let &PlannedBlock { task, tile, igp, ig, .. } = block;
    let (plan, fallback) = task.plan.expect("checked before");
    let ncouls = task.bands.ncouls;
    let end = tile.ig.end.min(ig + Line::BLOCK);
    let [mut others, mut of_static] = [(); 2].map(|()| Vec::with_capacity(end - ig));
    for ig in ig..end {
        let pair = igp * ncouls + ig;
        if fallback.bits(ncouls, igp, ig & !7) >> (ig & 7) & 1 == 1 {
            continue;
        }
        if plan.has_static && task.slab.wtilde[pair] == STATIC.into() {
            of_static.push(ig);
        } else {
            others.push(ig);
        }
    }
    let first = (igp + 1).min(tile.igp.end - 1) * ncouls;
    let next = first + ig..first + end;
    prefetch(&task.slab.wtilde[next.clone()]);
    prefetch(&task.slab.eps[next]);
    (others, of_static)
}

/// The sums over static pairs with these panels and weights, for the bands from `lane` on.
#[inline(always)]
fn static_sums<F: Fraction, S: Simd, const NW: usize, const SUMS: usize>(
    token: S,
    lane: usize,
    block: &PlannedBlock<Line>,
    pairs: &[(&[Lines], Complex64)],
) -> PairSums<S, SUMS> {
    // Rows whose `aqsn` are summed at a time, which divide a chain: so many sums that none waits for another.
    const FEW: usize = 4;
    const MANY: usize = 8;
    const _: () = assert!(CHAIN.is_multiple_of(FEW) && CHAIN.is_multiple_of(MANY));
    let mut sums = StaticSums::<S, SUMS>::zero(token);
    let rows = block.bands.occ.len();
    let mut begin = 0;
    while begin < rows {
        let pairs = (pairs, begin);
        begin += if registers::<S>() >= 32 && begin + MANY <= rows {
            add_static::<S, NW, SUMS, MANY>(token, lane, block, pairs, &mut sums)
        } else if begin + FEW <= rows {
            add_static::<S, NW, SUMS, FEW>(token, lane, block, pairs, &mut sums)
        } else {
            add_static::<S, NW, SUMS, 1>(token, lane, block, pairs, &mut sums)
        };
        if begin.is_multiple_of(CHAIN) {
            sums.end_chain(token);
        }
    }
    sums.end_chain(token);
    sums.of_pair::<F, NW>()
}

/// Adds `N` rows of static pairs from `begin` on, and returns their number.
#[inline(always)]
fn add_static<S: Simd, const NW: usize, const SUMS: usize, const N: usize>(
    token: S,
    lane: usize,
    block: &PlannedBlock<Line>,
    (pairs, begin): (&[(&[Lines], Complex64)], usize),
    sums: &mut StaticSums<S, SUMS>,
) -> usize {
    let mut aqsn = [ComplexVector::zero(token); N];
    for (panel, weight) in pairs {
        let weight = ComplexVector::splat(token, *weight);
        let panel = &panel[begin..begin + N];
        for at in 0..N {
            let row = ComplexVector::from_lines(token, &panel[at], lane);
            aqsn[at] = aqsn[at].add_product(weight, row);
        }
    }
    for at in 0..N {
        sums.add_row::<NW>(token, lane, block, begin + at, aqsn[at]);
    }
    N
}

/// Sums over static pairs, of occupied bands and of all.
pub struct StaticSums<S: Simd, const SUMS: usize> {
    occupied: BandSums<S, 1>,
    total: BandSums<S, SUMS>,
}

impl<S: Simd, const SUMS: usize> StaticSums<S, SUMS> {
    #[inline(always)]
    pub fn zero(token: S) -> Self {
        StaticSums { occupied: BandSums::zero(token), total: BandSums::zero(token) }
    }

    /// Adds the bands of a row from `lane` on, for which `aqsn` is summed over the pairs with their weights.
    #[inline(always)]
    pub fn add_row<const NW: usize>(
        &mut self,
        token: S,
        lane: usize,
        block: &PlannedBlock<Line>,
        row: usize,
        aqsn: ComplexVector<S>,
    ) {
        let aqsm = ComplexVector::from_lines(token, &block.aqsm[row], lane);
        let m = aqsm.conj_mul(aqsn);
        self.occupied.add(0, m, block.bands.occ[row].vector(token, lane));
        for e in 0..NW {
            let w = block.bands.wx[row * NW + e].vector(token, lane);
            self.total.add(e, m, w.mul_add(1.0 / STATIC, 1.0));
        }
        if NW < SUMS {
            // ω̃²·((1 − f)/(w − ω̃)² + f/(w + ω̃)²), to first order.
            let (w, occ) = (block.bands.wx[row], block.bands.occ[row].vector(token, lane));
            let w = w.vector(token, lane) * occ.mul_add(-2.0, 1.0);
            self.total.add(NW, m, w.mul_add(2.0 / STATIC, 1.0));
        }
    }

    #[inline(always)]
    pub fn end_chain(&mut self, token: S) {
        self.occupied.end_chain(token, true);
        self.total.end_chain(token, true);
    }

    /// The sums of the pairs, after the last chain.
    #[inline(always)]
    pub fn of_pair<F: Fraction, const NW: usize>(&self) -> PairSums<S, SUMS> {
        let asx = self.occupied.sum(0);
        let ach = array!(SUMS, e => self.total.sum(e) * -0.5);
        if F::IS_SIGMA_ALONE {
            let alone =
                array!(SUMS, e => if e < NW { ach[e] + asx } else { ach[e] * (1.0 / STATIC) });
            return PairSums { asx: None, ach: alone };
        }
        PairSums { asx: Some([asx; SUMS]), ach }
    }
}
