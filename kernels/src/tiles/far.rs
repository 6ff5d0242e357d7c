//! What is done with far bands ([`crate::plan`]), of which no pole is near.

use crate::arrays::Arrays;

/// Where the loop of far bands begins.
pub trait FarBands {
    /// The first band of that loop; those before it are summed like empty ones.
    fn begin(a: &Arrays) -> u32;
}

/// Far bands are summed like the other empty ones.
pub struct LikeEmpty;

impl FarBands for LikeEmpty {
    #[inline(always)]
    fn begin(a: &Arrays) -> u32 {
        a.nbands
    }
}

/// Far bands have a loop of their own, without the test for the second branch.
pub struct WithoutNearTest;

impl FarBands for WithoutNearTest {
    #[inline(always)]
    fn begin(a: &Arrays) -> u32 {
        a.plan.far_begin
    }
}
