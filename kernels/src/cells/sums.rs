//! The sums of the shares, in shared memory.

use super::cell::Cell;
use super::place::BANDS;
use super::team::Team;
use crate::sums::VALUES;

/// Calls `each` for every [`BANDS`]-th of `count`, from `first` on.
#[inline(always)]
pub fn each_of(first: u32, count: u32, mut each: impl FnMut(u32)) {
    let mut at = first;
    while at < count {
        each(at);
        at += BANDS;
    }
}

/// Where the sums of a share stand.
#[inline(always)]
pub const fn at<C: Cell>(share: u32) -> u32 {
    C::SUMS + VALUES as u32 * share
}

/// Adds to the sums of a share.
#[inline(always)]
pub fn add<C: Cell, T: Team>(team: &T, share: u32, values: [f64; VALUES]) {
    let at = at::<C>(share);
    let ([a, b], [c, d]) = (team.pair(at), team.pair(at + 2));
    team.set_pair(at, [a + values[0], b + values[1]]);
    team.set_pair(at + 2, [c + values[2], d + values[3]]);
}
