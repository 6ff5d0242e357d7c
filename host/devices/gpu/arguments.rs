//! What kernels are given of a problem and of the slab that a lane has in place.

use gpp_kernels::arguments::{PaperArguments, PlannedArguments};
use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Plan;

use super::lane::Lane;
use super::odd::OddPointers;
use super::placed::{PlacedBands, SlabPointers};
use crate::problem::Frame;

/// What the paper's kernels take of the slab in place.
pub fn paper(
    problem: &Frame,
    bands: &PlacedBands,
    lane: &Lane,
    layout: Layout,
    iw: u32,
) -> PaperArguments {
    let (bands, slab) = (bands.in_layout(layout), lane.slab.pointers(layout));
    let SlabPointers { igp, wtilde, eps, vcoul_loc, aqsm_local } = slab;
    let (header, limits) = (problem.header(), problem.limits());
    PaperArguments {
        wtilde,
        eps,
        aqsn: bands.aqsn.pointer(),
        aqsm_local,
        wx: bands.wx.pointer(),
        vcoul_loc,
        occ: bands.occ.pointer(),
        partials: lane.partials.pointer(),
        nbands: header.nbands as u32,
        ngpown: igp as u32,
        ncouls: header.ncouls as u32,
        nw: problem.nw() as u32,
        iw,
        limittwo: limits.limittwo,
        limitone: limits.limitone,
        sexcut: limits.sexcut,
    }
}

/// The same with the plan, for kernels that follow it.
pub fn planned(
    problem: &Frame,
    lane: &Lane,
    kernel: &Kernel,
    paper: PaperArguments,
) -> PlannedArguments {
    let OddPointers { poles, mask, pairs, begins } = lane.slab.odd(kernel.poles).pointers();
    let plan = Plan {
        odd_mask: mask,
        odd_pairs: pairs,
        odd_begins: begins,
        ..problem.plan().view(kernel, poles)
    };
    PlannedArguments::new(paper, plan)
}
