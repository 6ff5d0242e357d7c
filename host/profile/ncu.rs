//! Running the profiler on this program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpp_kernels::reduction::SYMBOL as SECOND_STAGE;
use gpp_kernels::versions::ALL;

use crate::error::ProfileError;

/// The beginnings of the profiled symbols: those of all versions, and of the second stage. Kernels that measure ceilings
/// are not profiled.
pub fn profiled() -> Vec<&'static str> {
    let symbols = ALL.iter().flat_map(|gpu| gpu.kernels).flat_map(|kernel| kernel.entries);
    let symbols = symbols.map(|entry| entry.symbol).chain([SECOND_STAGE]);
    // `gpp_` and the letters after it.
    let mut beginnings: Vec<&str> = symbols
        .map(|symbol| {
            let is_other = |c: char| !c.is_ascii_alphabetic();
            let end = symbol[4..].find(is_other).map_or(symbol.len(), |at| at + 4);
            &symbol[..end]
        })
        .collect();
    beginnings.dedup();
    beginnings
}

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
            .ok_or_else(|| missing("it is no Nsight Compute".into()))?;
        let version = version.split_whitespace().next().unwrap_or_default().to_string();
        Ok(Ncu { program: program.to_path_buf(), version })
    }

    /// Runs each version once on a problem and device, and returns ncu's CSV.
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
        // These lines name processes and folders.
        let lines = text.lines().filter(|line| !line.starts_with("==PROF=="));
        Ok(lines.map(|line| line.to_owned() + "\n").collect())
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
pub const L1_HIT: &str = "l1tex__t_sector_hit_rate.pct";
pub const L2_HIT: &str = "lts__t_sector_hit_rate.pct";
pub const FP64_PIPE: &str = "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active";
pub const REGISTERS: &str = "launch__registers_per_thread";
pub const WARPS: &str = "sm__warps_active.avg.per_cycle_active";

/// Names in [`Profile::pipes_percent`](crate::record::profile::Profile::pipes_percent), and their metrics.
pub const PIPES: [(&str, &str); 4] = [
    ("issue slots", "sm__inst_issued.avg.pct_of_peak_sustained_active"),
    ("ALU", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active"),
    ("MUFU", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"),
    ("load/store", "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active"),
];

/// Bytes of a sector of L2.
pub const SECTOR: f64 = 32.0;

/// Bytes that a wavefront of shared memory can move: 4 from each of 32 banks.
pub const WAVEFRONT: f64 = 128.0;

/// Reasons for a stall, in ncu's names.
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

/// The metric of a reason: cycles that a warp waited for it between two instructions.
pub fn stall(reason: &str) -> String {
    format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio")
}

/// All metrics, for `--metrics`. A chip that lacks one prints no number for it.
pub fn list() -> String {
    let fixed = [
        DURATION, CYCLES, HBM, L2, L1, SHARED, L1_HIT, L2_HIT, FP64_PIPE, REGISTERS, WARPS, DADD,
        DMUL, DFMA,
    ];
    let names = fixed.into_iter().chain(PIPES.map(|(_, metric)| metric)).map(str::to_string);
    names.chain(STALLS.map(stall)).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_versions_are_profiled_and_ceilings_are_not() {
        assert_eq!(profiled(), ["gpp_v", "gpp_blog", "gpp_talk", "gpp_sigma", "gpp_second"]);
    }
}
