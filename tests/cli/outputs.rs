//! Files and standard output that cannot be written, and what writing spares.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::assert::{Assert, OutputAssertExt};
use gpp::record;
use gpp::record::run::RunRecord;
use predicates::prelude::*;
use predicates::str::contains;

use crate::common::{QUIET, fixture_path, place};
use crate::{archived, gpp, text};

const TO_JSON: [&str; 7] = ["--version", "v8", "--system", "tiny", "--device", "cpu", "--json"];

#[test]
fn a_file_that_cannot_be_written_is_said_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let run = |json: &Path| gpp().args(TO_JSON).arg(json).assert().code(2).stdout("");
    run(&dir.path().join("missing/run.json"))
        .stderr(contains("run.json: cannot write: No such file").and(contains(".gpp").not()));
    run(dir.path()).stderr(contains("it is a folder"));
    let long = "File name too long (os error 36)";
    run(&dir.path().join("n".repeat(300))).stderr(contains(long));
    // Beside it there is no room for another name.
    let mut deep = dir.path().to_path_buf();
    while deep.as_os_str().len() < 4080 {
        let left = 4089 - deep.as_os_str().len();
        deep.push("d".repeat(left.clamp(1, 200)));
        fs::create_dir(&deep).unwrap();
    }
    let beside = format!("{long}; a file is first written next to it");
    run(&deep.join("r")).stderr(contains(beside).and(contains("os error 2)").not()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_table_that_cannot_be_printed_does_not_lose_the_json() {
    let (_dir, path) = place("run.json");
    full(&[&TO_JSON[..], &[text(path.clone()).as_str()]].concat());
    assert!(fs::read_to_string(&path).unwrap().contains("\"v8\""));
    let no_space = || contains("/dev/full: cannot write: No space left");
    gpp().args(TO_JSON).arg("/dev/full").assert().code(2).stdout(contains("v8")).stderr(no_space());
    let csv = ["sigma", "-s", "tiny", "-d", "cpu", "-q", "--energies=-10:10:501", "--csv"];
    gpp().args(csv).arg("/dev/full").assert().code(2).stderr(no_space());
    closed(&[&csv[..], &["-"]].concat());
}

fn ended(arguments: &[&str], stdout: impl Into<Stdio>) -> Assert {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("gpp"));
    let output = command.args(arguments).stdout(stdout).stderr(Stdio::piped()).output();
    output.unwrap().assert().append_context("command", format!("{arguments:?}"))
}

#[cfg(target_os = "linux")]
fn full(arguments: &[&str]) {
    let device = File::options().write(true).open("/dev/full").unwrap();
    let says = contains("standard output: cannot write: No space left");
    ended(arguments, device).code(2).stderr(says);
}

fn closed(arguments: &[&str]) {
    let (_, writer) = std::io::pipe().unwrap();
    ended(arguments, writer).success().stderr(contains("error").not());
}

#[test]
fn standard_output_that_is_full_or_closed() {
    let dir = tempfile::tempdir().unwrap();
    let [page, records] = ["page.html", "charts"].map(|name| text(dir.path().join(name)));
    let (archive, run) = (text(archived("si214-complex")), text(archived("si214/run.json")));
    for arguments in [
        &["report", "--from", &archive, "--output", &page][..],
        &["roofline", "--from", &archive, "--output", &records],
        &["table", "--from", &run],
        &["ptx", "v4"],
        &TO_JSON[..6],
        &[&TO_JSON[..], &["-"]].concat(),
        &["info", "--device", "cpu"],
        &["list"],
        &["--help"],
    ] {
        closed(arguments);
        #[cfg(target_os = "linux")]
        full(arguments);
    }
}

#[cfg(unix)]
#[test]
fn a_command_that_fails_leaves_no_file() {
    let (dir, path) = place("demo.dat");
    let script = "ulimit -f 100; exec \"$0\" generate --system demo --quiet --output \"$1\"";
    let mut command = assert_cmd::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_gpp")]).arg(path);
    command.assert().code(2).stderr(contains("demo.dat: cannot write: File too large"));
    for arguments in [
        ["profile", "--system", "tiny", "--ncu", "no-such-profiler"],
        ["sigma", "--device=cpu", "--system=tiny", "--csv", "missing/a.csv"],
        ["generate", "--system", "tiny", "--output", "missing/tiny.dat"],
    ] {
        gpp().current_dir(dir.path()).args(arguments).assert().failure();
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn outputs_spare_inputs_links_and_permissions() {
    let (dir, input) = place("in.dat");
    fs::copy(fixture_path("edge"), &input).unwrap();
    let before = fs::read(&input).unwrap();
    let mut command = gpp();
    command.args(["-v", "v8", "-d", "cpu", "--input"]).arg(&input).arg("--json");
    let refused = command.arg(dir.path().join("./in.dat")).assert().code(2);
    refused.stderr(contains("in.dat: is an input"));
    assert_eq!(fs::read(&input).unwrap(), before);

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        let (real, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        gpp().args(TO_JSON).arg(&link).assert().success();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("\"schema\""));
        let usual = dir.path().join("usual");
        fs::write(&usual, "").unwrap();
        assert_eq!(mode(&real), mode(&usual));
        // A file that is replaced stays as private as it was.
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        gpp().args(TO_JSON).arg(&link).assert().success();
        assert_eq!(mode(&real) & 0o777, 0o600);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let (folder, pipe) = place("pipe.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
        let errors = [
            gpp::problem::input_file::read(path, QUIET).err().map(|error| error.to_string()),
            record::read::<RunRecord>(path).err().map(|error| error.to_string()),
        ];
        for text in errors {
            let text = text.expect("it is no file");
            assert!(text.starts_with(path.to_str().unwrap()), "{text}");
            assert!(text.contains("not a regular file"), "{text}");
        }
    }
    let large = folder.path().join("large.json");
    File::create(&large).unwrap().set_len(20 << 30).unwrap();
    let text = record::read::<RunRecord>(&large).expect_err("it is too large").to_string();
    assert!(text.contains("21474836480 bytes, at most 1073741824"), "{text}");
}
