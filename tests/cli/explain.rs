//! `gpp explain`: cards of stored profiles. `tests/commands/records.trycmd` has one as it is printed.

use std::fs;

use crate::{archived, common, gpp};
use gpp::explain::Card;
use predicates::prelude::*;
use predicates::str::contains;

fn card(folder: &std::path::Path, id: &str, before: Option<&str>) -> Card {
    let measured = gpp::profile::Measured::in_folder(folder).unwrap();
    measured.card(id, before.or(measured.before(id))).unwrap()
}

#[test]
fn every_version_of_every_series_has_a_card() {
    for (id, folder, count, first) in [
        ("paper", "h200-2026-11-28/si214", 9, None),
        ("new", "h200-2026-11-28/si214", 7, Some("v8")),
        ("blog", "h100-2026-11-27/si214-blog", 5, None),
        ("talk", "h100-2026-11-27/si214-talk", 10, None),
    ] {
        let ids = gpp::catalogue::series(id).unwrap().ids();
        for (at, id) in ids[..count].iter().enumerate() {
            let card = card(&common::repository(&format!("data/runs/{folder}")), id, None);
            let before = if at == 0 { first } else { Some(ids[at - 1]) };
            assert_eq!(card.before.as_deref(), before, "{id}");
            assert!(card.change.len() > 9, "{id}");
            let verdict = &card.verdict;
            assert_eq!(verdict.len(), if before.is_some() { 2 } else { 1 }, "{id}: {verdict:?}");
            let time = card.rows.iter().find(|row| row.name == "time").unwrap();
            assert!(time.now.unwrap() > 0.0, "{id}");
            assert_eq!(card.difference.is_none(), before.is_none(), "{id}");
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
    let order = ["v4 against v3", "The busiest unit is", "Collapsing", "+    loops", "H200"];
    assert!(order.map(|part| text.find(part).unwrap()).is_sorted(), "{text}");
    assert!(text.contains("si214-talk, in this program") && !text.contains("No measurements"));
    explain(&["sigma:blocks"]).stdout(contains("No measurements").and(contains("less time").not()));
    // A run has times; the usual folder has counters.
    let early = common::repository("tests/data/records/si214");
    let run = early.join("run.json").display().to_string();
    explain(&["v4", "--from", &run]).stdout(contains("less time").and(contains("HBM [GB]").not()));
    let folder = dir.path().join("gpp-profile");
    fs::create_dir_all(&folder).unwrap();
    for file in ["profile-v0.json", "profile-v1.json", "ceilings.json"] {
        fs::copy(early.join(file), folder.join(file)).unwrap();
    }
    explain(&["v1"]).stdout(contains("gpp-profile").and(contains("FLOP per term")));
}

#[test]
fn a_difference_may_be_of_any_two() {
    let folder = archived("si214");
    let [there, back] = [("v8", "v3"), ("v3", "v8")].map(|(id, before)| {
        let card = card(&folder, id, Some(before));
        assert_eq!(card.before.as_deref(), Some(before));
        card.difference.unwrap()
    });
    assert_eq!((there.added, there.removed), (back.removed, back.added));
    let from = folder.to_str().unwrap();
    let shown = gpp().args(["explain", "v9", "--before", "v8", "--from", from]).assert().success();
    shown.stdout(contains("more lines").not());
}
