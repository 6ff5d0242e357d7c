//! Digests that tell a problem's data from another's.

use gpp_kernels::arrays::Limits;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use super::{Frame, Origin, SlabView, Slabs};
use crate::error::Result;

/// A digest of a problem: of its bands and limits, of its energies, and of some of its columns. A column
/// is the data of one `igp` in a slab.
///
/// In a built-in system each column has a random stream of its own, so another generator shows in the few
/// columns made here. Other problems need the digest of all, `columns`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Of bands, limits and some columns.
    pub data: String,
    /// Of all energies of all bands.
    pub energies: String,
}

/// Number of columns in the digest of some.
const SOME: usize = 8;

impl Contents {
    /// Of a problem, some of whose columns are made or read now.
    ///
    /// # Errors
    /// Those of [`Slabs::part`].
    pub fn of(slabs: Slabs) -> Result<Contents> {
        let (frame, ngpown) = (slabs.frame(), slabs.frame().header().ngpown);
        let mut numbers: Vec<usize> = (0..SOME).map(|at| at * (ngpown - 1) / (SOME - 1)).collect();
        numbers.dedup();
        let mut digests = bands(frame);
        for igp in numbers {
            digests.extend(of_columns(slabs.part(igp..igp + 1)?.view()));
        }
        let above = frame.header().above_state();
        let [first, last] = [above.first(), above.last()].map(|ev| ev.copied().unwrap_or(f64::NAN));
        let energies =
            format!("{first} to {last} eV above the state's, {}", hex(&[of(frame.wx())]));
        Ok(Contents { data: hex(&digests), energies })
    }
}

/// Whether [`Contents`] tell this problem from all others that might be taken for it: then a digest of all
/// columns is not needed.
pub fn is_told_by_some(frame: &Frame) -> bool {
    matches!(frame.origin(), Origin::System(..))
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
pub fn of_columns(slab: SlabView) -> Vec<u64> {
    let (ncouls, aqsm) = (slab.ncouls(), slab.aqsm_local());
    let columns = slab.wtilde().par_chunks(ncouls).zip(slab.eps().par_chunks(ncouls));
    let of_column = |(at, (wtilde, eps))| {
        let row: Vec<_> = aqsm.columns().map(|column| column[at]).collect();
        of(&[of(wtilde), of(eps), of(&row), of(&slab.vcoul_loc()[at..=at])])
    };
    columns.enumerate().map(of_column).collect()
}

/// Of numbers, by their bits.
pub fn of(numbers: &[impl bytemuck::NoUninit]) -> u64 {
    XxHash64::oneshot(0, bytemuck::cast_slice(numbers))
}

/// 16 hexadecimal digits for digests in their order.
pub fn hex(digests: &[u64]) -> String {
    format!("{:016x}", of(digests))
}
