//! Parts of a calculation: bands n that follow each other.
//!
//! How it is cut hangs on the problem alone. The sums of each part begin with zero, and are added to the total in
//! the order of parts. So bits do not depend on who sums which part.

use std::ops::Range;

use super::Task;
use super::images::GROUP;

/// Groups of a part.
pub const GROUPS: usize = 2;

/// Bytes of the sums of energies that are summed together, unless one alone takes more.
const MOST: usize = 1 << 30;

/// Parts of a task.
pub fn count(task: &Task) -> usize {
    task.problem.extents().nbands.div_ceil(GROUPS * GROUP)
}

/// The bands n of a part.
pub fn bands(task: &Task, part: usize) -> Range<usize> {
    let each = GROUPS * GROUP;
    part * each..task.problem.extents().nbands.min((part + 1) * each)
}

/// The groups of a part.
pub fn groups(task: &Task, part: usize) -> Range<usize> {
    let bands = bands(task, part);
    bands.start / GROUP..bands.end.div_ceil(GROUP)
}

/// Energies whose sums are in memory at a time, one at least, where those of one take so many bytes. Elements of
/// different energies are no part of each other.
pub fn together(nw: usize, bytes: usize) -> usize {
    (MOST / bytes.max(1)).clamp(1, nw)
}

/// A range in pieces of at most so many.
pub fn ranges(all: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let end = all.end;
    all.step_by(most).map(move |begin| begin..end.min(begin + most))
}
