//! What a CPU runs by default, its vectors and threads, what is emulated on it, and the best version of each device.

use crate::{gpp, json};
use gpp::catalogue::{self, BackEnd, SERIES, best};
use gpp_cpu::simd::Level;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

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

#[test]
fn without_arguments_a_cpu_shows_its_versions() {
    let output = gpp().env("CUDA_VISIBLE_DEVICES", "").assert().success();
    let printed = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    for id in catalogue::series("cpu").unwrap().ids() {
        assert!(printed.contains(&format!("│ {id}")), "{id} is not in {printed}");
    }
    let fastest = ["Fastest: cpu:", "times as fast as cpu:threads"];
    for part in fastest.into_iter().chain(["; synthetic", "results agree", "SX − X", "Next: "]) {
        assert!(printed.contains(part), "{part} is not in {printed}");
    }
    assert!(!printed.contains("emulated"), "{printed}");
}

#[test]
fn versions_for_cpus_run_there_only() {
    // Said before any GPU is looked for.
    for arguments in [&["-v", "cpu:best"][..], &["-v", "v0,cpu:threads"]] {
        let run = gpp().args(arguments).args(["-d", "gpu", "-s", "tiny"]).assert().code(2);
        run.stderr(contains("cpu:").and(contains("runs on CPUs only: use --device cpu")));
    }
    let left_open = gpp().args(["-v", "cpu", "-s", "tiny"]).assert().success();
    left_open.stdout(contains("on cpu: ")).stderr(contains("no GPU").not());
}

#[test]
fn info_has_the_cpu() {
    let output = gpp().args(["info", "--device", "cpu", "--json"]).assert().success();
    let info: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let cpu = &info["processor"];
    let [cores, threads] = ["cores", "threads"].map(|field| cpu[field].as_u64().unwrap());
    assert!(1 <= cores && cores <= threads);
    let levels = cpu["levels"].as_array().unwrap();
    let levels: Vec<&str> = levels.iter().map(|level| level.as_str().unwrap()).collect();
    assert_eq!(levels[0], "scalar");
    assert_eq!(cpu["level"], *levels.last().unwrap());
    let text = gpp().args(["info", "-d", "cpu", "--simd", "scalar"]).assert().success();
    text.stdout(contains(format!("scalar of {}", levels.join(", "))).and(contains("cores")));
}

#[test]
fn a_cpu_in_place_of_a_gpu_is_explained() {
    for arguments in [&["info"][..], &["--version", "v8", "--system", "tiny", "--repeat", "1"]] {
        let output = gpp().args(arguments).assert().success();
        let output = output.get_output();
        let on_gpu = String::from_utf8_lossy(&output.stdout).contains("gpu:0");
        let errors = String::from_utf8_lossy(&output.stderr);
        let said = "note: no GPU found: running on the CPU (`gpp info` says why)";
        let why = String::from_utf8_lossy(&output.stdout).contains("no GPU              ");
        assert!(on_gpu || errors.contains(said) != why, "{errors}");
    }
}

#[test]
fn the_best_version_is_told_for_each_back_end() {
    let output = gpp().args(["list", "--json"]).assert().success();
    let listing: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let series = listing["series"].as_array().unwrap();
    assert_eq!(series.len(), SERIES.len());
    for (listed, own) in series.iter().zip(SERIES) {
        let fields = ["id", "source", "baseline", "best", "condition"].map(|name| &listed[name]);
        let expected = [own.id, own.source, own.baseline, own.best, own.condition];
        assert_eq!(fields, expected.map(Value::from).each_ref());
        assert_eq!(listed["versions"][0], own.ids()[0]);
    }
    let of_gpu = listing["best"][0]["version"].as_str().unwrap();
    assert_eq!(of_gpu, best(BackEnd::Gpu).id());
    let text = gpp().arg("list").assert().success();
    let conditions = SERIES.iter().map(|series| series.condition);
    conditions.fold(text, |text, condition| text.stdout(contains(condition)));
}

fn document(arguments: &[&str], asked: Option<&str>) -> Value {
    let mut command = gpp();
    command.env_remove("OMP_NUM_THREADS").envs(asked.map(|list| ("OMP_NUM_THREADS", list)));
    let output = command.args(arguments).args(["-d", "cpu", "--json", "-"]).assert().success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

#[test]
fn the_flag_comes_before_the_environment_and_that_before_the_machine() {
    let info = |flag: &[&str], asked| {
        let document = document(&[&["info"], flag].concat(), asked);
        let cpu = &document["processor"];
        let [cores, threads] = ["cores", "threads"].map(|name| cpu[name].as_u64().unwrap());
        (cores, threads, cpu["threads_by"].as_str().map(str::to_string))
    };
    let by = |name: &str| Some(name.to_string());
    let machine = info(&[], None);
    assert!(machine.2.is_none());
    assert_eq!(info(&[], Some("5")), (5, 5, by("OMP_NUM_THREADS")));
    assert_eq!(info(&["--threads", "3"], Some("5")), (3, 3, by("--threads")));
    assert_eq!(info(&[], Some("many")), machine);
    let text = gpp().env("OMP_NUM_THREADS", "5").args(["info", "-d", "cpu"]).assert().success();
    text.stdout(contains("5 threads, by OMP_NUM_THREADS"));
}

#[test]
fn runs_have_the_threads_asked_for() {
    for (flag, asked, count) in [
        (&["--threads", "2"][..], None, 2),
        (&["--threads", "3"], Some("1"), 3),
        (&[], Some("3"), 3),
    ] {
        let run = ["-v", "cpu", "-s", "tiny", "--repeat", "1"];
        let document = document(&[&run, flag].concat(), asked);
        let results = document["results"].as_array().unwrap();
        assert!(results.len() > 2 && results.iter().all(|of| of["threads"]["count"] == count));
    }
}
