//! What kernels are given of a problem and of the slab that a lane has in place.

use gpp_kernels::arguments::{Arguments, PaperArguments};
use gpp_kernels::kernel::Kernel;

use super::bands::PlacedBands;
use super::lane::Lane;
use super::placed::SlabPointers;
use crate::problem::{Batch, Frame};

/// The arguments of a kernel, at the slab and the batch in place, from energy `iw` on.
pub fn given(
    kernel: &Kernel,
    iw: u32,
    (problem, batch, bands, lane): (&Frame, &Batch, &PlacedBands, &Lane),
) -> Box<dyn Arguments> {
    let bands = bands.in_layout(kernel.layout);
    let SlabPointers { igp, wtilde, eps, vcoul_loc, aqsm_local } = lane.slab.pointers(kernel);
    let (header, limits) = (problem.header(), problem.limits());
    let common = PaperArguments {
        wtilde,
        eps,
        aqsn: bands.aqsn(),
        aqsm_local,
        wx: bands.energies(),
        vcoul_loc,
        occ: bands.occ(),
        partials: lane.partials(),
        nbands: header.nbands as u32,
        ngpown: igp as u32,
        ncouls: header.ncouls as u32,
        nw: batch.nw() as u32,
        iw,
        limittwo: limits.limittwo,
        limitone: limits.limitone,
        sexcut: limits.sexcut,
    };
    let pairs = lane.slab.pairs(kernel);
    pairs.made().arguments(common, (batch, kernel), &pairs.pointers())
}
