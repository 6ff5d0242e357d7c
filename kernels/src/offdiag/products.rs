//! The loop of both products: a warp's tile of the sum, step by step.
//!
//! A complex product is three real ones: with `t1 = Ar·Pr`, `t2 = Ai·Pi` and `t3 = (Ar + Ai)·(Pr + Pi)`, the real
//! part is `t1 − t2` and the imaginary one `t3 − t1 − t2`.

use super::fragment::{Instruction, Left, Right, Sum};
use super::lanes::{LANES, each, unrolled};
use super::poles::{Limits, Make};
use super::stages::Stages;

/// The three real products of a warp's tile.
pub type Products<const M: usize, const N: usize> = [[[Sum; 3]; N]; M];

/// Sums the steps of a warp's tile of `M` fragments of l by `N` of igp, those from `l` and `igp` on in a stage. The
/// first `SPLIT` fragments of l are of the first item and its `w`, the others of the second.
///
/// # Safety
/// All lanes of the warp come here. The stages hold the fragments named, for so many steps.
#[inline(always)]
pub unsafe fn products<
    I: Instruction,
    P: Make<WORDS>,
    const WORDS: usize,
    const M: usize,
    const N: usize,
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
    let mut step = 0;
    while step < steps {
        // SAFETY: this function's own contract.
        unsafe {
            stages.wait(step);
            let mut made = [[[[0.0; LANES]; 2]; 3]; N];
            unrolled::<M>(|m| {
                if m == 0 || m == SPLIT {
                    unrolled::<N>(|n| {
                        let mut words = [[[0.0; LANES]; 2]; WORDS];
                        unrolled::<WORDS>(|word| {
                            words[word] =
                                stages.right(((igp + n as u32) * WORDS as u32 + word as u32) * 32);
                        });
                        made[n] = right::<P, WORDS>(&words, w[usize::from(m > 0)], limits);
                    });
                }
                let at = (l + m as u32) * 128;
                let [[a0, a1], [a2, a3]] = [stages.left(at), stages.left(at + 32)];
                let re: Left = [a0, a1, a2, a3];
                unrolled::<N>(|n| I::multiply(&mut sums[m][n][0], &re, &made[n][0]));
                let [[a0, a1], [a2, a3]] = [stages.left(at + 64), stages.left(at + 96)];
                let im: Left = [a0, a1, a2, a3];
                unrolled::<N>(|n| I::multiply(&mut sums[m][n][1], &im, &made[n][1]));
                let both: Left = core::array::from_fn(|i| each(|lane| re[i][lane] + im[i][lane]));
                unrolled::<N>(|n| I::multiply(&mut sums[m][n][2], &both, &made[n][2]));
            });
        }
        step += 1;
    }
    sums
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
