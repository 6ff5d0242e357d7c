//! What kernels are given of a problem and of the slab that a lane has in place.

use std::ffi::c_void;

use gpp_kernels::arguments::{CellsArguments, PaperArguments, PlannedArguments};
use gpp_kernels::cells::BANDS;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Plan;

use super::cells::CellPointers;
use super::lane::Lane;
use super::odd::OddPointers;
use super::placed::{PlacedBands, SlabPointers};
use crate::problem::{Batch, Frame};

/// Calls `launch` with the arguments of a kernel, at the slab and the batch in place, from energy `iw` on.
pub fn given<T>(
    kernel: &Kernel,
    iw: u32,
    (problem, batch, bands, lane): (&Frame, &Batch, &PlacedBands, &Lane),
    launch: impl FnOnce(&[*const c_void]) -> T,
) -> T {
    if kernel.layout == Layout::Cells {
        return launch(&cells(problem, batch, bands, lane).pointers());
    }
    let paper = paper(problem, batch, bands, lane, kernel.layout, iw);
    match kernel.layout {
        Layout::Planned => launch(&planned(batch, lane, kernel, paper).pointers()),
        _ => launch(&paper.pointers()),
    }
}

/// What the paper's kernels take.
fn paper(
    problem: &Frame,
    batch: &Batch,
    bands: &PlacedBands,
    lane: &Lane,
    layout: Layout,
    iw: u32,
) -> PaperArguments {
    let (wx, slab) = (bands.energies(layout), lane.slab.pointers(layout));
    let bands = bands.in_layout(layout);
    let SlabPointers { igp, vcoul_loc, aqsm_local } = slab;
    let [wtilde, eps] = lane.slab.pairs();
    let (header, limits) = (problem.header(), problem.limits());
    PaperArguments {
        wtilde,
        eps,
        aqsn: bands.aqsn(),
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

/// Arguments with the plan, for kernels that follow it.
fn planned(batch: &Batch, lane: &Lane, kernel: &Kernel, paper: PaperArguments) -> PlannedArguments {
    let OddPointers { poles, mask, pairs, begins } = lane.slab.odd(kernel.poles).pointers();
    let plan = Plan {
        odd_mask: mask,
        odd_pairs: pairs,
        odd_begins: begins,
        ..batch.plan().view(kernel, poles)
    };
    PlannedArguments::new(paper, plan)
}

/// What kernels of pairs sorted by their poles take.
fn cells(problem: &Frame, batch: &Batch, bands: &PlacedBands, lane: &Lane) -> CellsArguments {
    let wx = bands.energies(Layout::Cells);
    let bands = bands.in_layout(Layout::Cells);
    let SlabPointers { vcoul_loc, aqsm_local, .. } = lane.slab.pointers(Layout::Cells);
    let CellPointers { poles, parts, count } = lane.slab.cells().pointers();
    let (nbands, limits) = (problem.header().nbands as u32, problem.limits());
    CellsArguments {
        poles,
        parts,
        aqsn: bands.aqsn(),
        aqsm_local,
        wx,
        vcoul_loc,
        occ: bands.occ.pointer(),
        partials: lane.partials.pointer(),
        count,
        nbands,
        rows: nbands.next_multiple_of(BANDS),
        nw: batch.nw() as u32,
        limittwo: limits.limittwo,
        limitone: limits.limitone,
        sexcut: limits.sexcut,
    }
}
