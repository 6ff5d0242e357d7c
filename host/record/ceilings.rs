//! What a device can do. Measured and theoretical figures are kept apart.

use serde::{Deserialize, Serialize};

/// Measured ceilings of a device, in operations and bytes a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// The device's name.
    pub device: String,
    /// The compiler of the kernels that measured them and its LLVM, where it is known.
    #[serde(default)]
    pub kernels_by: Option<String>,
    /// FP64 operations, all of them fused.
    pub fp64: f64,
    /// Reads from memory.
    pub hbm: f64,
    /// Reads from L2.
    pub l2: f64,
    /// Reads from L1.
    pub l1: f64,
    /// What clocks and widths promise.
    pub theoretical: Theoretical,
}

/// Ceilings computed from the device's clocks and widths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Theoretical {
    /// FP64 operations at the highest clock, where the capability's lanes are known.
    pub fp64: Option<f64>,
    /// Memory clock × bus width, two transfers a clock.
    pub hbm: f64,
    /// 128 bytes a clock and multiprocessor.
    pub l1: f64,
    /// Shared memory: 4 bytes × 32 lanes a clock and multiprocessor.
    pub shared: f64,
}

/// FP64 lanes of a multiprocessor by compute capability.
pub fn fp64_lanes(capability: (u32, u32)) -> Option<f64> {
    match capability {
        (6..=8, 0) => Some(32.0),
        (9 | 10, 0) => Some(64.0),
        (6..=12, _) => Some(2.0),
        _ => None,
    }
}

/// Share of the FP64 peak that a kernel of this FMA ratio can reach: `(2r + (1 − r)) / 2`
/// (paper, section III: 58 % gives 79 %).
pub fn share_of_peak(fma_ratio: f64) -> f64 {
    f64::midpoint(fma_ratio, 1.0)
}
