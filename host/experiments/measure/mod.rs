//! Running one version and what is recorded of it.

pub mod regimes;
pub mod seen;
pub mod timed;

use gpp_cpu::version::Cpu;
use gpp_kernels::kernel::{Gpu, Loops};

use crate::catalogue::{BackEnd, Kernel, sources};
use crate::devices::entry;
use crate::devices::gpu;
use crate::devices::{Device, KernelInfo};
use crate::engine::Engine;
use crate::error::Result;
use crate::problem::{Frame, Slabs, Sums};
use crate::record::run::{Measurement, Threads, TileShape};
use crate::record::times::{Repetition, Times};
use crate::reference::Reference;
use crate::reference::verify::{Outcome, Verification, verify};
use seen::Seen;
use timed::{Telling, Timed, timed};

/// Source of the operation counts that kernels hold.
pub const ARCHIVED_COUNTS: &str = "archived: hardware counters, these kernels, si214 on an H200";

/// Where a kernel holds none.
const NOT_COUNTED: &str = "none: no counters of these kernels are archived";

/// Has `engine` run a version on `device`, which is watched meanwhile, and compares the sums with
/// `reference`.
///
/// # Errors
/// Those of the device.
///
/// # Panics
/// Where `repetition` has no timed run.
pub fn measure(
    version: Kernel,
    device: &dyn Device,
    engine: &mut Engine,
    reference: Option<&Reference>,
    repetition: Repetition,
    telling: &Telling,
) -> Result<Measurement> {
    let Timed { samples, before_cap, seen, sums, deterministic, blocks, work } =
        timed(version, device, engine, repetition, telling)?;
    let Seen { state, held_back, energy_j } = seen;
    let problem = engine.problem();
    let sums = problem.start().plus(&sums);
    let verification = judged(engine.slabs(), &sums, reference, deterministic)?;
    let times = Times::of(samples);
    let kernel = match version {
        Kernel::Gpu(gpu) => for_gpu(gpu, device, problem)?,
        Kernel::Cpu(cpu) => for_cpu(cpu, device)?,
    };
    // Of several devices one clock tells nothing.
    let clock = state.as_ref().and_then(|state| state.sm_mhz).filter(|_| work.is_none());
    let clock = clock.map(|clock| clock.median);
    let mut result = Measurement {
        version: version.id().into(),
        device: device.info().id.clone(),
        emulated: Some(version.back_end() != device.back_end()),
        spread: Some(times.spread()),
        before_cap,
        cycles: clock.map(|mhz| mhz * 1e6 * times.median),
        state,
        held_back,
        energy_j,
        flops: None,
        flops_source: NOT_COUNTED.into(),
        tflops: None,
        times,
        kernel: kernel.known.as_ref().map(|known| known.symbol.clone()),
        kernel_hash: kernel.known.as_ref().and_then(|known| {
            (device.back_end() == BackEnd::Gpu).then(|| gpu::hash(&known.symbol))?
        }),
        task: None,
        source_hash: sources::hash(version.id()),
        registers: kernel.known.as_ref().and_then(|known| known.registers),
        local_bytes: kernel.known.as_ref().and_then(|known| known.local_bytes),
        warps_per_sm: kernel.known.as_ref().and_then(|known| known.warps_per_sm),
        threads_per_block: kernel.threads_per_block,
        blocks,
        shape: kernel.shape,
        simd: kernel.simd,
        threads: kernel.threads,
        sums,
        deterministic,
        work,
        verification,
    };
    if let Some((per_term, source)) = kernel.flops_per_term {
        result.rate(per_term * problem.terms() as f64, source);
    }
    Ok(result)
}

/// What is recorded of the kernel that ran; what does not apply is `None`.
struct Ran {
    /// Operations of a term and who counted them, where that is kept.
    flops_per_term: Option<(f64, &'static str)>,
    known: Option<KernelInfo>,
    threads_per_block: Option<u32>,
    shape: Option<TileShape>,
    simd: Option<String>,
    threads: Option<Threads>,
}

fn for_gpu(gpu: &'static Gpu, device: &dyn Device, problem: &Frame) -> Result<Ran> {
    // Of the last batch, which may have fewer energies, nothing is recorded.
    let first = problem.batches_for(Kernel::Gpu(gpu)).first();
    let launch = first.plan().kernel(gpu);
    let shape = match launch.loops {
        Loops::Tiled(shape) => Some(TileShape {
            tile: shape.tile,
            warps: shape.warps,
            max_registers: launch.max_registers,
        }),
        _ => None,
    };
    Ok(Ran {
        flops_per_term: launch.flops_per_term.map(|archived| (archived, ARCHIVED_COUNTS)),
        known: Some(device.kernel(launch, entry(launch, first.nw()))?),
        threads_per_block: Some(launch.threads),
        shape,
        simd: None,
        threads: None,
    })
}

fn for_cpu(cpu: &'static Cpu, device: &dyn Device) -> Result<Ran> {
    let host = device.host().expect("it ran on a processor");
    Ok(Ran {
        flops_per_term: None,
        known: None,
        threads_per_block: None,
        shape: None,
        simd: Some(cpu.level(host.level()).to_string()),
        threads: Some(Threads { count: host.team().count(cpu.threads) as u32 }),
    })
}

/// Compares the last sums of repeated runs, starting sums included, with a reference. Wrong sums are
/// worse than sums that change.
///
/// # Errors
/// Those of [`verify`].
pub fn judged<'a>(
    problem: impl Into<Slabs<'a>>,
    sums: &Sums,
    reference: Option<&Reference>,
    deterministic: bool,
) -> Result<Verification> {
    let mut verification = verify(problem, sums, reference)?;
    if !deterministic && verification.outcome != Outcome::Incorrect {
        verification.outcome = Outcome::Nondeterministic;
    }
    Ok(verification)
}

/// Equal as bits, so that NaN equals itself.
pub fn same_bits(a: &Sums, b: &Sums) -> bool {
    let bits = |sums: &Sums| -> Vec<[u64; 2]> {
        sums.named(1).map(|(_, z)| [z.re.to_bits(), z.im.to_bits()]).collect()
    };
    bits(a) == bits(b)
}
