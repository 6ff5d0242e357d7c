//! The record of a version's time over more and more devices, ranks or cores, with a model of it; or over the extents
//! of the problem.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::parting::Place;
use super::state::State;
use super::system::SystemInfo;
use super::times::Times;
use super::{Head, Kind, Record, older};
use crate::engine::Share;
use crate::reference::Source;
use crate::reference::verify::Outcome;

/// A version on a system and parts of it, on 1, 2, 4, … members and all of them; or on systems of other extents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// What all records begin with.
    #[serde(flatten)]
    pub head: Head,
    /// The version's id.
    pub version: String,
    /// What tells its source from others'; null in older records.
    pub source_hash: Option<String>,
    /// The system; of extents the middle of all lines.
    pub system: SystemInfo,
    /// Whether it has complex modes.
    pub complex_modes: bool,
    /// What a member is, or that extents vary.
    pub over: Over,
    /// `igp` of the groups of which slabs are made.
    pub group: usize,
    /// Where the members are; of cores the processor.
    pub places: Vec<Place>,
    /// What was measured.
    pub points: Vec<Point>,
    /// What [`crate::analysis::scale`] makes of it; null of extents, and where too little was measured.
    pub model: Option<Model>,
}

impl Record for Scale {
    const KIND: Kind = Kind::Scale;

    fn of_older(record: &Value) -> Option<Value> {
        older::scale(record)
    }
}

impl Scale {
    /// Whether every point passed.
    pub fn passed(&self) -> bool {
        self.points.iter().all(|point| point.outcome == Outcome::Passed)
    }
}

/// What a member of a team is; or what varies in place of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// A device of this process.
    Devices,
    /// A process with one device.
    Ranks,
    /// A core of the processor; all of them share each slab.
    Cores,
    /// None: extents vary, on one device.
    Extents,
}

impl Over {
    /// As in records.
    pub fn name(self) -> &'static str {
        match self {
            Over::Devices => "devices",
            Over::Ranks => "ranks",
            Over::Cores => "cores",
            Over::Extents => "extents",
        }
    }
}

/// What varies along a line, or stays the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Line {
    /// Members; the system stays.
    Strong,
    /// Members; the `igp` of each stay.
    Weak,
    /// Slabs; system and members stay. It tells what a slab costs beside its `igp`.
    Slabs,
    /// Bands.
    Nbands,
    /// G′ vectors.
    Ngpown,
    /// G vectors.
    Ncouls,
    /// Energies.
    Nw,
    /// All extents but the energies.
    All,
}

impl Line {
    /// Those of extents.
    pub const EXTENTS: [Line; 5] = [Line::Nbands, Line::Ngpown, Line::Ncouls, Line::Nw, Line::All];

    /// As in records.
    pub fn name(self) -> &'static str {
        match self {
            Line::Strong => "strong",
            Line::Weak => "weak",
            Line::Slabs => "slabs",
            Line::Nbands => "nbands",
            Line::Ngpown => "ngpown",
            Line::Ncouls => "ncouls",
            Line::Nw => "nw",
            Line::All => "all",
        }
    }
}

/// Where the slabs are before a calculation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Data {
    /// Where the kernels read them.
    Place,
    /// In the host's memory, or made or read anew where that does not hold them: their way to the kernels is
    /// part of the time.
    Host,
}

impl Data {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Data::Place => "in place",
            Data::Host => "from host",
        }
    }
}

/// One point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its line.
    pub line: Line,
    /// Where the slabs were.
    pub data: Data,
    /// Members.
    pub members: usize,
    /// Bands.
    pub nbands: usize,
    /// G′ vectors of the whole.
    pub ngpown: usize,
    /// G vectors.
    pub ncouls: usize,
    /// Energies.
    pub nw: usize,
    /// G′ vectors of a slab; the last one may have fewer.
    pub igp: usize,
    /// Slabs.
    pub slabs: usize,
    /// The kernel's symbol; null on a processor and in older records.
    pub kernel: Option<String>,
    /// What tells its code from others', by this compiler; null where `kernel` is.
    pub kernel_hash: Option<String>,
    /// Times of the calculation; in older records of extents without samples.
    #[serde(rename = "time_s")]
    pub times: Times,
    /// The first device of rank 0 during the timed runs; null without NVML, on a processor, and in older
    /// records.
    pub state: Option<State>,
    /// Seconds from the moment when the last member was done to the end, the median; null for one member.
    pub gather_s: Option<f64>,
    /// What the members did in the last calculation.
    pub shares: Vec<Share>,
    /// How much longer than on the average the member took that took longest, over that average.
    pub imbalance: Option<f64>,
    /// Whether the sums have the bits of one member's; null where the kernel's groups depend on the slabs.
    pub same_bits: Option<bool>,
    /// How it came out.
    pub outcome: Outcome,
    /// What it was compared with.
    pub reference: Option<Source>,
    /// G′ vectors a second over those of one member, where members vary; [`crate::analysis::scale`] finds it.
    pub speed_up: Option<f64>,
    /// The speed-up over the members; of extents, terms a second over those of the line's fastest point.
    pub efficiency: Option<f64>,
    /// What the model says of it.
    pub modelled: Option<Modelled>,
}

impl Point {
    /// Terms of the sum: (n, igp, ig, iw).
    pub fn terms(&self) -> u64 {
        [self.nbands, self.ngpown, self.ncouls, self.nw].map(|n| n as u64).iter().product()
    }

    /// Terms by the median time, a second.
    pub fn terms_per_s(&self) -> f64 {
        self.terms() as f64 / self.times.median
    }
}

/// A point by the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Modelled {
    /// Seconds.
    pub seconds: f64,
    /// How much longer than the shortest measured, over that.
    pub deviation: f64,
    /// Whether the model was fitted on this point.
    pub fitted: bool,
}

/// How long a calculation takes: the kernels of the busiest member, or its uploads where these take longer,
/// with what neither can hide of the other, and the gather.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// What was fitted.
    pub constants: Constants,
    /// The points on which it was fitted have no more members than this.
    pub fitted_up_to: usize,
    /// The largest deviation of points on which it was not fitted, with its sign; null without such.
    pub worst_deviation: Option<f64>,
    /// What predictions take for granted.
    pub assumptions: Vec<String>,
    /// What it says of this system and others; nothing where it was off by more than 5 %, or nothing checked it.
    pub predictions: Vec<Prediction>,
}

/// Constants of the model. Times of other systems are in proportion to the terms of an `igp` and to the bytes
/// of its arrays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constants {
    /// Seconds that a slab takes beside its `igp`.
    pub slab_s: f64,
    /// Seconds of an `igp` of this system.
    pub igp_s: f64,
    /// Bytes a second at which a slab's arrays get to a member, what is made of them on the host included;
    /// null where they need not.
    pub bandwidth: Option<f64>,
    /// Seconds of the gather for each doubling of the members.
    pub gather_s: f64,
    /// Seconds of the gather for each byte of the groups' sums.
    pub gather_byte_s: f64,
}

/// A system by the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The system's name.
    pub system: String,
    /// Its groups: more members than these have nothing to do.
    pub groups: usize,
    /// Where the slabs are.
    pub data: Data,
    /// For 1, 2, 4, … members, no more than groups.
    pub teams: Vec<Predicted>,
}

/// A number of members by the model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Members.
    pub members: usize,
    /// `igp` of a slab.
    pub igp: usize,
    /// Seconds.
    pub seconds: f64,
    /// Over one member.
    pub speed_up: f64,
    /// The speed-up over the members.
    pub efficiency: f64,
}
