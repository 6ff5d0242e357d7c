//! `gpp`: run versions, verify and report.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use gpp_kernels::registry::{VERSIONS, Version};

use super::RunArgs;
use crate::devices::{Device, cpu::require_memory};
use crate::error::{Error, Result};
use crate::measure::{Record, Repetition, measure};
use crate::output::replace;
use crate::problem::{Problem, file, synthesis, systems};
use crate::progress::Progress;
use crate::reference;
use crate::report::{json, table};
use crate::tuning::{Overrides, shaped};
use crate::verify::Outcome;

pub fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let versions = versions(&args.version)?;
    let system = systems::find(&args.system)?;
    // Whatever can fail at once fails before the problem is made.
    let device = super::device(&args.device)?;
    let problem = match &args.input {
        Some(path) => file::read(path, progress)?,
        None => {
            require_memory(&system.name, system.bytes())?;
            synthesis::synthesise(system, args.seed, progress)?
        }
    };
    let repetition = Repetition { warmup: args.warmup, repeat: args.repeat };
    let measured =
        Measured::of(device.as_ref(), problem, &versions, args.overrides, repetition, progress)?;
    let Measured { problem, records } = &measured;

    if let Some(path) = &args.json {
        write_json(path, &json::document(device.info(), problem, records))?;
    }
    let to_stdout = args.json.as_deref() == Some(Path::new("-"));
    if !args.quiet && !to_stdout {
        print(&mut std::io::stdout().lock(), device.info(), problem, records)?;
    }
    Ok(measured.exit_code())
}

/// Versions run and verified on one problem.
pub struct Measured {
    pub problem: Problem,
    pub records: Vec<Record>,
}

impl Measured {
    /// Runs `versions` on `device`.
    pub fn of(
        device: &dyn Device,
        problem: Problem,
        versions: &[&'static Version],
        overrides: Overrides,
        repetition: Repetition,
        progress: Progress,
    ) -> Result<Measured> {
        let reference = reference::of(&problem, progress);
        let mut loaded = device.load(&problem)?;
        let runs = versions.len() * (repetition.warmup + repetition.repeat);
        let bar = progress.bar("running", runs as u64);
        let mut records = Vec::with_capacity(versions.len());
        for version in versions {
            let poles = loaded.plan().poles;
            let version = shaped(version, &device.info().name, poles, overrides)?;
            bar.set_message(format!("{} on {}", version.id, device.info().id));
            records.push(measure(
                version,
                device,
                loaded.as_mut(),
                &problem,
                reference.as_ref(),
                repetition,
                || bar.inc(1),
            )?);
        }
        bar.finish_and_clear();
        drop(loaded);
        Ok(Measured { problem, records })
    }

    /// Says on standard error what did not pass; 0 where everything did, else 1.
    pub fn exit_code(&self) -> ExitCode {
        for failure in self.records.iter().filter_map(failure) {
            eprintln!("{failure}");
        }
        let passed = self.records.iter().all(|r| r.verification.outcome == Outcome::Passed);
        ExitCode::from(u8::from(!passed))
    }
}

/// The versions named: `all`, or ids and `best` with commas.
pub fn versions(names: &str) -> Result<Vec<&'static Version>> {
    if names == "all" {
        return Ok(VERSIONS.to_vec());
    }
    names
        .split(',')
        .map(|name| {
            if name.trim() == "best" {
                return Ok(Version::best());
            }
            let known = VERSIONS.iter().map(|v| v.id).chain(["best", "all"]);
            VERSIONS
                .iter()
                .find(|version| version.id == name.trim())
                .copied()
                .ok_or_else(|| Error::unknown("version", name.trim(), known))
        })
        .collect()
}

fn write_json(path: &Path, document: &serde_json::Value) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    if path == Path::new("-") {
        writeln!(std::io::stdout().lock(), "{text}")?;
    } else {
        replace(path, |file| writeln!(file, "{text}"))?;
    }
    Ok(())
}

fn print(
    to: &mut impl Write,
    device: &crate::devices::DeviceInfo,
    problem: &Problem,
    records: &[Record],
) -> std::io::Result<()> {
    let h = &problem.header;
    writeln!(
        to,
        "{}: {} bands ({} occupied), {} G′, {} G, energies {}–{}; {:.3e} terms",
        problem.name,
        h.nbands,
        h.nvband,
        h.ngpown,
        h.ncouls,
        h.nstart,
        h.nend,
        problem.terms() as f64,
    )?;
    writeln!(to, "on {}: {}", device.id, device.name)?;
    writeln!(to, "{}", table::results(records))?;
    if let Some(record) = records.last() {
        for (name, z) in record.sums.named(h.nstart) {
            writeln!(to, "{} {name} = {:+.15e} {:+.15e} i", record.version, z.re, z.im)?;
        }
        writeln!(to, "TFLOP/s by {}", record.flops_source)?;
    }
    for record in records {
        if let Some(accepts) = record.verification.reference_app_accepts {
            let holds = if accepts { "holds" } else { "does not hold" };
            writeln!(to, "{}: the reference mini-app's 1e-12 {holds}", record.version)?;
        }
    }
    Ok(())
}

/// What to say of a version that did not pass.
fn failure(record: &Record) -> Option<String> {
    let verification = &record.verification;
    match verification.outcome {
        Outcome::Passed => None,
        Outcome::NotVerified => Some(format!(
            "{}: not verified: no reference is stored for this input and it has too many terms \
             to evaluate one now",
            record.version
        )),
        Outcome::Incorrect => {
            let worst = verification.worst.as_ref().map(|(name, value, expected)| {
                format!("{name} = {value:e}, the reference has {expected:e}")
            });
            Some(format!(
                "{}: incorrect: {} (tolerance {:.1e} of it)",
                record.version,
                worst.unwrap_or_default(),
                verification.tolerance
            ))
        }
    }
}
