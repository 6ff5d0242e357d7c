//! `gpp table`: times and speed-ups next to the published ones.

use std::io::{self, Write};
use std::path::Path;

use crate::chart::{Bars, write_svg};
use crate::cli::TableArgs;
use crate::error::invalid;
use crate::offdiag;
use crate::output::print;
use crate::profile::RUN;
use crate::record::run::{Measurement, Offdiag, OffdiagResult, RunRecord, SystemInfo, by_series};
use crate::record::{self, Head};
use crate::summary::{NOISE, is_noise, results_table};

pub fn table(args: &TableArgs) -> anyhow::Result<bool> {
    let is_missing = !args.from.exists() && args.from.extension().is_none();
    let is_folder = args.from.is_dir() || is_missing;
    let path = if is_folder { args.from.join(RUN) } else { args.from.clone() };
    if let Ok(matrices) = record::read::<Offdiag>(&path) {
        if let Some(plot) = &args.plot {
            write_svg(plot, &bars_of_matrices(&matrices))?;
        }
        print(|to| offdiag::results(&matrices).print(to))?;
        return Ok(true);
    }
    let run: RunRecord = record::read(&path)?;
    if let Some(plot) = &args.plot {
        let bars = bars(&run, &run.results);
        if bars.bars.is_empty() {
            return Err(invalid(path.display(), "has no verified result to draw").into());
        }
        write_svg(plot, &bars)?;
    }
    print(|to| text(to, &run, &path))?;
    Ok(true)
}

/// The times of those of a run's results that passed, in one chart.
pub fn bars(run: &RunRecord, results: &[Measurement]) -> Bars {
    let bar = |result: &Measurement| (result.version.clone(), 1e3 * result.times.median);
    let passed = results.iter().filter(|result| result.passed());
    Bars { title: title(&run.system, &run.head), bars: passed.map(bar).collect() }
}

fn title(system: &SystemInfo, Head { device, .. }: &Head) -> String {
    format!("{} on {}: {}", system.name, device.id, device.name)
}

pub fn bars_of_matrices(run: &Offdiag) -> Bars {
    let bar = |result: &OffdiagResult| Some((result.version.clone()?, 1e3 * result.time_s.median));
    let bands = run.bands[1] + 1 - run.bands[0];
    let title = format!("{bands} bands of {}", title(&run.system, &run.head));
    Bars { title, bars: run.results.iter().filter_map(bar).collect() }
}

fn text(to: &mut dyn Write, run: &RunRecord, path: &Path) -> io::Result<()> {
    for (series, results) in by_series(&run.results) {
        let series = Some(series).filter(|series| *series != "paper");
        let begin = series.map_or(String::new(), |series| format!("{series}: "));
        writeln!(to, "{begin}{} ({})", title(&run.system, &run.head), path.display())?;
        let table = results_table(&results, Some(&run.system.name));
        let has_published = table.headings.iter().any(|heading| heading.starts_with("V100"));
        table.print(to)?;
        if (0..results.len()).any(|at| is_noise(&results, at)) {
            writeln!(to, "{NOISE}")?;
        }
        if series.is_some() && has_published {
            writeln!(to, "V100: as published, without the name of the system")?;
        }
    }
    if !run.head.complete {
        writeln!(to, "The run was interrupted: versions are missing.")?;
    }
    if run.results.iter().any(|result| result.tflops.is_some()) {
        writeln!(
            to,
            "FLOP/s by hardware counters of these kernels for si214; – means not counted"
        )?;
    }
    Ok(())
}
