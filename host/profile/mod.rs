//! `gpp profile`: counters of versions, and the folder that holds them.

pub mod counters;
pub mod ncu;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::catalogue::names::versions;
use crate::catalogue::{BackEnd, Listed, order, sources};
use crate::cli::args::{DEFAULT_FOLDER, PAPER_SYSTEM, ProfileArgs};
use crate::devices::Choice;
use crate::devices::Device;
use crate::devices::gpu::{self, Gpu};
use crate::error::{Error, Result};
use crate::measure::settle;
use crate::output::{self, print, write_text};
use crate::profile::counters::{Context, aggregate};
use crate::profile::ncu::{Ncu, Target};
use crate::progress::Progress;
use crate::record::profile::{Ceilings, Profile};
use crate::record::run::{Repetition, Run};
use crate::record::{self, text};
use crate::roofline::{Level, Timing, of_own_ceiling, points};
use crate::run::{exit_code, run_versions, say_last};
use crate::setup::{Setting, Source};
use crate::terminal::{Unit, fit, or_dash, table, terminal};

pub fn profile(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let versions = versions(args.versions.names()?, BackEnd::Gpu)?;
    if let Some(folder) = &args.output {
        output::require_name("--output", folder, "folder")?;
    }
    let source = args.problem.source_or(PAPER_SYSTEM)?;
    let folder = folder(args, &source);
    let options = Options {
        versions,
        ncu: args.ncu.clone(),
        device: args.device.clone(),
        repeat: args.repeat,
    };
    let say = |run: &_| say_last(run, progress);
    let profiles = match profile_versions(&source, &options, &folder, progress, say)? {
        Profiled::Profiles(profiles) => profiles,
        Profiled::NotVerified(run) => return Ok(exit_code(&run.results)),
    };
    if !args.quiet {
        let ceilings = record::read(&folder.join(CEILINGS))?;
        print(|to| stored(to, &profiles, Some(&ceilings), &folder))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn folder(args: &ProfileArgs, source: &Source) -> PathBuf {
    match &args.output {
        Some(folder) => folder.clone(),
        None => {
            let at = match source {
                Source::OnGrid(_, grid) => grid.argument(),
                _ => None,
            };
            // `-nw6`, `-energies-10_10_501`: a colon is no part of a file's name everywhere.
            let at = at.map_or(String::new(), |[flag, value]| {
                format!("-{}{}", flag.trim_start_matches('-'), value.replace(':', "_"))
            });
            PathBuf::from(DEFAULT_FOLDER).join(source.name() + &at)
        }
    }
}

// What a profiler measures of each version: one record, aggregated over its launches.

#[derive(Clone)]
pub struct Options {
    pub versions: Vec<Listed>,
    pub ncu: PathBuf,
    /// `gpu:N`.
    pub device: String,
    /// Timed runs of each version, at least.
    pub repeat: usize,
}

pub enum Profiled {
    Profiles(Vec<Profile>),
    /// A run in which something did not pass: what is not verified is not worth a profile.
    NotVerified(Box<Run>),
}

/// Times the versions on a problem, measures the GPU's ceilings, has the profiler count, and stores it all in a
/// folder; `each` is called when the run for the times begins and after each version.
pub fn profile_versions(
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
    let ceilings = crate::roofline::ceilings(&gpu)?;
    let problem = source.load(progress)?;
    require_room(folder, problem.name(), Some(problem.nw()))?;
    let of_gpu: &dyn Device = &gpu;
    let repetition = Repetition { settle: settle(of_gpu, None), ..Repetition::exactly(1, *repeat) };
    let timed = crate::run::Options::new(versions, repetition);
    let run = run_versions(&Setting::whole(&of_gpu, &problem), &timed, progress, each)?;
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

    std::fs::create_dir_all(folder).map_err(|e| Error::write(folder, e))?;
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
        store(folder, profile)?;
    }
    Ok(Profiled::Profiles(profiles))
}

// Stored profiles, as `profile` leaves them: a folder for each system.

/// The ceilings' file in a folder of profiles.
pub const CEILINGS: &str = "ceilings.json";

/// The run's file in a folder of profiles.
pub const RUN: &str = "run.json";

/// One system's profiles and the ceilings of their device.
pub struct Records {
    pub folder: PathBuf,
    pub system: String,
    pub profiles: Vec<Profile>,
    pub ceilings: Ceilings,
}

impl Records {
    /// From `dir` itself, or from the only folder in it that has any.
    pub fn load(dir: &Path) -> Result<Records> {
        let folder = system_folder(dir)?;
        let profiles = load(&folder)?;
        let system = one_system(&folder, &profiles)?;
        let ceilings = ceilings(&folder)?;
        Ok(Records { folder, system, profiles, ceilings })
    }

    /// The run that the profiles were made beside.
    pub fn run(&self) -> Result<Run> {
        let path = self.folder.join(RUN);
        let remedy = format!("`gpp --json {}` on the same GPU writes it", path.display());
        let run: Run = record::read_or(&path, &remedy)?;
        self.require_same(&path, &run.system.name)?;
        for profile in &self.profiles {
            let result = run.results.iter().find(|result| result.version == profile.version);
            let both = profile.task.as_ref().zip(result.and_then(|result| result.task.as_ref()));
            if both.is_some_and(|(own, of_run)| own != of_run) {
                let version = &profile.version;
                let what = format!(
                    "its {version} has other data, kernels or devices than the profile beside it"
                );
                return Err(wrong(&path, what));
            }
        }
        Ok(run)
    }

    fn require_same(&self, path: &Path, of: &str) -> Result<()> {
        if of == self.system {
            return Ok(());
        }
        Err(wrong(path, format!("is of {of}, the profiles beside it are of {}", self.system)))
    }

    /// The files that were read, or will be.
    pub fn files(&self) -> Vec<PathBuf> {
        let profiles = self.profiles.iter().map(|p| path(&self.folder, &p.version));
        profiles.chain([CEILINGS, RUN].map(|name| self.folder.join(name))).collect()
    }
}

fn wrong(path: &Path, what: String) -> Error {
    Error::Input { origin: path.display().to_string(), what }
}

/// The system that all profiles of a folder are of.
fn one_system(folder: &Path, profiles: &[Profile]) -> Result<String> {
    let systems: BTreeSet<&str> = profiles.iter().map(|profile| profile.system.as_str()).collect();
    let systems: Vec<&str> = systems.into_iter().collect();
    match systems[..] {
        [system] => Ok(system.into()),
        _ => Err(wrong(
            folder,
            format!("holds profiles of {}: each system needs a folder", systems.join(" and ")),
        )),
    }
}

/// Fails where a folder already holds profiles of another system, or of another number of energies.
pub fn require_room(folder: &Path, system: &str, nw: Option<usize>) -> Result<()> {
    if !has_profiles(folder) {
        return Ok(());
    }
    let holds = |other: String, own: String| {
        let what = format!("holds profiles of {other}; name another with --output for {own}");
        Err(wrong(folder, what))
    };
    let profiles = load(folder)?;
    let other = one_system(folder, &profiles)?;
    if other != system {
        return holds(other, system.into());
    }
    let energies = |nw: usize| format!("{system} at {nw} energies");
    let others = profiles.iter().filter_map(|profile| profile.nw.map(|nw| nw as usize));
    match nw.and_then(|nw| Some((others.into_iter().find(|other| *other != nw)?, nw))) {
        Some((other, own)) => holds(energies(other), energies(own)),
        None => Ok(()),
    }
}

fn system_folder(dir: &Path) -> Result<PathBuf> {
    if has_profiles(dir) {
        return Ok(dir.into());
    }
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| has_profiles(path)).collect();
    folders.sort();
    match &folders[..] {
        // A run may stand alone; loading says what is missing.
        [] => Ok(dir.into()),
        [folder] => Ok(folder.clone()),
        several => {
            let names: Vec<String> =
                several.iter().map(|folder| format!("--from {}", folder.display())).collect();
            Err(wrong(dir, format!("holds several folders of profiles: {}", names.join(" or "))))
        }
    }
}

/// The file of a run: this one, or that of a folder of records.
pub fn run_file(path: &Path) -> Result<PathBuf> {
    if path.is_dir() { Ok(system_folder(path)?.join(RUN)) } else { Ok(path.into()) }
}

fn has_profiles(folder: &Path) -> bool {
    !files(folder).is_empty()
}

/// The files of a folder that are named as profiles.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("profile-") && name.ends_with(".json")
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(named).collect();
    files.sort();
    files
}

fn ceilings(folder: &Path) -> Result<Ceilings> {
    let remedy = "`gpp profile` measures the ceilings on the GPU; copy the file that it wrote there \
                  beside these profiles";
    record::read_or(&folder.join(CEILINGS), remedy)
}

/// Where the profile of a version is kept in a folder of profiles.
pub fn path(folder: &Path, version: &str) -> PathBuf {
    // A colon is no part of a file's name everywhere.
    folder.join(format!("profile-{}.json", version.replace(':', "-")))
}

pub fn store(folder: &Path, profile: &Profile) -> Result<()> {
    write_text(&path(folder, &profile.version), &text(profile))
}

/// Reads the profiles of a folder in the versions' order.
pub fn load(folder: &Path) -> Result<Vec<Profile>> {
    let mut profiles: Vec<Profile> =
        files(folder).iter().map(|path| record::read(path)).collect::<Result<_>>()?;
    profiles.sort_by_key(|profile| order::place(&profile.version).unwrap_or(usize::MAX));
    if profiles.is_empty() {
        let what = if folder.is_dir() {
            "holds no profile-*.json; `gpp profile` makes them"
        } else {
            "no such folder; `gpp profile` makes it"
        };
        return Err(wrong(folder, what.into()));
    }
    Ok(profiles)
}

// Profiles for the terminal.

/// One line for each profile: what it takes, moves and waits for.
fn profiles(profiles: &[Profile], ceilings: Option<&Ceilings>, width: Option<u16>) -> String {
    let time = Unit::of_times(profiles.iter().map(Profile::seconds));
    let rate = Unit::of_rates(profiles.iter().map(Profile::rate));
    let mut table = table(&[
        "version",
        &format!("time [{}]", time.name),
        rate.name,
        "FLOP/term",
        "FMA",
        "of its ceiling",
        "sustained",
        "FP64 busy",
        "FLOP/B HBM",
        "L2",
        "L1",
        "shared",
        "waits for",
    ]);
    let timing = Timing::of(profiles);
    for p in profiles {
        let points = points(p, timing);
        let [hbm, l2, l1, shared] =
            [Level::Hbm, Level::L2, Level::L1, Level::Shared].map(|level| {
                let point = points.iter().find(|point| point.level == level);
                or_dash(point.map(|point| format!("{:.2}", point.intensity)))
            });
        let own = ceilings.map(|ceilings| of_own_ceiling(p, ceilings));
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        table.add_row(vec![
            p.version.clone(),
            time.show(p.seconds()),
            rate.show(p.rate()),
            format!("{:.1}", p.flops_per_term()),
            percent(p.fma_ratio()),
            or_dash(own.map(|own| percent(own.burst))),
            or_dash(own.and_then(|own| own.sustained).map(percent)),
            or_dash(p.fp64_pipe_percent.map(|busy| format!("{busy:.0} %"))),
            hbm,
            l2,
            l1,
            shared,
            or_dash(p.main_stall().map(|(why, share)| format!("{why} {}", percent(share)))),
        ]);
    }
    fit(table, width)
}

/// Profiles and the folder that they were stored in; shares of their own ceilings where these are known.
pub fn stored(
    to: &mut dyn Write,
    made: &[Profile],
    ceilings: Option<&Ceilings>,
    folder: &Path,
) -> io::Result<()> {
    let width = terminal();
    writeln!(to, "{}", profiles(made, ceilings, width))?;
    writeln!(to, "{} profiles in {}", made.len(), folder.display())
}
