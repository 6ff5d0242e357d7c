//! What all processes of a run have to have alike.

use twox_hash::XxHash64;

use super::Ranks;
use crate::error::{Error, Result};

/// Fails on all of them where one has something else than rank 0, by a hash of it. Collective.
///
/// # Errors
/// [`Error::Data`] that names the first rank with another `what`.
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
        what => Err(Error::Data { origin: "the ranks".into(), what: what.into_owned() }),
    }
}
