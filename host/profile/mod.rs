//! `gpp profile`: counters of versions, stored in a folder; `gpp roofline`: their charts.

pub mod ncu;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::catalogue::{self, BackEnd, MAIN, named};
use crate::chart::{Picture, Roofline};
use crate::cli::{DEFAULT_FOLDER, PAPER_SYSTEM, ProfileArgs, RooflineArgs};
use crate::devices::gpu::Gpu;
use crate::devices::{Choice, Device};
use crate::error::{Error, Result, invalid};
use crate::output::{Progress, document, print, write_text};
use crate::profile::ncu::{Ncu, aggregate, parse};
use crate::record::run::{Run, SystemInfo};
use crate::record::{self, Ceilings, Profile, text};
use crate::roofline::{self, Figure, LEVELS, Level, Point, figures, of_own_ceiling, point};
use crate::run::{Options, exit_code, run_versions};
use crate::setup::{Session, Source};
use crate::terminal::{Cells, Unit, or_dash};

pub fn profile(args: &ProfileArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let versions = named(args.version.as_deref().unwrap_or(MAIN), BackEnd::Gpu)?;
    let source = Source::of(&args.problem, PAPER_SYSTEM)?;
    let folder = &folder(args, &source);
    let ncu = Ncu::find(&args.ncu)?;
    let index = match args.device.parse()? {
        Choice::Gpus(indices) if indices.len() == 1 => indices[0],
        _ => {
            return Err(Error::NoGpu { why: "profiling needs a GPU: --device gpu:N".into() }.into());
        }
    };
    let gpu = Gpu::open(index)?;
    let problem = source.load(progress)?;
    require_same(folder, problem.name(), problem.nw())?;
    let ceilings = roofline::ceilings(&gpu)?;
    let of_gpu: &dyn Device = &gpu;
    let versions = versions.iter().map(|version| version.kernel).collect();
    let options = Options {
        versions,
        warmup: None,
        repeat: None,
        quick: false,
        compares: true,
        static_ch: false,
    };
    let (run, done) = run_versions(&Session::single(&of_gpu, &problem), &options, progress);
    done?;
    // What is wrong is not worth a profile.
    if !run.passed() {
        return Ok(exit_code(&run.results, false));
    }
    // The profiled program needs the memory.
    drop(gpu);

    let ids: Vec<&str> = options.versions.iter().map(|version| version.id()).collect();
    let bar = progress.bar("profiling (minutes)", 1);
    let csv = ncu.counters(&ids.join(","), &source.arguments(), &args.device)?;
    drop(bar);
    let counters = format!("hardware counters, ncu {}", ncu.version);
    let mut profiles = aggregate(&parse(&csv)?, &SystemInfo::of(&problem), &counters)?;
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
        write_text(&path(folder, &profile.version), &text(profile))?;
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
    // Some file systems do not allow colons in names.
    let energies = args.problem.energies;
    let grid = energies.map(|energies| format!("-{energies}").replace(':', "_"));
    PathBuf::from(DEFAULT_FOLDER).join(source.name() + &grid.unwrap_or_default())
}

pub const CEILINGS: &str = "ceilings.json";
pub const RUN: &str = "run.json";

pub struct Records {
    pub folder: PathBuf,
    pub profiles: Vec<Profile>,
    pub ceilings: Ceilings,
}

impl Records {
    /// From `dir` itself, or from the only folder in it that has any.
    pub fn load(dir: &Path) -> Result<Records> {
        let folder = system_folder(dir)?;
        let profiles = load(&folder)?;
        let system = &profiles[0].system;
        if let Some(other) = profiles.iter().find(|profile| profile.system != *system) {
            let what = format!(
                "holds profiles of {system} and {}: each system needs a folder",
                other.system
            );
            return Err(invalid(folder.display(), what));
        }
        let ceilings = record::read(&folder.join(CEILINGS))?;
        Ok(Records { folder, profiles, ceilings })
    }

    pub fn run(&self) -> Result<Run> {
        let path = self.folder.join(RUN);
        let run: Run = record::read(&path)?;
        let system = &self.profiles[0].system;
        if run.system.name != *system {
            let what =
                format!("is a run of {}, but its folder has profiles of {system}", run.system.name);
            return Err(invalid(path.display(), what));
        }
        Ok(run)
    }
}

/// Fails if a folder already holds profiles of another system, or of another number of energies.
pub fn require_same(folder: &Path, system: &str, nw: usize) -> Result<()> {
    let profiles = if has_profiles(folder) { load(folder)? } else { Vec::new() };
    let is_other =
        |own: &&Profile| own.system != system || own.nw.is_some_and(|own| own as usize != nw);
    let Some(other) = profiles.iter().find(is_other) else { return Ok(()) };
    let energies = other.nw.map_or(String::new(), |nw| format!(" at {nw} energies"));
    let what = format!(
        "holds profiles of {}{energies}; name another with --output for {system} at {nw} energies",
        other.system
    );
    Err(invalid(folder.display(), what))
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
            let what = format!("holds several folders of profiles: {}", names.join(" or "));
            Err(invalid(dir.display(), what))
        }
    }
}

pub fn run_file(path: &Path) -> Result<PathBuf> {
    if path.is_dir() { Ok(system_folder(path)?.join(RUN)) } else { Ok(path.into()) }
}

fn has_profiles(folder: &Path) -> bool {
    !files(folder).is_empty()
}

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

pub fn path(folder: &Path, version: &str) -> PathBuf {
    folder.join(format!("profile-{}.json", version.replace(':', "-")))
}

pub fn load(folder: &Path) -> Result<Vec<Profile>> {
    let mut profiles: Vec<Profile> =
        files(folder).iter().map(|path| record::read(path)).collect::<Result<_>>()?;
    profiles.sort_by_key(|profile| catalogue::place(&profile.version).unwrap_or(usize::MAX));
    if profiles.is_empty() {
        let what = if folder.is_dir() {
            "holds no profile-*.json; `gpp profile` makes them"
        } else {
            "no such folder; `gpp profile` makes one, and --from reads others, such as those in data/runs of gpp's repository"
        };
        return Err(invalid(folder.display(), what));
    }
    Ok(profiles)
}

fn table(profiles: &[Profile], ceilings: &Ceilings) -> Cells {
    let time = Unit::of_times(profiles.iter().map(Profile::seconds));
    let rate = Unit::of_rates(profiles.iter().map(Profile::rate));
    let share = |share: f64| format!("{:.0} %", share * 100.0);
    let intensity = |own: &Profile, level| {
        or_dash(point(own, level).map(|point| format!("{:.2}", point.intensity)))
    };
    Cells::new(
        &[
            ("version", &|own: &&Profile| own.version.clone()),
            (&format!("time [{}]", time.name), &|own: &&Profile| time.show(own.seconds())),
            (rate.name, &|own: &&Profile| rate.show(own.rate())),
            ("FLOP/term", &|own: &&Profile| format!("{:.1}", own.flops_per_term())),
            ("FMA", &|own: &&Profile| share(own.fma_ratio())),
            ("of its ceiling", &|own: &&Profile| share(of_own_ceiling(own, ceilings))),
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

pub fn roofline(args: &RooflineArgs) -> anyhow::Result<ExitCode> {
    let output = args.output.as_deref().unwrap_or(Path::new("."));
    let Records { profiles, ceilings, .. } = Records::load(&args.from)?;
    std::fs::create_dir_all(output).map_err(|e| Error::write(output, e))?;
    document(&output.join("roofline.csv"), |to| csv(to, &profiles, &ceilings))?;
    for Figure { name, title, shown, level } in figures(&profiles) {
        let path = output.join(name);
        let chart = Roofline::of(&title, &shown, &ceilings, level);
        Picture::Svg.write(&path.with_extension("svg"), &chart)?;
        Picture::Png.write(&path.with_extension("png"), &chart)?;
    }
    print(|to| writeln!(to, "rooflines in {}", output.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The points of all profiles, and the share of its own ceiling that a version reaches.
fn csv(to: &mut dyn Write, profiles: &[Profile], ceilings: &Ceilings) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    csv.write_record(["version", "level", "intensity", "flops_per_s", "of_own_ceiling"])?;
    for profile in profiles {
        let own = of_own_ceiling(profile, ceilings);
        for point in LEVELS.into_iter().filter_map(|level| point(profile, level)) {
            let Point { version, level, intensity, flops_per_s } = point;
            csv.serialize((version, level.name(), intensity, flops_per_s, own))?;
        }
    }
    csv.flush()
}
