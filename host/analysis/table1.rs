//! The paper's Table I, live, and the tables of other journeys: runs on the device at hand beside the
//! published columns.

use std::path::Path;

use serde::Serialize;

use super::outcomes::{self, words};
use super::speed_ups::{self, By, by_story};
use crate::catalogue::order;
use crate::catalogue::published::{self, PaperRow, Published, Told};
use crate::error::{Error, Result};
use crate::record;
use crate::record::profile::Profile;
use crate::record::provenance::Provenance;
use crate::record::run::{Measurement, Run};

/// One version on one system, here and in the paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The file that the run was read from; `None` for one made now.
    pub from: Option<String>,
    /// The device's name.
    pub device: String,
    /// The system's name.
    pub system: String,
    /// The version's id.
    pub version: String,
    /// Median time here.
    pub time_s: f64,
    /// Standard deviation of the times here, of at least two.
    pub sigma_s: Option<f64>,
    /// 95 % interval of the median here: from.
    pub interval_from_s: Option<f64>,
    /// The same: to.
    pub interval_to_s: Option<f64>,
    /// Timed runs here.
    pub samples: usize,
    /// Median clock of the multiprocessors here, in MHz.
    pub sm_mhz: Option<f64>,
    /// Cycles of a multiprocessor here.
    pub cycles: Option<f64>,
    /// Energy of a calculation here, in joules.
    pub energy_j: Option<f64>,
    /// Timed runs here during which something held the clock back.
    pub held_back: Option<usize>,
    /// What held it back most often, and in which share of the looks.
    pub held_back_by: Option<String>,
    /// Rate here; `None` for a version whose operations are not counted.
    pub tflops: Option<f64>,
    /// The version that the speed-ups are over.
    pub baseline: String,
    /// What the speed-ups here are by: time, cycles or energy.
    pub by: &'static str,
    /// The baseline's time, cycles or energy over this one's, here.
    pub over_baseline: Option<f64>,
    /// Warps on a multiprocessor, here.
    pub warps_per_sm: Option<u32>,
    /// Registers of a thread, here.
    pub registers: Option<u32>,
    /// The same in the paper, one V100.
    pub paper_time_s: Option<f64>,
    /// The paper's rate.
    pub paper_tflops: Option<f64>,
    /// The baseline's time over this one's, in the paper.
    pub paper_over_baseline: Option<f64>,
    /// The paper's warps.
    pub paper_warps_per_sm: Option<u32>,
    /// The paper's registers.
    pub paper_registers: Option<u32>,
    /// Whether the step from the version before goes the other way than in the paper: faster there
    /// and slower here, or slower there and faster here.
    pub order_differs: bool,
    /// Where the operation count behind the rate comes from.
    pub flops_source: String,
    /// The journey that it is told in.
    pub journey: String,
    /// 10¹² operations, here.
    pub tflop: Option<f64>,
    /// FLOP/byte on HBM here, where a profile counted them.
    pub intensity: Option<f64>,
    /// The same in the source of the journey, for others than the paper's, one V100.
    pub published_tflop: Option<f64>,
    /// That source's time.
    pub published_time_s: Option<f64>,
    /// That source's rate.
    pub published_tflops: Option<f64>,
    /// The baseline's time over this one's, in that source.
    pub published_over_baseline: Option<f64>,
    /// That source's FLOP/byte on HBM.
    pub published_intensity: Option<f64>,
}

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

/// The same with speed-ups by time, cycles or energy.
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
    let here = run.passed_result(baseline).and_then(|result| by.of(result));
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
    let differs: Vec<bool> = rows.iter().map(|row| order_differs(row, &rows)).collect();
    for (row, differs) in rows.iter_mut().zip(differs) {
        row.order_differs = differs;
    }
    rows
}

fn row(run: &Run, result: &Measurement, published: Option<&PaperRow>, told: Option<&Told>) -> Row {
    let system = &run.system.name;
    let interval = result.times.interval();
    let held_back = result.held_back.as_ref();
    Row {
        from: None,
        device: run.head.device.name.clone(),
        system: system.clone(),
        version: result.version.clone(),
        time_s: result.times.median,
        sigma_s: result.times.sigma(),
        interval_from_s: interval.map(|[from, _]| from),
        interval_to_s: interval.map(|[_, to]| to),
        samples: result.times.samples.len(),
        sm_mhz: result.state.as_ref().and_then(|state| state.sm_mhz).map(|clock| clock.median),
        cycles: result.cycles,
        energy_j: result.energy_j,
        held_back: held_back.map(|marks| marks.iter().filter(|held| **held).count()),
        held_back_by: outcomes::held_back(result),
        tflops: result.tflops,
        baseline: String::new(),
        by: By::Time.name(),
        over_baseline: None,
        warps_per_sm: result.warps_per_sm,
        registers: result.registers,
        paper_time_s: published.and_then(|row| row.time_s(system)),
        paper_tflops: published.and_then(|row| row.tflops(system)),
        paper_over_baseline: None,
        paper_warps_per_sm: published.map(|row| row.warps_per_sm),
        paper_registers: published.map(|row| row.registers_per_thread),
        order_differs: false,
        flops_source: result.flops_source.clone(),
        journey: String::new(),
        tflop: result.flops.map(|flops| flops / 1e12),
        intensity: None,
        published_tflop: told.and_then(|told| told.tflop),
        published_time_s: told.and_then(|told| told.time_s),
        published_tflops: told.and_then(|told| told.tflops),
        published_over_baseline: None,
        published_intensity: told.and_then(|told| told.intensity),
    }
}

/// Whether the step from the nearest version before goes the other way than in what was published.
fn order_differs(row: &Row, rows: &[Row]) -> bool {
    let ids = rows.iter().map(|row| row.version.as_str());
    let before = order::nearest_before(&row.version, ids);
    let before = before.and_then(|id| rows.iter().find(|row| row.version == id));
    let faster = |time: fn(&Row) -> Option<f64>| Some(time(row)? < time(before?)?);
    let here = faster(|row| Some(row.time_s));
    let there = faster(|row| row.paper_time_s.or(row.published_time_s));
    here.zip(there).is_some_and(|(here, there)| here != there)
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

/// The talk's and the blog's tables where they belong beside these sections: they name no system, their
/// times are like those of one of the paper's. Those whose versions have a section stand there.
pub fn beside(sections: &[Section]) -> Vec<Published> {
    let has = |journey: &str| sections.iter().any(|section| section.journey == journey);
    let papers = sections.iter().filter(|section| section.journey == "paper");
    let mut rows = papers.flat_map(|section| &section.rows);
    if !rows.any(|row| row.system == published::BESIDE_SYSTEM) {
        return Vec::new();
    }
    published::beside().into_iter().filter(|table| !has(table.journey)).collect()
}
