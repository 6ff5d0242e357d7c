//! `gpp tune`: the best version in every shape that has kernels, measured.

use std::io::Write;
use std::process::ExitCode;

use gpp_kernels::registry::{Poles, Version};
use serde_json::{Value, json};

use super::args::TuneArgs;
use crate::catalogue::tuned::{Tuned, candidates, name};
use crate::devices::{Device, DeviceInfo};
use crate::experiments::measure::{Record, Repetition, body, measure};
use crate::problem::Problem;
use crate::process::interrupt::Kept;
use crate::process::output::{self, is_stdout, print, write_text};
use crate::process::progress::Progress;
use crate::record::provenance::{PROGRAM, Provenance};
use crate::reference;
use crate::reference::verify::Outcome;
use crate::render::table::{self, fit, or_dash, outcome_cell, table};

/// Register caps that are tried.
const CAPS: [u32; 4] = [80, 96, 128, 168];

/// What is found out about one problem on one device.
struct Trials {
    system: String,
    device: DeviceInfo,
    provenance: Provenance,
    poles: &'static str,
    /// Shapes to try, and those tried.
    all: usize,
    tried: usize,
    found: Vec<(Tuned, Record)>,
}

pub fn tune(args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let (quiet, json) = (args.output.quiet, args.output.json.clone());
    let progress = Progress { shown: !quiet };
    if let Some(path) = &json {
        output::check(path, args.problem.input.as_deref().as_slice())?;
    }
    let device = super::device(&args.measure.device, progress)?;
    let source = args.problem.source_for(device.info(), progress)?;
    let problem = source.load(progress)?;
    let repetition = Repetition { warmup: args.measure.warmup, repeat: args.measure.repeat };

    let poles = problem.plan().poles();
    let trials = Trials {
        system: problem.name().into(),
        device: device.info().clone(),
        provenance: Provenance::now(device.info()).of(problem.origin(), repetition),
        poles: name(poles),
        all: candidates(poles).count() * caps(device.as_ref()).len(),
        tried: 0,
        found: Vec::new(),
    };
    let kept = Kept::new(trials, move |trials: &Trials, complete| {
        if trials.found.is_empty() {
            return Ok(());
        }
        let to_stdout = json.as_deref().is_some_and(is_stdout);
        let printed =
            if quiet || to_stdout { Ok(()) } else { print(|to| show(to, trials, complete)) };
        if let Some(path) = &json {
            write_text(path, &serde_json::to_string_pretty(&document(trials, complete))?)?;
        }
        printed?;
        Ok(())
    });
    let done = shapes(device.as_ref(), &problem, repetition, progress, |found| {
        kept.change(|trials| {
            trials.tried += 1;
            trials.found.extend(found);
        });
    });
    let passed = kept.finish(done)?;
    Ok(ExitCode::from(u8::from(!passed)))
}

/// The caps to try: one means nothing to the host.
fn caps(device: &dyn Device) -> Vec<Option<u32>> {
    if device.info().id == "cpu" { vec![None] } else { CAPS.map(Some).to_vec() }
}

/// Runs every shape and hands it to `each`, none where it cannot run; whether all passed.
fn shapes(
    device: &dyn Device,
    problem: &Problem,
    repetition: Repetition,
    progress: Progress,
    mut each: impl FnMut(Option<(Tuned, Record)>),
) -> crate::Result<bool> {
    let reference = reference::of(problem, progress);
    let mut loaded = device.load(problem)?;
    let poles: Poles = loaded.plan().poles();
    let caps = caps(device);
    let bar = progress.bar("tuning", (candidates(poles).count() * caps.len()) as u64);
    let mut passed = true;
    for cap in caps {
        for candidate in candidates(poles) {
            let version: &'static Version = Box::leak(Box::new(candidate.of(Version::best(), cap)));
            let kernel = device.kernel(version, body(version, problem, loaded.plan()))?;
            bar.inc(1);
            // Some kernels need more registers than a large block leaves.
            if kernel.warps_per_sm == Some(0) {
                each(None);
                continue;
            }
            let reference = reference.as_ref();
            let loaded = loaded.as_mut();
            let record = measure(version, device, loaded, problem, reference, repetition, || ())?;
            passed &= record.verification.outcome == Outcome::Passed;
            let tuned = Tuned {
                device: device.info().name.clone(),
                poles: name(poles).into(),
                tile: candidate.shape.tile,
                warps: candidate.shape.warps,
                max_registers: cap,
            };
            progress.say(format_args!(
                "{} {:>12.3} ms  {}",
                flags(&tuned),
                record.times.median * 1e3,
                table::outcome(record.verification.outcome)
            ));
            each(Some((tuned, record)));
        }
    }
    bar.finish_and_clear();
    Ok(passed)
}

/// The flags that run a shape.
fn flags(tuned: &Tuned) -> String {
    let cap = tuned.max_registers.map_or(String::new(), |cap| format!(" --registers {cap}"));
    format!("--tile {} --warps {}{cap}", tuned.tile, tuned.warps)
}

/// Fastest first.
fn sorted(trials: &Trials) -> Vec<&(Tuned, Record)> {
    let mut found: Vec<_> = trials.found.iter().collect();
    found.sort_by(|a, b| a.1.times.median.total_cmp(&b.1.times.median));
    found
}

/// The fastest shape that passed.
fn best<'a>(found: &[&'a (Tuned, Record)]) -> Option<&'a Tuned> {
    let passed = |of: &&&(Tuned, Record)| of.1.verification.outcome == Outcome::Passed;
    found.iter().find(passed).map(|(tuned, _)| tuned)
}

fn show(to: &mut dyn Write, trials: &Trials, complete: bool) -> std::io::Result<()> {
    let found = sorted(trials);
    let mut rows = table(&[
        "G′ of a thread",
        "warps of a block",
        "most registers",
        "median [ms]",
        "σ",
        "registers",
        "local [B]",
        "warps/SM",
        "outcome",
    ]);
    for (tuned, record) in &found {
        rows.add_row(vec![
            tuned.tile.to_string().into(),
            tuned.warps.to_string().into(),
            or_dash(tuned.max_registers).into(),
            format!("{:.3}", record.times.median * 1e3).into(),
            table::sigma(&record.times).into(),
            or_dash(record.kernel.registers).into(),
            or_dash(record.kernel.local_bytes).into(),
            or_dash(record.kernel.warps_per_sm).into(),
            outcome_cell(record.verification.outcome),
        ]);
    }
    write!(to, "{} on {}, {} poles", trials.system, trials.device.name, trials.poles)?;
    if complete {
        writeln!(to)?;
    } else {
        writeln!(to, ": interrupted after {} of {} shapes", trials.tried, trials.all)?;
    }
    writeln!(to, "{}", fit(rows, &[6, 7, 5], table::terminal()))?;
    if let Some(best) = best(&found).filter(|_| complete) {
        writeln!(to, "fastest: gpp --version {} {}", Version::best().id, flags(best))?;
        writeln!(to, "for data/tuned.json: {}", serde_json::to_string(best)?)?;
    }
    Ok(())
}

fn document(trials: &Trials, complete: bool) -> Value {
    let found = sorted(trials);
    let results: Vec<Value> = found
        .iter()
        .map(|(tuned, record)| {
            json!({
                "tile": tuned.tile,
                "warps": tuned.warps,
                "max_registers": tuned.max_registers,
                "time_s": record.times,
                "registers": record.kernel.registers,
                "local_bytes": record.kernel.local_bytes,
                "warps_per_sm": record.kernel.warps_per_sm,
                "outcome": record.verification.outcome,
            })
        })
        .collect();
    json!({
        "schema": 1,
        "program": PROGRAM,
        "provenance": trials.provenance,
        "complete": complete,
        "device": trials.device,
        "system": trials.system,
        "version": Version::best().id,
        "poles": trials.poles,
        "results": results,
        "best": best(&found).filter(|_| complete),
    })
}
