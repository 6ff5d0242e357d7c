//! The tables of the other series next to what was published.

use std::fs;

use gpp::catalogue::{self, BackEnd};
use gpp::record;
use gpp::record::run::RunRecord;
use gpp::table::{TableRow, published, sections};
use predicates::prelude::*;
use predicates::str::contains;

use crate::archive;
use crate::common::place;

fn gpp() -> assert_cmd::Command {
    assert_cmd::Command::cargo_bin("gpp").unwrap()
}

/// The archived results of si214's first versions as the named ones', each a tenth of a second slower than the last.
fn run_of(named: &str) -> RunRecord {
    let mut run: RunRecord = record::read(&archive("si214/run.json")).unwrap();
    let versions = catalogue::named(named, BackEnd::Gpu).unwrap();
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

fn rows(run: &RunRecord) -> Vec<TableRow> {
    sections(run, "").into_iter().flat_map(|section| section.rows).collect()
}

#[test]
fn steps_stand_next_to_what_was_published() {
    let rows_of_talk = rows(&run_of("talk"));
    let row = |id: &str| rows_of_talk.iter().find(|row| row.result.version == id).unwrap();
    let v7 = row("talk:V7");
    assert_eq!((v7.published.time_s, v7.published.tflops), (Some(0.66), Some(3.18)));
    assert_eq!(v7.published_over_baseline, Some(1.63 / 0.66));
    assert_eq!(v7.over_baseline, Some(0.1 / 0.7));
    // Slower here from step to step, faster there but for V2.
    assert!(v7.order_differs && !row("talk:V2").order_differs && !row("talk:V1").order_differs);
    assert_eq!(row("talk:bgw").published.time_s, None);
    let blog = rows(&run_of("blog"));
    assert_eq!(blog[1].published.time_s, Some(1.92));
    // What was published is of no other system.
    let mut other = run_of("talk");
    other.system.name = "demo".into();
    assert!(rows(&other).iter().all(|row| row.published.time_s.is_none()));
}

#[test]
fn a_recorded_run_in_every_form() {
    let (_dir, path) = place("run.json");
    fs::write(&path, record::text(&run_of("v0,talk"))).unwrap();
    let shown = contains("v0").and(contains("talk:bgw")).and(contains("3.18"));
    gpp().args(["table", "--from"]).arg(&path).assert().success().stdout(shown);
}

#[test]
fn every_published_table_is_read() {
    let of = |version, system| published(version, system).unwrap();
    assert_eq!((of("v0", "si214").time_s, of("v8", "si510").time_s), (Some(1.691), Some(7.565)));
    assert_eq!(published("v0", "demo"), None);
}
