//! `gpp`: run versions, verify and report.

use std::io::Write;
use std::process::ExitCode;

use gpp_kernels::registry::{Loops, Poles, Version};

use super::args::RunArgs;
use super::source::SMALL_SYSTEM;
use crate::catalogue::names::versions;
use crate::catalogue::tuned::{Overrides, shaped};
use crate::devices::Device;
use crate::error::{Error, Result};
use crate::experiments::measure::{Record, Repetition, body, measure};
use crate::problem::Problem;
use crate::process::interrupt::Kept;
use crate::process::output::{self, is_stdout, note, print, write_text};
use crate::process::progress::Progress;
use crate::record::run::Run;
use crate::reference::verify::{Outcome, RelativeTo};
use crate::reference::{self, Source as ReferenceSource};
use crate::render::table;

pub fn run(args: &RunArgs) -> anyhow::Result<ExitCode> {
    let (quiet, json) = (args.output.quiet, args.output.json.clone());
    let progress = Progress { shown: !quiet };
    // Whatever can fail at once fails before the problem is made.
    let versions = versions(&args.version)?;
    require_effect(args.overrides, &versions)?;
    let source = args.problem.source_or(SMALL_SYSTEM)?;
    if let Some(path) = &json {
        output::check(path, source.file().as_slice())?;
    }
    let device = super::device(&args.measure.device, progress)?;
    if device.info().id == "cpu" && args.overrides.registers.is_some() {
        let what = "has no effect on a CPU".into();
        return Err(Error::Data { origin: "--registers".into(), what }.into());
    }
    let problem = source.load(progress)?;
    if args.overrides != Overrides::default() {
        let poles = problem.plan().poles();
        for version in &versions {
            shaped(version, &device.info().name, poles, args.overrides)?;
        }
    }
    let repetition = Repetition { warmup: args.measure.warmup, repeat: args.measure.repeat };

    let count = versions.len();
    let show = move |run: &Run, complete: bool| {
        if !complete && !quiet {
            note(format_args!("{} of {count} versions ran", run.records.len()));
        }
        if run.records.is_empty() {
            return Ok(());
        }
        let to_stdout = json.as_deref().is_some_and(is_stdout);
        // One that fails does not keep the other from being written.
        let printed = if quiet || to_stdout { Ok(()) } else { print(|to| results(to, run)) };
        if let Some(path) = &json {
            write_text(path, &serde_json::to_string_pretty(&run.document(complete))?)?;
        }
        printed?;
        Ok(())
    };
    let kept = Kept::new(Run::new(device.info(), &problem, repetition), show);
    let done = measure_all(
        device.as_ref(),
        &problem,
        &versions,
        args.overrides,
        repetition,
        progress,
        |record| kept.change(|run| run.records.push(record.clone())),
    );
    let records = kept.finish(done)?;
    Ok(exit_code(&records))
}

/// Runs `versions` on `device`, says each as it is done, and hands it to `each`.
pub fn measure_all(
    device: &dyn Device,
    problem: &Problem,
    versions: &[&'static Version],
    overrides: Overrides,
    repetition: Repetition,
    progress: Progress,
    mut each: impl FnMut(&Record),
) -> Result<Vec<Record>> {
    let reference = reference::of(problem, progress);
    let mut loaded = device.load(problem)?;
    let poles = loaded.plan().poles();
    let runs = versions.len() * (repetition.warmup + repetition.repeat);
    let bar = progress.bar("running", runs as u64);
    let mut records = Vec::with_capacity(versions.len());
    let versions: Vec<&Version> = versions
        .iter()
        .map(|version| shaped(version, &device.info().name, poles, overrides))
        .collect::<Result<_>>()?;
    let plan = loaded.plan();
    let is_replaced = |v: &&Version| v.beyond.is_some() && plan.running(v).beyond.is_none();
    if overrides != Overrides::default() && versions.iter().any(is_replaced) {
        let what =
            "have no effect: the constant memory does not hold the energies, so the kernels \
                    of another version run"
                .into();
        return Err(Error::Data { origin: "--tile, --warps, --registers".into(), what });
    }
    for (at, &version) in versions.iter().enumerate() {
        let next = versions.get(at + 1).map(|next| (next, body(next, problem, loaded.plan())));
        let mut left = repetition.warmup + repetition.repeat;
        // Loads of kernels go beside a last run, never between timed ones.
        let prepare = |left: usize| {
            if let (1, Some((next, body))) = (left, next) {
                device.prepare(next, body);
            }
        };
        prepare(left);
        bar.set_message(format!("{} on {}", version.id, device.info().id));
        let record = measure(
            version,
            device,
            loaded.as_mut(),
            problem,
            reference.as_ref(),
            repetition,
            || {
                bar.inc(1);
                left -= 1;
                prepare(left);
            },
        )?;
        progress.say(line(&record));
        each(&record);
        records.push(record);
    }
    bar.finish_and_clear();
    Ok(records)
}

/// A finished version in a line, with a warning of times that stand apart.
fn line(record: &Record) -> String {
    let outcome = table::outcome(record.verification.outcome);
    let times = &record.times;
    let mut line = format!("{:<4} {:>12.3} ms  {outcome}", record.version, times.median * 1e3);
    if times.outliers() > 0 {
        line += &format!(
            "; outliers: {} of {}, {:.3}–{:.3} ms; device shared?",
            times.outliers(),
            times.samples.len(),
            times.min * 1e3,
            times.max * 1e3,
        );
    }
    line
}

/// Says on standard error what did not pass; 0 where everything did, else 1.
pub fn exit_code(records: &[Record]) -> ExitCode {
    for failure in records.iter().filter_map(failure) {
        note(failure);
    }
    let passed = records.iter().all(|r| r.verification.outcome == Outcome::Passed);
    ExitCode::from(u8::from(!passed))
}

/// Fails where the flags of a shape change nothing.
fn require_effect(overrides: Overrides, versions: &[&Version]) -> Result<()> {
    let given = [
        ("--tile", overrides.tile),
        ("--warps", overrides.warps),
        ("--registers", overrides.registers),
    ];
    let tunable = |version: &&Version| {
        let tiled = |poles| matches!(version.of(poles).loops, Loops::Tiled(_));
        version.id == Version::best().id && [Poles::Any, Poles::Real].into_iter().any(tiled)
    };
    match given.iter().find(|(_, value)| value.is_some()) {
        Some((flag, _)) if !versions.iter().any(tunable) => Err(Error::Data {
            origin: (*flag).into(),
            what: format!("has no effect without --version {}", Version::best().id),
        }),
        _ => Ok(()),
    }
}

fn results(to: &mut dyn Write, run: &Run) -> std::io::Result<()> {
    let s = &run.system;
    writeln!(
        to,
        "{}: {} bands ({} occupied), {} G′, {} G, energies {}–{}; {:.3e} terms",
        s.name, s.nbands, s.nvband, s.ngpown, s.ncouls, s.nstart, s.nend, s.terms as f64,
    )?;
    writeln!(to, "on {}: {}", run.device.id, run.device.name)?;
    writeln!(to, "{}", table::results(&run.records, table::terminal()))?;
    let Some(last) = run.records.last() else { return Ok(()) };
    for (name, z) in last.sums.named(s.nstart) {
        writeln!(to, "{} {name} = {:+.15e} {:+.15e} i", last.version, z.re, z.im)?;
    }
    writeln!(to, "reference: {}", reference_name(last.verification.reference))?;
    writeln!(to, "{}", table::rated_by(last.flops_source))?;
    mini_app(to, &run.records)
}

fn reference_name(source: Option<ReferenceSource>) -> &'static str {
    match source {
        Some(ReferenceSource::File) => "the sums stored in the input file",
        Some(ReferenceSource::Golden) => "golden sums of this system and seed",
        Some(ReferenceSource::Serial) => "every term evaluated now, on the host",
        None => "none",
    }
}

/// The reference mini-app's own criterion, where a file's sums are judged.
fn mini_app(to: &mut dyn Write, records: &[Record]) -> std::io::Result<()> {
    for accepts in [true, false] {
        let of: Vec<&str> = records
            .iter()
            .filter(|record| record.verification.reference_app_accepts == Some(accepts))
            .map(|record| record.version)
            .collect();
        let Some(record) = records.iter().find(|record| of.contains(&record.version)) else {
            continue;
        };
        let all = record.sums.asx.iter().chain(&record.sums.ach);
        let largest = all.map(|z| z.norm()).fold(0.0, f64::max);
        let holds = if accepts { "holds" } else { "does not hold" };
        writeln!(
            to,
            "{}: the reference mini-app's criterion {holds}: it is absolute, 1e-12, {:.1e} of the \
             largest sum",
            of.join(", "),
            1e-12 / largest
        )?;
    }
    Ok(())
}

/// What to say of a version that did not pass.
fn failure(record: &Record) -> Option<String> {
    let verification = &record.verification;
    let version = record.version;
    match verification.outcome {
        Outcome::Passed => None,
        Outcome::NotVerified => Some(format!(
            "{version}: not verified: no reference is stored for this input and it has too many \
             terms to evaluate one now"
        )),
        Outcome::Nondeterministic => {
            Some(format!("{version}: nondeterministic: repeated runs gave different bits"))
        }
        Outcome::Incorrect => {
            let worst = verification.worst.as_ref().map(|(name, value, expected)| {
                format!("{name} = {value:e}, the reference has {expected:e}")
            });
            Some(format!(
                "{version}: incorrect: {} (tolerance {:.1e} of {})",
                worst.unwrap_or_default(),
                verification.tolerance,
                match verification.relative_to {
                    RelativeTo::Sum => "it",
                    RelativeTo::Terms => "the sum of all terms' sizes",
                }
            ))
        }
    }
}
