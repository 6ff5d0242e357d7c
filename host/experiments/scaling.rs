//! A version's time against each extent of a problem, on systems made for it.

use super::measure::measure;
use super::measure::timed::{QUIETLY, settle};
use crate::catalogue::tuned::{Overrides, shaped};
use crate::catalogue::{self, BackEnd, Kernel, Listed};
use crate::devices::Device;
use crate::engine::Engine;
use crate::error::Result;
use crate::problem::{System, synthesis};
use crate::process::progress::Progress;
use crate::record::Head;
use crate::record::provenance::{Provenance, Regime};
use crate::record::scaling::{Line, Point, Scaling};
use crate::record::times::{Regimes, Repetition};
use crate::reference::{self, Reference, Source};

/// The middle of the lines: half of si214 in each extent.
const BASE: [usize; 3] = [400, 692, 5536];

/// Pairs of a quick point at most, times bands.
const QUICK: usize = 5_000_000;

/// Most terms that are evaluated for a reference: half a second on two cores. Larger problems are
/// compared with a [`judge`] on the same device, which the tests check against the definition.
const EVALUATED: u64 = 100_000_000;

/// Runs of each point before the timed ones.
const WARMUP: usize = 2;

/// What is measured.
#[derive(Clone, Copy)]
pub struct Options {
    /// The version.
    pub version: Listed,
    /// Complex modes instead of real ones.
    pub complex: bool,
    /// The smallest points only.
    pub quick: bool,
    /// Seed of the systems.
    pub seed: u64,
    /// Timed runs of each point.
    pub repeat: usize,
}

/// The points of the lines: nbands, ngpown, ncouls, nw.
fn lines() -> Vec<(Line, [usize; 4])> {
    let [nbands, ngpown, ncouls] = BASE;
    let eighths = |extent: usize| [1, 2, 4, 8].map(|n| (extent * n).div_ceil(4));
    let mut points = Vec::new();
    points.extend(eighths(nbands).map(|n| (Line::Nbands, [n, ngpown, ncouls, 2])));
    points.extend(eighths(ngpown).map(|n| (Line::Ngpown, [nbands, n, ncouls, 2])));
    points.extend(eighths(ncouls).map(|n| (Line::Ncouls, [nbands, ngpown, n, 2])));
    points.extend([1, 2, 3].map(|nw| (Line::Nw, [nbands, ngpown, ncouls, nw])));
    points.extend([32, 16, 8, 4, 2, 1].map(|part: usize| {
        let [nbands, ngpown, ncouls] = BASE.map(|n| (2 * n).div_ceil(part));
        (Line::All, [nbands, ngpown, ncouls, 2])
    }));
    points
}

/// Measures the points; `each` is called after each.
///
/// # Errors
/// Those of the device and of [`synthesis::synthesise`].
pub fn scale(
    device: &dyn Device,
    options: &Options,
    progress: Progress,
    mut each: impl FnMut(&Scaling),
) -> Result<Scaling> {
    let repetition = repetition(device, options);
    let provenance = Provenance {
        seed: Some(options.seed),
        warmup: Some(WARMUP),
        repeat: Some(options.repeat),
        settle_s: Some(repetition.settle.as_secs_f64()),
        regime: Regime::of(repetition),
        ..Provenance::now(device.info())
    };
    let mut scaling = Scaling {
        head: Head::new(device.info(), provenance),
        version: options.version.id().into(),
        complex_modes: options.complex,
        points: Vec::new(),
    };
    let small = |extents: &[usize; 4]| extents[..3].iter().product::<usize>() < QUICK;
    let lines: Vec<_> =
        lines().into_iter().filter(|(_, extents)| !options.quick || small(extents)).collect();
    let bar = progress.bar("scaling", lines.len() as u64);
    for (line, extents) in lines {
        scaling.points.push(point(device, options, line, extents)?);
        each(&scaling);
        bar.inc(1);
    }
    bar.finish_and_clear();
    scaling.head.complete = true;
    Ok(scaling)
}

/// How often a point runs, and for how long: extents are compared, not what the board makes of them.
fn repetition(device: &dyn Device, options: &Options) -> Repetition {
    let settle = settle(device, Some(WARMUP));
    Repetition { warmup: WARMUP, repeat: options.repeat, settle, regimes: Regimes::BeforeCap }
}

fn point(
    device: &dyn Device,
    options: &Options,
    line: Line,
    [nbands, ngpown, ncouls, nw]: [usize; 4],
) -> Result<Point> {
    let system = System {
        name: name([nbands, ngpown, ncouls, nw]),
        nbands,
        nvband: (nbands * 428).div_ceil(800),
        ngpown,
        ncouls,
        nstart: if nw == 3 { 1 } else { 2 },
        nend: if nw == 1 { 2 } else { 3 },
        complex_modes: options.complex,
        note: String::new(),
    };
    let problem = synthesis::synthesise(&system, options.seed, Progress { shown: false })?;
    let mut engine = Engine::whole(device, &problem)?;
    let (kernel, poles) = (options.version.kernel, problem.poles());
    let version = shaped(kernel, &device.info().name, poles, Overrides::default())?;
    let reference = reference(&mut engine, judge(device.back_end()))?;
    let repetition = repetition(device, options);
    let measured = measure(version, device, &mut engine, Some(&reference), repetition, &QUIETLY)?;
    let seconds = measured.times.median;
    Ok(Point {
        line,
        nbands,
        ngpown,
        ncouls,
        nw,
        kernel: measured.kernel.clone(),
        kernel_hash: measured.kernel_hash.clone(),
        source_hash: measured.source_hash.clone(),
        state: measured.state.clone(),
        terms: problem.terms(),
        time_ms: seconds * 1e3,
        sigma_ms: measured.times.sigma().map(|sigma| sigma * 1e3),
        terms_per_s: problem.terms() as f64 / seconds,
        efficiency: None,
        outcome: measured.outcome(),
        reference: Some(reference.source),
    })
}

/// The name of a point's system.
pub fn name([nbands, ngpown, ncouls, nw]: [usize; 4]) -> String {
    format!("{nbands} × {ngpown} × {ncouls} × {nw}")
}

/// The version whose sums others are compared with: made for the back end, its terms written as the
/// definition has them.
pub(super) fn judge(back_end: BackEnd) -> Kernel {
    let id = match back_end {
        BackEnd::Gpu => "v3",
        BackEnd::Cpu => "cpu:blocked",
    };
    catalogue::find(id).expect("the journeys have both").kernel
}

/// Golden sums or sums evaluated now, or a judge's where that would take too long.
pub(super) fn reference(engine: &mut Engine, judge: Kernel) -> Result<Reference> {
    let problem = engine.problem();
    let quiet = Progress { shown: false };
    if (problem.terms() <= EVALUATED || reference::is_golden(problem))
        && let Some(reference) = reference::of(engine.slabs(), quiet)?
    {
        return Ok(reference);
    }
    let sums = engine.run(judge)?.sums;
    Ok(Reference::new(problem.start().plus(&sums), Source::Device, quiet))
}
