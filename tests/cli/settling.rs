//! How often and how long versions run.

use crate::gpp;
use predicates::prelude::*;
use predicates::str::contains;

const FAST: [&str; 4] = ["--version", "cpu:threads", "--system", "tiny"];

fn samples(flags: &[&str]) -> (usize, serde_json::Value) {
    let output = gpp().args(FAST).args(["--device", "cpu", "--json", "-"]).args(flags).assert();
    let record: serde_json::Value =
        serde_json::from_slice(&output.success().get_output().stdout).unwrap();
    let samples = record["results"][0]["time_s"]["samples"].as_array().unwrap().len();
    (samples, record["provenance"].clone())
}

#[test]
fn nothing_settles_on_a_cpu_unless_it_is_said() {
    let (count, provenance) = samples(&["--repeat", "3", "--warmup", "0"]);
    assert_eq!((count, provenance["settle_s"].as_f64()), (3, Some(0.0)));
    let (count, provenance) = samples(&["--repeat", "1", "--settle", "0.5"]);
    assert!((2..=200).contains(&count), "{count} samples");
    assert_eq!(provenance["settle_s"], 0.5);
    assert_eq!(provenance["repeat"], 1);
}

#[test]
fn what_was_not_measured_has_no_column() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run.json");
    gpp()
        .args(FAST)
        .args(["--device", "cpu", "--repeat", "6", "--json"])
        .arg(&run)
        .assert()
        .success();
    let shown = contains("95 % interval").and(contains("SM [MHz]").not());
    gpp().args(["table", "--from"]).arg(&run).assert().success().stdout(shown);
}
