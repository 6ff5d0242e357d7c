//! Files and standard output that cannot be written, and what writing spares.

use std::fs;
use std::process::Stdio;

use crate::common::fixture_path;
use crate::{archived, gpp, text};
use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

#[test]
fn a_file_that_cannot_be_written_is_said_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let run = |json: &std::path::Path| {
        let mut command = gpp();
        command.args(["--version", "v8", "--system", "tiny", "--device", "cpu", "--json"]);
        command.arg(json).assert().code(2).stdout(predicate::str::is_empty())
    };
    run(&dir.path().join("missing/run.json"))
        .stderr(contains("run.json: cannot write: No such file").and(contains(".gpp").not()));
    run(dir.path()).stderr(contains("it is a folder"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_table_that_cannot_be_printed_does_not_lose_the_json() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    full(&["-v", "v8", "-s", "tiny", "-d", "cpu", "--json", &text(path.clone())]);
    assert!(fs::read_to_string(&path).unwrap().contains("\"v8\""));
    let [json, csv] = ["table.json", "table.csv"].map(|name| text(dir.path().join(name)));
    let table = ["table", "-s", "tiny", "-d", "cpu", "-r", "1", "-v", "v8"];
    full(&[&table[..], &["--json", &json, "--csv", &csv]].concat());
    assert!(fs::read_to_string(&json).unwrap().contains("\"results\""));
    assert!(fs::read_to_string(&csv).unwrap().contains(",v8,"));
    let json = ["-v", "v8", "-s", "tiny", "-d", "cpu", "--json", "/dev/full"];
    let failed = gpp().args(json).assert().code(2).stdout(contains("v8"));
    failed.stderr(contains("/dev/full: cannot write: No space left"));
}

fn ended(arguments: &[&str], stdout: impl Into<Stdio>) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("gpp"));
    command.args(arguments).stdout(stdout).stderr(Stdio::piped());
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[cfg(target_os = "linux")]
fn full(arguments: &[&str]) {
    let device = fs::File::options().write(true).open("/dev/full").unwrap();
    let (code, errors) = ended(arguments, device);
    assert_eq!(code, Some(2), "{arguments:?}: {errors}");
    assert!(errors.contains("standard output: cannot write: No space left"), "{errors}");
}

fn closed(arguments: &[&str]) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (code, errors) = ended(arguments, writer);
    assert_eq!(code, Some(0), "{arguments:?}: {errors}");
    assert!(!errors.contains("error"), "{errors}");
}

#[test]
fn standard_output_that_is_full_or_closed() {
    let dir = tempfile::tempdir().unwrap();
    let [page, records] = ["page.html", "charts"].map(|name| text(dir.path().join(name)));
    let archive = text(archived("si214-complex"));
    let run = text(archived("si214/run.json"));
    for arguments in [
        &["report", "--from", &archive, "--output", &page][..],
        &["roofline", "--from", &archive, "--output", &records],
        &["table", "--from", &run],
        &["table", "--from", &run, "--csv", "-"],
        &["diff", &run, &run],
        &["ptx", "v4"],
        &["--version", "v8", "--system", "tiny", "--device", "cpu"],
        &["--version", "v8", "--system", "tiny", "--device", "cpu", "--json", "-"],
        &["info", "--device", "cpu"],
        &["list"],
        &["completions", "bash"],
        &["--help"],
    ] {
        closed(arguments);
        #[cfg(target_os = "linux")]
        full(arguments);
    }
}

#[cfg(unix)]
#[test]
fn a_file_beyond_the_limit_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let program = assert_cmd::cargo::cargo_bin("gpp");
    let script = format!(
        "ulimit -f 100; exec '{}' generate --system demo --quiet --output '{}'",
        program.display(),
        dir.path().join("demo.dat").display()
    );
    Command::new("sh")
        .args(["-c", &script])
        .assert()
        .code(2)
        .stderr(contains("demo.dat: cannot write: File too large"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn outputs_spare_inputs_links_and_permissions() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.dat");
    fs::copy(fixture_path("edge"), &input).unwrap();
    let before = fs::read(&input).unwrap();
    let mut command = gpp();
    command.args(["-v", "v8", "-d", "cpu", "--input"]).arg(&input);
    command.arg("--json").arg(dir.path().join("./in.dat"));
    command.assert().code(2).stderr(contains("in.dat: is an input"));
    assert_eq!(fs::read(&input).unwrap(), before);

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode();
        let json = |path: &std::path::Path| {
            let mut command = gpp();
            command.args(["--version", "v8", "--system", "tiny", "--device", "cpu", "--json"]);
            command.arg(path).assert().success();
        };
        let (real, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        json(&link);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("\"schema\""));
        let usual = dir.path().join("usual");
        fs::write(&usual, "").unwrap();
        assert_eq!(mode(&real), mode(&usual));
        // A file that is replaced stays as private as it was.
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        json(&link);
        assert_eq!(mode(&real) & 0o777, 0o600);
    }
}
