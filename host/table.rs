//! `gpp table`: times and speed-ups next to the published figures.

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::catalogue::{BackEnd, find, journey_of, order};
use crate::cli::{Format, PAPER_SYSTEM, TableArgs};
use crate::devices::gpu::Gpu;
use crate::error::{Result, invalid};
use crate::outcomes::{by_series, differs, over_baseline};
use crate::output::{check_outputs, document, is_stdout, print};
use crate::profile::run_file;
use crate::ranks::Alone;
use crate::record;
use crate::record::run::{Measurement, Run, State, Times, Verdict};
use crate::run::{exit_code, measured};
use crate::terminal::{Cells, Unit, digits, or_dash, outcome, rated_by, sigma};

pub fn table(args: &TableArgs) -> anyhow::Result<ExitCode> {
    args.run.check_files(&Alone)?;
    check_outputs(&args.csv, &args.from)?;
    let (format, csv_path, quiet) = (args.format, args.csv.clone(), args.run.output.quiet);
    let show = move |sections: &[Section], to_stdout: bool| -> anyhow::Result<()> {
        let to_stdout = to_stdout || csv_path.as_deref().is_some_and(is_stdout);
        let printed = match format {
            _ if quiet || to_stdout => Ok(()),
            Format::Text => print(|to| text(to, sections)),
            Format::Markdown => print(|to| write!(to, "{}", markdown(sections))),
        };
        // The file is written even if printing fails.
        if let Some(path) = &csv_path {
            document(path, |to| csv(to, sections))?;
        }
        Ok(printed?)
    };
    if let Some(path) = &args.from {
        let path = run_file(path)?;
        let run: Run = record::read(&path)?;
        let mut sections = sections(&run, &format!(" ({})", path.display()));
        if let Some(names) = &args.run.version {
            let wanted = crate::catalogue::names::versions(names, BackEnd::Gpu)?;
            for section in &mut sections {
                section.rows.retain(|row| wanted.iter().any(|own| own.id() == row.version));
            }
            sections.retain(|section| !section.rows.is_empty());
        }
        if sections.iter().all(|section| section.rows.is_empty()) {
            let left_out: Vec<_> = sections.iter().flat_map(|s| s.left_out.clone()).collect();
            let what = format!("has no such result that passed: {}", left_out.join(", "));
            return Err(invalid(path.display(), what).into());
        }
        show(&sections, false)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut run = args.run.clone();
    if run.problem.input.is_none() && run.devices.device != "cpu" && Gpu::count().is_ok() {
        run.problem.system.get_or_insert(PAPER_SYSTEM.into());
    }
    let done = measured(&run, &Alone, move |output, run| {
        if let Some(path) = &output.json {
            record::write(path, run)?;
        }
        show(&sections(run, ""), output.json.as_deref().is_some_and(is_stdout))
    })?;
    Ok(exit_code(&done.results, run.no_verify))
}

// What was published, in data/published.

/// What was published of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Published {
    pub time_s: Option<f64>,
    /// 10¹² operations.
    pub tflop: Option<f64>,
    pub tflops: Option<f64>,
    /// FLOP/byte on HBM.
    pub intensity: Option<f64>,
    pub registers: Option<u32>,
    pub warps_per_sm: Option<u32>,
}

/// A row of the paper's Table I: one V100.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct PaperRow {
    pub version: String,
    pub si214_time_s: f64,
    pub si214_tflops: f64,
    pub si510_time_s: f64,
    pub si510_tflops: f64,
    pub warps_per_sm: u32,
    pub registers_per_thread: u32,
}

/// A row of the talk's table (NERSC, February 2020), in its own numbering.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct TalkRow {
    pub version: String,
    pub name: String,
    pub tflop: f64,
    pub time_s: f64,
    pub tflops: f64,
}

/// A step of the blog; what it does not publish is empty.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct BlogRow {
    pub step: String,
    pub change: String,
    pub time_s: Option<f64>,
    pub tflops: Option<f64>,
    pub arithmetic_intensity: Option<f64>,
}

fn rows_of<T: DeserializeOwned>(text: &str) -> Vec<T> {
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    rows.collect::<Result<_, _>>().expect("data/published is checked by a test")
}

/// What was published of a version on a system, one V100; the blog's and the talk's system, which they do not name,
/// has times like those of si214.
pub fn published(version: &str, system: &str) -> Option<Published> {
    match (journey_of(version)?.id, system) {
        ("paper", "si214" | "si510") => {
            let rows: Vec<PaperRow> = rows_of(include_str!("../data/published/table1.csv"));
            let row = rows.iter().find(|row| row.version == version)?;
            let (time_s, tflops) = match system {
                "si214" => (row.si214_time_s, row.si214_tflops),
                _ => (row.si510_time_s, row.si510_tflops),
            };
            Some(Published {
                time_s: Some(time_s),
                tflops: Some(tflops),
                registers: Some(row.registers_per_thread),
                warps_per_sm: Some(row.warps_per_sm),
                ..Published::default()
            })
        }
        ("talk", "si214") => {
            let rows: Vec<TalkRow> = rows_of(include_str!("../data/published/talk.csv"));
            let own = |row: &TalkRow| format!("talk:{}", row.version.to_uppercase()) == version;
            let TalkRow { tflop, time_s, tflops, .. } = rows.into_iter().find(own)?;
            let [tflop, time_s, tflops] = [tflop, time_s, tflops].map(Some);
            Some(Published { tflop, time_s, tflops, ..Published::default() })
        }
        ("blog", "si214") => {
            let rows: Vec<BlogRow> = rows_of(include_str!("../data/published/blog.csv"));
            let own = |row: &BlogRow| format!("blog:{}", row.step) == version;
            let BlogRow { time_s, tflops, arithmetic_intensity: intensity, .. } =
                rows.into_iter().find(own)?;
            Some(Published { time_s, tflops, intensity, ..Published::default() })
        }
        _ => None,
    }
}

/// The published time of the baseline over that of a version.
pub fn published_over_baseline(version: &str, system: &str) -> Option<f64> {
    let time = |id: &str| published(id, system)?.time_s;
    Some(time(order::baseline(version)?)? / time(version)?)
}

// Rows: a version here and where it was published.

/// Versions of one series on one system and device.
#[derive(Clone, Debug)]
pub struct Section {
    pub series: &'static str,
    /// System, device and file.
    pub title: String,
    /// The version that the speed-ups are over.
    pub baseline: &'static str,
    pub rows: Vec<Row>,
    /// What did not pass, and what an interrupt left out.
    pub left_out: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub system: String,
    pub device: String,
    pub version: String,
    pub time_s: f64,
    pub sigma_s: Option<f64>,
    pub samples: usize,
    /// Median clock of the streaming multiprocessors in MHz.
    pub sm_mhz: Option<f64>,
    pub cycles: Option<f64>,
    pub energy_j: Option<f64>,
    /// Share of the clock that the power limit took.
    pub clock_lost: Option<f64>,
    pub tflops: Option<f64>,
    pub flops_source: String,
    pub over_baseline: Option<f64>,
    pub warps_per_sm: Option<u32>,
    pub registers: Option<u32>,
    pub published_time_s: Option<f64>,
    pub published_tflop: Option<f64>,
    pub published_tflops: Option<f64>,
    pub published_over_baseline: Option<f64>,
    pub published_intensity: Option<f64>,
    pub published_warps_per_sm: Option<u32>,
    pub published_registers: Option<u32>,
    /// Whether this step is faster here and was slower there, or the other way round.
    pub order_differs: bool,
    /// Whether its time differs from that of the version before by more than noise; empty for few samples.
    pub step: Option<Verdict>,
    #[serde(skip)]
    pub times: Times,
}

impl Row {
    /// Whether noise explains the step from the version before.
    pub fn is_noise(&self) -> bool {
        self.step == Some(Verdict::Noise)
    }
}

/// The sections of a run, one for each series; `from` ends the titles.
pub fn sections(run: &Run, from: &str) -> Vec<Section> {
    let device = &run.head.device;
    let section = |(series, results): (&'static str, Vec<Measurement>)| {
        let is_emulated = results.iter().all(|result| result.emulated);
        let emulated = if is_emulated { ", emulated" } else { "" };
        let left_out = results.iter().filter(|result| !result.passed());
        let left_out = left_out.map(|r| format!("{}: {}", r.version, outcome(r.outcome())));
        Section {
            series,
            title: format!("{} on {}: {}{emulated}{from}", run.system.name, device.id, device.name),
            baseline: over_baseline(&results).0,
            left_out: left_out.collect(),
            rows: rows(run, &results),
        }
    };
    let mut sections: Vec<Section> = by_series(&run.results).into_iter().map(section).collect();
    if let (false, Some(last)) = (run.head.complete, sections.last_mut()) {
        last.left_out.push("the rest: the run was interrupted".into());
    }
    sections
}

fn rows(run: &Run, results: &[Measurement]) -> Vec<Row> {
    let (_, over) = over_baseline(results);
    let passed = results.iter().zip(over).filter(|(result, _)| result.passed());
    let mut rows: Vec<Row> = passed.map(|(result, over)| row(run, result, over)).collect();
    for at in 0..rows.len() {
        let ids = rows.iter().map(|row| row.version.as_str());
        let before = order::nearest_before(&rows[at].version, ids);
        let Some(before) = rows.iter().find(|row| Some(row.version.as_str()) == before) else {
            continue;
        };
        let row = &rows[at];
        let there = row.published_time_s.zip(before.published_time_s);
        let differs_there =
            there.is_some_and(|(now, before_s)| (now < before_s) != (row.time_s < before.time_s));
        (rows[at].step, rows[at].order_differs) =
            (differs(&before.times, &row.times), differs_there);
    }
    rows
}

fn row(run: &Run, result: &Measurement, over_baseline: Option<f64>) -> Row {
    let system = &run.system.name;
    let there = published(&result.version, system).unwrap_or_default();
    Row {
        system: system.clone(),
        device: run.head.device.name.clone(),
        version: result.version.clone(),
        time_s: result.times.median,
        sigma_s: result.times.sigma(),
        samples: result.times.samples.len(),
        sm_mhz: result.sm_mhz(),
        cycles: result.cycles(),
        energy_j: result.energy_j,
        clock_lost: result.state.as_ref().and_then(State::clock_lost),
        tflops: result.tflops,
        flops_source: result.flops_source.clone(),
        over_baseline,
        warps_per_sm: result.warps_per_sm,
        registers: result.registers,
        published_time_s: there.time_s,
        published_tflop: there.tflop,
        published_tflops: there.tflops,
        published_over_baseline: published_over_baseline(&result.version, system),
        published_intensity: there.intensity,
        published_warps_per_sm: there.warps_per_sm,
        published_registers: there.registers,
        order_differs: false,
        step: None,
        times: result.times.clone(),
    }
}

// The table in every form.

/// The columns in which a row has a value.
pub fn cells(section: &Section) -> Cells {
    let rows = &section.rows;
    let is_published = rows.iter().any(|row| row.published_time_s.is_some());
    let (time, rate) = match is_published {
        true => (Unit::MILLISECONDS, Unit::of_rates([1e12])),
        false => (
            Unit::of_times(rows.iter().map(|row| row.time_s)),
            Unit::of_rates(rows.iter().filter_map(|row| row.tflops).map(|tera| tera * 1e12)),
        ),
    };
    let version = |row: &Row| match row {
        row if row.is_noise() => format!("{} ≈", row.version),
        row if row.order_differs => format!("{} *", row.version),
        row => row.version.clone(),
    };
    let times = |ratio: Option<f64>| or_dash(ratio.map(|ratio| format!("{ratio:.2}×")));
    let change = |row: &Row| match section.series {
        "paper" => "–".into(),
        _ => or_dash(find(&row.version).map(|listed| listed.version.change)),
    };
    let over = format!("over {}", section.baseline);
    Cells::new(
        &[
            ("version", &version),
            ("what it changes", &change),
            (&format!("time [{}]", time.name), &|row: &Row| time.show(row.time_s)),
            ("σ", &|row: &Row| sigma(&row.times)),
            ("clock [MHz]", &|row: &Row| or_dash(row.sm_mhz.map(|mhz| format!("{mhz:.0}")))),
            ("clock lost", &|row: &Row| {
                or_dash(row.clock_lost.map(|share| format!("{:.1} %", 100.0 * share)))
            }),
            ("energy [J]", &|row: &Row| or_dash(row.energy_j.map(digits))),
            (rate.name, &|row: &Row| or_dash(row.tflops.map(|tera| rate.show(tera * 1e12)))),
            (&over, &|row: &Row| times(row.over_baseline)),
            ("warps/SM", &|row: &Row| or_dash(row.warps_per_sm)),
            ("registers", &|row: &Row| or_dash(row.registers)),
            ("V100 time [ms]", &|row: &Row| {
                or_dash(row.published_time_s.map(|time| format!("{:.0}", time * 1e3)))
            }),
            ("V100 TFLOP", &|row: &Row| {
                or_dash(row.published_tflop.map(|count| format!("{count:.2}")))
            }),
            ("V100 TFLOP/s", &|row: &Row| {
                or_dash(row.published_tflops.map(|rate| format!("{rate:.2}")))
            }),
            (&format!("V100 {over}"), &|row: &Row| times(row.published_over_baseline)),
            ("V100 FLOP/byte", &|row: &Row| or_dash(row.published_intensity)),
            ("V100 warps/SM", &|row: &Row| or_dash(row.published_warps_per_sm)),
            ("V100 registers", &|row: &Row| or_dash(row.published_registers)),
        ],
        rows.clone(),
    )
    .filled()
}

/// What the marks of a section mean, and where its published figures come from.
pub fn notes(section: &Section) -> Vec<String> {
    let rows = &section.rows;
    let mut notes = Vec::new();
    if rows.iter().any(Row::is_noise) {
        notes.push("≈ not significantly different from the version before".to_string());
    }
    if rows.iter().any(|row| row.order_differs && !row.is_noise()) {
        notes.push(
            "* faster than the version before here and slower there, or the other way round".into(),
        );
    }
    if section.series != "paper"
        && rows.iter().any(|row| row.published_tflops.or(row.published_time_s).is_some())
    {
        notes.push(format!(
            "V100: as published in the {}, for a system that it does not name",
            section.series
        ));
    }
    notes
}

fn title(section: &Section) -> String {
    match section.series {
        "paper" => section.title.clone(),
        series => format!("{series}: {}", section.title),
    }
}

/// The tables for the terminal, one for each section.
pub fn text(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    for section in sections {
        writeln!(to, "{}", title(section))?;
        cells(section).print(to)?;
        section.left_out.iter().try_for_each(|what| writeln!(to, "left out: {what}"))?;
        notes(section).iter().try_for_each(|note| writeln!(to, "{note}"))?;
    }
    let rows = sections.iter().flat_map(|section| &section.rows);
    let mut sources: Vec<&str> = rows.map(|row| row.flops_source.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    sources.iter().try_for_each(|source| writeln!(to, "{}", rated_by(source)))
}

pub fn markdown(sections: &[Section]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let of = |section: &Section| {
        let Cells { headings, rows } = cells(section);
        let rule = vec!["---".to_string(); headings.len()];
        let rows: String = rows.iter().map(|row| line(row)).collect();
        let left_out = section.left_out.iter().map(|what| format!("left out: {what}"));
        let notes: String =
            left_out.chain(notes(section)).map(|note| format!("- {note}\n")).collect();
        format!("{}:\n\n{}{}{rows}\n{notes}", title(section), line(&headings), line(&rule))
    };
    sections.iter().map(of).collect::<Vec<_>>().join("\n")
}

pub fn csv(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    for row in sections.iter().flat_map(|section| &section.rows) {
        csv.serialize(row)?;
    }
    csv.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_row_is_of_a_version() {
        let time = |version, system| published(version, system).unwrap().time_s;
        assert_eq!((time("v0", "si214"), time("v8", "si510")), (Some(1.691), Some(7.565)));
        assert_eq!(published("talk:V7", "si214").unwrap().tflop, Some(2.09));
        assert_eq!(published("blog:baseline", "si214").unwrap().intensity, Some(7.39));
        assert_eq!(published("v0", "demo"), None);
        assert_eq!(published_over_baseline("talk:V7", "si214"), Some(1.63 / 0.66));
    }
}
