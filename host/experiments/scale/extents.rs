//! Time over the extents of a problem, on one device and systems made for it.

use super::judge::{Judge, reference};
use super::point::Sampled;
use super::{All, Options};
use crate::catalogue::tuned::{Overrides, shaped};
use crate::devices::Device;
use crate::engine::Engine;
use crate::error::Result;
use crate::experiments::measure::timed::{QUIETLY, settle, timed};
use crate::problem::{System, synthesis};
use crate::process::progress::Progress;
use crate::record::scale::{Line, Point};
use crate::record::times::{Regimes, Repetition};

/// The middle of the lines: half of si214 in each extent.
const BASE: [usize; 3] = [400, 692, 5536];

/// Pairs of a quick point at most, times bands.
const QUICK: usize = 5_000_000;

/// Runs of each point before the timed ones.
const WARMUP: usize = 2;

/// The system in the middle of the lines.
pub fn middle(complex_modes: bool) -> System {
    let [nbands, ngpown, ncouls] = BASE;
    system([nbands, ngpown, ncouls, 2], complex_modes)
}

/// How often a point runs, and for how long: extents are compared, not what the board makes of them.
pub fn repetition(device: &dyn Device, repeat: usize) -> Repetition {
    let settle = settle(device, Some(WARMUP));
    Repetition { warmup: WARMUP, repeat, settle, regimes: Regimes::BeforeCap }
}

fn system([nbands, ngpown, ncouls, nw]: [usize; 4], complex_modes: bool) -> System {
    System {
        name: format!("{nbands} × {ngpown} × {ncouls} × {nw}"),
        nbands,
        nvband: (nbands * 428).div_ceil(800),
        ngpown,
        ncouls,
        nstart: if nw == 3 { 1 } else { 2 },
        nend: if nw == 1 { 2 } else { 3 },
        complex_modes,
        masked: 0.0,
        note: String::new(),
    }
}

/// The points of a line: nbands, ngpown, ncouls, nw.
fn line(of: Line) -> Vec<[usize; 4]> {
    let [nbands, ngpown, ncouls] = BASE;
    let eighths = |extent: usize| [1, 2, 4, 8].map(|n| (extent * n).div_ceil(4));
    match of {
        Line::Nbands => eighths(nbands).map(|n| [n, ngpown, ncouls, 2]).into(),
        Line::Ngpown => eighths(ngpown).map(|n| [nbands, n, ncouls, 2]).into(),
        Line::Ncouls => eighths(ncouls).map(|n| [nbands, ngpown, n, 2]).into(),
        Line::Nw => [1, 2, 3].map(|nw| [nbands, ngpown, ncouls, nw]).into(),
        Line::All => {
            let part = |part: usize| BASE.map(|n| (2 * n).div_ceil(part));
            let of = |[nbands, ngpown, ncouls]: [usize; 3]| [nbands, ngpown, ncouls, 2];
            [32, 16, 8, 4, 2, 1].map(|n| of(part(n))).into()
        }
        Line::Strong | Line::Weak | Line::Slabs => Vec::new(),
    }
}

/// Measures the points of all lines; `done` is given each.
///
/// # Errors
/// Those of the device and of [`synthesis::synthesise`].
pub fn measured(
    all: All,
    options: &Options,
    progress: Progress,
    mut done: impl FnMut(Point),
) -> Result<()> {
    let points = options.lines.iter().flat_map(|of| line(*of).into_iter().map(|at| (*of, at)));
    let small = |extents: &[usize; 4]| extents[..3].iter().product::<usize>() < QUICK;
    let points: Vec<_> = points.filter(|(_, at)| !options.quick || small(at)).collect();
    let bar = progress.bar("scaling", points.len() as u64);
    for (line, extents) in points {
        done(point(all.devices[0], options, line, extents)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

fn point(device: &dyn Device, options: &Options, line: Line, extents: [usize; 4]) -> Result<Point> {
    let system = system(extents, options.system.complex_modes);
    let problem = synthesis::synthesise(&system, options.seed, Progress { shown: false })?;
    let mut engine = Engine::whole(device, &problem)?;
    let (kernel, poles) = (options.version.kernel, problem.poles());
    let version = shaped(kernel, &device.info().name, poles, Overrides::default())?;
    let back_end = device.back_end();
    let judge = Judge { reference: reference(&mut engine, back_end)?, base: None };
    let timed = timed(version, device, &mut engine, options.repetition, &QUIETLY)?;
    Sampled::of(timed).judged((line, 1), &engine, (version, back_end), &judge)
}
