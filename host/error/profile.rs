//! What goes wrong with profiles: the profiler, what it printed, and the tools that disassemble.

use std::path::PathBuf;

/// A profile that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// There is no profiler.
    #[error(
        "{} cannot be run ({why}): install Nsight Compute, name it with --ncu, or read CSV \
         recorded elsewhere with --counters",
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

    /// A program ended with an error.
    #[error("{program}: {why}")]
    Failed {
        /// The program.
        program: String,
        /// What it said, and its exit code.
        why: String,
    },

    /// A passing file cannot be written.
    #[error("no room for {what}: {why}")]
    NoRoom {
        /// The file.
        what: &'static str,
        /// The system's reason.
        why: String,
    },

    /// Nothing disassembles.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NoDisassembler(Vec<ProfileError>),

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

    /// There is nothing of a version.
    #[error("has no launch of {0}")]
    NoLaunch(String),

    /// Operations are to come from profiles that lack a version.
    #[error("no profile of {0}, at as many energies, to take its operations from")]
    NoOperations(String),

    /// Operations are to come from a profile of a kernel that has changed since.
    #[error(
        "a profile of {0} whose kernel has other code than this program's: count its operations anew"
    )]
    OtherKernel(String),

    /// The counters are of another problem.
    #[error("{found}: name the system that {counters} with --system or --input")]
    OtherProblem {
        /// What does not agree.
        found: String,
        /// "the counters are of" or "they are of".
        counters: &'static str,
    },
}
