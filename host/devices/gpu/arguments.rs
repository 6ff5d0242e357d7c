//! What kernels are given of a problem and of the slab that a lane has in place.

use gpp_kernels::arguments::{PaperArguments, PlannedArguments};
use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Plan;

use super::lane::Lane;
use super::odd::OddPointers;
use super::placed::{PlacedBands, SlabPointers};
use crate::problem::{Batch, Frame};

/// What the paper's kernels take of the slab in place, at the batch in place.
pub fn paper(
    problem: &Frame,
    batch: &Batch,
    bands: &PlacedBands,
    lane: &Lane,
    layout: Layout,
    iw: u32,
) -> PaperArguments {
    let (wx, slab) = (bands.energies(layout), lane.slab.pointers(layout));
    let bands = bands.in_layout(layout);
    let SlabPointers { igp, wtilde, eps, vcoul_loc, aqsm_local } = slab;
    let (header, limits) = (problem.header(), problem.limits());
    PaperArguments {
        wtilde,
        eps,
        aqsn: bands.aqsn.pointer(),
        aqsm_local,
        wx,
        vcoul_loc,
        occ: bands.occ.pointer(),
        partials: lane.partials.pointer(),
        nbands: header.nbands as u32,
        ngpown: igp as u32,
        ncouls: header.ncouls as u32,
        nw: batch.nw() as u32,
        iw,
        limittwo: limits.limittwo,
        limitone: limits.limitone,
        sexcut: limits.sexcut,
    }
}

/// The same with the plan, for kernels that follow it.
pub fn planned(
    batch: &Batch,
    lane: &Lane,
    kernel: &Kernel,
    paper: PaperArguments,
) -> PlannedArguments {
    let OddPointers { poles, mask, pairs, begins } = lane.slab.odd(kernel.poles).pointers();
    let plan = Plan {
        odd_mask: mask,
        odd_pairs: pairs,
        odd_begins: begins,
        ..batch.plan().view(kernel, poles)
    };
    PlannedArguments::new(paper, plan)
}
