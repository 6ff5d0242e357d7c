//! The test for the second branch: whether an energy is near a pole.

use num_complex::Complex64;

use crate::arrays::Arrays;
use crate::intrinsics::upper;

/// How a distance is compared with the largest of the second branch.
pub trait NearTest {
    /// What the loops keep of the largest distance.
    type Bound: Copy;

    /// The bound for the largest distance.
    fn bound(largest: f64) -> Self::Bound;

    /// Whether a distance takes the second branch.
    fn is_near(distance: f64, bound: Self::Bound) -> bool;
}

/// All digits.
pub struct Exact;

impl NearTest for Exact {
    type Bound = f64;

    #[inline(always)]
    fn bound(largest: f64) -> f64 {
        largest
    }

    #[inline(always)]
    fn is_near(distance: f64, bound: f64) -> bool {
        distance <= bound
    }
}

/// The upper words, outside the FP64 pipe. No energy is near enough to the bound for the lower word to
/// matter: such poles are odd.
pub struct UpperWord;

impl NearTest for UpperWord {
    type Bound = f32;

    #[inline(always)]
    fn bound(largest: f64) -> f32 {
        upper(largest)
    }

    #[inline(always)]
    fn is_near(distance: f64, bound: f32) -> bool {
        upper(distance) <= bound
    }
}

/// Largest `|wdiff|²` that takes the second branch.
#[inline(always)]
pub fn largest2(a: &Arrays, wtilde: Complex64) -> f64 {
    let two = a.limits.limittwo;
    let one = wtilde.norm_sqr() / a.limits.limitone;
    if one > two { one } else { two }
}
