//! The roofline: its points and its ceilings.

use crate::devices::Device as _;
use crate::devices::gpu::{Gpu, Peaks};
use crate::error::Result;
use crate::record::{Ceilings, Profile, Provenance, SCHEMA};

/// A point: AI(level) = FLOPs / bytes(level), FLOP/s = FLOPs / time (paper, equations 1 and 2).
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub version: String,
    pub level: MemoryLevel,
    /// FLOP per byte moved at the level.
    pub intensity: f64,
    pub flops_per_s: f64,
}

/// The point of a profile at a level, if its bytes are known; for shared memory, if a version uses it for more than
/// shuffles and the reduction of a block, which move less than 2 % of L1's bytes.
pub fn point(profile: &Profile, level: MemoryLevel) -> Option<Point> {
    let bytes = level.bytes(profile)?;
    if level == MemoryLevel::Shared && profile.bytes.l1.is_some_and(|l1| bytes <= 0.02 * l1) {
        return None;
    }
    Some(Point {
        version: profile.version.clone(),
        level,
        intensity: profile.flops() / bytes,
        flops_per_s: profile.rate(),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryLevel {
    Hbm,
    L2,
    /// Without shared memory.
    L1,
    Shared,
}

pub const LEVELS: [MemoryLevel; 4] =
    [MemoryLevel::Hbm, MemoryLevel::L2, MemoryLevel::L1, MemoryLevel::Shared];

impl MemoryLevel {
    pub fn name(self) -> &'static str {
        match self {
            MemoryLevel::Hbm => "HBM",
            MemoryLevel::L2 => "L2",
            MemoryLevel::L1 => "L1",
            MemoryLevel::Shared => "shared",
        }
    }

    pub fn bytes(self, profile: &Profile) -> Option<f64> {
        let bytes = &profile.bytes;
        match self {
            MemoryLevel::Hbm => Some(bytes.hbm),
            MemoryLevel::L2 => bytes.l2,
            MemoryLevel::L1 => bytes.l1,
            MemoryLevel::Shared => bytes.shared,
        }
    }

    /// Bytes per second that the level can move: measured, for shared memory by clock and width.
    pub fn bandwidth(self, ceilings: &Ceilings) -> Option<f64> {
        match self {
            MemoryLevel::Hbm => Some(ceilings.hbm),
            MemoryLevel::L2 => Some(ceilings.l2),
            MemoryLevel::L1 => Some(ceilings.l1),
            MemoryLevel::Shared => ceilings.shared,
        }
    }
}

/// Share of the FP64 peak that a kernel of this FMA ratio can reach: `(2r + (1 − r)) / 2`
/// (paper, section III: 58 % gives 79 %).
pub fn share_of_peak(fma_ratio: f64) -> f64 {
    f64::midpoint(fma_ratio, 1.0)
}

pub fn ceilings(gpu: &Gpu) -> Result<Ceilings> {
    let Peaks { fp64, hbm, l2, l1, shared } = gpu.peaks()?;
    Ok(Ceilings {
        schema: SCHEMA,
        device: gpu.info().name.clone(),
        provenance: Some(Provenance::now(gpu.info())),
        fp64,
        hbm,
        l2,
        l1,
        shared: Some(shared),
    })
}
