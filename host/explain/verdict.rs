//! Why the time changed from one version to another, and what bounds a version.

use std::fmt;

use serde::Serialize;

use crate::outcomes::differs;
use crate::record::profile::{Ceilings, Profile};
use crate::record::run::{Measurement, State, Verdict};
use crate::roofline::{LEVELS, Level};
use crate::table::published;

// A step: a version and the one that it is compared with.

#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub id: &'a str,
    /// Its result in the run, if it passed and was not emulated.
    pub measured: Option<&'a Measurement>,
    pub profile: Option<&'a Profile>,
    pub over_baseline: Option<f64>,
}

pub struct Step<'a> {
    pub before: Option<Side<'a>>,
    pub now: Side<'a>,
    pub ceilings: Option<&'a Ceilings>,
    pub system: &'a str,
    pub device: &'a str,
}

impl Side<'_> {
    /// Time of a calculation without a profiler, in seconds.
    pub fn seconds(&self) -> Option<f64> {
        self.measured.map(|own| own.times.median).or(self.profile.and_then(|own| own.time_s))
    }

    pub fn clock_mhz(&self) -> Option<f64> {
        self.measured?.sm_mhz()
    }

    pub fn cycles(&self) -> Option<f64> {
        self.measured?.cycles()
    }

    /// Cycles between two instructions of a warp: it issues in `selected` of them.
    pub fn cycles_an_instruction(&self) -> Option<f64> {
        let issuing = *self.profile?.stalls.get("selected")?;
        (issuing > 0.0).then(|| issuing.recip())
    }

    /// Instructions of all warps on a multiprocessor, by its cycles, warps and how often one issues.
    pub fn instructions(&self) -> Option<f64> {
        let own = self.profile?;
        Some(own.cycles? * own.warps_per_sm? / self.cycles_an_instruction()?)
    }

    pub fn flops_per_s(&self) -> Option<f64> {
        let profile = self.profile?;
        Some(profile.flops() / self.seconds().unwrap_or(profile.duration_s))
    }
}

impl<'a> Step<'a> {
    pub fn both(&self, of: impl Fn(&Side<'a>) -> Option<f64>) -> Option<(f64, f64)> {
        of(self.before.as_ref()?).zip(of(&self.now))
    }

    /// What the power limit did to the clock of one of them.
    pub fn power(&self, side: &Side) -> Option<Power> {
        Power::of(side.measured?.state.as_ref()?)
    }
}

// The sentences about a step.

/// Changes below this share are not reported.
const LEAST: f64 = 0.02;

/// The logarithm of a ratio from which on bytes are named beside the clock: a quarter less, a third more.
const FAR: f64 = 0.28;

/// A sentence or two about a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    pub rule: Rule,
    pub text: String,
}

/// What statements are about, in the order of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    Why,
    Bound,
    Published,
}

/// All that can be said of a step.
pub fn verdict(step: &Step) -> Vec<Statement> {
    let said = [
        (Rule::Why, why(step)),
        (Rule::Bound, bound(step)),
        (Rule::Published, published_step(step)),
    ];
    said.into_iter().filter_map(|(rule, text)| Some(Statement { rule, text: text? })).collect()
}

pub type Pair = (f64, f64);

/// How the time changed, and why: cycles, the clock, and behind the cycles the evidence that weighs most.
fn why(step: &Step) -> Option<String> {
    let time = step.both(Side::seconds)?;
    if !(time.0 > 0.0 && time.1 > 0.0) {
        return None;
    }
    let cycles = step.both(Side::cycles).filter(|cycles| differ(*cycles));
    let clock = step.both(Side::clock_mhz).filter(|clock| differ(*clock));
    if stays(step, time) {
        let same = format!("Not significantly different from {}", step.before.as_ref()?.id);
        return Some(match (cycles, clock) {
            (Some(cycles), Some(clock)) => format!(
                "{same}: {} cancel {}.",
                amount(cycles, "cycles"),
                if clock.1 > clock.0 { "a higher clock" } else { "a lower clock" }
            ),
            _ => format!("{same}."),
        });
    }
    // What made the cycles change or, if these are not known, the time.
    let is_cycles = cycles.is_some() || step.both(Side::cycles).is_none();
    let cause = cause(step).filter(|cause| is_cycles && cause.lowers == (time.1 < time.0));
    let mut parts: Vec<String> = match (cycles, cause.map(|cause| cause.text)) {
        (Some(cycles), Some(cause)) => vec![format!("{}, {cause}", amount(cycles, "cycles"))],
        (Some(cycles), None) => vec![amount(cycles, "cycles")],
        (None, cause) => cause.into_iter().collect(),
    };
    if let Some(clock) = clock {
        // What weighs more comes first.
        let weight = |pair: Pair| (pair.1 / pair.0).ln().abs();
        let first = cycles.is_none_or(|cycles| weight(cycles) < weight(clock));
        parts.insert(if first { 0 } else { parts.len() }, clock_changed(step, clock));
    }
    let time = amount(time, "time");
    Some(if parts.is_empty() {
        format!("{time}.")
    } else {
        format!("{time}: {}.", parts.join("; "))
    })
}

/// Whether the time stays: within the noise, or by less than is a change.
fn stays(step: &Step, time: Pair) -> bool {
    let noise = || {
        let (before, now) = (step.before.as_ref()?.measured?, step.now.measured?);
        differs(&before.times, &now.times).map(|verdict| verdict == Verdict::Noise)
    };
    noise() == Some(true) || !differ(time)
}

/// How the clock changed. At the power limit it depends on the power that a kernel draws, so the bytes from memory are
/// named if they changed much in the other direction.
fn clock_changed(step: &Step, (before, now): Pair) -> String {
    let power = |side: &Side| step.power(side);
    let (old, new) = (step.before.as_ref().and_then(power), power(&step.now));
    let bytes = step.both(|side| Some(side.profile?.bytes.hbm)).filter(|_| old.or(new).is_some());
    let bytes = bytes.filter(|(a, b)| (b / a).ln().abs() >= FAR && (b < a) == (now > before));
    let bytes =
        bytes.map_or(String::new(), |pair| format!(" with {} from HBM", amount(pair, "bytes")));
    let range = format!("({before:.0} → {now:.0} MHz){bytes}");
    match new.and_then(|power| power.limit_w) {
        Some(watts) if now < before => {
            format!("the {watts:.0} W power limit lowers the clock {range}")
        }
        _ if now < before => format!("the clock falls {range}"),
        _ => format!("the clock rises {range}"),
    }
}

/// What made the cycles, or else the time, change.
struct Cause {
    text: String,
    /// Whether there are fewer of them for it.
    lowers: bool,
}

/// Cycles are instructions × the cycles between two of a warp ÷ warps: the factor that weighs most in the
/// direction of the time. Without counters of these, operations.
fn cause(step: &Step) -> Option<Cause> {
    let lowers = step.both(Side::seconds).map(|(before, now)| now < before)?;
    let weight = |(before, now): Pair| (now / before).ln();
    let factors = [
        step.both(Side::instructions).map(|pair| (weight(pair), instructions(pair))),
        step.both(Side::cycles_an_instruction)
            .and_then(|pair| Some((weight(pair), waits(step, pair)?))),
        step.both(|side| side.profile?.warps_per_sm).map(|pair| (-weight(pair), warps(pair))),
    ];
    let counted = factors.iter().flatten().count() > 0;
    let operations = step.both(|side| Some(side.profile?.flops_per_term()));
    let operations = operations.filter(|_| !counted);
    let operations =
        operations.map(|pair| (weight(pair), format!("from {}", amount(pair, "operations"))));
    let all = factors.into_iter().flatten().chain(operations);
    let that_way = all.filter(|(weight, _)| weight.abs() >= LEAST && (*weight < 0.0) == lowers);
    let (_, text) = that_way.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    Some(Cause { text, lowers })
}

pub fn instructions(pair: Pair) -> String {
    format!("from {}", amount(pair, "instructions"))
}

fn warps((before, now): Pair) -> String {
    let more = if now > before { "more" } else { "fewer" };
    format!("with {more} warps active ({before:.0} → {now:.0})")
}

/// The reason whose wait changed most, in cycles between two instructions of a warp.
fn waits(step: &Step, (before, now): Pair) -> Option<String> {
    let (old, new) = (&step.before.as_ref()?.profile?.stalls, &step.now.profile?.stalls);
    let is_wait = |reason: &&String| !ELIGIBLE.iter().any(|(name, _)| name == &reason.as_str());
    let cycles =
        |reason: &String| (old[reason] * before, new.get(reason).copied().unwrap_or(0.0) * now);
    let changes = old.keys().filter(is_wait).map(|reason| (reason, cycles(reason)));
    let that_way = changes.filter(|(_, (a, b))| (b < a) == (now < before));
    let by = |(a, b): Pair| (b - a).abs();
    let (reason, (a, b)) = that_way.max_by(|one, other| by(one.1).total_cmp(&by(other.1)))?;
    let less = if b < a { "less" } else { "more" };
    Some(format!(
        "as warps wait {less} for {} ({a:.1} → {b:.1} cycles an instruction)",
        meaning(reason)
    ))
}

fn bound(step: &Step) -> Option<String> {
    let own = &step.now;
    let bound = bound_verdict(own.profile?, step.ceilings?, own.measured);
    Some(bound.to_string())
}

/// Whether the step goes in the direction that was published.
fn published_step(step: &Step) -> Option<String> {
    let time = |side: &Side| published(side.id, step.system)?.time_s;
    let there = (time(step.before.as_ref()?)?, time(&step.now)?);
    let here = step.both(Side::seconds)?;
    let compared = if !differ(there) || stays(step, here) {
        ""
    } else if (here.1 < here.0) == (there.1 < there.0) {
        ", as here"
    } else {
        "; here it is the other way round"
    };
    Some(format!("Published, on a V100: {}{compared}.", amount(there, "time")))
}

/// Whether two numbers differ by so much that it is reported.
pub fn differ((before, now): Pair) -> bool {
    let ratio = now / before;
    ratio.is_finite() && ratio > 0.0 && (ratio - 1.0).abs() >= LEAST
}

/// How much less or more of something there is, in words.
pub fn amount((before, now): Pair, of: &str) -> String {
    let ratio = now / before;
    let counted = of.ends_with('s');
    let less = if counted { "fewer" } else { "less" };
    match ratio {
        _ if (0.475..=0.525).contains(&ratio) => {
            format!("half {} {of}", if counted { "as many" } else { "the" })
        }
        _ if ratio >= 1.95 => format!("{ratio:.1} times the {of}"),
        _ if ratio >= 1.0 => format!("{:.0} % more {of}", (ratio - 1.0) * 100.0),
        _ => format!("{:.0} % {less} {of}", (1.0 - ratio) * 100.0),
    }
}

// What bounds a version: how much of each unit of the device it uses, and what the clock lost. Shares are from the
// profiler's run, the clock is from the timed runs.

/// A unit used to this share or more bounds a version.
pub const BOUND: f64 = 0.8;

/// From this share on a version is near a limit; below, latency bounds it.
pub const NEAR: f64 = 0.6;

/// Losses of clock below this share are not reported.
const LEAST_LOSS: f64 = 0.01;

/// A unit of the device and the share of it that is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
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

/// What the power limit did to the clock in the timed runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Power {
    /// Share of the highest clock that was lost, from 0 to 1.
    pub lost: f64,
    /// Median clock of the multiprocessors in MHz.
    pub mhz: f64,
    pub limit_w: Option<f64>,
}

impl Power {
    /// Of a version, against the highest clock at which it ran; `None` if the power limit did not lower the clock.
    pub fn of(state: &State) -> Option<Power> {
        let by_power = |reason: &String| reason.to_lowercase().contains("power");
        state.held_back.iter().find(|(reason, share)| by_power(reason) && **share > 0.0)?;
        let mhz = state.sm_mhz?.median;
        let lost = 1.0 - mhz / state.highest_mhz?;
        let limit_w = state.power_limit_w;
        lost.is_finite().then_some(Power { lost: lost.max(0.0), mhz, limit_w })
    }

    /// Whether the loss is worth reporting.
    pub fn matters(&self) -> bool {
        self.lost >= LEAST_LOSS
    }
}

/// What bounds a version; shown as one to three sentences.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundVerdict {
    /// How much of `most` is used.
    pub band: Band,
    /// The unit that is used most, where one was counted.
    pub most: Option<Use>,
    /// The reason that warps wait for most and its share; eligible warps wait for nothing.
    pub stall: Option<(String, f64)>,
    /// What the power limit did to the clock.
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
        Level::L2 => "L2 bandwidth",
        Level::L1 => "L1 bandwidth",
        Level::Shared => "shared memory’s bandwidth",
    }
}

/// What bounds a version, by all units that are known; `measured` is of the version on the same system and
/// device.
pub fn bound_verdict(
    profile: &Profile,
    ceilings: &Ceilings,
    measured: Option<&Measurement>,
) -> BoundVerdict {
    let most = uses(profile, ceilings).first().copied();
    let power = measured.and_then(|measured| Power::of(measured.state.as_ref()?));
    BoundVerdict {
        band: Band::of(most.map_or(0.0, |most| most.share)),
        most,
        stall: profile.main_stall().map(|(why, share)| (why.into(), share)),
        power: power.filter(Power::matters),
    }
}

impl fmt::Display for BoundVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BoundVerdict { band, most, stall, power } = self;
        if let Some(Use { limit, share }) = most {
            let share = percent(*share);
            match band {
                Band::Bound => write!(f, "Bound by {limit}, which is busy at {share}.")?,
                Band::Near => write!(f, "The busiest unit is {limit}, at {share}.")?,
                Band::Latency => {
                    write!(f, "Latency-bound: the busiest unit is {limit}, at {share}.")?
                }
            }
        }
        if let Some((why, share)) = stall {
            write!(f, " Warps wait {} of the time for {}.", percent(*share), meaning(why))?;
        }
        match power {
            Some(Power { lost, limit_w: Some(limit), .. }) => {
                write!(f, " The {limit:.0} W power limit lowers the clock by {}.", percent(*lost))
            }
            Some(power) => {
                write!(f, " The power limit lowers the clock by {}.", percent(power.lost))
            }
            None => Ok(()),
        }
    }
}

pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

// Why warps wait: the profiler's reasons and what they mean.

pub const REASONS: [(&str, &str); 15] = [
    ("long_scoreboard", "loads from L1, L2 or memory"),
    ("wait", "a fixed-latency dependency"),
    ("math_pipe_throttle", "a busy math pipe"),
    ("short_scoreboard", "shared memory or a first approximation"),
    ("dispatch_stall", "the dispatcher"),
    ("branch_resolving", "the target of a branch"),
    ("barrier", "other warps of the block"),
    ("lg_throttle", "room in the queue to L1"),
    ("mio_throttle", "room in the queue to shared memory"),
    ("tex_throttle", "room in the queue to the texture unit"),
    ("imc_miss", "constant memory"),
    ("no_instruction", "the next instruction"),
    ("drain", "their last stores"),
    ("membar", "a memory barrier"),
    ("sleeping", "the end of a sleep"),
];

/// States of a warp that does not wait.
pub const ELIGIBLE: [(&str, &str); 2] =
    [("selected", "it issues"), ("not_selected", "it could issue, and another does")];

/// What a reason means; the profiler's own name where it is not known.
pub fn meaning(reason: &str) -> String {
    let known = REASONS.iter().chain(&ELIGIBLE).find(|(name, _)| *name == reason);
    known.map_or_else(|| reason.replace('_', " "), |(_, meaning)| (*meaning).into())
}
