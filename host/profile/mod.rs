//! `gpp profile`: counters of versions, and the folder that holds them; `gpp roofline`: their charts.

pub mod counters;
pub mod ncu;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::catalogue::names::{MAIN, versions};
use crate::catalogue::{BackEnd, order};
use crate::chart::{Picture, Roofline};
use crate::cli::{DEFAULT_FOLDER, PAPER_SYSTEM, ProfileArgs, RooflineArgs};
use crate::devices::gpu::Gpu;
use crate::devices::{Choice, Device};
use crate::error::{Error, Result, invalid};
use crate::measure::window;
use crate::output::{print, replace, require_name, write_text};
use crate::profile::counters::{Context, aggregate, parse};
use crate::profile::ncu::Ncu;
use crate::progress::Progress;
use crate::record::profile::{Ceilings, Profile};
use crate::record::run::Run;
use crate::record::{self, Repetition, text};
use crate::roofline::{self, Figure, LEVELS, Level, Point, Timing, figures, of_own_ceiling, point};
use crate::run::{Options, exit_code, run_versions};
use crate::setup::{Setting, Source};
use crate::terminal::{Cells, Unit, or_dash};

pub fn profile(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let versions = versions(args.version.as_deref().unwrap_or(MAIN), BackEnd::Gpu)?;
    if let Some(folder) = &args.output {
        require_name("--output", folder, "folder")?;
    }
    let source = Source::of(&args.problem, PAPER_SYSTEM)?;
    let folder = &folder(args, &source);
    let ncu = Ncu::find(&args.ncu)?;
    let index = match args.device.parse()? {
        Choice::Gpus(indices) if indices.len() == 1 => indices[0],
        _ => {
            return Err(Error::NoGpu { why: "profiling needs a GPU: --device gpu:N".into() }.into());
        }
    };
    if source.file().is_none() {
        require_room(folder, &source.name(), source.nw())?;
    }
    let gpu = Gpu::open(index)?;
    let ceilings = roofline::ceilings(&gpu)?;
    let problem = source.load(progress)?;
    require_room(folder, problem.name(), Some(problem.nw()))?;
    let of_gpu: &dyn Device = &gpu;
    let repetition = Repetition { window: window(of_gpu, None), ..Repetition::exactly(1, 5) };
    let options =
        Options { versions, repetition, emulated: repetition, compares: true, static_ch: false };
    let run = run_versions(&Setting::whole(&of_gpu, &problem), &options, progress, |_| ())?;
    // What is wrong is not worth a profile.
    if !run.passed() {
        return Ok(exit_code(&run.results));
    }
    // The profiled program needs the memory.
    drop(gpu);

    let ids: Vec<&str> = options.versions.iter().map(|version| version.id()).collect();
    let bar = progress.bar("profiling (minutes)", 1);
    let csv = ncu.counters(&ids.join(","), &source.arguments(), &args.device)?;
    bar.finish_and_clear();
    let counters = format!("hardware counters, ncu {}", ncu.version);
    let mut profiles = aggregate(&parse(&csv)?, &Context::new(&problem, counters))?;
    profiles.retain(|profile| ids.contains(&profile.version.as_str()));

    std::fs::create_dir_all(folder).map_err(|e| Error::write(folder, e))?;
    for (name, text) in [("counters.csv", csv), (RUN, text(&run)), (CEILINGS, text(&ceilings))] {
        write_text(&folder.join(name), &text)?;
    }
    for profile in &mut profiles {
        let result = run.results.iter().find(|result| result.version == profile.version);
        profile.time_s = result.map(|result| result.times.median);
        profile.device.clone_from(&ceilings.device);
        profile.provenance.clone_from(&ceilings.provenance);
        store(folder, profile)?;
    }
    if !args.quiet {
        print(|to| {
            table(&profiles, &ceilings).print(to)?;
            writeln!(to, "{} profiles in {}", profiles.len(), folder.display())
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn folder(args: &ProfileArgs, source: &Source) -> PathBuf {
    if let Some(folder) = &args.output {
        return folder.clone();
    }
    // A colon is not allowed in file names everywhere.
    let energies = args.problem.energies;
    let grid = energies.map(|energies| format!("-{energies}").replace(':', "_"));
    PathBuf::from(DEFAULT_FOLDER).join(source.name() + &grid.unwrap_or_default())
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
        Ok(run)
    }

    fn require_same(&self, path: &Path, of: &str) -> Result<()> {
        if of == self.system {
            return Ok(());
        }
        Err(invalid(
            path.display(),
            format!("is of {of}, the profiles beside it are of {}", self.system),
        ))
    }

    /// The files that were read, or will be.
    pub fn files(&self) -> Vec<PathBuf> {
        let profiles = self.profiles.iter().map(|p| path(&self.folder, &p.version));
        profiles.chain([CEILINGS, RUN].map(|name| self.folder.join(name))).collect()
    }
}

/// The system that all profiles of a folder are of.
fn one_system(folder: &Path, profiles: &[Profile]) -> Result<String> {
    let systems: BTreeSet<&str> = profiles.iter().map(|profile| profile.system.as_str()).collect();
    let systems: Vec<&str> = systems.into_iter().collect();
    match systems[..] {
        [system] => Ok(system.into()),
        _ => Err(invalid(
            folder.display(),
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
        Err(invalid(folder.display(), what))
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
            Err(invalid(
                dir.display(),
                format!("holds several folders of profiles: {}", names.join(" or ")),
            ))
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
        return Err(invalid(folder.display(), what));
    }
    Ok(profiles)
}

/// What each version takes, moves and waits for.
fn table(profiles: &[Profile], ceilings: &Ceilings) -> Cells {
    let time = Unit::of_times(profiles.iter().map(Profile::seconds));
    let rate = Unit::of_rates(profiles.iter().map(Profile::rate));
    let timing = Timing::of(profiles);
    let share = |share: f64| format!("{:.0} %", share * 100.0);
    let intensity = |own: &Profile, level| {
        or_dash(point(own, level, timing).map(|point| format!("{:.2}", point.intensity)))
    };
    Cells::new(
        &[
            ("version", &|own: &&Profile| own.version.clone()),
            (&format!("time [{}]", time.name), &|own: &&Profile| time.show(own.seconds())),
            (rate.name, &|own: &&Profile| rate.show(own.rate())),
            ("FLOP/term", &|own: &&Profile| format!("{:.1}", own.flops_per_term())),
            ("FMA", &|own: &&Profile| share(own.fma_ratio())),
            ("of its ceiling", &|own: &&Profile| share(of_own_ceiling(own, ceilings).burst)),
            ("FP64 busy", &|own: &&Profile| {
                or_dash(own.fp64_pipe_percent.map(|busy| format!("{busy:.0} %")))
            }),
            ("FLOP/B HBM", &|own: &&Profile| intensity(own, Level::Hbm)),
            ("L2", &|own: &&Profile| intensity(own, Level::L2)),
            ("L1", &|own: &&Profile| intensity(own, Level::L1)),
            ("shared", &|own: &&Profile| intensity(own, Level::Shared)),
            ("waits for", &|own: &&Profile| {
                or_dash(own.main_stall().map(|(why, part)| format!("{why} {}", share(part))))
            }),
        ],
        profiles,
    )
}

// `gpp roofline`: all rooflines of some profiles and their points, as files in a folder.

pub fn roofline(args: &RooflineArgs) -> anyhow::Result<ExitCode> {
    let output = args.output.as_deref().unwrap_or(Path::new("."));
    require_name("--output", output, "folder")?;
    let Records { profiles, ceilings, .. } = Records::load(&args.from)?;
    write_charts(output, &profiles, &ceilings)?;
    print(|to| writeln!(to, "rooflines in {}", output.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes each figure as SVG and PNG, and all points as CSV.
pub fn write_charts(folder: &Path, profiles: &[Profile], ceilings: &Ceilings) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::write(folder, e))?;
    replace(&folder.join("roofline.csv"), |file| csv(file, profiles, ceilings))?;

    for Figure { name, title, shown, level } in figures(profiles) {
        let path = folder.join(name);
        let chart = Roofline::of(&title, &shown, ceilings, level);
        Picture::Svg.write(&path.with_extension("svg"), &chart)?;
        Picture::Png.write(&path.with_extension("png"), &chart)?;
    }
    Ok(())
}

/// The points of all profiles, and the share of its own ceiling that a version reaches.
fn csv(to: &mut dyn Write, profiles: &[Profile], ceilings: &Ceilings) -> io::Result<()> {
    let timing = Timing::of(profiles);
    let mut csv = csv::Writer::from_writer(to);
    csv.write_record([
        "version",
        "level",
        "intensity",
        "flops_per_s",
        "of_own_ceiling",
        "of_own_sustained_ceiling",
    ])?;
    for profile in profiles {
        let own = of_own_ceiling(profile, ceilings);
        for point in LEVELS.into_iter().filter_map(|level| point(profile, level, timing)) {
            let Point { version, level, intensity, flops_per_s } = point;
            csv.serialize((version, level, intensity, flops_per_s, own.burst, own.sustained))?;
        }
    }
    csv.flush()
}
