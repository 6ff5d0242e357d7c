//! The report of each process of a run to the others.

use serde::{Deserialize, Serialize};

use super::checkpoint::Line;
use super::{Numbered, Share};
use crate::error::Result;
use crate::ranks::Ranks;

/// The sums of one process, or of all.
pub struct Report {
    /// Slabs with their sums.
    pub slabs: Numbered,
    /// The work of each worker.
    pub shares: Vec<Share>,
    /// The signal by which it was stopped before its last slab.
    pub stopped: Option<i32>,
}

/// A report as it is sent.
#[derive(Serialize, Deserialize)]
struct Message {
    slabs: Vec<Line>,
    shares: Vec<Share>,
    stopped: Option<i32>,
}

/// Gathers all reports in one on rank 0; other ranks get their own. All learn whether one was stopped.
///
/// # Errors
/// Those of the ranks.
///
/// # Panics
/// Never: the bytes were written by this program.
pub fn gathered(ranks: &dyn Ranks, own: Report) -> Result<Report> {
    if ranks.size() == 1 {
        return Ok(own);
    }
    let slabs = own.slabs.iter().map(|(at, sums)| Line::of(*at, sums)).collect();
    let message = Message { slabs, shares: own.shares.clone(), stopped: own.stopped };
    let text = serde_json::to_vec(&message).expect("numbers under names");
    let all = match ranks.gather(&text) {
        None => own,
        Some(messages) => {
            let mut all = Report { slabs: Vec::new(), shares: Vec::new(), stopped: None };
            for message in messages {
                let message: Message =
                    serde_json::from_slice(&message).expect("the same program wrote it");
                all.slabs.extend(message.slabs.into_iter().map(Line::sums));
                all.shares.extend(message.shares);
                all.stopped = all.stopped.or(message.stopped);
            }
            all
        }
    };
    let stopped = ranks.broadcast(all.stopped.unwrap_or_default().to_le_bytes().to_vec());
    let stopped = i32::from_le_bytes(stopped.try_into().expect("four bytes"));
    Ok(Report { stopped: (stopped != 0).then_some(stopped), ..all })
}
