//! Checkpoints: the finished slabs of a run, kept in files so that it can go on later, on any
//! number of ranks, to the same bits.
//!
//! Rank 0 writes the file that was named, rank r > 0 one beside it, `run.ckpt.3`, all with
//! the same format (`contents.rs`). Ranks that restart
//!
//! 1. [`read`] all of these files, those of a run with more ranks as well,
//! 2. wait for each other,
//! 3. [`begin`](Checkpoint::begin), where rank 0 writes all slabs to its file and removes the others,
//! 4. wait for each other,
//! 5. sum slabs that are not finished and [`keep`](Checkpoint::keep) each.
//!
//! A rank writes its whole file anew with each slab, beside the old one, and replaces that once the new one
//! is on disk. So the file is whole at every moment, and a rank that is killed loses the slab at
//! hand. That costs little: a group of three energies takes up to 250 bytes, ten thousand groups
//! two and a half megabytes, in a run that takes hours.

mod contents;
mod files;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::identity::Identity;
use crate::devices::SlabSums;
use crate::error::{Refusal, Result};
use crate::system::output;
pub(in crate::engine) use contents::Line;
pub use files::{number, numbered, numbers};
pub(crate) use files::{opened, refused, remove as remove_file};

/// Finished slabs by their number, from 0.
pub type Finished = BTreeMap<usize, SlabSums>;

/// One rank's file.
pub struct Checkpoint {
    /// The file that was named.
    path: PathBuf,
    rank: usize,
    identity: Identity,
    /// The file without its checksum.
    text: Vec<u8>,
}

/// The size of slabs, in `igp`, of the checkpoint that is there, if there is one: a run that was
/// not told a size takes it over.
///
/// # Errors
/// [`crate::Error::Checkpoint`] where the file or one of a rank's is none, is damaged, or is of anything but
/// `identity`, of which the size of slabs is not known yet.
pub fn slab_of(path: &Path, identity: &Identity) -> Result<Option<usize>> {
    let files = files::all(path)?;
    for (file, contents) in &files {
        if let Some(difference) = identity.difference_before_slabs(&contents.identity) {
            return Err(files::refused(file, Refusal::Foreign(difference)));
        }
    }
    Ok(files.first().map(|(_, contents)| contents.identity.slab))
}

/// The slabs that runs on any number of ranks have finished; none where there is no checkpoint.
/// Writes nothing.
///
/// # Errors
/// [`crate::Error::Checkpoint`] where the file or one of a rank's is none, is damaged, is of
/// anything but `identity`, or where two have different sums of a slab.
pub fn read(path: &Path, identity: &Identity) -> Result<Finished> {
    let files = files::all(path)?;
    let mut from: BTreeMap<usize, (&Path, &SlabSums)> = BTreeMap::new();
    for (file, contents) in &files {
        if let Some(difference) = identity.difference(&contents.identity) {
            return Err(files::refused(file, Refusal::Foreign(difference)));
        }
        for (at, sums) in &contents.slabs {
            if let Some(what) = identity.misfit(*at, sums) {
                return Err(files::refused(file, Refusal::Damaged(what)));
            }
            let (other, first) = *from.entry(*at).or_insert((file, sums));
            if !same(first, sums) {
                return Err(files::refused(
                    file,
                    Refusal::Contradicts { slab: *at, other: other.into() },
                ));
            }
        }
    }
    Ok(from.into_iter().map(|(at, (_, sums))| (at, sums.clone())).collect())
}

impl Checkpoint {
    /// Begins a rank's file. Rank 0 writes what is `finished` to its own, which is there from here
    /// on, and removes the others': they have to have been [`read`], and may be written again only
    /// after that. A rank that is killed in between leaves slabs twice, with the same sums.
    ///
    /// # Errors
    /// [`crate::Error::Write`] where the file cannot be written; [`crate::Error::Checkpoint`] where
    /// another rank's cannot be removed.
    pub fn begin(
        path: &Path,
        identity: Identity,
        rank: usize,
        finished: &Finished,
    ) -> Result<Checkpoint> {
        let mut text = contents::head(&identity);
        if rank == 0 {
            finished.iter().for_each(|(at, sums)| text.extend(contents::slab(*at, sums)));
        }
        let checkpoint = Checkpoint { path: path.into(), rank, identity, text };
        if rank == 0 {
            checkpoint.write()?;
            files::others(path)?.iter().try_for_each(|file| files::remove(file))?;
        } else {
            output::check(&numbered(path, rank))?;
        }
        Ok(checkpoint)
    }

    /// Keeps one more slab. It is on disk when this returns; after an error the file is as before,
    /// and the slab may be kept again.
    ///
    /// # Errors
    /// [`crate::Error::Write`].
    ///
    /// # Panics
    /// Where the sums are not those of the slab of that number.
    pub fn keep(&mut self, at: usize, sums: &SlabSums) -> Result<()> {
        let misfit = self.identity.misfit(at, sums);
        assert!(misfit.is_none(), "{misfit:?}");
        let before = self.text.len();
        self.text.extend(contents::slab(at, sums));
        self.write().inspect_err(|_| self.text.truncate(before))
    }

    fn write(&self) -> Result<()> {
        output::replace(&numbered(&self.path, self.rank), |file| {
            file.write_all(&self.text)?;
            file.write_all(&contents::tail(&self.text))
        })
    }
}

/// Removes the files of all ranks. Rank 0 calls it once the results have been shown and no rank keeps
/// slabs any more.
///
/// # Errors
/// [`crate::Error::Checkpoint`] where one cannot be removed.
pub fn remove(path: &Path) -> Result<()> {
    files::remove(path)?;
    files::others(path)?.iter().try_for_each(|file| files::remove(file))
}

/// Whether two slabs have equal sums, bit for bit; the time they took may differ.
fn same(a: &SlabSums, b: &SlabSums) -> bool {
    let bits = |sums: &SlabSums| -> Vec<u64> { sums.values.iter().map(|v| v.to_bits()).collect() };
    a.groups == b.groups && bits(a) == bits(b)
}
