//! The profiler: running it on this program, and reading what it counted.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use csv::StringRecord;
use gpp_kernels::reduction::SYMBOL as SECOND_STAGE;
use gpp_kernels::versions;

use crate::record::run::RunRecord;
use crate::record::{Bytes, Ceilings, Profile};

/// The profiler is missing, may not count, or printed what cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("profiler: {0}")]
pub struct ProfileError(pub String);

type Result<T> = std::result::Result<T, ProfileError>;

pub struct Ncu {
    program: PathBuf,
    pub version: String,
}

impl Ncu {
    pub fn find(program: &Path) -> Result<Ncu> {
        let missing = |why: String| {
            let program = program.display();
            ProfileError(format!(
                "{program} cannot be run ({why}): install Nsight Compute or name it with --ncu"
            ))
        };
        let output =
            Command::new(program).arg("--version").output().map_err(|e| missing(e.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("Version "))
            .ok_or_else(|| missing("it is not Nsight Compute".into()))?;
        let version = version.split_whitespace().next().unwrap_or_default().to_string();
        Ok(Ncu { program: program.to_path_buf(), version })
    }

    /// Runs each version once on a problem and device, keeps ncu's report, with sources, and returns its CSV.
    pub fn counters(
        &self,
        versions: &str,
        problem: &[OsString],
        device: &str,
        report: &Path,
    ) -> Result<String> {
        let program = std::env::current_exe()
            .map_err(|e| ProfileError(format!("this program cannot be run: {e}")))?;
        let mut command = Command::new(&self.program);
        command
            .env("LC_ALL", "C")
            .args(["--clock-control", "none", "--kernel-name", "regex:^gpp_"])
            .args(SECTIONS.map(|name| ["--section", name]).as_flattened())
            .args(["--metrics", &list(), "--import-source", "yes", "--force-overwrite", "--export"])
            .arg(report)
            .arg(program)
            .args(["--version", versions, "--device", device])
            .args(problem)
            .args(["--repeat", "1", "--warmup", "0", "--quiet", "--no-verify"]);
        run(&mut command)?;
        let mut print = Command::new(&self.program);
        print.env("LC_ALL", "C").arg("--import").arg(report);
        print.args(["--csv", "--page", "raw", "--print-units", "base"]);
        let text = run(&mut print)?;
        // These lines name processes and folders.
        let lines = text.lines().filter(|line| !line.starts_with("==PROF=="));
        Ok(lines.map(|line| line.to_owned() + "\n").collect())
    }
}

/// What a reader of the report in Nsight Compute finds in addition to the metrics.
const SECTIONS: [&str; 5] =
    ["SpeedOfLight", "LaunchStats", "Occupancy", "WarpStateStats", "SourceCounters"];

fn run(command: &mut Command) -> Result<String> {
    let output =
        command.output().map_err(|e| ProfileError(format!("{command:?} cannot be run: {e}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let printed = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    if printed.contains("ERR_NVGPUCTRPERM") {
        return Err(ProfileError(
            "the driver does not let this user read the performance counters (ERR_NVGPUCTRPERM): run as root, or \
             load the driver's module with NVreg_RestrictProfilingToAdminUsers=0"
                .into(),
        ));
    }
    if !output.status.success() {
        let last = printed.lines().rfind(|line| line.contains("ERROR")).or(printed.lines().last());
        let message = last.unwrap_or("it printed nothing");
        return Err(ProfileError(format!("{message} ({})", output.status)));
    }
    Ok(text)
}

// The metrics: see docs/measuring.md.

pub const DURATION: &str = "gpu__time_duration.sum";
pub const CYCLES: &str = "sm__cycles_elapsed.avg";
pub const DADD: &str = "sm__sass_thread_inst_executed_op_dadd_pred_on.sum";
pub const DMUL: &str = "sm__sass_thread_inst_executed_op_dmul_pred_on.sum";
pub const DFMA: &str = "sm__sass_thread_inst_executed_op_dfma_pred_on.sum";
pub const HBM: &str = "dram__bytes.sum";
pub const L2: &str = "lts__t_sectors_srcunit_tex.sum";
pub const L1: &str = "l1tex__t_bytes.sum";
pub const SHARED: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
pub const FP64_PIPE: &str = "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active";
pub const REGISTERS: &str = "launch__registers_per_thread";
pub const WARPS: &str = "sm__warps_active.avg.per_cycle_active";

/// Names in [`Profile::pipes_percent`], and their metrics.
pub const PIPES: [(&str, &str); 4] = [
    ("issue slots", "sm__inst_issued.avg.pct_of_peak_sustained_active"),
    ("ALU", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active"),
    ("MUFU", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"),
    ("load/store", "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active"),
];

/// Reasons for a stall, in ncu's names, and what they mean.
pub const STALLS: [(&str, &str); 18] = [
    ("barrier", "other warps of the block"),
    ("branch_resolving", "the target of a branch"),
    ("dispatch_stall", "the dispatcher"),
    ("drain", "their last stores"),
    ("imc_miss", "constant memory"),
    ("lg_throttle", "room in the queue to L1"),
    ("long_scoreboard", "loads from L1, L2 or memory"),
    ("math_pipe_throttle", "a busy math pipe"),
    ("membar", "a memory barrier"),
    ("mio_throttle", "room in the queue to shared memory"),
    ("misc", "misc"),
    ("no_instruction", "the next instruction"),
    ("not_selected", "not selected"),
    ("selected", "selected"),
    ("short_scoreboard", "shared memory or an approximate reciprocal"),
    ("sleeping", "the end of a sleep"),
    ("tex_throttle", "room in the queue to the texture unit"),
    ("wait", "a fixed-latency dependency"),
];

/// The metric of a reason: cycles that a warp waited for it between two instructions.
pub fn stall(reason: &str) -> String {
    format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio")
}

/// All metrics, for `--metrics`. A chip that lacks one prints no number for it.
pub fn list() -> String {
    let fixed =
        [DURATION, CYCLES, HBM, L2, L1, SHARED, FP64_PIPE, REGISTERS, WARPS, DADD, DMUL, DFMA];
    let names = fixed.into_iter().chain(PIPES.map(|(_, metric)| metric)).map(str::to_string);
    names.chain(STALLS.map(|(reason, _)| stall(reason))).collect::<Vec<_>>().join(",")
}

/// One launch and its metrics in base units: seconds, bytes, hertz, percent, counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    pub kernel: String,
    pub metrics: BTreeMap<String, f64>,
}

/// Reads ncu's CSV of its `raw` page: a column for each metric, and units below the header.
pub fn parse(text: &str) -> Result<Vec<Launch>> {
    let needs = |what: &str| ProfileError(what.into());
    if let Some(error) = text.lines().find_map(|line| line.strip_prefix("==ERROR==")) {
        return Err(ProfileError(error.trim().into()));
    }
    // Other lines of ncu's and of the program's come before the header.
    let lines = text.lines().filter(|line| !line.starts_with("==") && !line.trim().is_empty());
    let table: Vec<&str> = lines.skip_while(|line| !line.contains("Kernel Name")).collect();
    let table = table.join("\n");
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table.as_bytes());
    let malformed = |error: csv::Error| ProfileError(format!("malformed CSV: {error}"));
    let header = reader.headers().map_err(malformed)?.clone();
    let column = |name: &str| header.iter().position(|heading| heading == name);
    let kernel =
        column("Kernel Name").ok_or_else(|| needs("no header row with \"Kernel Name\""))?;
    let mut records = reader.records();
    let units = records.next().transpose().map_err(malformed)?.unwrap_or_default();
    if units.get(kernel) != Some("") {
        return Err(needs("no row of units below the header"));
    }
    let launch = |record: StringRecord| {
        let columns = header.iter().zip(&units).zip(&record);
        let metrics = columns.filter_map(|((name, unit), value)| {
            // Times are in nanoseconds, all else in base units.
            let scale = match unit {
                "ns" | "nsecond" => 1e-9,
                "" | "%" | "byte" | "inst" | "cycle" | "warp" | "sector" | "register/thread" => 1.0,
                _ => return None,
            };
            // Of the C locale, with digits grouped by commas.
            let number =
                value.replace(',', "").parse().ok().filter(|number: &f64| number.is_finite());
            Some((name.to_string(), number? * scale))
        });
        Launch { kernel: record.get(kernel).unwrap_or_default().into(), metrics: metrics.collect() }
    };
    let launches = records.map(|record| record.map(launch).map_err(malformed));
    let launches = launches.collect::<Result<Vec<_>>>()?;
    if launches.is_empty() {
        return Err(needs("no launch: did the program run any kernel?"));
    }
    Ok(launches)
}

/// One profile for each version of a run, which ran one calculation: launches in a row, one or more for each batch of
/// energies, with the second stage of each batch.
pub fn aggregate(
    launches: &[Launch],
    (run, ceilings): (&RunRecord, &Ceilings),
    source: &str,
) -> Result<Vec<Profile>> {
    let mut groups: Vec<(&str, Vec<&Launch>)> = Vec::new();
    for launch in launches {
        let kernel = &launch.kernel;
        let version = match versions::find(kernel) {
            Some((gpu, ..)) => gpu.id(),
            None if kernel == SECOND_STAGE && !groups.is_empty() => groups[groups.len() - 1].0,
            None => {
                return Err(ProfileError(format!("kernel `{kernel}` belongs to no known version")));
            }
        };
        match groups.last_mut() {
            Some((id, group)) if *id == version => group.push(launch),
            _ => groups.push((version, vec![launch])),
        }
    }
    groups.iter().map(|(id, group)| profile(id, group, (run, ceilings), source)).collect()
}

fn profile(
    version: &str,
    launches: &[&Launch],
    (run, ceilings): (&RunRecord, &Ceilings),
    source: &str,
) -> Result<Profile> {
    // Chips and older versions of ncu lack some metrics.
    let get = |launch: &Launch, name: &str| launch.metrics.get(name).copied();
    let sum = |name: &str| -> Result<f64> {
        let of = |launch: &&Launch| {
            let missing = || format!("metric {name} is missing for kernel `{}`", launch.kernel);
            get(launch, name).ok_or_else(|| ProfileError(missing()))
        };
        launches.iter().map(of).sum()
    };
    let duration = sum(DURATION)?;
    // By the launches' time.
    let average = |name: &str| -> Option<f64> {
        let weighted =
            launches.iter().map(|launch| Some(get(launch, name)? * get(launch, DURATION)?));
        Some(weighted.sum::<Option<f64>>()? / duration)
    };
    let stalls = STALLS.iter();
    let stalls: BTreeMap<String, f64> = stalls
        .filter_map(|(reason, _)| Some((reason.to_string(), average(&stall(reason))?)))
        .collect();
    let cycles: f64 = stalls.values().sum();
    let result = run.results.iter().find(|result| result.version == version);
    let pipe = |(name, metric): (&str, &str)| Some((name.to_string(), average(metric)?));
    Ok(Profile {
        version: version.into(),
        system: run.system.name.clone(),
        terms: run.system.terms(),
        nw: run.system.nw(),
        device: ceilings.device.clone(),
        source: source.into(),
        provenance: ceilings.provenance.clone(),
        time_s: result.map(|result| result.times.median),
        duration_s: duration,
        dadd: sum(DADD)?,
        dmul: sum(DMUL)?,
        dfma: sum(DFMA)?,
        bytes: Bytes {
            hbm: sum(HBM)?,
            // A sector has 32 bytes; a wavefront can move 4 from each of 32 banks.
            l2: sum(L2).ok().map(|sectors| sectors * 32.0),
            l1: Some(sum(L1)?),
            shared: sum(SHARED).ok().map(|wavefronts| wavefronts * 128.0),
        },
        fp64_pipe_percent: average(FP64_PIPE),
        pipes_percent: PIPES.into_iter().filter_map(pipe).collect(),
        cycles: sum(CYCLES).ok(),
        registers: get(launches[0], REGISTERS).map(|registers| registers as u32),
        warps_per_sm: average(WARPS),
        stalls: stalls.into_iter().map(|(reason, stall)| (reason, stall / cycles)).collect(),
        launches: launches.iter().map(|launch| launch.kernel.clone()).collect(),
    })
}
