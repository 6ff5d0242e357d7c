//! Help, PTX, and one of several ranks without MPI. `tests/commands` has what is refused.

use crate::{gpp, printed};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn short_help_fits_a_screen_and_all_help_a_narrow_terminal() {
    for arguments in [&["-h"][..], &["--help"], &["table", "--help"], &["profile", "-h"]] {
        let help = printed(gpp().args(arguments).env("COLUMNS", "80"));
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        let is_run = arguments.len() == 1;
        assert!(!is_run || help.contains("v0-v8") && help.contains("Examples:"), "{help}");
    }
    assert!(printed(gpp().arg("-h")).lines().count() <= 50);
}

/// As launchers tell a process that it is one of several: Open MPI's, MPICH's, Slurm's with and without PMIx.
#[cfg(not(feature = "mpi"))]
#[test]
fn one_of_several_ranks_is_refused_without_mpi() {
    let run = ["--version", "best", "--system", "tiny", "--device", "cpu", "--quiet"];
    for (rank, size) in [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("PMIX_RANK", "SLURM_STEP_NUM_TASKS"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ] {
        let ranks = |this: &str, all: &str, arguments: &[&str]| {
            gpp().args(arguments).env(rank, this).env(size, all).assert()
        };
        let what = "error: the launcher of MPI: 2 ranks, but this program was built without MPI";
        let unset = format!("unset {rank}, which is 0 here\n");
        ranks("0", "2", &run).code(2).stderr(contains(what).and(contains(unset)));
        ranks("0", "1", &run).success();
        ranks("1", "2", &["--help"]).success().stdout(contains("Examples:"));
        ranks("1", "2", &["--version"]).success().stdout(contains("gpp 0."));
        ranks("1", "2", &["--nope"]).code(2).stderr(contains("--nope"));
        // Where nobody ends it when rank 0 has said it.
        if rank.starts_with("SLURM") {
            ranks("1", "2", &run).code(2).stderr(contains(what));
        }
    }
    // A script of Slurm's has a number without a step, a shell one that is nobody's rank.
    gpp().args(run).env("SLURM_PROCID", "0").assert().success();
    let shell = [("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "4"), ("SLURM_PTY_PORT", "5000")];
    gpp().args(run).envs(shell).assert().success();
    gpp().args(run).env("PMIX_RANK", "0").assert().code(2).stderr(contains("several ranks"));
}

#[test]
fn the_ptx_of_a_version_is_a_module_of_its_kernels() {
    if gpp::devices::gpu::NO_KERNELS.is_some() {
        gpp().args(["ptx", "v4"]).assert().code(3);
        return;
    }
    let v4 = printed(gpp().args(["ptx", "v4"]));
    let entries = v4.lines().filter_map(|line| line.strip_prefix(".visible .entry "));
    let entries = entries.map(|rest| rest.split('(').next().unwrap());
    assert!(v4.starts_with(".version ") && v4.contains(".target sm_"), "{}", &v4[..200]);
    let kernels = gpp::catalogue::find("v4").unwrap().gpu().unwrap().kernels;
    assert!(entries.eq(kernels.iter().flat_map(|kernel| kernel.entries).map(|entry| entry.symbol)));
}
