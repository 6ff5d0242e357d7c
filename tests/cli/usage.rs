//! Flags and files: what is refused, and what the message says was needed; PTX.

use std::fs;

use crate::common::{fixture_path, place};
use crate::{gpp, text};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn version_flags_do_not_clash() {
    let text = concat!("gpp ", env!("CARGO_PKG_VERSION"));
    for flag in ["-V", "--version"] {
        gpp().arg(flag).assert().success().stdout(format!("{text}\n")).stderr("");
    }
    gpp().arg("--help").assert().success().stdout(contains("--version <ID[,ID…]>"));
}

#[test]
fn lists_and_help() {
    let mut assert = gpp().arg("list").assert().success();
    for name in ["v0", "v13", "si510-complex", "small enough for two CPU cores"] {
        assert = assert.stdout(contains(name));
    }
    let help = contains("v0-v8").and(contains("Examples:"));
    gpp().arg("--help").assert().success().stdout(help);
    let short = gpp().arg("-h").assert().success();
    let lines = String::from_utf8_lossy(&short.get_output().stdout).lines().count();
    assert!(lines <= 50, "{lines} lines");
}

#[test]
fn help_is_a_command_too() {
    let help =
        |arguments: &[&str]| gpp().args(arguments).assert().success().get_output().stdout.clone();
    assert_eq!(help(&["help", "sigma"]), help(&["sigma", "--help"]));
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
fn a_command_that_fails_leaves_no_file() {
    let empty = tempfile::tempdir().unwrap();
    let at = |name: &str| text(empty.path().join(name));
    let input = text(fixture_path("edge"));
    for (arguments, code) in [
        (&["profile", "--system", "tiny", "--ncu", "no-such-profiler"][..], 3),
        (&["sigma", "--device", "cpu", "--input", &input, "--csv", &at("missing/a.csv")], 2),
        (&["generate", "--system", "tiny", "--output", &at("missing/tiny.dat")], 2),
    ] {
        gpp().current_dir(empty.path()).args(arguments).assert().code(code);
        assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0, "{arguments:?}");
    }
}

#[test]
fn help_fits_a_narrow_terminal() {
    for arguments in [&["--help"][..], &["table", "--help"], &["profile", "-h"]] {
        let output = gpp().args(arguments).env("COLUMNS", "80").assert().success();
        let help = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
}

#[test]
fn files_of_other_formats_are_refused() {
    let (_dir, path) = place("eps.h5");
    fs::write(&path, b"\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0").unwrap();
    for (flags, part) in [
        (&["--input"][..], "record 1 (sig_ntband, "),
        (&["table", "--from"], "cannot read: it is not text"),
    ] {
        let refused = gpp().args(flags).arg(&path).assert().code(2).stdout("");
        refused.stderr(contains(format!("eps.h5: {part}")));
    }
}

#[test]
fn the_ptx_of_a_version_is_a_module_of_its_kernels() {
    let ptx = |arguments: &[&str]| {
        let output = gpp().arg("ptx").args(arguments).assert();
        let output = output.get_output().clone();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    if gpp::devices::gpu::NO_KERNELS.is_some() {
        assert_eq!(ptx(&["v4"]).0, Some(3));
        return;
    }
    let entries = |text: &str| -> Vec<String> {
        let begin = ".visible .entry ";
        let names = text.lines().filter_map(|line| line.strip_prefix(begin));
        names.map(|rest| rest.split('(').next().unwrap().to_string()).collect()
    };
    let (code, v4) = ptx(&["v4"]);
    assert_eq!(code, Some(0));
    assert!(v4.starts_with(".version ") && v4.contains(".target sm_"), "{}", &v4[..200]);
    let kernels = gpp::catalogue::find("v4").unwrap().gpu().unwrap().kernels;
    let known = kernels.iter().flat_map(|kernel| kernel.entries).map(|entry| entry.symbol);
    assert_eq!(entries(&v4), known.collect::<Vec<_>>());
}
