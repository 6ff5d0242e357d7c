//! `gpp table`: Table I beside the published columns.

pub mod published;
pub mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use crate::catalogue::names::{versions, versions_for};
use crate::catalogue::{BackEnd, order};
use crate::cli::args::{Format, TableArgs, default_for};
use crate::error::{Error, Result};
use crate::explain::verdict::differs;
use crate::outcomes::{self, by_story, words};
use crate::output::{Files, Kept, document, is_stdout, note, print};
use crate::profile::run_file;
use crate::record::profile::Profile;
use crate::record::run::{Measurement, Run, State, Times, Verdict};
use crate::record::{self, Provenance};
use crate::run::{self, Options, exit_code_of, say_last};
use crate::setup::{self, Setting};
use crate::table::published::{PaperRow, Told};

pub fn table(args: &TableArgs) -> anyhow::Result<ExitCode> {
    let forms = Forms::of(args)?;
    if args.from.is_empty() {
        return live(args, forms);
    }
    let sections = stored(args)?;
    // The table for the terminal says it itself.
    if !args.output.quiet && !forms.shows_table() {
        for section in &sections {
            for what in &section.left_out {
                note(format_args!("note: left out of {}: {what}", section.title));
            }
        }
    }
    forms.show(&sections)?;
    Ok(ExitCode::SUCCESS)
}

/// The sections of stored runs, those of the journeys asked for.
fn stored(args: &TableArgs) -> Result<Vec<Section>> {
    let wanted = match &args.versions.journey {
        Some(_) => Some(versions(args.versions.names()?, BackEnd::Gpu)?),
        None => None,
    };
    let mut sections = Vec::new();
    for path in &args.from {
        let mut read = read(&run_file(path)?)?;
        if let Some(wanted) = &wanted {
            let is_wanted = |row: &Row| wanted.iter().any(|version| version.id() == row.version);
            read.retain(|section| section.rows.iter().any(is_wanted));
        }
        if read.is_empty() {
            let what = format!("has no version of {}", args.versions.names()?);
            return Err(Error::Input { origin: path.display().to_string(), what });
        }
        sections.append(&mut read);
    }
    Ok(sections)
}

fn live(args: &TableArgs, forms: Forms) -> anyhow::Result<ExitCode> {
    let progress = args.output.progress();
    // Whatever can fail at once fails before the device is opened.
    let named = versions(args.versions.names()?, BackEnd::Gpu)?;
    let mut sources = args.problems.named()?;
    let device = crate::setup::device(&args.measure.place, &named, progress)?;
    let names = args.versions.names()?;
    let of_any = versions(names, device.back_end())?;
    if sources.is_empty() {
        let name = default_for(device.info(), false, progress);
        sources.push(args.problems.default_system(name)?);
    }
    setup::require_vectors(&args.measure.place, &of_any)?;
    // A run for each problem.
    let kept = Kept::new(Vec::<Run>::new(), move |runs| {
        let ran = runs.iter().filter(|run| !run.results.is_empty());
        let shown: Vec<Section> = ran.flat_map(|run| sections(run, None)).collect();
        if shown.is_empty() { Ok(()) } else { forms.show(&shown) }
    });
    let measured = || -> Result<ExitCode> {
        let mut exit = ExitCode::SUCCESS;
        for (at, source) in sources.iter().enumerate() {
            let problem = source.load(progress)?;
            let repetition = args.measure.repetition(device.as_ref(), problem.terms());
            let emulated = args.measure.emulated();
            let compares = !args.verify.no_verify;
            let versions = versions_for(names, device.back_end(), Some(problem.outline()))?;
            let options = Options { emulated, compares, ..Options::new(&versions, repetition) };
            let keep = |run: &Run| {
                kept.change(|runs| {
                    runs.truncate(at);
                    runs.push(run.clone());
                });
            };
            let device = device.as_ref();
            let run =
                run::run_versions(&Setting::whole(&device, &problem), &options, progress, |run| {
                    keep(run);
                    say_last(run, progress);
                })?;
            keep(&run);
            if exit_code_of(&run.results, args.verify) != ExitCode::SUCCESS {
                exit = ExitCode::FAILURE;
            }
        }
        Ok(exit)
    };
    let done = measured();
    kept.finish(done)
}

/// The forms in which the table is wanted.
struct Forms {
    format: Format,
    quiet: bool,
    json: Option<PathBuf>,
    csv: Option<PathBuf>,
}

impl Forms {
    /// Fails where a file could not be written later.
    fn of(args: &TableArgs) -> Result<Forms> {
        let (json, csv) = (args.output.json.clone(), args.csv.clone());
        let files = Files::new().reads("--from", &args.from).reads("--input", &args.problems.input);
        files.writes_or_prints("--json", &json).writes_or_prints("--csv", &csv).check()?;
        Ok(Forms { format: args.format, quiet: args.output.quiet, json, csv })
    }

    /// Whether the table for the terminal is printed.
    fn shows_table(&self) -> bool {
        let mut documents = [&self.json, &self.csv].into_iter().flatten();
        let is_free = !documents.any(|path| is_stdout(path));
        !self.quiet && is_free && self.format == Format::Text
    }

    fn show(&self, sections: &[Section]) -> anyhow::Result<()> {
        let printed = match self.format {
            Format::Text if self.shows_table() => print(|to| show::text(to, sections)),
            Format::Text => Ok(()),
            Format::Markdown => print(|to| write!(to, "{}", show::markdown(sections))),
        };
        // What cannot be printed does not keep files from being written.
        if let Some(path) = &self.csv {
            document(path, |to| show::csv(to, sections))?;
        }
        if let Some(path) = &self.json {
            document(path, |to| show::json(to, sections))?;
        }
        Ok(printed?)
    }
}

// The paper's Table I, live, and the tables of other journeys: runs on the device at hand beside the
// published columns.

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
    pub rows: Vec<Row>,
    /// Whether the run came to its end.
    pub complete: bool,
    /// What did not pass, and how it came out.
    pub left_out: Vec<String>,
}

pub fn read(path: &Path) -> Result<Vec<Section>> {
    let run: Run = record::read(path)?;
    let from = path.display().to_string();
    let sections = sections(&run, Some(&from));
    let wrong = |what: String| Err(Error::Input { origin: from.clone(), what });
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
    let told = by_story(&run.results);
    let mut sections: Vec<Section> =
        told.iter().map(|(journey, results)| section(run, journey, results, from)).collect();
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
) -> Section {
    let mut rows = rows_of(run, journey, results);
    for row in &mut rows {
        row.from = from.map(str::to_string);
    }
    let left_out = results.iter().filter(|result| !result.passed());
    let left_out = left_out.map(|r| format!("{}: {}", r.version, words(r.outcome())));
    let from = from.map_or(String::new(), |from| format!(" ({from})"));
    let emulated = results.iter().all(|result| result.emulated);
    let emulated = if emulated { ", emulated" } else { "" };
    let device = &run.head.device;
    Section {
        journey,
        title: format!("{} on {}: {}{emulated}{from}", run.system.name, device.id, device.name),
        provenance: run.head.provenance.clone(),
        baseline: baseline(results),
        rows,
        complete: run.head.complete,
        left_out: left_out.collect(),
    }
}

/// What the speed-ups of these results are over.
fn baseline(results: &[Measurement]) -> &'static str {
    outcomes::baseline(results.first().map(|result| result.version.as_str()))
}

/// Rows of a run, journey by journey; results that did not pass are left out.
pub fn rows(run: &Run) -> Vec<Row> {
    sections(run, None).into_iter().flat_map(|section| section.rows).collect()
}

fn rows_of(run: &Run, journey: &str, results: &[Measurement]) -> Vec<Row> {
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
    let here = run.passed_result(baseline).filter(|_| !is_alone);
    let there = of_paper(baseline).and_then(|row| row.time_s(system));
    let told_there = of_journey(baseline).and_then(|told| told.time_s);
    let passed = results.iter().filter(|result| result.passed());
    let mut rows: Vec<Row> = passed
        .map(|result| {
            let row = row(run, result, of_paper(&result.version), of_journey(&result.version));
            Row {
                baseline: baseline.into(),
                journey: journey.into(),
                over_baseline: here.map(|here| here.times.median / result.times.median),
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

// A row of a table: a version on a system, here and where it was published.

/// One version on one system, here and in the paper.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The file that the run was read from; `None` for one made now.
    pub from: Option<String>,
    pub device: String,
    pub system: String,
    pub version: String,
    pub time_s: f64,
    /// Standard deviation of the times here, of at least two.
    pub sigma_s: Option<f64>,
    /// 95 % interval of the median here: from.
    pub interval_from_s: Option<f64>,
    /// 95 % interval of the median here: to.
    pub interval_to_s: Option<f64>,
    pub samples: usize,
    /// Median clock of the multiprocessors here, in MHz.
    pub sm_mhz: Option<f64>,
    pub cycles: Option<f64>,
    /// Energy of a calculation here, in joules.
    pub energy_j: Option<f64>,
    /// Timed runs here during which something held the clock back.
    pub held_back: Option<usize>,
    /// What the limit of power took of the clock here, as a share of the highest at which the version was seen.
    pub clock_lost: Option<f64>,
    /// The same in percent, and what else held the clock back.
    pub held_back_by: Option<String>,
    /// Rate here; `None` for a version whose operations are not counted.
    pub tflops: Option<f64>,
    /// The version that the speed-ups are over.
    pub baseline: String,
    /// The baseline's time over this one's, here.
    pub over_baseline: Option<f64>,
    pub warps_per_sm: Option<u32>,
    pub registers: Option<u32>,
    /// Time in the paper, one V100.
    pub paper_time_s: Option<f64>,
    pub paper_tflops: Option<f64>,
    /// The baseline's time over this one's, in the paper.
    pub paper_over_baseline: Option<f64>,
    pub paper_warps_per_sm: Option<u32>,
    pub paper_registers: Option<u32>,
    /// Whether the step from the version before goes the other way than in the paper: faster there
    /// and slower here, or slower there and faster here.
    pub order_differs: bool,
    /// Whether its time differs from that of the version before by more than noise; `None` of few samples.
    pub step: Option<Verdict>,
    #[serde(skip)]
    pub times: Times,
    /// Where the operation count behind the rate comes from.
    pub flops_source: String,
    pub journey: String,
    /// 10¹² operations, here.
    pub tflop: Option<f64>,
    /// FLOP/byte on HBM here, where a profile counted them.
    pub intensity: Option<f64>,
    /// 10¹² operations in the journey's own source, one V100; not of the paper's versions.
    pub published_tflop: Option<f64>,
    pub published_time_s: Option<f64>,
    pub published_tflops: Option<f64>,
    /// The baseline's time over this one's, in that source.
    pub published_over_baseline: Option<f64>,
    /// That source's FLOP/byte on HBM.
    pub published_intensity: Option<f64>,
}

/// A row without what it has of other rows.
pub fn row(
    run: &Run,
    result: &Measurement,
    published: Option<&PaperRow>,
    told: Option<&Told>,
) -> Row {
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
        clock_lost: result.state.as_ref().and_then(State::clock_lost),
        held_back_by: result.state.as_ref().and_then(outcomes::clock_lost),
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
        step: None,
        times: result.times.clone(),
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

/// Whether the step from the nearest version before is larger than noise.
pub fn step(row: &Row, rows: &[Row]) -> Option<Verdict> {
    let ids = rows.iter().map(|row| row.version.as_str());
    let before = order::nearest_before(&row.version, ids)?;
    let before = rows.iter().find(|row| row.version == before)?;
    differs(&before.times, &row.times)
}

/// Whether the step from the nearest version before goes the other way than in what was published.
pub fn order_differs(row: &Row, rows: &[Row]) -> bool {
    let ids = rows.iter().map(|row| row.version.as_str());
    let before = order::nearest_before(&row.version, ids);
    let before = before.and_then(|id| rows.iter().find(|row| row.version == id));
    let faster = |time: fn(&Row) -> Option<f64>| Some(time(row)? < time(before?)?);
    let here = faster(|row| Some(row.time_s));
    let there = faster(|row| row.paper_time_s.or(row.published_time_s));
    here.zip(there).is_some_and(|(here, there)| here != there)
}
