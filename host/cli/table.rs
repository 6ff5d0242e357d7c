//! `gpp table`: Table I of the paper, live.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Context as _;
use serde_json::json;

use super::run::{Measured, versions};
use super::{Format, TableArgs};
use crate::devices::cpu::require_memory;
use crate::error::Error;
use crate::measure::Repetition;
use crate::problem::{synthesis, systems};
use crate::progress::Progress;
use crate::report::{json as run_json, published, table, table1};
use crate::tuning::Overrides;

pub fn table(args: &TableArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let mut exit = ExitCode::SUCCESS;
    let mut runs = Vec::new();
    for path in &args.from {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot read", path.display()))?;
        runs.push((
            path.display().to_string(),
            serde_json::from_str(&text).with_context(|| format!("{}: no JSON", path.display()))?,
        ));
    }
    if runs.is_empty() {
        let versions = versions(&args.version)?;
        let systems = args
            .system
            .iter()
            .map(|name| systems::find(name))
            .collect::<crate::Result<Vec<_>>>()?;
        let device = super::device(&args.device)?;
        for system in systems {
            require_memory(&system.name, system.bytes())?;
            let problem = synthesis::synthesise(system, args.seed, progress)?;
            let repetition = Repetition { warmup: 1, repeat: args.repeat };
            let measured = Measured::of(
                device.as_ref(),
                problem,
                &versions,
                Overrides::default(),
                repetition,
                progress,
            )?;
            if measured.exit_code() != ExitCode::SUCCESS {
                exit = ExitCode::FAILURE;
            }
            let document = run_json::document(device.info(), &measured.problem, &measured.records);
            runs.push((system.name.clone(), document));
        }
    }

    let mut rows = Vec::new();
    for (origin, run) in &runs {
        let of_run =
            table1::rows(run).map_err(|what| Error::Data { origin: origin.clone(), what })?;
        rows.extend(of_run);
    }
    let mut to = std::io::stdout().lock();
    match args.format {
        Format::Terminal => {
            writeln!(to, "{}\n{}", table::table1(&rows), table1::MARK)?;
            let sources: std::collections::BTreeSet<&str> =
                rows.iter().map(|row| row.flops_source.as_str()).collect();
            for source in sources {
                writeln!(to, "TFLOP/s by operation counts {source}")?;
            }
            if rows.iter().any(|row| row.system == published::BESIDE_SYSTEM) {
                for published in published::beside() {
                    writeln!(to, "\n{}:\n{}", published.title, table::published(&published))?;
                }
            }
        }
        Format::Markdown => write!(to, "{}", table1::markdown(&rows))?,
        Format::Csv => {
            let mut csv = csv::Writer::from_writer(Vec::new());
            for row in &rows {
                csv.serialize(row)?;
            }
            to.write_all(&csv.into_inner()?)?;
        }
        Format::Json => {
            let document = json!({
                "schema": 1,
                "rows": rows,
                "talk": published::talk(),
                "blog": published::blog(),
            });
            writeln!(to, "{}", serde_json::to_string_pretty(&document)?)?;
        }
    }
    Ok(exit)
}
