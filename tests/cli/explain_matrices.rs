//! `gpp explain` of the versions of Σ as a matrix.

use std::fs;

use crate::{common, gpp, text};
use gpp_core::offdiag::versions::ALL;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

fn records() -> String {
    text(common::repository("data/runs/h200-2026-11-23/offdiag"))
}

fn cards(arguments: &[&str]) -> Vec<Value> {
    let command = gpp().arg("explain").args(arguments).args(["--json", "-"]).assert();
    let cards: Value = serde_json::from_slice(&command.success().get_output().stdout).unwrap();
    cards["cards"].as_array().unwrap().clone()
}

fn now(card: &Value, name: &str) -> Option<f64> {
    let rows = card["rows"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name)?["now"].as_f64()
}

fn said(card: &Value) -> String {
    let all = card["verdict"].as_array().unwrap().iter();
    all.map(|said| said["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_version_has_a_card() {
    let all = cards(&["--journey", "offdiag", "--from", &records()]);
    assert_eq!(all, cards(&["offdiag", "--from", &records()]));
    assert_eq!(all.len(), ALL.len());
    for (at, (card, version)) in all.iter().zip(ALL).enumerate() {
        let id = version.id;
        assert_eq!(
            (card["version"].as_str(), card["journey"].as_str()),
            (Some(id), Some("offdiag"))
        );
        assert_eq!(card["before"].as_str(), version.from);
        let is_earlier = |from: &str| ALL[..at].iter().any(|version| version.id == from);
        assert!(version.from.is_none_or(is_earlier), "{id}");
        assert_eq!(card["difference"].is_null(), at == 0);
        if let Some(hunks) = card["difference"]["hunks"].as_array() {
            assert!(!hunks.is_empty(), "{id}");
            let all = hunks.iter().flat_map(|hunk| hunk["lines"].as_array().unwrap());
            let has = |file: &str| all.clone().any(|line| line["file"] == file);
            assert!(has(&format!("kernels/src/offdiag/versions.rs#{id}")), "{id}");
        }
        for name in ["time", "clock", "power", "energy", "rate", "busiest pipe", "issue slots"] {
            assert!(now(card, name).unwrap() > 0.0, "{id}: {name}");
        }
        assert_eq!(now(card, "threads of a block"), Some(f64::from(version.tile_u.threads())));
        assert!(said(card).contains(" pipe "), "{id}: {}", said(card));
    }
    let of = |id: &str| said(all.iter().find(|card| card["version"] == id).unwrap());
    assert!(of("vector").contains("The pipe of loads and shuffles is full"), "{}", of("vector"));
    assert!(of("m16n8k8").contains("W cap lowers the clock"), "{}", of("m16n8k8"));
    assert!(
        of("wide").contains("Warps spill: 46.9 · 10⁶ requests of local memory"),
        "{}",
        of("wide")
    );
    let why = "13 % less time: the first product takes 16 % fewer cycles, from 18 % fewer instructions.\n";
    assert!(of("wide").starts_with(why), "{}", of("wide"));
    assert!(all.iter().all(|card| now(card, "cycles").is_none()));
    assert!(all.iter().all(|card| now(card, "cycles of the first product").unwrap() > 1.0));
    assert!(!of("ring").contains("Warps spill"), "{}", of("ring"));
}

#[test]
fn a_card_says_what_changed_without_records_too() {
    let card = |arguments: &[&str]| gpp().arg("explain").args(arguments).assert().success();
    card(&["ring", "wide", "--from", &records()])
        .stdout(contains("ring against m16n8k8: bulk copies").and(contains("wide against ring: ")))
        .stdout(contains(
            "+     const FIRST: Tile = Tile { m: 4, n: 2, across: 2, along: 4, deep: 1 };",
        ))
        .stdout(contains("si214, 128 bands, on NVIDIA H200:").and(contains("% less time: ")));
    card(&["wide"])
        .stdout(
            contains("nothing measured: `gpp offdiag --version all").and(contains("TFLOP").not()),
        )
        .stdout(contains("l of a block").and(contains("less time").not()));
    assert!(cards(&["wide"])[0]["figures"].is_null());
    // A record is a file as well. The counters beside it are of another: there is nothing of pipes.
    let alone = |name: &str| format!("{}/{name}", records());
    let card = &cards(&["ring", "--from", &alone("si214-128.json")])[0];
    assert!(
        said(card).contains("fewer cycles") && !said(card).contains(" pipe "),
        "{}",
        said(card)
    );
}

#[test]
fn a_record_of_one_version_has_a_card_against_the_one_before() {
    let one = format!("{}/si214-96.json", records());
    let found = cards(&["offdiag", "--from", &one]);
    assert_eq!(found, cards(&["m16n8k16", "--from", &one]));
    let [card] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        (card["version"].as_str(), card["before"].as_str()),
        (Some("m16n8k16"), Some("ring"))
    );
    assert!(card["difference"]["added"].as_u64().unwrap() > 0);
    let time = card["rows"].as_array().unwrap().iter().find(|row| row["name"] == "time").unwrap();
    assert!(time["before"].is_null() && time["now"].as_f64().unwrap() > 500.0);
    assert_eq!(now(card, "busiest pipe"), None);
}

#[test]
fn a_difference_may_be_of_any_two() {
    let diff = |arguments: &[&str]| gpp().arg("diff").args(arguments).assert();
    diff(&["vector", "wide", "--from", &records()])
        .success()
        .stdout(contains("wide against vector: ").and(contains("more lines").not()))
        .stdout(contains("fewer cycles").and(contains("The sums take 192").not()));
    diff(&["ring", "wide"]).success().stdout(contains("nothing measured"));
    let wrong =
        |arguments: &[&str], said: &str| diff(arguments).code(2).stderr(contains(said.to_string()));
    wrong(&["rung", "wide"], "unknown version `rung`: did you mean `ring`?");
    wrong(&["ring", "v4"], "ring and v4: ring is of Σ as a matrix, v4 is not");
    wrong(&["offdiag", "ring"], "diff offdiag ring: takes two versions, not 7");
    let run = ["--device", "cpu", "-s", "tiny", "--version", "ring"];
    let typed = "--version ring: is a version of Σ as a matrix: type `gpp offdiag --version ring`";
    gpp().args(run).assert().code(2).stderr(contains(typed));
}

#[test]
fn a_page_may_be_of_matrices_alone() {
    let dir = tempfile::tempdir().unwrap();
    let report =
        |arguments: &[&str]| gpp().current_dir(dir.path()).arg("report").args(arguments).assert();
    report(&["--offdiag", "none"])
        .code(2)
        .stderr(contains("--offdiag none: no such folder or file"));
    let folder = text(fs::canonicalize(records()).unwrap());
    report(&["--offdiag", &folder]).success().stdout(contains("report.html"));
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    for part in
        ["<h1>Σ as a matrix on NVIDIA H200: si214</h1>", "product of CH: si214, 128 bands", "si510"]
    {
        assert!(page.contains(part), "{part}");
    }
}
