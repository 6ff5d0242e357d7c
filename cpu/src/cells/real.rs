//! What the moments of a cell tell of its sums at each energy, where they do, in vectors:
//! [`gpp_kernels::sigma::real`] says why.

use gpp_kernels::arrays::Limits;
use gpp_kernels::formula::VALUES;
use gpp_kernels::sigma::real::{MIN_DISTANCE as LEAST, MOMENTS};
use gpp_kernels::sigma::{Interval as Part, Pole};
use gpp_kernels::sigma::{MARGIN as ROOM, MAX_DISTANCE as MOST};

use crate::cells::singly::Left;
use crate::cells::{CHUNK, Energies, Task};
use crate::lanes::{ComplexLanes, Lanes, WIDTH, array};
use crate::work::Compensated;

/// A cell in the vectors of energies.
pub(super) struct Cell<L: Lanes> {
    token: L::Token,
    low: f64,
    high: f64,
    mid: f64,
    half: f64,
    limits: Limits,
}

/// Where a comparison holds, and where its contrary does; neither where rounding cannot tell.
struct Sure<L: Lanes> {
    yes: L::Mask,
    no: L::Mask,
}

/// How moments tell the sums at some energies.
pub(super) struct Ways<L: Lanes> {
    /// Where they do.
    pub told: L::Mask,
    /// Where the first branch holds.
    pub first: L::Mask,
    /// Where there is an `ssx`.
    pub ssx: L::Mask,
}

impl<L: Lanes> Cell<L> {
    #[inline(always)]
    fn splat(&self, value: f64) -> L {
        L::splat(self.token, value)
    }

    #[inline(always)]
    fn above(&self, x: L, other: L) -> Sure<L> {
        let yes = other.mul(self.splat(1.0 + ROOM)).lt(x);
        Sure { yes, no: x.lt(other.mul(self.splat(1.0 - ROOM))) }
    }

    /// Whether the first branch holds for a pole.
    #[inline(always)]
    fn is_first(&self, w: L, wtilde: f64) -> Sure<L> {
        let d = w.sub(self.splat(wtilde));
        let d2 = d.mul(d);
        let gamma = self.above(d2, self.splat(self.limits.limittwo));
        let ratio =
            self.above(d2.mul(self.splat(self.limits.limitone)), self.splat(wtilde * wtilde));
        Sure { yes: L::and(gamma.yes, ratio.yes), no: L::or(gamma.no, ratio.no) }
    }

    /// Whether the cutoff takes `ssx` of a pole where `w < 0`.
    #[inline(always)]
    fn is_cut(&self, w: L, wtilde: f64, first: L::Mask) -> Sure<L> {
        let pole = self.splat(wtilde);
        let sum = self.splat(self.limits.sexcut).mul(w.add(pole).abs());
        let is = L::select(first, pole.mul(pole), pole);
        let bound = L::select(first, w.sub(pole).abs().mul(sum), sum.mul(self.splat(2.0)));
        self.above(is, bound)
    }

    /// Whether it lies within the cell's bounds.
    #[inline(always)]
    fn is_within(&self, w: L) -> L::Mask {
        L::and(self.splat(self.low).le(w), w.le(self.splat(self.high)))
    }

    /// Whether moments tell the sums of `1/(w − ω̃)`.
    #[inline(always)]
    fn is_told(&self, w: L) -> L::Mask {
        let away = w.sub(self.splat(self.mid)).abs();
        L::and(self.splat(LEAST * self.half).le(away), away.le(self.splat(MOST * self.half)))
    }

    /// Of an occupied band or an empty one.
    #[inline(always)]
    fn ways(&self, w: L, occupied: bool) -> Ways<L> {
        let (low, high) = (self.is_first(w, self.low), self.is_first(w, self.high));
        let first = L::and(low.yes, high.yes);
        // A pole at w itself has neither branch.
        let second = L::and(L::and(low.no, high.no), L::not(self.is_within(w)));
        let told = L::or(L::and(first, self.is_told(w)), second);
        if !occupied {
            return Ways { told, first, ssx: L::mask(self.token, 0) };
        }
        let negative = w.lt(self.splat(0.0));
        let (low, high) = (self.is_cut(w, self.low, first), self.is_cut(w, self.high, first));
        let cut = L::and(negative, L::and(low.yes, high.yes));
        let opposite = w.neg();
        let kept = L::and(L::and(low.no, high.no), L::not(self.is_within(opposite)));
        let ssx = L::and(L::or(L::not(negative), kept), self.is_told(opposite));
        Ways { told: L::and(told, L::or(cut, ssx)), first, ssx: L::and(ssx, L::not(cut)) }
    }

    /// What the moments are weighted with for `1/(w − ω̃)`, and `r`.
    #[inline(always)]
    fn weights(&self, w: L) -> ([L; MOMENTS], L) {
        let (one, zero) = (self.splat(1.0), self.splat(0.0));
        let x = w.sub(self.splat(self.mid));
        let s = x.mul(self.splat(1.0 / self.half));
        let root = s.mul_add(s, one.neg()).sqrt();
        let sign = L::select(x.lt(zero), one.neg(), one);
        let step = sign.div(s.abs().add(root));
        let first = sign.div(root.mul(self.splat(self.half)));
        let mut power = first.add(first);
        let mut weights = array!(MOMENTS, _k => first);
        let mut k = 1;
        while k < MOMENTS {
            power = power.mul(step);
            weights[k] = power;
            k += 1;
        }
        (weights, root)
    }

    /// Weights and root for `1/(w − ω̃) − 1/(w + ω̃)`, of the weights for the two and each `r`.
    #[inline(always)]
    fn difference(
        &self,
        w: L,
        (q, q_root): ([L; MOMENTS], L),
        (p, p_root): ([L; MOMENTS], L),
    ) -> [L; MOMENTS] {
        let product = q_root.mul(p_root).mul(q_root.add(p_root));
        let scale = 4.0 * (self.mid / self.half) / self.half / self.half;
        let first = w.abs().mul(self.splat(scale)).div(product);
        let sums = array!(MOMENTS, k => q[k].add(p[k]));
        // Below they have the same sign.
        let first = L::select(self.splat(self.mid).lt(w.abs()), first, sums[0]);
        array!(MOMENTS, k => if k == 0 { first } else { sums[k] })
    }
}

/// The numbers of a vector, and zeros.
#[inline(always)]
pub(super) fn numbers<L: Lanes>(lanes: L) -> [f64; WIDTH] {
    let mut numbers = [0.0; WIDTH];
    lanes.add_to(&mut numbers);
    numbers
}

/// What moments tell of the sums of a part's pairs.
pub(super) trait Tells<L: Lanes> {
    /// Its moments, of the bands of a chunk.
    type Moments;

    /// How they do at some energies, of an occupied band or an empty one.
    fn ways(&self, w: L, occupied: bool) -> Ways<L>;

    /// Where it is known that the first branch holds for all poles and nothing is cut off.
    fn is_first(&self, w: L, occupied: bool) -> L::Mask;

    /// Adds what the moments of a band of this occupation, `at` of the chunk, give at some energies.
    fn add(
        &self,
        moments: &Self::Moments,
        at: usize,
        occ: f64,
        of: (L, Ways<L>),
        to: (&mut ComplexLanes<L>, &mut ComplexLanes<L>),
    );
}

impl<L: Lanes> Cell<L> {
    #[inline(always)]
    pub(super) fn of(token: L::Token, part: &Part, limits: Limits) -> Cell<L> {
        let (mid, half) = part.middle();
        Cell { token, low: part.low, high: part.high, mid, half, limits }
    }

    /// Moment `k` of a band.
    #[inline(always)]
    fn moment(&self, moments: &Moments, k: usize, at: usize) -> ComplexLanes<L> {
        let [re, im] = &moments[k];
        ComplexLanes::new(self.splat(re[at]), self.splat(im[at]))
    }
}

impl<L: Lanes> Tells<L> for Cell<L> {
    type Moments = Moments;

    #[inline(always)]
    fn ways(&self, w: L, occupied: bool) -> Ways<L> {
        self.ways(w, occupied)
    }

    /// Nowhere: the definition sums all that is left.
    #[inline(always)]
    fn is_first(&self, _: L, _: bool) -> L::Mask {
        L::mask(self.token, 0)
    }

    #[inline(always)]
    fn add(
        &self,
        moments: &Moments,
        at: usize,
        occ: f64,
        (w, Ways { told, first, ssx }): (L, Ways<L>),
        (asx, ach): (&mut ComplexLanes<L>, &mut ComplexLanes<L>),
    ) {
        let zero = self.splat(0.0);
        let first = L::and(told, first);
        let q = self.weights(w);
        let mut k = 0;
        while k < MOMENTS {
            let weight = L::select(first, q.0[k], zero);
            *ach = ach.add_scaled(self.moment(moments, k, at), weight);
            k += 1;
        }
        if occ != 0.0 {
            let kept = L::and(told, ssx);
            // 1/(w + ω̃) is −1/(−w − ω̃).
            let p = self.weights(w.neg());
            let both = self.difference(w, q, p);
            let occ = self.splat(-occ);
            let mut k = 0;
            while k < MOMENTS {
                let weight = L::select(first, both[k], p.0[k]).mul(occ);
                let weight = L::select(kept, weight, zero);
                *asx = asx.add_scaled(self.moment(moments, k, at), weight);
                k += 1;
            }
        }
    }
}

/// Adds what the moments of a part give at each energy (padded to whole vectors) to its sums, and lists the
/// bands and energies at which they do not tell it.
#[inline(always)]
pub(super) fn at_energies<L: Lanes, T: Tells<L>>(
    token: L::Token,
    task: &Task,
    (tells, moments): (&T, &T::Moments),
    (chunk, energies): (usize, &Energies),
    (sums, left): (&mut [Compensated], &mut Vec<Left>),
) {
    let (zero, one) = (L::splat(token, 0.0), L::splat(token, 1.0));
    let bands = task.bands(chunk);
    let (first_band, nw) = (bands.start, task.nw());
    let (mut begin, mut with_untold) = (0, Vec::new());
    while begin < nw {
        let (mut asx, mut ach) = (ComplexLanes::<L>::zero(token), ComplexLanes::<L>::zero(token));
        let mut untold = zero;
        for n in bands.clone() {
            let at = n - first_band;
            let w = L::load(token, &energies.of_band(at)[begin..]);
            let occ = task.occ[n];
            let ways = tells.ways(w, occ != 0.0);
            untold = untold.add(L::select(ways.told, zero, one));
            tells.add(moments, at, occ, (w, ways), (&mut asx, &mut ach));
        }
        let count = L::COUNT.min(nw - begin);
        for (value, lane) in [asx.re, asx.im, ach.re, ach.im].into_iter().enumerate() {
            let lanes = numbers(lane);
            for (iw, &sum) in (begin..).zip(&lanes[..count]) {
                sums[iw * VALUES + value].add(sum);
            }
        }
        if numbers(untold)[..count].iter().any(|&count| count != 0.0) {
            with_untold.push(begin);
        }
        begin += L::COUNT;
    }
    for n in bands {
        for &begin in &with_untold {
            let count = L::COUNT.min(nw - begin);
            let w = L::load(token, &energies.of_band(n - first_band)[begin..]);
            let Ways { told, .. } = tells.ways(w, task.occ[n] != 0.0);
            let is_first = tells.is_first(w, task.occ[n] != 0.0);
            let how = L::select(is_first, one.add(one), one);
            let lanes = numbers(L::select(told, zero, how));
            let untold = (begin..).zip(&lanes[..count]).filter(|(_, how)| **how != 0.0);
            left.extend(untold.map(|(iw, how)| Left::new(n, iw, *how > 1.0)));
        }
    }
}

const _: () = assert!(CHUNK.is_multiple_of(WIDTH));

// The moments of a part.

/// Real and imaginary parts of each moment, for the bands of a chunk.
pub type Moments = [[[f64; CHUNK]; 2]; MOMENTS];

/// Pairs whose factors stay at hand.
const BLOCK: usize = 16;

/// What of the pairs of a block all bands have in common.
struct Factors {
    ig: [usize; BLOCK],
    igp: [usize; BLOCK],
    /// Real and imaginary part of `vcoul·½·ω̃·eps`.
    weight: [[f64; BLOCK]; 2],
    /// `T_k(t)` for k from 1 on.
    polynomials: [[f64; BLOCK]; MOMENTS - 1],
}

/// What the factors of a block are made of.
struct Gathered {
    vcoul: [f64; BLOCK],
    wtilde: [f64; BLOCK],
    eps: [[f64; BLOCK]; 2],
}

impl Factors {
    const NONE: Factors = Factors {
        ig: [0; BLOCK],
        igp: [0; BLOCK],
        weight: [[0.0; BLOCK]; 2],
        polynomials: [[0.0; BLOCK]; MOMENTS - 1],
    };

    /// Takes the pairs of a block apart: one by one, since they stand next to each other.
    #[inline(never)]
    fn gather(&mut self, task: &Task, block: &[Pole]) -> Gathered {
        let mut of = Gathered { vcoul: [0.0; BLOCK], wtilde: [0.0; BLOCK], eps: [[0.0; BLOCK]; 2] };
        for (at, pole) in block.iter().enumerate().take(BLOCK) {
            let (ig, igp) = (pole.ig as usize, pole.igp as usize);
            (self.ig[at], self.igp[at]) = (ig, igp);
            (of.vcoul[at], of.wtilde[at]) = (task.vcoul_loc[igp], pole.wtilde);
            (of.eps[0][at], of.eps[1][at]) = (pole.eps.re, pole.eps.im);
        }
        of
    }

    #[inline(always)]
    fn fill<L: Lanes>(&mut self, token: L::Token, of: &Gathered, mid: f64, scale: f64) {
        let (half, one) = (L::splat(token, 0.5), L::splat(token, 1.0));
        let (mid, scale) = (L::splat(token, mid), L::splat(token, scale));
        let mut at = 0;
        while at < BLOCK {
            let wtilde = L::load(token, &of.wtilde[at..]);
            let weight = half.mul(L::load(token, &of.vcoul[at..])).mul(wtilde);
            weight.mul(L::load(token, &of.eps[0][at..])).store(&mut self.weight[0][at..]);
            weight.mul(L::load(token, &of.eps[1][at..])).store(&mut self.weight[1][at..]);
            let t = wtilde.sub(mid).mul(scale);
            let twice = t.add(t);
            let (mut before, mut now) = (one, t);
            let mut k = 0;
            while k < MOMENTS - 1 {
                now.store(&mut self.polynomials[k][at..]);
                (before, now) = (now, twice.mul_add(now, before.neg()));
                k += 1;
            }
            at += L::COUNT;
        }
    }
}

/// The bands of a row from `lane` on.
#[inline(always)]
pub(super) fn load<L: Lanes>(
    token: L::Token,
    row: &[f64; 2 * CHUNK],
    lane: usize,
) -> ComplexLanes<L> {
    let (re, im) = row.split_at(CHUNK);
    ComplexLanes::new(L::load(token, &re[lane..]), L::load(token, &im[lane..]))
}

/// Those of a part for each band of a chunk.
#[inline(always)]
pub fn of_part<L: Lanes>(
    token: L::Token,
    task: &Task,
    (part, poles): (&Part, &[Pole]),
    chunk: usize,
) -> Moments {
    let mut moments = [[[0.0; CHUNK]; 2]; MOMENTS];
    let (mid, scale) = (0.5 * (part.low + part.high), 2.0 / (part.high - part.low));
    let mut factors = Factors::NONE;
    let mut begin = 0;
    while begin < poles.len() {
        let block = &poles[begin..poles.len().min(begin + BLOCK)];
        let gathered = factors.gather(task, block);
        factors.fill::<L>(token, &gathered, mid, scale);
        // Rows follow each other in no order that the processor could foresee.
        for pole in poles[begin + block.len()..].iter().take(BLOCK) {
            task.aqsn.fetch(chunk, pole.ig as usize);
            task.aqsm.fetch(chunk, pole.igp as usize);
        }
        let mut lane = 0;
        while lane < CHUNK {
            let mut sums = array!(MOMENTS, _k => ComplexLanes::<L>::zero(token));
            let mut at = 0;
            while at < block.len() {
                let aqsn = task.aqsn.row(chunk, factors.ig[at]);
                let aqsm = task.aqsm.row(chunk, factors.igp[at]);
                let m = load::<L>(token, aqsm, lane).conj_mul(load(token, aqsn, lane));
                let re = L::splat(token, factors.weight[0][at]);
                let u = ComplexLanes::new(re, L::splat(token, factors.weight[1][at])).mul(m);
                sums[0] = sums[0].add(u);
                let mut k = 1;
                while k < MOMENTS {
                    let polynomial = L::splat(token, factors.polynomials[k - 1][at]);
                    sums[k] = sums[k].add_scaled(u, polynomial);
                    k += 1;
                }
                at += 1;
            }
            for (sum, [re, im]) in sums.into_iter().zip(&mut moments) {
                sum.re.add_to(&mut re[lane..]);
                sum.im.add_to(&mut im[lane..]);
            }
            lane += L::COUNT;
        }
        begin += BLOCK;
    }
    moments
}
