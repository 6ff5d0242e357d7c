//! Operation counts by running a version's own source with a counting number.
//!
//! Problems too large to count whole are sampled: every band, and evenly spaced G′ and G. What a
//! version does once for all bands then still weighs as it should.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use gpp_cpu::cells;
use gpp_cpu::problem::Task;
use gpp_cpu::version::{Cpu, Needs};
use gpp_kernels::counted::{self, Counts};
use gpp_kernels::emulator::{BlockBody, Body, CountedBody};
use gpp_kernels::grid::Thread;
use gpp_kernels::kernel::{Gpu, Loops};
use gpp_kernels::layout::Layout;
use gpp_kernels::sums::VALUES;
use rayon::prelude::*;

use crate::catalogue::{Kernel, batches};
use crate::devices::launch::Launch;
use crate::error::Result;
use crate::problem::layout::{BandArrays, Laid, aqsm_local, energies};
use crate::problem::systems::DEFAULT_SEED;
use crate::problem::vectors::{self, Order};
use crate::problem::{
    Batch, Cells, Evaluator, Frame, Grid, Header, Matrices, OddPoles, Origin, Problem, SlabView,
    Slabs,
};
use crate::record::profile::PerTerm;

/// Terms that are counted at most.
const MAX_TERMS: u64 = 12_000_000;

/// Batches that are counted at most, evenly spaced ones.
const MAX_BATCHES: usize = 4;

/// Operations of a term, by system and version: `data/counts.json`, which `tests/counts.rs` writes and compares.
pub type Kept = BTreeMap<String, BTreeMap<String, f64>>;

/// The counts of versions for processors on demo, which would take longer than their runs.
static KEPT: LazyLock<Kept> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../data/counts.json"))
        .expect("data/counts.json is checked by a test")
});

/// FP64 operations of a term that are kept: of a built-in system with the usual seed and its own energies.
pub fn kept(kernel: Kernel, problem: &Frame) -> Option<f64> {
    let Origin::System(system, DEFAULT_SEED) = problem.origin() else { return None };
    let Header { nstart, nend, energies, .. } = problem.header();
    let has_own = energies.is_none() && (*nstart, *nend) == (system.nstart, system.nend);
    kept_of(kernel, &system.name).filter(|_| has_own)
}

/// Those of a system of that name.
pub fn kept_of(kernel: Kernel, system: &str) -> Option<f64> {
    let is_its_own = matches!(kernel, Kernel::Cpu(_));
    KEPT.get(system)?.get(kernel.id()).copied().filter(|_| is_its_own)
}

/// Counts the operations of a version on a problem's first slab, or on an even sample of it.
///
/// # Errors
/// Those of [`Problem::new`], for a sample that breaks its rules, and of [`Slabs::part`].
///
/// # Panics
/// Never: a problem has a slab.
pub fn count<'a>(kernel: Kernel, problem: impl Into<Slabs<'a>>) -> Result<PerTerm> {
    let slabs = problem.into();
    let first = slabs.part(slabs.range(0).expect("a problem has a slab"))?;
    let all = (slabs.frame(), first.view());
    // A sample's pairs would have others beside them once they are sorted.
    let sorts = match kernel {
        Kernel::Cpu(cpu) => cpu.sorts,
        Kernel::Gpu(gpu) => matches!(gpu.kernel(all.0.poles()).loops, Loops::Cells(_)),
    };
    let sample = if sorts { None } else { sampled(all.0, all.1, kernel)? };
    let (frame, slab) = sample.as_ref().map_or(all, |sample| (sample.frame(), sample.slab()));
    let batches = frame.batches_for(kernel);
    let some: Vec<Arc<Batch>> = evenly(batches.count()).map(|at| batches.get(at)).collect();
    let counts = match kernel {
        Kernel::Gpu(gpu) => of_gpu(gpu, frame, &some, slab)?,
        Kernel::Cpu(_) if sorts => of_sorted(frame, &some, slab),
        Kernel::Cpu(cpu) => of_cpu(cpu, frame, &some, slab)?,
    };
    let energies = some.iter().map(|batch| batch.nw()).sum();
    Ok(per_term(counts.scaled(batches.nw(), energies), terms(frame, slab)))
}

/// The numbers of the batches that are counted.
fn evenly(count: usize) -> impl Iterator<Item = usize> {
    let every = count.div_ceil(MAX_BATCHES);
    (every / 2..count).step_by(every)
}

/// So many operations of so many terms.
fn per_term(counts: Counts, terms: u64) -> PerTerm {
    let per_term = |count: u64| count as f64 / terms as f64;
    PerTerm {
        add: per_term(counts.add),
        mul: per_term(counts.mul),
        fma: per_term(counts.fma),
        div: per_term(counts.div),
        rcp: per_term(counts.rcp),
        sqrt: per_term(counts.sqrt),
        compare: per_term(counts.compare),
        terms,
    }
}

/// Operations of a version for processors on sorted pairs.
fn of_sorted(frame: &Frame, batches: &[Arc<Batch>], slab: SlabView) -> Counts {
    let (sorted, chunks) = (vectors::Sorted::of(frame, slab), vectors::chunks(frame));
    let of_batch = |batch: &Arc<Batch>| cells::count(&sorted.task((frame, batch), &chunks, slab));
    batches.iter().map(of_batch).fold(Counts::default(), Counts::plus)
}

/// Terms of a slab.
fn terms(frame: &Frame, slab: SlabView) -> u64 {
    let whole = frame.extents();
    let n = [whole.nbands, slab.len(), whole.ncouls, whole.nw];
    n.map(|n| n as u64).iter().product()
}

/// Operations of a version for GPUs on a slab, at some batches of energies.
fn of_gpu(
    version: &Gpu,
    problem: &Frame,
    batches: &[Arc<Batch>],
    slab: SlabView,
) -> Result<Counts> {
    let (bands, order) = (problem.bands(), problem.order());
    let mut counts = Counts::default();
    let Some(first) = batches.first() else { return Ok(counts) };
    let layout = first.plan().kernel(version).layout;
    let cells = (layout == Layout::Cells).then(|| problem.cells(slab, Evaluator::Gpu));
    let of_bands = &BandArrays::of(bands, order, layout);
    let aqsm_local = &aqsm_local(slab, order, layout);
    for batch in batches {
        let (plan, wx) = (batch.plan(), &energies(bands, batch, layout));
        let odd = (layout == Layout::Planned).then(|| plan.odd(slab, plan.kernel(version).poles));
        let parts = cells.as_ref().map(Cells::count);
        let launch = Launch::of(version, problem, batch, slab, odd.as_ref(), parts)?;
        let laid = Laid { bands, batch, slab, of_bands, wx, aqsm_local };
        counts = counts.plus(match launch.entry.body {
            Body::Thread { counted, .. } => of_threads(launch, laid, odd.as_ref(), counted),
            Body::Block { counted, .. } => {
                of_blocks(laid, cells.as_ref().expect("made above"), counted)
            }
        });
    }
    Ok(counts)
}

/// Operations of all threads of the launches of a batch.
fn of_threads(
    Launch { kernel, grid, .. }: Launch,
    laid: Laid,
    odd: Option<&OddPoles>,
    counted: CountedBody,
) -> Counts {
    let launches = kernel.launches(laid.batch.nw());
    let arrays = laid.arrays(kernel, odd);
    let (blocks, threads) = (grid.blocks(), grid.threads);
    let mut counts = Counts::default();
    for iw in launches {
        let launch = (0..blocks)
            .into_par_iter()
            .map(|block| {
                counted::take();
                for lane in 0..threads {
                    // SAFETY: the launch contract, as in the emulator.
                    unsafe {
                        counted(arrays.get(), iw, Thread::of(block, lane, blocks, threads));
                    }
                }
                counted::take()
            })
            .reduce(Counts::default, Counts::plus);
        counts = counts.plus(launch);
    }
    counts
}

/// Units of sorted pairs and bands that are counted at most.
const MAX_UNITS: usize = 64;

/// Blocks that share the units where they are counted: more than a launch has, so that each has few.
const SHARING: usize = 8192;

/// Operations of blocks on sorted pairs: of some blocks where there are many units.
fn of_blocks(laid: Laid, cells: &Cells, counted: BlockBody) -> Counts {
    let mut partials = Vec::new();
    let units = laid.cells(cells, &mut partials).get().units() as usize;
    let blocks = units.min(SHARING);
    partials.resize(blocks * laid.batch.nw() * VALUES, 0.0);
    let arguments = laid.cells(cells, &mut partials);
    let every = units.div_ceil(MAX_UNITS).clamp(1, blocks.max(1));
    let of_block = |&block: &usize| {
        counted::take();
        // SAFETY: the launch contract, as in the emulator, but for the number of blocks: what each does
        // follows from it, and there is room for the sums of all.
        unsafe { counted(arguments.get(), block as u32, blocks as u32) };
        counted::take()
    };
    let some: Vec<usize> = (every / 2..blocks).step_by(every).collect();
    let counts = some.par_iter().map(of_block).reduce(Counts::default, Counts::plus);
    counts.scaled(blocks, some.len())
}

/// Operations of a version for processors on a slab, at some batches of energies.
fn of_cpu(
    version: &Cpu,
    problem: &Frame,
    batches: &[Arc<Batch>],
    slab: SlabView,
) -> Result<Counts> {
    let order = problem.order();
    let Needs { relaid, plan: follows } = version.needs;
    let relaid = relaid.then(|| vectors::relaid(problem, Order::of(order, follows)));
    let relaid = relaid.transpose()?;
    let aqsm_local = aqsm_local(slab, order, Layout::Swapped);
    let of_batch = |batch: &Arc<Batch>| {
        let plan = batch.plan();
        let odd = follows.then(|| plan.odd(slab, version.poles(plan.poles())));
        version.count(&Task {
            bands: vectors::bands(problem.bands(), batch),
            relaid: relaid.as_ref(),
            slab: vectors::slab(slab, &aqsm_local),
            plan: odd.as_ref().map(|odd| vectors::plan(plan, odd)),
        })
    };
    Ok(batches.iter().map(of_batch).fold(Counts::default(), Counts::plus))
}

/// All bands with evenly spaced G′ and G of a slab, at the energies that are counted; none where all are few.
fn sampled(problem: &Frame, slab: SlabView, kernel: Kernel) -> Result<Option<Problem>> {
    let nw = problem.nw();
    let ranges: Vec<_> = batches(nw, kernel.holds(problem.poles())).collect();
    let counted = evenly(ranges.len()).flat_map(|at| ranges[at].clone()).collect::<Vec<_>>();
    let terms = terms(problem, slab) / nw as u64 * counted.len() as u64;
    let is_all = counted.len() == nw;
    if terms <= MAX_TERMS && is_all {
        return Ok(None);
    }
    let all = problem.header();
    let h = if is_all {
        all.clone()
    } else {
        let above = all.above_state();
        Grid::Listed(counted.iter().map(|&iw| above[iw]).collect()).of(all)
    };
    let excess = (terms as f64 / MAX_TERMS as f64).sqrt().max(1.0);
    // Whole blocks of every version, as far as there are: what is past an edge is no part of a term.
    let pick = |n: usize, block: usize| -> Vec<usize> {
        let picked = ((n as f64 / excess) as usize).clamp(1, n);
        let picked = if picked > block { picked / block * block } else { picked };
        (0..picked).map(|i| i * n / picked).collect()
    };
    let (columns, rows) = (pick(slab.len(), 16), pick(h.ncouls, 32));
    let gather = |matrix: &[num_complex::Complex64], columns: &[usize]| {
        columns
            .iter()
            .flat_map(|c| rows.iter().map(move |r| matrix[c * h.ncouls + r]))
            .collect::<Vec<_>>()
    };
    let bands: Vec<usize> = (0..h.nbands).collect();
    let matrices = Matrices {
        wtilde: gather(slab.wtilde(), &columns),
        eps: gather(slab.eps(), &columns),
        aqsn: gather(problem.aqsn(), &bands),
        aqsm_local: (0..h.nbands)
            .flat_map(|n| columns.iter().map(move |c| slab.aqsm_local().column(n)[*c]))
            .collect(),
    };
    let largest = rows.len().max(columns.len());
    let header = Header {
        ngpown: columns.len(),
        epsmpi_ngpown_max: columns.len(),
        ncouls: rows.len(),
        ncoul: rows.len(),
        gvec_ng: largest,
        inv_igp_index: (1..=columns.len() as i32).collect(),
        indinv: (0..largest).map(|row| (row % rows.len()) as i32 + 1).collect(),
        vcoul: vec![1.0; rows.len()],
        ..h
    };
    let name = format!("sample of {}", problem.name());
    Problem::new(&name, Origin::Made, header, matrices).map(Some)
}
