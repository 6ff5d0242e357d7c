//! `gpp explain`: cards of stored profiles. `tests/commands/records.trycmd` has one as it is printed.

use std::fs;
use std::path::PathBuf;

use crate::{common, gpp, parsed, text};
use gpp::catalogue::series;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

fn records(folder: &str) -> String {
    text(common::repository(&format!("data/runs/{folder}")))
}

fn early(folder: &str) -> String {
    text(common::repository(&format!("tests/data/records/{folder}")))
}

fn cards(arguments: &[&str], folder: &str) -> Vec<Value> {
    let cards = parsed(gpp().args(arguments).args(["--json", "-", "--from", folder]));
    cards["cards"].as_array().unwrap().clone()
}

fn row<'a>(card: &'a Value, name: &str) -> &'a Value {
    let rows = card["rows"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {rows:?}"))
}

#[test]
fn every_version_of_every_series_has_a_card() {
    for (id, folder, archived, first) in [
        ("paper", "h200-2026-11-28/si214", 9, None),
        ("new", "h200-2026-11-28/si214", 7, Some("v8")),
        ("blog", "h100-2026-11-27/si214-blog", 5, None),
        ("talk", "h100-2026-11-27/si214-talk", 10, None),
    ] {
        let cards = cards(&["explain", id], &records(folder));
        let ids: Vec<&str> = cards.iter().map(|card| card["version"].as_str().unwrap()).collect();
        let known = series(id).unwrap().ids();
        assert_eq!(ids, known[..archived]);
        for (at, card) in cards.iter().enumerate() {
            let before = if at == 0 { first } else { Some(ids[at - 1]) };
            assert_eq!(card["before"].as_str(), before, "{}", ids[at]);
            assert!(card["idea"]["change"].as_str().unwrap().len() > 9, "{}", ids[at]);
            assert!(row(card, "time")["now"].as_f64().unwrap() > 0.0);
            let diagnosis = &card["diagnosis"];
            assert!(diagnosis["bound"].is_string(), "{}: {diagnosis}", ids[at]);
            assert_eq!(diagnosis["why"].is_string(), before.is_some(), "{}: {diagnosis}", ids[at]);
            assert_eq!(card["difference"].is_null(), before.is_none(), "{}", ids[at]);
        }
    }
}

#[test]
fn without_a_folder_a_card_has_what_the_archive_has() {
    let dir = tempfile::tempdir().unwrap();
    let explain = |arguments: &[&str]| {
        gpp().current_dir(dir.path()).arg("explain").args(arguments).assert().success()
    };
    // The verdict comes before the idea, and this before the change.
    let known = explain(&["v4", "talk:V3"]);
    let text = String::from_utf8(known.get_output().stdout.clone()).unwrap();
    let order = ["v4 against v3", "- The busiest unit is", "Collapsing", "+    loops", "H200"];
    assert!(order.map(|part| text.find(part).unwrap()).is_sorted(), "{text}");
    assert!(text.contains("si214-talk, in this program") && !text.contains("No measurements"));
    let bare = contains("No measurements").and(contains("less time").not());
    explain(&["sigma:blocks"]).stdout(bare);
    // A run has times; the usual folder has counters.
    let run = early("si214/run.json");
    explain(&["v4", "--from", &run]).stdout(contains("less time").and(contains("HBM [GB]").not()));
    let folder = dir.path().join("gpp-profile");
    fs::create_dir_all(&folder).unwrap();
    for file in ["profile-v0.json", "profile-v1.json", "ceilings.json"] {
        fs::copy(PathBuf::from(early("si214")).join(file), folder.join(file)).unwrap();
    }
    explain(&["v1"]).stdout(contains("gpp-profile").and(contains("FLOP per term")));
}

#[test]
fn a_difference_may_be_of_any_two() {
    let from = early("si214");
    let card = &cards(&["explain", "v8", "--before", "v3"], &from)[0];
    assert_eq!((card["version"].as_str(), card["before"].as_str()), (Some("v8"), Some("v3")));
    let back = &cards(&["explain", "v3", "--before", "v8"], &from)[0];
    assert_eq!(card["difference"]["added"], back["difference"]["removed"]);
    let shown = gpp().args(["explain", "v9", "--before", "v8", "--from", &from]).assert().success();
    shown.stdout(contains("more lines").not());
}
