//! What the lanes of a warp hold: on the GPU a value of the calling lane, on the host those of all lanes.

use crate::intrinsics::WARP;

/// Lanes that one call goes through.
pub const LANES: usize = if cfg!(target_arch = "nvptx64") { 1 } else { WARP as usize };

/// A value of each lane.
pub type PerLane<T> = [T; LANES];

/// The lane that entry `at` of a [`PerLane`] is of.
#[inline(always)]
pub fn lane(at: usize) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let _ = at;
        crate::intrinsics::lane() % WARP
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        at as u32
    }
}

/// A value of each lane, made by itself.
#[inline(always)]
pub fn each<T: Copy>(make: impl Fn(usize) -> T) -> PerLane<T> {
    core::array::from_fn(make)
}

/// Calls `run` with 0 to `N − 1`, each call written out, so that what it indexes stays in registers.
#[inline(always)]
pub fn unrolled<const N: usize>(mut run: impl FnMut(usize)) {
    const { assert!(N <= 4) };
    if N > 0 {
        run(0);
    }
    if N > 1 {
        run(1);
    }
    if N > 2 {
        run(2);
    }
    if N > 3 {
        run(3);
    }
}
