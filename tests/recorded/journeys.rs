//! The journeys besides the paper's: their names, and their tables beside what was published.

use std::fs;

use gpp::catalogue::{BackEnd, names};
use gpp::record;
use gpp::record::run::Run;
use gpp::table::rows;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::common::repository;

fn gpp() -> assert_cmd::Command {
    assert_cmd::Command::cargo_bin("gpp").unwrap()
}

/// A run of si214 in which the archived results of the first versions are those of the named ones, each
/// a tenth of a second slower than the one before.
fn run_of(named: &str) -> Run {
    let archive = repository("data/runs/h200-2026-11-23/si214");
    let mut run: Run = record::read(&archive.join("run.json")).unwrap();
    let versions = names::versions(named, BackEnd::Gpu).unwrap();
    let template = run.results[0].clone();
    run.results = (1..)
        .zip(versions)
        .map(|(at, version)| {
            let mut result = template.clone();
            result.version = version.id().into();
            result.times.median = f64::from(at) / 10.0;
            result
        })
        .collect();
    run
}

#[test]
fn steps_stand_beside_what_was_published() {
    let run = run_of("talk");
    let rows = rows(&run);
    assert_eq!(rows.len(), 10);
    let row = |id: &str| rows.iter().find(|row| row.version == id).unwrap();
    let v7 = row("talk:V7");
    assert_eq!((v7.journey.as_str(), v7.baseline.as_str()), ("talk", "talk:V1"));
    let published = (v7.published_tflop, v7.published_time_s, v7.published_tflops);
    assert_eq!(published, (Some(2.09), Some(0.66), Some(3.18)));
    assert_eq!(v7.published_over_baseline, Some(1.63 / 0.66));
    assert_eq!((v7.over_baseline, v7.paper_time_s), (Some(0.1 / 0.7), None));
    // Slower here from step to step, faster there but for V2.
    assert!(v7.order_differs && !row("talk:V2").order_differs && !row("talk:V1").order_differs);
    assert_eq!(row("talk:bgw").published_time_s, None);
    let blog = gpp::table::rows(&run_of("blog"));
    let told = blog.iter().map(|r| (r.published_time_s, r.published_tflops, r.published_intensity));
    assert!(told.eq([
        (Some(1.74), None, Some(7.39)),
        (Some(1.92), None, Some(20.0)),
        (None, Some(2.5), None),
        (None, Some(2.9), Some(6.3)),
        (None, None, None),
    ]));
    // What was published is of no other system.
    let mut other = run_of("talk");
    other.system.name = "demo".into();
    assert!(gpp::table::rows(&other).iter().all(|row| row.published_time_s.is_none()));
}

#[test]
fn a_recorded_run_in_every_form() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    fs::write(&path, record::text(&run_of("v0,talk,blog:baseline"))).unwrap();
    let table = |journey: &str, format: &str| {
        let mut command = gpp();
        command
            .args(["table", "--journey", journey])
            .args(format.split(' '))
            .arg("--from")
            .arg(&path);
        let output = command.assert().success().get_output().stdout.clone();
        String::from_utf8(output).unwrap()
    };
    for format in ["--format text", "--format markdown", "--csv -", "--json -"] {
        let text = table("talk", format);
        let found = ["talk:V1", "talk:bgw", "2.09"].map(|part| text.contains(part));
        assert_eq!(found, [true; 3], "{text}");
        assert!(!text.contains("blog:baseline"), "{text}");
    }
    let document: Value = serde_json::from_str(&table("blog", "--json -")).unwrap();
    assert_eq!(document["rows"][0]["published_intensity"], 7.39);
    assert_eq!(table("blog,talk", "--csv -").lines().count(), 12);
    gpp()
        .args(["table", "--journey", "past", "--from"])
        .arg(&path)
        .assert()
        .code(2)
        .stderr(contains("run.json: has no version of past"));
}

#[test]
fn a_journey_is_measured_by_its_name() {
    let small = ["-s", "tiny", "-d", "cpu", "-r", "1", "-w", "0"];
    let mut table = gpp();
    table.args(["table", "--journey", "blog", "--csv", "-"]).args(small);
    let text = String::from_utf8(table.assert().success().get_output().stdout.clone()).unwrap();
    let ids: Vec<&str> = text.lines().skip(1).map(|line| line.split(',').nth(3).unwrap()).collect();
    let blog = names::versions("blog", BackEnd::Cpu).unwrap();
    assert_eq!(ids, blog.iter().map(|version| version.id()).collect::<Vec<_>>());
    gpp()
        .args(["-v", "talk:V1,talk:V9-bgw,blog:best"])
        .args(small)
        .assert()
        .success()
        .stdout(contains("over talk:V1").and(contains("talk:bgw")).and(contains("passed")));
    for (arguments, part) in [
        (&["--journey", "talks"][..], "did you mean `talk`"),
        (&["--journey", "v0"], "unknown journey"),
        (&["--journey", "talk", "--version", "v0"], "cannot be used with"),
        (&["--version", "talk:V10"], "did you mean `talk:V1`"),
        (&["--version", "v0-talk:V1"], "v0 is of paper and talk:V1 of talk"),
    ] {
        gpp().args(arguments).assert().code(2).stderr(contains(part));
    }
    gpp()
        .arg("--help")
        .assert()
        .success()
        .stdout(contains("talk:V1-V9").and(contains("--journey")));
}
