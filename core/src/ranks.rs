//! The MPI ranks that share a run, or this process alone.

use std::ops::Range;

use twox_hash::XxHash64;

use crate::error::{Result, invalid};

/// The ranks of a run, from the view of one: without functions of its own a single rank. All ranks call collective
/// functions, in the same order.
pub trait Ranks: Sync {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    /// The index of this rank on its host, and how many ranks there are on it.
    fn local(&self) -> (usize, usize) {
        (0, 1)
    }

    /// Waits for all. Collective.
    fn barrier(&self) {}

    /// On rank 0 the bytes of each rank, in their order. Collective.
    fn gather(&self, bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
        Some(vec![bytes.to_vec()])
    }

    /// The bytes of rank 0. Collective.
    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    /// Ends all of several ranks at once, this one too, with this exit code.
    fn abort(&self, _code: u8) {}

    /// The least of all numbers. Collective.
    fn least(&self, number: u64) -> u64 {
        let numbers = self.gather(&number.to_ne_bytes()).unwrap_or_default();
        let read = |bytes: Vec<u8>| bytes.try_into().map_or(number, u64::from_ne_bytes);
        let least = numbers.into_iter().map(read).min().unwrap_or(number);
        read(self.broadcast(least.to_ne_bytes().to_vec()))
    }

    /// The code of the first rank that has one. Collective.
    fn first_code(&self, code: Option<i32>) -> Option<i32> {
        let own = code.map(|code| (self.rank() as u64) << 32 | u64::from(code.cast_unsigned()));
        let first = self.least(own.unwrap_or(u64::MAX));
        // Any `i32` may be a code, 0 too: a caller's progress stops a calculation by it.
        (first != u64::MAX).then_some((first as u32).cast_signed())
    }

    /// This rank's range of so many items: as many as each other rank has, or one more.
    fn share(&self, count: usize) -> Range<usize> {
        let bound = |rank: usize| rank * count / self.size();
        bound(self.rank())..bound(self.rank() + 1)
    }

    /// How many ranks have each of these. Collective.
    fn having(&self, names: &[String]) -> Vec<usize> {
        let lines = self.gather(names.join("\n").as_bytes()).unwrap_or_default();
        let lines = self.broadcast(lines.join(&b'\n'));
        let lines = String::from_utf8_lossy(&lines);
        names.iter().map(|one| lines.lines().filter(|line| line == one).count()).collect()
    }

    /// Whether this is rank 0, which prints.
    fn is_root(&self) -> bool {
        self.rank() == 0
    }

    /// How messages name this rank; none if it is alone.
    fn name(&self) -> Option<String> {
        (self.size() > 1).then(|| {
            let host = sysinfo::System::host_name().unwrap_or("an unknown host".into());
            format!("rank {} of {} on {host}", self.rank(), self.size())
        })
    }
}

pub struct Alone;

impl Ranks for Alone {}

/// Fails on all ranks if the text of one differs from that of rank 0, by a hash. Collective.
pub fn require_same(ranks: &dyn Ranks, what: &str, text: &str) -> Result<()> {
    if ranks.size() == 1 {
        return Ok(());
    }
    let hash = XxHash64::oneshot(0, text.as_bytes()).to_le_bytes();
    let hashes = ranks.gather(&hash).unwrap_or_default();
    let other = hashes.iter().position(|other| *other != hash);
    let said =
        other.map(|rank| format!("rank {rank} has other {what} than rank 0; all need the same"));
    match String::from_utf8_lossy(&ranks.broadcast(said.unwrap_or_default().into_bytes())) {
        none if none.is_empty() => Ok(()),
        what => Err(invalid("the ranks", what)),
    }
}
