//! Checkpoints of a calculation: the total, and how many parts are in it.
//!
//! A file is a line of JSON, with the number of this format, the [`Identity`] and the extents; the bits of SX and CH,
//! little-endian; and a line with the CRC-32 of all bytes before it. It is written anew beside the old one, which it
//! replaces once it is on disk. So it is whole at every moment.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crc32fast::Hasher;
use num_complex::Complex64;
use serde::{Deserialize, Serialize};

use super::calculation::Total;
use super::{Task, parts};
use crate::engine::checkpoint::{opened, refused, remove_file};
use crate::error::{Difference, Refusal, Result};
use crate::system::output;

/// The beginning of every file.
const MARK: &str = "{\"gpp_matrices\":";

/// The version of the format.
const FORMAT: u64 = 1;

/// Longest first line, in bytes.
const LONGEST: u64 = 1 << 16;

/// Elements that are read and written at a time.
const SOME: usize = 1 << 16;

/// Bytes of matrices that are written after each part.
const SMALL: usize = 4 << 20;

/// Most of the time that writing larger ones may take: one part of so many.
const RARELY: u32 = 25;

/// What the bits of a task's sums depend on, the most telling first, with the flags that set it.
const PARTS: [(&str, &str); 11] = [
    ("contents", PROBLEM),
    ("columns", PROBLEM),
    ("energies", "--energies, --nw and --at"),
    ("bands", "--bands"),
    ("matrix elements", "--elements"),
    ("back end", "--device"),
    ("version", "--version"),
    ("vectors", "--simd"),
    ("kernels' code", "GPP_PTX"),
    ("program", ""),
    ("part", ""),
];

/// The flags that set the problem.
const PROBLEM: &str = "--system, --input and --seed";

/// All that the bits of a task's sums depend on. Tasks with different ones share no file and no ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Digest of the problem: [`crate::problem::digest::Contents`].
    pub contents: String,
    /// Digest of all its columns, where that is not enough.
    pub columns: String,
    /// The energies, and which elements are summed at which.
    pub energies: String,
    /// The bands l and m.
    pub bands: String,
    /// Digest of their matrix elements.
    pub elements: String,
    /// What runs the kernels.
    pub back_end: String,
    /// How a GPU multiplies.
    pub version: String,
    /// The processor's vectors.
    pub vectors: String,
    /// Digest of the kernels for GPUs.
    pub code: String,
    /// The program, its commit and compiler.
    pub program: String,
    /// Bands n of a part.
    pub part: usize,
}

impl Identity {
    /// The first part that differs in another identity, if any.
    pub fn difference(&self, found: &Identity) -> Option<Difference> {
        let pairs = self.values().into_iter().zip(found.values()).zip(PARTS);
        let mut differing = pairs.filter(|((needed, found), _)| needed != found);
        let ((needed, found), (field, flag)) = differing.next()?;
        Some(Difference { field: field.into(), needed, found, flag })
    }

    /// In the order of [`PARTS`].
    fn values(&self) -> [String; PARTS.len()] {
        // So that no field is forgotten here.
        let Identity {
            contents,
            columns,
            energies,
            bands,
            elements,
            back_end,
            version,
            vectors,
            code,
            program,
            part,
        } = self.clone();
        let part = part.to_string();
        [
            contents, columns, energies, bands, elements, back_end, version, vectors, code,
            program, part,
        ]
    }
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct Head {
    gpp_matrices: u64,
    parts: usize,
    bands: usize,
    matrices: usize,
    identity: Identity,
}

/// The part of the first line that tells the format.
#[derive(Deserialize)]
struct Format {
    gpp_matrices: u64,
}

/// A calculation's file.
pub struct Checkpoint {
    path: PathBuf,
    identity: Identity,
    written: Instant,
    cost: Duration,
}

/// The total of an earlier run of a task; none where there is no file.
///
/// # Errors
/// [`crate::Error::Checkpoint`] where the file is none, is damaged, or is of anything but `identity`.
pub fn read(path: &Path, task: &Task, identity: &Identity) -> Result<Option<Total>> {
    let Some((file, begin)) = opened(path, MARK)? else { return Ok(None) };
    let found = parsed(&mut BufReader::new(begin.chain(file)), task, identity);
    found.map(Some).map_err(|refusal| refused(path, refusal))
}

fn parsed(
    from: &mut impl BufRead,
    task: &Task,
    identity: &Identity,
) -> std::result::Result<Total, Refusal> {
    let damaged = |what: String| Refusal::Damaged(what);
    let mut line = Vec::new();
    from.take(LONGEST).read_until(b'\n', &mut line).map_err(Refusal::Unreadable)?;
    let wrong = |e: serde_json::Error| damaged(format!("line 1: {e}"));
    let Format { gpp_matrices: found } = serde_json::from_slice(&line).map_err(wrong)?;
    if found != FORMAT {
        return Err(Refusal::Format { needed: FORMAT, found });
    }
    let head: Head = serde_json::from_slice(&line).map_err(wrong)?;
    if let Some(difference) = identity.difference(&head.identity) {
        return Err(Refusal::Foreign(difference));
    }
    let (mut total, all) = (Total::zero(task), parts::count(task));
    let needed = (task.bands(), task.planes());
    if (head.bands, head.matrices) != needed || head.parts > all {
        let Head { parts, bands, matrices, .. } = head;
        let (own, planes) = needed;
        return Err(damaged(format!(
            "needs {planes} matrices of {own} bands and {all} parts at most, has {matrices} of {bands} and {parts}"
        )));
    }
    let mut crc = Hasher::new();
    crc.update(&line);
    total.parts = head.parts;
    let ends = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("ends within its matrices".into()),
        _ => Refusal::Unreadable(error),
    };
    for values in total.sums.parts_mut() {
        for some in values.chunks_mut(SOME) {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(some);
            from.read_exact(bytes).map_err(ends)?;
            crc.update(bytes);
            some.iter_mut().for_each(|z| *z = swapped(*z));
        }
    }
    let mut found = Vec::new();
    from.take(LONGEST).read_to_end(&mut found).map_err(Refusal::Unreadable)?;
    let needed = tail(crc);
    if found != needed.as_bytes() {
        let (needed, found) = (needed.trim_end(), found.escape_ascii());
        return Err(damaged(format!("needs to end with {needed}, ends with {found}")));
    }
    Ok(total)
}

impl Checkpoint {
    /// Begins a file with what is summed; it is there from here on.
    ///
    /// # Errors
    /// [`crate::Error::Write`].
    pub fn begin(path: &Path, identity: Identity, total: &Total) -> Result<Checkpoint> {
        let path = path.into();
        let mut begun =
            Checkpoint { path, identity, written: Instant::now(), cost: Duration::ZERO };
        begun.write(total)?;
        Ok(begun)
    }

    /// Keeps a total, at once where it has to be or is small, else where writing has not taken much of the time.
    ///
    /// # Errors
    /// [`crate::Error::Write`]; the file is as before then.
    pub fn keep(&mut self, total: &Total, at_once: bool) -> Result<()> {
        let is_small = 2 * size_of_val(&total.sums.sx[..]) <= SMALL;
        if at_once || is_small || self.written.elapsed() >= RARELY * self.cost {
            self.write(total)?;
        }
        Ok(())
    }

    fn write(&mut self, total: &Total) -> Result<()> {
        let begun = Instant::now();
        let Total { parts, sums } = total;
        let head = Head {
            gpp_matrices: FORMAT,
            parts: *parts,
            bands: sums.bands,
            matrices: sums.nw(),
            identity: self.identity.clone(),
        };
        let mut head = serde_json::to_vec(&head).expect("numbers and texts under names");
        head.push(b'\n');
        output::replace(&self.path, |file| {
            let mut crc = Hasher::new();
            crc.update(&head);
            file.write_all(&head)?;
            for some in sums.parts().into_iter().flat_map(|values| values.chunks(SOME)) {
                let some: Vec<Complex64> = some.iter().map(|z| swapped(*z)).collect();
                crc.update(bytemuck::cast_slice(&some));
                file.write_all(bytemuck::cast_slice(&some))?;
            }
            file.write_all(tail(crc).as_bytes())
        })?;
        (self.written, self.cost) = (Instant::now(), begun.elapsed());
        Ok(())
    }
}

/// Removes the file, once the results have been shown.
///
/// # Errors
/// [`crate::Error::Checkpoint`].
pub fn remove(path: &Path) -> Result<()> {
    remove_file(path)
}

/// A number as little-endian files have it.
fn swapped(z: Complex64) -> Complex64 {
    let part = |x: f64| f64::from_bits(x.to_bits().to_le());
    Complex64::new(part(z.re), part(z.im))
}

/// The last line.
fn tail(crc: Hasher) -> String {
    format!("{{\"crc32\":\"{:08x}\"}}\n", crc.finalize())
}
