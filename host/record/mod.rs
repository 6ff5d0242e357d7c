//! What is recorded of an experiment: all that is shown reads it, made now or read from a file.
//!
//! A record is one JSON object, whose `kind` says which one. Fields that do not apply are null. [`SCHEMA`] is the
//! layout.

pub mod offdiag;
pub mod profile;
pub mod run;

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash64;

use crate::devices::{DeviceInfo, gpu};
use crate::error::{Result, invalid};
use crate::output::{input, write_text};
use crate::problem::Origin;

/// The layout of records, which changes when a reader of an earlier one would misread them.
pub const SCHEMA: u32 = 6;

/// What all records of experiments begin with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub schema: u32,
    /// The program and its version.
    pub program: Option<String>,
    /// Where the record comes from.
    pub provenance: Option<Provenance>,
    /// False for what an interrupt or an error left.
    pub complete: bool,
    pub device: DeviceInfo,
}

impl Head {
    /// Of an experiment that begins: not complete.
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
    const KIND: Kind;
}

/// The kinds of records, as their `kind` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Run,
    Profile,
    Ceilings,
    Offdiag,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Run => "a run",
            Kind::Profile => "a profile",
            Kind::Ceilings => "ceilings",
            Kind::Offdiag => "Σ as a matrix",
        }
    }
}

/// What a record says of itself before its fields are read.
#[derive(Deserialize)]
struct Marks {
    kind: Option<Kind>,
    schema: Option<serde_json::Number>,
}

pub fn read<R: Record>(path: &Path) -> Result<R> {
    read_or(path, "")
}

/// As [`read`]; a file that cannot be read is answered with a remedy.
pub fn read_or<R: Record>(path: &Path, remedy: &str) -> Result<R> {
    let text = input::text(path).map_err(|e| {
        let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
        invalid(path.display(), format!("cannot read: {e}{remedy}"))
    })?;
    parse(&text, path)
}

pub fn parse<R: Record>(text: &str, path: &Path) -> Result<R> {
    let needed = R::KIND.name();
    let other =
        |found| invalid(path.display(), format!("is no record of {needed}, it holds {found}"));
    let marks: Marks = serde_json::from_str(text).map_err(|e| {
        if e.is_data() {
            other("something else")
        } else {
            invalid(path.display(), format!("is no JSON: {e}"))
        }
    })?;
    match marks.kind {
        Some(kind) if kind == R::KIND => {}
        Some(kind) => return Err(other(kind.name())),
        None => return Err(other("something else")),
    }
    let schema = marks.schema.map_or("none".into(), |found| found.to_string());
    if schema != SCHEMA.to_string() {
        return Err(invalid(path.display(), format!("needs schema {SCHEMA}, has {schema}")));
    }
    serde_json::from_str(text)
        .map_err(|e| invalid(path.display(), format!("is no record of {needed}: {e}")))
}

#[derive(Serialize)]
struct Marked<'a, R> {
    kind: Kind,
    #[serde(flatten)]
    record: &'a R,
}

/// The text of a record, as files hold it but for the end of the last line.
pub fn text<R: Record>(record: &R) -> String {
    plain(&Marked { kind: R::KIND, record })
}

/// The text of what is no record and never read again by this program.
pub fn plain(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("plain values under names")
}

/// Writes a record to a file, or to standard output for `-`.
pub fn write(path: &Path, record: &impl Record) -> Result<()> {
    write_text(path, &text(record))
}

// Where a record comes from: when, where and by what it was made.

/// The program's commit, where the build knew it; `-dirty` at its end tells of changes.
pub const COMMIT: Option<&str> = option_env!("GPP_COMMIT");

/// The compiler of the program and its LLVM.
pub const PROGRAM_BY: Option<&str> = gpp_core::BUILT_BY;

pub const PROGRAM: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// The program that made something: name and version, commit and compiler. Where the commit does not tell
/// its sources, a digest of the executable does.
pub fn program() -> &'static str {
    static TOLD: LazyLock<String> = LazyLock::new(|| {
        let commit = COMMIT.unwrap_or("an unknown commit");
        let told =
            format!("{PROGRAM} at {commit} by {}", PROGRAM_BY.unwrap_or("an unknown compiler"));
        if COMMIT.is_some_and(|commit| !commit.ends_with("-dirty")) {
            return told;
        }
        let own = std::env::current_exe().and_then(std::fs::read);
        let digest = own.map(|bytes| format!("{:016x}", XxHash64::oneshot(0, &bytes)));
        format!("{told}, executable {}", digest.unwrap_or("unknown".into()))
    });
    &TOLD
}

/// The compiler of the kernels and its LLVM; unknown of PTX that `GPP_PTX` names.
pub fn kernels_by() -> Option<String> {
    let named = std::env::var_os("GPP_PTX").is_some();
    gpu::KERNELS_BY.filter(|_| !named).map(str::to_string)
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// When it was begun, RFC 3339, UTC.
    pub date: String,
    pub host: Option<String>,
    /// [`COMMIT`].
    pub commit: Option<String>,
    /// The compiler of the kernels and its LLVM.
    pub kernels_by: Option<String>,
    /// The file that `GPP_PTX` names in place of the program's own kernels.
    pub ptx: Option<String>,
    /// [`PROGRAM_BY`].
    pub program_by: Option<String>,
    pub driver: Option<String>,
    pub seed: Option<u64>,
    pub input: Option<String>,
    /// Runs of each version before the timed ones; null where emulated ones beside others had another number.
    pub warmup: Option<usize>,
    /// Timed runs of each version, as asked for; null where `warmup` is: the samples are counted.
    pub repeat: Option<usize>,
    /// Seconds of a window of runs.
    pub settle_s: Option<f64>,
}

impl Provenance {
    pub fn now(device: &DeviceInfo) -> Provenance {
        let now = jiff::Timestamp::now();
        Provenance {
            date: now.round(jiff::Unit::Second).unwrap_or(now).to_string(),
            host: sysinfo::System::host_name().ok(),
            commit: COMMIT.map(str::to_string),
            kernels_by: kernels_by(),
            ptx: std::env::var("GPP_PTX").ok(),
            program_by: PROGRAM_BY.map(str::to_string),
            driver: device.driver.clone(),
            seed: None,
            input: None,
            warmup: None,
            repeat: None,
            settle_s: None,
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
        let settle_s = Some(repetition.window.as_secs_f64());
        Provenance { seed, input, warmup, repeat, settle_s, ..self }
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
