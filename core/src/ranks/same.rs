//! What all processes of a run have to have alike.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Ranks;
use crate::error::{Difference, Error, Result};

/// Fails on all of them where one has something else than rank 0, as `difference` of rank 0's and the other's
/// says. Collective.
///
/// # Errors
/// [`Error::Data`] that names the first rank with something else.
///
/// # Panics
/// Never: what is read was written by the same code.
pub fn require_same<T: Serialize + DeserializeOwned>(
    ranks: &dyn Ranks,
    own: &T,
    difference: impl Fn(&T, &T) -> Option<Difference>,
) -> Result<()> {
    if ranks.size() == 1 {
        return Ok(());
    }
    let text = serde_json::to_vec(own).expect("texts and numbers under names");
    let all = ranks.gather(&text).unwrap_or_default();
    let of_rank = |(rank, text): (usize, &Vec<u8>)| {
        let other = serde_json::from_slice(text).ok();
        let other: T = match other {
            Some(other) => other,
            None => {
                return Some(format!("rank {rank} is another build of this program than rank 0"));
            }
        };
        let Difference { field, needed, found, flag } = difference(own, &other)?;
        let flag = if flag.is_empty() { String::new() } else { format!("; see {flag}") };
        Some(format!(
            "rank {rank} has {field} {found}, rank 0 has {needed}; all need the same{flag}"
        ))
    };
    let said = all.iter().enumerate().find_map(of_rank).unwrap_or_default();
    match String::from_utf8_lossy(&ranks.broadcast(said.into_bytes())) {
        none if none.is_empty() => Ok(()),
        what => Err(Error::Data { origin: "the ranks".into(), what: what.into_owned() }),
    }
}
