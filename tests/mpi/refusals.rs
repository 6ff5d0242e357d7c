//! What is wrong for all processes is said once, and ends all of them.

use std::fs;

use crate::Test;
use crate::common::fixture_path;
use crate::common::resuming::{PROBLEM, files};
use crate::launch::{alone, ended, ranks};

pub const TESTS: &[Test] = &[
    ("usage", usage),
    ("inputs", inputs),
    ("checkpoints that are damaged, or of something else", checkpoints),
    ("results that cannot be written leave the checkpoint", unwritten),
];

fn usage() {
    for (arguments, part) in [
        (&["--nonsense"][..], "--nonsense"),
        (&["--version", "best", "--repeat", "0"], "at least 1"),
        (&["--version", "v99"], "unknown version `v99`"),
        (&["--system", "si215"], "unknown system `si215`: did you mean `si214`?"),
        (&["--device", "gpux"], "unknown device `gpux`"),
        (&["list"], "3 ranks share a run"),
    ] {
        ended(ranks(3).args(arguments)).expect(2, &[part]);
    }
    ended(ranks(3).args(["--device", "gpu:100"])).expect(3, &["no GPU to run on"]);
}

fn inputs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input.dat");
    let input = |part: &str| {
        let run = ["--version", "best", "--device", "cpu", "--input", path.to_str().unwrap()];
        ended(ranks(3).args(run)).expect(2, &["rank 0 of 3 on ", "input.dat", part]);
    };
    input("No such file");
    let bytes = fs::read(fixture_path("plain")).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    input("the file ends after");
    fs::write(&path, "no input\n").unwrap();
    input("record 1");
}

fn checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let checkpoint = ["--checkpoint", path.to_str().unwrap()];
    fs::write(&path, "{\"gpp_checkpoint\":1,\"problem\":\"demo\"").unwrap();
    ended(ranks(3).args(PROBLEM).args(checkpoint)).expect(2, &["run.ckpt: is damaged"]);
    fs::write(&path, "something else\n").unwrap();
    ended(ranks(3).args(PROBLEM).args(checkpoint)).expect(2, &["run.ckpt: is no checkpoint"]);
    fs::remove_file(&path).unwrap();
    let unwritten = ["--json", "/dev/full"];
    ended(ranks(2).args(PROBLEM).args(checkpoint).args(unwritten));
    let tiny = ["--version", "v13", "--system", "tiny", "--device", "cpu"];
    ended(ranks(3).args(tiny).args(checkpoint))
        .expect(2, &["run.ckpt", "cannot be continued by this run: needs problem tiny"]);
    assert!(!files(&path).is_empty());
}

fn unwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.ckpt");
    let checkpoint = ["--checkpoint", path.to_str().unwrap()];
    let mut run = ranks(3);
    ended(run.args(PROBLEM).args(checkpoint).args(["--quiet", "--json", "/dev/full"]))
        .expect(2, &["/dev/full: cannot write"]);
    let again = ended(alone().args(PROBLEM).args(checkpoint).args(["--json", "-"])).record();
    assert_eq!(again["results"][0]["work"]["resumed"], 9);
    assert!(files(&path).is_empty());
}
