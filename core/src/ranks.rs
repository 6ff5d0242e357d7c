//! The processes that share a run, as whoever started them describes them, or this one alone.

use std::ops::Range;

use twox_hash::XxHash64;

use crate::error::{Error, Result};

/// The processes of a run, seen from one of them. What is collective here is called by all of them, in
/// the same order.
pub trait Ranks: Sync {
    fn rank(&self) -> usize;

    fn size(&self) -> usize;

    /// Which one of those on this host, and how many these are.
    fn local(&self) -> (usize, usize);

    /// Waits until all are here. Collective.
    fn barrier(&self);

    /// What each gives, in the order of the ranks, for rank 0; none for the others. Collective.
    fn gather(&self, bytes: &[u8]) -> Option<Vec<Vec<u8>>>;

    /// What rank 0 gives, for all. Collective.
    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8>;

    /// Ends all of several processes at once, this one too, with this exit code.
    fn abort(&self, code: u8);

    /// The least of what they have. Collective.
    fn least(&self, own: u64) -> u64 {
        let all = self.gather(&own.to_ne_bytes()).unwrap_or_default();
        let read = |bytes: Vec<u8>| bytes.try_into().map_or(own, u64::from_ne_bytes);
        let least = all.into_iter().map(read).min().unwrap_or(own);
        read(self.broadcast(least.to_ne_bytes().to_vec()))
    }

    /// The code of the first process that has one, for all. Collective.
    fn first_code(&self, own: Option<i32>) -> Option<i32> {
        // Any number may be a code, 0 too: a caller's progress stops a calculation by it.
        const NONE: i64 = i64::MAX;
        let read = |bytes: Vec<u8>| bytes.try_into().map_or(NONE, i64::from_ne_bytes);
        let all = self.gather(&own.map_or(NONE, i64::from).to_ne_bytes()).unwrap_or_default();
        let first = all.into_iter().map(read).find(|&code| code != NONE).unwrap_or(NONE);
        i32::try_from(read(self.broadcast(first.to_ne_bytes().to_vec()))).ok()
    }

    /// The part of so many things that is this one's: neighbours, as many as the others have or one more.
    fn share(&self, of: usize) -> Range<usize> {
        let bound = |rank: usize| rank * of / self.size();
        bound(self.rank())..bound(self.rank() + 1)
    }

    /// How many of all have each of these: for what several processes may share. Collective.
    fn having(&self, own: &[String]) -> Vec<usize> {
        let all = self.gather(own.join("\n").as_bytes()).unwrap_or_default();
        let all = self.broadcast(all.join(&b'\n'));
        let all = String::from_utf8_lossy(&all);
        own.iter().map(|one| all.lines().filter(|line| line == one).count()).collect()
    }

    /// Whether this is rank 0, which reports.
    fn is_root(&self) -> bool {
        self.rank() == 0
    }

    /// How messages name this process: nothing where it is alone.
    fn name(&self) -> Option<String> {
        (self.size() > 1).then(|| {
            let host = sysinfo::System::host_name().unwrap_or("an unknown host".into());
            format!("rank {} of {} on {host}", self.rank(), self.size())
        })
    }
}

pub struct Alone;

impl Ranks for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn local(&self) -> (usize, usize) {
        (0, 1)
    }

    fn barrier(&self) {}

    fn gather(&self, bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
        Some(vec![bytes.to_vec()])
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    fn abort(&self, _: u8) {}
}

// What all processes of a run have to have alike.

/// Fails on all of them where one has something else than rank 0, by a hash of it. Collective.
pub fn require_same(ranks: &dyn Ranks, what: &str, own: &str) -> Result<()> {
    if ranks.size() == 1 {
        return Ok(());
    }
    let hash = XxHash64::oneshot(0, own.as_bytes()).to_le_bytes();
    let all = ranks.gather(&hash).unwrap_or_default();
    let other = all.iter().position(|other| *other != hash);
    let said =
        other.map(|rank| format!("rank {rank} has other {what} than rank 0; all need the same"));
    match String::from_utf8_lossy(&ranks.broadcast(said.unwrap_or_default().into_bytes())) {
        none if none.is_empty() => Ok(()),
        what => Err(Error::Input { origin: "the ranks".into(), what: what.into_owned() }),
    }
}
