//! Runs on ranks that are killed or stopped go on from their checkpoint, on any number of ranks.

use std::process::Stdio;

use crate::Test;
use crate::common::resuming::*;
use crate::launch::{alone, children, ended, ranks};

pub const TESTS: &[Test] = &[
    ("killed with each slab, on other ranks each time", killed),
    ("the scheduler's warning ends a run after the slabs at hand", warned),
];

/// The sums of a run that nothing happens to.
fn undisturbed() -> String {
    sums(&ended(alone().args(PROBLEM).args(["--json", "-"])).record())
}

fn killed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, json) = (folder.path().join("run.ckpt"), folder.path().join("run.json"));
    for numbers in [[3, 3, 3, 3], [1, 5, 2, 3]] {
        let start = |at: usize| {
            let mut command = ranks(numbers[at % 4]);
            command.args(PROBLEM).env(SLOWLY.0, SLOWLY.1).arg("--checkpoint").arg(&path);
            // What a killed launcher leaves goes with the folder.
            command.env("TMPDIR", folder.path());
            command.arg("--json").arg(&json).stdout(Stdio::null()).stderr(Stdio::null());
            Running::start(&mut command)
        };
        // The launcher as well: Open MPI's sometimes waits forever once all ranks are gone together.
        let kill = |run: &Running| {
            send("KILL", &children(run.0.id()));
            send("KILL", &[run.0.id()]);
        };
        let kills = kill_with_each_slab(&path, start, kill);
        assert!(kills >= 3, "{kills}");
        let record = record(&json);
        assert_eq!(sums(&record), undisturbed());
    }
}

fn warned() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let mut command = ranks(3);
    command.args(PROBLEM).env(SLOWLY.0, SLOWLY.1).arg("--checkpoint").arg(&path);
    let mut run = Running::start(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    assert!(run.until(|| kept(&path) > 0));
    send("USR1", &[run.0.id()]);
    assert_eq!(run.code(), Some(128 + 10));
    let errors = std::io::read_to_string(run.0.stderr.take().unwrap()).unwrap();
    assert_eq!(errors.matches("error: stopped by SIGUSR1 after ").count(), 1, "{errors}");
    assert_eq!(errors.matches("run.ckpt keeps the slabs: ").count(), 1, "{errors}");
    let before = kept(&path);
    assert!((1..SLABS).contains(&before), "{before}");
    let again = ranks(2).args(PROBLEM).args(["--json", "-", "--checkpoint"]).arg(&path).output();
    let record = serde_json::from_slice(&again.unwrap().stdout).unwrap();
    assert_eq!(sums(&record), undisturbed());
    assert_eq!(resumed(&record), before);
    assert!(files(&path).is_empty());
}
