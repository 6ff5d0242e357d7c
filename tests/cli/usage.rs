//! Flags: what is refused, and what the message says was needed.

use std::fs;

use crate::common::fixture_path;
use crate::{archived, gpp, text};
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn bad_usage_exits_with_2_and_says_what_was_needed() {
    for (arguments, parts) in [
        (vec!["--version", "v99"], vec!["unknown version `v99`", "did you mean", "v0, v1"]),
        (vec!["--version", "v0,x"], vec!["unknown version `x`", ", best, all"]),
        (
            vec!["--system", "si215"],
            vec!["unknown system `si215`", "did you mean `si214`", "si510"],
        ),
        (
            vec!["--device", "gpux"],
            vec!["unknown device `gpux`", "auto, gpu, gpu:N, gpu:N,M, gpu:all, cpu"],
        ),
        (vec!["--device", "gpu:x"], vec!["unknown device `gpu:x`"]),
        (vec!["--repeat", "0"], vec!["--repeat", "a whole number from 1 to"]),
        (vec!["--repeat", "x"], vec!["--repeat", "whole number"]),
        (vec!["--input", "no/such.dat"], vec!["no/such.dat: cannot read"]),
        (vec!["--input", "x", "--system", "tiny"], vec!["cannot be used with"]),
        (vec!["--nonsense"], vec!["--nonsense"]),
        (vec!["nonsense"], vec!["nonsense"]),
        (vec!["generate", "--system", "tiny"], vec!["--output"]),
    ] {
        let mut assert = gpp().args(&arguments).assert().code(2);
        for part in parts {
            assert = assert.stderr(contains(part));
        }
    }
}

#[test]
fn version_flags_do_not_clash() {
    let text = concat!("gpp ", env!("CARGO_PKG_VERSION"));
    for flag in ["-V", "--version", "--program-version"] {
        gpp().arg(flag).assert().success().stdout(format!("{text}\n")).stderr("");
    }
    gpp().arg("--help").assert().success().stdout(contains("--version <V[,V…]>"));
}

#[test]
fn flags_without_effect_are_refused_by_name() {
    let run = text(archived("si214/run.json"));
    let file = text(fixture_path("edge"));
    for (arguments, part) in [
        (&["--input", &file, "--seed", "1"][..], "--seed"),
        (&["table", "--from", &run, "--version", "v3"], "--version"),
        (&["table", "--from", &run, "--device", "gpu"], "--device"),
        (&["table", "--from", &run, "--simd", "avx2"], "--simd"),
        (&["table", "--from", &run, "--repeat", "3"], "--repeat"),
    ] {
        gpp().args(arguments).assert().code(2).stderr(contains(part));
    }
}

#[test]
fn counts_that_no_run_can_have_are_refused() {
    for count in ["18446744073709551615", "1000000000000", "-1"] {
        for flag in ["--repeat", "--warmup"] {
            let flag_and_count = format!("{flag}={count}");
            gpp()
                .args(["--system", "tiny", "--device", "cpu", &flag_and_count])
                .assert()
                .code(2)
                .stderr(contains(flag).and(contains("1000000")));
        }
    }
}

#[test]
fn usage_errors_lead_to_what_was_meant() {
    let empty = tempfile::tempdir().unwrap();
    let missing = text(empty.path().join("missing"));
    let (archive, run) = (text(archived("si214")), text(archived("si214/run.json")));
    let compared = text(archived("si214/ceilings.json"));
    for (arguments, part) in [
        (&["--version", "-d", "cpu"][..], "alone, or as -V, it prints the program's own"),
        (&["--version", ""], "needs a name, see `gpp list`"),
        (&["--version", "v0,,v1"], "name 2 of 3 is empty"),
        (&["--journey", "paper,"], "name 2 of 2 is empty"),
        (&["table", "--system", ""], "'--system <NAME[,NAME…]>': needs a name"),
        (&["--system", "nope"], "unknown system `nope`; known: "),
        (&["--settle", "abc"], "needs seconds, a number from 0 to 3600"),
        (&["ptx", "cpu:simd"], "cpu:simd: is made for processors and has no PTX"),
        (&["diff", &run, "v4"], "takes two versions or two runs"),
        (&["diff", &run, &run, "--system", "demo"], "--system: has no effect on two runs"),
        (&["--device", "GPU"], "did you mean `gpu`?"),
        (&["--version", "8"], "did you mean `v8`?"),
        (&["--version", "v8-v0"], "the range runs backwards, v8 comes after v0: write v0-v8"),
        (&["--version", "v0..v8"], "ranges are written with a hyphen: v0-v8"),
        (&["--device", "cuda"], "did you mean `gpu`?"),
        (&["--device", "cuda:1"], "did you mean `gpu:1`?"),
        (&["roofline", "--from", &archive, "--output", "-"], "--output needs a folder"),
        (&["profile", "--output", "-"], "--output needs a folder"),
        (&["table", "--from", &compared], "is no record of a run"),
        (&["roofline", "--from", &missing], "no such folder"),
        (&["report", "--from", &archive, "--output", &run], "it is the input"),
        (&["generate", "--system", "tiny", "--output", "-"], "--output needs a file"),
        (&["report", "--from", &archive, "--output", "-"], "--output needs a file"),
    ] {
        gpp().args(arguments).assert().code(2).stderr(contains(part));
    }
    gpp().args(["--version", "v0,all", "--system", "tiny", "--device", "cpu"]).assert().success();
    gpp()
        .args(["generate", "--system", "tiny", "--output", "/no/such/folder/tiny.dat"])
        .assert()
        .code(2)
        .stderr(contains("No such file").and(contains(".gpp").not()));
    // Nothing is made before the profiler is found.
    gpp()
        .current_dir(empty.path())
        .args(["profile", "--system", "tiny", "--ncu", "no-such-profiler"])
        .assert()
        .code(3);
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
}

#[test]
fn lists_and_completions() {
    let mut assert = gpp().arg("list").assert().success();
    for name in ["v0", "v13", "si510-complex", "small enough for two CPU cores"] {
        assert = assert.stdout(contains(name));
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = gpp().args(["completions", shell]).assert().success();
        // zsh has colons behind backslashes.
        let simd = contains("cpu:simd").or(contains("cpu\\:simd"));
        script.stdout(contains("offdiag").and(simd).and(contains("si510-complex")));
    }
    gpp()
        .arg("--help")
        .assert()
        .success()
        .stdout(contains("best or all").and(contains("v0-v8")).and(contains("Examples:")));
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
        let what = "error: the launcher of MPI: 2 ranks, and this program was built without MPI";
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
