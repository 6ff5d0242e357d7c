//! Operation counts by running a version's own source with a counting number.
//!
//! Problems too large to count whole are sampled: every band, and evenly spaced G′ and G. What a
//! version does once for all bands then still weighs as it should.

use gpp_cpu::problem::Task;
use gpp_cpu::version::{Cpu, Needs};
use gpp_kernels::counted::{self, Counts};
use gpp_kernels::grid::Thread;
use gpp_kernels::kernel::Gpu;
use gpp_kernels::layout::Layout;
use rayon::prelude::*;

use crate::catalogue::Kernel;
use crate::devices::launch::Launch;
use crate::error::Result;
use crate::problem::layout::{BandArrays, Laid, aqsm_local};
use crate::problem::vectors::{self, Order};
use crate::problem::{Header, Matrices, Origin, Problem};
use crate::record::profile::PerTerm;

/// Terms that are counted at most.
const MAX_TERMS: u64 = 12_000_000;

/// Counts the operations of a version on `problem`, or on an even sample of it.
///
/// # Errors
/// Those of [`Problem::new`], for a sample that breaks its rules.
pub fn count(kernel: Kernel, problem: &Problem) -> Result<PerTerm> {
    let sample;
    let problem = if problem.terms() > MAX_TERMS {
        sample = sampled(problem)?;
        &sample
    } else {
        problem
    };
    let counts = match kernel {
        Kernel::Gpu(gpu) => of_gpu(gpu, problem)?,
        Kernel::Cpu(cpu) => of_cpu(cpu, problem)?,
    };
    let per_term = |count: u64| count as f64 / problem.terms() as f64;
    Ok(PerTerm {
        add: per_term(counts.add),
        mul: per_term(counts.mul),
        fma: per_term(counts.fma),
        div: per_term(counts.div),
        rcp: per_term(counts.rcp),
        sqrt: per_term(counts.sqrt),
        compare: per_term(counts.compare),
        terms: problem.terms(),
    })
}

/// Operations of a version for GPUs on all of a problem.
fn of_gpu(version: &Gpu, problem: &Problem) -> Result<Counts> {
    let (bands, slab, plan) = (problem.bands(), problem.slab(), problem.plan());
    let (layout, poles) = (plan.kernel(version).layout, plan.kernel(version).poles);
    let odd = (layout == Layout::Planned).then(|| plan.odd(slab, poles));
    let Launch { kernel, entry, grid } = Launch::of(version, problem, slab, odd.as_ref())?;
    let of_bands = BandArrays::of(bands, plan, layout);
    let aqsm_local = aqsm_local(slab, plan, layout);
    let laid = Laid { bands, slab, of_bands: &of_bands, aqsm_local: &aqsm_local };
    let arrays = laid.arrays(kernel, odd.as_ref().map(|odd| (plan, odd)));
    let (blocks, threads) = (grid.blocks(), grid.threads);
    let mut counts = Counts::default();
    for iw in kernel.launches(problem.nw()) {
        let launch = (0..blocks)
            .into_par_iter()
            .map(|block| {
                counted::take();
                for lane in 0..threads {
                    // SAFETY: the launch contract, as in the emulator.
                    unsafe {
                        (entry.counted)(arrays.get(), iw, Thread::of(block, lane, blocks, threads));
                    }
                }
                counted::take()
            })
            .reduce(Counts::default, Counts::plus);
        counts = counts.plus(launch);
    }
    Ok(counts)
}

/// Operations of a version for processors on all of a problem.
fn of_cpu(version: &Cpu, problem: &Problem) -> Result<Counts> {
    let (bands, slab, plan) = (problem.bands(), problem.slab(), problem.plan());
    let Needs { relaid, plan: follows } = version.needs;
    let relaid = relaid.then(|| vectors::relaid(bands, plan, Order::of(plan, follows)));
    let relaid = relaid.transpose()?;
    let aqsm_local = aqsm_local(slab, plan, Layout::Swapped);
    let odd = follows.then(|| plan.odd(slab, version.poles(plan.poles())));
    Ok(version.count(&Task {
        bands: vectors::bands(bands),
        relaid: relaid.as_ref(),
        slab: vectors::slab(slab, &aqsm_local),
        plan: odd.as_ref().map(|odd| vectors::plan(plan, odd)),
    }))
}

/// All bands with evenly spaced G′ and G.
fn sampled(problem: &Problem) -> Result<Problem> {
    let h = problem.header();
    let excess = (problem.terms() as f64 / MAX_TERMS as f64).sqrt();
    // Whole blocks of every version, as far as there are: what is past an edge is no part of a term.
    let pick = |n: usize, block: usize| -> Vec<usize> {
        let picked = ((n as f64 / excess) as usize).clamp(1, n);
        let picked = if picked > block { picked / block * block } else { picked };
        (0..picked).map(|i| i * n / picked).collect()
    };
    let (columns, rows) = (pick(h.ngpown, 16), pick(h.ncouls, 32));
    let gather = |matrix: &[num_complex::Complex64], columns: &[usize]| {
        columns
            .iter()
            .flat_map(|c| rows.iter().map(move |r| matrix[c * h.ncouls + r]))
            .collect::<Vec<_>>()
    };
    let bands: Vec<usize> = (0..h.nbands).collect();
    let matrices = Matrices {
        wtilde: gather(problem.wtilde(), &columns),
        eps: gather(problem.eps(), &columns),
        aqsn: gather(problem.aqsn(), &bands),
        aqsm_local: (0..h.nbands)
            .flat_map(|n| columns.iter().map(move |c| problem.aqsm_local()[n * h.ngpown + c]))
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
    Problem::new(&format!("sample of {}", problem.name()), Origin::Made, header, matrices)
}
