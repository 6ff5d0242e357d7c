//! The contents of a checkpoint's file: lines of JSON.
//!
//! The first has the number of this format and the [`Identity`], each further one a finished slab,
//! the last the CRC-32 of all bytes before it. Real numbers are written as their bits, so that NaN
//! and −0 come back as they were.

use serde::{Deserialize, Serialize};

use crate::devices::{SlabSums, Upload};
use crate::engine::identity::Identity;
use crate::error::Refusal;

/// The beginning of every checkpoint.
pub(super) const MARK: &str = "{\"gpp_checkpoint\":";

/// The version of the format.
const FORMAT: u64 = 2;

/// What stands before and behind the checksum, eight hexadecimal digits.
const CHECKSUM: [&str; 2] = ["{\"crc32\":\"", "\"}\n"];
const DIGITS: usize = 8;

/// The contents of a file.
pub(super) struct Contents {
    pub identity: Identity,
    /// Slabs with their numbers, in the order in which they were finished.
    pub slabs: Vec<(usize, SlabSums)>,
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head<I> {
    gpp_checkpoint: u64,
    #[serde(flatten)]
    identity: I,
}

/// The part of the first line that tells the format.
#[derive(Deserialize)]
struct Format {
    gpp_checkpoint: u64,
}

/// A finished slab: [`SlabSums`] with the bits of its numbers.
#[derive(Serialize, Deserialize)]
pub(in crate::engine) struct Line {
    slab: usize,
    groups: usize,
    seconds: u64,
    blocks: Option<u32>,
    values: Vec<u64>,
}

/// The first line.
pub(super) fn head(identity: &Identity) -> Vec<u8> {
    line(&Head { gpp_checkpoint: FORMAT, identity })
}

/// The line of a slab.
pub(super) fn slab(at: usize, sums: &SlabSums) -> Vec<u8> {
    line(&Line::of(at, sums))
}

impl Line {
    /// The line of the slab of this number.
    pub(in crate::engine) fn of(at: usize, sums: &SlabSums) -> Line {
        Line {
            slab: at,
            groups: sums.groups,
            seconds: sums.seconds.to_bits(),
            blocks: sums.blocks,
            values: sums.values.iter().map(|value| value.to_bits()).collect(),
        }
    }

    /// Its number and sums.
    pub(in crate::engine) fn sums(self) -> (usize, SlabSums) {
        let sums = SlabSums {
            values: self.values.into_iter().map(f64::from_bits).collect(),
            groups: self.groups,
            seconds: f64::from_bits(self.seconds),
            blocks: self.blocks,
            upload: Upload::default(),
        };
        (self.slab, sums)
    }
}

/// The last line, behind `text`.
pub(super) fn tail(text: &[u8]) -> Vec<u8> {
    let [before, behind] = CHECKSUM;
    format!("{before}{}{behind}", checksum(text)).into_bytes()
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("numbers and texts under names");
    line.push(b'\n');
    line
}

fn checksum(text: &[u8]) -> String {
    format!("{:0DIGITS$x}", crc32fast::hash(text))
}

/// Fails where what a file begins with is not what a checkpoint does.
pub(super) fn marked(begin: &[u8], needed: &'static str) -> Result<(), Refusal> {
    if begin.starts_with(needed.as_bytes()) {
        return Ok(());
    }
    let found = match begin {
        [] => "is empty".into(),
        _ => format!("begins with {}", begin.escape_ascii()),
    };
    Err(Refusal::Other { needed, found })
}

/// The file's contents, of which [`marked`] holds. The format is told first, since another may have
/// its checksum elsewhere.
pub(super) fn parse(bytes: &[u8]) -> Result<Contents, Refusal> {
    let damaged = |what: String| Refusal::Damaged(what);
    let head = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let format: Format =
        serde_json::from_slice(head).map_err(|e| damaged(format!("line 1: {e}")))?;
    if format.gpp_checkpoint != FORMAT {
        return Err(Refusal::Format { needed: FORMAT, found: format.gpp_checkpoint });
    }
    let mut lines = checked(bytes).map_err(damaged)?.lines().zip(1..);
    let mut next = || lines.next().map(|(line, number)| (line, format!("line {number}")));
    let (line, at) = next().unwrap_or_default();
    let head: Head<Identity> =
        serde_json::from_str(line).map_err(|e| damaged(format!("{at}: {e}")))?;
    let mut slabs = Vec::new();
    while let Some((line, at)) = next() {
        let slab: Line = serde_json::from_str(line).map_err(|e| damaged(format!("{at}: {e}")))?;
        slabs.push(slab.sums());
    }
    Ok(Contents { identity: head.identity, slabs })
}

/// The text before a checksum that is the right one, or what is wrong.
fn checked(bytes: &[u8]) -> Result<&str, String> {
    let [before, behind] = CHECKSUM;
    let length = before.len() + DIGITS + behind.len();
    let (text, tail) = bytes.split_at(bytes.len().saturating_sub(length));
    let digits =
        tail.strip_prefix(before.as_bytes()).and_then(|t| t.strip_suffix(behind.as_bytes()));
    let found = digits.ok_or("ends without a checksum")?;
    let needed = checksum(text);
    if found != needed.as_bytes() {
        return Err(format!("needs checksum {needed}, has {}", found.escape_ascii()));
    }
    str::from_utf8(text).map_err(|error| error.to_string())
}
