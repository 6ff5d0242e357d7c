//! The program end to end: what it prints, writes and exits with.

mod common;

use std::fs;

use assert_cmd::Command;
use common::{FIXTURES, fixture, fixture_path};
use gpp::experiments::measure::{Record, Repetition, Times, measure};
use gpp::kernels::plan::Poles;
use gpp::kernels::versions::ALL;
use gpp::problem::Sums;
use gpp::reference::verify::Outcome;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

fn gpp() -> Command {
    let mut command = Command::cargo_bin("gpp").unwrap();
    command.env_remove("GPP_PTX");
    command
}

/// Runs on the host and returns the JSON.
fn json(arguments: &[&str]) -> Value {
    let output = gpp()
        .args(["--device", "cpu", "--repeat", "2", "--warmup", "0", "--json", "-"])
        .args(arguments)
        .assert()
        .success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

#[test]
fn json_has_every_field() {
    let document = json(&["--version", "all", "--system", "tiny"]);
    assert_eq!(document["schema"], 1);
    assert_eq!(document["device"]["id"], "cpu");
    let system = &document["system"];
    let extents = ["nbands", "nvband", "ngpown", "ncouls", "nstart", "nend"];
    assert_eq!(extents.map(|e| system[e].as_u64().unwrap()), [21, 11, 9, 67, 2, 3]);
    assert_eq!(system["name"], "tiny");
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), ALL.len());
    for (result, version) in results.iter().zip(ALL) {
        assert_eq!(result["version"], version.id());
        let fields = result.as_object().unwrap();
        for field in [
            "device",
            "time_s",
            "flops",
            "flops_source",
            "tflops",
            "registers",
            "local_bytes",
            "warps_per_sm",
            "threads_per_block",
            "blocks",
            "asx",
            "ach",
            "verification",
        ] {
            assert!(fields.contains_key(field), "{field} is missing");
        }
        assert!(result["registers"].is_null() && result["warps_per_sm"].is_null());
        let time = &result["time_s"];
        assert_eq!(time["samples"].as_array().unwrap().len(), 2);
        let [min, median, max] = ["min", "median", "max"].map(|k| time[k].as_f64().unwrap());
        assert!(0.0 < min && min <= median && median <= max);
        assert_eq!(result["asx"].as_array().unwrap().len(), 2);
        assert!(result["ach"][1][1].is_f64());
        let verification = &result["verification"];
        assert_eq!(verification["outcome"], "passed");
        assert_eq!(verification["reference"], "golden");
        let [error, tolerance] =
            ["max_rel_error", "tolerance"].map(|k| verification[k].as_f64().unwrap());
        assert!(error <= tolerance && tolerance < 1e-10);
    }
}

#[test]
fn an_input_file_is_verified_by_its_own_sums() {
    for name in FIXTURES {
        let path = fixture_path(name);
        let document = json(&["--version", "v0,v8", "--input", path.to_str().unwrap()]);
        let stored = fixture(name).stored.unwrap();
        for result in document["results"].as_array().unwrap() {
            assert_eq!(result["verification"]["reference"], "file");
            assert_eq!(result["asx"].as_array().unwrap().len(), stored.asx.len());
            let re = result["asx"][0][0].as_f64().unwrap();
            assert!((re - stored.asx[0].re).abs() < 1e-12);
        }
    }
    gpp()
        .args(["--version", "v3", "--device", "cpu", "--input"])
        .arg(fixture_path("edge"))
        .assert()
        .success()
        .stdout(contains("v3: the reference mini-app's criterion holds: it is absolute"));
}

#[test]
fn a_table_on_standard_output_and_json_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    gpp()
        .args(["--version", "v0,v4", "--system", "tiny", "--device", "cpu", "--json"])
        .arg(&path)
        .assert()
        .success()
        .stdout(contains("over v0").and(contains("v4")).and(contains("passed")))
        .stdout(contains("reference: golden sums"));
    let document: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(document["results"].as_array().unwrap().len(), 2);
    gpp()
        .args(["--version", "v0", "--system", "tiny", "--device", "cpu", "--quiet"])
        .assert()
        .success()
        .stdout(predicate::str::is_empty())
        .stderr(predicate::str::is_empty());
}

#[test]
fn another_seed_is_verified_serially_and_gives_other_sums() {
    let sums = |seed: &str| {
        let document = json(&["--version", "v8", "--system", "tiny", "--seed", seed]);
        assert_eq!(document["results"][0]["verification"]["outcome"], "passed");
        (document["results"][0]["asx"].clone(), document["results"][0]["verification"].clone())
    };
    assert_eq!(sums("1").0, sums("1").0);
    assert_ne!(sums("1").0, sums("2").0);
    assert_eq!(sums("1").1["reference"], "serial");
}

#[test]
fn wrong_reference_sums_exit_with_1() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wrong.dat");
    let mut bytes = fs::read(fixture_path("plain")).unwrap();
    // asxtempref(2): one record of 56 bytes before the end, its second element.
    let at = bytes.len() - 2 * 56 + 4 + 16;
    let value = f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    bytes[at..at + 8].copy_from_slice(&(value * (1.0 + 1e-9)).to_le_bytes());
    fs::write(&path, bytes).unwrap();
    gpp()
        .args(["--version", "v5", "--device", "cpu", "--input"])
        .arg(&path)
        .assert()
        .code(1)
        .stdout(contains("INCORRECT").and(contains("does not hold")))
        .stderr(contains("v5: incorrect: asx(iw=2)"));
}

#[test]
fn generate_writes_what_a_run_accepts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tiny.dat");
    gpp().args(["generate", "--system", "tiny", "--output"]).arg(&path).assert().success();
    let document = json(&["--version", "v8", "--input", path.to_str().unwrap()]);
    assert_eq!(document["results"][0]["verification"]["outcome"], "passed");
    assert_eq!(document["results"][0]["verification"]["reference"], "file");
    gpp()
        .args(["generate", "--system", "tiny", "--output", "/no/such/folder/tiny.dat"])
        .assert()
        .code(2)
        .stderr(contains("/no/such/folder/tiny.dat: cannot write"));
}

#[test]
fn golden_prints_what_is_stored() {
    let output = gpp().args(["golden", "--system", "tiny"]).assert().success();
    let printed: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let text = fs::read_to_string(common::repository("data/golden.json")).unwrap();
    let stored: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        printed[0],
        stored.as_array().unwrap().iter().find(|g| g["system"] == "tiny").unwrap().clone()
    );
}

#[test]
fn info_lists_every_kernel() {
    let mut assert = gpp().args(["info", "--device", "cpu"]).assert().success();
    let kernels = ALL.iter().flat_map(|version| version.kernels);
    for entry in kernels.flat_map(|kernel| kernel.entries) {
        assert = assert.stdout(contains(entry.symbol));
    }
}

#[test]
fn bad_usage_exits_with_2_and_says_what_was_needed() {
    for (arguments, parts) in [
        (vec!["--version", "v99"], vec!["unknown version `v99`", "did you mean", "v0, v1"]),
        (vec!["--version", "v0,x"], vec!["unknown version `x`", "v13, best, all"]),
        (
            vec!["--system", "si215"],
            vec!["unknown system `si215`", "did you mean `si214`", "si510"],
        ),
        (vec!["--device", "gpux"], vec!["unknown device `gpux`", "auto, gpu, gpu:N, cpu"]),
        (vec!["--device", "gpu:x"], vec!["unknown device `gpu:x`"]),
        (vec!["--repeat", "0"], vec!["--repeat", "at least 1"]),
        (vec!["--repeat", "x"], vec!["--repeat", "whole number"]),
        (vec!["--input", "no/such.dat"], vec!["no/such.dat: cannot read"]),
        (vec!["--input", "x", "--system", "tiny"], vec!["cannot be used with"]),
        (vec!["--nonsense"], vec!["--nonsense"]),
        (vec!["nonsense"], vec!["nonsense"]),
        (vec!["generate", "--system", "tiny"], vec!["--output"]),
        (vec!["golden", "--system", "tine"], vec!["did you mean `tiny`"]),
    ] {
        let mut assert = gpp().args(&arguments).assert().code(2);
        for part in parts {
            assert = assert.stderr(contains(part));
        }
    }
}

#[test]
fn json_that_cannot_be_written_exits_with_2_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("missing/run.json");
    gpp()
        .args(["--version", "v8", "--system", "tiny", "--device", "cpu", "--json"])
        .arg(&path)
        .assert()
        .code(2)
        .stderr(contains("run.json: cannot write"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_gpu_that_is_not_there_exits_with_3() {
    // No machine has a hundred; without a driver the first is missing already.
    gpp()
        .args(["--version", "v8", "--system", "tiny", "--device", "gpu:100"])
        .assert()
        .code(3)
        .stderr(contains("no GPU to run on: "));
}

#[test]
fn version_flags_do_not_clash() {
    let text = concat!("gpp ", env!("CARGO_PKG_VERSION"));
    gpp().arg("-V").assert().success().stdout(contains(text));
    gpp().arg("--help").assert().success().stdout(contains("--version <V[,V…]>"));
}

#[test]
fn comparing_needs_a_gpu_and_the_rest_runs_on_the_host() {
    gpp().args(["compare", "--device", "cpu"]).assert().code(3).stderr(contains("needs a GPU"));
    gpp()
        .args(["tune", "--system", "tiny", "--device", "cpu", "--repeat", "1"])
        .assert()
        .success()
        .stdout(contains("for data/tuned.json: {"));
    let output = gpp()
        .args(["scaling", "--quick", "--device", "cpu", "--repeat", "1", "--json", "-"])
        .assert()
        .success();
    let record: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let points = record["points"].as_array().unwrap();
    assert!(points.len() >= 2 && points.iter().all(|point| point["outcome"] == "passed"));
    gpp()
        .args(["--version", "best", "--system", "tiny", "--tile", "9", "--device", "cpu"])
        .assert()
        .code(2)
        .stderr(contains("unknown tile `9 × 8 warps`: did you mean").and(contains("ran").not()));
}

fn archived(name: &str) -> std::path::PathBuf {
    common::repository(&format!("data/runs/h200-2026-11-21/{name}"))
}

fn text(path: std::path::PathBuf) -> String {
    path.to_str().unwrap().to_string()
}

// Wrong or lost results.

#[test]
fn records_of_two_systems_are_not_mixed() {
    let dir = tempfile::tempdir().unwrap();
    for (system, version) in [("si214", "v0"), ("si510", "v8")] {
        let file = format!("profile-{version}.json");
        fs::copy(archived(system).join(&file), dir.path().join(&file)).unwrap();
    }
    fs::copy(archived("si214").join("ceilings.json"), dir.path().join("ceilings.json")).unwrap();
    for command in ["report", "roofline"] {
        gpp()
            .args([command, "--dir"])
            .arg(dir.path())
            .assert()
            .code(2)
            .stderr(contains("holds profiles of si214 and si510"));
    }
    // A run of another system than the profiles beside it.
    fs::remove_file(dir.path().join("profile-v8.json")).unwrap();
    fs::copy(archived("si510").join("run.json"), dir.path().join("run.json")).unwrap();
    gpp()
        .args(["report", "--dir"])
        .arg(dir.path())
        .assert()
        .code(2)
        .stderr(contains("run.json: is of si510, the profiles beside it are of si214"));
    // Another system's profiles in a folder that has some.
    gpp()
        .args(["profile", "--system", "tiny", "--version", "v0,v5", "--from"])
        .arg(common::repository("tests/data/ncu-2025.3-details.csv"))
        .arg("--dir")
        .arg(dir.path())
        .assert()
        .code(2)
        .stderr(contains("holds profiles of si214; name another with --dir for tiny"));
}

#[test]
fn each_system_has_its_folder() {
    let dir = tempfile::tempdir().unwrap();
    let csv = common::repository("tests/data/ncu-2025.3-details.csv");
    let csv = fs::canonicalize(csv).unwrap();
    let profile = |system: &str| {
        let mut command = gpp();
        command.current_dir(dir.path());
        command.args(["profile", "--version", "v0,v5", "--system", system, "--from"]).arg(&csv);
        command.assert().success();
    };
    profile("tiny");
    assert!(dir.path().join("gpp-profile/tiny/profile-v0.json").exists());
    let ceilings = fs::canonicalize(archived("si214/ceilings.json")).unwrap();
    fs::copy(&ceilings, dir.path().join("gpp-profile/tiny/ceilings.json")).unwrap();
    gpp().current_dir(dir.path()).arg("roofline").assert().success();
    profile("tiny-complex");
    gpp()
        .current_dir(dir.path())
        .arg("roofline")
        .assert()
        .code(2)
        .stderr(contains("--dir gpp-profile/tiny or --dir gpp-profile/tiny-complex"));
}

#[test]
fn counters_of_another_system_or_without_the_version_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let profile = |system: &str, version: &str, csv: &str| {
        let mut command = gpp();
        command.args(["profile", "--system", system, "--version", version, "--from"]);
        command.arg(common::repository(csv)).arg("--dir").arg(dir.path().join("new"));
        let error = command.assert().code(2).get_output().stderr.clone();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        String::from_utf8(error).unwrap()
    };
    let raw = "tests/data/ncu-2025.3-raw.csv";
    assert!(profile("demo", "v0", raw).contains("FLOP a term of demo, its kernels take"));
    let details = "tests/data/ncu-2025.3-details.csv";
    assert!(profile("demo", "v0", details).contains("name the system that the counters are of"));
    assert!(profile("tiny", "v8", details).contains("has no launch of v8"));
    // tiny has real poles.
    let best = ALL[ALL.len() - 1];
    let [of_real, of_any] =
        [Poles::Real, Poles::Any].map(|p| best.kernel(p).entry(2).unwrap().symbol);
    let counters = fs::read_to_string(common::repository(details)).unwrap();
    let counters = counters.replace("gpp_v5", of_any);
    let csv = tempfile::NamedTempFile::new().unwrap();
    fs::write(csv.path(), counters).unwrap();
    let error = profile("tiny", best.id(), csv.path().to_str().unwrap());
    let expected = format!("{} runs kernel `{of_real}` on tiny, the counters are of", best.id());
    assert!(error.contains(&expected) && error.contains(of_any), "{error}");
    // A table that is none is bad input, not a device that failed.
    assert!(profile("tiny", "v0", "tests/data/table1.md").contains("no header row"));
}

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
    full(&[
        "--version",
        "v8",
        "--system",
        "tiny",
        "--device",
        "cpu",
        "--json",
        &text(path.clone()),
    ]);
    assert!(fs::read_to_string(&path).unwrap().contains("\"v8\""));
    let tuned = text(dir.path().join("tuned.json"));
    full(&["tune", "-s", "tiny", "-d", "cpu", "-r", "1", "-j", &tuned]);
    assert!(fs::read_to_string(&tuned).unwrap().contains("\"best\""));
    // And the other way round.
    gpp()
        .args(["--version", "v8", "--system", "tiny", "--device", "cpu", "--json", "/dev/full"])
        .assert()
        .code(2)
        .stdout(contains("v8"))
        .stderr(contains("/dev/full: cannot write: No space left"));
}

/// Runs with standard output on a device without room.
#[cfg(target_os = "linux")]
fn full(arguments: &[&str]) {
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("gpp"))
        .args(arguments)
        .stdout(fs::File::options().write(true).open("/dev/full").unwrap())
        .stderr(std::process::Stdio::piped())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert!(errors.contains("standard output: cannot write: No space left"), "{errors}");
}

/// Runs with standard output on a pipe that nobody reads.
fn closed(arguments: &[&str]) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("gpp"))
        .args(arguments)
        .stdout(writer)
        .stderr(std::process::Stdio::piped())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    assert!(!errors.contains("error"), "{errors}");
}

#[test]
fn standard_output_that_is_full_or_closed() {
    let dir = tempfile::tempdir().unwrap();
    let [page, records, profiles] =
        ["page.html", "charts", "profiles"].map(|name| text(dir.path().join(name)));
    let archive = text(archived("si214-complex"));
    let run = text(archived("si214/run.json"));
    let csv = text(common::repository("tests/data/ncu-2025.3-details.csv"));
    for arguments in [
        &["report", "--dir", &archive, "--output", &page][..],
        &["roofline", "--dir", &archive, "--output", &records],
        &["profile", "--from", &csv, "--system", "tiny", "--dir", &profiles],
        &["table", "--from", &run],
        &["table", "--from", &run, "--format", "csv"],
        &["--version", "v8", "--system", "tiny", "--device", "cpu"],
        &["--version", "v8", "--system", "tiny", "--device", "cpu", "--json", "-"],
        &["info", "--device", "cpu"],
        &["golden", "--system", "tiny"],
        &["list"],
        &["man"],
        &["completions", "bash"],
        &["--help"],
    ] {
        closed(arguments);
        #[cfg(target_os = "linux")]
        full(arguments);
    }
}

/// A write that never ends, where the test below starts it in a process of its own.
#[test]
fn write_until_interrupted() {
    let Some(path) = std::env::var_os("GPP_TEST_WRITE") else { return };
    gpp::process::interrupt::watch().unwrap();
    let _ = gpp::process::output::replace(std::path::Path::new(&path), |file| {
        use std::io::Write;
        file.write_all(b"half")?;
        println!("writing");
        loop {
            std::thread::park();
        }
    });
}

#[cfg(unix)]
#[test]
fn an_interrupted_write_leaves_nothing() {
    use std::io::BufRead;
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "write_until_interrupted", "--nocapture"])
            .env("GPP_TEST_WRITE", dir.path().join("file"))
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("writing")));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        kill(signal, child.id());
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}

#[cfg(unix)]
fn kill(signal: &str, id: u32) {
    let sent = std::process::Command::new("sh")
        .args(["-c", &format!("kill {signal} {id}")])
        .status()
        .unwrap();
    assert!(sent.success());
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

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_is_done() {
    use std::io::{BufRead, Read};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("gpp"))
        .args(["--system", "tiny", "--device", "cpu", "--repeat", "4000", "--json"])
        .arg(&path)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(errors.any(|line| line.unwrap().starts_with("v0 ")));
    kill("-INT", child.id());
    let errors: Vec<String> = errors.map(Result::unwrap).collect();
    let mut table = String::new();
    child.stdout.take().unwrap().read_to_string(&mut table).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(errors.iter().any(|line| line == "interrupted"), "{errors:?}");
    let ran = format!("of {} versions ran", ALL.len());
    assert!(errors.iter().any(|line| line.contains(&ran)), "{errors:?}");
    let last = format!("│ {} ", ALL[ALL.len() - 1].id());
    assert!(table.contains("│ v0 ") && !table.contains(&last), "{table}");
    let document: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(document["complete"], false);
    let results = document["results"].as_array().unwrap();
    assert!((1..ALL.len()).contains(&results.len()));
}

#[test]
fn records_of_another_schema_or_without_results_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    let run: Value =
        serde_json::from_str(&fs::read_to_string(archived("si214/run.json")).unwrap()).unwrap();
    let table = |run: &Value, format: &str| {
        fs::write(&path, run.to_string()).unwrap();
        gpp().args(["table", "--format", format, "--from"]).arg(&path).assert()
    };
    let mut other = run.clone();
    other["schema"] = 2.into();
    table(&other, "csv").code(2).stderr(contains("run.json: needs schema 1, has 2"));
    let mut empty = run.clone();
    empty["results"] = Value::Array(Vec::new());
    table(&empty, "csv").code(2).stderr(contains("the run has no results"));
    let mut unverified = run.clone();
    unverified["results"][4]["verification"]["outcome"] = "not_verified".into();
    for format in ["markdown", "json"] {
        table(&unverified, format)
            .success()
            .stdout(contains("v4: not verified"))
            .stderr(contains("left out of si214 on gpu:0").and(contains("v4: not verified")));
    }
    table(&unverified, "terminal")
        .success()
        .stdout(contains("left out: v4: not verified"))
        .stderr(predicate::str::is_empty());
    let results = unverified["results"].as_array_mut().unwrap();
    results.iter_mut().for_each(|r| r["verification"]["outcome"] = "incorrect".into());
    table(&unverified, "terminal")
        .code(2)
        .stdout(predicate::str::is_empty())
        .stderr(contains("run.json: has no result that passed: v0: incorrect, "));
}

#[test]
fn a_table_of_an_interrupted_run_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    let run = fs::read_to_string(archived("si214/run.json")).unwrap();
    let mut run: Value = serde_json::from_str(&run).unwrap();
    run["complete"] = false.into();
    fs::write(&path, run.to_string()).unwrap();
    let table = |format: &str| {
        gpp().args(["table", "--format", format, "--from"]).arg(&path).assert().success()
    };
    for format in ["terminal", "markdown"] {
        table(format).stdout(contains("the run was interrupted").and(contains("σ")));
    }
    let document: Value =
        serde_json::from_slice(&table("json").get_output().stdout.clone()).unwrap();
    assert_eq!(document["complete"], false);
    assert!(document["rows"][0]["sigma_s"].is_f64());
}

#[cfg(unix)]
#[test]
fn interrupted_tuning_names_no_fastest_shape() {
    use std::io::{BufRead, Read};
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("gpp"))
        .args(["tune", "--system", "tiny", "--device", "cpu", "--repeat", "4000"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut errors = std::io::BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(errors.any(|line| line.unwrap().contains(" ms  passed")));
    kill("-INT", child.id());
    errors.for_each(drop);
    let mut table = String::new();
    child.stdout.take().unwrap().read_to_string(&mut table).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(table.contains("interrupted after 1 of ") && !table.contains("fastest"), "{table}");
    assert!(!table.contains("tuned.json"), "{table}");
}

#[test]
fn figures_are_filled_in_at_the_root() {
    let dir = tempfile::tempdir().unwrap();
    gpp()
        .current_dir(dir.path())
        .args(["figures", "--check"])
        .assert()
        .code(2)
        .stderr(contains("run it from the repository's root"));
}

#[test]
fn flags_without_effect_are_refused_by_name() {
    let run = text(archived("si214/run.json"));
    let csv = text(common::repository("tests/data/ncu-2025.3-raw.csv"));
    let file = text(fixture_path("edge"));
    for (arguments, part) in [
        (&["--version", "v3", "--tile", "2"][..], "--tile: has no effect"),
        (&["--version", "v0-v8", "--warps", "8"], "--warps: has no effect"),
        (&["--version", "v8", "--registers", "64"], "--registers: has no effect"),
        (
            &["--version", "best", "--system", "tiny", "--device", "cpu", "--registers", "64"],
            "--registers: has no effect on a CPU",
        ),
        (&["--input", &file, "--seed", "1"], "--seed"),
        (&["scaling", "--version", "v0,v8"], "--version v0,v8: takes one version"),
        (&["scaling", "--system", "tiny"], "--system"),
        (&["table", "--from", &run, "--version", "v3"], "--version"),
        (&["table", "--from", &run, "--device", "gpu"], "--device"),
        (&["table", "--from", &run, "--repeat", "3"], "--repeat"),
        (&["profile", "--from", &csv, "--device", "gpu"], "--device"),
        (&["profile", "--from", &csv, "--no-lines"], "--no-lines"),
        (&["compare", "--version", "v9"], "the yardstick has no v9"),
    ] {
        gpp().args(arguments).assert().code(2).stderr(contains(part));
    }
}

#[test]
fn outputs_spare_inputs_links_and_permissions() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("in.dat");
    fs::copy(fixture_path("edge"), &input).unwrap();
    let before = fs::read(&input).unwrap();
    gpp()
        .args(["--version", "v8", "--device", "cpu", "--input"])
        .arg(&input)
        .arg("--json")
        .arg(dir.path().join("./in.dat"))
        .assert()
        .code(2)
        .stderr(contains("it is the input"));
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
        // As the umask wants it.
        let usual = dir.path().join("usual");
        fs::write(&usual, "").unwrap();
        assert_eq!(mode(&real), mode(&usual));
        // A file that is replaced stays as private as it was.
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        json(&link);
        assert_eq!(mode(&real) & 0o777, 0o600);
    }
}

// Crashes and exit codes; those of pipes and full devices are above.

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

// Misleading.

#[test]
fn a_cpu_in_place_of_a_gpu_is_explained() {
    for arguments in [&["info"][..], &["--version", "v8", "--system", "tiny", "--repeat", "1"]] {
        let output = gpp().args(arguments).assert().success();
        let output = output.get_output();
        let on_gpu = String::from_utf8_lossy(&output.stdout).contains("gpu:0");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(on_gpu || errors.contains("note: running on the CPU, no GPU to use: "), "{errors}");
    }
}

#[test]
fn commands_for_a_gpu_take_a_small_system_on_a_cpu() {
    gpp()
        .args(["table", "--version", "v12", "--device", "cpu", "--repeat", "1", "--warmup", "0"])
        .assert()
        .success()
        .stdout(contains("demo on cpu").and(contains("V100").or(contains(" 0.00 ")).not()))
        .stderr(contains("note: system demo; si214 takes hours on a CPU"));
}

#[test]
fn help_and_tables_fit_a_narrow_terminal() {
    for arguments in [&["--help"][..], &["table", "--help"], &["profile", "-h"]] {
        let output = gpp().args(arguments).env("COLUMNS", "80").assert().success();
        let help = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    }
    let records = [measured(&[1.0; 8]).1];
    for width in [80, 60, 40] {
        let table = gpp::render::table::results(&records, Some(width));
        assert!(table.contains("median"), "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
    let table = gpp::render::table::results(&records, Some(80));
    assert!(table.contains("not shown in this width: registers"), "{table}");
    let wide = gpp::render::table::results(&records, None);
    assert!(wide.contains("registers") && !wide.contains("not shown"), "{wide}");
}

#[test]
fn tables_name_the_device() {
    let dir = tempfile::tempdir().unwrap();
    let archive = archived("si214/run.json");
    let other = dir.path().join("other.json");
    fs::write(&other, fs::read_to_string(&archive).unwrap().replace("H200", "B200")).unwrap();
    for format in ["terminal", "markdown", "csv", "json"] {
        gpp()
            .args(["table", "--format", format, "--from"])
            .arg(format!("{},{}", archive.display(), other.display()))
            .assert()
            .success()
            .stdout(
                contains("NVIDIA H200").and(contains("NVIDIA B200")).and(contains("other.json")),
            );
    }
}

#[test]
fn usage_errors_lead_to_what_was_meant() {
    let empty = tempfile::tempdir().unwrap();
    let missing = text(empty.path().join("missing"));
    let (archive, run) = (text(archived("si214")), text(archived("si214/run.json")));
    let compared = text(archived("compare.json"));
    for (arguments, part) in [
        (&["--version"][..], "-V prints the program's own"),
        (&["--device", "GPU"], "did you mean `gpu`?"),
        (&["--version", "8"], "did you mean `v8`?"),
        (&["--version", "v8-v0"], "the range runs backwards, v8 comes after v0: write v0-v8"),
        (&["--version", "v0..v8"], "ranges are written with a hyphen: v0-v8"),
        (&["--device", "cuda"], "did you mean `gpu`?"),
        (&["--device", "cuda:1"], "did you mean `gpu:1`?"),
        (&["roofline", "--dir", &archive, "--output", "-"], "--output needs a folder"),
        (&["profile", "--dir", "-"], "--dir needs a folder"),
        (&["table", "--from", &compared], "is no record of a run"),
        (&["roofline", "--dir", &missing], "no such folder"),
        (&["profile", "--operations", &missing], "no such folder"),
        (&["report", "--dir", &archive, "--output", &run], "it is the input"),
        (&["generate", "--system", "tiny", "--output", "-"], "--output needs a file"),
        (&["report", "--dir", &archive, "--output", "-"], "--output needs a file"),
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
fn records_without_ceilings_say_where_to_get_them() {
    let dir = tempfile::tempdir().unwrap();
    gpp()
        .args(["profile", "--version", "v0,v5", "--system", "tiny", "--from"])
        .arg(common::repository("tests/data/ncu-2025.3-details.csv"))
        .arg("--dir")
        .arg(dir.path())
        .assert()
        .success()
        .stderr(contains("`gpp roofline` and `gpp report` need ceilings.json"));
    for command in ["report", "roofline"] {
        gpp()
            .args([command, "--dir"])
            .arg(dir.path())
            .assert()
            .code(2)
            .stderr(contains("ceilings.json: cannot read").and(contains("`gpp profile` measures")));
    }
}

#[test]
fn what_is_printed_can_be_read() {
    gpp()
        .args(["--version", "v0,v3", "--device", "cpu", "--input"])
        .arg(fixture_path("plain"))
        .assert()
        .success()
        .stdout(contains("reference: the sums stored in the input file"))
        .stdout(contains("v0, v3: the reference mini-app's criterion holds: it is absolute, 1e-12"))
        .stdout(contains("TFLOP/s by archived operation counts (hardware counters"))
        .stdout(contains("median [ms]"));
    let quiet = |arguments: &[&str]| {
        let output = gpp().args(arguments).arg("--quiet").assert().success();
        let output = output.get_output().clone();
        assert!(output.stderr.is_empty());
        String::from_utf8(output.stdout).unwrap()
    };
    let small = ["--device", "cpu", "--repeat", "1", "--warmup", "0"];
    let table = ["table", "--system", "tiny", "--version", "v8"];
    assert_eq!(quiet(&[&table[..], &small[..]].concat()), "");
    assert_eq!(quiet(&[&["--system", "tiny", "-v", "v8"][..], &small[..]].concat()), "");
    assert_eq!(quiet(&[&["tune", "--system", "tiny"][..], &small].concat()), "");
    let tune = gpp().args(["tune", "--system", "tiny"]).args(small).assert().success();
    tune.stdout(contains("passed").and(contains("Passed").not()));
}

// Outcomes and records.

/// A device whose runs give these sums in turn.
struct Fake {
    info: gpp::devices::DeviceInfo,
    sums: Vec<f64>,
}

impl gpp::devices::Device for Fake {
    fn info(&self) -> &gpp::devices::DeviceInfo {
        &self.info
    }

    fn kernel(
        &self,
        _: &gpp::kernels::kernel::Kernel,
        _: &gpp::kernels::kernel::Entry,
    ) -> gpp::Result<gpp::devices::KernelInfo> {
        Ok(gpp::devices::KernelInfo {
            registers: Some(64),
            warps_per_sm: Some(32),
            ..Default::default()
        })
    }

    fn load<'a>(
        &'a self,
        problem: &'a gpp::problem::Problem,
    ) -> gpp::Result<Box<dyn gpp::devices::Loaded + 'a>> {
        Ok(Box::new(FakeRun { plan: problem.plan(), nw: problem.nw(), sums: self.sums.iter() }))
    }
}

struct FakeRun<'a> {
    plan: gpp::problem::Planned,
    nw: usize,
    sums: std::slice::Iter<'a, f64>,
}

impl gpp::devices::Loaded for FakeRun<'_> {
    fn plan(&self) -> &gpp::problem::Planned {
        &self.plan
    }

    fn run(&mut self, _: &gpp::kernels::kernel::Gpu) -> gpp::Result<(Sums, f64)> {
        let value = num_complex::Complex64::from(*self.sums.next().unwrap());
        let part = vec![value; self.nw];
        Ok((Sums { asx: part.clone(), ach: part }, 0.1234567))
    }
}

/// A record of runs that give these sums, against a reference of one.
fn measured(sums: &[f64]) -> (gpp::problem::Problem, Record) {
    let problem = fixture("plain");
    let one = vec![num_complex::Complex64::from(1.0); problem.nw()];
    let sums_of_one = problem.start.plus(&Sums { asx: one.clone(), ach: one });
    let golden = gpp::reference::Source::Golden;
    let reference = gpp::reference::Reference::new(sums_of_one, golden, common::QUIET);
    let info = gpp::devices::emulator::Emulator::new();
    let fake = Fake { info: gpp::devices::Device::info(&info).clone(), sums: sums.to_vec() };
    let record = measure(
        ALL[0],
        &fake,
        gpp::devices::Device::load(&fake, &problem).unwrap().as_mut(),
        &problem,
        Some(&reference),
        Repetition { warmup: 0, repeat: sums.len() },
        || (),
    );
    (problem, record.unwrap())
}

#[test]
fn runs_that_differ_in_a_bit_have_not_passed() {
    let near = 1.0 + f64::EPSILON;
    for (sums, outcome) in [
        ([1.0, 1.0, 1.0], Outcome::Passed),
        ([1.0, near, 1.0], Outcome::Nondeterministic),
        ([1.0, 1.0, near], Outcome::Nondeterministic),
        ([1.0, 1.0, 2.0], Outcome::Incorrect),
    ] {
        let (problem, record) = measured(&sums);
        assert_eq!(record.verification.outcome, outcome, "{sums:?}");
        let passed =
            gpp::cli::exit_code(std::slice::from_ref(&record)) == std::process::ExitCode::SUCCESS;
        assert_eq!(passed, outcome == Outcome::Passed);
        let table = gpp::render::table::results(std::slice::from_ref(&record), None);
        assert_eq!(table.contains("BITS DIFFER"), outcome == Outcome::Nondeterministic);
        let info = gpp::devices::emulator::Emulator::new();
        let repetition = Repetition { warmup: 0, repeat: 3 };
        let info = gpp::devices::Device::info(&info);
        let mut run = gpp::record::run::Run::new(info, &problem, repetition);
        run.records.push(record);
        let outcome = &run.document(true)["results"][0]["verification"]["outcome"];
        assert_eq!(outcome == "nondeterministic", table.contains("BITS DIFFER"));
    }
}

#[test]
fn spread_and_outliers() {
    let times = Times::of(vec![1.0, 1.01, 0.99, 1.0, 2.0]);
    assert_eq!(times.outliers(), 1);
    assert!((times.relative_spread() - 1.01).abs() < 1e-12);
    assert!((times.sigma().unwrap() - 0.4473).abs() < 1e-3);
    assert_eq!(Times::of(vec![1.0, 1.2, 1.4, 1.6]).outliers(), 0);
    // A tenth of a millisecond is no sign of anything.
    assert_eq!(Times::of(vec![1e-5, 1e-5, 1e-5, 1e-4]).outliers(), 0);
    assert_eq!((Times::of(vec![1.0]).sigma(), Times::of(vec![1.0]).outliers()), (None, 0));
}

#[test]
fn json_tells_where_it_comes_from() {
    let document = json(&["--version", "best", "--system", "tiny", "--seed", "3"]);
    let provenance = &document["provenance"];
    assert_eq!((&provenance["seed"], &provenance["warmup"]), (&Value::from(3), &Value::from(0)));
    assert_eq!((&provenance["repeat"], &provenance["input"]), (&Value::from(2), &Value::Null));
    let date = provenance["date"].as_str().unwrap();
    assert!(date.len() == 20 && date.ends_with('Z') && date.as_bytes()[10] == b'T', "{date}");
    for field in ["host", "commit", "kernels_by", "program_by", "driver"] {
        let value = &provenance.as_object().unwrap()[field];
        assert!(value.is_null() || value.is_string(), "{field}: {value}");
    }
    let result = &document["results"][0];
    assert!(result["shape"]["tile"].is_u64() && result["shape"]["warps"].is_u64());
    assert!(result["spread"]["sigma_s"].is_f64() && result["spread"]["outliers"].is_u64());
    let file = text(fixture_path("edge"));
    let document = json(&["--version", "v0", "--input", &file]);
    assert_eq!(document["provenance"]["input"], *file);
    assert!(document["provenance"]["seed"].is_null() && document["results"][0]["shape"].is_null());
    let table = ["table", "-s", "tiny", "-d", "cpu", "-r", "1", "-v", "v0", "--format", "json"];
    let output = gpp().args(table).assert().success();
    let document: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert!(document["runs"][0]["provenance"].as_object().unwrap().contains_key("kernels_by"));
    for arguments in [&["info", "--device", "cpu", "--json"][..], &["list", "--json"]] {
        let output = gpp().args(arguments).assert().success();
        let document: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
        assert_eq!(document["schema"], 1);
    }
}

// What users would miss.

#[test]
fn lists_completions_and_a_manual() {
    let mut assert = gpp().arg("list").assert().success();
    for name in ["v0", "v13", "si510-complex", "small enough for two CPU cores"] {
        assert = assert.stdout(contains(name));
    }
    for shell in ["bash", "zsh", "fish"] {
        gpp().args(["completions", shell]).assert().success().stdout(contains("scaling"));
    }
    gpp()
        .arg("man")
        .assert()
        .success()
        .stdout(contains(".TH gpp").and(contains("GPP PROFILE")).and(contains("\\-\\-repeat")));
    gpp()
        .arg("--help")
        .assert()
        .success()
        .stdout(contains("best or all").and(contains("v0-v8")).and(contains("Examples:")));
}

#[test]
fn ranges_short_flags_and_files_for_every_measuring_command() {
    let document = json(&["-v", "v1-v3,best", "-s", "tiny"]);
    let ids: Vec<&str> = document["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["version"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["v1", "v2", "v3", ALL[ALL.len() - 1].id()]);
    let file = text(fixture_path("plain"));
    let small = ["-d", "cpu", "-r", "1", "-w", "0"];
    gpp().args(["table", "-v", "v0", "-i", &file]).args(small).assert().success();
    let output = gpp().args(["tune", "-i", &file, "-j", "-"]).args(small).assert().success();
    let document: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert!(document["results"].as_array().unwrap().len() > 2);
    assert_eq!(document["provenance"]["input"], *file);
    gpp()
        .args(["tune", "-i", &file])
        .args(small)
        .assert()
        .success()
        .stdout(contains("fastest: gpp "));
    gpp().args(["compare", "-i", &file, "-d", "cpu"]).assert().code(3);
    // The counters are not of this file.
    gpp()
        .args(["profile", "-i", &file, "--from"])
        .arg(common::repository("tests/data/ncu-2025.3-raw.csv"))
        .assert()
        .code(2)
        .stderr(contains("FLOP a term of"));
}

#[test]
fn rows_are_said_as_they_finish() {
    gpp()
        .args(["-v", "v0,v8", "-s", "tiny", "-d", "cpu"])
        .assert()
        .success()
        .stderr(contains("v0 ").and(contains("v8 ")).and(contains(" ms  passed")));
}
