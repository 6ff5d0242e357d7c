//! The paper's Table I, live: runs on the device at hand beside the published columns.

use std::path::Path;

use serde::Serialize;

use super::outcomes::words;
use super::speed_ups;
use crate::catalogue::order;
use crate::catalogue::published::{self, PaperRow};
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
    /// Rate here; `None` for a version whose operations are not counted.
    pub tflops: Option<f64>,
    /// The version that the speed-ups are over.
    pub baseline: String,
    /// The baseline's time over this one's, here.
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
}

/// Versions on one system and device.
#[derive(Clone, Debug)]
pub struct Section {
    /// System, device, and file where there is one.
    pub title: String,
    /// Where the run comes from; `None` in older records.
    pub provenance: Option<Provenance>,
    /// The version that the speed-ups are over.
    pub baseline: &'static str,
    /// What passed.
    pub rows: Vec<Row>,
    /// Whether the run came to its end.
    pub complete: bool,
    /// What did not pass, and how it came out.
    pub left_out: Vec<String>,
}

/// The section of a stored run.
///
/// # Errors
/// [`crate::error::RecordError`] for a file that is no run; [`Error::Data`] for a run in which
/// nothing passed.
pub fn read(path: &Path) -> Result<Section> {
    let run: Run = record::read(path)?;
    let from = path.display().to_string();
    let section = section(&run, Some(&from));
    let wrong = |what: String| Err(Error::Data { origin: from.clone(), what });
    if run.results.is_empty() {
        return wrong("the run has no results".into());
    }
    if section.rows.is_empty() {
        return wrong(format!("has no result that passed: {}", section.left_out.join(", ")));
    }
    Ok(section)
}

/// A section of a run, read `from` a file or made now.
pub fn section(run: &Run, from: Option<&str>) -> Section {
    let mut rows = rows(run);
    for row in &mut rows {
        row.from = from.map(str::to_string);
    }
    let complete = run.head.complete;
    let interrupted = (!complete).then(|| "the rest: the run was interrupted".to_string());
    let left_out = run.results.iter().filter(|result| !result.passed());
    let left_out = left_out.map(|r| format!("{}: {}", r.version, words(r.outcome())));
    let from = from.map_or(String::new(), |from| format!(" ({from})"));
    let device = &run.head.device;
    Section {
        title: format!("{} on {}: {}{from}", run.system.name, device.id, device.name),
        provenance: run.head.provenance.clone(),
        baseline: baseline(run),
        rows,
        complete,
        left_out: left_out.chain(interrupted).collect(),
    }
}

/// What the speed-ups of a run are over.
fn baseline(run: &Run) -> &'static str {
    speed_ups::baseline(run.results.first().map(|result| result.version.as_str()))
}

/// Rows of a run; results that did not pass are left out.
pub fn rows(run: &Run) -> Vec<Row> {
    let paper = published::paper();
    let system = run.system.name.as_str();
    // The paper's registers and warps are of its own systems as well.
    let of_paper = |version: &str| {
        paper.iter().find(|row| row.version == version && row.time_s(system).is_some())
    };
    let baseline = baseline(run);
    let here = run.passed_result(baseline).map(|result| result.times.median);
    let there = of_paper(baseline).and_then(|row| row.time_s(system));
    let passed = run.results.iter().filter(|result| result.passed());
    let mut rows: Vec<Row> = passed
        .map(|result| {
            let published = of_paper(&result.version);
            let row = row(run, result, published);
            Row {
                baseline: baseline.into(),
                over_baseline: here.map(|here| here / row.time_s),
                paper_over_baseline: there.zip(row.paper_time_s).map(|(v0, time)| v0 / time),
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

fn row(run: &Run, result: &Measurement, published: Option<&PaperRow>) -> Row {
    let system = &run.system.name;
    Row {
        from: None,
        device: run.head.device.name.clone(),
        system: system.clone(),
        version: result.version.clone(),
        time_s: result.times.median,
        sigma_s: result.times.sigma(),
        tflops: result.tflops,
        baseline: String::new(),
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
    }
}

/// Whether the step from the nearest version before goes the other way than in the paper.
fn order_differs(row: &Row, rows: &[Row]) -> bool {
    let ids = rows.iter().map(|row| row.version.as_str());
    let before = order::nearest_before(&row.version, ids);
    let before = before.and_then(|id| rows.iter().find(|row| row.version == id));
    let faster = |time: fn(&Row) -> Option<f64>| Some(time(row)? < time(before?)?);
    let here = faster(|row| Some(row.time_s));
    here.zip(faster(|row| row.paper_time_s)).is_some_and(|(here, there)| here != there)
}

/// Has the rates follow the operations that the profiler counted, so that one page has one rate.
pub fn rate_by(rows: &mut [Row], profiles: &[Profile]) {
    for row in rows {
        if let Some(profile) = profiles.iter().find(|profile| profile.version == row.version) {
            row.tflops = Some(profile.flops() / row.time_s / 1e12);
            row.flops_source = format!("of the profiles below: {}", profile.source);
        }
    }
}

/// Whether the talk's and the blog's tables belong beside these sections: they name no system, their
/// times are like those of one of the paper's.
pub fn has_published_beside(sections: &[Section]) -> bool {
    let mut rows = sections.iter().flat_map(|section| &section.rows);
    rows.any(|row| row.system == published::BESIDE_SYSTEM)
}
