//! Operation counts by running a version's own source with a counting number.
//!
//! Problems too large to count whole are sampled: every band, and evenly spaced G′ and G. What a
//! version does once for all bands then still weighs as it should.

use gpp_cpu::cells;
use gpp_cpu::problem::Task;
use gpp_cpu::version::{Cpu, Needs};
use gpp_kernels::counted::{self, Counts};
use gpp_kernels::emulator::{BlockBody, Body};
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
use crate::problem::{Batch, Cells, Frame, Header, Matrices, Origin, Problem, SlabView, Slabs};
use crate::record::profile::PerTerm;

/// Terms that are counted at most.
const MAX_TERMS: u64 = 12_000_000;

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
    let terms = terms(frame, slab);
    if let (Kernel::Cpu(_), true) = (kernel, sorts) {
        return Ok(per_term(of_sorted(kernel, frame, slab), terms));
    }
    let mut counts = Counts::default();
    for batch in &*frame.batches_for(kernel) {
        counts = counts.plus(match kernel {
            Kernel::Gpu(gpu) => of_gpu(gpu, frame, batch, slab)?,
            Kernel::Cpu(cpu) => of_cpu(cpu, frame, batch, slab)?,
        });
    }
    Ok(per_term(counts, terms))
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
fn of_sorted(kernel: Kernel, frame: &Frame, slab: SlabView) -> Counts {
    let (sorted, chunks) = (vectors::Sorted::of(frame, slab), vectors::chunks(frame));
    let of_batch = |batch: &Batch| cells::count(&sorted.task((frame, batch), &chunks, slab));
    frame.batches_for(kernel).iter().map(of_batch).fold(Counts::default(), Counts::plus)
}

/// Terms of a slab.
fn terms(frame: &Frame, slab: SlabView) -> u64 {
    let whole = frame.extents();
    let n = [whole.nbands, slab.len(), whole.ncouls, whole.nw];
    n.map(|n| n as u64).iter().product()
}

/// Operations of a version for GPUs on a slab, at a batch of energies.
fn of_gpu(version: &Gpu, problem: &Frame, batch: &Batch, slab: SlabView) -> Result<Counts> {
    let (bands, order, plan) = (problem.bands(), problem.order(), batch.plan());
    let (layout, poles) = (plan.kernel(version).layout, plan.kernel(version).poles);
    let odd = (layout == Layout::Planned).then(|| plan.odd(slab, poles));
    let cells = (layout == Layout::Cells).then(|| problem.cells(slab));
    let Launch { kernel, entry, grid } =
        Launch::of(version, problem, batch, slab, odd.as_ref(), cells.as_ref())?;
    let (of_bands, wx) = (&BandArrays::of(bands, order, layout), &energies(bands, batch, layout));
    let aqsm_local = &aqsm_local(slab, order, layout);
    let laid = Laid { bands, batch, slab, of_bands, wx, aqsm_local };
    let counted = match entry.body {
        Body::Thread { counted, .. } => counted,
        Body::Block { counted, .. } => {
            return Ok(of_blocks(laid, cells.as_ref().expect("made above"), counted));
        }
    };
    let arrays = laid.arrays(kernel, odd.as_ref());
    let (blocks, threads) = (grid.blocks(), grid.threads);
    let mut counts = Counts::default();
    for iw in kernel.launches(batch.nw()) {
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
    Ok(counts)
}

/// Units of sorted pairs and bands that are counted at most.
const MAX_UNITS: usize = 64;

/// Operations of blocks on sorted pairs: of some units where there are many, each by a block of its own.
fn of_blocks(laid: Laid, cells: &Cells, counted: BlockBody) -> Counts {
    let mut partials = Vec::new();
    let units = laid.cells(cells, &mut partials).get().units() as usize;
    partials.resize(units * laid.batch.nw() * VALUES, 0.0);
    let arguments = laid.cells(cells, &mut partials);
    let every = units.div_ceil(MAX_UNITS).max(1);
    let of_unit = |&unit: &usize| {
        counted::take();
        // SAFETY: the launch contract, as in the emulator; there is room for the sums of as many blocks.
        unsafe { counted(arguments.get(), unit as u32, units as u32) };
        counted::take()
    };
    let some: Vec<usize> = (every / 2..units).step_by(every).collect();
    let counts = some.par_iter().map(of_unit).reduce(Counts::default, Counts::plus);
    counts.scaled(units, some.len().max(1))
}

/// Operations of a version for processors on a slab, at a batch of energies.
fn of_cpu(version: &Cpu, problem: &Frame, batch: &Batch, slab: SlabView) -> Result<Counts> {
    let (order, plan) = (problem.order(), batch.plan());
    let Needs { relaid, plan: follows } = version.needs;
    let relaid = relaid.then(|| vectors::relaid(problem, Order::of(order, follows)));
    let relaid = relaid.transpose()?;
    let aqsm_local = aqsm_local(slab, order, Layout::Swapped);
    let odd = follows.then(|| plan.odd(slab, version.poles(plan.poles())));
    Ok(version.count(&Task {
        bands: vectors::bands(problem.bands(), batch),
        relaid: relaid.as_ref(),
        slab: vectors::slab(slab, &aqsm_local),
        plan: odd.as_ref().map(|odd| vectors::plan(plan, odd)),
    }))
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
