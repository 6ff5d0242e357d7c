//! What bounds a version: how much of each limit of the device it uses.
//!
//! Shares are of one run, the profiler's: pipes by its cycles, bandwidths by its duration. That of the
//! power limit alone is of the timed runs, since it is how often the clock was held back in these.

use std::fmt;

use super::levels::{LEVELS, Level};
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::record::run::Measurement;
use crate::record::state::State;

/// A limit used to this share or more is what bounds a version.
pub const BOUND: f64 = 0.8;

/// From this share on a version is near a limit; below, latency bounds it.
pub const NEAR: f64 = 0.6;

/// The limit that [`Power`] is about.
pub const POWER: &str = "power limit";

/// A limit of the device and the share of it that is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// The limit.
    pub limit: &'static str,
    /// From 0 to 1; of the power limit the share of the looks at which it held the clock back.
    pub share: f64,
}

/// How much of the limit that is used most is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// [`BOUND`] or more: the limit bounds the version.
    Bound,
    /// [`NEAR`] or more.
    Near,
    /// Less: warps wait, and no limit is near.
    Latency,
}

impl Band {
    /// Of a share.
    pub fn of(share: f64) -> Band {
        if share >= BOUND {
            Band::Bound
        } else if share >= NEAR {
            Band::Near
        } else {
            Band::Latency
        }
    }
}

/// What the board's power did to the clock in the timed runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Share of the looks at which power held the clock back.
    pub held_back: f64,
    /// Median power in watts.
    pub watts: Option<f64>,
    /// The board's limit in watts.
    pub limit_w: Option<f64>,
    /// Median clock of the multiprocessors in MHz.
    pub mhz: Option<f64>,
}

impl Power {
    /// Of what was seen of a GPU.
    pub fn of(state: &State) -> Power {
        let by_power =
            state.held_back.iter().filter(|(reason, _)| reason.to_lowercase().contains("power"));
        Power {
            held_back: by_power.map(|(_, share)| *share).fold(0.0, f64::max),
            watts: state.power_w.map(|seen| seen.median),
            limit_w: state.power_limit_w,
            mhz: state.sm_mhz.map(|seen| seen.median),
        }
    }
}

/// What bounds a version; shown as a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// How much of `most` is used.
    pub band: Band,
    /// The limit that is used most.
    pub most: Use,
    /// The one after it, the power limit left out.
    pub next: Option<Use>,
    /// The reason that warps wait for most and its share; eligible warps wait for nothing.
    pub stall: Option<(String, f64)>,
    /// What power did to the clock, where it was looked at.
    pub power: Option<Power>,
}

/// Shares of the limits that a version uses, the largest first: the bandwidths, relative to the
/// ceilings, the pipes and issue slots that were counted, on a processor the FP64 peak, and the power
/// limit by the measurement of the same version, where it tells of the clock.
pub fn uses(profile: &Profile, ceilings: &Ceilings, measured: Option<&Measurement>) -> Vec<Use> {
    let processor = ceilings.of_processor();
    let moved = |level: Level| {
        let rate = level.bytes(profile)? / profile.duration_s;
        Some((bandwidth(level, processor), rate / level.bandwidth(ceilings)?))
    };
    let pipe = |(name, limit): (&str, &'static str)| {
        Some((limit, profile.pipes_percent.get(name)? / 100.0))
    };
    let fp64 = match profile.fp64_pipe_percent {
        Some(busy) => Some(("FP64 pipe", busy / 100.0)),
        None => processor.then(|| ("FP64 peak", profile.rate() / ceilings.fp64)),
    };
    let power = measured.and_then(|of| of.state.as_ref()).map(Power::of);
    let mut uses: Vec<Use> = LEVELS
        .into_iter()
        .filter_map(moved)
        .chain(PIPES.into_iter().filter_map(pipe))
        .chain(fp64)
        .chain(power.map(|power| (POWER, power.held_back)))
        .map(|(limit, share)| Use { limit, share })
        // Of a record without a duration or a ceiling, say.
        .filter(|of| of.share.is_finite())
        .collect();
    uses.sort_by(|a, b| b.share.total_cmp(&a.share));
    uses
}

/// Names in a profile's `pipes_percent`, and of the limits.
const PIPES: [(&str, &str); 4] = [
    ("issue slots", "issue slots"),
    ("ALU", "ALU pipe"),
    ("MUFU", "MUFU pipe"),
    ("load/store", "load/store pipe"),
];

/// The name of a level's bandwidth as a limit.
fn bandwidth(level: Level, processor: bool) -> &'static str {
    match level {
        Level::Hbm if processor => "memory bandwidth",
        Level::Hbm => "HBM bandwidth",
        Level::L2AndFabric => "L2 bandwidth (fabric included)",
        Level::L2 => "L2 bandwidth",
        Level::L1 => "L1 bandwidth",
        Level::Shared => "shared memory’s bandwidth",
    }
}

/// What bounds a version, by all limits that are known; `measured` is of the same version on the same
/// system and device.
pub fn verdict(profile: &Profile, ceilings: &Ceilings, measured: Option<&Measurement>) -> Verdict {
    let uses = uses(profile, ceilings, measured);
    let unknown = Use { limit: bandwidth(Level::Hbm, ceilings.of_processor()), share: 0.0 };
    let most = uses.first().copied().unwrap_or(unknown);
    Verdict {
        band: Band::of(most.share),
        most,
        next: uses.iter().skip(1).copied().find(|other| other.limit != POWER),
        stall: profile.main_stall().map(|(why, share)| (why.into(), share)),
        power: measured.and_then(|of| of.state.as_ref()).map(Power::of),
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verdict { band, most, next, .. } = self;
        let used = |of: &Use| format!("{} {}", of.limit, percent(of.share));
        let by_power = most.limit == POWER;
        let next = next.as_ref().map(used);
        match (band, &next) {
            (Band::Latency, Some(next)) if by_power => {
                write!(f, "bound by latency: most used is the {next}")?;
            }
            (Band::Latency, Some(next)) => {
                write!(f, "bound by latency: most used are the {} and the {next}", used(most))?;
            }
            (Band::Latency, None) => write!(f, "bound by latency")?,
            (band, next) => {
                let word = if *band == Band::Bound { "bound by" } else { "near" };
                write!(f, "{word} the {}", most.limit)?;
                if !by_power {
                    write!(f, ", {} used", percent(most.share))?;
                }
                if let Some(next) = next {
                    write!(f, ", then the {next}")?;
                }
            }
        }
        if let Some((why, share)) = &self.stall {
            write!(f, "; warps wait most for {} ({})", why.replace('_', " "), percent(*share))?;
        }
        match &self.power {
            Some(power) if power.held_back > 0.0 => write!(f, "; {power}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "power held the clock back at {} of the looks", percent(self.held_back))?;
        if let Some(mhz) = self.mhz {
            write!(f, ", to {mhz:.0} MHz")?;
        }
        match (self.watts, self.limit_w) {
            (Some(watts), Some(limit)) => write!(f, " at {watts:.0} of {limit:.0} W"),
            _ => Ok(()),
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
