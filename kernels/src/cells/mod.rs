//! Pairs sorted by their poles: any number of energies for little more than a few.
//!
//! For real poles, with `c = vcoul·½·ω̃·eps`, `q = 1/(w − ω̃)` where the first branch holds and zero
//! elsewhere, and `p = 1/(w + ω̃)`, both branches are
//!
//! ```text
//! ach(iw) += c·M·q            asx(iw) −= occ·c·M·(q − p)   unless it is cut off
//! ```
//!
//! so `c·M` of a band is summed with weights that are functions of `w` and `ω̃` alone. A *cell* is the
//! pairs whose poles lie between two bounds, `ω̃ = mid + half·t` with `|t| ≤ 1`. Far from it these
//! functions are smooth in `t`, a few Chebyshev polynomials ([`series`]), and the *moments* of the cell,
//! `Σ c·M·T_k(t)` over its pairs, tell its sums at every energy of the band. Where a bound between branches
//! or the pole itself is in the cell, or too near to it, its pairs are summed one by one, by the definition.
//!
//! A block has 64 bands, a thread each, and goes through *parts*, cells that are not too large: it sums
//! moments, then its threads share energies and bands out anew (`share.rs`) and add what moments give there,
//! and their warps what has to be summed one by one. The sums of the shares stay in shared memory to its end.

mod at_energies;
mod cell;
mod moments;
mod one_by_one;
mod part;
mod place;
mod read;
pub mod series;
mod share;
mod sums;
mod team;

use crate::arguments::CellsArguments;
use crate::formula::TermFn;
use crate::grid::split;
use crate::sums::VALUES;
pub use cell::Cell;
use one_by_one::one_by_one;
pub use place::{BANDS, HOLDS, NUMBERS};
pub use share::Share;
use share::{each_of_energy, each_of_warp};
pub use sums::add;
use sums::each_of;
pub use team::*;

/// Blocks of a launch at most: each has its share of the parts, and the sums depend on how many share.
pub const BLOCKS: u32 = 1056;

/// The unit of a block in a round. For each chunk of bands parts get ever smaller, so who has the largest of a
/// round has the smallest of the next.
#[inline(always)]
fn unit(block: u32, blocks: u32, round: u32) -> u32 {
    round * blocks + if round.is_multiple_of(2) { block } else { blocks - 1 - block }
}

/// What a block does, all of its threads together: its share of the parts, whose sums it stores.
///
/// # Safety
/// The [launch contract](crate::contract), `block` one of `blocks`; `team` has [`BANDS`] threads and room for
/// the numbers of such cells: [`NUMBERS`], or those of [`crate::discs`].
#[inline(always)]
pub unsafe fn block<C: Cell, T: Team>(
    a: &CellsArguments,
    team: &T,
    block: u32,
    blocks: u32,
    term: impl TermFn + Copy,
) {
    team.all(|thread| {
        each_of(thread, VALUES as u32 * HOLDS, |at| team.set(C::SUMS + at, 0.0));
    });
    let units = a.units();
    let mut round = 0;
    loop {
        let unit = unit(block, blocks, round);
        if unit >= units {
            break;
        }
        let (chunk, part) = split(unit, a.count);
        // SAFETY: the launch contract; the part is one of all, the bands are within the rows.
        unsafe {
            let (part, first) = (C::read(a, part), chunk * BANDS);
            part.sum_moments(a, team, first);
            team.warps(|warp| {
                each_of_warp(warp, |shares| {
                    team.lanes(|lane| part.at_energy(a, team, first, shares + lane));
                    one_by_one(a, team, &part, first, shares, term);
                });
            });
        }
        round += 1;
    }
    team.all(|thread| {
        each_of(thread, VALUES as u32 * a.nw, |at| {
            let (iw, value) = (at / VALUES as u32, at % VALUES as u32);
            let mut sum = 0.0;
            each_of_energy(iw, a, |share| sum = sum + team.get(sums::at::<C>(share) + value));
            // SAFETY: the launch contract: room for the values of all blocks, this one's own.
            unsafe { *a.partials.add((at * blocks + block) as usize) = sum }
        });
    });
}
