//! The work of one worker.

use serde::{Deserialize, Serialize};

use crate::devices::SlabSums;

/// The work of one worker in a calculation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Slabs.
    pub slabs: usize,
    /// Their `igp`.
    pub igp: usize,
    /// Seconds of its kernels. Those of two slabs may run at the same time.
    pub kernels_s: f64,
    /// Seconds of its uploads.
    pub uploads_s: f64,
    /// Bytes of its uploads.
    pub uploaded: u64,
    /// Seconds in which its slabs were made or read.
    pub source_s: f64,
    /// Seconds from the begin of the calculation to its last sum.
    pub busy_s: f64,
}

impl Share {
    pub(super) fn add(&mut self, igp: usize, sums: &SlabSums) {
        self.slabs += 1;
        self.igp += igp;
        self.kernels_s += sums.seconds;
        self.uploads_s += sums.upload.seconds;
        self.uploaded += sums.upload.bytes;
    }
}
