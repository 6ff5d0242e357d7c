//! `gpp table`: times and speed-ups next to the published ones.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::catalogue::{self, BackEnd, find, series_of};
use crate::cli::{PAPER_SYSTEM, TableArgs};
use crate::devices::gpu::Gpu;
use crate::error::invalid;
use crate::output::{check_outputs, document, is_stdout, print};
use crate::profile::run_file;
use crate::ranks::Alone;
use crate::record::run::{Measurement, Run, Verdict};
use crate::record::{self, State};
use crate::run::{by_series, differs, exit_code, measured, over_baseline};
use crate::terminal::{Cells, Unit, digits, or_dash, outcome};

pub fn table(args: &TableArgs) -> anyhow::Result<ExitCode> {
    args.run.check_files(&Alone)?;
    check_outputs(&args.csv, &args.from)?;
    let (csv_path, quiet) = (args.csv.clone(), args.run.output.quiet);
    let show = move |sections: &[Section], to_stdout: bool| -> anyhow::Result<()> {
        let to_stdout = to_stdout || csv_path.as_deref().is_some_and(is_stdout);
        let printed = if quiet || to_stdout { Ok(()) } else { print(|to| text(to, sections)) };
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
            let wanted = catalogue::named(names, BackEnd::Gpu)?;
            let is_wanted = |row: &Row| wanted.iter().any(|own| own.id() == row.result.version);
            sections.iter_mut().for_each(|section| section.rows.retain(is_wanted));
            sections.retain(|section| !section.rows.is_empty());
        }
        if sections.iter().all(|section| section.rows.is_empty()) {
            let left_out: Vec<_> = sections.into_iter().flat_map(|own| own.left_out).collect();
            let what = format!("has no verified result of these versions: {}", left_out.join(", "));
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

/// What was published of a version, measured on one V100.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Published {
    pub time_s: Option<f64>,
    pub tflops: Option<f64>,
    pub registers: Option<f64>,
    pub warps_per_sm: Option<f64>,
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
    Some(Published {
        time_s: of_system("time_s"),
        tflops: of_system("tflops"),
        registers: number("registers_per_thread"),
        warps_per_sm: number("warps_per_sm"),
    })
}

/// Versions of one series on one system and device.
#[derive(Clone, Debug)]
pub struct Section {
    pub series: &'static str,
    pub title: String,
    pub system: String,
    pub baseline: &'static str,
    pub rows: Vec<Row>,
    /// What did not pass, and what an interrupt left out.
    pub left_out: Vec<String>,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub result: Measurement,
    pub over_baseline: Option<f64>,
    pub published: Published,
    pub published_over_baseline: Option<f64>,
    /// Whether it is faster than the version before here and slower there, or the other way round.
    pub order_differs: bool,
    /// Whether its time differs significantly from that of the version before; `None` for few samples.
    pub step: Option<Verdict>,
}

impl Row {
    pub fn is_noise(&self) -> bool {
        self.step == Some(Verdict::Noise)
    }

    pub fn clock_lost(&self) -> Option<f64> {
        self.result.state.as_ref().and_then(State::clock_lost)
    }
}

/// A section for each series of a run; `from` ends the titles.
pub fn sections(run: &Run, from: &str) -> Vec<Section> {
    let (device, system) = (&run.head.device, &run.system.name);
    let section = |(series, results): (&'static str, Vec<Measurement>)| {
        let is_emulated = results.iter().all(|result| result.emulated);
        let emulated = if is_emulated { ", emulated" } else { "" };
        let left_out = results.iter().filter(|result| !result.passed());
        let left_out = left_out.map(|r| format!("{}: {}", r.version, outcome(r.outcome())));
        let left_out = left_out.collect();
        let (baseline, over) = over_baseline(&results);
        let mut rows: Vec<Row> = Vec::new();
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
            let step = before.and_then(|before| differs(&before.result.times, &result.times));
            let there = |id: &str| self::published(id, system)?.time_s;
            let base = catalogue::baseline(&result.version).and_then(there);
            let published_over_baseline =
                base.zip(published.time_s).map(|(base, time)| base / time);
            rows.push(Row {
                result,
                over_baseline,
                published,
                published_over_baseline,
                order_differs,
                step,
            });
        }
        let of = run.system.sample_of.map(|all| format!(" ({} of {all} G′)", run.system.ngpown));
        let of = of.unwrap_or_default();
        let title = format!("{system}{of} on {}: {}{emulated}{from}", device.id, device.name);
        Section { series, title, system: system.clone(), baseline, rows, left_out }
    };
    let mut sections: Vec<Section> = by_series(&run.results).into_iter().map(section).collect();
    if let (false, Some(last)) = (run.head.complete, sections.last_mut()) {
        last.left_out.push("the rest: the run was interrupted".into());
    }
    sections
}

pub fn cells(section: &Section) -> Cells {
    let rows = &section.rows;
    let (time, rate) = match rows.iter().any(|row| row.published.time_s.is_some()) {
        true => (Unit::of_times([1e-3]), Unit::of_rates([1e12])),
        false => (
            Unit::of_times(rows.iter().map(|row| row.result.times.median)),
            Unit::of_rates(rows.iter().filter_map(|row| Some(row.result.tflops? * 1e12))),
        ),
    };
    let times = |ratio: Option<f64>| or_dash(ratio.map(|ratio| format!("{ratio:.2}×")));
    let percent =
        |share: Option<f64>| or_dash(share.map(|share| format!("{:.1} %", 100.0 * share)));
    let over = format!("over {}", section.baseline);
    Cells::new(
        &[
            ("version", &|row: &&Row| match row {
                row if row.is_noise() => format!("{} ≈", row.result.version),
                row if row.order_differs => format!("{} *", row.result.version),
                row => row.result.version.clone(),
            }),
            ("what it changes", &|row: &&Row| match section.series {
                "paper" => "–".into(),
                _ => or_dash(find(&row.result.version).map(|listed| listed.version.change)),
            }),
            (&format!("time [{}]", time.name), &|row: &&Row| time.show(row.result.times.median)),
            (&over, &|row: &&Row| times(row.over_baseline)),
            (rate.name, &|row: &&Row| {
                or_dash(row.result.tflops.map(|tera| rate.show(tera * 1e12)))
            }),
            ("V100 time [ms]", &|row: &&Row| {
                or_dash(row.published.time_s.map(|time| format!("{:.0}", time * 1e3)))
            }),
            (&format!("V100 {over}"), &|row: &&Row| times(row.published_over_baseline)),
            ("V100 TFLOP/s", &|row: &&Row| {
                or_dash(row.published.tflops.map(|rate| format!("{rate:.2}")))
            }),
            ("spread", &|row: &&Row| {
                let times = &row.result.times;
                percent(times.sigma().map(|sigma| sigma / times.median))
            }),
            ("clock [MHz]", &|row: &&Row| {
                or_dash(row.result.sm_mhz().map(|mhz| format!("{mhz:.0}")))
            }),
            ("clock lost", &|row: &&Row| percent(row.clock_lost())),
            ("energy [J]", &|row: &&Row| or_dash(row.result.energy_j.map(digits))),
            ("warps/SM", &|row: &&Row| or_dash(row.result.warps_per_sm)),
            ("registers", &|row: &&Row| or_dash(row.result.registers)),
            ("V100 warps/SM", &|row: &&Row| or_dash(row.published.warps_per_sm)),
            ("V100 registers", &|row: &&Row| or_dash(row.published.registers)),
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
        (rows.iter().any(Row::is_noise), "≈ not significantly different from the row above"),
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
    let counted = rows().filter(|row| row.result.tflops.is_some());
    let mut sources: Vec<&str> = counted.map(|row| row.result.flops_source.as_str()).collect();
    sources.sort_unstable();
    sources.dedup();
    for source in sources {
        let source = source.trim_start_matches("archived: ");
        writeln!(to, "FLOP/s by {source}; – means not counted")?;
    }
    if rows().all(|row| row.published == Published::default()) {
        writeln!(to, "Nothing is published of these versions and this system.")?;
    }
    Ok(())
}

fn csv(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    let headings = "system device version time_s sigma_s samples sm_mhz clock_lost energy_j tflops over_baseline \
                    significant published_time_s published_tflops published_over_baseline";
    csv.write_record(headings.split(' '))?;
    for (section, row) in sections.iter().flat_map(|own| own.rows.iter().map(move |row| (own, row)))
    {
        let Row { result, published, .. } = row;
        csv.serialize((
            (&section.system, &result.device, &result.version),
            (result.times.median, result.times.sigma(), result.times.samples.len()),
            (result.sm_mhz(), row.clock_lost(), result.energy_j, result.tflops),
            (row.over_baseline, row.step.map(|step| step == Verdict::Differs)),
            (published.time_s, published.tflops, row.published_over_baseline),
        ))?;
    }
    csv.flush()
}
