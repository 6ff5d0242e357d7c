//! Statements about records: those that the archive holds are found again, and what did not pass is never the best.

mod common;

use common::repository;
use gpp::catalogue::order;
use gpp::outcomes::{failure, over_baseline};
use gpp::record;
use gpp::record::run::{Run, Times};
use gpp::reference::verify::Outcome;
use gpp::report::found;
use gpp::table::sections;

fn archived() -> Run {
    record::read(&repository("data/runs/h200-2026-11-23/si214/run.json")).unwrap()
}

#[test]
fn speed_ups_are_over_the_first_of_the_series_that_passed() {
    assert_eq!((order::before("v9"), order::before("v0")), (Some("v8"), None));
    let mut results = archived().results;
    let (baseline, over) = over_baseline(&results);
    assert_eq!((baseline, over[0]), ("v0", Some(1.0)));
    assert!(over.iter().all(|over| over.is_some_and(|over| over >= 1.0)));
    results[0].verification.outcome = Outcome::Nondeterministic;
    assert!(over_baseline(&results).1.iter().all(Option::is_none));
    assert!(failure(&results[0]).unwrap().contains("gave different bits"));
    assert_eq!(failure(&results[1]), None);
    assert_eq!(over_baseline(&results[9..]).0, "v9");
}

#[test]
fn what_was_found_follows_the_run() {
    let run = archived();
    let said = |run: &Run| found(run, sections(run, "").first());
    let all = said(&run);
    assert_eq!(all.len(), 4, "{all:?}");
    let time = |id: &str| run.passed_result(id).unwrap().times.median;
    let fastest = run.fastest().unwrap();
    let begin =
        format!("{} is the fastest version: {:.1} ms", fastest.version, 1e3 * fastest.times.median);
    assert!(all[0].starts_with(&begin), "{}", all[0]);
    let over = format!("{:.1} times as fast as v0", time("v0") / fastest.times.median);
    assert!(all[0].contains(&over), "{}", all[0]);
    let steps =
        "v5 gained on the paper’s V100 but is slower here. v6 is faster here but was not there.";
    assert!(all[1].starts_with(steps) && all[1].ends_with("v8 on the V100."), "{}", all[1]);
    assert!(all[2].contains("power limit lowered the clock of"), "{}", all[2]);
    assert!(all[3].starts_with("All 14 results agree"), "{}", all[3]);

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
    let run = archived();
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
