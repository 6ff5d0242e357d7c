//! CH of each band at one energy, or its static CH.
//!
//! ```text
//! CH(n) = ½ Σ vcoul(igp) · conj(aqsm(igp,n)) · Σ sch(ig,igp,n) · aqsn(ig,n)
//! ```
//!
//! with `sch = −eps` for the static CH. The lanes of a vector hold eight bands of one pair, so that nothing is summed
//! over lanes, pairs without terms are left out, and a static pair needs no quotient. With `c = ω̃·eps` and the pole real,
//! `sch·aqsn` is `(1 + i·t)·aqsn / d` for `t = Im c / Re c` and `d = (w − ω̃) / Re c`. BandPairs with a pole near a band's
//! energy are summed by the definition.

use std::ops::Range;

use fearless_simd::prelude::*;
use gpp_kernels::lists::STATIC;
use num_complex::Complex64;

use crate::definition::{Definition, filled_up, load_filled_up};
use crate::problem::{BandSlices, SlabTask, Tiles};
use crate::simd::{ComplexVector, Level, Line, Lines, WIDTH, add_to, array, at_level, splat};
use crate::work::{CompensatedSum, Progress, SlabTile, map};

/// Rows of eight bands that are summed at once, so that no sum waits for another.
const AT_ONCE: usize = 4;

/// `ig` whose `aqsn` of these rows, 16 KB, stay in the first cache for all `igp` of a tile.
const BLOCK: usize = 32;

/// The sums of a slab, `(igp / tiles.igp, 2·nbands)`: real and imaginary part of each band. They have the same bits for
/// any number of threads.
pub fn sum<const IS_STATIC: bool>(
    task: &SlabTask,
    level: Level,
    tiles: Tiles,
    progress: Progress,
) -> Vec<f64> {
    let BandSlices { nbands, ncouls, .. } = task.bands;
    let groups = task.ngpown().div_ceil(tiles.igp);
    let rows = &EnergyRows::from_task(task);
    let sums = map(&tiles.in_slab(task), progress, |tile| {
        let mut sums = vec![Lines::default(); nbands.div_ceil(WIDTH)];
        let to = &mut sums[..];
        at_level!(level, token => add_tile(token, task, tile, rows, IS_STATIC, to));
        sums
    });
    let mut values = vec![0.0; groups * 2 * nbands];
    for (group, sums) in sums.chunks(ncouls.div_ceil(tiles.ig)).enumerate() {
        for n in 0..nbands {
            for part in 0..2 {
                let mut total = CompensatedSum::default();
                sums.iter().for_each(|sums| total.add(sums[n / WIDTH][part].0[n % WIDTH]));
                values[(2 * n + part) * groups + group] = total.value();
            }
        }
    }
    values
}

/// The energies of the bands, the least and the largest of those that are summed at once, and the size of the largest.
struct EnergyRows {
    w: Vec<Line>,
    spans: Vec<[f64; 2]>,
    largest: f64,
    /// A pole of size `s` is near an energy less than `max(nearest, scale · s)` away: the second branch may hold, or
    /// `w − ω̃` cancels.
    nearest: f64,
    scale: f64,
}

impl EnergyRows {
    fn from_task(task: &SlabTask) -> EnergyRows {
        let BandSlices { wx, limits, .. } = task.bands;
        let row = |w: &[f64]| Line(filled_up(w, w[w.len() - 1]));
        let span = |w: &[f64]| {
            w.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], &w| [a.min(w), b.max(w)])
        };
        EnergyRows {
            w: wx.chunks(WIDTH).map(row).collect(),
            spans: wx.chunks(AT_ONCE * WIDTH).map(span).collect(),
            largest: wx.iter().fold(0.0, |most, w| w.abs().max(most)),
            nearest: limits.limittwo.sqrt() * MARGIN,
            scale: (MARGIN / limits.limitone.sqrt()).max(0.125),
        }
    }
}

/// For the rounding of what is compared with a bound.
const MARGIN: f64 = 1.0 + 1e-12;

/// A pair that is not static.
struct BandPair {
    ig: usize,
    /// Between these the pole is near an energy.
    near: [f64; 2],
    /// `1 / Re c`, `ω̃ / Re c` and `t` of a real pole; `c` and `i·c·Im ω̃` of any.
    factors: [f64; 4],
}

/// The pairs of an `igp` and a block of `ig` that have terms.
#[derive(Default)]
struct BandPairs {
    /// `ig` and `−eps`.
    of_static: Vec<(usize, Complex64)>,
    real: Vec<BandPair>,
    any: Vec<BandPair>,
}

impl BandPairs {
    #[inline(never)]
    fn fill(
        &mut self,
        task: &SlabTask,
        igp: usize,
        ig: Range<usize>,
        rows: &EnergyRows,
        is_static: bool,
    ) {
        self.of_static.clear();
        self.real.clear();
        self.any.clear();
        for ig in ig {
            let pair = igp * task.bands.ncouls + ig;
            let (wtilde, eps) = (task.slab.wtilde[pair], task.slab.eps[pair]);
            let c = wtilde * eps;
            if if is_static { eps } else { c } == Complex64::ZERO {
                continue;
            }
            let size = wtilde.l1_norm();
            let within = rows.nearest.max(rows.scale * size);
            let mut near = [wtilde.re - within, wtilde.re + within];
            // The squares of w/ω̃ are below 1e-16.
            let is_far = wtilde == STATIC.into() && rows.largest <= 1e4 && rows.largest < near[0];
            if is_static || is_far {
                self.of_static.push((ig, -eps));
                continue;
            }
            // The product of four denominators is a number.
            let is_moderate = (1e-10..1e13).contains(&size) && rows.largest < 1e13;
            if !is_moderate || !(1e-30..1e30).contains(&c.l1_norm()) {
                near = [f64::NEG_INFINITY, f64::INFINITY];
            }
            let (of, factors) = if wtilde.im == 0.0 {
                let one = 1.0 / c.re.abs().max(c.im.abs() * 1e-18).copysign(c.re);
                (&mut self.real, [one, wtilde.re * one, c.im * one, 0.0])
            } else {
                (&mut self.any, [c.re, c.im, -wtilde.im * c.im, wtilde.im * c.re])
            };
            of.push(BandPair { ig, near, factors });
        }
    }
}

impl BandPair {
    #[inline(always)]
    fn is_clear(&self, [least, largest]: [f64; 2]) -> bool {
        largest < self.near[0] || self.near[1] < least
    }
}

#[inline(always)]
fn add_tile<S: Simd>(
    token: S,
    task: &SlabTask,
    tile: &SlabTile,
    rows: &EnergyRows,
    is_static: bool,
    sums: &mut [Lines],
) {
    let nbands = task.bands.nbands;
    let mut pairs: Vec<BandPairs> = tile.igp.clone().map(|_| BandPairs::default()).collect();
    for begin in tile.ig.clone().step_by(BLOCK) {
        for (igp, pairs) in tile.igp.clone().zip(&mut pairs) {
            let ig = begin..tile.ig.end.min(begin + BLOCK);
            pairs.fill(task, igp, ig, rows, is_static);
        }
        for (chunk, sums) in sums.chunks_mut(AT_ONCE).enumerate() {
            let first = chunk * AT_ONCE;
            if task.stop.is_asked() {
                return;
            }
            for (igp, pairs) in tile.igp.clone().zip(&pairs) {
                let aqsm = &task.slab.aqsm[igp * nbands..][..nbands];
                let half = 0.5 * task.slab.vcoul_loc[igp];
                for lane in (0..WIDTH).step_by(S::f64s::LEN) {
                    let row = array!(AT_ONCE, row => (first + row).min(rows.w.len() - 1));
                    let w = array!(AT_ONCE, r => rows.w[row[r]].vector(token, lane));
                    let span = rows.spans[chunk];
                    let sum = add_pairs(token, (task, igp, pairs), (row, lane), w, span, is_static);
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let aqsm_row = &aqsm[(row[r] * WIDTH + lane).min(nbands)..];
                        let aqsm_row = load_filled_up(token, aqsm_row, Complex64::ZERO);
                        let term = aqsm_row.conj_mul(sum[r]) * half;
                        add_to(token, term.re, &mut sums[0].0[lane..]);
                        add_to(token, term.im, &mut sums[1].0[lane..]);
                    }
                }
            }
        }
    }
}

/// `1/z` of each by one division.
#[inline(always)]
fn reciprocals<S: Simd>(token: S, [a, b, c, d]: [S::f64s; AT_ONCE]) -> [S::f64s; AT_ONCE] {
    let (ab, cd) = (a * b, c * d);
    let one = splat(token, 1.0) / (ab * cd);
    let (of_ab, of_cd) = (one * cd, one * ab);
    [of_ab * b, of_ab * a, of_cd * d, of_cd * c]
}

/// `Σ sch·aqsn` of the pairs of an `igp` for the bands of some rows from a lane on, whose energies lie in a span.
#[inline(always)]
fn add_pairs<S: Simd>(
    token: S,
    (task, igp, pairs): (&SlabTask, usize, &BandPairs),
    (at, lane): ([usize; AT_ONCE], usize),
    w: [S::f64s; AT_ONCE],
    span: [f64; 2],
    is_static: bool,
) -> [ComplexVector<S>; AT_ONCE] {
    let panels = task.panels.expect("checked before");
    let mut sum = [ComplexVector::zero(token); AT_ONCE];
    for &(ig, weight) in &pairs.of_static {
        let (weight, panel) = (ComplexVector::splat(token, weight), panels.panel(ig));
        for r in 0..AT_ONCE {
            sum[r] =
                sum[r].add_product(weight, ComplexVector::from_lines(token, &panel[at[r]], lane));
        }
    }
    if !is_static && !pairs.of_static.is_empty() {
        for r in 0..AT_ONCE {
            sum[r] = sum[r].scale(w[r].mul_add(1.0 / STATIC, 1.0));
        }
    }
    let mut has_near = false;
    let mut is_clear = |pair: &&BandPair| {
        let is_clear = pair.is_clear(span);
        has_near |= !is_clear;
        is_clear
    };
    for pair in pairs.real.iter().filter(&mut is_clear) {
        let [scale, pole, ratio, _] = array!(4, at => splat(token, pair.factors[at]));
        let one = reciprocals(token, array!(AT_ONCE, r => w[r].mul_add(scale, -pole)));
        let panel = panels.panel(pair.ig);
        for r in 0..AT_ONCE {
            let aqsn = ComplexVector::from_lines(token, &panel[at[r]], lane);
            let re = (-ratio).mul_add(aqsn.im, aqsn.re);
            let im = ratio.mul_add(aqsn.re, aqsn.im);
            sum[r] = sum[r].add_scaled(ComplexVector::new(re, im), one[r]);
        }
    }
    let column = igp * task.bands.ncouls;
    for pair in pairs.any.iter().filter(&mut is_clear) {
        let [c_re, c_im, k_re, k_im] = array!(4, at => splat(token, pair.factors[at]));
        let ComplexVector { re, im } =
            ComplexVector::splat(token, task.slab.wtilde[column + pair.ig]);
        let (d, im2) = (array!(AT_ONCE, r => w[r] - re), im * im);
        let one = reciprocals(token, array!(AT_ONCE, r => d[r].mul_add(d[r], im2)));
        let panel = panels.panel(pair.ig);
        for r in 0..AT_ONCE {
            let aqsn = ComplexVector::from_lines(token, &panel[at[r]], lane);
            let numerator = ComplexVector::new(c_re.mul_add(d[r], k_re), c_im.mul_add(d[r], k_im));
            sum[r] = sum[r].add_scaled(numerator * aqsn, one[r]);
        }
    }
    if !has_near {
        return sum;
    }
    let definition = Definition::<S, true> { token, limits: task.bands.limits };
    for pair in pairs.real.iter().chain(&pairs.any).filter(|pair| !pair.is_clear(span)) {
        let (index, panel) = (column + pair.ig, panels.panel(pair.ig));
        let wtilde_eps =
            [task.slab.wtilde[index], task.slab.eps[index]].map(|z| ComplexVector::splat(token, z));
        for r in 0..AT_ONCE {
            let [sch, _] = definition.sch_ssx(wtilde_eps, w[r]);
            let aqsn = ComplexVector::from_lines(token, &panel[at[r]], lane);
            sum[r] = sum[r].add_product(sch, aqsn);
        }
    }
    sum
}
