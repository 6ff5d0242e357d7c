//! How operands come to a block: through a ring of stages in shared memory, a step each, by bulk copies that one
//! thread asks for ahead of time. On the host a stage is where the images are.

use super::image::{LEFT, RIGHT};
use super::lanes::PerLane;

/// The images of a block and where its rows begin, for each step.
pub trait Rows {
    /// The fragments of the left and of the right image for the next step; asked for once for each step.
    fn next(&mut self) -> (*const f64, *const f64);
}

/// What a warp waits for and reads from.
pub trait Stages {
    /// Waits for the operands of the next step, which is `step`.
    ///
    /// # Safety
    /// All lanes of the warp come here, as often as there are steps.
    unsafe fn wait(&mut self, step: u32);

    /// A pair of numbers of each lane, of 32 neighbouring ones from pair `at` of the left operand on.
    ///
    /// # Safety
    /// The operand holds them. All lanes come here between [`Stages::wait`] and [`Stages::release`].
    unsafe fn left(&self, at: u32) -> [PerLane<f64>; 2];

    /// As [`Stages::left`], of the right operand.
    ///
    /// # Safety
    /// As there.
    unsafe fn right(&self, at: u32) -> [PerLane<f64>; 2];

    /// Lets the step's operands go.
    ///
    /// # Safety
    /// All lanes of the warp come here, once after each [`Stages::wait`].
    unsafe fn release(&mut self);
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

    /// Bytes of a stage.
    pub const fn stage_bytes(self) -> u32 {
        self.left_bytes() + self.right_bytes()
    }

    /// With as many stages as fit into a block's shared memory, and not more than are of use.
    pub const fn filling(left: u32, right: u32, words: u32) -> Extent {
        let one = Extent { left, right, words, stages: 1 };
        let stages = (SHARED - BARRIERS) / one.stage_bytes();
        Extent { stages: if stages < MOST { stages } else { MOST }, ..one }
    }

    /// Bytes of shared memory that a block needs.
    pub const fn bytes(self) -> u32 {
        BARRIERS + self.stages * self.stage_bytes()
    }
}

/// Bytes of shared memory that a block may have on sm_90.
const SHARED: u32 = 227 << 10;

/// Stages at most.
const MOST: u32 = 9;

/// Bytes before the first stage, for two barriers of 8 bytes each stage.
pub const BARRIERS: u32 = 256;

/// The stages of the host: the images themselves.
#[cfg(not(target_arch = "nvptx64"))]
pub struct InPlace<R> {
    rows: R,
    now: (*const f64, *const f64),
}

#[cfg(not(target_arch = "nvptx64"))]
impl<R: Rows> InPlace<R> {
    /// Of these rows.
    pub fn reading(rows: R) -> Self {
        InPlace { rows, now: (core::ptr::null(), core::ptr::null()) }
    }
}

#[cfg(not(target_arch = "nvptx64"))]
unsafe fn pair(from: *const f64, at: u32) -> [PerLane<f64>; 2] {
    use super::lanes::each;
    [0, 1].map(|of| {
        // SAFETY: the callers' contract.
        each(|lane| unsafe { *from.add(2 * (at as usize + lane) + of) })
    })
}

#[cfg(not(target_arch = "nvptx64"))]
impl<R: Rows> Stages for InPlace<R> {
    unsafe fn wait(&mut self, _: u32) {
        self.now = self.rows.next();
    }

    unsafe fn left(&self, at: u32) -> [PerLane<f64>; 2] {
        // SAFETY: this function's own contract.
        unsafe { pair(self.now.0, at) }
    }

    unsafe fn right(&self, at: u32) -> [PerLane<f64>; 2] {
        // SAFETY: this function's own contract.
        unsafe { pair(self.now.1, at) }
    }

    unsafe fn release(&mut self) {}
}
