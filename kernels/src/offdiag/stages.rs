//! How operands come to a block: from where the images are, or through a ring of stages in shared memory, by bulk copies
//! that a thread asks for ahead of time. A stage holds the steps that a product takes at a time.

use super::image::{LEFT, RIGHT};
use super::lanes::{PerLane, each, lane};
use super::rows::Rows;
use crate::intrinsics::load_from_l1;

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
    ///
    /// # Safety
    /// As there.
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
    /// Steps.
    pub steps: u32,
    /// Stages.
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
    // SAFETY: the callers' contract.
    let pairs = each(|of| unsafe { load_from_l1(from.cast(), at + lane(of)) });
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
        // SAFETY: this function's own contract.
        unsafe { pair(from, at) }
    }

    #[inline(always)]
    unsafe fn right(&self, step: u32, at: u32) -> [PerLane<f64>; 2] {
        let from = self.now.1.wrapping_add(step as usize * self.rows.right_stride);
        // SAFETY: this function's own contract.
        unsafe { pair(from, at) }
    }
}
