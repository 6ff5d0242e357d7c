//! The tiles of versions that follow the plan: regular pairs in vectors by a [`Fraction`], the others by the
//! definition. The lanes of a vector hold eight pairs with one band, whose numbers are [`f64`], or one pair with eight
//! bands, whose numbers are [`Line`](crate::simd::Line)s ([`crate::lists`]).

use fearless_simd::prelude::*;
use gpp_kernels::formula::VALUES;
use gpp_kernels::tiling::HARMLESS;
use num_complex::Complex64;

use crate::definition::{add_fallback, filled_up};
use crate::problem::{Slab, Task};
use crate::simd::{Complex, Lines, WIDTH, add_to, array, prefetch, splat};
use crate::work::{CHAIN, Compensated, Tile, add_lanes};

/// A way to write the terms of regular poles.
pub trait Fraction {
    /// The sums of each pair of a vector over all bands.
    fn sums<S: Simd, R: PerBand, const NW: usize>(pairs: &PairVector<S, R>) -> PairSums<S, NW>;
}

/// The sums of pairs over the bands.
#[derive(Clone, Copy)]
pub struct PairSums<S: Simd, const NW: usize> {
    /// Screened exchange, with the sign of the definition.
    pub asx: [Complex<S>; NW],
    pub ach: [Complex<S>; NW],
}

impl<S: Simd, const NW: usize> PairSums<S, NW> {
    /// Adds them to the sums of each value and chain, from chain `lane` on.
    #[inline(always)]
    pub fn add_to(&self, token: S, lane: usize, lanes: &mut [[f64; WIDTH]]) {
        for e in 0..NW {
            let (asx, ach) = (self.asx[e], self.ach[e]);
            for (value, sum) in [asx.re, asx.im, ach.re, ach.im].into_iter().enumerate() {
                add_to(token, sum, &mut lanes[e * VALUES + value][lane..]);
            }
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

    /// The numbers from `lane` on.
    fn vector<S: Simd>(&self, token: S, lane: usize) -> S::f64s;

    /// Adds the regular pairs of a block to the sums of each value and chain.
    fn add_block<F: Fraction, S: Simd, const NW: usize>(
        token: S,
        block: &Block<Self>,
        lanes: &mut [[f64; WIDTH]],
    );
}

/// The pairs of an `igp` and [`PerBand::BLOCK`] of a tile's `ig`, with all bands.
pub struct Block<'a, R> {
    pub task: &'a Task<'a>,
    pub tile: &'a Tile,
    pub igp: usize,
    /// The first `ig`.
    pub ig: usize,
    /// Matrix elements of G′, `(rows)`.
    pub aqsm: &'a [[R; 2]],
    pub bands: &'a BandRows<R>,
}

/// Adds the sums of a tile to totals `(nw · VALUES, igp)`.
#[inline(always)]
pub fn sum<F: Fraction, R: PerBand, S: Simd>(
    token: S,
    task: &Task,
    tile: &Tile,
    totals: &mut [Compensated],
) {
    match task.bands.nw {
        1 => sum_energies::<F, R, S, 1>(token, task, tile, totals),
        2 => sum_energies::<F, R, S, 2>(token, task, tile, totals),
        _ => sum_energies::<F, R, S, 3>(token, task, tile, totals),
    }
}

#[inline(always)]
fn sum_energies<F: Fraction, R: PerBand, S: Simd, const NW: usize>(
    token: S,
    task: &Task,
    tile: &Tile,
    totals: &mut [Compensated],
) {
    let (_, fallback) = task.plan.expect("checked before");
    let bands = &BandRows::<R>::of::<NW>(task);
    let aqsm: Vec<Vec<[R; 2]>> = tile.igp.clone().map(|igp| aqsm(task, igp)).collect();
    // The sums of each chain, value and igp.
    let mut lanes = vec![[0.0; WIDTH]; tile.igp.len() * NW * VALUES];
    for ig in tile.ig.clone().step_by(R::BLOCK) {
        let lanes = lanes.chunks_exact_mut(NW * VALUES);
        for ((igp, aqsm), lanes) in tile.igp.clone().zip(&aqsm).zip(lanes) {
            if task.stop.is_asked() {
                return;
            }
            R::add_block::<F, S, NW>(token, &Block { task, tile, igp, ig, aqsm, bands }, lanes);
        }
    }
    add_lanes(totals, &lanes);
    for (igp, totals) in tile.igp.clone().zip(totals.chunks_exact_mut(NW * VALUES)) {
        add_fallback::<S, NW>(token, task, &fallback, (igp, &tile.ig), totals);
    }
}

/// The bands in rows, in the plan's order. A row with bands of two classes belongs to the other occupied bands, or to
/// the empty ones that are not far, whose loops take any band.
pub struct BandRows<R> {
    /// Energies, `(nw, rows)`.
    pub wx: Vec<R>,
    pub occ: Vec<R>,
    /// Plain rows, the first.
    pub plain: usize,
    /// The end of the other occupied rows.
    pub occupied: usize,
    /// The first far row.
    pub far_begin: usize,
    /// See [`crate::problem::Plan::half`].
    pub half: f64,
    /// Of the plain rows, and of the empty ones that are not far.
    pub spans: [Vec<Span>; 2],
}

impl<R: PerBand> BandRows<R> {
    #[inline(never)]
    fn of<const NW: usize>(task: &Task) -> BandRows<R> {
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
        let plain = plan.plain / R::BANDS;
        let [occupied, far_begin] = [plan.occupied, plan.far_begin].map(|n| n.div_ceil(R::BANDS));
        let spans = |begin: usize, end: usize| -> Vec<Span> {
            let [begin, end] = [begin, end].map(|row| (row * R::BANDS).min(nbands));
            let energies = |n: &usize| &task.bands.wx[n * NW..][..NW];
            let wider = |[least, most]: Span, &w: &f64| [least.min(w), most.max(w)];
            let none = [f64::INFINITY, f64::NEG_INFINITY];
            let spans = order[begin..end].chunks(R::SPAN * R::BANDS);
            spans.map(|bands| bands.iter().flat_map(energies).fold(none, wider)).collect()
        };
        let spans = [spans(0, plain), spans(occupied, far_begin)];
        BandRows { wx, occ, plain, occupied, far_begin, half: plan.half, spans }
    }
}

/// Matrix elements of G′ of one `igp` in the plan's order.
#[inline(never)]
fn aqsm<R: PerBand>(task: &Task, igp: usize) -> Vec<[R; 2]> {
    let (plan, _) = task.plan.expect("checked before");
    let own = &task.slab.aqsm[igp * task.bands.nbands..][..task.bands.nbands];
    let mut rows = vec![[R::default(); 2]; own.len().div_ceil(R::BANDS)];
    for (at, &n) in plan.order.iter().enumerate() {
        let [re, im] = &mut rows[at / R::BANDS];
        re.set(at % R::BANDS, own[n].re);
        im.set(at % R::BANDS, own[n].im);
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
    fn add_block<F: Fraction, S: Simd, const NW: usize>(
        token: S,
        block: &Block<f64>,
        lanes: &mut [[f64; WIDTH]],
    ) {
        let &Block { task, igp, ig, .. } = block;
        let aqsn = task.panels.expect("checked before").panel(ig / WIDTH);
        let (wtilde, eps) = regular(block);
        for lane in (0..WIDTH.min(task.bands.ncouls - ig)).step_by(S::f64s::LEN) {
            let wtilde = Complex::load(token, &wtilde[lane..]);
            let weight = Complex::load(token, &eps[lane..]) * task.slab.vcoul_loc[igp];
            let pairs = PairVector { token, block, wtilde, weight, aqsn, lane };
            F::sums::<S, f64, NW>(&pairs).add_to(token, lane, lanes);
        }
    }
}

/// ω̃ and eps of eight neighbouring pairs of an `igp`: a harmless pole of weight zero for each that is not regular.
fn regular(block: &Block<f64>) -> ([Complex64; WIDTH], [Complex64; WIDTH]) {
    let &Block { task, tile, igp, ig, .. } = block;
    let (_, fallback) = task.plan.expect("checked before");
    let (Slab { wtilde, eps, .. }, ncouls) = (task.slab, task.bands.ncouls);
    let count = WIDTH.min(ncouls - ig);
    let pairs = |igp: usize| igp * ncouls + ig..igp * ncouls + ig + count;
    let mut poles = filled_up(&wtilde[pairs(igp)], HARMLESS.into());
    let mut weights = filled_up(&eps[pairs(igp)], Complex64::ZERO);
    let bits = fallback.bits(ncouls, igp, ig);
    for at in (0..WIDTH).filter(|at| bits >> at & 1 == 1) {
        (poles[at], weights[at]) = (HARMLESS.into(), Complex64::ZERO);
    }
    // Those that are summed next.
    let next = pairs((igp + 1).min(tile.igp.end - 1));
    prefetch(&wtilde[next.clone()]);
    prefetch(&eps[next]);
    (poles, weights)
}

/// Sums of some energies over bands, compensated after each chain of [`CHAIN`] bands.
#[derive(Clone, Copy)]
pub struct BandSums<S: Simd, const NW: usize> {
    /// Of the bands of the chain.
    pub chain: [Complex<S>; NW],
    total: [Complex<S>; NW],
    lost: [Complex<S>; NW],
}

impl<S: Simd, const NW: usize> BandSums<S, NW> {
    #[inline(always)]
    pub fn zero(token: S) -> Self {
        let zero = [Complex::zero(token); NW];
        BandSums { chain: zero, total: zero, lost: zero }
    }

    /// Adds the chain to the total, and if it is to be compensated what that rounds off to what is lost (D. E. Knuth,
    /// TAOCP 2, 4.2.2, theorem B).
    #[inline(always)]
    pub fn end_chain(&mut self, token: S, compensated: bool) {
        for e in 0..NW {
            let (chain, total) = (self.chain[e], self.total[e]);
            let sum = total + chain;
            if compensated {
                let own = sum - total;
                self.lost[e] = self.lost[e] + ((total - (sum - own)) + (chain - own));
            }
            self.total[e] = sum;
            self.chain[e] = Complex::zero(token);
        }
    }

    /// The sum of energy `e`, after the last chain.
    #[inline(always)]
    pub fn sum(&self, e: usize) -> Complex<S> {
        self.total[e] + self.lost[e]
    }
}

/// Goes through the rows of `begin..end` in chains and ends the sums' chains after each. With spans, `$clear` is done
/// for the rows of those of which `$is_clear` holds, and `$body` for the others. A function with a closure would be
/// compiled without the instructions of the level.
macro_rules! over_bands {
    ($pairs:ident, $begin:expr, $end:expr, [$($sum:ident),+], $band:ident => $body:block) => {
        $crate::planned::over_bands!(@chains $pairs, $begin, $end, [$($sum),+], chain => {
            for row in $pairs.rows::<NW>(chain.start, chain.end) {
                let $band = $pairs.band(row);
                $body
            }
        });
    };
    (
        $pairs:ident, $spans:expr, $begin:expr, $end:expr, [$($sum:ident),+],
        $span:ident => $is_clear:expr, $band:ident => $clear:block, $body:block
    ) => {
        let mut spans = $spans.iter();
        $crate::planned::over_bands!(@chains $pairs, $begin, $end, [$($sum),+], chain => {
            for begin in chain.clone().step_by(R::SPAN) {
                let stop = chain.end.min(begin + R::SPAN);
                if spans.next().is_some_and(|$span| $is_clear) {
                    for row in $pairs.rows::<NW>(begin, stop) {
                        let $band = $pairs.band(row);
                        $clear
                    }
                } else {
                    for row in $pairs.rows::<NW>(begin, stop) {
                        let $band = $pairs.band(row);
                        $body
                    }
                }
            }
        });
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
    pub block: &'a Block<'a, R>,
    /// ω̃ of the regular pairs; a dummy pole for others.
    pub wtilde: Complex<S>,
    /// vcoul · eps of the regular pairs; zero for others.
    pub weight: Complex<S>,
    /// Matrix elements of G: a panel of [`crate::problem::IgPanels`].
    pub aqsn: &'a [Lines],
    /// The first of the lanes in rows of the panel.
    pub lane: usize,
}

/// A band for all lanes, or one for each.
pub struct Band<S: Simd, const NW: usize> {
    /// `conj(aqsm)·aqsn`.
    pub m: Complex<S>,
    pub aqsn: Complex<S>,
    pub aqsm: Complex<S>,
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
        let &Block { aqsm, bands, .. } = self.block;
        let (wx, _) = bands.wx.as_chunks::<NW>();
        let elements = self.aqsn[begin..end].iter().zip(&aqsm[begin..end]);
        elements.zip(wx[begin..end].iter().zip(&bands.occ[begin..end]))
    }

    #[inline(always)]
    pub fn band<const NW: usize>(&self, row: RowOf<'_, R, NW>) -> Band<S, NW> {
        let (token, lane) = (self.token, self.lane);
        let ((aqsn, [re, im]), (wx, occ)) = row;
        let aqsn = Complex::of_lines(token, aqsn, lane);
        let aqsm = Complex::new(re.vector(token, lane), im.vector(token, lane));
        let w = array!(NW, e => wx[e].vector(token, lane));
        Band { m: aqsm.conj_mul(aqsn), aqsn, aqsm, w, occ: occ.vector(token, lane) }
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
