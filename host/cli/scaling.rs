//! `gpp scaling`: time against each extent, and where efficiency falls off.

use std::io::Write;
use std::process::ExitCode;

use gpp_kernels::registry::{VERSIONS, Version};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::ScalingArgs;
use crate::catalogue::names::single;
use crate::catalogue::tuned::{Overrides, shaped};
use crate::devices::{Device, DeviceInfo};
use crate::experiments::measure::{Repetition, measure};
use crate::problem::{System, synthesis};
use crate::process::interrupt::Kept;
use crate::process::output::{self, is_stdout, print, write_text};
use crate::process::progress::Progress;
use crate::record::provenance::{PROGRAM, Provenance};
use crate::reference::verify::Outcome;
use crate::reference::{Reference, Source};
use crate::render::table::{self, fit, or_dash, table};

/// One point of a line.
#[derive(Clone, Debug, Serialize)]
struct Point {
    /// The extent that varies: `nbands`, `ngpown`, `ncouls`, `nw`, or `all` but `nw`.
    line: &'static str,
    nbands: usize,
    ngpown: usize,
    ncouls: usize,
    nw: usize,
    terms: u64,
    time_ms: f64,
    sigma_ms: Option<f64>,
    terms_per_s: f64,
    /// Terms a second over those of the line's fastest point.
    efficiency: f64,
    outcome: Outcome,
}

/// The middle of the lines: half of si214 in each extent.
const BASE: [usize; 3] = [400, 692, 5536];

/// The lines' extents: nbands, ngpown, ncouls, nw.
fn lines() -> Vec<(&'static str, [usize; 4])> {
    let [nbands, ngpown, ncouls] = BASE;
    let eighths = |extent: usize| [1, 2, 4, 8].map(|n| (extent * n).div_ceil(4));
    let mut points = Vec::new();
    points.extend(eighths(nbands).map(|n| ("nbands", [n, ngpown, ncouls, 2])));
    points.extend(eighths(ngpown).map(|n| ("ngpown", [nbands, n, ncouls, 2])));
    points.extend(eighths(ncouls).map(|n| ("ncouls", [nbands, ngpown, n, 2])));
    points.extend([1, 2, 3].map(|nw| ("nw", [nbands, ngpown, ncouls, nw])));
    points.extend([32, 16, 8, 4, 2, 1].map(|part: usize| {
        let [nbands, ngpown, ncouls] = BASE.map(|n| (2 * n).div_ceil(part));
        ("all", [nbands, ngpown, ncouls, 2])
    }));
    points
}

/// What is measured of one version on one device.
struct Lines {
    device: DeviceInfo,
    version: &'static str,
    complex: bool,
    provenance: Provenance,
    points: Vec<Point>,
}

pub fn scaling(args: &ScalingArgs) -> anyhow::Result<ExitCode> {
    let (quiet, json) = (args.output.quiet, args.output.json.clone());
    let progress = Progress { shown: !quiet };
    let version = single("--version", &args.version)?;
    if let Some(path) = &json {
        output::check(path, &[])?;
    }
    let device = super::device(&args.device, progress)?;
    if device.info().id == "cpu" && !args.quick {
        progress.say("note: all points take hours on a CPU; --quick runs the smallest");
    }
    let provenance = Provenance {
        seed: Some(args.seed),
        warmup: Some(WARMUP),
        repeat: Some(args.repeat),
        ..Provenance::now(device.info())
    };
    let lines = Lines {
        device: device.info().clone(),
        version: version.id,
        complex: args.complex,
        provenance,
        points: Vec::new(),
    };
    let kept = Kept::new(lines, move |lines: &Lines, complete| {
        if lines.points.is_empty() {
            return Ok(());
        }
        let to_stdout = json.as_deref().is_some_and(is_stdout);
        let printed = if quiet || to_stdout { Ok(()) } else { print(|to| show(to, lines)) };
        if let Some(path) = &json {
            write_text(path, &serde_json::to_string_pretty(&document(lines, complete))?)?;
        }
        printed?;
        Ok(())
    });
    let done = measure_points(args, version, device.as_ref(), progress, |point| {
        kept.change(|lines| lines.points.push(point));
    });
    let passed = kept.finish(done)?;
    Ok(ExitCode::from(u8::from(!passed)))
}

/// Runs of each point before the timed ones.
const WARMUP: usize = 2;

/// Measures the points and hands each on; whether all passed.
fn measure_points(
    args: &ScalingArgs,
    version: &'static Version,
    device: &dyn Device,
    progress: Progress,
    mut each: impl FnMut(Point),
) -> crate::Result<bool> {
    let judge = VERSIONS.iter().find(|v| v.id == "v3").expect("v3 is in the registry");
    let small = |extents: &[usize; 4]| extents[..3].iter().product::<usize>() < 5_000_000;
    let lines: Vec<_> =
        lines().into_iter().filter(|(_, extents)| !args.quick || small(extents)).collect();
    let bar = progress.bar("scaling", lines.len() as u64);
    let mut passed = true;
    for (line, [nbands, ngpown, ncouls, nw]) in lines {
        let system = System {
            name: format!("{nbands} × {ngpown} × {ncouls} × {nw}"),
            nbands,
            nvband: (nbands * 428).div_ceil(800),
            ngpown,
            ncouls,
            nstart: if nw == 3 { 1 } else { 2 },
            nend: if nw == 1 { 2 } else { 3 },
            complex_modes: args.complex,
            note: String::new(),
        };
        let problem = synthesis::synthesise(&system, args.seed, Progress { shown: false })?;
        let mut loaded = device.load(&problem)?;
        let version =
            shaped(version, &device.info().name, loaded.plan().poles(), Overrides::default())?;
        // v3 is checked against the definition by the tests; here it is the reference.
        let (sums, _) = loaded.run(judge)?;
        let reference =
            Reference::new(problem.start().plus(&sums), Source::Serial, Progress { shown: false });
        let record = measure(
            version,
            device,
            loaded.as_mut(),
            &problem,
            Some(&reference),
            Repetition { warmup: WARMUP, repeat: args.repeat },
            || (),
        )?;
        let outcome = record.verification.outcome;
        passed &= outcome == Outcome::Passed;
        let seconds = record.times.median;
        progress.say(format_args!(
            "{:<28} {:>12.4} ms  {}",
            system.name,
            seconds * 1e3,
            table::outcome(outcome)
        ));
        each(Point {
            line,
            nbands,
            ngpown,
            ncouls,
            nw,
            terms: problem.terms(),
            time_ms: seconds * 1e3,
            sigma_ms: record.times.sigma().map(|sigma| sigma * 1e3),
            terms_per_s: problem.terms() as f64 / seconds,
            efficiency: 0.0,
            outcome,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(passed)
}

/// The points with their efficiencies, which need all of a line.
fn rated(points: &[Point]) -> Vec<Point> {
    let fastest = |line: &str| {
        points.iter().filter(|p| p.line == line).map(|p| p.terms_per_s).fold(0.0, f64::max)
    };
    let rate = |p: &Point| Point { efficiency: p.terms_per_s / fastest(p.line), ..p.clone() };
    points.iter().map(rate).collect()
}

fn show(to: &mut dyn Write, lines: &Lines) -> std::io::Result<()> {
    let mut rows = table(&[
        "line",
        "nbands",
        "ngpown",
        "ncouls",
        "nw",
        "median [ms]",
        "σ",
        "terms/s",
        "efficiency",
        "outcome",
    ]);
    for p in rated(&lines.points) {
        rows.add_row([
            p.line.to_string(),
            p.nbands.to_string(),
            p.ngpown.to_string(),
            p.ncouls.to_string(),
            p.nw.to_string(),
            format!("{:.4}", p.time_ms),
            or_dash(p.sigma_ms.map(|sigma| format!("{:.1} %", 100.0 * sigma / p.time_ms))),
            format!("{:.3e}", p.terms_per_s),
            format!("{:.0} %", p.efficiency * 100.0),
            table::outcome(p.outcome).into(),
        ]);
    }
    writeln!(to, "{} on {}", lines.version, lines.device.name)?;
    writeln!(to, "{}", fit(rows, &[6, 7, 4], table::terminal()))
}

fn document(lines: &Lines, complete: bool) -> Value {
    json!({
        "schema": 1,
        "program": PROGRAM,
        "provenance": lines.provenance,
        "complete": complete,
        "device": lines.device,
        "version": lines.version,
        "complex_modes": lines.complex,
        "points": rated(&lines.points),
    })
}
