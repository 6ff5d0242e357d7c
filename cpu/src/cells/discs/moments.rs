//! The moments of a disc.

use gpp_kernels::discs::series::MOMENTS;
use gpp_kernels::pairs::{Disc, Pole};
use num_complex::Complex64;

use crate::cells::moments::load;
use crate::cells::{CHUNK, Task};
use crate::lanes::{ComplexLanes, Lanes, array};

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
