//! Reciprocals of several numbers.

use crate::lanes::Lanes;

/// `1/z` of each; `PAIRED` takes one division for two that are not zero and whose product is finite:
/// `1/a = b·r` and `1/b = a·r` with `r = 1/(a·b)`. A division runs beside the fused operations that an
/// approximate reciprocal would take for its corrections; there are few enough left for that.
#[inline(always)]
pub fn reciprocals<L: Lanes, const PAIRED: bool, const N: usize>(z: [L; N]) -> [L; N] {
    let mut one = z;
    let mut at = 0;
    while PAIRED && at + 1 < N {
        let both = z[at].mul(z[at + 1]).one_over();
        (one[at], one[at + 1]) = (z[at + 1].mul(both), z[at].mul(both));
        at += 2;
    }
    while at < N {
        one[at] = z[at].reciprocal();
        at += 1;
    }
    one
}
