//! What is recorded of an experiment: all that is shown reads it, made now or read from a file.
//!
//! A record is one JSON object, whose `kind` says which one. Fields that do not apply are null, never missing; those that older
//! records lack are read as null. [`SCHEMA`] is the layout that is written.

pub mod ceilings;
pub mod clock;
pub mod info;
pub mod map;
pub mod offdiag;
pub mod parting;
pub mod profile;
pub mod provenance;
pub mod run;
pub mod state;
pub mod static_ch;
pub mod system;
pub mod times;
mod values;

use std::path::Path;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::devices::DeviceInfo;
use crate::error::{RecordError, Result};
use crate::process::input;
use crate::process::output::write_text;
use provenance::{PROGRAM, Provenance};

/// The layout that is written. Since 2, `flops` and `tflops` of a run may be null, since 3
/// `threads_per_block` and `blocks`; since 4 a profile's L2 bytes are those that L1 asked for; since 5 `time_s`
/// is of the runs that `provenance.regime` names.
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
    /// Layout of the record.
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
    /// The device.
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

/// A record that files hold.
pub trait Record: Serialize + DeserializeOwned {
    /// Which one.
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
    /// [`run::Run`].
    Run,
    /// [`profile::Profile`].
    Profile,
    /// [`ceilings::Ceilings`].
    Ceilings,
    /// [`clock::Clock`].
    Clock,
    /// [`offdiag::Offdiag`].
    Offdiag,
}

impl Kind {
    /// What such a record is of.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Run => "a run",
            Kind::Profile => "a profile",
            Kind::Ceilings => "ceilings",
            Kind::Clock => "clocks",
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
    l2_bytes: Option<IgnoredAny>,
    matrices: Option<IgnoredAny>,
}

impl Marks {
    fn kind(&self) -> Option<Kind> {
        let marks = [
            (&self.dadd, Kind::Profile),
            (&self.theoretical, Kind::Ceilings),
            (&self.l2_bytes, Kind::Clock),
            (&self.matrices, Kind::Offdiag),
            (&self.results, Kind::Run),
        ];
        let of_older = || marks.into_iter().find(|(mark, _)| mark.is_some()).map(|(_, kind)| kind);
        self.kind.or_else(of_older)
    }
}

/// Reads a record from a file.
///
/// # Errors
/// [`RecordError`]: the file, what was needed of it and what was found.
pub fn read<R: Record>(path: &Path) -> Result<R> {
    read_or(path, "")
}

/// As [`read`]; a file that cannot be read is answered with a remedy.
///
/// # Errors
/// As those of [`read`].
pub fn read_or<R: Record>(path: &Path, remedy: &str) -> Result<R> {
    let text = input::text(path).map_err(|e| RecordError::Unreadable {
        path: path.into(),
        reason: e.to_string(),
        remedy: if remedy.is_empty() { String::new() } else { format!("; {remedy}") },
    })?;
    Ok(parse(&text, path)?)
}

/// A record from the text of a file.
///
/// # Errors
/// As those of [`read`], but for a file that cannot be read.
pub fn parse<R: Record>(text: &str, path: &Path) -> std::result::Result<R, RecordError> {
    let needed = R::KIND.name();
    let other = |found| RecordError::OtherKind { path: path.into(), needed, found };
    let marks: Marks = serde_json::from_str(text).map_err(|e| {
        if e.is_data() {
            other("something else")
        } else {
            RecordError::NoJson { path: path.into(), reason: e.to_string() }
        }
    })?;
    match marks.kind() {
        Some(kind) if kind == R::KIND => {}
        Some(kind) => return Err(other(kind.name())),
        None => return Err(other("something else")),
    }
    if let Some(found) = marks.schema
        && !(FIRST..=SCHEMA).any(|known| found.as_u64() == Some(known.into()))
    {
        let needed = format!("{FIRST} to {SCHEMA}");
        return Err(RecordError::Schema { path: path.into(), needed, found: found.to_string() });
    }
    let field = |e: serde_json::Error| RecordError::Field {
        path: path.into(),
        needed,
        reason: e.to_string(),
    };
    let fields: Value = serde_json::from_str(text).map_err(field)?;
    let record = serde_json::from_str(text).map_err(field)?;
    match values::wrong(&fields) {
        Some(values::Wrong { field, needed, found }) => {
            Err(RecordError::Value { path: path.into(), field, needed, found })
        }
        None => Ok(R::completed(record)),
    }
}

/// A record with its kind.
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
///
/// # Panics
/// Never: these are plain values under names.
pub fn plain(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("plain values under names")
}

/// Writes a record to a file, or to standard output for `-`.
///
/// # Errors
/// [`crate::Error::Write`].
pub fn write(path: &Path, record: &impl Record) -> Result<()> {
    write_text(path, &text(record))
}
