//! What bounds a version: how much of each unit of the device it uses, and what the clock lost.
//!
//! Shares are of the profiler's run: pipes by its cycles, bandwidths by its duration. The clock is that of the
//! timed runs.

use std::fmt;

use super::levels::{LEVELS, Level};
use super::stalls::meaning;
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::record::run::{Measurement, Run};
use crate::record::state::State;

/// A unit used to this share or more bounds a version.
pub const BOUND: f64 = 0.8;

/// From this share on a version is near a limit; below, latency bounds it.
pub const NEAR: f64 = 0.6;

/// Losses of clock below this share are not told.
const TOLD: f64 = 0.01;

/// A unit of the device and the share of it that is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// The unit.
    pub limit: &'static str,
    /// From 0 to 1.
    pub share: f64,
}

/// How much of the busiest unit is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// [`BOUND`] or more: the unit bounds the version.
    Bound,
    /// [`NEAR`] or more.
    Near,
    /// Less: warps wait, and no unit is near full.
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

/// What the board's power cap did to the clock in the timed runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Share of the highest clock that was lost, from 0 to 1.
    pub lost: f64,
    /// Median clock of the multiprocessors in MHz.
    pub mhz: f64,
    /// The board's limit in watts.
    pub limit_w: Option<f64>,
}

impl Power {
    /// Of a version whose clock was seen, by the highest at which that was, else the device's, in MHz; `None`
    /// where power did not hold the clock back.
    pub fn of(measured: &Measurement, highest_mhz: f64) -> Option<Power> {
        Power::seen(measured.state.as_ref()?, highest_mhz)
    }

    /// The same of a GPU's state.
    pub fn seen(state: &State, highest_mhz: f64) -> Option<Power> {
        let by_power = |reason: &String| reason.to_lowercase().contains("power");
        state.held_back.iter().find(|(reason, share)| by_power(reason) && **share > 0.0)?;
        let mhz = state.sm_mhz?.median;
        let lost = 1.0 - mhz / state.highest_mhz.unwrap_or(highest_mhz);
        let limit_w = state.power_limit_w;
        lost.is_finite().then_some(Power { lost: lost.max(0.0), mhz, limit_w })
    }

    /// Whether it lost so much clock that it is told.
    pub fn is_told(&self) -> bool {
        self.lost >= TOLD
    }
}

/// The highest clock of a run's device, in MHz: as it says of itself, else the highest that was seen.
pub fn highest_mhz(run: &Run) -> Option<f64> {
    let seen = run.results.iter().filter_map(|result| Some(result.state.as_ref()?.sm_mhz?.max));
    run.head.device.clock_mhz.map(f64::from).or_else(|| seen.reduce(f64::max))
}

/// What bounds a version; shown as one to three sentences.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// How much of `most` is used.
    pub band: Band,
    /// The unit that is used most, where one was counted.
    pub most: Option<Use>,
    /// The reason that warps wait for most and its share; eligible warps wait for nothing.
    pub stall: Option<(String, f64)>,
    /// What the power cap did to the clock.
    pub power: Option<Power>,
}

/// Shares of the units that a version uses, the largest first: the bandwidths, relative to the ceilings, the
/// pipes and issue slots that were counted.
pub fn uses(profile: &Profile, ceilings: &Ceilings) -> Vec<Use> {
    let moved = |level: Level| {
        let rate = level.bytes(profile)? / profile.duration_s;
        Some((bandwidth(level), rate / level.bandwidth(ceilings)?))
    };
    let pipe = |(name, limit): (&str, &'static str)| {
        Some((limit, profile.pipes_percent.get(name)? / 100.0))
    };
    let fp64 = profile.fp64_pipe_percent.map(|busy| ("the FP64 pipe", busy / 100.0));
    let mut uses: Vec<Use> = LEVELS
        .into_iter()
        .filter_map(moved)
        .chain(PIPES.into_iter().filter_map(pipe))
        .chain(fp64)
        .map(|(limit, share)| Use { limit, share })
        // Of a record without a duration or a ceiling, say.
        .filter(|of| of.share.is_finite())
        .collect();
    uses.sort_by(|a, b| b.share.total_cmp(&a.share));
    uses
}

/// Names in a profile's `pipes_percent`, and of the units.
const PIPES: [(&str, &str); 4] = [
    ("issue slots", "instruction issue"),
    ("ALU", "the ALU pipe"),
    ("MUFU", "the MUFU pipe"),
    ("load/store", "the load/store pipe"),
];

/// The name of a level's bandwidth as a limit.
fn bandwidth(level: Level) -> &'static str {
    match level {
        Level::Hbm => "HBM bandwidth",
        Level::L2AndFabric => "L2 bandwidth (fabric included)",
        Level::L2 => "L2 bandwidth",
        Level::L1 => "L1 bandwidth",
        Level::Shared => "shared memory’s bandwidth",
    }
}

/// What bounds a version, by all units that are known; `measured` is of the version on the same system and
/// device, `highest_mhz` that device's clock.
pub fn verdict(
    profile: &Profile,
    ceilings: &Ceilings,
    measured: Option<&Measurement>,
    highest_mhz: Option<f64>,
) -> Verdict {
    let most = uses(profile, ceilings).first().copied();
    let power = measured.zip(highest_mhz).and_then(|(of, highest)| Power::of(of, highest));
    Verdict {
        band: Band::of(most.map_or(0.0, |most| most.share)),
        most,
        stall: profile.main_stall().map(|(why, share)| (why.into(), share)),
        power: power.filter(Power::is_told),
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verdict { band, most, stall, power } = self;
        if let Some(Use { limit, share }) = most {
            let share = percent(*share);
            match band {
                Band::Bound => write!(f, "{} is full, at {share}.", capital(limit))?,
                Band::Near => write!(f, "{} is busiest, at {share}.", capital(limit))?,
                Band::Latency => {
                    write!(f, "No unit is near full; {limit} is busiest, at {share}.")?
                }
            }
        }
        if let Some((why, share)) = stall {
            write!(
                f,
                " Warps spend {} of their time waiting for {}.",
                percent(*share),
                meaning(why)
            )?;
        }
        match power {
            Some(Power { lost, limit_w: Some(limit), .. }) => {
                write!(f, " The {limit:.0} W cap lowers the clock by {}.", percent(*lost))
            }
            Some(power) => write!(f, " Power lowers the clock by {}.", percent(power.lost)),
            None => Ok(()),
        }
    }
}

/// A text that begins a sentence.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
