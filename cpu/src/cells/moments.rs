//! The moments of a part.

use gpp_kernels::cells::series::MOMENTS;
use gpp_kernels::pairs::{Part, Pole};

use super::{CHUNK, Task};
use crate::lanes::{ComplexLanes, Lanes, array};

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
