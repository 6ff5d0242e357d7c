//! Running the profiler on this program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpp_kernels::reduction::SYMBOL as SECOND_STAGE;
use gpp_kernels::versions::ALL;

use crate::error::ProfileError;

/// What the symbols begin with that are profiled: those of the versions, of every journey, and the
/// second stage. Kernels that measure ceilings are not.
pub fn profiled() -> Vec<&'static str> {
    let symbols = ALL.iter().flat_map(|gpu| gpu.kernels).flat_map(|kernel| kernel.entries);
    let mut beginnings: Vec<&str> = symbols.map(|entry| beginning(entry.symbol)).collect();
    beginnings.push(beginning(SECOND_STAGE));
    beginnings.dedup();
    beginnings
}

/// `gpp_` and the letters after it.
fn beginning(symbol: &str) -> &str {
    let family = symbol.trim_start_matches("gpp_");
    let letters = family.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(family.len());
    &symbol[..symbol.len() - family.len() + letters]
}

type Result<T> = std::result::Result<T, ProfileError>;

/// The profiler, found on the PATH or named.
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
            .ok_or_else(|| missing("it is no Nsight Compute".into()))?;
        let version = version.split_whitespace().next().unwrap_or_default().to_string();
        Ok(Ncu { program: program.to_path_buf(), version })
    }

    /// Counts every launch of these versions on a problem and device. Returns the profiler's CSV.
    pub fn counters(&self, versions: &str, problem: &[OsString], device: &str) -> Result<String> {
        let program = std::env::current_exe()
            .map_err(|e| ProfileError(format!("this program cannot be run: {e}")))?;
        let kernels = format!("regex:^({})", profiled().join("|"));
        let mut command = Command::new(&self.program);
        command
            .env("LC_ALL", "C")
            .args(["--clock-control", "none", "--kernel-name", &kernels])
            .args(["--csv", "--page", "raw", "--print-units", "base", "--metrics", &list()])
            .arg(program)
            .args(["--version", versions, "--device", device])
            .args(problem)
            .args(["--repeat", "1", "--warmup", "0", "--quiet", "--no-verify"]);
        let text = run(&mut command)?;
        // Lines about processes name folders of the machine.
        let kept = text.lines().filter(|line| !line.starts_with("==PROF=="));
        Ok(kept.map(|line| line.to_owned() + "\n").collect())
    }
}

/// What a command printed, or why it failed.
fn run(command: &mut Command) -> Result<String> {
    let output =
        command.output().map_err(|e| ProfileError(format!("{command:?} cannot be run: {e}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let all = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    if all.contains("ERR_NVGPUCTRPERM") {
        return Err(ProfileError(
            "the driver does not let this user read the performance counters (ERR_NVGPUCTRPERM): run as root, or \
             load the driver's module with NVreg_RestrictProfilingToAdminUsers=0"
                .into(),
        ));
    }
    if !output.status.success() {
        let last = all.lines().rfind(|line| line.contains("ERROR")).or(all.lines().last());
        let said = last.unwrap_or("it said nothing");
        return Err(ProfileError(format!("{said} ({})", output.status)));
    }
    Ok(text)
}

// The profiler's metrics: which are asked for, and those of a launch.

pub const DURATION: &str = "gpu__time_duration.sum";
/// Cycles of a multiprocessor during a launch.
pub const CYCLES: &str = "sm__cycles_elapsed.avg";
/// FP64 additions, each of one thread, where the predicate held.
pub const DADD: &str = "sm__sass_thread_inst_executed_op_dadd_pred_on.sum";
/// FP64 multiplications.
pub const DMUL: &str = "sm__sass_thread_inst_executed_op_dmul_pred_on.sum";
/// FP64 fused operations.
pub const DFMA: &str = "sm__sass_thread_inst_executed_op_dfma_pred_on.sum";
pub const HBM: &str = "dram__bytes.sum";
/// Sectors that L1 asked L2 for, or gave it.
pub const L2: &str = "lts__t_sectors_srcunit_tex.sum";
/// Sectors that went from one half of L2 to the other; chips whose L2 is whole lack it.
pub const FABRIC: &str = "lts__t_sectors_srcunit_ltcfabric.sum";
pub const SECTOR: f64 = 32.0;
/// Bytes to and from L1, shared memory left out.
pub const L1: &str = "l1tex__t_bytes.sum";
/// Wavefronts of shared memory: what its data stage takes in one cycle, of loads, stores, atomics and
/// shuffles.
pub const SHARED: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
/// Bytes that a wavefront can move: 4 from each of 32 banks.
pub const WAVEFRONT: f64 = 128.0;
/// Hit rate of L1 in percent.
pub const L1_HIT: &str = "l1tex__t_sector_hit_rate.pct";
/// Hit rate of L2 in percent, of what comes from its other half as well.
pub const L2_HIT: &str = "lts__t_sector_hit_rate.pct";
/// Busy share of the FP64 pipe in percent.
pub const FP64_PIPE: &str = "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active";
/// Busy shares of the issue slots and of the other pipes in percent, by the names of
/// [`Profile::pipes_percent`](crate::record::profile::Profile::pipes_percent).
pub const PIPES: [(&str, &str); 4] = [
    ("issue slots", "sm__inst_issued.avg.pct_of_peak_sustained_active"),
    ("ALU", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active"),
    ("MUFU", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"),
    ("load/store", "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active"),
];
pub const REGISTERS: &str = "launch__registers_per_thread";
pub const WARPS: &str = "sm__warps_active.avg.per_cycle_active";

/// Reasons that a warp waits for, in the profiler's names.
pub const STALLS: [&str; 18] = [
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
];

/// Metric of a stall reason: cycles that a warp waited for it between two instructions.
pub fn stall(reason: &str) -> String {
    format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio")
}

/// All metrics, for the profiler's `--metrics`. One that a chip lacks has no number in what is printed.
pub fn list() -> String {
    let fixed = [
        DURATION, CYCLES, HBM, L2, FABRIC, L1, SHARED, L1_HIT, L2_HIT, FP64_PIPE, REGISTERS, WARPS,
        DADD, DMUL, DFMA,
    ];
    let pipes = PIPES.iter().map(|(_, metric)| metric);
    let names = fixed.iter().chain(pipes).map(ToString::to_string);
    names.chain(STALLS.map(stall)).collect::<Vec<_>>().join(",")
}

/// One launch and its metrics in base units: seconds, bytes, hertz, percent, counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    pub kernel: String,
    /// The device's name, where the CSV tells it.
    pub device: Option<String>,
    pub(super) metrics: BTreeMap<String, f64>,
}

impl Launch {
    /// A metric's value, where it was measured.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.metrics.get(name).copied()
    }

    pub fn required(&self, name: &str) -> Result<f64> {
        let kernel = &self.kernel;
        self.get(name).ok_or_else(|| {
            ProfileError(format!(
                "metric {name} is missing for kernel `{kernel}`: record it with --metrics"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_every_journey_are_profiled_and_ceilings_are_not() {
        assert_eq!(profiled(), ["gpp_v", "gpp_blog", "gpp_talk", "gpp_sigma", "gpp_second"]);
    }
}
