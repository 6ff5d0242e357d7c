//! `ssx` and `sch` of many pairs at one energy, as matrices: what Σ as a matrix multiplies by matrix elements.
//!
//! A term is written as in [`crate::definition`], with one reciprocal for each quotient.

use std::ops::Range;

use gpp_kernels::arrays::Limits;
use gpp_kernels::formula::TOL_ZERO;
use num_complex::Complex64;

use crate::lanes::{ComplexLanes, Lanes, WIDTH};
use crate::level::{Level, Levelled, at_level};

/// Real parts, imaginary parts, and their sums: element (ig, igp) of each at `ig + stride · igp`.
pub type Planes<'a> = [&'a mut [f64]; 3];

/// Pairs of some `ig` and `igp`.
#[derive(Clone)]
pub struct Pairs<'a> {
    /// ω̃ in eV, `(ncouls, igp)`.
    pub wtilde: &'a [Complex64],
    /// `δ − ε⁻¹`, alike.
    pub eps: &'a [Complex64],
    /// Rows of both.
    pub ncouls: usize,
    /// The `ig`.
    pub ig: Range<usize>,
    /// Columns of the planes are so far apart.
    pub stride: usize,
}

/// Makes `sch`, and `ssx` where there is room for it, at `w = wx(iw,n)`.
///
/// # Panics
/// Where planes are too short, or the processor does not have the level.
pub fn make(
    level: Level,
    pairs: &Pairs,
    (w, limits): (f64, Limits),
    sch: Planes,
    ssx: Option<Planes>,
) {
    match ssx {
        Some(ssx) => at_level::<Block<true>, _>(level, (pairs, w, limits, sch, ssx)),
        None => {
            at_level::<Block<false>, _>(level, (pairs, w, limits, sch, [&mut [], &mut [], &mut []]))
        }
    }
}

/// All of them, with `ssx` or without.
struct Block<const EXCHANGE: bool>;

type With<'a> = (&'a Pairs<'a>, f64, Limits, Planes<'a>, Planes<'a>);

impl<const EXCHANGE: bool> Levelled<With<'_>> for Block<EXCHANGE> {
    #[inline(always)]
    fn run<L: Lanes>(token: L::Token, (pairs, w, limits, mut sch, mut ssx): With) {
        let Pairs { wtilde, eps, ncouls, ref ig, stride } = *pairs;
        let (count, columns) = (ig.len(), wtilde.len() / ncouls);
        for igp in 0..columns {
            let from = igp * ncouls + ig.start;
            let (wtilde, eps) = (&wtilde[from..from + count], &eps[from..from + count]);
            let to = igp * stride;
            let mut at = 0;
            while at + L::COUNT <= count {
                let made = terms::<L>(token, &wtilde[at..], &eps[at..], w, limits);
                store(made[0], &mut sch, to + at);
                if EXCHANGE {
                    store(made[1], &mut ssx, to + at);
                }
                at += L::COUNT;
            }
            if at < count {
                // The last few, filled up with pairs of no weight.
                let (mut last, mut weights) = ([Complex64::ONE; WIDTH], [Complex64::ZERO; WIDTH]);
                last[..count - at].copy_from_slice(&wtilde[at..]);
                weights[..count - at].copy_from_slice(&eps[at..]);
                let made = terms::<L>(token, &last, &weights, w, limits);
                store_some(made[0], &mut sch, to + at, count - at);
                if EXCHANGE {
                    store_some(made[1], &mut ssx, to + at, count - at);
                }
            }
        }
    }
}

#[inline(always)]
fn store<L: Lanes>(z: ComplexLanes<L>, to: &mut Planes, at: usize) {
    z.re.store(&mut to[0][at..]);
    z.im.store(&mut to[1][at..]);
    z.re.add(z.im).store(&mut to[2][at..]);
}

#[inline(always)]
fn store_some<L: Lanes>(z: ComplexLanes<L>, to: &mut Planes, at: usize, count: usize) {
    let mut parts = [[0.0; WIDTH]; 3];
    z.re.store(&mut parts[0]);
    z.im.store(&mut parts[1]);
    z.re.add(z.im).store(&mut parts[2]);
    for plane in 0..3 {
        to[plane][at..at + count].copy_from_slice(&parts[plane][..count]);
    }
}

/// `sch` and `ssx` of the first pairs.
#[inline(always)]
fn terms<L: Lanes>(
    token: L::Token,
    wtilde: &[Complex64],
    eps: &[Complex64],
    w: f64,
    limits: Limits,
) -> [ComplexLanes<L>; 2] {
    let (re, im) = L::load_complex(token, wtilde);
    let wtilde = ComplexLanes::new(re, im);
    let (re, im) = L::load_complex(token, eps);
    let eps = ComplexLanes::new(re, im);
    let w = L::splat(token, w);
    let wtilde2 = wtilde.mul(wtilde);
    let (d, s) = (w.sub(wtilde.re), w.add(wtilde.re));
    let im2 = wtilde.im.mul(wtilde.im);
    let wdiffr = d.mul_add(d, im2);
    // ω̃·conj(wdiff)/|wdiff|².
    let delw = wtilde.mul(ComplexLanes::new(d, wtilde.im)).scale(wdiffr.reciprocal());
    let delwr = delw.norm_sqr();
    let is_far = L::splat(token, limits.limittwo).lt(wdiffr);
    let is_first = L::and(is_far, delwr.lt(L::splat(token, limits.limitone)));
    let is_some = L::or(is_first, L::splat(token, TOL_ZERO).lt(delwr));
    // w² − ω̃² or −2ω̃(w + ω̃).
    let first = ComplexLanes::new(d.mul_add(s, im2), wtilde2.im.neg());
    let second = wtilde.mul(ComplexLanes::new(s, wtilde.im)).scale(L::splat(token, -2.0));
    let re = L::select(is_first, first.re, second.re);
    let conj = ComplexLanes::new(re, L::select(is_first, first.im, second.im).neg());
    let ssx = wtilde2.mul(eps).mul(conj).scale(conj.norm_sqr().reciprocal());
    let sexcut = L::splat(token, limits.sexcut);
    let bound = sexcut.mul(sexcut).mul(eps.norm_sqr());
    // What is not a number is cut off like what is too large.
    let kept = L::or(L::splat(token, 0.0).le(w), ssx.norm_sqr().le(bound));
    [delw.mul(eps).keep(token, is_first), ssx.keep(token, L::and(is_some, kept))]
}
