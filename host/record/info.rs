//! What `gpp info --json` and `gpp list --json` print: what there is, not what was measured.

use serde::{Deserialize, Serialize};

use crate::catalogue::BackEnd;
use crate::devices::DeviceInfo;
use crate::record::Provenance;
use crate::record::run::Poles;

/// Layout of these documents.
pub const SCHEMA: u32 = 1;

/// A device and its kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Info {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program and its version.
    pub program: String,
    /// Where the document comes from.
    pub provenance: Provenance,
    /// The device.
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
    /// Threads of the others.
    pub threads: usize,
    /// What says how many there are, where it is not the machine: `--threads` or `OMP_NUM_THREADS`.
    #[serde(default)]
    pub threads_by: Option<String>,
    /// Names of the vectors that it has, the widest last.
    pub levels: Vec<String>,
    /// The one that is used.
    pub level: String,
}

/// One kernel on a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The version's id.
    pub version: String,
    /// What the version changes.
    #[serde(skip)]
    pub change: String,
    /// The kernel's symbol.
    pub symbol: String,
    /// What tells its code from others', by this compiler; null in a build without kernels.
    pub hash: Option<String>,
    /// Energies that a launch sums.
    pub energies: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Local memory of a thread in bytes.
    pub local_bytes: Option<u32>,
    /// Static shared memory of a block in bytes.
    pub shared_bytes: Option<u32>,
    /// Warps that fit on a multiprocessor.
    pub warps_per_sm: Option<u32>,
}

/// Versions, journeys and built-in systems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// [`SCHEMA`].
    pub schema: u32,
    /// All versions.
    pub versions: Vec<Listed>,
    /// All journeys.
    pub journeys: Vec<ListedJourney>,
    /// What `--version best` is on each back end.
    pub best: Vec<ListedBest>,
    /// All versions of Σ as a matrix, those of `gpp offdiag --version`, each after the one that it is made from.
    #[serde(default)]
    pub matrix: Vec<ListedMatrix>,
    /// All built-in systems.
    pub systems: Vec<ListedSystem>,
}

/// A version in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The version's id.
    pub id: String,
    /// What it changes from the one before.
    pub change: String,
    /// Where that is described.
    pub source: String,
    /// Whether `--version best` is this one on a GPU.
    pub best: bool,
}

/// A journey in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedJourney {
    /// Its name.
    pub id: String,
    /// What it is.
    pub title: String,
    /// Where it is told.
    pub source: String,
    /// The ids of its versions, in order.
    pub versions: Vec<String>,
    /// The version that speed-ups are over in a run that begins with this journey.
    pub baseline: String,
    /// The journey that it goes on from.
    pub continues: Option<String>,
    /// Its fastest version on each back end that has one.
    pub best: Vec<ListedBest>,
}

/// The fastest version of a journey on one back end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedBest {
    /// Where.
    pub back_end: BackEnd,
    /// The version's id.
    pub version: String,
    /// What it was measured on, and where it does not hold.
    pub condition: String,
}

/// A version of Σ as a matrix in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedMatrix {
    /// The version's id.
    pub id: String,
    /// What it changes.
    pub change: String,
    /// The least compute capability.
    pub capability: f64,
    /// Its file in the repository.
    pub file: String,
}

/// A built-in system in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedSystem {
    /// The system's name.
    pub name: String,
    /// Bands.
    pub nbands: usize,
    /// Occupied bands.
    pub nvband: usize,
    /// G′ vectors.
    pub ngpown: usize,
    /// G vectors.
    pub ncouls: usize,
    /// First energy, from 1.
    pub nstart: usize,
    /// Last energy.
    pub nend: usize,
    /// Its poles.
    pub poles: Poles,
    /// Bytes of its arrays.
    pub bytes: u64,
    /// Where its extents come from.
    pub note: String,
}
