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
    steps: u32,
    warps: u32,
    /// The step that is read.
    step: u32,
}

/// Steps between the last that is read and the one whose stage is filled anew, so that no warp waits for the slowest.
const SLACK: u32 = 1;

impl Ring {
    /// For so many steps and warps, whose first operands are asked for.
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
        let ring = Ring { rows, extent, base, steps, warps, step: 0 };
        if lane() == 0 {
            let mut stage = 0;
            while stage < Self::ahead(extent) && stage < steps {
                // SAFETY: the contract of this function.
                unsafe { ring.ask(stage) };
                stage += 1;
            }
        }
        ring
    }

    /// Steps that are asked for before they are read.
    const fn ahead(extent: Extent) -> u32 {
        extent.stages - SLACK - 1
    }

    /// Asks for a step's operands, once its stage is let go by the step that had it before.
    #[inline(always)]
    unsafe fn ask(&self, step: u32) {
        let (full, to) = (self.full(step), self.stage(step));
        let (left, right) = self.rows.at(step);
        let (left_bytes, right_bytes) = (self.extent.left_bytes(), self.extent.right_bytes());
        // SAFETY: a stage whose last readers let it go; the images hold the step.
        unsafe {
            wait(full + 8, self.phase(step) ^ 1);
            asm!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};",
                in(reg32) full, in(reg32) left_bytes + right_bytes, options(nostack));
            copy(to, left, left_bytes, full);
            copy(to + left_bytes, right, right_bytes, full);
        }
    }

    /// Barrier `full` of a step's stage; `empty` is behind it.
    #[inline(always)]
    fn full(&self, step: u32) -> u32 {
        self.base + 16 * (step % self.extent.stages)
    }

    /// Parity of the phase of a step's barriers.
    #[inline(always)]
    fn phase(&self, step: u32) -> u32 {
        step / self.extent.stages % 2
    }

    /// A step's stage.
    #[inline(always)]
    fn stage(&self, step: u32) -> u32 {
        self.base + BARRIERS + step % self.extent.stages * self.extent.stage_bytes()
    }

    /// The calling lane's place in the stage that is read.
    #[inline(always)]
    unsafe fn at(&self) -> u32 {
        // SAFETY: the caller's contract.
        self.stage(self.step) + unsafe { kept_lane() } % WARP * 16
    }
}

impl Stages for Ring {
    #[inline(always)]
    unsafe fn wait(&mut self, step: u32) {
        // SAFETY: this function's own contract. The step before has its operands in registers, since its products are
        // done. At that step's end they need not be there: an arrival does not wait for loads before it.
        unsafe {
            if step > 0 {
                let empty = self.full(step - 1) + 8;
                asm!("mbarrier.arrive.shared::cta.b64 _, [{}];", in(reg32) empty, options(nostack));
            }
            // Warps take turns: one that asked for all would be the last in each step, and the others wait for it.
            let next = step + Self::ahead(self.extent);
            if kept_lane() == next % self.warps * WARP && next < self.steps {
                self.ask(next);
            }
            warp_barrier();
            self.step = step;
            wait(self.full(step), self.phase(step));
        }
    }

    #[inline(always)]
    unsafe fn left(&self, at: u32) -> [PerLane<f64>; 2] {
        // SAFETY: this function's own contract.
        let pair = unsafe { load_shared_pair(self.at() + 16 * at) };
        [[pair.re], [pair.im]]
    }

    #[inline(always)]
    unsafe fn right(&self, at: u32) -> [PerLane<f64>; 2] {
        // SAFETY: this function's own contract.
        let pair = unsafe { load_shared_pair(self.at() + self.extent.left_bytes() + 16 * at) };
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
