//! How a problem was parted, and who shared it.

use serde::{Deserialize, Serialize};

use crate::devices::DeviceInfo;
use crate::engine::Share;

/// How a problem was parted into slabs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parting {
    /// `igp` of a slab; the last one may have fewer.
    pub igp: usize,
    /// Slabs.
    pub slabs: usize,
    /// Whether all of it was in the memory of each process; else slabs were made or read when their turn
    /// came.
    pub in_memory: bool,
    /// Bytes that might be taken of each device's memory, where that was limited.
    pub device_memory: Option<u64>,
    /// Bytes that might be taken of the host's, where that was limited.
    pub host_memory: Option<u64>,
    /// Processes.
    pub ranks: usize,
    /// The workers, in the order of the ranks.
    pub places: Vec<Place>,
}

/// Where a worker is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Of which process.
    pub rank: usize,
    /// On which host.
    pub host: Option<String>,
    /// The device.
    pub device: DeviceInfo,
}

/// What the workers did in the last calculation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// In the order of [`Parting::places`].
    pub shares: Vec<Share>,
    /// How much longer than on the average the worker took that took longest, over that average.
    pub imbalance: Option<f64>,
    /// Seconds of the first calculation, when nothing was in place.
    pub first_s: Option<f64>,
}

impl Work {
    /// Of what the workers did.
    pub fn of(shares: Vec<Share>, first_s: Option<f64>) -> Work {
        let busy = || shares.iter().map(|share| share.busy_s);
        let (longest, all) = (busy().fold(0.0, f64::max), busy().sum::<f64>());
        let over = longest * shares.len() as f64 / all - 1.0;
        Work { imbalance: over.is_finite().then_some(over), shares, first_s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imbalance_is_over_the_average() {
        let share = |busy_s: f64| Share { busy_s, ..Share::default() };
        let imbalance =
            |busy: &[f64]| Work::of(busy.iter().copied().map(share).collect(), None).imbalance;
        assert_eq!(imbalance(&[2.0, 2.0]), Some(0.0));
        assert_eq!(imbalance(&[3.0, 1.0, 2.0]), Some(0.5));
        assert_eq!(imbalance(&[]), None);
        assert_eq!(imbalance(&[0.0]), None);
    }
}
