//! Fragments of `mma.sync.m16n8k8` in FP64, which needs sm_90: `C (16 × 8) += A (16 × 8) · B (8 × 8)`; and what
//! multiplies them. Two fragments that follow each other in k are one of `mma.sync.m16n8k16`.
//!
//! With `g = lane / 4` and `t = lane % 4`, a lane holds, element by element,
//!
//! ```text
//! A (row, k):      (g, t)  (g + 8, t)  (g, t + 4)  (g + 8, t + 4)
//! B (k, column):   (t, g)  (t + 4, g)
//! C (row, column): (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
//! ```

use crate::intrinsics::WARP;
#[cfg(target_arch = "nvptx64")]
use crate::threads::each;

/// Operands of A and C.
pub const ROWS: u32 = 16;
/// Columns of B and C.
pub const COLUMNS: u32 = 8;
/// Columns of A, rows of B.
pub const DEPTH: u32 = 8;

pub type FragmentA = [PerLane<f64>; 4];
pub type FragmentB = [PerLane<f64>; 2];
pub type FragmentC = [PerLane<f64>; 4];

/// Row and column of a lane's element of C.
#[inline(always)]
pub const fn position_c(lane: u32, element: u32) -> (u32, u32) {
    (lane / 4 + 8 * (element / 2), 2 * (lane % 4) + element % 2)
}

/// How a warp multiplies fragments. All give the same bits: an element by fused operations, k rising.
pub trait Instruction {
    /// `c += a · b`, of `K` fragments that follow each other in k.
    #[cfg(target_arch = "nvptx64")]
    unsafe fn multiply<const K: usize>(c: &mut FragmentC, a: &[FragmentA; K], b: &[FragmentB; K]);

    /// The same on the CPU, for all lanes.
    #[cfg(not(target_arch = "nvptx64"))]
    unsafe fn multiply<const K: usize>(c: &mut FragmentC, a: &[FragmentA; K], b: &[FragmentB; K]) {
        for (a, b) in a.iter().zip(b) {
            for (at, lane) in (0..4).flat_map(|at| (0..LANES).map(move |lane| (at, lane))) {
                let (row, column) = position_c(lane as u32, at as u32);
                let (row, column) = (row as usize, column as usize);
                for k in 0..DEPTH as usize {
                    let a = a[row / 8 + 2 * (k / 4)][row % 8 * 4 + k % 4];
                    c[at][lane] = a.mul_add(b[k / 4][column * 4 + k % 4], c[at][lane]);
                }
            }
        }
    }
}

/// The instructions of sm_90: m16n8k8, or m16n8k16 for two fragments.
pub struct M16N8;

/// `mma.sync.m8n8k4` of sm_80, four times: for both halves of the rows, and of k.
pub struct M8N8K4;

/// Fused operations of each lane, which asks other lanes for rows and columns: on any GPU.
pub struct Vector;

impl Instruction for M16N8 {
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn multiply<const K: usize>(c: &mut FragmentC, a: &[FragmentA; K], b: &[FragmentB; K]) {
        const { assert!(K == 1 || K == 2) };
        if K == 1 {
            core::arch::asm!(
                "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}}}, {{{8}, {9}}}, {{{0}, {1}, {2}, {3}}};",
                inout(reg64) c[0][0], inout(reg64) c[1][0], inout(reg64) c[2][0], inout(reg64) c[3][0],
                in(reg64) a[0][0][0], in(reg64) a[0][1][0], in(reg64) a[0][2][0], in(reg64) a[0][3][0],
                in(reg64) b[0][0][0], in(reg64) b[0][1][0],
                options(pure, nomem, nostack, preserves_flags),
            );
        } else {
            let last = K - 1;
            core::arch::asm!(
                "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {{{0}, {1}, {2}, {3}}}, {{{4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}}}, {{{12}, {13}, {14}, {15}}}, {{{0}, {1}, {2}, {3}}};",
                inout(reg64) c[0][0], inout(reg64) c[1][0], inout(reg64) c[2][0], inout(reg64) c[3][0],
                in(reg64) a[0][0][0], in(reg64) a[0][1][0], in(reg64) a[0][2][0], in(reg64) a[0][3][0],
                in(reg64) a[last][0][0], in(reg64) a[last][1][0], in(reg64) a[last][2][0], in(reg64) a[last][3][0],
                in(reg64) b[0][0][0], in(reg64) b[0][1][0], in(reg64) b[last][0][0], in(reg64) b[last][1][0],
                options(pure, nomem, nostack, preserves_flags),
            );
        }
    }
}

impl Instruction for M8N8K4 {
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn multiply<const K: usize>(c: &mut FragmentC, a: &[FragmentA; K], b: &[FragmentB; K]) {
        each::<K>(|of| {
            each::<2>(|k| {
                each::<2>(|half| {
                    core::arch::asm!(
                        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {{{0}, {1}}}, {{{2}}}, {{{3}}}, {{{0}, {1}}};",
                        inout(reg64) c[2 * half][0], inout(reg64) c[2 * half + 1][0],
                        in(reg64) a[of][2 * k + half][0], in(reg64) b[of][k][0],
                        options(pure, nomem, nostack, preserves_flags),
                    );
                });
            });
        });
    }
}

impl Instruction for Vector {
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn multiply<const K: usize>(c: &mut FragmentC, a: &[FragmentA; K], b: &[FragmentB; K]) {
        each::<K>(|of| {
            let (a, b) = (&a[of], &b[of]);
            each::<2>(|half| {
                let lane = crate::intrinsics::thread_in_block() % crate::intrinsics::WARP;
                let mut k = 0;
                while k < 4 {
                    let from = |x: f64, lane| crate::intrinsics::shuffle(x, lane + k);
                    let [first, second] = [0, 4].map(|next| from(b[half][0], lane % 4 * 8 + next));
                    each::<2>(|below| {
                        let element = from(a[2 * half + below][0], lane / 4 * 4);
                        c[2 * below][0] = element * first + c[2 * below][0];
                        c[2 * below + 1][0] = element * second + c[2 * below + 1][0];
                    });
                    k += 1;
                }
            });
        });
    }
}

// Values of the lanes of a warp: on the GPU that of the calling lane, on the CPU those of all lanes.

pub const LANES: usize = if cfg!(target_arch = "nvptx64") { 1 } else { WARP as usize };

pub type PerLane<T> = [T; LANES];

#[inline(always)]
pub fn lane(index: usize) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    let (_, index) = (index, crate::intrinsics::thread_in_block() % WARP);
    index as u32
}

/// Warp `index` of a block: on the GPU the calling one.
#[inline(always)]
pub unsafe fn warp(index: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    let (_, index) = (index, crate::intrinsics::thread_in_register() / WARP);
    index
}
