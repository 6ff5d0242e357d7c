//! `gpp explain` and `gpp diff`: cards of stored profiles.

use std::fs;
use std::path::PathBuf;

use crate::{common, gpp, text};
use gpp::catalogue::journey;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

fn records(folder: &str) -> String {
    text(common::repository(&format!("data/runs/{folder}")))
}

fn cards(arguments: &[&str], folder: &str) -> Vec<Value> {
    let command = gpp().args(arguments).args(["--format", "json", "--from", folder]).assert();
    let cards: Value = serde_json::from_slice(&command.success().get_output().stdout).unwrap();
    cards["cards"].as_array().unwrap().clone()
}

fn row<'a>(card: &'a Value, name: &str) -> &'a Value {
    let rows = card["rows"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {rows:?}"))
}

#[test]
fn every_version_of_every_journey_has_a_card() {
    for (id, folder, first) in [
        ("paper", "h200-2026-11-21-3/si214", None),
        ("past", "h200-2026-11-21-3/si214", Some("v8")),
        ("blog", "h200-2026-11-22/si214-journeys", None),
        ("talk", "h200-2026-11-22/si214-journeys", None),
        ("cpu", "cpu-2026-11-22/demo", None),
    ] {
        let cards = cards(&["explain", "--journey", id], &records(folder));
        let ids: Vec<&str> = cards.iter().map(|card| card["version"].as_str().unwrap()).collect();
        assert_eq!(ids, journey(id).unwrap().ids());
        for (at, card) in cards.iter().enumerate() {
            let before = if at == 0 { first } else { Some(ids[at - 1]) };
            assert_eq!(card["before"].as_str(), before, "{}", ids[at]);
            assert!(card["idea"]["title"].as_str().unwrap().len() > 9, "{}", ids[at]);
            assert!(row(card, "time")["now"].as_f64().unwrap() > 0.0);
            let rules: Vec<&str> = card["verdict"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|s| s["rule"].as_str())
                .collect();
            assert!(rules.contains(&"bound"), "{}: {rules:?}", ids[at]);
            assert_eq!(rules.contains(&"time"), before.is_some(), "{}: {rules:?}", ids[at]);
            assert_eq!(card["difference"].is_null(), before.is_none(), "{}", ids[at]);
        }
    }
}

#[test]
fn a_card_has_idea_source_figures_and_verdict() {
    let from = records("h200-2026-11-21-3/si214");
    let explain = |format: &str| {
        gpp().args(["explain", "v4", "--format", format, "--from", &from]).assert().success()
    };
    for format in ["text", "markdown"] {
        explain(format)
            .stdout(contains("v4 against v3: bands become a loop inside the thread\n"))
            .stdout(contains("Collapsing only `igp` and `ig`"))
            .stdout(contains("+     loops: Loops::Collapse2,"))
            .stdout(contains("HBM [GB]").and(contains("581")).and(contains("168")))
            .stdout(contains("V100 v4").and(contains("977")))
            .stdout(contains("published: the paper, one V100"))
            .stdout(contains("v4 takes 133 ms for the 190 ms of v3: −30 %"))
            .stdout(contains("\u{1b}").not());
    }
    let card = &cards(&["explain", "v4"], &from)[0];
    let time = row(card, "time");
    let change = time["now"].as_f64().unwrap() / time["before"].as_f64().unwrap() - 1.0;
    assert!((time["change"].as_f64().unwrap() - change).abs() < 1e-12);
    assert_eq!(time["published"]["now"], 977.0);
    assert!(row(card, "over v0")["now"].as_f64().unwrap() > 2.0);
    // The archive has no clocks: nothing is said of them.
    let about = |rule: &str| card["verdict"].as_array().unwrap().iter().any(|s| s["rule"] == rule);
    assert!(!about("clock") && !about("energy") && about("cause") && about("published"));
    assert!(card["rows"].as_array().unwrap().iter().all(|row| row["name"] != "clock"));
}

#[test]
fn a_difference_may_be_of_any_two() {
    let from = records("h200-2026-11-21-3/si214");
    let card = &cards(&["diff", "v3", "v8"], &from)[0];
    assert_eq!((card["version"].as_str(), card["before"].as_str()), (Some("v8"), Some("v3")));
    let back = &cards(&["diff", "v8", "v3"], &from)[0];
    assert_eq!(card["difference"]["added"], back["difference"]["removed"]);
    gpp()
        .args(["diff", "v8", "v9", "--from", &from])
        .assert()
        .success()
        .stdout(contains("more lines").not().and(contains("A thread has one").not()));
    gpp()
        .args(["explain", "v9", "--from", &from])
        .assert()
        .success()
        .stdout(contains("more lines: gpp diff v8 v9").and(contains("A thread has one")));
}

#[test]
fn what_is_missing_is_named() {
    let from = records("h200-2026-11-21-3/si214");
    let says = |arguments: &[&str], part: &str| {
        let assert = gpp().args(arguments).args(["--from", &from]).assert().code(2);
        assert.stderr(contains(part.to_string())).stdout(predicate::str::is_empty());
    };
    says(&["explain", "v44"], "unknown version `v44`: did you mean `v4`?");
    says(&["diff", "v3", "v4-v5"], "diff v4-v5: takes one version, not 2");
    says(&["explain", "talk:V7"], "has no profile of talk:V7, but of v0, v1");
    says(&["explain", "--journey", "papers"], "unknown journey `papers`: did you mean `paper`?");
    says(&["explain"], "VERSION");
    says(&["explain", "v4", "--device", "cpu"], "--device");
    let complex = records("h200-2026-11-21-3/si214-complex");
    gpp()
        .args(["diff", "v7", "v8", "--from", &complex])
        .assert()
        .code(2)
        .stderr(contains("has no profile of v7, but of v3, v8"));
    // The nearest that there is.
    assert_eq!(cards(&["explain", "v8"], &complex)[0]["before"], "v3");
    gpp()
        .args(["explain", "v4", "--from", "no/such"])
        .assert()
        .code(2)
        .stderr(contains("no/such: no such folder"));
    gpp()
        .args(["explain", "v4", "--device", "cpu", "--system", "tiny"])
        .assert()
        .code(2)
        .stderr(contains("v4: is made for a GPU"));
    gpp()
        .args(["diff", "v4", "cpu:smt", "--system", "tiny"])
        .assert()
        .code(2)
        .stderr(contains("v4 and cpu:smt: one device runs both"));
}

#[test]
fn a_folder_of_profiles_comes_before_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("gpp-profile/tiny");
    fs::create_dir_all(&folder).unwrap();
    let archive = PathBuf::from(records("cpu-2026-11-22/demo"));
    for file in ["profile-cpu-threads.json", "profile-cpu-simd.json", "ceilings.json"] {
        fs::copy(archive.join(file), folder.join(file)).unwrap();
    }
    let explain = |system: &str| {
        let mut command = gpp();
        command.current_dir(dir.path()).args(["explain", "cpu:simd", "--system", system]);
        command.assert().success()
    };
    explain("tiny").stdout(contains("gpp-profile/tiny").and(contains("FLOP a term")));
    explain("tiny-complex")
        .stdout(contains(
            "measured for this card, without counters: `gpp profile` has them counted",
        ))
        .stdout(contains("cpu:simd takes ").and(contains("FLOP a term").not()));
}
