//! The moments of a part.

use super::ways::MOMENTS;
use super::{CHUNK, Part, Pole, Task};
use crate::lanes::{ComplexLanes, Lanes, array};

/// Real and imaginary parts of each moment, for the bands of a chunk.
pub type Moments = [[[f64; CHUNK]; 2]; MOMENTS];

/// Pairs whose factors stay at hand.
const BLOCK: usize = 16;

/// What of a pair all bands have in common.
#[derive(Clone, Copy)]
struct Factors {
    ig: usize,
    igp: usize,
    /// `vcoul·½·ω̃·eps`.
    weight: [f64; 2],
    /// `T_k(t)`.
    polynomials: [f64; MOMENTS],
}

impl Factors {
    const NONE: Factors = Factors { ig: 0, igp: 0, weight: [0.0; 2], polynomials: [0.0; MOMENTS] };

    /// Those of a block: one by one, which is little beside the bands.
    #[inline(never)]
    fn fill(factors: &mut [Factors; BLOCK], task: &Task, block: &[Pole], mid: f64, scale: f64) {
        for (factors, &pole) in factors.iter_mut().zip(block) {
            *factors = Factors::of(task, pole, mid, scale);
        }
    }

    fn of(task: &Task, pole: Pole, mid: f64, scale: f64) -> Factors {
        let (ig, igp) = (pole.ig as usize, pole.igp as usize);
        let weight = 0.5 * task.vcoul_loc[igp] * pole.wtilde;
        let t = (pole.wtilde - mid) * scale;
        let mut polynomials = [1.0; MOMENTS];
        polynomials[1] = t;
        let mut k = 2;
        while k < MOMENTS {
            polynomials[k] = 2.0 * t * polynomials[k - 1] - polynomials[k - 2];
            k += 1;
        }
        Factors { ig, igp, weight: [weight * pole.eps.re, weight * pole.eps.im], polynomials }
    }
}

/// The bands of a row from `lane` on.
#[inline(always)]
fn load<L: Lanes>(token: L::Token, row: &[f64; 2 * CHUNK], lane: usize) -> ComplexLanes<L> {
    let (re, im) = row.split_at(CHUNK);
    ComplexLanes::new(L::load(token, &re[lane..]), L::load(token, &im[lane..]))
}

/// Those of a part for each band of a chunk.
#[inline(always)]
pub fn of_part<L: Lanes>(token: L::Token, task: &Task, part: &Part, chunk: usize) -> Moments {
    let mut moments = [[[0.0; CHUNK]; 2]; MOMENTS];
    let (mid, scale) = (0.5 * (part.low + part.high), 2.0 / (part.high - part.low));
    let poles = &task.poles[part.begin..part.end];
    let mut factors = [Factors::NONE; BLOCK];
    let mut begin = 0;
    while begin < poles.len() {
        let block = &poles[begin..poles.len().min(begin + BLOCK)];
        Factors::fill(&mut factors, task, block, mid, scale);
        let factors = &factors[..block.len()];
        // Rows follow each other in no order that the processor could foresee.
        for pole in poles[begin + block.len()..].iter().take(BLOCK) {
            task.aqsn.fetch(chunk, pole.ig as usize);
            task.aqsm.fetch(chunk, pole.igp as usize);
        }
        let mut lane = 0;
        while lane < CHUNK {
            let mut sums = array!(MOMENTS, _k => ComplexLanes::<L>::zero(token));
            for of in factors {
                let (aqsn, aqsm) = (task.aqsn.row(chunk, of.ig), task.aqsm.row(chunk, of.igp));
                let m = load::<L>(token, aqsm, lane).conj_mul(load(token, aqsn, lane));
                let [re, im] = of.weight;
                let u = ComplexLanes::new(L::splat(token, re), L::splat(token, im)).mul(m);
                sums[0] = sums[0].add(u);
                let mut k = 1;
                while k < MOMENTS {
                    sums[k] = sums[k].add_scaled(u, L::splat(token, of.polynomials[k]));
                    k += 1;
                }
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
