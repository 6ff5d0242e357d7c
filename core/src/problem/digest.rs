//! Digests that tell a problem's data from another's.

use gpp_kernels::arrays::Limits;
use rayon::prelude::*;
use twox_hash::XxHash64;

use crate::error::Result;
use crate::problem::{Problem, SlabView};

/// Number of columns in the digest of a problem.
const SOME: usize = 8;

/// A digest of a problem: of its bands, limits and energies, and of some of its columns, which are made or read
/// now. A column is the data of one `igp` in a slab.
///
/// In a built-in system each column has a random stream of its own, so another generator shows in the few
/// columns made here.
pub fn of_problem(problem: &Problem) -> Result<u64> {
    let ngpown = problem.header().ngpown;
    let mut numbers: Vec<usize> = (0..SOME).map(|at| at * (ngpown - 1) / (SOME - 1)).collect();
    numbers.dedup();
    let mut digests = bands(problem);
    for igp in numbers {
        digests.extend(of_columns(problem.part(igp..igp + 1)?.view()));
    }
    digests.extend([ngpown as u64, of(&problem.header().above_state()), of(problem.wx())]);
    Ok(of(&digests))
}

/// The bands, in parts, and the limits.
fn bands(problem: &Problem) -> Vec<u64> {
    let Limits { limittwo, limitone, sexcut } = problem.limits();
    let e: Vec<f64> = (0..problem.extents().nbands).map(|n| problem.header().e(n)).collect();
    let mut digests: Vec<u64> =
        problem.aqsn().par_chunks(problem.extents().ncouls).map(of).collect();
    digests.extend([of(problem.occ()), of(&e), of(&[limittwo, limitone, sexcut])]);
    digests
}

/// A digest of each column of a slab.
fn of_columns(slab: SlabView) -> Vec<u64> {
    let (ncouls, aqsm) = (slab.ncouls(), slab.aqsm_local());
    let columns = slab.wtilde().par_chunks(ncouls).zip(slab.eps().par_chunks(ncouls));
    let of_column = |(at, (wtilde, eps))| {
        let row: Vec<_> = aqsm.columns().map(|column| column[at]).collect();
        of(&[of(wtilde), of(eps), of(&row), of(&slab.vcoul_loc()[at..=at])])
    };
    columns.enumerate().map(of_column).collect()
}

pub fn of(numbers: &[impl bytemuck::NoUninit]) -> u64 {
    XxHash64::oneshot(0, bytemuck::cast_slice(numbers))
}
