//! The roofline: its points, its ceilings and which versions a chart shows.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::catalogue::{JOURNEYS, order};
use crate::devices::Device as _;
use crate::devices::gauge::Watch;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::peaks::{Peaks, SUSTAINED};
use crate::error::Result;
use crate::measure::state;
use crate::record::profile::{Ceilings, Profile, Theoretical};
use crate::record::{Provenance, SCHEMA};

// The hierarchical roofline: points, and which versions a figure shows.

/// Where the times of a chart's points come from: the same for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Medians of runs without a profiler; on a GPU by its events.
    Runs,
    /// The launches' durations under the profiler.
    Profiler,
}

impl Timing {
    /// The runs, if each of these versions was run.
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

/// A point: AI(level) = FLOPs / bytes(level), FLOP/s = FLOPs / time (paper, equations 1 and 2).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    pub version: String,
    pub level: Level,
    /// Operations for each byte moved at the level.
    pub intensity: f64,
    pub flops_per_s: f64,
}

/// Shared memory's traffic, over L1's, below which it is that of shuffles and of the reduction of a block.
const REDUCTION: f64 = 0.02;

/// The point of a profile at a level, if its bytes are known; for shared memory, if the version uses it for more than
/// its reduction.
pub fn point(profile: &Profile, level: Level, timing: Timing) -> Option<Point> {
    let uses = |shared: f64| profile.bytes.l1.is_none_or(|l1| shared > REDUCTION * l1);
    let bytes = level.bytes(profile).filter(|&bytes| level != Level::Shared || uses(bytes))?;
    Some(Point {
        version: profile.version.clone(),
        level,
        intensity: profile.flops() / bytes,
        flops_per_s: profile.flops() / timing.seconds(profile),
    })
}

/// A chart: the versions of a series at a level of the memory.
pub struct Figure<'a> {
    /// File name without its ending.
    pub name: String,
    pub title: String,
    pub shown: Vec<&'a Profile>,
    pub level: Level,
}

/// One chart for each series by HBM; of the paper's and what continues it also by the other levels.
pub fn figures(profiles: &[Profile]) -> Vec<Figure<'_>> {
    let mut figures = Vec::new();
    for series in JOURNEYS.iter().filter(|series| series.continues.is_none()) {
        let is_own =
            |own: &&Profile| order::story(&own.version).is_some_and(|of| of.id == series.id);
        let shown: Vec<&Profile> = profiles.iter().filter(is_own).collect();
        let levels = if series.id == "paper" { &LEVELS[..] } else { &[Level::Hbm] };
        for &level in levels {
            if !shown.iter().any(|own| level.bytes(own).is_some()) {
                continue;
            }
            let series = if series.id == "paper" { "" } else { series.id };
            let level_name = if level == Level::Hbm { "" } else { level.name() };
            let name = ["roofline", series, level_name].map(str::to_lowercase);
            let name: Vec<&str> =
                name.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
            let title = names(&shown);
            figures.push(Figure { name: name.join("-"), title, shown: shown.clone(), level });
        }
    }
    figures
}

/// Versions by their order: "v0, v3, v8 to v13".
fn names(profiles: &[&Profile]) -> String {
    let ids: Vec<&str> = profiles.iter().map(|own| own.version.as_str()).collect();
    let runs = ids.chunk_by(|a, b| order::before(b) == Some(*a));
    let run = |run: &[&str]| match run {
        [first, .., last] if run.len() > 2 => format!("{first} to {last}"),
        few => few.join(", "),
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

    /// Bytes that a version moved at the level.
    pub fn bytes(self, profile: &Profile) -> Option<f64> {
        let bytes = &profile.bytes;
        match self {
            Level::Hbm => Some(bytes.hbm),
            Level::L2 => bytes.l2,
            Level::L1 => bytes.l1,
            Level::Shared => bytes.shared,
        }
    }

    /// Bytes a second that the level can move: measured, for shared memory by clock and width.
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

// What a device can do: measured ceilings, and those that its clocks and widths promise.

pub fn ceilings(gpu: &Gpu) -> Result<Ceilings> {
    let watch = gpu.gauge().map(Watch::begin);
    let limits = gpu.peaks()?;
    let end = Instant::now();
    let sustained = end - Duration::from_secs_f64(SUSTAINED)..end;
    let looks = watch.map_or(Vec::new(), Watch::end);
    let limit = gpu.gauge().and_then(|gauge| gauge.power_limit_w());
    Ok(Ceilings {
        schema: SCHEMA,
        device: gpu.info().name.clone(),
        provenance: Some(Provenance::now(gpu.info())),
        state: state(&looks, &[sustained], limit),
        fp64: limits.fp64,
        fp64_sustained: Some(limits.fp64_sustained),
        hbm: limits.hbm,
        l2: limits.l2,
        l1: limits.l1,
        theoretical: theoretical(&limits),
    })
}

fn theoretical(limits: &Peaks) -> Theoretical {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_h200_by_its_clocks_and_widths() {
        let limits = Peaks {
            fp64: 0.0,
            fp64_sustained: 0.0,
            hbm: 0.0,
            l2: 0.0,
            l1: 0.0,
            capability: (9, 0),
            multiprocessors: 132,
            hertz: 1.98e9,
            memory_hertz: 3.201e9,
            bus_bits: 6016.0,
        };
        let theoretical = theoretical(&limits);
        let near =
            |value: Option<f64>, archived: f64| (value.unwrap() / archived - 1.0).abs() <= 1e-6;
        assert!(near(theoretical.fp64, 33_454_080_000_000.0));
        assert!(near(theoretical.hbm, 4_814_304_000_000.0), "{theoretical:?}");
        assert!(near(theoretical.shared, 33_454_080_000_000.0));
        assert_eq!(fp64_lanes((13, 0)), None);
    }
}
