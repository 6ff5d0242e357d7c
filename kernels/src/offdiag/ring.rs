//! The ring of stages on the GPU.

use core::arch::{asm, global_asm};

use super::lanes::PerLane;
use super::rows::Rows;
use super::stages::{BARRIERS, Extent, Stages};
use crate::intrinsics::{WARP, barrier, kept_lane, lane, load_shared_pair, warp_barrier};

global_asm!(".extern .shared .align 128 .b8 gpp_offdiag_stages[];");

/// A block's ring. Barrier `full` of a stage tells that its operands are there, `empty` that all warps let them go.
pub struct Ring {
    rows: Rows,
    extent: Extent,
    base: u32,
    count: u32,
    warps: u32,
    /// The stage that is read, of all that come.
    now: u32,
}

/// Stages between the last that is read and the one that is filled anew, so that no warp waits for the slowest.
const SLACK: u32 = 1;

impl Ring {
    /// For so many steps, a multiple of a stage's, and warps; the first operands are asked for.
    ///
    /// # Safety
    /// All threads of the block come here, once. The block has [`Extent::bytes`] of dynamic shared memory. The
    /// images of `rows` hold all steps, aligned to 16 bytes.
    #[inline(always)]
    pub unsafe fn begun(rows: Rows, extent: Extent, steps: u32, warps: u32) -> Ring {
        let base: u32;
        // SAFETY: the address of a variable; barriers are made by one thread before any uses them.
        unsafe {
            asm!("mov.u32 {}, gpp_offdiag_stages;", out(reg32) base, options(pure, nomem, nostack));
            if lane() == 0 {
                let mut stage = 0;
                while stage < extent.stages {
                    make_barrier(base + 16 * stage, 1);
                    make_barrier(base + 16 * stage + 8, warps * WARP);
                    stage += 1;
                }
                asm!("fence.mbarrier_init.release.cluster;", options(nostack));
            }
            barrier();
        }
        let count = steps / extent.steps;
        let ring = Ring { rows, extent, base, count, warps, now: 0 };
        if lane() == 0 {
            let mut stage = 0;
            while stage < Self::ahead(extent) && stage < count {
                // SAFETY: the contract of this function.
                unsafe { ring.ask(stage) };
                stage += 1;
            }
        }
        ring
    }

    /// Stages that are asked for before they are read.
    const fn ahead(extent: Extent) -> u32 {
        extent.stages - SLACK - 1
    }

    /// Asks for a stage's operands, once its place is let go by the stage that had it before.
    #[inline(always)]
    unsafe fn ask(&self, stage: u32) {
        let (full, to) = (self.full(stage), self.place(stage));
        let Extent { steps, .. } = self.extent;
        let (left_bytes, right_bytes) = (self.extent.left_bytes(), self.extent.right_bytes());
        // SAFETY: a place whose last readers let it go; the images hold the steps.
        unsafe {
            wait(full + 8, self.phase(stage) ^ 1);
            asm!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};",
                in(reg32) full, in(reg32) self.extent.stage_bytes(), options(nostack));
            let mut step = 0;
            while step < steps {
                let (left, right) = self.rows.at(stage * steps + step);
                copy(to + step * left_bytes, left, left_bytes, full);
                copy(to + steps * left_bytes + step * right_bytes, right, right_bytes, full);
                step += 1;
            }
        }
    }

    /// Barrier `full` of a stage; `empty` is behind it.
    #[inline(always)]
    fn full(&self, stage: u32) -> u32 {
        self.base + 16 * (stage % self.extent.stages)
    }

    /// Parity of the phase of a stage's barriers.
    #[inline(always)]
    fn phase(&self, stage: u32) -> u32 {
        stage / self.extent.stages % 2
    }

    /// Where a stage is.
    #[inline(always)]
    fn place(&self, stage: u32) -> u32 {
        self.base + BARRIERS + stage % self.extent.stages * self.extent.stage_bytes()
    }

    /// The calling lane's place in the stage that is read.
    #[inline(always)]
    unsafe fn at(&self) -> u32 {
        // SAFETY: the caller's contract.
        self.place(self.now) + unsafe { kept_lane() } % WARP * 16
    }
}

impl Stages for Ring {
    #[inline(always)]
    unsafe fn wait(&mut self, stage: u32) {
        // SAFETY: this function's own contract. The stage before has its operands in registers, since its products are
        // done. Where its products end they need not be there: an arrival does not wait for loads before it.
        unsafe {
            if stage > 0 {
                let empty = self.full(stage - 1) + 8;
                asm!("mbarrier.arrive.shared::cta.b64 _, [{}];", in(reg32) empty, options(nostack));
            }
            // Warps take turns: one that asked for all would be the last in each stage, and the others wait for it.
            let next = stage + Self::ahead(self.extent);
            if kept_lane() == next % self.warps * WARP && next < self.count {
                self.ask(next);
            }
            warp_barrier();
            self.now = stage;
            wait(self.full(stage), self.phase(stage));
        }
    }

    #[inline(always)]
    unsafe fn left(&self, step: u32, at: u32) -> [PerLane<f64>; 2] {
        let operand = step * self.extent.left_bytes();
        // SAFETY: this function's own contract.
        let pair = unsafe { load_shared_pair(self.at() + operand + 16 * at) };
        [[pair.re], [pair.im]]
    }

    #[inline(always)]
    unsafe fn right(&self, step: u32, at: u32) -> [PerLane<f64>; 2] {
        let extent = self.extent;
        let operand = extent.steps * extent.left_bytes() + step * extent.right_bytes();
        // SAFETY: this function's own contract.
        let pair = unsafe { load_shared_pair(self.at() + operand + 16 * at) };
        [[pair.re], [pair.im]]
    }
}

/// Makes a barrier for so many arrivals.
#[inline(always)]
unsafe fn make_barrier(at: u32, count: u32) {
    // SAFETY: the caller's contract.
    unsafe {
        asm!("mbarrier.init.shared::cta.b64 [{}], {};", in(reg32) at, in(reg32) count, options(nostack));
    }
}

/// Waits until a barrier has left the phase of this parity.
#[inline(always)]
unsafe fn wait(at: u32, phase: u32) {
    loop {
        let done: u32;
        // SAFETY: the caller's contract.
        unsafe {
            asm!("{{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [{1}], {2}; selp.u32 {0}, 1, 0, done; }}",
                out(reg32) done, in(reg32) at, in(reg32) phase, options(nostack));
        }
        if done != 0 {
            return;
        }
    }
}

/// Copies to shared memory; the barrier is told of the bytes when they are there.
#[inline(always)]
unsafe fn copy(to: u32, from: *const f64, bytes: u32, full: u32) {
    // SAFETY: the caller's contract.
    unsafe {
        asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];",
            in(reg32) to, in(reg64) from, in(reg32) bytes, in(reg32) full, options(nostack));
    }
}
