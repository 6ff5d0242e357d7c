//! The tiles of versions that follow the plan: regular pairs in vectors by a [`Fraction`], the others by the
//! definition.

use std::borrow::Cow;

use fearless_simd::prelude::*;
use gpp_kernels::arrays::Limits;
use gpp_kernels::formula::VALUES;
use gpp_kernels::tiling::HARMLESS;
use num_complex::Complex64;

use crate::definition::{FEW, add_fallback};
use crate::problem::{FallbackPairs, Lines, Plan, Task};
use crate::simd::{Complex, WIDTH, add_to, array, prefetch, tree};
use crate::work::{CHAIN, Compensated, Tile};

/// How the terms of regular poles are written.
pub trait Fraction {
    /// The sums of each pair of a vector over all bands.
    fn sums<S: Simd, R: Rows<S>, const NW: usize>(pairs: &PairVector<S, R>) -> PairSums<S, NW>;
}

/// What pairs sum over the bands.
#[derive(Clone, Copy)]
pub struct PairSums<S: Simd, const NW: usize> {
    /// Screened exchange, with the sign of the definition.
    pub asx: [Complex<S>; NW],
    pub ach: [Complex<S>; NW],
}

impl<S: Simd, const NW: usize> PairSums<S, NW> {
    #[inline(always)]
    pub fn zero(token: S) -> Self {
        PairSums { asx: [Complex::zero(token); NW], ach: [Complex::zero(token); NW] }
    }

    #[inline(always)]
    pub fn add(&mut self, other: &Self) {
        for e in 0..NW {
            self.asx[e] = self.asx[e] + other.asx[e];
            self.ach[e] = self.ach[e] + other.ach[e];
        }
    }
}

/// Adds the sums of a tile to `sums`, `(nw · VALUES, igp)`.
#[inline(always)]
pub fn sum<F: Fraction, S: Simd>(token: S, task: &Task, tile: &Tile, sums: &mut [f64]) {
    match task.bands.nw {
        1 => sum_energies::<F, S, 1>(token, task, tile, sums),
        2 => sum_energies::<F, S, 2>(token, task, tile, sums),
        _ => sum_energies::<F, S, 3>(token, task, tile, sums),
    }
}

#[inline(always)]
fn sum_energies<F: Fraction, S: Simd, const NW: usize>(
    token: S,
    task: &Task,
    tile: &Tile,
    sums: &mut [f64],
) {
    let (plan, fallback) = task.plan.expect("checked before");
    let panels = task.panels.expect("checked before");
    let ncouls = task.bands.ncouls;
    let (wx, occ) = ordered::<NW>(task, &plan);
    let Plan { plain, occupied, far_begin, half, .. } = plan;
    let classes = Classes { plain, occupied, far_begin, end: task.bands.nbands, half };
    let empty = occupied * NW..far_begin * NW;
    let spans = [spans(&wx[..plain * NW], SPAN * NW), spans(&wx[empty], SPAN * NW)];
    let aqsm: Vec<Cow<[Complex64]>> = tile.igp.clone().map(|igp| aqsm(task, &plan, igp)).collect();

    // The sums of each chain, value and igp.
    let mut lanes = vec![[0.0; WIDTH]; tile.igp.len() * NW * VALUES];
    for ig in tile.ig.clone().step_by(WIDTH) {
        let aqsn = panels.panel(ig / WIDTH);
        for (at, igp) in tile.igp.clone().enumerate() {
            if task.stop.is_asked() {
                return;
            }
            let block = Block::of(task, &fallback, igp, ig);
            prefetch_next(task, tile, igp, ig);
            let lanes = &mut lanes[at * NW * VALUES..][..NW * VALUES];
            let vcoul = S::f64s::splat(token, task.slab.vcoul_loc[igp]);
            for lane in (0..WIDTH.min(ncouls - ig)).step_by(S::f64s::LEN) {
                let wtilde = Complex::load(token, &block.wtilde[lane..]);
                let largest2 = largest2(token, wtilde, &task.bands.limits);
                let pairs = PairVector {
                    token,
                    wtilde,
                    weight: Complex::load(token, &block.eps[lane..]).scale(vcoul),
                    largest2,
                    largest: largest2.sqrt(),
                    rows: OfIg { aqsn, lane, aqsm: &aqsm[at], wx: &wx, occ: &occ },
                    classes: &classes,
                    spans: &spans,
                    limits: task.bands.limits,
                };
                let of_pairs = F::sums::<S, _, NW>(&pairs);
                for e in 0..NW {
                    let (asx, ach) = (of_pairs.asx[e], of_pairs.ach[e]);
                    for (value, sum) in [asx.re, asx.im, ach.re, ach.im].into_iter().enumerate() {
                        add_to(token, sum, &mut lanes[e * VALUES + value][lane..]);
                    }
                }
            }
        }
    }
    for (at, igp) in tile.igp.clone().enumerate() {
        let mut totals = [Compensated::default(); FEW * VALUES];
        for (total, lanes) in totals.iter_mut().zip(&lanes[at * NW * VALUES..][..NW * VALUES]) {
            total.add(tree(lanes));
        }
        add_fallback::<S, NW>(token, task, &fallback, (igp, &tile.ig), &mut totals);
        let sums = &mut sums[at * NW * VALUES..][..NW * VALUES];
        sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total.value());
    }
}

/// Energies and occupations in the plan's order.
pub fn ordered<'a, const NW: usize>(
    task: &'a Task,
    plan: &Plan,
) -> (Cow<'a, [f64]>, Cow<'a, [f64]>) {
    let (wx, occ) = (task.bands.wx, task.bands.occ);
    if plan.order.is_sorted() {
        return (wx.into(), occ.into());
    }
    let energies = plan.order.iter().flat_map(|&n| &wx[n * NW..(n + 1) * NW]).copied();
    (energies.collect(), plan.order.iter().map(|&n| occ[n]).collect())
}

/// Matrix elements of G′ of one `igp` in the plan's order.
pub fn aqsm<'a>(task: &Task<'a>, plan: &Plan, igp: usize) -> Cow<'a, [Complex64]> {
    let nbands = task.bands.nbands;
    let own = &task.slab.aqsm[igp * nbands..][..nbands];
    if plan.order.is_sorted() {
        return own.into();
    }
    plan.order.iter().map(|&n| own[n]).collect()
}

/// Eight neighbouring pairs of an `igp`: a harmless pole of weight zero for each that is not regular.
struct Block {
    wtilde: [Complex64; WIDTH],
    eps: [Complex64; WIDTH],
}

impl Block {
    fn of(task: &Task, fallback: &FallbackPairs, igp: usize, ig: usize) -> Block {
        let ncouls = task.bands.ncouls;
        let count = WIDTH.min(ncouls - ig);
        let first = igp * ncouls + ig;
        let mut block =
            Block { wtilde: [Complex64::new(HARMLESS, 0.0); WIDTH], eps: [Complex64::ZERO; WIDTH] };
        block.wtilde[..count].copy_from_slice(&task.slab.wtilde[first..first + count]);
        block.eps[..count].copy_from_slice(&task.slab.eps[first..first + count]);
        let mut bits = fallback.bits(ncouls, igp, ig);
        while bits != 0 {
            let at = bits.trailing_zeros() as usize;
            block.wtilde[at] = Complex64::new(HARMLESS, 0.0);
            block.eps[at] = Complex64::ZERO;
            bits &= bits - 1;
        }
        block
    }
}

/// Prefetches the pairs that are summed after these.
#[inline(always)]
fn prefetch_next(task: &Task, tile: &Tile, igp: usize, ig: usize) {
    let (igp, ig) = match igp + 1 {
        next if next < tile.igp.end => (next, ig),
        _ => (tile.igp.start, ig + WIDTH),
    };
    let ncouls = task.bands.ncouls;
    let pairs = igp * ncouls + ig.min(ncouls)..igp * ncouls + (ig + WIDTH).min(ncouls);
    prefetch(&task.slab.wtilde[pairs.clone()]);
    prefetch(&task.slab.eps[pairs]);
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

    /// Adds the chain to the total, and what that rounds off to what is lost (D. E. Knuth, TAOCP 2,
    /// 4.2.2, theorem B).
    #[inline(always)]
    pub fn end_chain(&mut self, token: S) {
        for e in 0..NW {
            let (chain, total, lost) = (self.chain[e], self.total[e], self.lost[e]);
            let (re, lost_re) = two_sum::<S>(total.re, chain.re);
            let (im, lost_im) = two_sum::<S>(total.im, chain.im);
            self.total[e] = Complex::new(re, im);
            self.lost[e] = lost + Complex::new(lost_re, lost_im);
            self.chain[e] = Complex::zero(token);
        }
    }

    /// Adds the chain to the total.
    #[inline(always)]
    pub fn add_chain(&mut self, token: S) {
        for e in 0..NW {
            self.total[e] = self.total[e] + self.chain[e];
            self.chain[e] = Complex::zero(token);
        }
    }

    /// The sum of energy `e`, after the last chain.
    #[inline(always)]
    pub fn sum(&self, e: usize) -> Complex<S> {
        self.total[e] + self.lost[e]
    }
}

/// `a + b` and what it rounds off.
#[inline(always)]
fn two_sum<S: Simd>(a: S::f64s, b: S::f64s) -> (S::f64s, S::f64s) {
    let sum = a + b;
    let own = sum - a;
    (sum, (a - (sum - own)) + (b - own))
}

/// Goes through the rows of `begin..end` in chains and compensates the sums after each, or each full one. With
/// spans, `$clear` is done for the rows of those of which `$is_clear` holds, and `$body` for the others. A function with
/// a closure would be compiled without the instructions of the level.
macro_rules! over_bands {
    ($pairs:ident, $begin:expr, $end:expr, [$($sum:ident),+], $band:ident => $body:block) => {
        $crate::planned::over_bands!(@chains $pairs, $begin, $end, [$($sum),+], chain => {
            for row in $pairs.rows.range::<NW>(chain.start, chain.end) {
                let $band = $pairs.rows.band($pairs.token, row);
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
                    for row in $pairs.rows.range::<NW>(begin, stop) {
                        let $band = $pairs.rows.band($pairs.token, row);
                        $clear
                    }
                } else {
                    for row in $pairs.rows.range::<NW>(begin, stop) {
                        let $band = $pairs.rows.band($pairs.token, row);
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
            if R::ENDS_EACH || $chain.len() == $crate::work::CHAIN {
                $($sum.end_chain($pairs.token);)+
            } else {
                $($sum.add_chain($pairs.token);)+
            }
        }
    };
}
pub(crate) use over_bands;

/// The least and the largest energy of neighbouring bands.
pub type Span = [f64; 2];

/// Bands of a span of single ones.
const SPAN: usize = CHAIN / 2;

/// The spans of neighbouring bands, of so many energies each.
pub fn spans(wx: &[f64], energies: usize) -> Vec<Span> {
    let wider = |[least, largest]: Span, &w: &f64| [least.min(w), largest.max(w)];
    let none = [f64::INFINITY, f64::NEG_INFINITY];
    wx.chunks(energies).map(|span| span.iter().fold(none, wider)).collect()
}

/// Where the classes of [`gpp_kernels::plan`] begin and end, in rows.
#[derive(Clone, Copy)]
pub struct Classes {
    /// Plain ones, the first.
    pub plain: usize,
    /// The end of the other occupied ones.
    pub occupied: usize,
    pub far_begin: usize,
    pub end: usize,
    /// See [`Plan::half`].
    pub half: f64,
}

/// Pairs in lanes, or one in all of them, and the bands that they are summed over, in the plan's order.
#[derive(Clone, Copy)]
pub struct PairVector<'a, S: Simd, R> {
    pub token: S,
    /// ω̃ of the regular pairs; of others a pole that harms nothing.
    pub wtilde: Complex<S>,
    /// vcoul · eps of the regular pairs; zero for others.
    pub weight: Complex<S>,
    /// Largest `|wdiff|²` that takes the second branch: [`largest2`].
    pub largest2: S::f64s,
    /// Its root.
    pub largest: S::f64s,
    pub rows: R,
    pub classes: &'a Classes,
    /// Spans of the plain bands, and of the empty ones that are not far.
    pub spans: &'a [Vec<Span>; 2],
    pub limits: Limits,
}

impl<S: Simd, R> PairVector<'_, S, R> {
    #[inline(always)]
    pub fn splat(&self, value: f64) -> S::f64s {
        S::f64s::splat(self.token, value)
    }
}

/// Largest `|wdiff|²` that takes the second branch.
#[inline(always)]
fn largest2<S: Simd>(token: S, wtilde: Complex<S>, limits: &Limits) -> S::f64s {
    let two = S::f64s::splat(token, limits.limittwo);
    let one = wtilde.norm_sqr() / S::f64s::splat(token, limits.limitone);
    two.simd_lt(one).select(one, two)
}

/// A band for all lanes, or one for each: M, and the energies.
pub struct Band<S: Simd, const NW: usize> {
    /// `conj(aqsm)·aqsn`.
    pub m: Complex<S>,
    /// Matrix elements of G.
    pub aqsn: Complex<S>,
    /// Matrix elements of G′.
    pub aqsm: Complex<S>,
    pub w: [S::f64s; NW],
    pub occ: S::f64s,
}

/// The bands in memory.
pub trait Rows<S: Simd> {
    /// Rows of a [`Span`], which divide [`CHAIN`].
    const SPAN: usize;
    /// Whether chains at the end of a class of bands are compensated too, which are shorter.
    const ENDS_EACH: bool;
    type Row<'a, const NW: usize>
    where
        Self: 'a;

    /// An iterator over [`Band`]s would be stepped by functions of the library, without the instructions of the level.
    fn range<const NW: usize>(
        &self,
        begin: usize,
        end: usize,
    ) -> impl Iterator<Item = Self::Row<'_, NW>>;

    fn band<'a, const NW: usize>(&'a self, token: S, row: Self::Row<'a, NW>) -> Band<S, NW>;
}

/// Rows of a band, whose lanes have neighbouring `ig` of one `igp`.
#[derive(Clone, Copy)]
pub struct OfIg<'a> {
    /// Matrix elements of G: a panel of [`crate::problem::IgPanels`].
    aqsn: &'a [Lines],
    /// The first of the pairs in the panel.
    lane: usize,
    /// Matrix elements of G′, `(nbands)`.
    aqsm: &'a [Complex64],
    /// Energies, `(nw, nbands)`.
    wx: &'a [f64],
    occ: &'a [f64],
}

impl<S: Simd> Rows<S> for OfIg<'_> {
    const SPAN: usize = SPAN;
    const ENDS_EACH: bool = true;
    /// `aqsn` of the panel, `aqsm`, energies and occupation.
    type Row<'a, const NW: usize>
        = ((&'a Lines, &'a Complex64), (&'a [f64; NW], &'a f64))
    where
        Self: 'a;

    #[inline(always)]
    fn range<const NW: usize>(
        &self,
        begin: usize,
        end: usize,
    ) -> impl Iterator<Item = Self::Row<'_, NW>> {
        let (wx, _) = self.wx.as_chunks::<NW>();
        let elements = self.aqsn[begin..end].iter().zip(&self.aqsm[begin..end]);
        elements.zip(wx[begin..end].iter().zip(&self.occ[begin..end]))
    }

    #[inline(always)]
    fn band<'a, const NW: usize>(&'a self, token: S, row: Self::Row<'a, NW>) -> Band<S, NW> {
        let ((aqsn, aqsm), (wx, &occ)) = row;
        let aqsn = Complex::of(token, aqsn, self.lane);
        let aqsm = Complex::splat(token, *aqsm);
        let w = array!(NW, e => S::f64s::splat(token, wx[e]));
        Band { m: aqsm.conj_mul(aqsn), aqsn, aqsm, w, occ: S::f64s::splat(token, occ) }
    }
}
