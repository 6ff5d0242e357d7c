//! `gpp profile`: counters of versions, stored in a folder; `gpp roofline`: their charts.

pub mod ncu;

use std::path::{Path, PathBuf};

use crate::catalogue::{self, BackEnd, MAIN, named};
use crate::chart::{rooflines, write_svg};
use crate::cli::{PAPER_SYSTEM, ProfileArgs, RooflineArgs};
use crate::devices::Device as _;
use crate::devices::gpu::Peaks;
use crate::error::{Error, Result, invalid};
use crate::output::{Progress, print, write_text};
use crate::problem::Slabs;
use crate::profile::ncu::{Ncu, aggregate, parse};
use crate::ranks::Alone;
use crate::record::run::RunRecord;
use crate::record::{self, Ceilings, Profile, Provenance, text};
use crate::run::{RunPlan, record_of, reported, run_versions};
use crate::session::{MemoryLimits, Session};
use crate::setup::ProblemSource;

pub fn profile(args: &ProfileArgs) -> anyhow::Result<bool> {
    let progress = Progress { shown: !args.quiet };
    let versions = named(args.version.as_deref().unwrap_or(MAIN), BackEnd::Gpu)?;
    let source = ProblemSource::from_args(&args.problem, PAPER_SYSTEM)?;
    let folder = args.output.as_path();
    let ncu = Ncu::find(&args.ncu)?;
    let session = Session::open(&args.device.parse()?, MemoryLimits::default(), &Alone)?;
    let Some(gpu) = session.gpu() else {
        return Err(Error::NoGpu { why: "profiling needs a GPU: --device gpu:N".into() }.into());
    };
    let problem = source.open(progress)?.load()?;
    require_same(folder, problem.name(), problem.nw())?;
    let Peaks { fp64, hbm, l2, l1, shared } = gpu.peaks()?;
    let (device, provenance) = (gpu.info().name.clone(), Some(Provenance::now(gpu.info())));
    let ceilings = Ceilings { device, provenance, fp64, hbm, l2, l1, shared: Some(shared) };
    let plan = RunPlan { versions: versions.to_vec(), compares: true, ..RunPlan::default() };
    let slabs = Slabs::from(&problem);
    let mut run = record_of(&session, slabs, &plan);
    run_versions(&mut run, &session, slabs, &plan, progress)?;
    // What is wrong is not worth a profile.
    if !run.passed() {
        return Ok(reported(&run.results, false));
    }
    // The profiled program needs the memory.
    drop(session);

    let ids: Vec<&str> = plan.versions.iter().map(|version| version.id()).collect();
    let bar = progress.bar("profiling (minutes)", 1);
    std::fs::create_dir_all(folder).map_err(|e| Error::write(folder, e))?;
    let report = folder.join(NCU_REPORT);
    let csv = ncu.counters(&ids.join(","), &source.arguments(), &args.device, &report)?;
    drop(bar);
    let counters = format!("hardware counters, ncu {}", ncu.version);
    let mut profiles = aggregate(&parse(&csv)?, (&run, &ceilings), &counters)?;
    profiles.retain(|profile| ids.contains(&profile.version.as_str()));

    for (name, text) in [("counters.csv", csv), (RUN, text(&run)), (CEILINGS, text(&ceilings))] {
        write_text(&folder.join(name), &text)?;
    }
    for profile in &profiles {
        write_text(&path(folder, &profile.version), &text(profile))?;
    }
    if !args.quiet {
        print(|to| {
            let count = profiles.len();
            writeln!(to, "{count} profiles in {}; Next: gpp explain, gpp report", folder.display())
        })?;
    }
    Ok(true)
}

pub const CEILINGS: &str = "ceilings.json";
pub const RUN: &str = "run.json";

/// What `ncu-ui` opens.
const NCU_REPORT: &str = "counters.ncu-rep";

/// Folders of the archive, and the records of each by name.
const ARCHIVE: &[(&str, &[(&str, &str)])] = include!(concat!(env!("OUT_DIR"), "/archive.rs"));

/// What was measured of versions on one system and device.
#[derive(Default)]
pub struct Measured {
    pub from: String,
    pub run: Option<RunRecord>,
    pub profiles: Vec<Profile>,
    /// Those of a folder's device; none of a run alone.
    pub ceilings: Option<Ceilings>,
}

impl Measured {
    /// The records of the archive in this program of the series that a version belongs to; none of some versions.
    pub fn archived(id: &str) -> Result<Option<Measured>> {
        let name = path(Path::new(""), id);
        let Some((folder, files)) =
            ARCHIVE.iter().find(|(_, files)| files.iter().any(|(file, _)| Path::new(file) == name))
        else {
            return Ok(None);
        };
        let (from, folder) = (format!("{folder}, in this program"), Path::new(folder));
        let text = |name: &str| files.iter().find(|(file, _)| *file == name).map(|(_, text)| *text);
        let run = text(RUN).map(|text| record::parse(text, folder)).transpose()?;
        let ceilings = text(CEILINGS).map(|text| record::parse(text, folder)).transpose()?;
        let profiles = files.iter().filter(|(file, _)| file.starts_with("profile-"));
        let profiles = profiles.map(|(_, text)| record::parse(text, folder));
        let mut profiles = profiles.collect::<Result<Vec<Profile>>>()?;
        sort(&mut profiles);
        Ok(Some(Measured { from, run, profiles, ceilings }))
    }

    pub fn in_folder(folder: &Path) -> Result<Measured> {
        let profiles = load(folder)?;
        let ceilings = Some(record::read(&folder.join(CEILINGS))?);
        let path = folder.join(RUN);
        let run: Option<RunRecord> = path.exists().then(|| record::read(&path)).transpose()?;
        Ok(Measured { from: folder.display().to_string(), run, profiles, ceilings })
    }
}

/// Fails if a folder already holds profiles of another system, or of another number of energies.
pub fn require_same(folder: &Path, system: &str, nw: usize) -> Result<()> {
    let profiles = if files(folder).is_empty() { Vec::new() } else { load(folder)? };
    let is_other = |profile: &&Profile| (&profile.system[..], profile.nw) != (system, nw);
    let Some(Profile { system: other, nw: count, .. }) = profiles.iter().find(is_other) else {
        return Ok(());
    };
    let what = format!(
        "holds profiles of {other} at {count} energies; name another with --output for {system} at {nw} energies"
    );
    Err(invalid(folder.display(), what))
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

fn sort(profiles: &mut [Profile]) {
    profiles.sort_by_key(|profile| catalogue::place(&profile.version).unwrap_or(usize::MAX));
}

pub fn load(folder: &Path) -> Result<Vec<Profile>> {
    let mut profiles: Vec<Profile> =
        files(folder).iter().map(|path| record::read(path)).collect::<Result<_>>()?;
    sort(&mut profiles);
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

pub fn roofline(args: &RooflineArgs) -> anyhow::Result<bool> {
    let output = args.output.as_deref().unwrap_or(Path::new("."));
    let Measured { profiles, ceilings, .. } = Measured::in_folder(&args.from)?;
    let ceilings = ceilings.expect("a folder has them");
    std::fs::create_dir_all(output).map_err(|e| Error::write(output, e))?;
    for chart in rooflines(&profiles, &ceilings) {
        write_svg(&output.join(&chart.name).with_extension("svg"), &chart)?;
    }
    print(|to| writeln!(to, "rooflines in {}", output.display()))?;
    Ok(true)
}
