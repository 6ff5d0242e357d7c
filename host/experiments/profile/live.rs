//! Profiles by running the versions under the profiler.

use std::path::Path;

use super::aggregate::{Context, aggregate};
use super::folder::{CEILINGS, RUN, require_room};
use super::ncu::{Ncu, Target};
use super::{Counted, Options, lines};
use crate::devices::Device;
use crate::devices::choice::Choice;
use crate::devices::gpu::{self, Gpu};
use crate::error::{Error, Result};
use crate::experiments::ceilings::ceilings;
use crate::experiments::measure::timed::settle;
use crate::experiments::run::{self, run};
use crate::experiments::setting::Setting;
use crate::experiments::source::Source;
use crate::process::progress::Progress;
use crate::process::terminal::note;
use crate::record::profile::{Profile, SourceLine};
use crate::record::run::Run;
use crate::record::text;
use crate::record::times::Repetition;

/// What profiles.
pub(super) struct Live<'a> {
    pub ncu: &'a Path,
    pub device: &'a str,
    pub lines: bool,
    pub folder: &'a Path,
}

impl Live<'_> {
    /// Times the versions, measures the ceilings and has the profiler count; the run alone where a
    /// version did not pass.
    pub(super) fn count(
        &self,
        source: &Source,
        options: &Options,
        operations: Vec<Profile>,
        progress: Progress,
        each: impl FnMut(&Run),
    ) -> Result<std::result::Result<Counted, Run>> {
        let versions = &options.versions;
        // What is missing is said before anything long begins.
        let ncu = Ncu::find(self.ncu)?;
        let index = match self.device.parse()? {
            Choice::Gpus(indices) if indices.len() == 1 => indices[0],
            _ => return Err(Error::NoGpu { why: "profiling needs a GPU: --device gpu:N".into() }),
        };
        if source.file().is_none() {
            require_room(self.folder, &source.name(), source.nw())?;
        }
        let gpu = Gpu::open(index)?;
        let capability = gpu.info().compute_capability.as_ref();
        let architecture = capability.map(|c| format!("sm_{}", c.replace('.', "")));
        let ceilings = ceilings(&gpu)?;
        let problem = source.load(progress)?;
        let device: &dyn Device = &gpu;
        let settle = settle(device, None);
        let repetition = Repetition { settle, ..Repetition::exactly(1, options.repeat) };
        let timed = run::Options::new(versions, repetition);
        let run = run(&Setting::whole(&device, &problem), &timed, progress, each)?;
        if !run.passed() {
            return Ok(Err(run));
        }
        // The profiled program wants the device to itself.
        drop(gpu);

        let ids: Vec<&str> = versions.iter().map(|version| version.id()).collect();
        let (problem_arguments, device) = (source.arguments(), self.device.to_string());
        let target = Target { versions: ids.join(","), problem: problem_arguments, device };
        let bar = progress.bar("profiling (minutes)", 2);
        let (csv, launches) = ncu.counters(&target, operations.is_empty())?;
        bar.inc(1);
        let counters = format!("hardware counters, ncu {}", ncu.version);
        let mut profiles = aggregate(&launches, &Context::new(&problem, counters, operations))?;
        profiles.retain(|profile| ids.contains(&profile.version.as_str()));
        // The counters are worth keeping without the samples.
        let lines = if self.lines {
            ncu.source_lines(&target).unwrap_or_else(|error| {
                note(format_args!("no samples by source line: profiler: {error}"));
                Vec::new()
            })
        } else {
            Vec::new()
        };
        bar.finish_and_clear();

        for profile in &mut profiles {
            let result = run.results.iter().find(|result| result.version == profile.version);
            profile.time_s = result.map(|result| result.times.median);
            profile.identity = result.and_then(|result| result.identity.clone());
            profile.device.clone_from(&ceilings.device);
            profile.kernels_by.clone_from(&ceilings.kernels_by);
            profile.provenance.clone_from(&ceilings.provenance);
            profile.kernel_hash = profile.launches.first().and_then(|symbol| gpu::hash(symbol));
            profile.lines = lines_of(profile, &lines);
        }
        let files = vec![("counters.csv", csv), (RUN, text(&run)), (CEILINGS, text(&ceilings))];
        Ok(Ok(Counted { problem, profiles, architecture, files }))
    }
}

fn lines_of(profile: &Profile, kernels: &[lines::KernelLines]) -> Vec<SourceLine> {
    let first = profile.launches.first();
    let kernel = kernels.iter().find(|kernel| Some(&kernel.kernel) == first);
    kernel.map(|kernel| kernel.lines.clone()).unwrap_or_default()
}
