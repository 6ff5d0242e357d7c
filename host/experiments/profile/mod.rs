//! What a profiler measures of each version: one record, aggregated over its launches.

pub mod aggregate;
pub mod counters;
pub mod folder;
pub mod lines;
mod live;
pub mod metrics;
pub mod ncu;
pub mod processor;
mod recorded;
pub mod sass;

use std::path::{Path, PathBuf};

use super::counting;
use super::source::Source;
use crate::catalogue::{self, Listed, sources};
use crate::devices::gpu;
use crate::error::{Error, ProfileError, Result};
use crate::problem::Problem;
use crate::process::output::write_text;
use crate::process::progress::Progress;
use crate::record::profile::Profile;
use crate::record::provenance::kernels_by;
use crate::record::run::Run;

/// How profiles are made.
#[derive(Clone)]
pub struct Options {
    /// The versions.
    pub versions: Vec<Listed>,
    /// Whether whole journeys were asked for: versions without counters are left out then.
    pub all: bool,
    /// Where the counters come from.
    pub counters: Counters,
    /// A folder of profiles whose FP64 operations for each term are taken.
    pub operations: Option<PathBuf>,
    /// Architecture to disassemble the kernels for; by default the GPU's.
    pub architecture: Option<String>,
    /// Timed runs of each version, at least.
    pub repeat: usize,
}

/// Where counters come from.
#[derive(Clone, Debug)]
pub enum Counters {
    /// CSV that the profiler printed elsewhere.
    Recorded(PathBuf),
    /// The profiler, run here.
    Live {
        /// The profiler.
        ncu: PathBuf,
        /// `gpu:N`.
        device: String,
        /// Whether to sample source lines.
        lines: bool,
    },
}

/// What came of it.
pub enum Profiled {
    /// The profiles, stored in the folder.
    Profiles(Vec<Profile>),
    /// A run in which something did not pass: what is not verified is not worth a profile.
    NotVerified(Box<Run>),
}

/// Profiles before the kernels are disassembled and the operations counted by the source.
struct Counted {
    problem: Problem,
    profiles: Vec<Profile>,
    /// Of the GPU that they were made on.
    architecture: Option<String>,
    /// Names and texts of what else goes into their folder.
    files: Vec<(&'static str, String)>,
}

/// Makes profiles on a problem and stores them in a folder; `each` is called when the run for their
/// times begins and after each version.
///
/// # Errors
/// Before anything long begins: of the [profiler](crate::error::ProfilerError), [`Error::NoGpu`], [`Error::Data`]
/// for a folder of another system's profiles. `ProfilerError::Counters` for recorded counters of another problem.
/// Errors of the device and of writing.
///
/// # Panics
/// Never: profiles are of versions that were asked for.
pub fn profile(
    source: &Source,
    options: &Options,
    folder: &Path,
    progress: Progress,
    each: impl FnMut(&Run),
) -> Result<Profiled> {
    let operations = operations(options, source.nw())?;
    let counted = match &options.counters {
        Counters::Recorded(csv) => recorded::read(source, options, csv, operations, progress)?,
        Counters::Live { ncu, device, lines } => {
            let live = live::Live { ncu, device, lines: *lines, folder };
            match live.count(source, options, operations, progress, each)? {
                Ok(counted) => counted,
                Err(run) => return Ok(Profiled::NotVerified(Box::new(run))),
            }
        }
    };
    let Counted { problem, mut profiles, architecture, files } = counted;
    folder::require_room(folder, problem.name(), Some(problem.nw()))?;

    if let Some(architecture) = options.architecture.as_ref().or(architecture.as_ref()) {
        let kernels = profiles.iter().filter_map(|profile| profile.launches.first());
        let ptx = gpu::kernels()?.of(kernels.map(String::as_str));
        match sass::disassemble(&ptx, architecture) {
            Ok(all) => profiles.iter_mut().for_each(|p| p.disassembly = all.of(p)),
            Err(why) => progress
                .say(format_args!("note: no instruction counts from the disassembly: {why}")),
        }
    }
    std::fs::create_dir_all(folder)
        .map_err(|e| Error::Write { path: folder.into(), reason: e.to_string() })?;
    for (name, text) in &files {
        write_text(&folder.join(name), text)?;
    }
    let bar = progress.bar("counting", profiles.len() as u64);
    for profile in &mut profiles {
        profile.source_hash = sources::hash(&profile.version);
        let version = catalogue::find(&profile.version).expect("only those asked for are left");
        profile.counted = Some(counting::count(version.kernel, &problem)?);
        folder::store(folder, profile)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Profiled::Profiles(profiles))
}

/// The profiles to take operations from; one for each version, at as many energies as the problem has where
/// both are known.
fn operations(options: &Options, nw: Option<usize>) -> Result<Vec<Profile>> {
    let Some(folder) = &options.operations else { return Ok(Vec::new()) };
    let operations = folder::load(folder)?;
    let fits = |other: &Profile| nw.is_none_or(|nw| other.is_at(nw as u32));
    let has = |version: &&Listed| {
        operations.iter().any(|other| other.version == version.id() && fits(other))
    };
    let wrong = |why: ProfileError| Error::Data {
        origin: folder.display().to_string(),
        what: format!("holds {why}"),
    };
    for version in &options.versions {
        if !has(&version) {
            return Err(wrong(ProfileError::NoOperations(version.id().into())));
        }
        let of = operations.iter().find(|other| other.version == version.id() && fits(other));
        if of.is_some_and(is_of_other_code) {
            return Err(wrong(ProfileError::OtherKernel(version.id().into())));
        }
    }
    Ok(operations)
}

/// Whether a profile tells that its kernel had other code than this program's.
fn is_of_other_code(profile: &Profile) -> bool {
    let now = profile.launches.first().and_then(|symbol| gpu::hash(symbol));
    let by_same = profile.kernels_by.is_some() && profile.kernels_by == kernels_by();
    let differs = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
    match by_same {
        true => differs(&profile.kernel_hash, &now),
        false => differs(&profile.source_hash, &sources::hash(&profile.version)),
    }
}
