//! Running one version and what is recorded of it.

use gpp_kernels::registry::{Body, Loops, Version};

use crate::devices::{Device, Loaded};
use crate::error::Result;
use crate::problem::{Planned, Problem, Sums};
use crate::record::run::{Measurement, TileShape};
use crate::record::times::{Repetition, Times};
use crate::reference::Reference;
use crate::reference::verify::{Outcome, Verification, verify};

/// Source of the operation counts that versions hold.
pub const ARCHIVED_COUNTS: &str = "archived: hardware counters, these kernels, si214 on an H200";

/// What stands in its place for a version without any.
pub const NO_COUNTS: &str = "none: no operation counts of these kernels are archived";

/// Runs `version` on `loaded`, which holds `problem`, and compares the sums with `reference`.
///
/// # Errors
/// Those of the device.
///
/// # Panics
/// Where `repetition` has no run at all.
pub fn measure(
    version: &Version,
    device: &dyn Device,
    loaded: &mut dyn Loaded,
    problem: &Problem,
    reference: Option<&Reference>,
    repetition: Repetition,
    mut after_each: impl FnMut(),
) -> Result<Measurement> {
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
    let sums = problem.start.plus(&last.expect("there is at least one run"));
    let plan = loaded.plan();
    let version = &plan.running(version);
    let body = body(version, problem, plan);
    let launch = version.of(plan.poles);
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
    let per_term: Option<f64> = Some(launch.flops_per_term);
    let flops = per_term.map(|per_term| per_term * problem.terms() as f64);
    let kernel = device.kernel(version, body)?;
    Ok(Measurement {
        version: version.id.into(),
        device: device.info().id.clone(),
        spread: Some(times.spread()),
        flops,
        flops_source: if flops.is_some() { ARCHIVED_COUNTS } else { NO_COUNTS }.into(),
        tflops: flops.map(|flops| flops / times.median / 1e12),
        times,
        kernel: Some(kernel.symbol),
        registers: kernel.registers,
        local_bytes: kernel.local_bytes,
        warps_per_sm: kernel.warps_per_sm,
        threads_per_block: launch.threads,
        blocks: version.blocks(plan.extents(&problem.header, version), plan.poles),
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

/// The kernel of `version` for a problem.
///
/// # Panics
/// Never: a problem has one to three energies, and the registry a body for each.
pub fn body(version: &Version, problem: &Problem, plan: &Planned) -> &'static Body {
    let version = plan.running(version);
    version.body(problem.nw(), plan.poles).expect("the registry has a body for every number")
}

/// Equal as bits, so that NaN equals itself.
pub fn same_bits(a: &Sums, b: &Sums) -> bool {
    let bits = |sums: &Sums| -> Vec<[u64; 2]> {
        sums.named(1).map(|(_, z)| [z.re.to_bits(), z.im.to_bits()]).collect()
    };
    bits(a) == bits(b)
}
