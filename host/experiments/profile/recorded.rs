//! Profiles from CSV that the profiler printed elsewhere.

use std::path::Path;

use gpp_kernels::kernel::Gpu;

use super::aggregate::{Context, aggregate};
use super::{Counted, Options, counters};
use crate::catalogue::Listed;
use crate::devices::launch::entry;
use crate::error::{Error, ProfileError, ProfilerError, Result};
use crate::experiments::source::Source;
use crate::problem::Problem;
use crate::process::input;
use crate::process::progress::Progress;
use crate::record::profile::Profile;

/// Reads the counters and checks that they are of this problem.
pub(super) fn read(
    source: &Source,
    options: &Options,
    csv: &Path,
    operations: Vec<Profile>,
    progress: Progress,
) -> Result<Counted> {
    let versions = &options.versions;
    let wrong =
        |error: ProfileError| Error::from(ProfilerError::Counters { path: csv.into(), error });
    let text = input::text(csv).map_err(|e| Error::Data {
        origin: csv.display().to_string(),
        what: format!("cannot read: {e}"),
    })?;
    let launches = counters::parse(&text).map_err(wrong)?;
    let problem = source.load(progress)?;
    let origin = format!("hardware counters, {}", csv.display());
    let context = Context::new(&problem, origin, operations);
    let mut profiles = aggregate(&launches, &context).map_err(wrong)?;
    profiles.retain(|profile| versions.iter().any(|version| version.id() == profile.version));
    let has = |version: &&Listed| profiles.iter().any(|profile| profile.version == version.id());
    if let Some(missing) = versions.iter().find(|version| !has(version))
        && (!options.all || profiles.is_empty())
    {
        return Err(wrong(ProfileError::NoLaunch(missing.id().into())));
    }
    for profile in &profiles {
        let version = versions.iter().find(|version| version.id() == profile.version);
        let version = version.expect("others were left out").kernel.require_gpu()?;
        plausible(profile, version).map_err(wrong)?;
        of_problem(profile, version, &problem).map_err(wrong)?;
    }
    Ok(Counted { problem, profiles, architecture: None, files: Vec::new() })
}

/// Fails where the operations of a term are far from those of the version's kernels: the counters are
/// of another system then. Nothing is known of a version without archived counts.
fn plausible(profile: &Profile, version: &Gpu) -> std::result::Result<(), ProfileError> {
    const FACTOR: f64 = 3.0;
    let counted = profile.flops() / profile.terms as f64;
    let known: Vec<f64> = version.kernels.iter().filter_map(|k| k.flops_per_term).collect();
    let near = |known: &f64| (1.0 / FACTOR..=FACTOR).contains(&(counted / known));
    match known.first() {
        Some(first) if !known.iter().any(near) => Err(ProfileError::OtherProblem {
            found: format!(
                "{} would take {counted:.3} FLOP a term of {}, its kernels take {first:.1}",
                profile.version, profile.system
            ),
            counters: "the counters are of",
        }),
        _ => Ok(()),
    }
}

/// Fails where the counters are of a kernel that the problem does not run, such as that of other poles.
fn of_problem(
    profile: &Profile,
    version: &Gpu,
    problem: &Problem,
) -> std::result::Result<(), ProfileError> {
    let Some(found) = profile.launches.first() else { return Ok(()) };
    let batch = problem.batches(version.kernel(problem.frame().poles()).holds()).first();
    let plan = batch.plan();
    let needed = entry(plan.kernel(version), batch.nw());
    if needed.symbol == found {
        return Ok(());
    }
    Err(ProfileError::OtherProblem {
        found: format!(
            "{} runs kernel `{}` on {}, the counters are of `{found}`",
            profile.version,
            needed.symbol,
            problem.name()
        ),
        counters: "they are of",
    })
}
