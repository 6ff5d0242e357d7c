//! `gpp table`: times and speed-ups next to the published ones.

use std::io::{self, Write};

use crate::catalogue::{self, find, series_of};
use crate::chart::{Bars, write_svg};
use crate::cli::TableArgs;
use crate::error::invalid;
use crate::offdiag;
use crate::output::print;
use crate::profile::run_file;
use crate::record::run::{
    Measurement, Offdiag, OffdiagResult, RunRecord, by_series, differ, over_baseline,
};
use crate::record::{self, ClockAndPower};
use crate::terminal::{TextTable, digits, fixed, ms, or_dash, outcome};

pub fn table(args: &TableArgs) -> anyhow::Result<bool> {
    let path = run_file(&args.from);
    if let Ok(matrices) = record::read::<Offdiag>(&path) {
        if let Some(plot) = &args.plot {
            write_svg(plot, &bars_of_matrices(&matrices))?;
        }
        print(|to| offdiag::results(&matrices).print(to))?;
        return Ok(true);
    }
    let run: RunRecord = record::read(&path)?;
    let sections = sections(&run, &format!(" ({})", path.display()));
    if sections.iter().all(|section| section.rows.is_empty()) {
        let left_out: Vec<_> = sections.into_iter().flat_map(|section| section.left_out).collect();
        let what = format!("has no verified result: {}", left_out.join(", "));
        return Err(invalid(path.display(), what).into());
    }
    if let Some(plot) = &args.plot {
        write_svg(plot, &bars(&self::sections(&run, "")))?;
    }
    print(|to| text(to, &sections))?;
    Ok(true)
}

/// The times of these sections, of which there is at least one, in one chart.
pub fn bars(sections: &[Section]) -> Bars {
    let bar = |row: &TableRow| (row.result.version.clone(), 1e3 * row.result.times.median);
    let rows = sections.iter().flat_map(|section| &section.rows);
    Bars { title: sections[0].title.clone(), bars: rows.map(bar).collect() }
}

/// The times of the versions of Σ as a matrix.
pub fn bars_of_matrices(run: &Offdiag) -> Bars {
    let (device, system) = (&run.head.device, &run.system.name);
    let bar = |result: &OffdiagResult| Some((result.version.clone()?, 1e3 * result.time_s.median));
    let title = format!("{} bands of {system} on {}: {}", run.count(), device.id, device.name);
    Bars { title, bars: run.results.iter().filter_map(bar).collect() }
}

/// What was published of a version, measured on one V100.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Published {
    pub time_s: Option<f64>,
    pub tflops: Option<f64>,
}

/// Table I of the paper, or the tables of the talk (NERSC, February 2020) and of the blog, which do not name their
/// system, but have times like those of si214. An empty field was not published.
pub fn published(version: &str, system: &str) -> Option<Published> {
    let id = version.split_once(':').map_or(version, |(_, id)| id);
    let table = match (series_of(version)?.id, system) {
        ("paper", "si214" | "si510") => include_str!("../data/published/table1.csv"),
        ("talk", "si214") => include_str!("../data/published/talk.csv"),
        ("blog", "si214") => include_str!("../data/published/blog.csv"),
        _ => return None,
    };
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let headings = reader.headers().expect("data/published is checked by a test").clone();
    let row = reader.records().flatten().find(|row| row[0].eq_ignore_ascii_case(id))?;
    let number = |name: &str| {
        let column = headings.iter().position(|heading| heading == name)?;
        row[column].parse().ok()
    };
    // Table I has two systems.
    let of_system = |name: &str| number(name).or_else(|| number(&format!("{system}_{name}")));
    Some(Published { time_s: of_system("time_s"), tflops: of_system("tflops") })
}

/// Versions of one series on one system and device.
#[derive(Clone, Debug)]
pub struct Section {
    pub series: &'static str,
    pub title: String,
    pub baseline: &'static str,
    pub rows: Vec<TableRow>,
    /// What did not pass, and what an interrupt left out.
    pub left_out: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct TableRow {
    pub result: Measurement,
    pub over_baseline: Option<f64>,
    pub published: Published,
    pub published_over_baseline: Option<f64>,
    /// Whether it is faster than the version before here and slower there, or the other way round.
    pub order_differs: bool,
    /// Whether its time differs significantly from that of the version before; `None` for few samples.
    pub step: Option<bool>,
}

impl TableRow {
    pub fn is_noise(&self) -> bool {
        self.step == Some(false)
    }

    pub fn clock_lost(&self) -> Option<f64> {
        self.result.clock_and_power.as_ref().and_then(ClockAndPower::clock_lost)
    }
}

/// A section for each series of a run; `from` ends the titles.
pub fn sections(run: &RunRecord, from: &str) -> Vec<Section> {
    let (device, system) = (&run.head.device, &run.system.name);
    let section = |(series, results): (&'static str, Vec<Measurement>)| {
        let is_emulated = results.iter().all(|result| result.emulated);
        let emulated = if is_emulated { ", emulated" } else { "" };
        let left_out = results.iter().filter(|result| !result.passed());
        let left_out = left_out.map(|r| format!("{}: {}", r.version, outcome(r.outcome())));
        let left_out = left_out.collect();
        let (baseline, over) = over_baseline(&results);
        let mut rows: Vec<TableRow> = Vec::new();
        for (result, over_baseline) in results.into_iter().zip(over) {
            if !result.passed() {
                continue;
            }
            let published = published(&result.version, system).unwrap_or_default();
            let ids = rows.iter().map(|row| row.result.version.as_str());
            let before = catalogue::nearest_before(&result.version, ids);
            let before = rows.iter().find(|row| Some(row.result.version.as_str()) == before);
            let order_differs = before.is_some_and(|before| {
                let there = published.time_s.zip(before.published.time_s);
                let is_faster = result.times.median < before.result.times.median;
                there.is_some_and(|(now, before)| (now < before) != is_faster)
            });
            let step = before.and_then(|before| differ(&before.result.times, &result.times));
            let there = |id: &str| self::published(id, system)?.time_s;
            let base = catalogue::baseline(&result.version).and_then(there);
            let published_over_baseline =
                base.zip(published.time_s).map(|(base, time)| base / time);
            rows.push(TableRow {
                result,
                over_baseline,
                published,
                published_over_baseline,
                order_differs,
                step,
            });
        }
        let title = format!("{system} on {}: {}{emulated}{from}", device.id, device.name);
        Section { series, title, baseline, rows, left_out }
    };
    let mut sections: Vec<Section> = by_series(&run.results).into_iter().map(section).collect();
    if let (false, Some(last)) = (run.head.complete, sections.last_mut()) {
        last.left_out.push("the rest: the run was interrupted".into());
    }
    sections
}

pub fn cells(section: &Section) -> TextTable {
    let rows = &section.rows;
    let times = |ratio: Option<f64>| or_dash(ratio.map(|ratio| format!("{ratio:.2}×")));
    let percent =
        |share: Option<f64>| or_dash(share.map(|share| format!("{:.1} %", 100.0 * share)));
    let over = format!("over {}", section.baseline);
    TextTable::new(
        &[
            ("version", &|row: &&TableRow| match row {
                row if row.is_noise() => format!("{} ≈", row.result.version),
                row if row.order_differs => format!("{} *", row.result.version),
                row => row.result.version.clone(),
            }),
            ("what it changes", &|row| match section.series {
                "paper" => "–".into(),
                _ => or_dash(find(&row.result.version).map(|listed| listed.label().change)),
            }),
            ("time [ms]", &|row| ms(row.result.times.median)),
            (&over, &|row| times(row.over_baseline)),
            ("TFLOP/s", &|row| or_dash(row.result.tflops.map(digits))),
            ("V100 time [ms]", &|row| fixed(row.published.time_s.map(|time| time * 1e3), 0)),
            (&format!("V100 {over}"), &|row| times(row.published_over_baseline)),
            ("V100 TFLOP/s", &|row| fixed(row.published.tflops, 2)),
            ("spread", &|row| {
                let times = &row.result.times;
                percent(times.sigma().map(|sigma| sigma / times.median))
            }),
            ("clock [MHz]", &|row| fixed(row.result.sm_mhz(), 0)),
            ("clock lost", &|row| percent(row.clock_lost())),
            ("energy [J]", &|row| or_dash(row.result.energy_j.map(digits))),
            ("warps/SM", &|row| or_dash(row.result.warps_per_sm)),
            ("registers", &|row| or_dash(row.result.registers)),
        ],
        rows,
    )
    .filled()
}

pub fn notes(section: &Section) -> Vec<&'static str> {
    let rows = &section.rows;
    let is_published = section.series != "paper"
        && rows.iter().any(|row| row.published.tflops.or(row.published.time_s).is_some());
    let notes = [
        (rows.iter().any(TableRow::is_noise), "≈ not significantly different from the row above"),
        (
            rows.iter().any(|row| row.order_differs && !row.is_noise()),
            "* faster than the row above on one of the two GPUs, slower on the other",
        ),
        (is_published, "V100: as published, without the name of the system"),
    ];
    notes.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note).collect()
}

fn text(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    for section in sections {
        let series = Some(section.series).filter(|series| *series != "paper");
        let series = series.map_or(String::new(), |series| format!("{series}: "));
        writeln!(to, "{series}{}", section.title)?;
        cells(section).print(to)?;
        section.left_out.iter().try_for_each(|what| writeln!(to, "left out: {what}"))?;
        notes(section).iter().try_for_each(|note| writeln!(to, "{note}"))?;
    }
    let rows = || sections.iter().flat_map(|section| &section.rows);
    if rows().any(|row| row.result.tflops.is_some()) {
        writeln!(
            to,
            "FLOP/s by hardware counters of these kernels for si214; – means not counted"
        )?;
    }
    if rows().all(|row| row.published == Published::default()) {
        writeln!(to, "Nothing is published of these versions and this system.")?;
    }
    Ok(())
}
