//! Devices that are not there or not fit for what is asked.

use crate::gpp;
use gpp::catalogue::{BackEnd, JOURNEYS, best};
use predicates::str::contains;
use serde_json::Value;

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
    assert_eq!(series.len(), JOURNEYS.len());
    for (listed, own) in series.iter().zip(JOURNEYS) {
        assert_eq!((&listed["id"], &listed["source"]), (&own.id.into(), &own.source.into()));
        assert_eq!(
            (&listed["versions"][0], &listed["baseline"]),
            (&own.ids()[0].into(), &own.baseline.into())
        );
        assert_eq!(
            (&listed["best"], &listed["condition"]),
            (&own.best.into(), &own.condition.into())
        );
    }
    let of_gpu = listing["best"][0]["version"].as_str().unwrap();
    assert_eq!(of_gpu, best(BackEnd::Gpu).id());
    let text = gpp().arg("list").assert().success();
    let conditions = JOURNEYS.iter().map(|series| series.condition);
    conditions.fold(text, |text, condition| text.stdout(contains(condition)));

    let small = ["--system", "tiny", "--repeat", "1", "--warmup", "0", "--json", "-"];
    let ran = gpp().args(["-v", "best", "-d", "cpu"]).args(small).assert().success();
    let record: Value = serde_json::from_slice(&ran.get_output().stdout).unwrap();
    assert_eq!(record["results"][0]["version"], "cpu:paired");
}
