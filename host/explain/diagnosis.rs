//! Why the time changed from one version to another, and what bounds a version.

use serde::Serialize;

use crate::profile::ncu::STALLS;
use crate::record::run::{self, Measurement};
use crate::record::{Ceilings, ELIGIBLE, LEVELS, MemoryLevel, Profile};

#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub id: &'a str,
    /// Its result in the run, if it passed and was not emulated.
    pub measured: Option<&'a Measurement>,
    pub profile: Option<&'a Profile>,
    pub over_baseline: Option<f64>,
}

impl Side<'_> {
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
    pub fn cycles_per_instruction(&self) -> Option<f64> {
        let issuing = *self.profile?.stalls.get("selected")?;
        (issuing > 0.0).then(|| issuing.recip())
    }

    /// Instructions of all warps of an SM: its cycles × active warps ÷ cycles between two instructions of a warp.
    pub fn instructions(&self) -> Option<f64> {
        let profile = self.profile?;
        Some(profile.cycles? * profile.warps_per_sm? / self.cycles_per_instruction()?)
    }

    pub fn flops_per_s(&self) -> Option<f64> {
        let profile = self.profile?;
        Some(profile.flops() / self.seconds().unwrap_or(profile.duration_s))
    }
}

pub struct Step<'a> {
    pub before: Option<Side<'a>>,
    pub now: Side<'a>,
    pub ceilings: Option<&'a Ceilings>,
    pub system: &'a str,
    pub device: &'a str,
}

type Pair = (f64, f64);

impl<'a> Step<'a> {
    fn both(&self, value: impl Fn(&Side<'a>) -> Option<f64>) -> Option<Pair> {
        value(self.before.as_ref()?).zip(value(&self.now))
    }
}

/// A sentence or two about each of these; null if the records do not suffice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    pub why: Option<String>,
    pub bound: Option<String>,
}

impl Diagnosis {
    pub fn for_step(step: &Step) -> Diagnosis {
        let Side { profile, measured, .. } = step.now;
        let known = profile.zip(step.ceilings);
        Diagnosis {
            why: why(step),
            bound: known.map(|(profile, ceilings)| bound(profile, ceilings, measured)),
        }
    }

    pub fn texts(&self) -> impl Iterator<Item = &String> {
        [&self.why, &self.bound].into_iter().flatten()
    }
}

// Why the time changed: cycles over clock and, behind the cycles, the factor that changed most.

/// Changes below this share are not reported.
const LEAST: f64 = 0.02;

fn why(step: &Step) -> Option<String> {
    let time = step.both(Side::seconds).filter(|time| time.0 > 0.0 && time.1 > 0.0)?;
    let cycles = step.both(Side::cycles).filter(|cycles| differ(*cycles));
    let clock = step.both(Side::clock_mhz).filter(|clock| differ(*clock));
    if is_same(step, time) {
        let same = format!("Not significantly different from {}", step.before.as_ref()?.id);
        return Some(format!("{same}."));
    }
    let size = |(before, now): Pair| (now / before).ln().abs();
    let mut text = amount(time, "time");
    let mut parts: Vec<(f64, String)> = Vec::new();
    let cause = cause(step, time.1 < time.0).map(|cause| format!(", {cause}")).unwrap_or_default();
    match cycles {
        Some(cycles) => parts.push((size(cycles), amount(cycles, "cycles") + &cause)),
        None if step.both(Side::cycles).is_none() => text += &cause,
        None => {}
    }
    parts.extend(clock.map(|clock| (size(clock), clock_change(step, clock))));
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    let texts: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
    let colon = if texts.is_empty() { "" } else { ": " };
    Some(format!("{text}{colon}{}.", texts.join("; ")))
}

fn is_same(step: &Step, time: Pair) -> bool {
    let before = step.before.and_then(|before| before.measured);
    let significant =
        before.zip(step.now.measured).and_then(|(a, b)| run::differ(&a.times, &b.times));
    significant == Some(false) || !differ(time)
}

fn clock_change(step: &Step, (before, now): Pair) -> String {
    let gpu = step.now.measured.and_then(|measured| measured.clock_and_power.as_ref());
    let limit = gpu.filter(|gpu| gpu.is_at_power_limit()).and_then(|gpu| gpu.power_limit_w);
    let subject = match limit {
        Some(watts) if now < before => format!("the {watts:.0} W power limit lowers the clock"),
        _ if now < before => "the clock falls".into(),
        _ => "the clock rises".into(),
    };
    format!("{subject} ({before:.0} → {now:.0} MHz)")
}

/// Cycles are instructions × the cycles between two of a warp ÷ warps: the factor that changed most in the direction of
/// the time. Without counters of these, the operations.
fn cause(step: &Step, lowers: bool) -> Option<String> {
    let log = |(before, now): Pair| (now / before).ln();
    let factors = [
        step.both(Side::instructions)
            .map(|pair| (log(pair), format!("from {}", amount(pair, "instructions")))),
        step.both(Side::cycles_per_instruction)
            .and_then(|pair| Some((log(pair), stall_change(step, pair)?))),
        step.both(|side| side.profile?.warps_per_sm).map(|(before, now)| {
            let more = if now > before { "more" } else { "fewer" };
            let text = format!("with {more} warps active ({before:.0} → {now:.0})");
            (-log((before, now)), text)
        }),
    ];
    let operations = step.both(|side| Some(side.profile?.flops_per_term()));
    let operations = operations.filter(|_| factors.iter().all(Option::is_none));
    let operations =
        operations.map(|pair| (log(pair), format!("from {}", amount(pair, "operations"))));
    let causes = factors.into_iter().flatten().chain(operations);
    let agreeing = causes.filter(|(log, _)| log.abs() >= LEAST && (*log < 0.0) == lowers);
    agreeing.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs())).map(|(_, text)| text)
}

/// The stall that changed most, in cycles between two instructions of a warp.
fn stall_change(step: &Step, (before, now): Pair) -> Option<String> {
    let (old, new) = (&step.before.as_ref()?.profile?.stalls, &step.now.profile?.stalls);
    let stalls = old.iter().filter(|(reason, _)| !ELIGIBLE.contains(&reason.as_str()));
    let cycles = stalls.map(|(reason, share)| {
        (reason, share * before, new.get(reason).copied().unwrap_or(0.0) * now)
    });
    let agreeing = cycles.filter(|(_, a, b)| (b < a) == (now < before));
    let (reason, a, b) = agreeing
        .max_by(|one, other| (one.2 - one.1).abs().total_cmp(&(other.2 - other.1).abs()))?;
    let less = if b < a { "less" } else { "more" };
    let reason = meaning(reason);
    Some(format!("as warps wait {less} for {reason} ({a:.1} → {b:.1} cycles an instruction)"))
}

fn differ((before, now): Pair) -> bool {
    let ratio = now / before;
    ratio.is_finite() && ratio > 0.0 && (ratio - 1.0).abs() >= LEAST
}

fn amount((before, now): Pair, noun: &str) -> String {
    let ratio = now / before;
    let (half, less) = if noun.ends_with('s') { ("as many", "fewer") } else { ("the", "less") };
    match ratio {
        _ if (0.475..=0.525).contains(&ratio) => format!("half {half} {noun}"),
        _ if ratio >= 1.95 => format!("{ratio:.1} times the {noun}"),
        _ if ratio >= 1.0 => format!("{:.0} % more {noun}", (ratio - 1.0) * 100.0),
        _ => format!("{:.0} % {less} {noun}", (1.0 - ratio) * 100.0),
    }
}

// What bounds a version. Shares of units are from the profiler's run, the clock is from the timed runs.

/// A unit that is busy at this share or more bounds a version.
const BOUND: f64 = 0.8;

/// Below this share no unit is near its limit: latency bounds the version.
const NEAR: f64 = 0.6;

/// Losses of clock below this share are not reported.
const LEAST_LOSS: f64 = 0.01;

/// The busiest unit, the leading stall, and what the power limit took of the clock.
pub fn bound(profile: &Profile, ceilings: &Ceilings, measured: Option<&Measurement>) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut sentences = Vec::new();
    if let Some(&(unit, share)) = uses(profile, ceilings).first() {
        let busy = percent(share);
        sentences.push(match share {
            _ if share >= BOUND => format!("Bound by {unit}, which is busy at {busy}."),
            _ if share >= NEAR => format!("The busiest unit is {unit}, at {busy}."),
            _ => format!("Latency-bound: the busiest unit is {unit}, at {busy}."),
        });
    }
    if let Some((reason, share)) = profile.main_stall() {
        let share = percent(share);
        sentences.push(format!("Warps wait {share} of the time for {}.", meaning(reason)));
    }
    let state = measured.and_then(|measured| measured.clock_and_power.as_ref());
    if let Some(state) = state.filter(|state| state.is_at_power_limit())
        && let Some(lost) = state.clock_lost().filter(|lost| *lost >= LEAST_LOSS)
    {
        let watts = state.power_limit_w.map_or(String::new(), |watts| format!("{watts:.0} W "));
        sentences.push(format!("The {watts}power limit lowers the clock by {}.", percent(lost)));
    }
    sentences.join(" ")
}

/// Shares of the units that a version uses, the largest first: bandwidths by the ceilings, the others as counted.
pub fn uses(profile: &Profile, ceilings: &Ceilings) -> Vec<(&'static str, f64)> {
    let bandwidths = LEVELS.into_iter().filter_map(|level| {
        let rate = level.bytes(profile)? / profile.duration_s;
        let name = match level {
            MemoryLevel::Hbm => "HBM bandwidth",
            MemoryLevel::L2 => "L2 bandwidth",
            MemoryLevel::L1 => "L1 bandwidth",
            MemoryLevel::Shared => "shared memory’s bandwidth",
        };
        Some((name, rate / level.bandwidth(ceilings)?))
    });
    let pipes = [
        ("instruction issue", profile.pipes_percent.get("issue slots").copied()),
        ("the ALU pipe", profile.pipes_percent.get("ALU").copied()),
        ("the MUFU pipe", profile.pipes_percent.get("MUFU").copied()),
        ("the load/store pipe", profile.pipes_percent.get("load/store").copied()),
        ("the FP64 pipe", profile.fp64_pipe_percent),
    ];
    let pipes = pipes.into_iter().filter_map(|(name, busy)| Some((name, busy? / 100.0)));
    // A record without a duration or a ceiling has no share.
    let mut uses: Vec<_> = bandwidths.chain(pipes).filter(|(_, share)| share.is_finite()).collect();
    uses.sort_by(|a, b| b.1.total_cmp(&a.1));
    uses
}

/// What a reason means; the profiler's own name if it is not known.
fn meaning(reason: &str) -> String {
    let known = STALLS.iter().find(|(name, _)| *name == reason);
    known.map_or_else(|| reason.replace('_', " "), |(_, meaning)| (*meaning).into())
}
