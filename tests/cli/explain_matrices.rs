//! `gpp explain` and `gpp diff` of the versions of Σ as a matrix.

use crate::gpp;
use gpp_core::offdiag::versions::ALL;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

#[test]
fn every_version_has_a_card() {
    let command = gpp().args(["explain", "offdiag", "--json", "-"]).assert().success();
    let document: Value = serde_json::from_slice(&command.get_output().stdout).unwrap();
    let cards = document["cards"].as_array().unwrap();
    assert_eq!(cards.len(), ALL.len());
    for (card, version) in cards.iter().zip(ALL) {
        assert_eq!(
            (card["version"].as_str(), card["before"].as_str()),
            (Some(version.id), version.from)
        );
        assert_eq!(card["difference"].is_null(), version.from.is_none());
        let rows = card["rows"].as_array().unwrap();
        let threads = rows.iter().find(|row| row["name"] == "threads of a block").unwrap();
        assert_eq!(threads["now"], f64::from(version.tile_u.threads()));
    }
}

#[test]
fn a_difference_may_be_of_any_two() {
    let diff = |arguments: &[&str]| gpp().arg("diff").args(arguments).assert();
    diff(&["vector", "wide"])
        .success()
        .stdout(contains("wide against vector: ").and(contains("more lines").not()));
    let wrong =
        |arguments: &[&str], said: &str| diff(arguments).code(2).stderr(contains(said.to_string()));
    wrong(&["rung", "wide"], "unknown version `rung`");
    wrong(&["ring", "v4"], "ring and v4: ring is a version of Σ as a matrix and v4 is not");
    let found = format!("diff offdiag ring: needs two versions, found {}", ALL.len());
    wrong(&["offdiag", "ring"], &found);
    let run = ["--device", "cpu", "-s", "tiny", "--version", "ring"];
    let typed = "--version ring: is a version of Σ as a matrix: type `gpp offdiag --version ring`";
    gpp().args(run).assert().code(2).stderr(contains(typed));
}
