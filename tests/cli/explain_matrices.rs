//! `gpp explain` of the versions of Σ as a matrix.

use std::fs;
use std::path::Path;

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
        assert_eq!(card["before"].as_str(), at.checked_sub(1).map(|before| ALL[before].id));
        assert_eq!(card["difference"].is_null(), at == 0);
        if let Some(hunks) = card["difference"]["hunks"].as_array() {
            let lines: usize =
                hunks.iter().map(|hunk| hunk["lines"].as_array().unwrap().len()).sum();
            // A card shows no more, and `gpp diff` knows none of these versions.
            assert!((1..=80).contains(&lines), "{id}: {lines}");
        }
        for name in ["time", "clock", "power", "energy", "rate", "busiest pipe", "issue slots"] {
            assert!(now(card, name).unwrap() > 0.0, "{id}: {name}");
        }
        assert_eq!(now(card, "threads of a block"), Some(f64::from(version.first.threads())));
        assert!(said(card).contains(" pipe "), "{id}: {}", said(card));
    }
    let of = |id: &str| said(all.iter().find(|card| card["version"] == id).unwrap());
    assert!(of("vector").contains("The pipe of loads and shuffles is full"), "{}", of("vector"));
    assert!(of("m16n8k8").contains("W cap lowers the clock"), "{}", of("m16n8k8"));
    assert!(of("wide").contains("Warps spill"), "{}", of("wide"));
    assert!(!of("ring").contains("Warps spill"), "{}", of("ring"));
}

#[test]
fn a_card_says_what_changed_without_records_too() {
    let card = |arguments: &[&str]| gpp().arg("explain").args(arguments).assert().success();
    card(&["ring", "wide", "--from", &records()])
        .stdout(contains("ring against m16n8k8: bulk copies").and(contains("wide against ring: ")))
        .stdout(contains("+     const FIRST: Tile = Tile { m: 4, n: 2, across: 2, along: 4 };"))
        .stdout(contains("si214, 128 bands, on NVIDIA H200: ").and(contains("% less time: ")));
    card(&["wide"])
        .stdout(
            contains("nothing measured: `gpp offdiag --version all").and(contains("TFLOP").not()),
        )
        .stdout(contains("l of a block").and(contains("less time").not()));
    assert!(cards(&["wide"])[0]["figures"].is_null());
    // A record is a file as well; without counters there is nothing of pipes.
    let dir = tempfile::tempdir().unwrap();
    let alone = dir.path().join("run.json");
    fs::copy(Path::new(&records()).join("si214-128.json"), &alone).unwrap();
    let card = &cards(&["ring", "--from", &text(alone)])[0];
    assert!(
        said(card).contains("fewer cycles") && !said(card).contains(" pipe "),
        "{}",
        said(card)
    );
}

#[test]
fn what_is_missing_is_named() {
    let says = |arguments: &[&str], part: &str| {
        let assert = gpp().arg("explain").args(arguments).assert().code(2);
        assert.stderr(contains(part.to_string())).stdout(predicate::str::is_empty());
    };
    says(&["wide,v4"], "explain wide,v4: wide is of Σ as a matrix, v4 is not");
    says(&["--journey", "ring"], "unknown journey `ring`");
    says(&["wide", "--system", "demo"], "--system demo: ");
    says(&["wide", "--device", "cpu"], "--device cpu: ");
    says(&["wide", "--from", "no/such"], "no/such: no such folder or file");
    let one = format!("{}/si214-96.json", records());
    says(&["wide", "--from", &one], "si214-96.json: its record of most versions has no wide");
    let dir = tempfile::tempdir().unwrap();
    let folder = text(dir.path().to_path_buf());
    says(&["wide", "--from", &folder], "holds no *.json; `gpp offdiag");
    fs::copy(format!("{}/si214-128.json", records()), dir.path().join("a.json")).unwrap();
    fs::write(dir.path().join("counters.csv"), "kernel,value\na,1\n").unwrap();
    says(&["wide", "--from", &folder], "counters.csv: is no record of counters");
}
