//! Parts of a calculation: groups of bands n that follow each other.
//!
//! How it is cut hangs on the problem alone. The sums of each part begin with zero, and are added to the total in
//! the order of parts. So bits do not depend on who sums which part.

use std::ops::Range;

use crate::offdiag::Task;
use crate::offdiag::images::GROUP;

pub fn count(task: &Task) -> usize {
    task.problem.extents().nbands.div_ceil(GROUP)
}

/// The bands n of a part.
pub fn bands(task: &Task, part: usize) -> Range<usize> {
    part * GROUP..task.problem.extents().nbands.min((part + 1) * GROUP)
}

/// A range in pieces of at most so many.
pub fn ranges(all: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let end = all.end;
    all.step_by(most).map(move |begin| begin..end.min(begin + most))
}
