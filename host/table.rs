//! `gpp table`: times and speed-ups of a record.

use std::io::{self, Write};

use crate::catalogue::find;
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
use crate::summary::NOISE;
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
    /// Whether its time does not differ significantly from that of the row above.
    pub is_noise: bool,
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
            let above = rows.last().map(|above| &above.result.times);
            let is_noise = above.is_some_and(|above| differ(above, &result.times) == Some(false));
            rows.push(TableRow { result, over_baseline, is_noise });
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
            ("version", &|row: &&TableRow| {
                row.result.version.clone() + if row.is_noise { " ≈" } else { "" }
            }),
            ("what it changes", &|row| match section.series {
                "paper" => "–".into(),
                _ => or_dash(find(&row.result.version).map(|listed| listed.label().change)),
            }),
            ("time [ms]", &|row| ms(row.result.times.median)),
            (&over, &|row| times(row.over_baseline)),
            ("TFLOP/s", &|row| or_dash(row.result.tflops.map(digits))),
            ("spread", &|row| {
                let times = &row.result.times;
                percent(times.sigma().map(|sigma| sigma / times.median))
            }),
            ("clock [MHz]", &|row| fixed(row.result.sm_mhz(), 0)),
            ("clock lost", &|row| {
                percent(row.result.clock_and_power.as_ref().and_then(ClockAndPower::clock_lost))
            }),
            ("energy [J]", &|row| or_dash(row.result.energy_j.map(digits))),
            ("warps/SM", &|row| or_dash(row.result.warps_per_sm)),
            ("registers", &|row| or_dash(row.result.registers)),
        ],
        rows,
    )
    .filled()
}

fn text(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    for section in sections {
        let series = Some(section.series).filter(|series| *series != "paper");
        let series = series.map_or(String::new(), |series| format!("{series}: "));
        writeln!(to, "{series}{}", section.title)?;
        cells(section).print(to)?;
        section.left_out.iter().try_for_each(|what| writeln!(to, "left out: {what}"))?;
        if section.rows.iter().any(|row| row.is_noise) {
            writeln!(to, "{NOISE}")?;
        }
    }
    let mut rows = sections.iter().flat_map(|section| &section.rows);
    if rows.any(|row| row.result.tflops.is_some()) {
        writeln!(
            to,
            "FLOP/s by hardware counters of these kernels for si214; – means not counted"
        )?;
    }
    Ok(())
}
