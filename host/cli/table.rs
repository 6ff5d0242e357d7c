//! `gpp table`: Table I of the paper, or the table of another journey, live.

use std::process::ExitCode;

use super::args::{Format, TableArgs, default_for};
use super::run::{exit_code, say_last};
use crate::analysis::speed_ups::By;
use crate::analysis::table1::{self, Row, Section};
use crate::catalogue::BackEnd;
use crate::catalogue::names::versions;
use crate::error::Error;
use crate::experiments::run::{self, Options};
use crate::experiments::setting::Setting;
use crate::process::interrupt::Kept;
use crate::process::output::print;
use crate::process::progress::Progress;
use crate::process::terminal::note;
use crate::record::run::Run;
use crate::render::table1 as render;

pub fn table(args: &TableArgs) -> anyhow::Result<ExitCode> {
    if args.from.is_empty() {
        return live(args);
    }
    let sections = stored(args)?;
    // The table for the terminal says it itself.
    if !args.quiet && args.format != Format::Terminal {
        for section in &sections {
            for what in &section.left_out {
                note(format_args!("note: left out of {}: {what}", section.title));
            }
        }
    }
    show(&sections, args.format, args.quiet)?;
    Ok(ExitCode::SUCCESS)
}

/// The sections of stored runs, those of the journeys asked for.
fn stored(args: &TableArgs) -> crate::Result<Vec<Section>> {
    let wanted = match &args.versions.journey {
        Some(_) => Some(versions(args.versions.names()?, BackEnd::Gpu)?),
        None => None,
    };
    let mut sections = Vec::new();
    for path in &args.from {
        let mut read = table1::read(path, args.by)?;
        if let Some(wanted) = &wanted {
            let is_wanted = |row: &Row| wanted.iter().any(|version| version.id() == row.version);
            read.retain(|section| section.rows.iter().any(is_wanted));
        }
        if read.is_empty() {
            let what = format!("has no version of {}", args.versions.names()?);
            return Err(Error::Data { origin: path.display().to_string(), what });
        }
        sections.append(&mut read);
    }
    Ok(sections)
}

fn live(args: &TableArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    // Whatever can fail at once fails before the device is opened.
    let named = versions(args.versions.names()?, BackEnd::Gpu)?;
    let mut sources = args.problems.named()?;
    let device = super::device(&args.measure.place, &named, progress)?;
    let versions = versions(args.versions.names()?, device.back_end())?;
    if sources.is_empty() {
        let name = default_for(device.info(), false, progress);
        sources.push(args.problems.default_system(name)?);
    }
    super::require_vectors(&args.measure.place, &versions)?;
    let (format, quiet, by) = (args.format, args.quiet, args.by);
    // A run for each problem.
    let kept = Kept::new(Vec::<Run>::new(), move |runs| {
        let ran = runs.iter().filter(|run| !run.results.is_empty());
        let sections: Vec<Section> =
            ran.flat_map(|run| table1::sections_by(run, None, by)).collect();
        if sections.is_empty() { Ok(()) } else { show(&sections, format, quiet) }
    });
    let measured = || -> crate::Result<ExitCode> {
        let mut exit = ExitCode::SUCCESS;
        for (at, source) in sources.iter().enumerate() {
            let problem = source.load(progress)?;
            let repetition = args.measure.repetition(device.as_ref(), problem.terms());
            let emulated = args.measure.emulated(problem.terms());
            let options = Options { emulated, ..Options::new(&versions, repetition) };
            let keep = |run: &Run| {
                kept.change(|runs| {
                    runs.truncate(at);
                    runs.push(run.clone());
                });
            };
            let device = device.as_ref();
            let run = run::run(&Setting::whole(&device, &problem), &options, progress, |run| {
                keep(run);
                say_last(run, progress);
            })?;
            keep(&run);
            if exit_code(&run.results) != ExitCode::SUCCESS {
                exit = ExitCode::FAILURE;
            }
        }
        Ok(exit)
    };
    let done = measured();
    kept.finish(done)
}

fn show(sections: &[Section], format: Format, quiet: bool) -> anyhow::Result<()> {
    for section in sections.iter().filter(|section| !quiet && section.by != By::Time) {
        if section.rows.iter().all(|row| row.over_baseline.is_none()) {
            let (title, by) = (&section.title, section.by.name());
            note(format_args!("note: {title} has no {by}: NVML told nothing of its GPU"));
        }
    }
    match format {
        Format::Terminal if quiet => {}
        Format::Terminal => print(|to| render::text(to, sections))?,
        Format::Markdown => print(|to| write!(to, "{}", render::markdown(sections)))?,
        Format::Csv => print(|to| render::csv(to, sections))?,
        Format::Json => print(|to| render::json(to, sections))?,
    }
    Ok(())
}
