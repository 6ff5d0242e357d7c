//! A digest that tells a problem's data from another's.

use gpp_kernels::arrays::Limits;
use rayon::prelude::*;
use twox_hash::XxHash64;

use crate::error::Result;
use crate::problem::{Extents, Problem};

/// Columns in the digest of a problem.
const SAMPLED: usize = 8;

/// A digest of the bands, limits and energies, and of the data of some igp, which are made or read now. In a built-in
/// system each column has a random stream of its own, so another generator shows in these few.
pub fn of_problem(problem: &Problem) -> Result<u64> {
    let Extents { ngpown, ncouls, .. } = problem.extents();
    let Limits { limittwo, limitone, sexcut } = problem.limits();
    let mut digests: Vec<u64> = problem.aqsn().par_chunks(ncouls).map(of).collect();
    digests.extend([of(problem.occ()), of(problem.wx()), of(&[limittwo, limitone, sexcut])]);
    let mut columns: Vec<usize> =
        (0..SAMPLED).map(|at| at * (ngpown - 1) / (SAMPLED - 1)).collect();
    columns.dedup();
    for igp in columns {
        let part = problem.part(igp..igp + 1)?;
        let slab = part.view();
        let aqsm: Vec<_> = slab.aqsm_local().columns().map(|column| column[0]).collect();
        digests.extend([of(slab.wtilde()), of(slab.eps()), of(&aqsm), of(slab.vcoul_loc())]);
    }
    digests.push(ngpown as u64);
    Ok(of(&digests))
}

pub fn of(numbers: &[impl bytemuck::NoUninit]) -> u64 {
    XxHash64::oneshot(0, bytemuck::cast_slice(numbers))
}
