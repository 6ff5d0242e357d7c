//! Operation counts by running a version's own source with a counting number.
//!
//! Problems too large to count whole are sampled: every band, and evenly spaced G′ and G. What a
//! version does once for all bands then still weighs as it should.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use gpp_cpu::problem::Task;
use gpp_cpu::stop::NEVER;
use gpp_cpu::version::{Cpu, Needs};
use gpp_kernels::counted::{self, Counts};
use gpp_kernels::kernel::Gpu;
use gpp_kernels::layout::Layout;
use gpp_kernels::sums::VALUES;
use gpp_kernels::tiling::Grid as LaunchGrid;
use rayon::prelude::*;

use crate::catalogue::{Kernel, batches};
use crate::devices::launch::Launch;
use crate::error::Result;
use crate::problem::layout::{Laid, Pairs, preparation};
use crate::problem::systems::DEFAULT_SEED;
use crate::problem::vectors::{self, Order};
use crate::problem::{Batch, Frame, Grid, Header, Matrices, Origin, Problem, SlabView, Slabs};
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
    let sorts = kernel.sorts(all.0.poles());
    let sample = if sorts { None } else { sampled(all.0, all.1, kernel)? };
    let (frame, slab) = sample.as_ref().map_or(all, |sample| (sample.frame(), sample.slab()));
    let batches = frame.batches_for(kernel);
    let some: Vec<Arc<Batch>> = evenly(batches.count()).map(|at| batches.get(at)).collect();
    let counts = match kernel {
        Kernel::Gpu(gpu) => of_gpu(gpu, frame, &some, slab)?,
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
    let prepared = preparation(first.plan().kernel(version).layout);
    let of_bands = &prepared.of_bands(bands, order)?;
    let aqsm_local = &prepared.aqsm_local(slab, order)?;
    let mut made: Option<(_, Arc<dyn Pairs>)> = None;
    for batch in batches {
        let kernel = batch.plan().kernel(version);
        let at = prepared.pairs_at(batch, kernel);
        let pairs = made.take().filter(|(of, _)| *of == at);
        let pairs = pairs.map_or_else(|| prepared.pairs(problem, slab, batch, kernel), |(_, p)| p);
        let launch = Launch::of(version, problem, batch, slab, &*pairs)?;
        let wx = &prepared.energies(bands, batch);
        let laid = Laid { bands, batch, slab, of_bands, wx, aqsm_local };
        counts = counts.plus(of_blocks(launch, laid, &*pairs));
        made = Some((at, pairs));
    }
    Ok(counts)
}

/// Units of a launch that are counted at most, where any number of blocks may share them.
const MAX_UNITS: u64 = 64;

/// Blocks that share the units where they are counted: more than a launch has, so that each has few.
const SHARING: u64 = 8192;

/// Operations of the launches of a batch: of some blocks where there are many units.
fn of_blocks(launch: Launch, laid: Laid, pairs: &dyn Pairs) -> Counts {
    let Launch { kernel, entry, grid, units } = launch;
    let (grid, every) = match units {
        Some(units) => {
            let blocks = units.min(SHARING);
            let every = units.div_ceil(MAX_UNITS).clamp(1, blocks.max(1));
            (LaunchGrid::ungrouped(blocks as u32, grid.threads), every as usize)
        }
        None => (grid, 1),
    };
    let mut partials = vec![0.0; grid.blocks() as usize * laid.batch.nw() * VALUES];
    let constant = laid.batch.plan().table().wx();
    let some: Vec<u32> = (every as u32 / 2..grid.blocks()).step_by(every).collect();
    let mut counts = Counts::default();
    for iw in kernel.launches(laid.batch.nw()) {
        let arguments = laid.arguments(kernel, pairs, iw, &mut partials);
        let of_block = |&block: &u32| {
            counted::take();
            // SAFETY: the launch contract, as in the emulator; units are shared by any number of blocks.
            unsafe { (entry.body.counted)(arguments.address(), constant.as_ptr(), block, grid) };
            counted::take()
        };
        let launch = some.par_iter().map(of_block).reduce(Counts::default, Counts::plus);
        counts = counts.plus(launch.scaled(grid.blocks() as usize, some.len()));
    }
    counts
}

/// Operations of a version for processors on a slab, at some batches of energies.
fn of_cpu(
    version: &Cpu,
    problem: &Frame,
    batches: &[Arc<Batch>],
    slab: SlabView,
) -> Result<Counts> {
    let order = problem.order();
    let Needs { aqsm, relaid, plan: follows, sorted } = version.needs;
    let relaid = relaid.then(|| vectors::relaid(problem, Order::of(order, follows)));
    let relaid = relaid.transpose()?;
    let aqsm = aqsm.then(|| preparation(Layout::Swapped).aqsm_local(slab, order)).transpose()?;
    let sorted = sorted.then(|| (vectors::SortedSlab::of(problem, slab), vectors::chunks(problem)));
    let of_batch = |batch: &Arc<Batch>| {
        let plan = batch.plan();
        let odd = follows.then(|| plan.odd(slab, version.poles(plan.poles())));
        let of_sorted = sorted.as_ref();
        version.count(&Task {
            bands: vectors::bands(problem.bands(), batch),
            relaid: relaid.as_ref(),
            slab: vectors::slab(slab, aqsm.as_deref().unwrap_or_default()),
            plan: odd.as_ref().map(|odd| vectors::plan(plan, odd)),
            sorted: of_sorted
                .map(|(sorted, aqsn)| sorted.task((problem, batch), aqsn, slab, &NEVER)),
            stop: &NEVER,
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
