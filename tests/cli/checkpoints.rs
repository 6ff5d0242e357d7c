//! One process with a checkpoint: killed, stopped, and what is refused.

use std::fs;
use std::process::{Command, Stdio};

use crate::common::resuming::*;
use crate::gpp;
use predicates::prelude::*;
use predicates::str::contains;

/// The program on [`PROBLEM`], slowly.
fn slowly() -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("gpp"));
    command.args(PROBLEM).env(SLOWLY.0, SLOWLY.1).env_remove("GPP_PTX");
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn undisturbed() -> String {
    let output = gpp().args(PROBLEM).args(["--json", "-"]).assert().success();
    sums(&serde_json::from_slice(&output.get_output().stdout).unwrap())
}

#[test]
fn a_run_that_is_killed_with_each_slab_comes_to_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (path, results) = (folder.path().join("run.ckpt"), folder.path().join("run.json"));
    let start = |_| {
        let mut command = slowly();
        command.arg("--checkpoint").arg(&path).arg("--json").arg(&results).stderr(Stdio::null());
        Running::start(&mut command)
    };
    let kills = kill_with_each_slab(&path, start, |run| send("KILL", &[run.0.id()]));
    assert!(kills >= 3, "{kills}");
    let record = record(&results);
    assert_eq!(sums(&record), undisturbed());
}

#[test]
fn a_run_that_is_asked_to_stop_ends_after_the_slab_at_hand() {
    let whole = undisturbed();
    for (signal, code) in [("TERM", 143), ("USR1", 138), ("USR2", 140)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.ckpt");
        let mut run = Running::start(slowly().arg("--checkpoint").arg(&path));
        assert!(run.until(|| kept(&path) > 0));
        send(signal, &[run.0.id()]);
        assert_eq!(run.code(), Some(code));
        let errors = std::io::read_to_string(run.0.stderr.take().unwrap()).unwrap();
        let before = kept(&path);
        assert!((1..SLABS).contains(&before), "{before}");
        for message in [
            "stopping after the slabs at hand; asked again, at once".into(),
            format!("{} keeps the slabs: the same command goes on from them", path.display()),
            format!("error: stopped by SIG{signal} after {before} of {SLABS} slabs"),
        ] {
            assert_eq!(errors.matches(&message).count(), 1, "no `{message}`: {errors}");
        }
        let checkpoint = ["--checkpoint", path.to_str().unwrap(), "--json", "-"];
        let again = gpp().args(PROBLEM).args(checkpoint).assert().success();
        let record = serde_json::from_slice(&again.get_output().stdout).unwrap();
        assert_eq!((resumed(&record), sums(&record)), (before, whole.clone()));
        assert!(files(&path).is_empty());
    }
}

#[test]
fn results_that_cannot_be_written_leave_the_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let checkpoint = ["--checkpoint", path.to_str().unwrap()];
    let full = ["--json", "/dev/full"];
    gpp()
        .args(PROBLEM)
        .args(checkpoint)
        .args(full)
        .assert()
        .code(2)
        .stderr(contains("/dev/full: cannot write"));
    assert_eq!(kept(&path), SLABS);
    let run = gpp().args(PROBLEM).args(checkpoint).args(["--json", "-"]).assert().success();
    let record = serde_json::from_slice(&run.get_output().stdout).unwrap();
    assert_eq!((resumed(&record), sums(&record)), (SLABS, undisturbed()));
    assert!(files(&path).is_empty());
}

/// By whatever name, an output that a checkpoint would be removed with.
#[test]
fn a_checkpoint_beside_an_output_of_its_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    fs::create_dir(folder.path().join("sub")).unwrap();
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, at(name)).unwrap();
    link("run", "link");
    link("out", "run.7");
    link("sub", "again");
    for (checkpoint, output) in [
        ("run", "run"),
        ("run", "./sub/../run"),
        ("link", "run"),
        ("run", "link"),
        ("sub/run", "again/run"),
        ("run", "run.1"),
        ("run", "run.12"),
        // The file of rank 7 leads there.
        ("run", "out"),
    ] {
        let refused = |arguments: &[&str]| {
            let run = ["-s", "tiny", "-d", "cpu", "-v", "best", "-q", "--checkpoint"];
            let output = gpp().args(arguments).args(run).arg(at(checkpoint)).assert().code(2);
            output.stderr(contains("it is also the file of --"));
        };
        refused(&["--json", &at(output)]);
        refused(&["sigma", "--csv", &at(output)]);
    }
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "{left:?}");
    // A checkpoint's number is no output's, and an input may be no checkpoint.
    let input = at("run.2");
    fs::copy(crate::common::fixture_path("plain"), &input).unwrap();
    let checkpoint = ["-d", "cpu", "-v", "best", "-i", &input, "--checkpoint", &at("run")];
    gpp().args(checkpoint).assert().code(2).stderr(contains("run: it is the input --input "));
    assert_eq!(fs::read(&input).unwrap(), fs::read(crate::common::fixture_path("plain")).unwrap());
}

/// Of a version whose groups are larger than what is left of the problem.
#[test]
fn a_checkpoint_of_one_slab_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let run = ["-s", "tiny", "-v", "v13", "-d", "cpu", "--checkpoint", path.to_str().unwrap()];
    let begin = || {
        gpp().args(run).args(["--json", "/dev/full"]).assert().code(2);
        fs::read_to_string(&path).unwrap()
    };
    let head: serde_json::Value = serde_json::from_str(begin().lines().next().unwrap()).unwrap();
    // Not a multiple of the 16 igp of v13's groups.
    assert_eq!(
        (&head["slab"], !head["ngpown"].as_u64().unwrap().is_multiple_of(16)),
        (&head["ngpown"], true)
    );
    let slab = head["slab"].to_string();
    for again in [&[][..], &["--slab", &slab], &["--slab", "1000000"]] {
        let output = gpp().args(run).args(again).args(["--json", "-"]).assert().success();
        let record = serde_json::from_slice(&output.get_output().stdout).unwrap();
        assert_eq!(resumed(&record), 1);
        begin();
    }
}

#[test]
fn checkpoints_that_no_run_can_go_on_from_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let refused = |arguments: &[&str], part: &str| {
        let tiny = ["--system", "tiny", "--device", "cpu", "--checkpoint"];
        gpp().args(tiny).arg(&path).args(arguments).assert().code(2).stderr(contains(part));
    };
    refused(&["--version", "v3,v13"], "run.ckpt: needs one version, has 2");
    // Without a name the fastest runs, as --version best would.
    refused(&["--repeat", "2"], "needs one calculation: no --repeat and no --warmup");
    refused(&["-v", "best", "--repeat", "2"], "needs one calculation: no --repeat and no --warmup");
    refused(&["-v", "best", "--warmup", "1"], "needs one calculation: no --repeat and no --warmup");
    assert!(!path.exists());

    gpp()
        .args(["-s", "tiny", "-v", "v13", "--device", "cpu", "--json", "/dev/full", "--checkpoint"])
        .arg(&path)
        .assert()
        .code(2);
    let unnamed = folder.path().join("unnamed.ckpt");
    gpp()
        .args(["-s", "tiny", "--device", "cpu", "--checkpoint"])
        .arg(&unnamed)
        .assert()
        .success()
        .stdout(contains("cpu:paired").and(contains("v13").not()));
    assert!(!unnamed.exists());
    let whole = fs::read(&path).unwrap();
    refused(&["-v", "v9"], "run.ckpt: cannot be continued by this run: needs version v9, has v13");
    refused(&["-v", "v13", "--seed", "6"], "needs contents ");
    fs::write(&path, &whole[..whole.len() - 20]).unwrap();
    refused(&["-v", "v13"], "run.ckpt: is damaged");
    assert_eq!(fs::read(&path).unwrap(), &whole[..whole.len() - 20]);
}
