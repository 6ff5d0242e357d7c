//! `gpp table`: Table I of the paper, live.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::args::{Format, TableArgs};
use super::run::{exit_code, measure_all};
use super::source::default_for;
use crate::analysis::table1;
use crate::catalogue::names::versions;
use crate::catalogue::published;
use crate::catalogue::tuned::Overrides;
use crate::error::Error;
use crate::experiments::measure::Repetition;
use crate::process::interrupt::Kept;
use crate::process::output::{note, print};
use crate::process::progress::Progress;
use crate::record::run::Run;
use crate::render::table;

pub fn table(args: &TableArgs) -> anyhow::Result<ExitCode> {
    if args.from.is_empty() {
        return live(args);
    }
    let mut sections = Vec::new();
    for path in &args.from {
        sections.push(read(path)?);
    }
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

fn read(path: &Path) -> anyhow::Result<table1::Section> {
    let origin = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("{origin}: cannot read"))?;
    let run: Value = serde_json::from_str(&text).with_context(|| format!("{origin}: no JSON"))?;
    let section = table1::section(&run, Some(&origin)).and_then(|section| {
        if section.rows.is_empty() {
            return Err(format!("has no result that passed: {}", section.left_out.join(", ")));
        }
        Ok(section)
    });
    Ok(section.map_err(|what| Error::Data { origin, what })?)
}

fn live(args: &TableArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let versions = versions(&args.version)?;
    let mut sources = args.problems.named()?;
    let device = super::device(&args.measure.device, progress)?;
    if sources.is_empty() {
        let name = default_for(device.info(), false, progress);
        sources.push(args.problems.default_system(name)?);
    }
    let repetition = Repetition { warmup: args.measure.warmup, repeat: args.measure.repeat };
    let (format, quiet) = (args.format, args.quiet);
    let kept = Kept::new(Vec::<Run>::new(), move |runs, complete| {
        let runs: Vec<&Run> = runs.iter().filter(|run| !run.records.is_empty()).collect();
        let ended = |at: usize| complete || at + 1 < runs.len();
        let sections: Result<Vec<_>, String> = runs
            .iter()
            .enumerate()
            .map(|(at, run)| table1::section(&run.document(ended(at)), None))
            .collect();
        let sections = sections.map_err(anyhow::Error::msg)?;
        if sections.is_empty() { Ok(()) } else { show(&sections, format, quiet) }
    });
    let measured = || -> crate::Result<ExitCode> {
        let mut exit = ExitCode::SUCCESS;
        for source in &sources {
            let problem = source.load(progress)?;
            kept.change(|runs| runs.push(Run::new(device.info(), &problem, repetition)));
            let overrides = Overrides::default();
            let each = |record: &_| {
                kept.change(|runs| {
                    let run = runs.last_mut().expect("one was pushed");
                    run.records.push(Clone::clone(record));
                });
            };
            let (device, to) = (device.as_ref(), progress);
            let records =
                measure_all(device, &problem, &versions, overrides, repetition, to, each)?;
            if exit_code(&records) != ExitCode::SUCCESS {
                exit = ExitCode::FAILURE;
            }
        }
        Ok(exit)
    };
    let done = measured();
    kept.finish(done)
}

fn show(sections: &[table1::Section], format: Format, quiet: bool) -> anyhow::Result<()> {
    match format {
        Format::Terminal if quiet => {}
        Format::Terminal => print(|to| terminal(to, sections))?,
        Format::Markdown => print(|to| write!(to, "{}", table1::markdown(sections)))?,
        Format::Csv => {
            let mut csv = csv::Writer::from_writer(Vec::new());
            for row in sections.iter().flat_map(|section| &section.rows) {
                csv.serialize(row)?;
            }
            let text = csv.into_inner()?;
            print(|to| to.write_all(&text))?;
        }
        Format::Json => {
            let rows: Vec<_> = sections.iter().flat_map(|section| &section.rows).collect();
            let left_out: Vec<String> = sections
                .iter()
                .flat_map(|s| s.left_out.iter().map(|what| format!("{}: {what}", s.title)))
                .collect();
            let runs: Vec<_> = sections
                .iter()
                .map(|s| json!({ "title": s.title, "provenance": s.provenance }))
                .collect();
            let document = json!({
                "schema": 1,
                "complete": sections.iter().all(|section| section.complete),
                "runs": runs,
                "rows": rows,
                "left_out": left_out,
                "talk": published::talk(),
                "blog": published::blog(),
            });
            let text = serde_json::to_string_pretty(&document)?;
            print(|to| writeln!(to, "{text}"))?;
        }
    }
    Ok(())
}

fn terminal(to: &mut dyn Write, sections: &[table1::Section]) -> std::io::Result<()> {
    let width = table::terminal();
    for section in sections {
        writeln!(to, "{}\n{}", section.title, table::table1(&section.rows, width))?;
        for what in &section.left_out {
            writeln!(to, "left out: {what}")?;
        }
    }
    let rows = || sections.iter().flat_map(|section| &section.rows);
    if rows().any(|row| row.order_differs) {
        writeln!(to, "{}", table1::MARK)?;
    }
    let sources: std::collections::BTreeSet<&str> =
        rows().map(|row| row.flops_source.as_str()).collect();
    for source in sources {
        writeln!(to, "{}", table::rated_by(source))?;
    }
    if published::belong_to(rows()) {
        for published in published::beside() {
            writeln!(to, "\n{}:\n{}", published.title, table::published(&published, width))?;
        }
    }
    Ok(())
}
