//! The record of a comparison: our versions against the yardstick, in CUDA C++ or in Fortran.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::state::State;
use super::system::Poles;
use super::times::{BeforeCap, Times, Verdict};
use super::{Head, Kind, Record, older};
use crate::reference::verify::Outcome;

/// Versions and the yardstick on some systems: what `gpp compare --json` writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What all records begin with.
    #[serde(flatten)]
    pub head: Head,
    /// The yardstick's compiler.
    pub yardstick: String,
    /// Timed runs of each, at least.
    pub repeat: Option<usize>,
    /// All heats, system by system.
    pub heats: Vec<Heat>,
}

impl Record for Comparison {
    const KIND: Kind = Kind::Comparison;

    fn of_older(record: &Value) -> Option<Value> {
        older::comparison(record)
    }
}

impl Comparison {
    /// Whether all sums passed.
    pub fn passed(&self) -> bool {
        self.heats
            .iter()
            .flat_map(|heat| &heat.racers)
            .all(|racer| racer.outcome == Outcome::Passed)
    }

    /// Versions beside the same ones of the yardstick.
    pub fn pairs(&self) -> impl Iterator<Item = Pair<'_>> {
        self.heats.iter().filter_map(Pair::of).filter(|pair| pair.ours.name == pair.other.name)
    }

    /// The best version beside another one of the yardstick, on each system.
    pub fn best(&self) -> impl Iterator<Item = Pair<'_>> {
        self.heats.iter().filter_map(Pair::of).filter(|pair| pair.ours.name != pair.other.name)
    }

    /// All who ran in heats of more than two.
    pub fn racers(&self) -> impl Iterator<Item = (&Heat, &Racer)> {
        let several = self.heats.iter().filter(|heat| Pair::of(heat).is_none());
        several.flat_map(|heat| heat.racers.iter().map(move |racer| (heat, racer)))
    }
}

/// Those who are timed on the same arrays, and compared with the yardstick among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// The system's name.
    pub system: String,
    /// The poles of the system; null in older records.
    pub poles: Option<Poles>,
    /// Terms of the sum: (n, igp, ig, iw); null in older records.
    pub terms: Option<u64>,
    /// Who is timed.
    pub racers: Vec<Racer>,
    /// Largest relative error of our v3, whose terms are written as the definition has them; null but for the
    /// best version on a GPU.
    pub v3_error: Option<f64>,
}

impl Heat {
    /// The yardstick: its fastest build or version that passed.
    pub fn yardstick(&self) -> Option<&Racer> {
        let others = self.racers.iter().filter(|racer| racer.side != Side::Rust);
        let passed = others.filter(|racer| racer.outcome == Outcome::Passed);
        passed.min_by(|a, b| a.times.median.total_cmp(&b.times.median))
    }

    /// Median time of a term in nanoseconds.
    pub fn ns_per_term(&self, racer: &Racer) -> Option<f64> {
        Some(racer.times.median * 1e9 / self.terms? as f64)
    }
}

/// A heat of one of our versions and one of the yardstick's, on a GPU.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// The heat.
    pub heat: &'a Heat,
    /// Our version.
    pub ours: &'a Racer,
    /// The yardstick's.
    pub other: &'a Racer,
}

impl<'a> Pair<'a> {
    fn of(heat: &'a Heat) -> Option<Pair<'a>> {
        match &heat.racers[..] {
            [ours, other] if other.side == Side::Cuda => Some(Pair { heat, ours, other }),
            _ => None,
        }
    }

    /// Our median time over the yardstick's.
    pub fn ratio(&self) -> f64 {
        self.ours.times.median / self.other.times.median
    }
}

/// Who is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// A version of ours.
    Rust,
    /// A version of the yardstick on a GPU.
    Cuda,
    /// A build of the yardstick on a processor.
    Fortran,
}

impl Side {
    /// As in texts.
    pub fn name(self) -> &'static str {
        match self {
            Side::Rust => "Rust",
            Side::Cuda => "CUDA",
            Side::Fortran => "Fortran",
        }
    }
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Racer {
    /// Whose it is.
    pub side: Side,
    /// The version's id, or the yardstick's loops and what sets the build apart.
    pub name: String,
    /// The compiler's flags, of a build.
    pub flags: Option<String>,
    /// The vectors, of a version made for processors: a name of [`gpp_cpu::level::Level`].
    pub simd: Option<String>,
    /// Threads; null on a GPU.
    pub threads: Option<usize>,
    /// Symbol of our kernel and the hash of its code, 16 hexadecimal digits; null on a processor and in older
    /// records.
    pub kernel: Option<String>,
    /// See `kernel`.
    pub kernel_hash: Option<String>,
    /// What tells our version's source from others'; null in older records.
    pub source_hash: Option<String>,
    /// Times of the calculation; without samples in older records.
    #[serde(rename = "time_s")]
    pub times: Times,
    /// Runs before the limit of power lowered the clock; null where none ended before that, and in older
    /// records.
    pub before_cap: Option<BeforeCap>,
    /// The GPU during these runs; null without NVML.
    pub state: Option<State>,
    /// Runs during which something held the clock back; null without NVML.
    pub held_back: Option<usize>,
    /// Share of the time in which the FP64 pipe was busy, by ncu.
    pub fp64_pipe_percent: Option<f64>,
    /// Bytes that memory moved, by ncu.
    pub hbm_bytes: Option<f64>,
    /// Median time of the heat's yardstick over this one's; null where none passed.
    /// [`crate::analysis::comparison`] finds it.
    pub over_yardstick: Option<f64>,
    /// The same of the runs before the limit of power lowered the clock of either.
    pub over_before_cap: Option<f64>,
    /// Whether it differs from the yardstick by more than noise; null of few runs.
    pub verdict: Option<Verdict>,
    /// Largest relative error of the sums.
    pub max_rel_error: Option<f64>,
    /// How the sums came out; where older records do not tell, passed.
    pub outcome: Outcome,
}
