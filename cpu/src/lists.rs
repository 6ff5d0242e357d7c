//! Lists of the pairs of an `igp`, each with eight bands in a vector: [`crate::versions::statics`].
//!
//! A static pole is so far from all energies that `ssx = −eps` and `sch = −(1 + w/ω̃)·eps` to the
//! last digit. So the weighted `aqsn` of a block's static pairs are summed first of all.

use fearless_simd::prelude::*;
use gpp_kernels::lists::STATIC;
use num_complex::Complex64;

use crate::planned::{BandSums, Block, Fraction, PairSums, PairVector, PerBand};
use crate::simd::{Complex, Line, Lines, WIDTH, array};
use crate::work::CHAIN;

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
    fn add_block<F: Fraction, S: Simd, const NW: usize>(
        token: S,
        block: &Block<Line>,
        lanes: &mut [[f64; WIDTH]],
    ) {
        let &Block { task, igp, .. } = block;
        let panels = task.panels.expect("checked before");
        let (first, vcoul) = (igp * task.bands.ncouls, task.slab.vcoul_loc[igp]);
        let (others, of_static) = &pairs(block);
        for lane in (0..WIDTH).step_by(S::f64s::LEN) {
            for &ig in others {
                let wtilde = Complex::splat(token, task.slab.wtilde[first + ig]);
                let weight = Complex::splat(token, task.slab.eps[first + ig] * vcoul);
                let aqsn = panels.panel(ig);
                let pair = PairVector { token, block, wtilde, weight, aqsn, lane };
                F::sums::<S, Line, NW>(&pair).add_to(token, lane, lanes);
            }
            if !of_static.is_empty() {
                static_sums::<S, NW>(token, lane, block, of_static).add_to(token, lane, lanes);
            }
        }
    }
}

/// The regular pairs of a block: `ig` of those that are not static, then panels and weights of the static ones.
#[inline(never)]
fn pairs<'a>(block: &Block<'a, Line>) -> (Vec<usize>, Vec<(&'a [Lines], Complex64)>) {
    let &Block { task, tile, igp, ig, .. } = block;
    let (plan, fallback) = task.plan.expect("checked before");
    let (panels, ncouls) = (task.panels.expect("checked before"), task.bands.ncouls);
    let (mut others, mut of_static) = (Vec::new(), Vec::new());
    for ig in ig..tile.ig.end.min(ig + Line::BLOCK) {
        let pair = igp * ncouls + ig;
        if fallback.bits(ncouls, igp, ig & !7) >> (ig & 7) & 1 == 1 {
            continue;
        }
        if plan.has_static && task.slab.wtilde[pair] == STATIC.into() {
            of_static.push((panels.panel(ig), task.slab.eps[pair] * task.slab.vcoul_loc[igp]));
        } else {
            others.push(ig);
        }
    }
    (others, of_static)
}

/// Rows whose `aqsn` are summed at a time: so many sums that none waits for another.
const AT_ONCE: usize = 4;
const _: () = assert!(CHAIN.is_multiple_of(AT_ONCE));

/// The sums over static pairs with these panels and weights, for the bands from `lane` on.
#[inline(always)]
fn static_sums<S: Simd, const NW: usize>(
    token: S,
    lane: usize,
    block: &Block<Line>,
    pairs: &[(&[Lines], Complex64)],
) -> PairSums<S, NW> {
    let bands = block.bands;
    let mut occupied = BandSums::<S, 1>::zero(token);
    let mut all = BandSums::<S, NW>::zero(token);
    let rows = bands.occ.len();
    for begin in (0..rows).step_by(AT_ONCE) {
        let mut aqsn = [Complex::zero(token); AT_ONCE];
        for (panel, weight) in pairs {
            let weight = Complex::splat(token, *weight);
            for at in 0..AT_ONCE {
                let row = &panel[(begin + at).min(rows - 1)];
                aqsn[at] = aqsn[at].add_product(weight, Complex::of_lines(token, row, lane));
            }
        }
        for at in 0..AT_ONCE {
            let row = begin + at;
            if row < rows {
                let aqsm = Complex::of_lines(token, &block.aqsm[row], lane);
                let m = aqsm.conj_mul(aqsn[at]);
                let occ = bands.occ[row].vector(token, lane);
                occupied.chain[0] = occupied.chain[0].add_scaled(m, occ);
                for e in 0..NW {
                    let w = bands.wx[row * NW + e].vector(token, lane);
                    let factor = w.mul_add(1.0 / STATIC, 1.0);
                    all.chain[e] = all.chain[e].add_scaled(m, factor);
                }
            }
        }
        if (begin + AT_ONCE).is_multiple_of(CHAIN) {
            occupied.end_chain(token, true);
            all.end_chain(token, true);
        }
    }
    occupied.end_chain(token, true);
    all.end_chain(token, true);
    PairSums { asx: [occupied.sum(0); NW], ach: array!(NW, e => all.sum(e) * -0.5) }
}
