//! The roofline: its points, its charts and its ceilings.

use std::time::{Duration, Instant};

use crate::catalogue::{self, SERIES};
use crate::devices::Device as _;
use crate::devices::gauge::Watch;
use crate::devices::gpu::{Gpu, Peaks, SUSTAINED};
use crate::error::Result;
use crate::measure::state;
use crate::record::{Ceilings, Profile, Provenance, SCHEMA, Theoretical};

/// A point: AI(level) = FLOPs / bytes(level), FLOP/s = FLOPs / time (paper, equations 1 and 2).
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub version: String,
    pub level: Level,
    /// FLOP per byte moved at the level.
    pub intensity: f64,
    pub flops_per_s: f64,
}

/// The point of a profile at a level, if its bytes are known; for shared memory, if a version uses it for more than
/// shuffles and the reduction of a block, which move less than 2 % of L1's bytes.
pub fn point(profile: &Profile, level: Level) -> Option<Point> {
    let bytes = level.bytes(profile)?;
    if level == Level::Shared && profile.bytes.l1.is_some_and(|l1| bytes <= 0.02 * l1) {
        return None;
    }
    Some(Point {
        version: profile.version.clone(),
        level,
        intensity: profile.flops() / bytes,
        flops_per_s: profile.rate(),
    })
}

/// A chart: the versions of a series at a level of the memory.
pub struct Figure<'a> {
    pub name: String,
    pub title: String,
    pub shown: Vec<&'a Profile>,
    pub level: Level,
}

/// A chart by HBM for each series, and by the other levels for the paper's with what continues it.
pub fn figures(profiles: &[Profile]) -> Vec<Figure<'_>> {
    let mut figures = Vec::new();
    for series in SERIES.iter().filter(|series| series.continues.is_none()) {
        let is_own = |own: &&Profile| {
            catalogue::first_series_of(&own.version).is_some_and(|of| of.id == series.id)
        };
        let shown: Vec<&Profile> = profiles.iter().filter(is_own).collect();
        let is_paper = series.id == "paper";
        let levels = if is_paper { &LEVELS[..] } else { &[Level::Hbm] };
        for &level in levels {
            if shown.iter().any(|own| level.bytes(own).is_some()) {
                let name = match (is_paper, level) {
                    (true, Level::Hbm) => "roofline".into(),
                    (true, _) => format!("roofline-{}", level.name().to_lowercase()),
                    (false, _) => format!("roofline-{}", series.id),
                };
                let [first, last] = [0, shown.len() - 1].map(|at| &shown[at].version);
                let title = format!("{first} to {last}");
                figures.push(Figure { name, title, shown: shown.clone(), level });
            }
        }
    }
    figures
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Hbm,
    L2,
    /// Without shared memory.
    L1,
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

    pub fn bytes(self, profile: &Profile) -> Option<f64> {
        let bytes = &profile.bytes;
        match self {
            Level::Hbm => Some(bytes.hbm),
            Level::L2 => bytes.l2,
            Level::L1 => bytes.l1,
            Level::Shared => bytes.shared,
        }
    }

    /// Bytes per second that the level can move: measured, for shared memory by clock and width.
    pub fn bandwidth(self, ceilings: &Ceilings) -> Option<f64> {
        match self {
            Level::Hbm => Some(ceilings.hbm),
            Level::L2 => Some(ceilings.l2),
            Level::L1 => Some(ceilings.l1),
            Level::Shared => ceilings.theoretical.shared,
        }
    }
}

/// Share of the FP64 peak that a kernel of this FMA ratio can reach: `(2r + (1 − r)) / 2`
/// (paper, section III: 58 % gives 79 %).
pub fn share_of_peak(fma_ratio: f64) -> f64 {
    f64::midpoint(fma_ratio, 1.0)
}

/// Rate over what the FMA ratio allows of the measured peak (70 % for the paper's v8 on a V100).
pub fn of_own_ceiling(profile: &Profile, ceilings: &Ceilings) -> f64 {
    profile.rate() / (share_of_peak(profile.fma_ratio()) * ceilings.fp64)
}

/// FP64 operations per second of the tensor cores at the highest clock: twice the vector peak, if the GPU has any.
pub fn of_matrix_units(ceilings: &Ceilings, capability: Option<&str>) -> Option<f64> {
    let vectors = ceilings.theoretical.fp64?;
    matches!(capability, Some("8.0" | "9.0")).then_some(2.0 * vectors)
}

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

pub fn theoretical(limits: &Peaks) -> Theoretical {
    let cycles = f64::from(limits.multiprocessors) * limits.hertz;
    // FP64 lanes of a multiprocessor.
    let lanes = match limits.capability {
        (6..=8, 0) => Some(32.0),
        (9 | 10, 0) => Some(64.0),
        (6..=12, _) => Some(2.0),
        _ => None,
    };
    Theoretical {
        fp64: lanes.map(|lanes| 2.0 * lanes * cycles),
        hbm: Some(2.0 * limits.memory_hertz * limits.bus_bits / 8.0),
        l1: Some(128.0 * cycles),
        // SMs × 4 B × lanes × clock (rules of thumb for shared memory).
        shared: Some(4.0 * 32.0 * cycles),
    }
}
