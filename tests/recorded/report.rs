//! Statements and the page of the archived run. `tests/commands/records.trycmd` has its table.

use gpp::catalogue::{self, SERIES};
use gpp::explain::{SourceFile, source_change, version_file};
use gpp::kernels::versions::ALL;
use gpp::measure::flops_per_term;
use gpp::profile::{self, Measured};
use gpp::record::run::{RunRecord, over_baseline};
use gpp::record::{self, Profile};
use gpp::report::{self, found};
use gpp::summary::{failure, results_table, run_text};
use gpp_core::offdiag::gpu::ALL as MATRIX_VERSIONS;

use crate::archive;
use crate::common::repository;

fn archived() -> RunRecord {
    record::read(&archive("si214/run.json")).unwrap()
}

fn profiles() -> Vec<Profile> {
    profile::load(&archive("si214")).unwrap()
}

#[test]
fn operation_counts_are_the_archived_ones() {
    let profiles = profiles();
    let archived = |id: &str| profiles.iter().find(|profile| profile.version == id);
    assert!(["v0", "v8", "v13"].into_iter().all(|id| archived(id).is_some()));
    for version in ALL {
        // si214 has real poles. A version may have neither counts nor a profile, but not counts alone.
        let poles = version.kernel(gpp::kernels::plan::Poles::Real).poles;
        let Some(stated) = flops_per_term(version.id(), poles) else { continue };
        let Some(profile) = archived(version.id()) else { continue };
        let counted = profile.flops_per_term();
        assert!((stated - counted).abs() < 0.06, "{}: {counted}", version.id());
    }
}

#[test]
fn the_page_needs_nothing_else() {
    let page = report::page(&Measured::load(Some(&archive("si214"))).unwrap().unwrap()).unwrap();
    for reference in ["src=", "url(", "@import", "<script"] {
        assert!(!page.contains(reference), "the page has {reference}");
    }
    assert!(page.contains("name=\"viewport\"") && page.contains("href=\"https://arxiv.org"));
    for Profile { version, .. } in profiles() {
        let card = format!("<article class=\"card\" id=\"{version}\"");
        assert!(page.contains(&card), "{version} is missing");
    }
    for text in ["Findings", "is synthetic", "Warps wait ", "fewer cycles, "] {
        assert!(page.contains(text), "{text} is missing");
    }
    assert_eq!(page.matches("No significant difference").count(), 2);
    assert!(!page.contains('`'), "Markdown is shown raw");
}

#[test]
fn speed_ups_are_over_the_first_of_the_series_that_passed() {
    assert_eq!((catalogue::before("v9"), catalogue::before("v0")), (Some("v8"), None));
    let mut results = archived().results;
    let (baseline, over) = over_baseline(&results);
    assert_eq!((baseline, over[0]), ("v0", Some(1.0)));
    assert!(over.iter().all(|over| over.is_some_and(|over| over >= 1.0)));
    results[0].verification.outcome = gpp::reference::Outcome::Nondeterministic;
    assert!(over_baseline(&results).1.iter().all(Option::is_none));
    assert!(failure(&results[0]).unwrap().contains("gave different bits"));
    assert_eq!(failure(&results[1]), None);
}

#[test]
fn what_was_found_follows_the_run() {
    let run = archived();
    let all = found(&run);
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all[0].starts_with("Fastest: v15, 13.78 ms, 6.8 times as fast as v9."), "{}", all[0]);
    assert!(all[1].starts_with("All 16 results agree"), "{}", all[1]);
    // Without the paper's versions speed-ups are over the first of the new ones; what nothing has is no column.
    let mut new = run.results[9..].to_vec();
    new.iter_mut().for_each(|result| result.tflops = None);
    let headings = results_table(&new, Some("si214")).headings;
    assert!(headings.contains(&"over v9".to_string()) && !headings.contains(&"TFLOP/s".into()));
}

#[test]
fn the_table_of_all_times_is_that_of_the_archived_run() {
    let page = std::fs::read_to_string(repository("docs/versions.md")).unwrap();
    let run = archived();
    let v0 = run.passed_result("v0").unwrap().times.median;
    for result in run.results.iter().filter(|result| result.passed()) {
        let begin = format!("| [{}](", result.version);
        let row = page.lines().find(|line| line.starts_with(&begin)).expect(&begin);
        let median = result.times.median;
        let cells = format!("| {:.1} | {:.2} | ", 1e3 * median, v0 / median);
        assert!(row.contains(&cells), "{cells} is not in {row}");
        let joules = format!(" | {:.0} | ", result.energy_j.unwrap());
        assert!(row.contains(&joules), "{joules} is not in {row}");
    }
}

#[test]
fn versions_equally_fast_are_named() {
    let fastest = |versions: &[&str]| {
        let mut run = archived();
        run.results.retain(|result| versions.contains(&result.version.as_str()));
        let mut said = Vec::new();
        run_text(&mut said, &run).unwrap();
        let said = String::from_utf8(said).unwrap();
        said.lines().find(|line| line.starts_with("Fastest: ")).unwrap().to_string()
    };
    let over = "Fastest: v1, 210.3 ms, 2.4 times as fast as v0";
    let equally = format!("{over}; equally fast within the spread: v2.");
    assert_eq!(fastest(&["v0", "v1", "v2"]), equally);
    assert_eq!(fastest(&["v9", "v13", "v14"]), "Fastest: v14, 19.84 ms, 4.7 times as fast as v9.");
}

#[test]
fn a_difference_leaves_comments_and_imports_out() {
    let file = |path, text| SourceFile { path, text };
    let before = file("a/versions/v1.rs", "//! One.\nuse a;\nfn gpp_v1() {\n    old();\n}\n");
    let now =
        file("a/versions/v2.rs", "//! Two.\nuse b;\nfn gpp_v2() {\n    // Why.\n    new();\n}\n");
    let found = source_change(&before, &now);
    assert_eq!((found.added, found.removed), (1, 1));
    assert_eq!(found.lines[1..], [" fn gpp() {", "-    old();", "+    new();", " }"]);
    assert_eq!(source_change(&now, &now).lines, [""; 0]);
}

/// `1, 4–6` as `1, 4, 5, 6`.
fn expanded(lines: &str) -> String {
    let numbers = lines.split(", ").flat_map(|range| {
        let (first, last) = range.split_once('–').unwrap_or((range, range));
        first.parse::<u32>().unwrap()..=last.parse().unwrap()
    });
    numbers.map(|line| line.to_string()).collect::<Vec<_>>().join(", ")
}

/// What a version changes has one wording: in its header, and in the tables of docs/.
#[test]
fn tables_say_what_headers_say() {
    let page = |name| std::fs::read_to_string(repository(&format!("docs/{name}.md"))).unwrap();
    let [kernel, cpu, offdiag] = ["kernel", "cpu", "off-diagonal"].map(page);
    let row = |page: &str, id: &str, change: &str| {
        let row = page.lines().find(|line| line.starts_with(&format!("| {id} | "))).expect(id);
        let cells: Vec<String> = row.split('|').map(|cell| cell.trim().replace('`', "")).collect();
        assert!(cells.iter().any(|cell| cell == change), "{change} is not in {row}");
        cells
    };
    for series in SERIES {
        for id in series.ids() {
            let change = catalogue::find(id).unwrap().label().change;
            let header = version_file(id).unwrap().header();
            assert_eq!(header[0], format!("{id}: {change}."));
            match series.id {
                "paper" | "new" | "single" => {
                    let cells = row(&kernel, id, change);
                    let lines = header.last().unwrap().strip_prefix("Lines of the nest: ").unwrap();
                    match lines.strip_suffix('.').unwrap() {
                        "none, the launch changes" => assert_eq!(cells[3], "launch"),
                        lines => assert_eq!(expanded(&cells[3]), lines, "{id}"),
                    }
                }
                "cpu" => drop(row(&cpu, id, change)),
                _ => {}
            }
        }
    }
    for version in MATRIX_VERSIONS {
        row(&offdiag, version.id, version.change);
    }
}
