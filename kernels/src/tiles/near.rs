//! The test for the second branch: whether an energy is near a pole.

use num_complex::Complex;

use crate::arrays::Arrays;
use crate::real::Real;

/// How a distance is compared with the largest of the second branch.
pub trait NearTest {
    /// What the loops keep of the largest distance.
    type Bound<R: Real>: Copy;

    /// The bound for the largest distance.
    fn bound<R: Real>(largest: R) -> Self::Bound<R>;

    /// Whether a distance takes the second branch.
    fn is_near<R: Real>(distance: R, bound: Self::Bound<R>) -> bool;
}

/// All digits.
pub struct Exact;

impl NearTest for Exact {
    type Bound<R: Real> = R;

    #[inline(always)]
    fn bound<R: Real>(largest: R) -> R {
        largest
    }

    #[inline(always)]
    fn is_near<R: Real>(distance: R, bound: R) -> bool {
        distance <= bound
    }
}

/// The upper words, outside the FP64 pipe. No energy is near enough to the bound for the lower word to
/// matter: such poles are odd.
pub struct UpperWord;

impl NearTest for UpperWord {
    type Bound<R: Real> = f32;

    #[inline(always)]
    fn bound<R: Real>(largest: R) -> f32 {
        largest.upper()
    }

    #[inline(always)]
    fn is_near<R: Real>(distance: R, bound: f32) -> bool {
        distance.upper() <= bound
    }
}

/// Largest `|wdiff|²` that takes the second branch.
#[inline(always)]
pub fn largest2<R: Real>(a: &Arrays, wtilde: Complex<R>) -> R {
    let two = R::of(a.limits.limittwo);
    let one = wtilde.norm_sqr() / R::of(a.limits.limitone);
    if one > two { one } else { two }
}
