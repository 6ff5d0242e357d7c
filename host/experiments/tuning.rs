//! A version in every shape of tiles that has kernels.

use gpp_kernels::tiling::Shape;

use super::estimate::Estimate;
use super::measure::measure;
use super::measure::timed::QUIETLY;
use crate::catalogue::tuned::{shape, shapes, with};
use crate::catalogue::{BackEnd, Kernel, best};
use crate::devices::Device;
use crate::devices::launch::entry;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::process::progress::Progress;
use crate::record::Head;
use crate::record::provenance::Provenance;
use crate::record::run::TileShape;
use crate::record::times::{Regimes, Repetition};
use crate::record::tuning::{Trial, Tuning};
use crate::reference;

/// Register caps that are tried.
const CAPS: [u32; 4] = [80, 96, 128, 168];

/// The caps to try: one means nothing to the host.
fn caps(device: &dyn Device) -> Vec<Option<u32>> {
    if device.back_end() == BackEnd::Cpu { vec![None] } else { CAPS.map(Some).to_vec() }
}

/// Runs the best version in every shape; `each` is called after each.
///
/// # Errors
/// [`Error::Data`] where it has no other; those of the device.
pub fn tune(
    device: &dyn Device,
    problem: &Problem,
    repetition: Repetition,
    progress: Progress,
    mut each: impl FnMut(&Tuning),
) -> Result<Tuning> {
    let tuned = best(BackEnd::Gpu).kernel.require_gpu()?;
    // Shapes are compared by their kernels, not by what the board makes of them.
    let repetition = Repetition { regimes: Regimes::BeforeCap, ..repetition };
    let provenance = Provenance::now(device.info()).of(problem.origin(), repetition);
    let reference = reference::of(problem, progress)?;
    let mut engine = Engine::whole(device, problem)?;
    let poles = problem.poles();
    let kernels: Vec<_> = shapes(tuned, poles).collect();
    if kernels.is_empty() {
        let what = format!("{} has no kernels in other shapes for these poles", tuned.id());
        return Err(Error::Data { origin: problem.name().into(), what });
    }
    let caps = caps(device);
    let count = kernels.len() * caps.len();
    let mut tuning = Tuning {
        head: Head::new(device.info(), provenance),
        system: problem.name().into(),
        version: tuned.id().into(),
        poles: poles.into(),
        shapes: Some(count),
        tried: Some(0),
        results: Vec::new(),
        best: None,
    };
    let mut estimate = Estimate::on(device, problem);
    estimate.runs(Kernel::Gpu(tuned), count * repetition.runs());
    estimate.say("", progress);
    let bar = progress.bar("tuning", count as u64);
    let trials = caps.into_iter().flat_map(|cap| kernels.iter().map(move |kernel| (cap, kernel)));
    for (at, (cap, kernel)) in trials.enumerate() {
        let version = with(tuned, kernel, cap);
        let batch = problem.batches_for(Kernel::Gpu(version)).first();
        let launch = batch.plan().kernel(version);
        let known = device.kernel(launch, entry(launch, batch.nw()))?;
        bar.inc(1);
        tuning.tried = Some(at + 1);
        // Some kernels need more registers than a large block leaves.
        if let Some(Shape { tile, warps }) = shape(kernel).filter(|_| known.warps_per_sm != Some(0))
        {
            let reference = reference.as_ref();
            let measured = measure(
                Kernel::Gpu(version),
                device,
                &mut engine,
                reference,
                repetition,
                &QUIETLY,
            )?;
            let shape = TileShape { tile, warps, max_registers: cap };
            tuning.results.push(Trial::of(shape, &measured));
        }
        each(&tuning);
    }
    bar.finish_and_clear();
    tuning.head.complete = true;
    Ok(tuning)
}
