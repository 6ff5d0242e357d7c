//! Digests that tell a problem's data from another's.

use gpp_kernels::arrays::Limits;
use rayon::prelude::*;
use twox_hash::XxHash64;

use crate::error::Result;
use crate::problem::{Frame, SlabView, Slabs};

/// Number of columns in the digest of a problem.
const SOME: usize = 8;

/// A digest of a problem: of its bands, limits and energies, and of some of its columns, which are made or read
/// now. A column is the data of one `igp` in a slab.
///
/// In a built-in system each column has a random stream of its own, so another generator shows in the few
/// columns made here.
pub fn of_problem(slabs: Slabs) -> Result<u64> {
    let (frame, ngpown) = (slabs.frame(), slabs.frame().header().ngpown);
    let mut numbers: Vec<usize> = (0..SOME).map(|at| at * (ngpown - 1) / (SOME - 1)).collect();
    numbers.dedup();
    let mut digests = bands(frame);
    for igp in numbers {
        digests.extend(of_columns(slabs.part(igp..igp + 1)?.view()));
    }
    digests.extend([ngpown as u64, of(&frame.header().above_state()), of(frame.wx())]);
    Ok(of(&digests))
}

/// The bands, in parts, and the limits.
fn bands(frame: &Frame) -> Vec<u64> {
    let Limits { limittwo, limitone, sexcut } = frame.limits();
    let e: Vec<f64> = (0..frame.extents().nbands).map(|n| frame.header().e(n)).collect();
    let mut digests: Vec<u64> = frame.aqsn().par_chunks(frame.extents().ncouls).map(of).collect();
    digests.extend([of(frame.occ()), of(&e), of(&[limittwo, limitone, sexcut])]);
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
