//! The tiles of cpu:static: lists of the pairs of an `igp`, each with bands in vectors.

use fearless_simd::prelude::*;
use gpp_kernels::formula::VALUES;
use gpp_kernels::lists::STATIC;
use num_complex::Complex64;

use crate::definition::{FEW, add_fallback};
use crate::planned::{Band, BandSums, Classes, Fraction, PairSums, PairVector, Rows, Span};
use crate::planned::{aqsm, ordered, over_bands, spans};
use crate::problem::{Line, Lines, Plan, Task};
use crate::simd::{Complex, WIDTH, array, store, tree};
use crate::work::{CHAIN, Compensated, Tile};

/// `ig` of a block, whose `aqsn` stay in the second cache for all `igp` of a tile: 400 KB for 800 bands.
const BLOCK: usize = 32;
const _: () = assert!(BLOCK <= CHAIN && CHAIN.is_multiple_of(SPAN));

/// Rows of a span.
const SPAN: usize = 16;

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
    let (plan, _) = task.plan.expect("checked before");
    let bands = Eights::of::<NW>(task, &plan);
    let aqsm: Vec<Vec<Lines>> =
        tile.igp.clone().map(|igp| eights(&aqsm(task, &plan, igp))).collect();
    let mut totals = vec![[Compensated::default(); FEW * VALUES]; tile.igp.len()];
    let mut products = vec![[Line::ZERO; 2]; bands.classes.end];
    for first in tile.ig.clone().step_by(BLOCK) {
        let block = Tile { igp: tile.igp.clone(), ig: first..tile.ig.end.min(first + BLOCK) };
        for ((at, igp), totals) in tile.igp.clone().enumerate().zip(&mut totals) {
            if task.stop.is_asked() {
                return;
            }
            let pairs = PairList::of(task, &block, igp);
            let mut lanes = [[0.0; WIDTH]; FEW * VALUES];
            for lane in (0..WIDTH).step_by(S::f64s::LEN) {
                let of_igp =
                    OfBands { aqsn: &[], lane, aqsm: &aqsm[at], wx: &bands.wx, occ: &bands.occ };
                let of_pairs = pairs.sums::<F, S, NW>(token, task, &bands, (of_igp, &mut products));
                for e in 0..NW {
                    let (asx, ach) = (of_pairs.asx[e], of_pairs.ach[e]);
                    for (value, sum) in [asx.re, asx.im, ach.re, ach.im].into_iter().enumerate() {
                        store(token, sum, &mut lanes[e * VALUES + value][lane..]);
                    }
                }
            }
            for (total, lanes) in totals.iter_mut().zip(&lanes) {
                total.add(tree(lanes));
            }
        }
    }
    let (_, fallback) = task.plan.expect("checked before");
    let sums = sums.chunks_exact_mut(NW * VALUES);
    for ((igp, mut totals), sums) in tile.igp.clone().zip(totals).zip(sums) {
        add_fallback::<S, NW>(token, task, &fallback, (igp, &tile.ig), &mut totals);
        for (sum, total) in sums.iter_mut().zip(totals) {
            *sum += total.value();
        }
    }
}

/// The bands in the plan's order, eight in a row. Rows with bands of two classes are of the class of other occupied
/// bands, or of the empty ones that are not far, whose loops take any.
struct Eights {
    /// `(nw, rows)`.
    wx: Vec<Line>,
    occ: Vec<Line>,
    classes: Classes,
    spans: [Vec<Span>; 2],
}

impl Eights {
    fn of<const NW: usize>(task: &Task, plan: &Plan) -> Eights {
        let (wx, occ) = ordered::<NW>(task, plan);
        let of_row = |w: &[f64]| {
            // Past the last band there are more like it, without matrix elements.
            let last = w.len() / NW - 1;
            array!(NW, e => Line(std::array::from_fn(|lane| w[lane.min(last) * NW + e])))
        };
        let [plain, end] = [plan.plain / WIDTH, occ.len().div_ceil(WIDTH)];
        let occupied = plan.occupied.div_ceil(WIDTH).max(plain);
        let far_begin = plan.far_begin.div_ceil(WIDTH).max(occupied);
        let classes = Classes { plain, occupied, far_begin, end, half: plan.half };
        let size = WIDTH * NW;
        let empty = (occupied * size).min(wx.len())..(far_begin * size).min(wx.len());
        Eights {
            wx: wx.chunks(size).flat_map(of_row).collect(),
            occ: occ.chunks(WIDTH).map(line).collect(),
            classes,
            spans: [&wx[..plain * size], &wx[empty]].map(|wx| spans(wx, SPAN * size)),
        }
    }
}

fn line(numbers: &[f64]) -> Line {
    let mut line = Line::ZERO;
    line.0[..numbers.len()].copy_from_slice(numbers);
    line
}

/// Numbers of bands, eight in a row.
fn eights(numbers: &[Complex64]) -> Vec<Lines> {
    let parts = |part: fn(&Complex64) -> f64, row: &[Complex64]| {
        line(&row.iter().map(part).collect::<Vec<_>>())
    };
    numbers.chunks(WIDTH).map(|row| [parts(|z| z.re, row), parts(|z| z.im, row)]).collect()
}

/// The pairs of an `igp` and a block's `ig` that have a weight and are not summed by the definition.
struct PairList {
    igp: usize,
    others: [usize; BLOCK],
    of_static: [usize; BLOCK],
    /// How many there are of each.
    counts: [usize; 2],
}

impl PairList {
    fn of(task: &Task, block: &Tile, igp: usize) -> PairList {
        let (plan, fallback) = task.plan.expect("checked before");
        let ncouls = task.bands.ncouls;
        let [mut others, mut of_static] = [[0; BLOCK]; 2];
        let mut counts = [0; 2];
        for first in block.ig.clone().step_by(WIDTH) {
            let mut bits = !fallback.bits(ncouls, igp, first) & 0xff;
            while bits != 0 {
                let ig = first + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let pole = task.slab.wtilde[igp * ncouls + ig];
                let is_static = plan.has_static & (pole.re == STATIC) & (pole.im == 0.0);
                // Both without a branch, which would go either way.
                (others[counts[0]], of_static[counts[1]]) = (ig, ig);
                counts[0] += usize::from(!is_static);
                counts[1] += usize::from(is_static);
            }
        }
        PairList { igp, others, of_static, counts }
    }

    #[inline(always)]
    fn sums<F: Fraction, S: Simd, const NW: usize>(
        &self,
        token: S,
        task: &Task,
        bands: &Eights,
        (of_igp, products): (OfBands, &mut [Lines]),
    ) -> PairSums<S, NW> {
        let (panels, limits) = (task.panels.expect("checked before"), task.bands.limits);
        let vcoul = task.slab.vcoul_loc[self.igp];
        let first = self.igp * task.bands.ncouls;
        let splat = |value| S::f64s::splat(token, value);
        let mut sums = PairSums::<S, NW>::zero(token);
        for &ig in &self.others[..self.counts[0]] {
            let (wtilde, eps) = (task.slab.wtilde[first + ig], task.slab.eps[first + ig]);
            let largest2 = limits.limittwo.max(wtilde.norm_sqr() / limits.limitone);
            let pair = PairVector {
                token,
                wtilde: Complex::splat(token, wtilde),
                weight: Complex::splat(token, eps * vcoul),
                largest2: splat(largest2),
                largest: splat(largest2.sqrt()),
                rows: OfBands { aqsn: panels.panel(ig), ..of_igp },
                classes: &bands.classes,
                spans: &bands.spans,
                limits,
            };
            sums.add(&F::sums(&pair));
        }
        let mut of_static = [(panels.panel(0), Complex64::ZERO); BLOCK];
        let of_static = &mut of_static[..self.counts[1]];
        for (pair, &ig) in of_static.iter_mut().zip(&self.of_static) {
            *pair = (panels.panel(ig), task.slab.eps[first + ig] * vcoul);
        }
        if !of_static.is_empty() {
            add_up(token, of_static, of_igp.lane, products);
            let pair = PairVector {
                token,
                wtilde: Complex::splat(token, STATIC.into()),
                weight: Complex::splat(token, Complex64::ONE),
                largest2: splat(0.0),
                largest: splat(0.0),
                rows: OfBands { aqsn: products, ..of_igp },
                classes: &bands.classes,
                spans: &bands.spans,
                limits,
            };
            sums.add(&Static::sums(&pair));
        }
        sums
    }
}

/// Sums of weights times panels, of the bands from `lane` on.
#[inline(always)]
fn add_up<S: Simd>(token: S, pairs: &[(&[Lines], Complex64)], lane: usize, sums: &mut [Lines]) {
    // Two rows at a time: so many sums that each waits for none.
    for begin in (0..sums.len()).step_by(2) {
        let rows = [begin, (begin + 1).min(sums.len() - 1)];
        // Of weights times the real, and times the imaginary parts.
        let (mut of_re, mut of_im) = ([Complex::zero(token); 2], [Complex::zero(token); 2]);
        for (panel, weight) in pairs {
            let weight = Complex::splat(token, *weight);
            for at in 0..2 {
                let aqsn = Complex::of(token, &panel[rows[at]], lane);
                of_re[at] = of_re[at].add_scaled(weight, aqsn.re);
                of_im[at] = of_im[at].add_scaled(weight, aqsn.im);
            }
        }
        for at in 0..2 {
            let [re, im] = &mut sums[rows[at]];
            store(token, of_re[at].re - of_im[at].im, &mut re.0[lane..]);
            store(token, of_re[at].im + of_im[at].re, &mut im.0[lane..]);
        }
    }
}

/// Static pairs whose `aqsn` are added up.
///
/// So far from all energies `ssx = −eps` and `sch = −(1 + w/ω̃)·eps` to the last digit.
struct Static;

impl Fraction for Static {
    #[inline(always)]
    fn sums<S: Simd, R: Rows<S>, const NW: usize>(pairs: &PairVector<S, R>) -> PairSums<S, NW> {
        let mut occupied = BandSums::<S, 1>::zero(pairs.token);
        let mut all = BandSums::<S, NW>::zero(pairs.token);
        over_bands!(pairs, 0, pairs.classes.end, [occupied, all], band => {
            occupied.chain[0] = occupied.chain[0].add_scaled(band.m, band.occ);
            for e in 0..NW {
                let factor = band.w[e].mul_add(pairs.splat(1.0 / STATIC), pairs.splat(1.0));
                all.chain[e] = all.chain[e].add_scaled(band.m, factor);
            }
        });
        let ach = array!(NW, e => all.sum(e).scale(pairs.splat(-0.5)));
        PairSums { asx: [occupied.sum(0); NW], ach }
    }
}

/// Rows of eight bands, of one pair.
#[derive(Clone, Copy)]
struct OfBands<'a> {
    /// Matrix elements of G: a panel of [`crate::problem::IgPanels`].
    aqsn: &'a [Lines],
    /// The first of the bands in a row.
    lane: usize,
    /// Matrix elements of G′.
    aqsm: &'a [Lines],
    /// Energies, `(nw, rows)`.
    wx: &'a [Line],
    occ: &'a [Line],
}

impl<S: Simd> Rows<S> for OfBands<'_> {
    const SPAN: usize = SPAN;
    // With few rows, a compensation after each class would take as long as the terms of a few of them.
    const ENDS_EACH: bool = false;
    /// `aqsn`, `aqsm`, energies and occupations.
    type Row<'a, const NW: usize>
        = ((&'a Lines, &'a Lines), (&'a [Line; NW], &'a Line))
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
        let ((aqsn, aqsm), (wx, occ)) = row;
        let (aqsn, aqsm) =
            (Complex::of(token, aqsn, self.lane), Complex::of(token, aqsm, self.lane));
        let w = array!(NW, e => wx[e].vector(token, self.lane));
        Band { m: aqsm.conj_mul(aqsn), aqsn, aqsm, w, occ: occ.vector(token, self.lane) }
    }
}
