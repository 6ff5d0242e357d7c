//! Cells of poles anywhere in the complex plane: see [`gpp_kernels::sigma::complex`].

use gpp_kernels::arrays::Limits;
use gpp_kernels::sigma::complex::{MIN_DISTANCE as LEAST, MOMENTS};
use gpp_kernels::sigma::{Disc, Pole};
use gpp_kernels::sigma::{MARGIN as ROOM, MAX_DISTANCE as MOST};
use num_complex::Complex64;

use crate::cells::real::{Tells, Ways, load};
use crate::cells::{CHUNK, Task};
use crate::lanes::{ComplexLanes, Lanes, array};

// What the moments of a disc tell of its sums at each energy, where they do, in vectors:
// [`gpp_kernels::sigma::complex`] says why.

/// A disc in the vectors of energies: see [`gpp_kernels::sigma::complex::Acceptance`].
pub struct Bounds<L: Lanes> {
    token: L::Token,
    middle: Complex64,
    radius: f64,
    first: f64,
    second: f64,
    outside: f64,
    sizes: [f64; 2],
    sexcut: f64,
}

/// The weights of the moments for `1/(w − ω̃)`: `first`, and `step` times as much for each that follows.
struct Series<L> {
    first: ComplexLanes<L>,
    step: ComplexLanes<L>,
}

impl<L: Lanes> Bounds<L> {
    #[inline(always)]
    pub fn of(token: L::Token, disc: &Disc, limits: Limits) -> Bounds<L> {
        let Disc { middle, radius, .. } = *disc;
        let size = middle.norm_sqr().sqrt();
        let sizes = [size - radius, size + radius];
        let near = |size: f64| (size / limits.limitone.sqrt()).max(limits.limittwo.sqrt());
        let first = near(sizes[1]) * (1.0 + ROOM) + radius;
        let second = (near(sizes[0]) * (1.0 - ROOM) - radius).max(0.0);
        let outside = radius * (1.0 + ROOM);
        Bounds {
            token,
            middle,
            radius,
            first: first * first,
            second: second * second,
            outside: outside * outside,
            sizes,
            sexcut: limits.sexcut,
        }
    }

    #[inline(always)]
    fn splat(&self, value: f64) -> L {
        L::splat(self.token, value)
    }

    /// Whether moments tell the sums of a quotient whose `|w ∓ z₀|` has this square.
    #[inline(always)]
    fn is_told(&self, away: L) -> L::Mask {
        let least = LEAST * self.radius;
        L::and(self.splat(least * least).le(away), away.le(self.splat(MOST * MOST)))
    }

    /// Whether the cutoff takes `ssx` of all poles, and whether it takes none; there is one where `w < 0`.
    #[inline(always)]
    fn cut(&self, w: L, [away, opposite]: [L; 2], first: L::Mask) -> [L::Mask; 2] {
        let negative = w.lt(self.splat(0.0));
        if L::all(L::not(negative)) {
            return [negative, L::not(negative)];
        }
        let (away, opposite) = (away.sqrt(), opposite.sqrt());
        let bound = |room: f64, rounding: f64| {
            let room = self.splat(room);
            let sum = self.splat(self.sexcut * rounding).mul(opposite.add(room));
            L::select(first, sum.mul(away.add(room)), sum.add(sum))
        };
        let of = |size: f64| L::select(first, self.splat(size * size), self.splat(size));
        let [small, large] = self.sizes;
        let cut = bound(self.radius, 1.0 + ROOM).lt(of(small));
        let kept = of(large).lt(bound(-self.radius, 1.0 - ROOM));
        [L::and(negative, cut), L::or(L::not(negative), kept)]
    }

    /// Squares of `|w ∓ z₀|`.
    #[inline(always)]
    fn away(&self, w: L) -> [L; 2] {
        let (re, im2) = (self.splat(self.middle.re), self.splat(self.middle.im * self.middle.im));
        let (away, opposite) = (w.sub(re), w.add(re));
        [away.mul_add(away, im2), opposite.mul_add(opposite, im2)]
    }

    /// Of an occupied band or an empty one.
    #[inline(always)]
    fn ways(&self, w: L, occupied: bool) -> Ways<L> {
        let [away, opposite] = self.away(w);
        let first = self.splat(self.first).lt(away);
        // A pole at w itself has neither branch.
        let second = L::and(away.lt(self.splat(self.second)), self.splat(self.outside).lt(away));
        let told = L::or(L::and(first, self.is_told(away)), second);
        if !occupied {
            return Ways { told, first, ssx: L::mask(self.token, 0) };
        }
        let [cut, kept] = self.cut(w, [away, opposite], first);
        let ssx = L::and(L::and(kept, L::not(cut)), self.is_told(opposite));
        Ways { told: L::and(told, L::or(cut, ssx)), first, ssx }
    }

    #[inline(always)]
    fn series(&self, w: L) -> Series<L> {
        let d = w.sub(self.splat(self.middle.re));
        let im = self.splat(self.middle.im);
        let over = self.splat(1.0).div(d.mul_add(d, im.mul(im)));
        let first = ComplexLanes::new(d, im).scale(over);
        Series { first, step: first.scale(self.splat(self.radius)) }
    }

    /// The weight of the first moment for `1/(w − ω̃) − 1/(w + ω̃)`.
    #[inline(always)]
    fn difference(&self, q: &Series<L>, opposite: &Series<L>) -> ComplexLanes<L> {
        let twice = self.middle * -2.0;
        let twice = ComplexLanes::new(self.splat(twice.re), self.splat(twice.im));
        twice.mul(q.first.mul(opposite.first))
    }

    /// Moment `k` of a band.
    #[inline(always)]
    fn moment(&self, moments: &Moments, k: usize, at: usize) -> ComplexLanes<L> {
        let [re, im] = &moments[k];
        ComplexLanes::new(self.splat(re[at]), self.splat(im[at]))
    }

    /// What all moments of a band but the first give, before it is multiplied with [`Series::first`].
    #[inline(always)]
    fn tail(&self, series: &Series<L>, moments: &Moments, at: usize) -> ComplexLanes<L> {
        let mut sum = self.moment(moments, MOMENTS - 1, at);
        let mut k = MOMENTS - 2;
        while k > 0 {
            sum = self.moment(moments, k, at).add_product(sum, series.step);
            k -= 1;
        }
        sum.mul(series.step)
    }
}

impl<L: Lanes> Tells<L> for Bounds<L> {
    type Moments = Moments;

    #[inline(always)]
    fn ways(&self, w: L, occupied: bool) -> Ways<L> {
        self.ways(w, occupied)
    }

    /// No pole is `−w` there, and squares are finite.
    #[inline(always)]
    fn is_first(&self, w: L, occupied: bool) -> L::Mask {
        let [away, opposite] = self.away(w);
        let first = L::and(self.splat(self.first).lt(away), away.le(self.splat(MOST * MOST)));
        if !occupied {
            return first;
        }
        let [_, kept] = self.cut(w, [away, opposite], first);
        L::and(L::and(first, kept), self.splat(self.outside).lt(opposite))
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
        let first = L::and(told, first);
        let q = self.series(w);
        let of_first = self.moment(moments, 0, at);
        let tail = self.tail(&q, moments, at);
        *ach = ach.add(q.first.mul(of_first.add(tail)).keep(self.token, first));
        if occ != 0.0 {
            // 1/(w + ω̃) is −1/(−w − ω̃).
            let p = self.series(w.neg());
            let both = self.difference(&q, &p);
            let weight = ComplexLanes::new(
                L::select(first, both.re, p.first.re),
                L::select(first, both.im, p.first.im),
            );
            let given = p.first.mul(self.tail(&p, moments, at)).add_product(weight, of_first);
            let given = given.add(q.first.mul(tail).keep(self.token, first));
            let given = given.keep(self.token, L::and(told, ssx));
            *asx = asx.add_scaled(given, self.splat(-occ));
        }
    }
}

// The moments of a disc.

/// Real and imaginary parts of each moment, for the bands of a chunk.
pub type Moments = [[[f64; CHUNK]; 2]; MOMENTS];

/// Pairs whose factors stay at hand.
const BLOCK: usize = 16;

/// Moments that are summed together where there are enough registers, and where there are few: the same terms
/// in the same order.
const MANY: usize = 8;
const FEW: usize = 4;
const _: () = assert!(MOMENTS.is_multiple_of(MANY) && MANY.is_multiple_of(FEW));

/// Registers from which on there are enough.
const ENOUGH: usize = 32;

/// A number of each pair of a block, real and imaginary parts.
type OfBlock = [[f64; BLOCK]; 2];

/// What of the pairs of a block all bands have in common.
struct Factors {
    ig: [usize; BLOCK],
    igp: [usize; BLOCK],
    /// `vcoul·½·ω̃·eps`.
    weight: OfBlock,
    /// `ζ^k` for k from 1 on.
    powers: [OfBlock; MANY],
}

/// What the factors of a block are made of.
struct Gathered {
    vcoul: [f64; BLOCK],
    wtilde: OfBlock,
    eps: OfBlock,
}

impl Factors {
    const NONE: Factors = Factors {
        ig: [0; BLOCK],
        igp: [0; BLOCK],
        weight: [[0.0; BLOCK]; 2],
        powers: [[[0.0; BLOCK]; 2]; MANY],
    };

    /// Takes the pairs of a block apart: one by one, since they stand next to each other.
    #[inline(never)]
    fn gather(&mut self, task: &Task, block: &[Pole<Complex64>]) -> Gathered {
        let zero = [[0.0; BLOCK]; 2];
        let mut of = Gathered { vcoul: [0.0; BLOCK], wtilde: zero, eps: zero };
        for (at, pole) in block.iter().enumerate().take(BLOCK) {
            let (ig, igp) = (pole.ig as usize, pole.igp as usize);
            (self.ig[at], self.igp[at]) = (ig, igp);
            of.vcoul[at] = task.vcoul_loc[igp];
            (of.wtilde[0][at], of.wtilde[1][at]) = (pole.wtilde.re, pole.wtilde.im);
            (of.eps[0][at], of.eps[1][at]) = (pole.eps.re, pole.eps.im);
        }
        of
    }

    #[inline(always)]
    fn fill<L: Lanes>(&mut self, token: L::Token, of: &Gathered, disc: &Disc) {
        let (half, scale) = (L::splat(token, 0.5), L::splat(token, 1.0 / disc.radius));
        let middle = splat::<L>(token, disc.middle);
        let mut at = 0;
        while at < BLOCK {
            let from = |[re, im]: &OfBlock| {
                ComplexLanes::new(L::load(token, &re[at..]), L::load(token, &im[at..]))
            };
            let to = |values: ComplexLanes<L>, [re, im]: &mut OfBlock| {
                values.re.store(&mut re[at..]);
                values.im.store(&mut im[at..]);
            };
            let wtilde = from(&of.wtilde);
            let vcoul = half.mul(L::load(token, &of.vcoul[at..]));
            to(wtilde.mul(from(&of.eps)).scale(vcoul), &mut self.weight);
            let (re, im) = (wtilde.re.sub(middle.re), wtilde.im.sub(middle.im));
            let zeta = ComplexLanes::new(re, im).scale(scale);
            let mut power = zeta;
            let mut k = 0;
            while k < MANY {
                to(power, &mut self.powers[k]);
                power = power.mul(zeta);
                k += 1;
            }
            at += L::COUNT;
        }
    }
}

/// A complex number in each lane.
#[inline(always)]
fn splat<L: Lanes>(token: L::Token, number: Complex64) -> ComplexLanes<L> {
    ComplexLanes::new(L::splat(token, number.re), L::splat(token, number.im))
}

/// The number of pair `at` of a block in each lane.
#[inline(always)]
fn of_pair<L: Lanes>(token: L::Token, [re, im]: &OfBlock, at: usize) -> ComplexLanes<L> {
    ComplexLanes::new(L::splat(token, re[at]), L::splat(token, im[at]))
}

/// Adds the moments of a block from `first` on, of `COUNT` at a time, for a vector of bands; `u` is `c·M·ζ^first`
/// of each pair, and behind it that of the next ones.
#[inline(always)]
fn add<L: Lanes, const COUNT: usize>(
    token: L::Token,
    factors: &Factors,
    u: &mut [ComplexLanes<L>],
    moments: &mut [[[f64; CHUNK]; 2]],
    lane: usize,
) {
    let mut sums = array!(COUNT, _k => ComplexLanes::<L>::zero(token));
    let mut at = 0;
    while at < u.len() {
        let own = u[at];
        sums[0] = sums[0].add(own);
        let mut k = 1;
        while k < COUNT {
            sums[k] = sums[k].add_product(own, of_pair(token, &factors.powers[k - 1], at));
            k += 1;
        }
        u[at] = own.mul(of_pair(token, &factors.powers[COUNT - 1], at));
        at += 1;
    }
    let mut k = 0;
    while k < COUNT {
        let [re, im] = &mut moments[k];
        sums[k].re.add_to(&mut re[lane..]);
        sums[k].im.add_to(&mut im[lane..]);
        k += 1;
    }
}

/// Those of a disc for each band of a chunk.
#[inline(always)]
pub fn of_disc<L: Lanes>(
    token: L::Token,
    task: &Task,
    (disc, poles): (&Disc, &[Pole<Complex64>]),
    chunk: usize,
) -> Moments {
    let mut moments = [[[0.0; CHUNK]; 2]; MOMENTS];
    let mut factors = Factors::NONE;
    let mut begin = 0;
    while begin < poles.len() {
        let block = &poles[begin..poles.len().min(begin + BLOCK)];
        let gathered = factors.gather(task, block);
        factors.fill::<L>(token, &gathered, disc);
        // Rows follow each other in no order that the processor could foresee.
        for pole in poles[begin + block.len()..].iter().take(BLOCK) {
            task.aqsn.fetch(chunk, pole.ig as usize);
            task.aqsm.fetch(chunk, pole.igp as usize);
        }
        let mut lane = 0;
        while lane < CHUNK {
            let mut u = array!(BLOCK, _at => ComplexLanes::<L>::zero(token));
            let mut at = 0;
            while at < block.len() {
                let aqsn = task.aqsn.row(chunk, factors.ig[at]);
                let aqsm = task.aqsm.row(chunk, factors.igp[at]);
                let m = load::<L>(token, aqsm, lane).conj_mul(load(token, aqsn, lane));
                u[at] = m.mul(of_pair(token, &factors.weight, at));
                at += 1;
            }
            let u = &mut u[..block.len()];
            let mut first = 0;
            while first < MOMENTS {
                if L::REGISTERS >= ENOUGH {
                    add::<L, MANY>(token, &factors, u, &mut moments[first..], lane);
                    first += MANY;
                } else {
                    add::<L, FEW>(token, &factors, u, &mut moments[first..], lane);
                    first += FEW;
                }
            }
            lane += L::COUNT;
        }
        begin += BLOCK;
    }
    moments
}
