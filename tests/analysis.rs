//! Statements about records: those that the archive holds are found again, and what did not pass or
//! did not end is never the best.

mod common;

use common::repository;
use gpp::catalogue::order;
use gpp::explain::verdict::changed;
use gpp::outcomes::{self, found, over_baseline};
use gpp::profile;
use gpp::record::run::{Run, Times};
use gpp::record::{self, Record};
use gpp::reference::verify::Outcome;
use gpp::table::sections;

fn archived<R: Record>(file: &str) -> R {
    record::read(&repository(&format!("data/runs/h200-2026-11-23/{file}"))).unwrap()
}

#[test]
fn a_change_of_counters_is_a_sentence() {
    let all = profile::load(&repository("data/runs/h200-2026-11-23/si214")).unwrap();
    let of = |id: &str| all.iter().find(|profile| profile.version == id).unwrap();
    assert!(changed(of("v0"), of("v1")).contains("operations -35 %"));
    assert_eq!(changed(of("v3"), of("v3")), "nothing by 2 % or more");
}

#[test]
fn speed_ups_are_over_the_first_of_the_journey_that_passed() {
    assert_eq!((order::before("v9"), order::before("v0")), (Some("v8"), None));
    let mut results = archived::<Run>("si214/run.json").results;
    let (baseline, over) = over_baseline(&results);
    assert_eq!((baseline, over[0]), ("v0", Some(1.0)));
    assert!(over.iter().all(|over| over.is_some_and(|over| over >= 1.0)));
    results[0].verification.outcome = Outcome::Nondeterministic;
    assert!(over_baseline(&results).1.iter().all(Option::is_none));
    assert!(outcomes::failure(&results[0]).unwrap().contains("gave different bits"));
    assert_eq!(outcomes::failure(&results[1]), None);
    assert_eq!(over_baseline(&results[9..]).0, "v9");
}

#[test]
fn what_was_found_follows_the_run() {
    let run = &archived::<Run>("si214/run.json");
    let said = |run: &Run| found(run, &sections(run, None)[0]);
    let all = said(run);
    assert_eq!(all.len(), 3, "{all:?}");
    let time = |id: &str| run.passed_result(id).unwrap().times.median;
    let passed = run.results.iter().filter(|result| result.passed());
    let fastest = passed.min_by(|a, b| a.times.median.total_cmp(&b.times.median)).unwrap();
    let begin =
        format!("{} is the fastest version: {:.1} ms", fastest.version, 1e3 * fastest.times.median);
    assert!(all[0].starts_with(&begin), "{}", all[0]);
    let over = format!("{:.1} times as fast as v0", time("v0") / fastest.times.median);
    assert!(all[0].contains(&over), "{}", all[0]);
    assert!(all[1].ends_with("v8 on the V100."), "{}", all[1]);
    assert!(all[2].contains("cap lowers the clock"), "{}", all[2]);

    // Another run, another finding.
    let mut other = run.clone();
    let result = other.results.iter_mut().find(|result| result.version == "v5").unwrap();
    result.times = Times::of([1.0, 0.99, 1.01, 0.995, 1.005].map(|part| 1e-3 * part).to_vec());
    let changed = said(&other);
    assert!(changed[0].starts_with("v5 is the fastest version: 1.0 ms"), "{}", changed[0]);
    assert!(
        changed[1].contains("Of the paper’s versions v5 is the fastest here"),
        "{}",
        changed[1]
    );
    // v5 is faster than v4 here now, as there; v6 is slower than v5, as there.
    assert!(
        all[1].contains("v5 gained on its V100 and loses here; v6 gains here, not there"),
        "{}",
        all[1]
    );
    assert!(!changed[1].contains("V100 and"), "{}", changed[1]);
    for result in &mut other.results {
        if let Some(state) = &mut result.state {
            state.held_back.clear();
        }
    }
    assert!(said(&other)[2].starts_with("No version loses clock"), "{:?}", said(&other));
    // What did not pass is no finding.
    for result in &mut other.results {
        result.verification.outcome = Outcome::Incorrect;
    }
    assert!(said(&other).is_empty());
}

/// The README's table, against the archived run.
#[test]
fn the_readme_s_table_is_that_of_the_archived_run() {
    let readme = std::fs::read_to_string(repository("README.md")).unwrap();
    let run: Run = archived("si214/run.json");
    let v0 = run.passed_result("v0").unwrap().times.median;
    for result in run.results.iter().filter(|result| result.passed()) {
        let begin = format!("| [{}](", result.version);
        let row = readme.lines().find(|line| line.starts_with(&begin)).expect(&begin);
        let median = result.times.median;
        let cells = format!("| {:.1} | {:.2} | ", 1e3 * median, v0 / median);
        assert!(row.contains(&cells), "{cells} is not in {row}");
        let joules = format!(" | {:.0} | ", result.energy_j.unwrap());
        assert!(row.contains(&joules), "{joules} is not in {row}");
    }
}
