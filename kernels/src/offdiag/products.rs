//! The loop of both products: a warp's tile of the sum, step by step.
//!
//! A complex product is three real ones: with `t1 = Ar·Pr`, `t2 = Ai·Pi` and `t3 = (Ar + Ai)·(Pr + Pi)`, the real
//! part is `t1 − t2` and the imaginary one `t3 − t1 − t2`.

use crate::offdiag::fragment::{Instruction, LANES, Left, Right, Sum, each, unrolled};
use crate::offdiag::poles::{Limits, Make};
use crate::offdiag::stages::Stages;

/// The three real products of a warp's tile.
pub type Products<const M: usize, const N: usize> = [[[Sum; 3]; N]; M];

/// Sums the steps of a warp's tile of `M` fragments of l by `N` of igp, those from `l` and `igp` on in a stage, `K` at a
/// time. The first `SPLIT` fragments of l are of the first item and its `w`, the others of the second.
///
/// # Safety
/// All lanes of the warp come here. The stages hold the fragments named, of `K` steps each, for so many steps: a
/// multiple of `K`.
#[inline(always)]
pub unsafe fn products<
    I: Instruction,
    P: Make<WORDS>,
    const WORDS: usize,
    const M: usize,
    const N: usize,
    const K: usize,
    const SPLIT: usize,
>(
    stages: &mut impl Stages,
    steps: u32,
    limits: Limits,
    w: [f64; 2],
    l: u32,
    igp: u32,
) -> Products<M, N> {
    let mut sums: Products<M, N> = [[[[[0.0; LANES]; 4]; 3]; N]; M];
    let mut stage = 0;
    while stage < steps / K as u32 {
        stages.wait(stage);
        let mut operands = [[[[[0.0; LANES]; 2]; K]; 3]; N];
        unrolled::<M>(|m| {
            if m == 0 || m == SPLIT {
                operands = made::<P, WORDS, N, K>(stages, w[usize::from(m > 0)], limits, igp);
            }
            multiplied::<I, N, K>(stages, l + m as u32, &operands, &mut sums[m]);
        });
        stage += 1;
    }
    sums
}

/// The right operands of a stage: P of `N` fragments of igp from `igp` on.
#[inline(always)]
unsafe fn made<P: Make<WORDS>, const WORDS: usize, const N: usize, const K: usize>(
    stages: &impl Stages,
    w: f64,
    limits: Limits,
    igp: u32,
) -> [[[Right; K]; 3]; N] {
    let mut made = [[[[[0.0; LANES]; 2]; K]; 3]; N];
    unrolled::<N>(|n| {
        unrolled::<K>(|k| {
            let mut words = [[[0.0; LANES]; 2]; WORDS];
            let first = (igp + n as u32) * WORDS as u32;
            unrolled::<WORDS>(|word| {
                words[word] = stages.right(k as u32, (first + word as u32) * 32);
            });
            let all = right::<P, WORDS>(&words, w, limits);
            unrolled::<3>(|of| made[n][of][k] = all[of]);
        });
    });
    made
}

/// Adds the products of fragment `l` of a stage with its right operands.
#[inline(always)]
unsafe fn multiplied<I: Instruction, const N: usize, const K: usize>(
    stages: &impl Stages,
    l: u32,
    operands: &[[[Right; K]; 3]; N],
    sums: &mut [[Sum; 3]; N],
) {
    let [mut re, mut im, mut both] = [[[[0.0; LANES]; 4]; K]; 3];
    unrolled::<K>(|k| re[k] = left(stages, k, l * 128));
    unrolled::<N>(|n| I::multiply(&mut sums[n][0], &re, &operands[n][0]));
    unrolled::<K>(|k| im[k] = left(stages, k, l * 128 + 64));
    unrolled::<N>(|n| I::multiply(&mut sums[n][1], &im, &operands[n][1]));
    unrolled::<K>(|k| {
        unrolled::<4>(|i| both[k][i] = each(|lane| re[k][i][lane] + im[k][i][lane]));
    });
    unrolled::<N>(|n| I::multiply(&mut sums[n][2], &both, &operands[n][2]));
}

/// A part, real or imaginary, of a fragment of step `k` of the stage.
///
/// # Safety
/// As [`Stages::left`].
#[inline(always)]
unsafe fn left(stages: &impl Stages, k: usize, at: u32) -> Left {
    // SAFETY: this function's own contract.
    let [[a0, a1], [a2, a3]] = [stages.left(k as u32, at), stages.left(k as u32, at + 32)];
    [a0, a1, a2, a3]
}

/// Real part, imaginary part and their sum of a fragment's elements.
#[inline(always)]
fn right<P: Make<WORDS>, const WORDS: usize>(
    words: &[[[f64; LANES]; 2]; WORDS],
    w: f64,
    limits: Limits,
) -> [Right; 3] {
    let mut made = [[[0.0; LANES]; 2]; 3];
    unrolled::<2>(|k| {
        for lane in 0..LANES {
            let [re, im] = P::make(core::array::from_fn(|word| words[word][k][lane]), w, limits);
            made[0][k][lane] = re;
            made[1][k][lane] = im;
            made[2][k][lane] = re + im;
        }
    });
    made
}

/// Real and imaginary part of a lane's element of the sum.
#[inline(always)]
pub fn complex([t1, t2, t3]: &[Sum; 3], element: usize, lane: usize) -> [f64; 2] {
    let (t1, t2, t3) = (t1[element][lane], t2[element][lane], t3[element][lane]);
    [t1 - t2, t3 - t1 - t2]
}
