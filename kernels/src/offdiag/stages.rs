//! How operands come to a block: from where the images are, or through a ring of stages in shared memory, by bulk copies
//! that a thread asks for ahead of time. A stage holds the steps that a product takes at a time.

use crate::intrinsics::load_from_l1;
use crate::offdiag::fragment::{PerLane, each, lane};
use crate::offdiag::image::{LEFT, RIGHT, Rows};

/// What a warp waits for and reads from.
pub trait Stages {
    /// Waits for the operands of the next stage, which is `stage`. Those of the stage before may go.
    ///
    /// # Safety
    /// All lanes of the warp come here, as often as there are stages.
    unsafe fn wait(&mut self, stage: u32);

    /// A pair of numbers of each lane, of 32 neighbouring ones from pair `at` on of the left operand of step `step` of
    /// the stage.
    ///
    /// # Safety
    /// The operand holds them. All lanes come here between a [`Stages::wait`] and the next.
    unsafe fn left(&self, step: u32, at: u32) -> [PerLane<f64>; 2];

    /// As [`Stages::left`], of the right operand.
    unsafe fn right(&self, step: u32, at: u32) -> [PerLane<f64>; 2];
}

/// What a block of fragments has in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Fragments of the left image.
    pub left: u32,
    /// Fragments of the right image.
    pub right: u32,
    /// Words of the right image.
    pub words: u32,
    pub steps: u32,
    pub stages: u32,
}

impl Extent {
    /// Bytes of the left operand of a step.
    pub const fn left_bytes(self) -> u32 {
        self.left * LEFT * 8
    }

    /// Bytes of the right operand of a step.
    pub const fn right_bytes(self) -> u32 {
        self.right * self.words * RIGHT * 8
    }

    /// Bytes of a stage: the left operands of its steps, then the right ones.
    pub const fn stage_bytes(self) -> u32 {
        self.steps * (self.left_bytes() + self.right_bytes())
    }

    /// With as many stages, a power of two, as fit into a block's shared memory and are of use.
    pub const fn filling(left: u32, right: u32, words: u32, steps: u32) -> Extent {
        let one = Extent { left, right, words, steps, stages: 1 };
        let mut stages = MOST;
        while stages > (SHARED - BARRIERS) / one.stage_bytes() {
            stages /= 2;
        }
        Extent { stages, ..one }
    }

    /// Bytes of shared memory that a block needs.
    pub const fn bytes(self) -> u32 {
        BARRIERS + self.stages * self.stage_bytes()
    }
}

/// Bytes of shared memory that a block may have on sm_90.
const SHARED: u32 = 227 << 10;

/// Stages at most.
const MOST: u32 = 8;

/// Bytes before the first stage, for two barriers of 8 bytes each stage.
pub const BARRIERS: u32 = 256;

/// No ring: each warp reads the images where they are.
pub struct InPlace {
    rows: Rows,
    steps: u32,
    now: (*const f64, *const f64),
}

impl InPlace {
    /// Of these rows, so many steps at a time.
    #[inline(always)]
    pub fn reading(rows: Rows, steps: u32) -> Self {
        InPlace { rows, steps, now: (core::ptr::null(), core::ptr::null()) }
    }
}

#[inline(always)]
unsafe fn pair(from: *const f64, at: u32) -> [PerLane<f64>; 2] {
    let pairs = each(|of| load_from_l1(from.cast(), at + lane(of)));
    [0, 1].map(|half| each(|of| pairs[of][half]))
}

impl Stages for InPlace {
    #[inline(always)]
    unsafe fn wait(&mut self, stage: u32) {
        self.now = self.rows.at(stage * self.steps);
    }

    #[inline(always)]
    unsafe fn left(&self, step: u32, at: u32) -> [PerLane<f64>; 2] {
        let from = self.now.0.wrapping_add(step as usize * self.rows.left_stride);
        pair(from, at)
    }

    #[inline(always)]
    unsafe fn right(&self, step: u32, at: u32) -> [PerLane<f64>; 2] {
        let from = self.now.1.wrapping_add(step as usize * self.rows.right_stride);
        pair(from, at)
    }
}

#[cfg(target_arch = "nvptx64")]
pub mod ring {
    //! The ring of stages on the GPU.

    use core::arch::{asm, global_asm};

    use crate::intrinsics::{WARP, barrier, kept_lane, lane, load_shared_pair, warp_barrier};
    use crate::offdiag::fragment::PerLane;
    use crate::offdiag::image::Rows;
    use crate::offdiag::stages::{BARRIERS, Extent, Stages};

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
            // The address of a variable; barriers are made by one thread before any uses them.
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
            let count = steps / extent.steps;
            let ring = Ring { rows, extent, base, count, warps, now: 0 };
            if lane() == 0 {
                let mut stage = 0;
                while stage < Self::ahead(extent) && stage < count {
                    ring.ask(stage);
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
            // A place whose last readers let it go; the images hold the steps.
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
            self.place(self.now) + kept_lane() % WARP * 16
        }
    }

    impl Stages for Ring {
        #[inline(always)]
        unsafe fn wait(&mut self, stage: u32) {
            // This function's own contract. The stage before has its operands in registers, since its products are
            // done. Where its products end they need not be there: an arrival does not wait for loads before it.
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

        #[inline(always)]
        unsafe fn left(&self, step: u32, at: u32) -> [PerLane<f64>; 2] {
            let operand = step * self.extent.left_bytes();
            let pair = load_shared_pair(self.at() + operand + 16 * at);
            [[pair.re], [pair.im]]
        }

        #[inline(always)]
        unsafe fn right(&self, step: u32, at: u32) -> [PerLane<f64>; 2] {
            let extent = self.extent;
            let operand = extent.steps * extent.left_bytes() + step * extent.right_bytes();
            let pair = load_shared_pair(self.at() + operand + 16 * at);
            [[pair.re], [pair.im]]
        }
    }

    /// Makes a barrier for so many arrivals.
    #[inline(always)]
    unsafe fn make_barrier(at: u32, count: u32) {
        asm!("mbarrier.init.shared::cta.b64 [{}], {};", in(reg32) at, in(reg32) count, options(nostack));
    }

    /// Waits until a barrier has left the phase of this parity.
    #[inline(always)]
    unsafe fn wait(at: u32, phase: u32) {
        loop {
            let done: u32;
            asm!("{{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [{1}], {2}; selp.u32 {0}, 1, 0, done; }}",
                out(reg32) done, in(reg32) at, in(reg32) phase, options(nostack));
            if done != 0 {
                return;
            }
        }
    }

    /// Copies to shared memory; the barrier is told of the bytes when they are there.
    #[inline(always)]
    unsafe fn copy(to: u32, from: *const f64, bytes: u32, full: u32) {
        asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];",
            in(reg32) to, in(reg64) from, in(reg32) bytes, in(reg32) full, options(nostack));
    }
}
