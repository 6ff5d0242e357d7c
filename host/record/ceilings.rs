//! What a device can do. Measured and theoretical figures are kept apart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::provenance::Provenance;
use super::state::State;
use super::{Kind, Record, first};

/// Measured ceilings of a device, in operations and bytes a second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Layout of the record.
    #[serde(default = "first")]
    pub schema: u32,
    /// The device's name.
    pub device: String,
    /// Where the record comes from; null in older records.
    pub provenance: Option<Provenance>,
    /// What tells the code of the kernels that measured from others', by symbol; null of a processor, and in older
    /// records.
    pub kernel_hashes: Option<BTreeMap<String, String>>,
    /// What tells their sources from others'; null in older records.
    pub source_hash: Option<String>,
    /// The GPU while `fp64_sustained` was measured; null without NVML, of a processor, and in older records.
    pub state: Option<State>,
    /// The compiler of the kernels that measured them and its LLVM, where it is known.
    pub kernels_by: Option<String>,
    /// FP64 operations, all of them fused: the highest rate at which launches in a row were seen; of a processor
    /// in the widest vectors that were used.
    pub fp64: f64,
    /// FP64 operations sustained for seconds, at the clock that the power limit leaves; null of a processor and in older
    /// records.
    pub fp64_sustained: Option<f64>,
    /// Reads from memory.
    pub hbm: f64,
    /// Reads from L2.
    pub l2: f64,
    /// Reads from L1.
    pub l1: f64,
    /// What clocks and widths promise.
    pub theoretical: Theoretical,
}

impl Record for Ceilings {
    const KIND: Kind = Kind::Ceilings;
}

/// Ceilings computed from the device's clocks and widths, where these are known: not of a processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Theoretical {
    /// FP64 operations at the highest clock, where the capability's lanes are known.
    pub fp64: Option<f64>,
    /// Memory clock × bus width, two transfers a clock.
    pub hbm: Option<f64>,
    /// 128 bytes a clock and multiprocessor.
    pub l1: Option<f64>,
    /// Shared memory: 4 bytes × 32 lanes a clock and multiprocessor.
    pub shared: Option<f64>,
}
