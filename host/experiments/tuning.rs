//! A version in every shape of tiles that has kernels.

use gpp_kernels::registry::Version;

use super::measure::{body, measure};
use crate::catalogue::tuned::candidates;
use crate::devices::Device;
use crate::error::Result;
use crate::problem::Problem;
use crate::process::progress::Progress;
use crate::record::Head;
use crate::record::provenance::Provenance;
use crate::record::run::TileShape;
use crate::record::times::Repetition;
use crate::record::tuning::{Trial, Tuning};
use crate::reference;

/// Register caps that are tried.
const CAPS: [u32; 4] = [80, 96, 128, 168];

/// The caps to try: one means nothing to the host.
fn caps(device: &dyn Device) -> Vec<Option<u32>> {
    if device.info().id == "cpu" { vec![None] } else { CAPS.map(Some).to_vec() }
}

/// Runs the best version in every shape; `each` is called after each.
///
/// # Errors
/// Those of the device.
pub fn tune(
    device: &dyn Device,
    problem: &Problem,
    repetition: Repetition,
    progress: Progress,
    mut each: impl FnMut(&Tuning),
) -> Result<Tuning> {
    let tuned = Version::best();
    let provenance = Provenance::now(device.info()).of(&problem.origin, repetition);
    let reference = reference::of(problem, progress);
    let mut loaded = device.load(problem)?;
    let poles = loaded.plan().poles;
    let caps = caps(device);
    let shapes = candidates(poles).count() * caps.len();
    let mut tuning = Tuning {
        head: Head::new(device.info(), provenance),
        system: problem.name.clone(),
        version: tuned.id.into(),
        poles: poles.into(),
        shapes: Some(shapes),
        tried: Some(0),
        results: Vec::new(),
        best: None,
    };
    let bar = progress.bar("tuning", shapes as u64);
    for (at, (cap, candidate)) in
        caps.into_iter().flat_map(|cap| candidates(poles).map(move |of| (cap, of))).enumerate()
    {
        // A handful in the life of the program; versions are static everywhere.
        let version: &'static Version = Box::leak(Box::new(candidate.of(tuned, cap)));
        let kernel = device.kernel(version, body(version, problem, loaded.plan()))?;
        bar.inc(1);
        tuning.tried = Some(at + 1);
        // Some kernels need more registers than a large block leaves.
        if kernel.warps_per_sm != Some(0) {
            let (loaded, reference) = (loaded.as_mut(), reference.as_ref());
            let measured = measure(version, device, loaded, problem, reference, repetition, || ())?;
            let (tile, warps) = (candidate.shape.tile, candidate.shape.warps);
            let shape = TileShape { tile, warps, max_registers: cap };
            tuning.results.push(Trial::of(shape, &measured));
        }
        each(&tuning);
    }
    bar.finish_and_clear();
    tuning.head.complete = true;
    Ok(tuning)
}
