//! What a run, and what belongs to one, prints and writes.

use std::fs;

use crate::common::{fixture_path, place};
use crate::{archived, gpp, json, parsed, text};
use gpp::catalogue::{self, BackEnd, Version};
use gpp::record;
use gpp::record::run::RunRecord;
use gpp::reference::Outcome;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

#[test]
fn every_version_is_recorded() {
    let document = json(&["--version", "all", "--system", "tiny"]);
    assert_eq!(document["schema"], record::SCHEMA);
    assert_eq!(document["device"]["id"], "cpu");
    let system = &document["system"];
    let sizes = ["nbands", "nvband", "ngpown", "ncouls", "nstart", "nend"];
    assert_eq!(sizes.map(|name| system[name].as_u64().unwrap()), [21, 11, 8, 67, 2, 3]);
    assert_eq!(system["name"], "tiny");
    let results = document["results"].as_array().unwrap();
    let mut versions: Vec<Version> = catalogue::versions().collect();
    versions.sort_by_key(|listed| listed.back_end() != BackEnd::Cpu);
    assert_eq!(results.len(), versions.len());
    for (result, listed) in results.iter().zip(versions) {
        assert_eq!(result["version"], listed.id());
        let for_gpus = listed.gpu().is_some();
        assert_eq!(result["emulated"], for_gpus);
        for field in ["kernel", "threads_per_block", "blocks", "simd", "threads"] {
            let is_of_cpus = ["simd", "threads"].contains(&field);
            assert_eq!(result[field].is_null(), is_of_cpus == for_gpus, "{field}");
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
        assert!(error <= tolerance && tolerance < if listed.is_single() { 1e-3 } else { 1e-10 });
    }
}

#[test]
fn another_seed_is_verified_serially_and_gives_other_sums() {
    let run = |seed: &str| json(&["--version", "v8", "--system", "tiny", "--seed", seed]);
    let [one, again, other] = ["1", "1", "2"].map(|seed| run(seed)["results"][0].clone());
    assert_eq!(one["asx"], again["asx"]);
    assert_ne!(one["asx"], other["asx"]);
    let verified = [&one, &other].map(|result| &result["verification"]);
    assert!(verified.iter().all(|of| of["outcome"] == "passed" && of["reference"] == "serial"));
}

#[test]
fn wrong_reference_sums_exit_with_1() {
    let (_dir, path) = place("wrong.dat");
    let mut bytes = fs::read(fixture_path("plain")).unwrap();
    // asxtempref(2): one record of 56 bytes before the end, its second element.
    let at = bytes.len() - 2 * 56 + 4 + 16;
    let value = f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    bytes[at..at + 8].copy_from_slice(&(value * (1.0 + 1e-9)).to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let run = gpp().args(["-v", "v5", "-d", "cpu", "-i"]).arg(&path).assert().code(1);
    run.stdout(contains("INCORRECT"))
        .stderr(contains("v5: incorrect: SX − X at energy 1 of 2 (+0 eV "));
}

#[test]
fn json_tells_where_it_comes_from() {
    let document = json(&["--version", "new:best", "--system", "tiny", "--seed", "3"]);
    let provenance = &document["provenance"];
    assert_eq!((&provenance["seed"], &provenance["warmup"]), (&Value::from(3), &Value::from(0)));
    assert_eq!((&provenance["repeat"], &provenance["input"]), (&Value::from(2), &Value::Null));
    let date = provenance["date"].as_str().unwrap();
    assert!(date.len() == 20 && date.ends_with('Z') && date.as_bytes()[10] == b'T', "{date}");
    for field in ["host", "commit", "kernels_by", "program_by", "driver"] {
        let value = &provenance.as_object().unwrap()[field];
        assert!(value.is_null() || value.is_string(), "{field}: {value}");
    }
    // Emulated versions and others run differently often where nothing is said of it.
    let often = |versions: &str| {
        let run = ["-v", versions, "-s", "tiny", "-d", "cpu", "--quiet", "-j", "-"];
        let run = parsed(gpp().args(run));
        let samples = |result: &Value| result["time_s"]["samples"].as_array().unwrap().len();
        let counts: Vec<usize> = run["results"].as_array().unwrap().iter().map(samples).collect();
        (run["provenance"]["warmup"].clone(), run["provenance"]["repeat"].clone(), counts)
    };
    assert_eq!(often("v8"), (0.into(), 1.into(), vec![1]));
    assert_eq!(often("cpu:simd"), (1.into(), 5.into(), vec![5]));
    let file = text(fixture_path("edge"));
    let document = json(&["--version", "v0", "--input", &file]);
    assert_eq!(document["provenance"]["input"], *file);
    assert!(document["provenance"]["seed"].is_null());
}

#[test]
fn what_is_printed_can_be_read() {
    let run = gpp().args(["-v", "v0,v3", "-d", "cpu", "-i"]).arg(fixture_path("plain")).assert();
    run.success()
        .stdout(contains("All 2 results agree with the reference values in the input file"))
        .stdout(contains("time [").and(contains(" eV from the state's energy")));
    let small = ["--device", "cpu", "--repeat", "1", "--warmup", "0"];
    let run = ["--system", "tiny", "-v", "v8"];
    gpp().args(run).args(small).arg("--quiet").assert().success().stdout("").stderr("");
    let run = gpp().args(run).args(small).assert().success();
    run.stdout(contains("The result agrees").and(contains("Fastest").not()));
}

#[test]
fn only_what_passed_exits_with_0() {
    let run: RunRecord = record::read(&archived("si214/run.json")).unwrap();
    let mut results = [run.results[0].clone()];
    use Outcome::*;
    for outcome in [Passed, Incorrect, NotVerified, Nondeterministic] {
        results[0].verification.outcome = outcome;
        let passed = outcome == Passed;
        for (no_verify, succeeds) in [(false, passed), (true, passed || outcome == NotVerified)] {
            let found = gpp::run::reported(&results, no_verify);
            assert_eq!(found, succeeds, "{outcome:?} {no_verify}");
        }
        let table = gpp::summary::results_table(&results, None).rows.concat();
        assert_eq!(table.contains(&"BITS DIFFER".into()), outcome == Nondeterministic);
    }
}

/// In any unit of vcoul, and at energies that rounding has left off their decimals.
#[test]
fn numbers_are_shown_in_their_digits() {
    let mut run: RunRecord = record::read(&archived("si214/run.json")).unwrap();
    run.results.truncate(2);
    run.system.energies_ev = vec![-4.6390400000000005, 1.0];
    for result in &mut run.results {
        result.verification.real_parts = true;
        result.sums.asx.iter_mut().for_each(|sum| *sum *= 1e-12);
        result.sums.ach.iter_mut().for_each(|sum| *sum *= 1e30);
    }
    let mut text = Vec::new();
    gpp::summary::run_text(&mut text, &run).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("energies -4.63904, +1 eV from the state's energy"), "{text}");
    let sums = text.lines().filter(|line| line.starts_with("│  "));
    let is_short = |line: &str| line.contains("e3") && line.chars().count() <= 80;
    assert!(sums.map(is_short).eq([true; 2]), "{text}");
    // A remark that holds for both stands there once.
    let remark = "v0, v1: passed; only real parts compared: the reference values have no imaginary";
    assert_eq!(text.matches("only real parts compared").count(), 1);
    assert!(text.contains(&format!("\n{remark} parts.\n")), "{text}");
}

#[test]
fn a_table_has_what_did_not_pass_too() {
    let (_dir, path) = place("run.json");
    let run = fs::read_to_string(archived("si214/run.json")).unwrap();
    let mut run: Value = serde_json::from_str(&run).unwrap();
    run["results"][4]["verification"]["outcome"] = "not_verified".into();
    run["complete"] = false.into();
    fs::write(&path, run.to_string()).unwrap();
    let said = contains("┆ not verified ┆").count(1).and(contains("The run was interrupted"));
    gpp().args(["table", "--from"]).arg(&path).assert().success().stdout(said).stderr("");
}
