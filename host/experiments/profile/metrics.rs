//! The profiler's metrics: which are asked for, and those of a launch.

use std::collections::BTreeMap;

use crate::error::ProfileError;

type Result<T> = std::result::Result<T, ProfileError>;

/// Duration of a launch in seconds.
pub const DURATION: &str = "gpu__time_duration.sum";
/// Cycles of a multiprocessor during a launch.
pub const CYCLES: &str = "sm__cycles_elapsed.avg";
/// FP64 additions, each of one thread, where the predicate held.
pub const DADD: &str = "sm__sass_thread_inst_executed_op_dadd_pred_on.sum";
/// FP64 multiplications.
pub const DMUL: &str = "sm__sass_thread_inst_executed_op_dmul_pred_on.sum";
/// FP64 fused operations.
pub const DFMA: &str = "sm__sass_thread_inst_executed_op_dfma_pred_on.sum";
/// Bytes to and from memory.
pub const HBM: &str = "dram__bytes.sum";
/// Sectors that L1 asked L2 for, or gave it.
pub const L2: &str = "lts__t_sectors_srcunit_tex.sum";
/// Sectors that went from one half of L2 to the other; chips whose L2 is whole lack it.
pub const FABRIC: &str = "lts__t_sectors_srcunit_ltcfabric.sum";
/// Bytes of a sector.
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
/// Registers of a thread.
pub const REGISTERS: &str = "launch__registers_per_thread";
/// Warps active on a multiprocessor.
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
    /// The kernel's symbol.
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

    /// A metric's value.
    ///
    /// # Errors
    /// Names the metric and the kernel.
    pub fn required(&self, name: &str) -> Result<f64> {
        let (metric, kernel) = (name, &self.kernel);
        self.get(name)
            .ok_or_else(|| ProfileError::NoMetric { metric: metric.into(), kernel: kernel.clone() })
    }
}
