//! The paper's Table I, live, and the tables of other journeys: runs on the device at hand beside the
//! published columns.

mod row;

use std::path::Path;

use super::outcomes::words;
use super::speed_ups::{self, By, by_story};
use super::steps::Change;
use crate::analysis::published::{self, Published};
use crate::error::{Error, Result};
use crate::record;
use crate::record::profile::Profile;
use crate::record::provenance::Provenance;
use crate::record::run::{Measurement, Run};
use crate::record::times::Verdict;
pub use row::Row;
use row::{order_differs, row, step};

/// Versions of one journey on one system and device.
#[derive(Clone, Debug)]
pub struct Section {
    /// The journey; what goes on from it is told with it.
    pub journey: &'static str,
    /// System, device, whether it emulated the versions, and file where there is one.
    pub title: String,
    /// Where the run comes from; `None` in older records.
    pub provenance: Option<Provenance>,
    /// The version that the speed-ups are over.
    pub baseline: &'static str,
    /// What the speed-ups here are by.
    pub by: By,
    /// What passed.
    pub rows: Vec<Row>,
    /// Whether the run came to its end.
    pub complete: bool,
    /// What did not pass, and how it came out.
    pub left_out: Vec<String>,
}

/// The sections of a stored run.
///
/// # Errors
/// [`crate::error::RecordError`] for a file that is no run; [`Error::Data`] for a run in which
/// nothing passed.
pub fn read(path: &Path, by: By) -> Result<Vec<Section>> {
    let run: Run = record::read(path)?;
    let from = path.display().to_string();
    let sections = sections_by(&run, Some(&from), by);
    let wrong = |what: String| Err(Error::Data { origin: from.clone(), what });
    if run.results.is_empty() {
        return wrong("the run has no results".into());
    }
    if sections.iter().all(|section| section.rows.is_empty()) {
        let left_out: Vec<&str> =
            sections.iter().flat_map(|s| &s.left_out).map(String::as_str).collect();
        return wrong(format!("has no result that passed: {}", left_out.join(", ")));
    }
    Ok(sections)
}

/// The sections of a run, read `from` a file or made now, one for each journey.
pub fn sections(run: &Run, from: Option<&str>) -> Vec<Section> {
    sections_by(run, from, By::Time)
}

/// [`sections`] with speed-ups by time, time before the cap, cycles or energy.
pub fn sections_by(run: &Run, from: Option<&str>, by: By) -> Vec<Section> {
    let told = by_story(&run.results);
    let mut sections: Vec<Section> =
        told.iter().map(|(journey, results)| section(run, journey, results, from, by)).collect();
    let interrupted = "the rest: the run was interrupted";
    if let (false, Some(last)) = (run.head.complete, sections.last_mut()) {
        last.left_out.push(interrupted.into());
    }
    sections
}

fn section(
    run: &Run,
    journey: &'static str,
    results: &[Measurement],
    from: Option<&str>,
    by: By,
) -> Section {
    let mut rows = rows_of(run, journey, results, by);
    for row in &mut rows {
        row.from = from.map(str::to_string);
    }
    let left_out = results.iter().filter(|result| !result.passed());
    let left_out = left_out.map(|r| format!("{}: {}", r.version, words(r.outcome())));
    let from = from.map_or(String::new(), |from| format!(" ({from})"));
    let emulated = results.iter().all(Measurement::is_emulated);
    let emulated = if emulated { ", emulated" } else { "" };
    let device = &run.head.device;
    Section {
        journey,
        title: format!("{} on {}: {}{emulated}{from}", run.system.name, device.id, device.name),
        provenance: run.head.provenance.clone(),
        baseline: baseline(results),
        by,
        rows,
        complete: run.head.complete,
        left_out: left_out.collect(),
    }
}

/// What the speed-ups of these results are over.
fn baseline(results: &[Measurement]) -> &'static str {
    speed_ups::baseline(results.first().map(|result| result.version.as_str()))
}

/// Rows of a run, journey by journey; results that did not pass are left out.
pub fn rows(run: &Run) -> Vec<Row> {
    sections(run, None).into_iter().flat_map(|section| section.rows).collect()
}

fn rows_of(run: &Run, journey: &str, results: &[Measurement], by: By) -> Vec<Row> {
    let paper = published::paper();
    let system = run.system.name.as_str();
    // The paper's registers and warps are of its own systems as well.
    let of_paper = |version: &str| {
        paper.iter().find(|row| row.version == version && row.time_s(system).is_some())
    };
    let told = if system == published::BESIDE_SYSTEM { published::told(journey) } else { vec![] };
    let of_journey = |version: &str| told.iter().find(|told| told.version == version);
    let baseline = baseline(results);
    let is_alone = results.iter().all(|result| result.version == baseline);
    let here = run.passed_result(baseline).filter(|_| !is_alone).and_then(|result| by.of(result));
    let there = of_paper(baseline).and_then(|row| row.time_s(system));
    let told_there = of_journey(baseline).and_then(|told| told.time_s);
    let passed = results.iter().filter(|result| result.passed());
    let mut rows: Vec<Row> = passed
        .map(|result| {
            let row = row(run, result, of_paper(&result.version), of_journey(&result.version));
            Row {
                baseline: baseline.into(),
                journey: journey.into(),
                by: by.name(),
                over_baseline: here.zip(by.of(result)).map(|(here, own)| here / own),
                paper_over_baseline: there.zip(row.paper_time_s).map(|(v0, time)| v0 / time),
                published_over_baseline: told_there
                    .zip(row.published_time_s)
                    .map(|(first, time)| first / time),
                ..row
            }
        })
        .collect();
    let steps: Vec<(bool, Option<Verdict>)> =
        rows.iter().map(|row| (order_differs(row, &rows), step(row, &rows))).collect();
    for (row, steps) in rows.iter_mut().zip(steps) {
        (row.order_differs, row.step) = steps;
    }
    rows
}

/// A section against an earlier one of the same journey and system, version by version.
pub fn against<'a>(section: &'a Section, before: &'a Section) -> Vec<(&'a str, Change)> {
    let of = |row: &'a Row| {
        let same = |other: &&Row| other.version == row.version && other.system == row.system;
        let other = before.rows.iter().find(same)?;
        Some((&*row.version, Change::of(&other.times, &row.times)))
    };
    section.rows.iter().filter_map(of).collect()
}

/// Has the rates follow the operations that the profiler counted, so that one page has one rate.
pub fn rate_by(rows: &mut [Row], profiles: &[Profile]) {
    for row in rows {
        if let Some(profile) = profiles.iter().find(|profile| profile.version == row.version) {
            row.tflop = Some(profile.flops() / 1e12);
            row.tflops = Some(profile.flops() / row.time_s / 1e12);
            row.intensity = Some(profile.flops() / profile.bytes.hbm);
            row.flops_source = format!("of the profiles below: {}", profile.source);
        }
    }
}

/// The talk's and the blog's tables, where these sections are of the system that their times are like: they
/// name none. Those whose versions have a section stand there.
pub fn beside(sections: &[Section]) -> Vec<Published> {
    let has = |journey: &str| sections.iter().any(|section| section.journey == journey);
    let papers = sections.iter().filter(|section| section.journey == "paper");
    let mut rows = papers.flat_map(|section| &section.rows);
    if !rows.any(|row| row.system == published::BESIDE_SYSTEM) {
        return Vec::new();
    }
    published::beside().into_iter().filter(|table| !has(table.journey)).collect()
}
