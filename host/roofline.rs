//! `gpp roofline`: points, ceilings and charts.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use gpp_kernels::peaks::{FMA_SYMBOL, READ_SYMBOLS};
use serde::Serialize;

use crate::catalogue::{order, sources};
use crate::chart::{Chart, Picture, Roofline};
use crate::cli::args::RooflineArgs;
use crate::devices::Device as _;
use crate::devices::gauge::Watch;
use crate::devices::gpu::ceilings::{Limits, SUSTAINED};
use crate::devices::gpu::{self, Gpu};
use crate::error::{Error, Result};
use crate::measure::seen;
use crate::offdiag::records::{self, Folder, Matrices};
use crate::output::{print, replace, require_name};
use crate::profile::Records;
use crate::record::profile::{Ceilings, Profile, Theoretical};
use crate::record::{Provenance, SCHEMA, kernels_by};

pub fn roofline(args: &RooflineArgs) -> anyhow::Result<ExitCode> {
    if let Some(output) = &args.output {
        require_name("--output", output, "folder")?;
    }
    let records = Records::load(&args.from)?;
    let Records { profiles, ceilings, .. } = records;
    let matrices = args.offdiag.as_deref().map(|folder| matrices(folder, &ceilings)).transpose()?;
    let output = match &args.output {
        Some(output) => output,
        None => Path::new("."),
    };
    write_charts(output, &profiles, &ceilings)?;
    matrices.iter().try_for_each(|of| write_matrices(output, of))?;
    print(|to| writeln!(to, "rooflines in {}", output.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The versions of Σ as a matrix; errors name the flag.
fn matrices<'a>(folder: &Path, ceilings: &'a Ceilings) -> Result<Matrices<'a>> {
    let found = Folder::load(folder).and_then(|folder| Matrices::of(&folder, ceilings));
    found.map_err(of_offdiag)
}

/// What is wrong with Σ as a matrix is said of its flag.
pub fn of_offdiag(error: Error) -> Error {
    match error {
        Error::Input { origin, what } => {
            Error::Input { origin: format!("--offdiag {origin}"), what }
        }
        other => other,
    }
}

// The hierarchical roofline: points, and which versions a figure shows.

/// What the times of a chart's dots are by: one clock for all of them, as intensities need none and
/// ceilings are timed by events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Medians of runs without a profiler; on a GPU by its events.
    Runs,
    /// The launches' durations under the profiler.
    Profiler,
}

impl Timing {
    /// The one that all of these profiles have: that of the runs, if each was run.
    pub fn of<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Timing {
        let run = profiles.into_iter().all(|profile| profile.time_s.is_some());
        if run { Timing::Runs } else { Timing::Profiler }
    }

    pub fn seconds(self, profile: &Profile) -> f64 {
        match self {
            Timing::Runs => profile.seconds(),
            Timing::Profiler => profile.duration_s,
        }
    }
}

/// One dot: AI(level) = FLOPs / bytes(level), FLOP/s = FLOPs / time (paper, equations 1 and 2).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    pub version: String,
    pub level: Level,
    /// Operations for each byte moved at the level.
    pub intensity: f64,
    pub flops_per_s: f64,
}

/// Shared memory's traffic, over L1's, below which it is that of shuffles and of the sum of a block.
const OF_SUMS: f64 = 0.02;

/// The dots of a profile, one for each level whose bytes are known; shared memory's of versions that
/// keep more there than their sums.
pub fn points(profile: &Profile, timing: Timing) -> Vec<Point> {
    let uses = |shared: f64| profile.bytes.l1.is_none_or(|l1| shared > OF_SUMS * l1);
    let point = |level: Level| {
        let bytes = level.bytes(profile).filter(|&bytes| level != Level::Shared || uses(bytes))?;
        Some(Point {
            version: profile.version.clone(),
            level,
            intensity: profile.flops() / bytes,
            flops_per_s: profile.flops() / timing.seconds(profile),
        })
    };
    LEVELS.into_iter().filter_map(point).collect()
}

/// A figure of the paper, or one of more versions.
pub struct Figure {
    /// File name without its ending.
    pub name: &'static str,
    pub paper: Option<u32>,
    shown: Shown,
}

enum Shown {
    /// Those of a journey and of what goes on from it.
    Story(&'static str),
    /// Those past the paper, and the one that they start from.
    Past,
    Range(&'static str, &'static str),
}

const fn figure(name: &'static str, paper: Option<u32>, shown: Shown) -> Figure {
    Figure { name, paper, shown }
}

/// One of the paper's versions and what came after, its own rooflines, and one of each other journey.
pub const FIGURES: [Figure; 9] = [
    figure("roofline", None, Shown::Story("paper")),
    figure("roofline-fig1", Some(1), Shown::Range("v0", "v1")),
    figure("roofline-fig3", Some(3), Shown::Range("v1", "v3")),
    figure("roofline-fig5", Some(5), Shown::Range("v3", "v5")),
    figure("roofline-fig6", Some(6), Shown::Range("v5", "v8")),
    figure("roofline-past", None, Shown::Past),
    figure("roofline-blog", None, Shown::Story("blog")),
    figure("roofline-talk", None, Shown::Story("talk")),
    figure("roofline-cpu", None, Shown::Story("cpu")),
];

impl Figure {
    pub fn versions(&self) -> Vec<&'static str> {
        match self.shown {
            Shown::Story(id) => order::of_story(id),
            Shown::Past => order::past(),
            Shown::Range(first, last) => order::range(first, last),
        }
    }

    /// Whether it is of a journey and all that goes on from it.
    pub fn is_whole(&self) -> bool {
        matches!(self.shown, Shown::Story(_))
    }

    /// The levels that it shows: all in the paper's own figures, HBM alone where there are many versions.
    pub fn levels(&self) -> &'static [Level] {
        if self.paper.is_some() { &LEVELS } else { &[Level::Hbm] }
    }

    pub fn of<'a>(&self, profiles: &'a [Profile]) -> Vec<&'a Profile> {
        let versions = self.versions();
        profiles.iter().filter(|p| versions.contains(&p.version.as_str())).collect()
    }

    /// The versions that it shows of the profiles at hand, and those that the paper's figure has.
    pub fn title(&self, shown: &[&Profile]) -> String {
        let places =
            |ids: &[&str]| -> Vec<usize> { ids.iter().filter_map(|id| order::place(id)).collect() };
        let shown = places(&shown.iter().map(|p| p.version.as_str()).collect::<Vec<_>>());
        let all = places(&self.versions());
        match self.paper {
            None => names(&shown),
            Some(number) if shown == all => format!("{} (paper, Fig. {number})", names(&shown)),
            Some(number) => format!("{} (paper, Fig. {number}: {})", names(&shown), names(&all)),
        }
    }
}

/// Versions by their places: "v0, v3, v8 to v13".
fn names(places: &[usize]) -> String {
    let all = order::all();
    let runs = places.chunk_by(|a, b| order::before(all[*b]) == Some(all[*a]));
    let name = |at: &usize| all[*at].to_string();
    let run = |run: &[usize]| match run {
        [first, .., last] if run.len() > 2 => format!("{} to {}", name(first), name(last)),
        few => few.iter().map(name).collect::<Vec<_>>().join(", "),
    };
    runs.map(run).collect::<Vec<_>>().join(", ")
}

// Levels of the memory hierarchy and the bytes that are moved at each.

/// A level of the memory hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Level {
    #[serde(rename = "HBM")]
    Hbm,
    /// Second-level cache: what L1 asks for.
    L2,
    /// First-level cache, shared memory left out.
    L1,
    #[serde(rename = "shared")]
    Shared,
}

pub const LEVELS: [Level; 4] = [Level::Hbm, Level::L2, Level::L1, Level::Shared];

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Level::Hbm => "HBM",
            Level::L2 => "L2",
            Level::L1 => "L1",
            Level::Shared => "shared",
        }
    }

    /// Bytes that a version moved at the level, where they are known.
    pub fn bytes(self, profile: &Profile) -> Option<f64> {
        let bytes = &profile.bytes;
        match self {
            Level::Hbm => Some(bytes.hbm),
            Level::L2 => bytes.l2,
            Level::L1 => bytes.l1,
            Level::Shared => bytes.shared,
        }
    }

    /// Bytes a second that the level can move: measured, of shared memory by clock and width, where that
    /// is known.
    pub fn bandwidth(self, ceilings: &Ceilings) -> Option<f64> {
        match self {
            Level::Hbm => Some(ceilings.hbm),
            Level::L2 => Some(ceilings.l2),
            Level::L1 => Some(ceilings.l1),
            Level::Shared => ceilings.theoretical.shared,
        }
    }
}

// What a version can reach of the FP64 peak, by its share of fused operations, and how much it does.

/// Share of the FP64 peak that a kernel of this FMA ratio can reach: `(2r + (1 − r)) / 2`
/// (paper, section III: 58 % gives 79 %).
pub fn share_of_peak(fma_ratio: f64) -> f64 {
    f64::midpoint(fma_ratio, 1.0)
}

/// Shares of a version's own ceiling, that of its FMA ratio, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OfOwnCeiling {
    /// By the peak of a burst, at the highest clock.
    pub burst: f64,
    /// By the peak that is sustained, where it was measured.
    pub sustained: Option<f64>,
}

/// Rate over what the FMA ratio allows of the measured peaks (70 % for the paper's v8 on a V100).
pub fn of_own_ceiling(profile: &Profile, ceilings: &Ceilings) -> OfOwnCeiling {
    let of = |peak: f64| profile.rate() / (share_of_peak(profile.fma_ratio()) * peak);
    OfOwnCeiling { burst: of(ceilings.fp64), sustained: ceilings.fp64_sustained.map(of) }
}

/// FP64 operations a second of a GPU's matrix units at its highest clock: twice those of its vectors, where its compute
/// capability has such units.
pub fn of_matrix_units(ceilings: &Ceilings, capability: Option<&str>) -> Option<f64> {
    let vectors = ceilings.theoretical.fp64?;
    matches!(capability, Some("8.0" | "9.0")).then_some(2.0 * vectors)
}

/// Rates that shared memory allows with one FP64 access for every 2, 1 and ½ operations.
pub fn shared_limits(shared: f64) -> [f64; 3] {
    [2.0, 1.0, 0.5].map(|operations| shared / 8.0 * operations)
}

// What a device can do: measured ceilings, and those that its clocks and widths promise.

pub fn ceilings(gpu: &Gpu) -> Result<Ceilings> {
    let watch = gpu.gauge().map(Watch::begin);
    let limits = gpu.limits()?;
    let end = Instant::now();
    let sustained = end - Duration::from_secs_f64(SUSTAINED)..end;
    let looks = watch.map_or(Vec::new(), Watch::end);
    let limit = gpu.gauge().and_then(|gauge| gauge.power_limit_w());
    let symbols = [FMA_SYMBOL].into_iter().chain(READ_SYMBOLS);
    let hashes = symbols.filter_map(|symbol| Some((symbol.into(), gpu::hash(symbol)?)));
    Ok(Ceilings {
        schema: SCHEMA,
        device: gpu.info().name.clone(),
        provenance: Some(Provenance::now(gpu.info())),
        kernel_hashes: Some(hashes.collect()),
        source_hash: sources::hash_at("kernels/src/peaks.rs"),
        state: seen(&looks, &[sustained], limit).state,
        kernels_by: kernels_by(),
        fp64: limits.fp64,
        fp64_sustained: Some(limits.fp64_sustained),
        hbm: limits.hbm,
        l2: limits.l2,
        l1: limits.l1,
        theoretical: theoretical(&limits),
    })
}

fn theoretical(limits: &Limits) -> Theoretical {
    let cycles = f64::from(limits.multiprocessors) * limits.hertz;
    Theoretical {
        fp64: fp64_lanes(limits.capability).map(|lanes| 2.0 * lanes * cycles),
        // Two transfers a clock.
        hbm: Some(2.0 * limits.memory_hertz * limits.bus_bits / 8.0),
        l1: Some(128.0 * cycles),
        // SMs × 4 B × lanes × clock (rules of thumb for shared memory).
        shared: Some(4.0 * 32.0 * cycles),
    }
}

/// FP64 lanes of a multiprocessor by compute capability.
fn fp64_lanes(capability: (u32, u32)) -> Option<f64> {
    match capability {
        (6..=8, 0) => Some(32.0),
        (9 | 10, 0) => Some(64.0),
        (6..=12, _) => Some(2.0),
        _ => None,
    }
}

// All rooflines of some profiles and their points, as files in a folder.

/// Writes each figure as SVG and PNG, and all points as CSV.
pub fn write_charts(folder: &Path, profiles: &[Profile], ceilings: &Ceilings) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::write(folder, e))?;
    replace(&folder.join("roofline.csv"), |file| csv(file, profiles, ceilings))?;

    for figure in FIGURES {
        let shown = figure.of(profiles);
        if shown.is_empty() {
            continue;
        }
        let title = figure.title(&shown);
        let chart = Roofline::of(&title, &shown, ceilings, figure.levels());
        draw(&folder.join(figure.name), &chart)?;
    }
    Ok(())
}

/// Writes the chart of versions of Σ as a matrix as SVG and PNG, and their points as CSV.
pub fn write_matrices(folder: &Path, of: &Matrices) -> Result<()> {
    let path = folder.join(records::NAME);
    draw(&path, &Roofline::of_matrices(of))?;
    replace(&path.with_extension("csv"), |file| {
        let mut csv = csv::Writer::from_writer(file);
        csv.write_record(["version", "level", "operations", "intensity", "flops_per_s"])?;
        let all = [("counted", of.points.clone()), ("executed", of.executed())];
        for (operations, points) in all {
            for Point { version, level, intensity, flops_per_s } in points {
                csv.serialize((version, level, operations, intensity, flops_per_s))?;
            }
        }
        csv.flush()
    })
}

/// Writes a chart as SVG and PNG.
fn draw(path: &Path, chart: &impl Chart) -> Result<()> {
    Picture::Svg.write(&path.with_extension("svg"), chart)?;
    Picture::Png.write(&path.with_extension("png"), chart)
}

/// The points of all profiles, and the share of its own ceiling that a version reaches.
fn csv(to: &mut dyn Write, profiles: &[Profile], ceilings: &Ceilings) -> io::Result<()> {
    let timing = Timing::of(profiles);
    let mut csv = csv::Writer::from_writer(to);
    csv.write_record([
        "version",
        "level",
        "intensity",
        "flops_per_s",
        "of_own_ceiling",
        "of_own_sustained_ceiling",
    ])?;
    for profile in profiles {
        let own = of_own_ceiling(profile, ceilings);
        for point in points(profile, timing) {
            let Point { version, level, intensity, flops_per_s } = point;
            csv.serialize((version, level, intensity, flops_per_s, own.burst, own.sustained))?;
        }
    }
    csv.flush()
}

#[cfg(test)]
mod tests;
