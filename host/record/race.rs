//! The record of a race: versions and builds of the yardstick in Fortran, in turn on one processor.

use serde::{Deserialize, Serialize};

use super::system::Poles;
use super::times::Times;
use super::{Head, Kind, Record};
use crate::reference::verify::Outcome;

/// Versions and the yardstick's builds on some systems: what `gpp compare --device cpu --json` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Race {
    /// What all records begin with.
    #[serde(flatten)]
    pub head: Head,
    /// The yardstick's compiler.
    pub yardstick: String,
    /// Timed runs of each.
    pub repeat: usize,
    /// All who ran, system by system.
    pub racers: Vec<Racer>,
}

impl Record for Race {
    const KIND: Kind = Kind::Race;
}

impl Race {
    /// Whether all sums passed.
    pub fn passed(&self) -> bool {
        self.racers.iter().all(|racer| racer.outcome == Outcome::Passed)
    }
}

/// Who is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// A version of ours.
    Rust,
    /// A build of the yardstick.
    Fortran,
}

/// One of them on one system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Racer {
    /// The system's name.
    pub system: String,
    /// The poles of the system.
    pub poles: Poles,
    /// Terms of the sum: (n, igp, ig, iw).
    pub terms: u64,
    /// Whose it is.
    pub side: Side,
    /// The version's id, or the yardstick's loops and what sets the build apart.
    pub name: String,
    /// The compiler's flags, of a build.
    pub flags: Option<String>,
    /// The vectors, of a version made for processors: a name of [`gpp_cpu::level::Level`].
    pub simd: Option<String>,
    /// What tells a version's source from others'; null of a build, and in older records.
    pub source_hash: Option<String>,
    /// Threads.
    pub threads: usize,
    /// Times of the calculation.
    #[serde(rename = "time_s")]
    pub times: Times,
    /// Median time of a term in nanoseconds.
    pub ns_per_term: f64,
    /// Median time of the fastest build that passed over this one's; null where none did.
    pub over_fortran: Option<f64>,
    /// Largest relative error of the sums.
    pub max_rel_error: Option<f64>,
    /// How the sums came out.
    pub outcome: Outcome,
}
