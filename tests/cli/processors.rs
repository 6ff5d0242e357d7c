//! What a CPU runs by default, its vectors, and what is emulated on it.

use crate::{gpp, json};
use gpp::catalogue;
use gpp_cpu::simd::Level;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

#[test]
fn a_cpu_runs_its_own_versions() {
    let document = json(&["--system", "tiny"]);
    let results = document["results"].as_array().unwrap();
    let ids: Vec<&str> = results.iter().map(|own| own["version"].as_str().unwrap()).collect();
    assert_eq!(ids, catalogue::journey("cpu").unwrap().ids());
    assert_eq!(results[0]["emulated"], false);
    assert_eq!(results[1]["simd"], Level::best().name());
    assert!(results[0]["threads"]["count"].as_u64().unwrap() >= 1);
}

#[test]
fn each_level_of_vectors_is_used_when_asked_for() {
    for level in Level::ALL {
        let asked = ["--system", "tiny", "-v", "cpu:simd", "--simd", level.name()];
        if level.is_available() {
            assert_eq!(json(&asked)["results"][0]["simd"], level.name());
        } else {
            gpp().args(asked).assert().code(2).stderr(contains("[possible values: scalar"));
        }
    }
}

#[test]
fn what_is_emulated_says_so() {
    let ran = ["-v", "v3,cpu:best", "-s", "tiny", "-d", "cpu"];
    let output = gpp().args(ran).assert().success();
    let printed = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    let marked: Vec<&str> = printed.lines().filter(|line| line.contains("emulated")).collect();
    assert!(marked.len() == 1 && marked[0].contains("v3, emulated"), "{printed}");
}

/// Without arguments and a GPU: the versions for CPUs, the fastest, and Σ by it.
#[test]
fn without_arguments_a_cpu_shows_its_versions() {
    let output = gpp().env("CUDA_VISIBLE_DEVICES", "").assert().success();
    let printed = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    for id in catalogue::journey("cpu").unwrap().ids() {
        assert!(printed.contains(&format!("│ {id}")), "{id} is not in {printed}");
    }
    let fastest = ["Fastest: cpu:", "times as fast as cpu:threads"];
    for part in fastest.into_iter().chain(["; synthetic", "results agree", "SX − X", "Next: "]) {
        assert!(printed.contains(part), "{part} is not in {printed}");
    }
    assert!(!printed.contains("emulated"), "{printed}");
}

#[test]
fn versions_made_for_processors_run_there_only() {
    // Said before any GPU is looked for.
    for arguments in [&["-v", "cpu:best"][..], &["-v", "v0,cpu:threads"]] {
        let run = gpp().args(arguments).args(["-d", "gpu", "-s", "tiny"]).assert().code(2);
        run.stderr(contains("cpu:").and(contains("is made for processors: --device cpu runs it")));
    }
    // Where the device is left open nothing is said of a GPU.
    let left_open = gpp().args(["-v", "cpu", "-s", "tiny"]).assert().success();
    left_open.stdout(contains("on cpu: ")).stderr(contains("no GPU").not());
}

#[test]
fn info_tells_what_a_processor_has() {
    let output = gpp().args(["info", "--device", "cpu", "--json"]).assert().success();
    let info: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let processor = &info["processor"];
    let [cores, threads] = ["cores", "threads"].map(|field| processor[field].as_u64().unwrap());
    assert!(1 <= cores && cores <= threads);
    let levels = processor["levels"].as_array().unwrap();
    let levels: Vec<&str> = levels.iter().map(|level| level.as_str().unwrap()).collect();
    assert_eq!(levels[0], "scalar");
    assert_eq!(processor["level"], *levels.last().unwrap());
    let text = gpp().args(["info", "-d", "cpu", "--simd", "scalar"]).assert().success();
    text.stdout(contains(format!("scalar of {}", levels.join(", "))).and(contains("cores")));
}
