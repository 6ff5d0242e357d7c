//! Running one version and what is recorded of it.

use gpp_kernels::kernel::{Gpu, Loops};

use super::counting;
use crate::devices::Device;
use crate::devices::launch::entry;
use crate::engine::{Calculation, Engine};
use crate::error::Result;
use crate::problem::{Problem, Sums};
use crate::record::run::{Measurement, TileShape};
use crate::record::times::{Repetition, Times};
use crate::reference::Reference;
use crate::reference::verify::{Outcome, Verification, verify};

/// Source of the operation counts that kernels hold.
pub const ARCHIVED_COUNTS: &str = "archived: hardware counters, these kernels, si214 on an H200";

/// Source of those of a kernel that holds none.
pub const SOURCE_COUNTS: &str =
    "the version's source, run with a counting number: no counters of these kernels are archived";

/// Has `engine` run `version` on `device` and compares the sums with `reference`.
///
/// # Errors
/// Those of the device.
///
/// # Panics
/// Where `repetition` has no run at all.
pub fn measure(
    version: &Gpu,
    device: &dyn Device,
    engine: &mut Engine,
    reference: Option<&Reference>,
    repetition: Repetition,
    mut after_each: impl FnMut(),
) -> Result<Measurement> {
    let mut samples = Vec::with_capacity(repetition.repeat);
    let mut last: Option<Sums> = None;
    let mut deterministic = true;
    let mut launched = 0;
    for run in 0..repetition.warmup + repetition.repeat {
        let Calculation { sums, seconds, blocks } = engine.run(version)?;
        launched = blocks;
        deterministic &= last.as_ref().is_none_or(|before| same_bits(before, &sums));
        last = Some(sums);
        if run >= repetition.warmup {
            samples.push(seconds);
        }
        after_each();
    }
    let problem = engine.problem();
    let sums = problem.start().plus(&last.expect("there is at least one run"));
    let launch = problem.plan().kernel(version);
    let shape = match launch.loops {
        Loops::Tiled(shape) => Some(TileShape {
            tile: shape.tile,
            warps: shape.warps,
            max_registers: launch.max_registers,
        }),
        _ => None,
    };
    let verification = judged(problem, &sums, reference, deterministic);
    let times = Times::of(samples);
    let (per_term, flops_source) = match launch.flops_per_term {
        Some(archived) => (archived, ARCHIVED_COUNTS),
        None => (counting::count(version, problem)?.flops(), SOURCE_COUNTS),
    };
    let flops = per_term * problem.terms() as f64;
    let kernel = device.kernel(launch, entry(launch, problem.nw()))?;
    Ok(Measurement {
        version: version.id().into(),
        device: device.info().id.clone(),
        spread: Some(times.spread()),
        flops: Some(flops),
        flops_source: flops_source.into(),
        tflops: Some(flops / times.median / 1e12),
        times,
        kernel: Some(kernel.symbol),
        registers: kernel.registers,
        local_bytes: kernel.local_bytes,
        warps_per_sm: kernel.warps_per_sm,
        threads_per_block: launch.threads,
        blocks: launched,
        shape,
        sums,
        deterministic,
        verification,
    })
}

/// Compares the last sums of repeated runs, starting sums included, with a reference. Wrong sums are
/// worse than sums that change.
pub fn judged(
    problem: &Problem,
    sums: &Sums,
    reference: Option<&Reference>,
    deterministic: bool,
) -> Verification {
    let mut verification = verify(problem, sums, reference);
    if !deterministic && verification.outcome != Outcome::Incorrect {
        verification.outcome = Outcome::Nondeterministic;
    }
    verification
}

/// Equal as bits, so that NaN equals itself.
pub fn same_bits(a: &Sums, b: &Sums) -> bool {
    let bits = |sums: &Sums| -> Vec<[u64; 2]> {
        sums.named(1).map(|(_, z)| [z.re.to_bits(), z.im.to_bits()]).collect()
    };
    bits(a) == bits(b)
}
