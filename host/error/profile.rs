//! What goes wrong with profiles: the profiler, and what it printed.

use std::path::PathBuf;

/// A profile that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no profiler.
    #[error(
        "{} cannot be run ({why}): install Nsight Compute or name it with --ncu",
        program.display()
    )]
    NoProfiler {
        /// The one that was named.
        program: PathBuf,
        /// What became of it.
        why: String,
    },

    /// The driver lets nobody else count.
    #[error(
        "the driver does not let this user read the performance counters (ERR_NVGPUCTRPERM): run \
         as root, or load the driver's module with NVreg_RestrictProfilingToAdminUsers=0"
    )]
    NoPermission,

    /// A program cannot be run.
    #[error("{program} cannot be run: {why}")]
    Start {
        /// The program.
        program: String,
        /// The system's reason.
        why: String,
    },

    /// The profiler printed an error in place of a table.
    #[error("{0}")]
    Said(String),

    /// What was printed is not the table that was asked for.
    #[error("{0}")]
    Table(String),

    /// A launch lacks a metric.
    #[error("metric {metric} is missing for kernel `{kernel}`: record it with --metrics")]
    NoMetric {
        /// The metric.
        metric: String,
        /// The kernel's symbol.
        kernel: String,
    },

    /// A kernel that no version has.
    #[error("kernel `{0}` is of no known version")]
    UnknownKernel(String),

    /// Launches that belong to no version.
    #[error("{0}")]
    Launches(&'static str),
}
