//! Operation counts by running a version's own source with a counting number.
//!
//! Problems too large to count whole are sampled: every band, and evenly spaced G′ and G. What a
//! version does once for all bands then still weighs as it should.

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

use crate::catalogue::Kernel;
use crate::devices::launch::Launch;
use crate::error::Result;
use crate::problem::layout::{BandArrays, Laid, aqsm_local, energies};
use crate::problem::vectors::{self, Order};
use crate::problem::{
    Batch, Cells, Frame, Header, Matrices, OddPoles, Origin, Problem, SlabView, Slabs,
};
use crate::record::profile::PerTerm;

/// Terms that are counted at most.
const MAX_TERMS: u64 = 12_000_000;

/// Batches that are counted at most where pairs are sorted: all of these are there in each.
const MAX_BATCHES: usize = 4;

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
        Kernel::Cpu(cpu) => cpu.sorts(all.0.poles()),
        Kernel::Gpu(gpu) => gpu.kernel(all.0.poles()).loops == Loops::Cells,
    };
    let sample = if sorts { None } else { sampled(all.0, all.1)? };
    let (frame, slab) = sample.as_ref().map_or(all, |sample| (sample.frame(), sample.slab()));
    let batches = frame.batches_for(kernel);
    let every = if sorts { batches.len().div_ceil(MAX_BATCHES) } else { 1 };
    let some: Vec<&Batch> = batches.iter().skip(every / 2).step_by(every).collect();
    let counts = match kernel {
        Kernel::Gpu(gpu) => of_gpu(gpu, frame, &some, slab)?,
        Kernel::Cpu(_) if sorts => of_sorted(frame, &some, slab),
        Kernel::Cpu(cpu) => of_cpu(cpu, frame, &some, slab)?,
    };
    Ok(per_term(counts.scaled(batches.len(), some.len()), terms(frame, slab)))
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
fn of_sorted(frame: &Frame, batches: &[&Batch], slab: SlabView) -> Counts {
    let (sorted, chunks) = (vectors::Sorted::of(frame, slab), vectors::chunks(frame));
    let of_batch = |batch: &&Batch| cells::count(&sorted.task((frame, batch), &chunks, slab));
    batches.iter().map(of_batch).fold(Counts::default(), Counts::plus)
}

/// Terms of a slab.
fn terms(frame: &Frame, slab: SlabView) -> u64 {
    let whole = frame.extents();
    let n = [whole.nbands, slab.len(), whole.ncouls, whole.nw];
    n.map(|n| n as u64).iter().product()
}

/// Operations of a version for GPUs on a slab, at some batches of energies.
fn of_gpu(version: &Gpu, problem: &Frame, batches: &[&Batch], slab: SlabView) -> Result<Counts> {
    let (bands, order) = (problem.bands(), problem.order());
    let mut counts = Counts::default();
    let Some(first) = batches.first() else { return Ok(counts) };
    let layout = first.plan().kernel(version).layout;
    let cells = (layout == Layout::Cells).then(|| problem.cells(slab));
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
fn of_cpu(version: &Cpu, problem: &Frame, batches: &[&Batch], slab: SlabView) -> Result<Counts> {
    let order = problem.order();
    let Needs { relaid, plan: follows } = version.needs;
    let relaid = relaid.then(|| vectors::relaid(problem, Order::of(order, follows)));
    let relaid = relaid.transpose()?;
    let aqsm_local = aqsm_local(slab, order, Layout::Swapped);
    let of_batch = |batch: &&Batch| {
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

/// All bands with evenly spaced G′ and G of a slab; none where it is small enough.
fn sampled(problem: &Frame, slab: SlabView) -> Result<Option<Problem>> {
    let h = problem.header();
    let terms = terms(problem, slab);
    if terms <= MAX_TERMS {
        return Ok(None);
    }
    let excess = (terms as f64 / MAX_TERMS as f64).sqrt();
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
        ..h.clone()
    };
    let name = format!("sample of {}", problem.name());
    Problem::new(&name, Origin::Made, header, matrices).map(Some)
}
