//! Records of measurements: all tables and charts read them, whether just made or from a file. A record is one JSON
//! object; `kind` names its type. Fields that do not apply are null.

pub mod offdiag;
pub mod profile;
pub mod run;

use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::devices::{DeviceInfo, gpu};
use crate::error::{Result, invalid};
use crate::output::{input, write_text};
use crate::problem::Origin;

/// The layout of records, which changes when a reader of an earlier one would misread them.
pub const SCHEMA: u32 = 6;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub schema: u32,
    pub program: Option<String>,
    pub provenance: Option<Provenance>,
    /// False after an interrupt or an error.
    pub complete: bool,
    pub device: DeviceInfo,
}

impl Head {
    pub fn new(device: &DeviceInfo, provenance: Provenance) -> Head {
        Head {
            schema: SCHEMA,
            program: Some(PROGRAM.into()),
            provenance: Some(provenance),
            complete: false,
            device: device.clone(),
        }
    }
}

pub trait Record: Serialize + DeserializeOwned {
    /// Its `kind` in files.
    const KIND: &'static str;
    /// What writes it, for errors.
    const WRITTEN_BY: &'static str;
}

pub fn read<R: Record>(path: &Path) -> Result<R> {
    let text = input::text(path)
        .map_err(|e| invalid(path.display(), format!("cannot read: {e}; {}", R::WRITTEN_BY)))?;
    parse(&text, path)
}

pub fn parse<R: Record>(text: &str, path: &Path) -> Result<R> {
    /// Checked before the fields are read.
    #[derive(Deserialize)]
    struct Marks {
        kind: String,
        schema: u64,
    }
    let wrong = |what: String| invalid(path.display(), what);
    let marks: Marks =
        serde_json::from_str(text).map_err(|e| wrong(format!("is no record: {e}")))?;
    if marks.kind != R::KIND {
        return Err(wrong(format!("needs a record of kind {}, has {}", R::KIND, marks.kind)));
    }
    if marks.schema != u64::from(SCHEMA) {
        return Err(wrong(format!("needs schema {SCHEMA}, has {}", marks.schema)));
    }
    serde_json::from_str(text).map_err(|e| wrong(format!("is no record of kind {}: {e}", R::KIND)))
}

/// The JSON of a record, without the end of the last line.
pub fn text<R: Record>(record: &R) -> String {
    #[derive(Serialize)]
    struct Marked<'a, R> {
        kind: &'static str,
        #[serde(flatten)]
        record: &'a R,
    }
    plain(&Marked { kind: R::KIND, record })
}

/// The JSON of what this program never reads again.
pub fn plain(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("plain values under names")
}

/// Writes a record to a file, or to standard output for `-`.
pub fn write(path: &Path, record: &impl Record) -> Result<()> {
    write_text(path, &text(record))
}

// Provenance: when, where and by which program a record was made.

/// The program's commit, if the build knew it; it ends in `-dirty` if files had changed.
const COMMIT: Option<&str> = option_env!("GPP_COMMIT");

/// The compiler of the program and its LLVM.
const PROGRAM_BY: Option<&str> = gpp_core::BUILT_BY;

pub const PROGRAM: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// Name, version, commit and compiler of this program.
pub fn program() -> String {
    let unknown = "unknown";
    let (commit, by) = (COMMIT.unwrap_or(unknown), PROGRAM_BY.unwrap_or(unknown));
    format!("{PROGRAM} at commit {commit} by {by}")
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// When it began, RFC 3339, UTC.
    pub date: String,
    pub host: Option<String>,
    pub commit: Option<String>,
    /// The compiler of the kernels and its LLVM; null of PTX that `GPP_PTX` names.
    pub kernels_by: Option<String>,
    /// The file that `GPP_PTX` names instead of the program's own kernels.
    pub ptx: Option<String>,
    /// The compiler of the program and its LLVM.
    pub program_by: Option<String>,
    pub driver: Option<String>,
    pub seed: Option<u64>,
    pub input: Option<String>,
    /// Runs of each version before the timed ones; null if emulated versions had another number.
    pub warmup: Option<usize>,
    /// Timed runs of each version, as asked for; null if `warmup` is.
    pub repeat: Option<usize>,
}

impl Provenance {
    pub fn now(device: &DeviceInfo) -> Provenance {
        let now = jiff::Timestamp::now();
        let ptx = std::env::var("GPP_PTX").ok();
        Provenance {
            date: now.round(jiff::Unit::Second).unwrap_or(now).to_string(),
            host: sysinfo::System::host_name().ok(),
            commit: COMMIT.map(str::to_string),
            kernels_by: gpu::KERNELS_BY.filter(|_| ptx.is_none()).map(str::to_string),
            ptx,
            program_by: PROGRAM_BY.map(str::to_string),
            driver: device.driver.clone(),
            seed: None,
            input: None,
            warmup: None,
            repeat: None,
        }
    }

    /// Adds the problem's seed or file, and how often it ran.
    #[must_use]
    pub fn of(self, origin: &Origin, repetition: Repetition) -> Provenance {
        let (seed, input) = match origin {
            Origin::System(_, seed) => (Some(*seed), None),
            Origin::File(path) => (None, Some(path.display().to_string())),
            Origin::Made => (None, None),
        };
        let (warmup, repeat) = (Some(repetition.warmup), Some(repetition.repeat));
        Provenance { seed, input, warmup, repeat, ..self }
    }
}

/// How often a calculation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    pub warmup: usize,
    pub repeat: usize,
    /// How long a window of runs is; zero if runs are only counted.
    pub window: Duration,
}

impl Repetition {
    /// So many runs, however long they take.
    pub const fn exactly(warmup: usize, repeat: usize) -> Repetition {
        Repetition { warmup, repeat, window: Duration::ZERO }
    }

    pub fn runs(self) -> usize {
        self.warmup + self.repeat
    }
}
