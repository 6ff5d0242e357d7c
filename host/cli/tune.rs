//! `gpp tune`: the best version in every shape that has kernels, measured.

use std::io::Write;
use std::process::ExitCode;

use gpp_kernels::registry::Version;

use super::TuneArgs;
use crate::devices::cpu::require_memory;
use crate::measure::{Record, Repetition, body, measure};
use crate::problem::{synthesis, systems};
use crate::progress::Progress;
use crate::reference;
use crate::report::table::{or_dash, table};
use crate::tuning::{Tuned, candidates, name};
use crate::verify::Outcome;

/// Register caps that are tried.
const CAPS: [u32; 4] = [80, 96, 128, 168];

pub fn tune(args: &TuneArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let system = systems::find(&args.system)?;
    let device = super::device(&args.device)?;
    require_memory(&system.name, system.bytes())?;
    let problem = synthesis::synthesise(system, args.seed, progress)?;
    let reference = reference::of(&problem, progress);
    let mut loaded = device.load(&problem)?;
    let poles = loaded.plan().poles;
    // A cap means nothing to the host.
    let caps = if device.info().id == "cpu" { &CAPS[..1] } else { &CAPS[..] };

    let mut found: Vec<(Tuned, Record)> = Vec::new();
    let bar = progress.bar("tuning", (candidates(poles).count() * caps.len()) as u64);
    for &cap in caps {
        for candidate in candidates(poles) {
            let version: &'static Version =
                Box::leak(Box::new(candidate.of(Version::best(), Some(cap))));
            let repetition = Repetition { warmup: 1, repeat: args.repeat };
            let kernel = device.kernel(version, body(version, &problem, loaded.plan()))?;
            bar.inc(1);
            // Some kernels need more registers than a large block leaves.
            if kernel.warps_per_sm == Some(0) {
                continue;
            }
            let record = measure(
                version,
                device.as_ref(),
                loaded.as_mut(),
                &problem,
                reference.as_ref(),
                repetition,
                || (),
            )?;
            let tuned = Tuned {
                device: device.info().name.clone(),
                poles: name(poles).into(),
                tile: candidate.shape.tile,
                warps: candidate.shape.warps,
                max_registers: Some(cap),
            };
            found.push((tuned, record));
        }
    }
    bar.finish_and_clear();

    found.sort_by(|a, b| a.1.times.median.total_cmp(&b.1.times.median));
    let mut rows = table(&[
        "G′ of a thread",
        "warps of a block",
        "most registers",
        "time [ms]",
        "registers",
        "local [B]",
        "warps/SM",
        "outcome",
    ]);
    for (tuned, record) in &found {
        rows.add_row([
            tuned.tile.to_string(),
            tuned.warps.to_string(),
            or_dash(tuned.max_registers),
            format!("{:.3}", record.times.median * 1e3),
            or_dash(record.kernel.registers),
            or_dash(record.kernel.local_bytes),
            or_dash(record.kernel.warps_per_sm),
            format!("{:?}", record.verification.outcome),
        ]);
    }
    let mut to = std::io::stdout().lock();
    writeln!(to, "{} on {}, {} poles", problem.name, device.info().name, name(poles))?;
    writeln!(to, "{rows}")?;
    let correct = |record: &Record| record.verification.outcome == Outcome::Passed;
    if let Some((best, _)) = found.iter().find(|(_, record)| correct(record)) {
        writeln!(to, "for data/tuned.json: {}", serde_json::to_string(best)?)?;
    }
    Ok(ExitCode::from(u8::from(!found.iter().all(|(_, record)| correct(record)))))
}
