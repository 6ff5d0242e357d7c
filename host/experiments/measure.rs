//! Running a version and what is recorded of it: the record is all that tables and JSON read.

use gpp_kernels::registry::{Body, Loops, Version};
use serde::Serialize;

use crate::devices::{Device, KernelInfo, Loaded};
use crate::error::Result;
use crate::problem::{Planned, Problem, Sums};
use crate::reference::Reference;
use crate::reference::verify::{Outcome, Verification, verify};

/// How often a version runs.
#[derive(Clone, Copy, Debug)]
pub struct Repetition {
    /// Runs that are not timed.
    pub warmup: usize,
    /// Runs that are.
    pub repeat: usize,
}

/// Times of the whole calculation in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    /// Middle of the sorted samples.
    pub median: f64,
    /// Shortest.
    pub min: f64,
    /// Longest.
    pub max: f64,
    /// All, in the order in which they were taken.
    pub samples: Vec<f64>,
}

impl Times {
    /// From at least one sample.
    pub fn of(samples: Vec<f64>) -> Times {
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Times {
            median: f64::midpoint(low, high),
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            samples,
        }
    }

    /// Standard deviation of at least two samples.
    pub fn sigma(&self) -> Option<f64> {
        let count = self.samples.len() as f64;
        let mean = self.samples.iter().sum::<f64>() / count;
        let squares: f64 = self.samples.iter().map(|t| (t - mean) * (t - mean)).sum();
        (count > 1.0).then(|| (squares / (count - 1.0)).sqrt())
    }

    /// From the shortest to the longest, over the median.
    pub fn relative_spread(&self) -> f64 {
        (self.max - self.min) / self.median
    }

    /// Samples that stand apart: off the median by more than ten times the median deviation, and by
    /// more than a tenth of the median and 0.1 ms.
    pub fn outliers(&self) -> usize {
        let off: Vec<f64> = self.samples.iter().map(|t| (t - self.median).abs()).collect();
        let mut sorted = off.clone();
        sorted.sort_by(f64::total_cmp);
        let limit = (10.0 * sorted[sorted.len() / 2]).max(0.1 * self.median).max(1e-4);
        off.iter().filter(|&&off| off > limit).count()
    }
}

/// The shape of a tiled version's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TileShape {
    /// `igp` of a thread.
    pub tile: u32,
    /// Warps of a block.
    pub warps: u32,
    /// Most registers of a thread.
    pub max_registers: Option<u32>,
}

/// What is recorded of one version on one problem and device.
#[derive(Clone, Debug)]
pub struct Record {
    /// The version's id.
    pub version: &'static str,
    /// The device's id.
    pub device: String,
    /// Times of the calculation.
    pub times: Times,
    /// FP64 operations of the calculation, FMA = 2.
    pub flops: f64,
    /// Where the operation count comes from.
    pub flops_source: &'static str,
    /// The kernel.
    pub kernel: KernelInfo,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Blocks of a launch.
    pub blocks: u32,
    /// The tiles, of versions that have them.
    pub shape: Option<TileShape>,
    /// The sums of the last run, starting sums included.
    pub sums: Sums,
    /// Whether all runs found the same bits.
    pub deterministic: bool,
    /// The comparison with the reference.
    pub verification: Verification,
}

impl Record {
    /// Rate by the median time.
    pub fn tflops(&self) -> f64 {
        self.flops / self.times.median / 1e12
    }
}

/// Source of the operation counts in the registry.
pub const ARCHIVED_COUNTS: &str = "archived: hardware counters, these kernels, si214 on an H200";

/// Runs `version` on `loaded`, which holds `problem`, and compares the sums with `reference`.
///
/// # Errors
/// Those of the device.
pub fn measure(
    version: &Version,
    device: &dyn Device,
    loaded: &mut dyn Loaded,
    problem: &Problem,
    reference: Option<&Reference>,
    repetition: Repetition,
    mut after_each: impl FnMut(),
) -> Result<Record> {
    let mut samples = Vec::with_capacity(repetition.repeat);
    let mut last: Option<Sums> = None;
    let mut deterministic = true;
    for run in 0..repetition.warmup + repetition.repeat {
        let (sums, seconds) = loaded.run(version)?;
        deterministic &= last.as_ref().is_none_or(|before| same_bits(before, &sums));
        last = Some(sums);
        if run >= repetition.warmup {
            samples.push(seconds);
        }
        after_each();
    }
    let sums = problem.start().plus(&last.expect("the command line asks for at least one run"));
    let plan = loaded.plan();
    let version = &plan.running(version);
    let body = body(version, problem, plan);
    let launch = version.of(plan.poles());
    let shape = match launch.loops {
        Loops::Tiled(shape) => Some(TileShape {
            tile: shape.tile,
            warps: shape.warps,
            max_registers: launch.max_registers,
        }),
        _ => None,
    };
    let mut verification = verify(problem, &sums, reference);
    // Wrong sums are worse than sums that change.
    if !deterministic && verification.outcome != Outcome::Incorrect {
        verification.outcome = Outcome::Nondeterministic;
    }
    Ok(Record {
        version: version.id,
        device: device.info().id.clone(),
        times: Times::of(samples),
        flops: launch.flops_per_term * problem.terms() as f64,
        flops_source: ARCHIVED_COUNTS,
        kernel: device.kernel(version, body)?,
        threads_per_block: launch.threads,
        blocks: version.blocks(plan.extents(problem.header(), version), plan.poles()),
        shape,
        verification,
        sums,
        deterministic,
    })
}

/// The kernel of `version` for a problem.
///
/// # Panics
/// Never: a problem has one to three energies, and the registry a body for each.
pub fn body(version: &Version, problem: &Problem, plan: &Planned) -> &'static Body {
    let version = plan.running(version);
    version.body(problem.nw(), plan.poles()).expect("the registry has a body for every number")
}

/// Equal as bits, so that NaN equals itself.
pub fn same_bits(a: &Sums, b: &Sums) -> bool {
    let bits = |sums: &Sums| -> Vec<[u64; 2]> {
        sums.named(1).map(|(_, z)| [z.re.to_bits(), z.im.to_bits()]).collect()
    };
    bits(a) == bits(b)
}
