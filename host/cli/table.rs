//! `gpp table`: Table I of the paper, or the table of another journey, live.

use std::path::PathBuf;
use std::process::ExitCode;

use super::args::{Format, TableArgs, default_for};
use super::run::{exit_code_of, say_last};
use crate::analysis::speed_ups::By;
use crate::analysis::table1::{self, Row, Section};
use crate::catalogue::BackEnd;
use crate::catalogue::names::{versions, versions_for};
use crate::error::{Error, Result};
use crate::experiments::profile::folder::run_file;
use crate::experiments::run::{self, Options};
use crate::experiments::setting::Setting;
use crate::process::files::Files;
use crate::process::kept::Kept;
use crate::process::output::{document, is_stdout, print};
use crate::process::terminal::note;
use crate::record::run::Run;
use crate::render::table1 as render;

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
        let mut read = table1::read(&run_file(path)?, args.by)?;
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

fn live(args: &TableArgs, forms: Forms) -> anyhow::Result<ExitCode> {
    let progress = args.output.progress();
    // Whatever can fail at once fails before the device is opened.
    let named = versions(args.versions.names()?, BackEnd::Gpu)?;
    let mut sources = args.problems.named()?;
    let device = super::device(&args.measure.place, &named, progress)?;
    let names = args.versions.names()?;
    let of_any = versions(names, device.back_end())?;
    if sources.is_empty() {
        let name = default_for(device.info(), false, progress);
        sources.push(args.problems.default_system(name)?);
    }
    super::require_vectors(&args.measure.place, &of_any)?;
    let by = args.by;
    if by != By::Time && device.gauge().is_none() {
        let what = format!(
            "NVML, which has it measured, tells nothing of {}: {}",
            device.info().id,
            "--by time needs none"
        );
        return Err(Error::Data { origin: format!("--by {}", by.name()), what }.into());
    }
    // A run for each problem.
    let kept = Kept::new(Vec::<Run>::new(), move |runs| {
        let ran = runs.iter().filter(|run| !run.results.is_empty());
        let sections: Vec<Section> =
            ran.flat_map(|run| table1::sections_by(run, None, by)).collect();
        if sections.is_empty() { Ok(()) } else { forms.show(&sections) }
    });
    let measured = || -> Result<ExitCode> {
        let mut exit = ExitCode::SUCCESS;
        for (at, source) in sources.iter().enumerate() {
            let problem = source.load(progress)?;
            let repetition = args.measure.repetition(device.as_ref(), problem.terms());
            let emulated = args.measure.emulated();
            let compares = !args.verify.no_verify;
            let versions = versions_for(names, device.back_end(), Some(&problem.outline().task()))?;
            let options = Options { emulated, compares, ..Options::new(&versions, repetition) };
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
        for section in sections.iter().filter(|section| !self.quiet && section.by != By::Time) {
            if section.rows.iter().all(|row| row.over_baseline.is_none()) {
                let (title, by) = (&section.title, section.by.name());
                note(format_args!("note: {title} has no {by}: NVML told nothing of its GPU"));
            }
        }
        let printed = match self.format {
            Format::Text if self.shows_table() => print(|to| render::text(to, sections)),
            Format::Text => Ok(()),
            Format::Markdown => print(|to| write!(to, "{}", render::markdown(sections))),
            Format::Csv => print(|to| render::csv(to, sections)),
            Format::Json => print(|to| render::json(to, sections)),
        };
        // What cannot be printed does not keep files from being written.
        if let Some(path) = &self.csv {
            document(path, |to| render::csv(to, sections))?;
        }
        if let Some(path) = &self.json {
            document(path, |to| render::json(to, sections))?;
        }
        Ok(printed?)
    }
}
