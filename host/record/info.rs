//! What `gpp info --json` prints: what there is, not what was measured.

use serde::{Deserialize, Serialize};

use crate::devices::DeviceInfo;
use crate::record::Provenance;

pub const SCHEMA: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// [`SCHEMA`].
    pub schema: u32,
    pub program: String,
    pub provenance: Provenance,
    pub device: DeviceInfo,
    /// Why no GPU can be used, where none can.
    #[serde(default)]
    pub no_gpu: Option<String>,
    /// Why there are no kernels for a GPU in this build, where there are none.
    pub no_kernels: Option<String>,
    /// What versions made for processors use of it, where it is a processor.
    pub processor: Option<Processor>,
    /// Every kernel of every version for GPUs.
    pub kernels: Vec<Kernel>,
}

/// What versions made for processors use of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Processor {
    /// Threads of versions that run one for each core.
    pub cores: usize,
    pub threads: usize,
    /// What says how many there are, where it is not the machine: `--threads` or `OMP_NUM_THREADS`.
    #[serde(default)]
    pub threads_by: Option<String>,
    /// Names of the vectors that it has, the widest last.
    pub levels: Vec<String>,
    pub level: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    pub version: String,
    #[serde(skip)]
    pub change: String,
    pub symbol: String,
    /// What tells its code from others', by this compiler; null in a build without kernels.
    pub hash: Option<String>,
    pub energies: u32,
    pub threads_per_block: u32,
    pub registers: Option<u32>,
    pub local_bytes: Option<u32>,
    /// Static shared memory of a block in bytes.
    pub shared_bytes: Option<u32>,
    pub warps_per_sm: Option<u32>,
}
