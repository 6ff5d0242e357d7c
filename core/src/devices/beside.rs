//! What versions take of the host's memory beside a problem's arrays: said by those who hold it, before they do.

use std::ops::Add;

use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;

use crate::catalogue;
use crate::problem::layout::preparation;
use crate::problem::memory::{AQSM_LOCAL, Of};
use crate::problem::{Extents, Outline};

/// Bytes beside the arrays of a problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// As long as there is a worker.
    pub bands: u64,
    /// While a slab is worked on.
    pub slab: u64,
}

impl Beside {
    /// What two need that are there one after the other.
    #[must_use]
    pub fn or(self, other: Beside) -> Beside {
        Beside { bands: self.bands.max(other.bands), slab: self.slab.max(other.slab) }
    }
}

impl Add for Beside {
    type Output = Beside;

    fn add(self, other: Beside) -> Beside {
        Beside {
            bands: self.bands.saturating_add(other.bands),
            slab: self.slab.saturating_add(other.slab),
        }
    }
}

/// What kernels for GPUs read that is laid out for them, layout by layout: those that sum a problem for these
/// versions, in slabs of these extents.
pub fn of_layouts(
    problem: Outline,
    versions: &[catalogue::Kernel],
    slab: Extents,
) -> impl Iterator<Item = Beside> {
    let of_version = |version: &catalogue::Kernel| problem.kernel(*version);
    let kernels: Vec<(&Kernel, usize)> = versions.iter().filter_map(of_version).collect();
    Layout::ALL.into_iter().filter_map(move |layout| {
        let those = kernels.iter().filter(|(kernel, _)| kernel.layout == layout);
        let nw = those.map(|(_, nw)| *nw).max()?;
        let slab = Extents { nw, ..slab };
        // A part of a slab has its rows far apart, so that the original layout is one of its own too.
        let aqsm_local = AQSM_LOCAL.bytes(slab, layout);
        let pairs = preparation(layout).bytes_while_made(slab, problem.poles);
        let bands = slab.bytes_beside(Of::Bands, layout, problem.keeps_order);
        Some(Beside { bands, slab: aqsm_local.saturating_add(pairs) })
    })
}
