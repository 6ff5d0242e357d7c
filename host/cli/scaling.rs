//! `gpp scaling`: time against each extent, and where efficiency falls off.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use gpp_kernels::registry::VERSIONS;
use serde::Serialize;
use serde_json::json;

use super::ScalingArgs;
use super::run::versions;
use crate::measure::{Repetition, measure};
use crate::output::replace;
use crate::problem::{System, synthesis};
use crate::progress::Progress;
use crate::reference::{Reference, Source};
use crate::report::table::table;
use crate::tuning::{Overrides, shaped};
use crate::verify::Outcome;

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

pub fn scaling(args: &ScalingArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let device = super::device(&args.device)?;
    let version = versions(&args.version)?[0];
    let judge = VERSIONS.iter().find(|v| v.id == "v3").expect("v3 is in the registry");

    let lines = lines();
    let lines: Vec<_> = if args.quick {
        lines
            .into_iter()
            .filter(|(_, [bands, rows, columns, _])| bands * rows * columns < 5_000_000)
            .collect()
    } else {
        lines
    };
    let bar = progress.bar("scaling", lines.len() as u64);
    let mut points = Vec::new();
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
            shaped(version, &device.info().name, loaded.plan().poles, Overrides::default())?;
        // v3 is checked against the definition by the tests; here it is the reference.
        let (sums, _) = loaded.run(judge)?;
        let reference =
            Reference::new(problem.start.plus(&sums), Source::Serial, Progress { shown: false });
        let repetition = Repetition { warmup: 2, repeat: args.repeat };
        let record = measure(
            version,
            device.as_ref(),
            loaded.as_mut(),
            &problem,
            Some(&reference),
            repetition,
            || (),
        )?;
        let seconds = record.times.median;
        points.push(Point {
            line,
            nbands,
            ngpown,
            ncouls,
            nw,
            terms: problem.terms(),
            time_ms: seconds * 1e3,
            terms_per_s: problem.terms() as f64 / seconds,
            efficiency: 0.0,
            outcome: record.verification.outcome,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let fastest = |line: &str| {
        points.iter().filter(|p| p.line == line).map(|p| p.terms_per_s).fold(0.0, f64::max)
    };
    let efficiencies: Vec<f64> = points.iter().map(|p| p.terms_per_s / fastest(p.line)).collect();
    for (point, efficiency) in points.iter_mut().zip(efficiencies) {
        point.efficiency = efficiency;
    }

    let mut rows = table(&[
        "line",
        "nbands",
        "ngpown",
        "ncouls",
        "nw",
        "time [ms]",
        "terms/s",
        "efficiency",
        "outcome",
    ]);
    for p in &points {
        rows.add_row([
            p.line.to_string(),
            p.nbands.to_string(),
            p.ngpown.to_string(),
            p.ncouls.to_string(),
            p.nw.to_string(),
            format!("{:.4}", p.time_ms),
            format!("{:.3e}", p.terms_per_s),
            format!("{:.0} %", p.efficiency * 100.0),
            format!("{:?}", p.outcome),
        ]);
    }
    let document = json!({
        "schema": 1,
        "device": device.info(),
        "version": version.id,
        "complex_modes": args.complex,
        "points": points,
    });
    let text = serde_json::to_string_pretty(&document)?;
    let mut to = std::io::stdout().lock();
    match args.json.as_deref() {
        Some(path) if path == Path::new("-") => writeln!(to, "{text}")?,
        Some(path) => replace(path, |file| writeln!(file, "{text}"))?,
        None => {}
    }
    if !args.quiet && args.json.as_deref() != Some(Path::new("-")) {
        writeln!(to, "{} on {}", version.id, device.info().name)?;
        writeln!(to, "{rows}")?;
    }
    let passed = points.iter().all(|point| point.outcome == Outcome::Passed);
    Ok(ExitCode::from(u8::from(!passed)))
}
