//! What a profiler measures of each version: one record, aggregated over its launches.

pub mod aggregate;
pub mod counters;
pub mod folder;
pub mod metrics;
pub mod ncu;

use std::path::{Path, PathBuf};

use super::ceilings::ceilings;
use super::measure::timed::settle;
use super::run::{self, run};
use super::setting::Setting;
use super::source::Source;
use crate::catalogue::{Listed, sources};
use crate::devices::Choice;
use crate::devices::Device;
use crate::devices::gpu::{self, Gpu};
use crate::error::{Error, Result};
use crate::process::output::write_text;
use crate::process::progress::Progress;
use crate::record::profile::Profile;
use crate::record::run::Run;
use crate::record::text;
use crate::record::times::Repetition;
use aggregate::{Context, aggregate};
use folder::{CEILINGS, RUN, require_room};
use ncu::{Ncu, Target};

/// How profiles are made.
#[derive(Clone)]
pub struct Options {
    /// The versions.
    pub versions: Vec<Listed>,
    /// The profiler.
    pub ncu: PathBuf,
    /// `gpu:N`.
    pub device: String,
    /// Timed runs of each version, at least.
    pub repeat: usize,
}

/// What came of it.
pub enum Profiled {
    /// The profiles, stored in the folder.
    Profiles(Vec<Profile>),
    /// A run in which something did not pass: what is not verified is not worth a profile.
    NotVerified(Box<Run>),
}

/// Times the versions on a problem, measures the GPU's ceilings, has the profiler count, and stores it all in a
/// folder; `each` is called when the run for the times begins and after each version.
///
/// # Errors
/// Before anything long begins: of the [profiler](crate::error::ProfilerError), [`Error::NoGpu`], [`Error::Data`]
/// for a folder of another system's profiles. Errors of the device and of writing.
pub fn profile(
    source: &Source,
    options: &Options,
    folder: &Path,
    progress: Progress,
    each: impl FnMut(&Run),
) -> Result<Profiled> {
    let Options { versions, device, repeat, .. } = options;
    let ncu = Ncu::find(&options.ncu)?;
    let index = match device.parse()? {
        Choice::Gpus(indices) if indices.len() == 1 => indices[0],
        _ => return Err(Error::NoGpu { why: "profiling needs a GPU: --device gpu:N".into() }),
    };
    if source.file().is_none() {
        require_room(folder, &source.name(), source.nw())?;
    }
    let gpu = Gpu::open(index)?;
    let ceilings = ceilings(&gpu)?;
    let problem = source.load(progress)?;
    require_room(folder, problem.name(), Some(problem.nw()))?;
    let of_gpu: &dyn Device = &gpu;
    let repetition = Repetition { settle: settle(of_gpu, None), ..Repetition::exactly(1, *repeat) };
    let timed = run::Options::new(versions, repetition);
    let run = run(&Setting::whole(&of_gpu, &problem), &timed, progress, each)?;
    if !run.passed() {
        return Ok(Profiled::NotVerified(Box::new(run)));
    }
    // The profiled program wants the device to itself.
    drop(gpu);

    let ids: Vec<&str> = versions.iter().map(|version| version.id()).collect();
    let target =
        Target { versions: ids.join(","), problem: source.arguments(), device: device.clone() };
    let bar = progress.bar("profiling (minutes)", 1);
    let (csv, launches) = ncu.counters(&target)?;
    bar.finish_and_clear();
    let counters = format!("hardware counters, ncu {}", ncu.version);
    let mut profiles = aggregate(&launches, &Context::new(&problem, counters))?;
    profiles.retain(|profile| ids.contains(&profile.version.as_str()));

    std::fs::create_dir_all(folder)
        .map_err(|e| Error::Write { path: folder.into(), reason: e.to_string() })?;
    for (name, text) in [("counters.csv", csv), (RUN, text(&run)), (CEILINGS, text(&ceilings))] {
        write_text(&folder.join(name), &text)?;
    }
    for profile in &mut profiles {
        let result = run.results.iter().find(|result| result.version == profile.version);
        profile.time_s = result.map(|result| result.times.median);
        profile.task = result.and_then(|result| result.task.clone());
        profile.device.clone_from(&ceilings.device);
        profile.kernels_by.clone_from(&ceilings.kernels_by);
        profile.provenance.clone_from(&ceilings.provenance);
        profile.kernel_hash = profile.launches.first().and_then(|symbol| gpu::hash(symbol));
        profile.source_hash = sources::hash(&profile.version);
        folder::store(folder, profile)?;
    }
    Ok(Profiled::Profiles(profiles))
}
