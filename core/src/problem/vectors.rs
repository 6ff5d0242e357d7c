//! The arrays for versions made for CPUs, borrowed from a problem; see [`gpp_cpu::problem`].

use gpp_cpu::problem::{
    BandPanels, Bands as BandsView, Clusters, FallbackPairs as Fallback, IgPanels, Lanes, Plan,
    Slab,
};
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use crate::error::Result;
use crate::problem::bands::Bands;
use crate::problem::memory::{self, Extents};
use crate::problem::plan::{BandOrder, BandPlan, Batch, Cells, Evaluator, FallbackPairs};
use crate::problem::{Problem, SlabView};

/// The bands at some energies, in the problem's order.
pub fn bands<'a>(bands: &'a Bands, batch: &'a Batch) -> BandsView<'a> {
    let h = bands.header();
    BandsView {
        aqsn: bands.aqsn(),
        wx: batch.wx(),
        occ: bands.occ(),
        nbands: h.nbands,
        ncouls: h.ncouls,
        nw: batch.nw(),
        limits: bands.limits(),
    }
}

/// A slab, with its matrix elements of G′ in [`gpp_kernels::arrays::Layout::Swapped`].
pub fn slab<'a>(slab: SlabView<'a>, aqsm: &'a [Complex64]) -> Slab<'a> {
    Slab { wtilde: slab.wtilde(), eps: slab.eps(), aqsm, vcoul_loc: slab.vcoul_loc() }
}

/// The plan and the fallback pairs that go with it.
pub fn plan<'a>(plan: &'a BandPlan, fallback: &'a FallbackPairs) -> (Plan<'a>, Fallback<'a>) {
    let of_bands = Plan {
        order: plan.order(),
        plain: plan.plain,
        occupied: plan.occupied(),
        far_begin: plan.far_begin,
        half: plan.half,
        poles: plan.poles,
        has_static: plan.has_static(),
    };
    let FallbackPairs { mask, pairs, begins } = fallback;
    (of_bands, Fallback { mask, pairs, begins })
}

/// The orders of bands in which matrix elements of G are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Own,
    /// The plan's, if that is another one.
    Plan,
}

impl Order {
    /// The one that a version reads, which follows a plan or not.
    pub fn of(order: &BandOrder, follows: bool) -> Order {
        if follows && !order.is_kept() { Order::Plan } else { Order::Own }
    }
}

/// Packs the matrix elements of G.
pub fn panels(problem: &Problem, order: Order, lanes: Lanes) -> Result<IgPanels> {
    let h = problem.header();
    memory::require(
        &format!("{} in blocks for vectors", memory::AQSN.name),
        IgPanels::bytes(h.ncouls, h.nbands, lanes),
    )?;
    let order = (order == Order::Plan).then(|| problem.order().bands());
    Ok(IgPanels::of(problem.aqsn(), h.ncouls, order, lanes))
}

/// The matrix elements of G in chunks of bands.
pub fn chunks(problem: &Problem) -> BandPanels {
    let ncouls = problem.header().ncouls;
    BandPanels::of(&problem.aqsn().chunks_exact(ncouls).collect::<Vec<_>>(), ncouls)
}

/// A slab for kernels of sorted pairs.
pub struct SortedSlab {
    cells: Cells,
    aqsm: BandPanels,
}

impl SortedSlab {
    /// Bytes of what it is made of and in, for a slab of these dimensions.
    pub fn bytes_while_made(slab: Extents, poles: Poles) -> u64 {
        let aqsm = BandPanels::bytes(slab.nbands, slab.ngpown);
        Cells::bytes_while_made(slab, poles).saturating_add(aqsm)
    }

    pub fn of(problem: &Problem, slab: SlabView) -> SortedSlab {
        let columns: Vec<_> = slab.aqsm_local().columns().collect();
        SortedSlab {
            cells: problem.cells(slab, Evaluator::Cpu),
            aqsm: BandPanels::of(&columns, slab.len()),
        }
    }

    /// With [`chunks`] of the same problem.
    pub fn clusters<'a>(&'a self, aqsn: &'a BandPanels) -> Clusters<'a> {
        Clusters { pairs: self.cells.pairs(), aqsn, aqsm: &self.aqsm }
    }
}
