//! The tiles of cpu:static: lists of the pairs of an `igp`, each with bands in vectors.

use fearless_simd::prelude::*;
use gpp_kernels::formula::VALUES;
use gpp_kernels::lists::STATIC;
use num_complex::Complex64;

use crate::definition::{FEW, add_fallback};
use crate::planned::{Band, BandSums, Classes, Fraction, PairSums, PairVector, Rows, Span};
use crate::planned::{aqsm, ordered, spans};
use crate::problem::{IgPanels, Line, Lines, Plan, Task};
use crate::simd::{Complex, WIDTH, array, store, tree};
use crate::work::{CHAIN, Compensated, Tile};

/// `ig` of a block, whose `aqsn` stay in the second cache for all `igp` of a tile: 400 KB for 800 bands.
const BLOCK: usize = 32;
const _: () = assert!(BLOCK <= CHAIN && CHAIN.is_multiple_of(SPAN));

/// Rows of a span.
const SPAN: usize = 4;

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
    for first in tile.ig.clone().step_by(BLOCK) {
        let block = Tile { igp: tile.igp.clone(), ig: first..tile.ig.end.min(first + BLOCK) };
        for ((at, igp), totals) in tile.igp.clone().enumerate().zip(&mut totals) {
            if task.stop.is_asked() {
                return;
            }
            let pairs = Listed::of(task, &block, igp);
            let mut lanes = [[0.0; WIDTH]; FEW * VALUES];
            for lane in (0..WIDTH).step_by(S::f64s::LEN) {
                let of_igp =
                    OfBands { aqsn: &[], lane, aqsm: &aqsm[at], wx: &bands.wx, occ: &bands.occ };
                let of_pairs = pairs.sums::<F, S, NW>(token, task, &bands, of_igp);
                for e in 0..NW {
                    let (asx, ach) = (of_pairs.asx[e], of_pairs.ach[e]);
                    for (value, sum) in [asx.re, asx.im, ach.re, ach.im].into_iter().enumerate() {
                        store(token, sum, &mut lanes[e * VALUES + value][lane..]);
                    }
                }
            }
            totals.iter_mut().zip(&lanes).for_each(|(total, lanes)| total.add(tree(lanes)));
        }
    }
    let (_, fallback) = task.plan.expect("checked before");
    let sums = sums.chunks_exact_mut(NW * VALUES);
    for ((igp, mut totals), sums) in tile.igp.clone().zip(totals).zip(sums) {
        add_fallback::<S, NW>(token, task, &fallback, (igp, &tile.ig), &mut totals);
        sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total.value());
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
struct Listed {
    igp: usize,
    ig: [usize; BLOCK],
    /// Of the static ones, which come last.
    weights: [Complex64; BLOCK],
    others: usize,
    end: usize,
}

impl Listed {
    fn of(task: &Task, block: &Tile, igp: usize) -> Listed {
        let (plan, fallback) = task.plan.expect("checked before");
        let ncouls = task.bands.ncouls;
        let mut list =
            Listed { igp, ig: [0; BLOCK], weights: [Complex64::ZERO; BLOCK], others: 0, end: 0 };
        let mut of_static = ([0; BLOCK], 0);
        for first in block.ig.clone().step_by(WIDTH) {
            let mut bits = !fallback.bits(ncouls, igp, first) & 0xff;
            while bits != 0 {
                let ig = first + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let pole = task.slab.wtilde[igp * ncouls + ig];
                if plan.has_static && pole == Complex64::new(STATIC, 0.0) {
                    of_static.0[of_static.1] = ig;
                    of_static.1 += 1;
                } else {
                    list.ig[list.others] = ig;
                    list.others += 1;
                }
            }
        }
        list.end = list.others + of_static.1;
        list.ig[list.others..list.end].copy_from_slice(&of_static.0[..of_static.1]);
        for at in list.others..list.end {
            list.weights[at] = task.slab.eps[igp * ncouls + list.ig[at]] * task.slab.vcoul_loc[igp];
        }
        list
    }

    #[inline(always)]
    fn sums<F: Fraction, S: Simd, const NW: usize>(
        &self,
        token: S,
        task: &Task,
        bands: &Eights,
        of_igp: OfBands,
    ) -> PairSums<S, NW> {
        let (panels, limits) = (task.panels.expect("checked before"), task.bands.limits);
        let mut sums = self.static_sums::<S, NW>(token, panels, bands, of_igp);
        for &ig in &self.ig[..self.others] {
            let at = self.igp * task.bands.ncouls + ig;
            let (wtilde, eps) = (task.slab.wtilde[at], task.slab.eps[at]);
            let largest2 = limits.limittwo.max(wtilde.norm_sqr() / limits.limitone);
            let pairs = PairVector {
                token,
                wtilde: Complex::splat(token, wtilde),
                weight: Complex::splat(token, eps * task.slab.vcoul_loc[self.igp]),
                largest2: S::f64s::splat(token, largest2),
                largest: S::f64s::splat(token, largest2.sqrt()),
                rows: OfBands { aqsn: panels.panel(ig), ..of_igp },
                classes: &bands.classes,
                spans: &bands.spans,
                limits,
            };
            let of_pair = F::sums::<S, _, NW>(&pairs);
            for e in 0..NW {
                sums.asx[e] = sums.asx[e] + of_pair.asx[e];
                sums.ach[e] = sums.ach[e] + of_pair.ach[e];
            }
        }
        sums
    }

    /// The sums of the static pairs.
    ///
    /// So far from all energies `ssx = −eps` and `sch = −(1 + w/ω̃)·eps` to the last digit.
    #[inline(always)]
    fn static_sums<S: Simd, const NW: usize>(
        &self,
        token: S,
        panels: &IgPanels,
        bands: &Eights,
        of_igp: OfBands,
    ) -> PairSums<S, NW> {
        let (zero, splat) = (Complex::zero(token), |value| S::f64s::splat(token, value));
        let (ig, weights) = (&self.ig[self.others..self.end], &self.weights[self.others..self.end]);
        let mut sums = PairSums { asx: [zero; NW], ach: [zero; NW] };
        let Some(&first) = ig.first() else { return sums };
        let mut panel = [panels.panel(first); BLOCK];
        panel.iter_mut().zip(ig).for_each(|(panel, &ig)| *panel = panels.panel(ig));
        // With the occupation, and with 1 + w/ω̃ of each energy.
        let mut occupied = BandSums::<S, 1>::zero(token);
        let mut all = BandSums::<S, NW>::zero(token);
        let rows = OfBands { aqsn: panel[0], ..of_igp };
        for begin in (0..bands.classes.end).step_by(CHAIN) {
            let end = bands.classes.end.min(begin + CHAIN);
            let mut at = begin;
            for row in Rows::<S>::range::<NW>(&rows, begin, end) {
                let band: Band<S, NW> = rows.band(token, row);
                // Of eps times the real, and times the imaginary part of aqsn.
                let (mut of_re, mut of_im) = (zero, zero);
                for (panel, weight) in panel.iter().zip(weights) {
                    let weight = Complex::splat(token, *weight);
                    let aqsn = Complex::of(token, &panel[at], of_igp.lane);
                    of_re = of_re.add_scaled(weight, aqsn.re);
                    of_im = of_im.add_scaled(weight, aqsn.im);
                }
                let sum = Complex::new(of_re.re - of_im.im, of_re.im + of_im.re);
                let term = band.aqsm.conj_mul(sum);
                occupied.chain[0] = occupied.chain[0].add_scaled(term, band.occ);
                for e in 0..NW {
                    let factor = band.w[e].mul_add(splat(1.0 / STATIC), splat(1.0));
                    all.chain[e] = all.chain[e].add_scaled(term, factor);
                }
                at += 1;
            }
            occupied.end_chain(token);
            all.end_chain(token);
        }
        for e in 0..NW {
            sums.asx[e] = occupied.sum(0);
            sums.ach[e] = all.sum(e).scale(splat(-0.5));
        }
        sums
    }
}

/// Rows of eight bands, of one pair.
#[derive(Clone, Copy)]
struct OfBands<'a> {
    /// Matrix elements of G: a panel of [`IgPanels`].
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
    // There are so few rows that most sums have no full chain.
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
