//! The report of each process of a run to the others.

use serde::{Deserialize, Serialize};

use super::{Numbered, Share};
use crate::devices::{SlabSums, Upload};
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

/// A slab's number and sums. Real numbers are sent as their bits, so that NaN and −0 arrive as they were.
#[derive(Serialize, Deserialize)]
struct Line {
    slab: usize,
    groups: usize,
    seconds: u64,
    blocks: Option<u32>,
    values: Vec<u64>,
}

impl Line {
    fn of(at: usize, sums: &SlabSums) -> Line {
        Line {
            slab: at,
            groups: sums.groups,
            seconds: sums.seconds.to_bits(),
            blocks: sums.blocks,
            values: sums.values.iter().map(|value| value.to_bits()).collect(),
        }
    }

    fn sums(self) -> (usize, SlabSums) {
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
