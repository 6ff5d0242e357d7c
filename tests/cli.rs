//! The program end to end: what it prints, writes and exits with.

mod common;

use std::fs;

use assert_cmd::Command;
use common::{FIXTURES, fixture, fixture_path};
use gpp::kernels::registry::VERSIONS;
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
    assert_eq!(results.len(), VERSIONS.len());
    for (result, version) in results.iter().zip(VERSIONS) {
        assert_eq!(result["version"], version.id);
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
        .stdout(contains("v3: the reference mini-app's 1e-12 holds"));
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
        .stderr(predicate::str::is_empty());
    let document: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(document["results"].as_array().unwrap().len(), 2);
    gpp()
        .args(["--version", "v0", "--system", "tiny", "--device", "cpu", "--quiet"])
        .assert()
        .success()
        .stdout(predicate::str::is_empty());
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
    for body in VERSIONS.iter().flat_map(|version| version.all_bodies()) {
        assert = assert.stdout(contains(body.symbol));
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
        .args(["tune", "--system", "tiny", "--device", "cpu", "--repeat", "1", "--quiet"])
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
        .stderr(contains("unknown tile `9 × 8 warps`: did you mean"));
}
