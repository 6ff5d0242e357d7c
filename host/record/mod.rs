//! What is recorded of an experiment: all that is shown reads it, made now or read from a file.
//!
//! A record is one JSON object, whose `kind` says which one. Fields that do not apply are null, never missing; those that older
//! records lack are read as null. [`SCHEMA`] is the layout that is written.

pub mod info;
pub mod offdiag;
pub mod profile;
pub mod run;

use std::path::Path;
use std::sync::LazyLock;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twox_hash::XxHash64;

use crate::devices::{DeviceInfo, gpu};
use crate::error::{Error, Result};
use crate::output::{input, write_text};
use crate::problem::Origin;
use crate::record::run::Repetition;

/// The layout that is written. Since 2, `flops` and `tflops` of a run may be null, since 3
/// `threads_per_block` and `blocks`; since 4 a profile's L2 bytes are those that L1 asked for; since 5 `time_s`
/// is of runs at the steady state.
pub const SCHEMA: u32 = 6;

/// The first layout; records without a number have it.
const FIRST: u32 = 1;

fn first() -> u32 {
    FIRST
}

fn yes() -> bool {
    true
}

/// What all records of experiments begin with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub schema: u32,
    /// The program and its version; null in older records.
    #[serde(default)]
    pub program: Option<String>,
    /// Where the record comes from; null in older records.
    #[serde(default)]
    pub provenance: Option<Provenance>,
    /// False for what an interrupt or an error left.
    #[serde(default = "yes")]
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

    /// The record with what older ones do not say and what follows from the rest of them.
    #[must_use]
    fn completed(self) -> Self {
        self
    }
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

/// What tells the kinds apart, and the layout. Records that have no `kind` are told apart by their fields.
#[derive(Deserialize)]
struct Marks {
    kind: Option<Kind>,
    schema: Option<serde_json::Number>,
    results: Option<IgnoredAny>,
    dadd: Option<IgnoredAny>,
    theoretical: Option<IgnoredAny>,
    matrices: Option<IgnoredAny>,
}

impl Marks {
    fn kind(&self) -> Option<Kind> {
        let marks = [
            (&self.dadd, Kind::Profile),
            (&self.theoretical, Kind::Ceilings),
            (&self.matrices, Kind::Offdiag),
            (&self.results, Kind::Run),
        ];
        let of_older = || marks.into_iter().find(|(mark, _)| mark.is_some()).map(|(_, kind)| kind);
        self.kind.or_else(of_older)
    }
}

pub fn read<R: Record>(path: &Path) -> Result<R> {
    read_or(path, "")
}

/// As [`read`]; a file that cannot be read is answered with a remedy.
pub fn read_or<R: Record>(path: &Path, remedy: &str) -> Result<R> {
    let text = input::text(path).map_err(|e| {
        let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
        wrong(path, format!("cannot read: {e}{remedy}"))
    })?;
    parse(&text, path)
}

/// What is wrong with a record in a file.
fn wrong(path: &Path, what: String) -> Error {
    Error::Data { origin: path.display().to_string(), what }
}

pub fn parse<R: Record>(text: &str, path: &Path) -> Result<R> {
    let needed = R::KIND.name();
    let other = |found| wrong(path, format!("is no record of {needed}, it holds {found}"));
    let marks: Marks = serde_json::from_str(text).map_err(|e| {
        if e.is_data() { other("something else") } else { wrong(path, format!("is no JSON: {e}")) }
    })?;
    match marks.kind() {
        Some(kind) if kind == R::KIND => {}
        Some(kind) => return Err(other(kind.name())),
        None => return Err(other("something else")),
    }
    if let Some(found) = marks.schema
        && !(FIRST..=SCHEMA).any(|known| found.as_u64() == Some(known.into()))
    {
        return Err(wrong(path, format!("needs schema {FIRST} to {SCHEMA}, has {found}")));
    }
    let field = |e: serde_json::Error| wrong(path, format!("is no record of {needed}: {e}"));
    let fields: Value = serde_json::from_str(text).map_err(field)?;
    let record = serde_json::from_str(text).map_err(field)?;
    match wrong_number(&fields) {
        Some(WrongNumber { field, needed, found }) => {
            Err(wrong(path, format!("{field} needs {needed}, has {found:e}")))
        }
        None => Ok(R::completed(record)),
    }
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
    /// Seconds of a window of runs; null in older records.
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
        let settle_s = Some(repetition.settle.as_secs_f64());
        Provenance { seed, input, warmup, repeat, settle_s, ..self }
    }
}

// Which values the numbers of a record may have.
//
// What is shown divides by times and ceilings, multiplies them, and draws them on scales of powers of ten.
// Numbers that no measurement gives are refused where a record is read, by the name of their field.

/// From the least to the most, ends included; zero beside them where it is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limits {
    least: f64,
    most: f64,
    zero: bool,
}

const fn above_zero(least: f64, most: f64) -> Limits {
    Limits { least, most, zero: false }
}

const fn from_zero(most: f64) -> Limits {
    Limits { least: 0.0, most, zero: true }
}

/// Seconds that something is divided by.
const TIMES: Limits = above_zero(1e-12, 1e12);

/// The same that may be none.
const DURATIONS: Limits = from_zero(1e12);

/// Operations, bytes and cycles.
const COUNTS: Limits = from_zero(1e27);

/// Operations and bytes a second.
const RATES: Limits = above_zero(1.0, 1e24);

const READINGS: Limits = from_zero(1e12);

const PERCENT: Limits = from_zero(1e4);

const ANY: Limits = Limits { least: -f64::MAX, most: f64::MAX, zero: true };

/// All others: extents, numbers of something, energies in eV.
const OTHERS: Limits = Limits { least: -1e30, most: 1e30, zero: true };

/// The limits of a field and of all that is in it, unless a field around it has others.
const FIELDS: [(Limits, &[&str]); 8] = [
    (TIMES, &["time_s", "duration_s"]),
    (
        DURATIONS,
        &[
            "sigma_s",
            "interval_s",
            "startup_s",
            "settle_s",
            "seconds",
            "first_s",
            "busy_s",
            "kernels_s",
            "uploads_s",
            "source_s",
        ],
    ),
    (COUNTS, &["dadd", "dmul", "dfma", "flops", "bytes", "l2_bytes", "cycles", "uploaded"]),
    (above_zero(1.0, 1e27), &["terms"]),
    (RATES, &["fp64", "fp64_sustained", "hbm", "l2", "l1", "theoretical", "bandwidth"]),
    (
        READINGS,
        &["sm_mhz", "memory_mhz", "power_w", "power_limit_w", "energy_j", "tflops", "warps_per_sm"],
    ),
    (
        PERCENT,
        &[
            "l1_hit_percent",
            "l2_hit_percent",
            "fp64_pipe_percent",
            "pipes_percent",
            "stalls",
            "held_back",
        ],
    ),
    (ANY, &["asx", "ach", "max_rel_error", "undecided", "matrices", "map", "static_ch"]),
];

#[derive(Clone, Debug, PartialEq)]
pub struct WrongNumber {
    /// The field, as `results[3].time_s.median`.
    pub field: String,
    pub needed: String,
    pub found: f64,
}

/// The first number of a record, if there is one, that its field cannot have.
pub fn wrong_number(record: &Value) -> Option<WrongNumber> {
    within(record, "", None)
}

fn within(value: &Value, field: &str, limits: Option<Limits>) -> Option<WrongNumber> {
    match value {
        Value::Number(number) => {
            let Limits { least, most, zero } = limits.unwrap_or(OTHERS);
            let found = number.as_f64().unwrap_or(f64::INFINITY);
            let fits = (least..=most).contains(&found) && (zero || found != 0.0);
            let needed = format!("a number from {least:e} to {most:e}");
            (!fits).then(|| WrongNumber { field: field.into(), needed, found })
        }
        Value::Array(all) => all
            .iter()
            .enumerate()
            .find_map(|(at, value)| within(value, &format!("{field}[{at}]"), limits)),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let of_name = || {
                let known = FIELDS.iter().find(|(_, names)| names.contains(&name.as_str()));
                known.map(|(limits, _)| *limits)
            };
            let place = if field.is_empty() { name.clone() } else { format!("{field}.{name}") };
            within(value, &place, limits.or_else(of_name))
        }),
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests;
