//! The tile of a block, and its operands: read by each warp from global memory, or through a pipeline of stages in shared memory. A
//! thread is the producer of a stage: it starts bulk copies, which arrive at the stage's *full* barrier. All warps are its
//! consumers, and arrive at its *empty* barrier. A stage holds the k-tiles that a product takes at a time.

use core::array::from_fn;

use crate::intrinsics::{WARP, load_from_l1};
use crate::offdiag::mma::{Instruction, PerLane, lane};
use crate::offdiag::pack::{A_FRAGMENT, B_FRAGMENT, PackedOperands};

/// Compile-time parameters of the kernels of a version.
pub trait TileConfig {
    type Instruction: Instruction;
    type Pipeline: OperandPipeline;
    const TILE_U: BlockTile;
    const TILE_SIGMA: BlockTile;
    /// Whether an item may end within a warp's tile.
    const SPLITS: bool;
    const PIPELINED: bool;
}

/// The tile of a block: fragments of a warp, and warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockTile {
    /// Fragments of 16 l of a warp.
    pub m: u32,
    /// Fragments of 8 igp of a warp.
    pub n: u32,
    /// Warps along l.
    pub warps_m: u32,
    /// Warps along igp.
    pub warps_n: u32,
    /// k-tiles of a stage.
    pub k_tiles: u32,
}

impl BlockTile {
    pub const fn warps(self) -> u32 {
        self.warps_m * self.warps_n
    }

    pub const fn threads(self) -> u32 {
        self.warps() * WARP
    }

    /// Position of a warp along l and along igp: a scheduler, which has every fourth warp, has all along l.
    #[inline(always)]
    pub const fn warp_position(self, warp: u32) -> (u32, u32) {
        (warp / self.warps_n, warp % self.warps_n)
    }

    pub const fn a_fragments(self) -> u32 {
        self.m * self.warps_m
    }

    pub const fn b_fragments(self) -> u32 {
        self.n * self.warps_n
    }

    /// The stages of a block, with so many words in an element of B: as many, a power of two up to 8, as fit into its
    /// shared memory.
    pub const fn stages(self, words: u32) -> Stages {
        let (a, b) = (self.a_fragments(), self.b_fragments());
        let one = Stages { a, b, words, k_tiles: self.k_tiles, count: 1 };
        let mut count = 8;
        while count > (SHARED - BARRIERS) / one.stage_bytes() {
            count /= 2;
        }
        Stages { count, ..one }
    }
}

#[derive(Clone, Copy)]
pub struct Stages {
    /// Fragments of A and of B, and words of an element of B.
    pub a: u32,
    pub b: u32,
    pub words: u32,
    pub k_tiles: u32,
    pub count: u32,
}

impl Stages {
    pub const fn a_bytes(self) -> u32 {
        self.a * A_FRAGMENT * 8
    }

    pub const fn b_bytes(self) -> u32 {
        self.b * self.words * B_FRAGMENT * 8
    }

    /// Bytes of a stage: A of its k-tiles, then B.
    pub const fn stage_bytes(self) -> u32 {
        self.k_tiles * (self.a_bytes() + self.b_bytes())
    }

    pub const fn bytes(self) -> u32 {
        BARRIERS + self.count * self.stage_bytes()
    }
}

/// Bytes of shared memory that a block may have on sm_90.
const SHARED: u32 = 227 << 10;

/// Bytes before the first stage, for the full and the empty barrier of each, of 8 bytes.
pub const BARRIERS: u32 = 256;

pub trait OperandPipeline {
    /// Of so many k-tiles, a multiple of a stage's, with so many words in an element of B. All threads of a block come
    /// here, once; for [`Staged`] with [`Stages::bytes`] of dynamic shared memory.
    unsafe fn start(operands: PackedOperands, tile: BlockTile, words: u32, k_tiles: u32) -> Self;

    /// Waits for the operands of `stage`, one after the other. Those of the stage before are released.
    unsafe fn consume(&mut self, stage: u32);

    /// A pair of numbers for each lane, of 32 neighbouring pairs from `first` on, of A in k-tile `k` of the stage.
    unsafe fn a(&self, k: u32, first: u32) -> [PerLane<f64>; 2];

    /// The same of B.
    unsafe fn b(&self, k: u32, first: u32) -> [PerLane<f64>; 2];
}

/// No stages: each warp reads global memory.
pub struct Direct {
    operands: PackedOperands,
    k_tiles: u32,
    now: (*const f64, *const f64),
}

#[inline(always)]
unsafe fn pair(from: *const f64, first: u32) -> [PerLane<f64>; 2] {
    let pairs: PerLane<[f64; 2]> = from_fn(|of| load_from_l1(from.cast(), first + lane(of)));
    [0, 1].map(|half| from_fn(|of| pairs[of][half]))
}

impl OperandPipeline for Direct {
    #[inline(always)]
    unsafe fn start(operands: PackedOperands, tile: BlockTile, _words: u32, _k_tiles: u32) -> Self {
        Direct { operands, k_tiles: tile.k_tiles, now: (core::ptr::null(), core::ptr::null()) }
    }

    #[inline(always)]
    unsafe fn consume(&mut self, stage: u32) {
        self.now = self.operands.at(stage * self.k_tiles);
    }

    #[inline(always)]
    unsafe fn a(&self, k: u32, first: u32) -> [PerLane<f64>; 2] {
        pair(self.now.0.wrapping_add(k as usize * self.operands.a_stride), first)
    }

    #[inline(always)]
    unsafe fn b(&self, k: u32, first: u32) -> [PerLane<f64>; 2] {
        pair(self.now.1.wrapping_add(k as usize * self.operands.b_stride), first)
    }
}

/// On the CPU nothing is staged.
#[cfg(not(target_arch = "nvptx64"))]
pub type Staged = Direct;
#[cfg(target_arch = "nvptx64")]
pub use gpu::Staged;

#[cfg(target_arch = "nvptx64")]
mod gpu {
    use core::arch::{asm, global_asm};

    use super::{BARRIERS, BlockTile, OperandPipeline, Stages};
    use crate::intrinsics::{
        WARP, barrier, load_shared_pair, thread_in_block, thread_in_register, warp_barrier,
    };
    use crate::offdiag::mma::PerLane;
    use crate::offdiag::pack::PackedOperands;

    global_asm!(".extern .shared .align 128 .b8 gpp_offdiag_stages[];");

    /// The pipeline of a block in shared memory, a ring of stages.
    pub struct Staged {
        operands: PackedOperands,
        stages: Stages,
        base: u32,
        /// Stages of the whole product.
        count: u32,
        warps: u32,
        now: u32,
    }

    /// Stages between the one that is consumed and the one that is filled again, so that no warp waits for the slowest.
    const SLACK: u32 = 1;

    impl Staged {
        /// Stages that are produced before they are consumed.
        const fn ahead(stages: Stages) -> u32 {
            stages.count - SLACK - 1
        }

        /// Starts the copies of a stage's operands, once its empty barrier says that nobody reads what was there before.
        #[inline(always)]
        unsafe fn produce(&self, stage: u32) {
            let (full, to) = (self.full(stage), self.address(stage));
            let Stages { k_tiles, .. } = self.stages;
            let (a_bytes, b_bytes) = (self.stages.a_bytes(), self.stages.b_bytes());
            wait(full + 8, self.phase(stage) ^ 1);
            asm!("mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}], {};",
                in(reg32) full, in(reg32) self.stages.stage_bytes(), options(nostack));
            let mut k = 0;
            while k < k_tiles {
                let (a, b) = self.operands.at(stage * k_tiles + k);
                copy(to + k * a_bytes, a, a_bytes, full);
                copy(to + k_tiles * a_bytes + k * b_bytes, b, b_bytes, full);
                k += 1;
            }
        }

        /// The full barrier of a stage; the empty one is 8 bytes further on.
        #[inline(always)]
        fn full(&self, stage: u32) -> u32 {
            self.base + 16 * (stage % self.stages.count)
        }

        /// Parity of the phase of a stage's barriers.
        #[inline(always)]
        fn phase(&self, stage: u32) -> u32 {
            stage / self.stages.count % 2
        }

        #[inline(always)]
        fn address(&self, stage: u32) -> u32 {
            self.base + BARRIERS + stage % self.stages.count * self.stages.stage_bytes()
        }

        /// Address of the calling lane's first pair in the stage that is consumed.
        #[inline(always)]
        unsafe fn at(&self) -> u32 {
            self.address(self.now) + thread_in_register() % WARP * 16
        }
    }

    impl OperandPipeline for Staged {
        #[inline(always)]
        unsafe fn start(
            operands: PackedOperands,
            tile: BlockTile,
            words: u32,
            k_tiles: u32,
        ) -> Staged {
            let (stages, warps) = (tile.stages(words), tile.warps());
            let base: u32;
            asm!("mov.u32 {}, gpp_offdiag_stages;", out(reg32) base, options(pure, nomem, nostack));
            if thread_in_block() == 0 {
                let mut stage = 0;
                while stage < stages.count {
                    make_barrier(base + 16 * stage, 1);
                    make_barrier(base + 16 * stage + 8, warps * WARP);
                    stage += 1;
                }
                asm!("fence.mbarrier_init.release.cluster;", options(nostack));
            }
            barrier();
            let count = k_tiles / stages.k_tiles;
            let pipeline = Staged { operands, stages, base, count, warps, now: 0 };
            if thread_in_block() == 0 {
                let mut stage = 0;
                while stage < Self::ahead(stages) && stage < count {
                    pipeline.produce(stage);
                    stage += 1;
                }
            }
            pipeline
        }

        #[inline(always)]
        unsafe fn consume(&mut self, stage: u32) {
            // The products of the stage before are done, so its operands were read. An arrival right after the loads would not
            // wait for them.
            if stage > 0 {
                let empty = self.full(stage - 1) + 8;
                asm!("mbarrier.arrive.shared::cta.b64 _, [{}];", in(reg32) empty, options(nostack));
            }
            // Warps take turns as producers: one that produced all stages would be the last in each, and the others wait.
            let next = stage + Self::ahead(self.stages);
            if thread_in_register() == next % self.warps * WARP && next < self.count {
                self.produce(next);
            }
            warp_barrier();
            self.now = stage;
            wait(self.full(stage), self.phase(stage));
        }

        #[inline(always)]
        unsafe fn a(&self, k: u32, first: u32) -> [PerLane<f64>; 2] {
            let operand = k * self.stages.a_bytes();
            let pair = load_shared_pair(self.at() + operand + 16 * first);
            [[pair.re], [pair.im]]
        }

        #[inline(always)]
        unsafe fn b(&self, k: u32, first: u32) -> [PerLane<f64>; 2] {
            let stages = self.stages;
            let operand = stages.k_tiles * stages.a_bytes() + k * stages.b_bytes();
            let pair = load_shared_pair(self.at() + operand + 16 * first);
            [[pair.re], [pair.im]]
        }
    }

    #[inline(always)]
    unsafe fn make_barrier(address: u32, count: u32) {
        asm!("mbarrier.init.shared::cta.b64 [{}], {};", in(reg32) address, in(reg32) count, options(nostack));
    }

    /// Waits until a barrier has left the phase of this parity.
    #[inline(always)]
    unsafe fn wait(address: u32, phase: u32) {
        loop {
            let done: u32;
            asm!("{{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [{1}], {2}; selp.u32 {0}, 1, 0, done; }}",
                out(reg32) done, in(reg32) address, in(reg32) phase, options(nostack));
            if done != 0 {
                return;
            }
        }
    }

    /// A bulk copy to shared memory, which completes at the full barrier.
    #[inline(always)]
    unsafe fn copy(to: u32, from: *const f64, bytes: u32, full: u32) {
        asm!("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{}], [{}], {}, [{}];",
            in(reg32) to, in(reg64) from, in(reg32) bytes, in(reg32) full, options(nostack));
    }
}
