//! The verdict: one sentence of why the time changed, chosen by evidence, then what bounds the version and what
//! was published of the step. What the records do not tell is left out.

use serde::Serialize;

use super::step::{Side, Step};
use crate::analysis::bounds::{self, capital};
use crate::analysis::noise::differs;
use crate::analysis::stalls::{ELIGIBLE, meaning};
use crate::record::times::Verdict as Spread;

/// Changes below this share are no changes.
const TOLD: f64 = 0.02;

/// The logarithm of a ratio from which on bytes are named beside the clock: a quarter less, a third more.
const FAR: f64 = 0.28;

/// A sentence or two about a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// What it is about.
    pub rule: Rule,
    /// What it says.
    pub text: String,
}

/// What statements are about, in the order of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Why the time changed.
    Why,
    /// What bounds the version.
    Bound,
    /// What was published of the step.
    Published,
}

/// All that can be said of a step.
pub fn verdict(step: &Step) -> Vec<Statement> {
    let said =
        [(Rule::Why, why(step)), (Rule::Bound, bound(step)), (Rule::Published, published(step))];
    said.into_iter().filter_map(|(rule, text)| Some(Statement { rule, text: text? })).collect()
}

/// A quantity before and now.
pub type Pair = (f64, f64);

/// How the time changed, and why: cycles, the clock, and behind the cycles the evidence that weighs most.
fn why(step: &Step) -> Option<String> {
    let time = step.both(Side::seconds)?;
    if !(time.0 > 0.0 && time.1 > 0.0) {
        return None;
    }
    let cycles = step.both(Side::cycles).filter(|cycles| differ(*cycles));
    let clock = step.both(Side::clock_mhz).filter(|clock| differ(*clock));
    let is_cycles = cycles.is_some() || step.both(Side::cycles).is_none();
    let cause = cause(step).filter(|cause| is_cycles && cause.lowers == (time.1 < time.0));
    let told = Reasons {
        before: step.before.as_ref()?.id,
        time,
        stays: stays(step, time),
        cycles,
        clock: clock.map(|clock| (clock, clock_changed(step, clock))),
        cause: cause.map(|cause| cause.text),
    };
    Some(told.sentence())
}

/// What a sentence about a change of the time is made of.
pub struct Reasons<'a> {
    /// The version before.
    pub before: &'a str,
    /// The time.
    pub time: Pair,
    /// Whether the time stays.
    pub stays: bool,
    /// The cycles, where they changed.
    pub cycles: Option<Pair>,
    /// The clock, where it changed, and what is said of it.
    pub clock: Option<(Pair, String)>,
    /// What made the cycles change or, where these are not known, the time.
    pub cause: Option<String>,
}

impl Reasons<'_> {
    /// The sentence.
    pub fn sentence(self) -> String {
        let Reasons { before, time, stays, cycles, clock, cause } = self;
        if stays {
            let same = format!("As fast as {before}, to within noise");
            return match (cycles, clock) {
                (Some(cycles), Some((clock, _))) => format!(
                    "{same}: {} cancel {}.",
                    amount(cycles, "cycles"),
                    if clock.1 > clock.0 { "a higher clock" } else { "a lower clock" }
                ),
                _ => format!("{same}."),
            };
        }
        let mut parts: Vec<String> = match (cycles, cause) {
            (Some(cycles), Some(cause)) => vec![format!("{}, {cause}", amount(cycles, "cycles"))],
            (Some(cycles), None) => vec![amount(cycles, "cycles")],
            (None, cause) => cause.into_iter().collect(),
        };
        if let Some((clock, said)) = clock {
            // What weighs more comes first.
            let weight = |pair: Pair| (pair.1 / pair.0).ln().abs();
            let first = cycles.is_none_or(|cycles| weight(cycles) < weight(clock));
            parts.insert(if first { 0 } else { parts.len() }, said);
        }
        let time = amount(time, "time");
        if parts.is_empty() { format!("{time}.") } else { format!("{time}: {}.", parts.join("; ")) }
    }
}

/// Whether the time stays: within the noise, or by less than is a change.
fn stays(step: &Step, time: Pair) -> bool {
    let noise = || {
        let (before, now) = (step.before.as_ref()?.measured?, step.now.measured?);
        differs(&before.times, &now.times).map(|verdict| verdict == Spread::Noise)
    };
    noise() == Some(true) || !differ(time)
}

/// How the clock changed. At the power cap it follows what a calculation costs: the bytes from memory are named
/// where they went far the other way.
fn clock_changed(step: &Step, (before, now): Pair) -> String {
    let power = |side: &Side| step.power(side);
    let (old, new) = (step.before.as_ref().and_then(power), power(&step.now));
    let bytes = step.both(|side| Some(side.profile?.bytes.hbm)).filter(|_| old.or(new).is_some());
    let bytes = bytes.filter(|(a, b)| (b / a).ln().abs() >= FAR && (b < a) == (now > before));
    let bytes =
        bytes.map_or(String::new(), |pair| format!(" with {} from HBM", amount(pair, "bytes")));
    clock_said((before, now), new.and_then(|power| power.limit_w), &bytes)
}

/// How the clock changed, at which limit of power, with what.
pub fn clock_said((before, now): Pair, limit_w: Option<f64>, with: &str) -> String {
    let range = format!("({before:.0} → {now:.0} MHz){with}");
    match limit_w {
        Some(watts) if now < before => format!("the {watts:.0} W cap lowers the clock {range}"),
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
    let told =
        operations.map(|pair| (weight(pair), format!("from {}", amount(pair, "operations"))));
    let all = factors.into_iter().flatten().chain(told);
    let that_way = all.filter(|(weight, _)| weight.abs() >= TOLD && (*weight < 0.0) == lowers);
    let (_, text) = that_way.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
    Some(Cause { text, lowers })
}

/// Instructions as a cause.
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

/// What bounds the version.
fn bound(step: &Step) -> Option<String> {
    let own = &step.now;
    let bound = bounds::verdict(own.profile?, step.ceilings?, own.measured, step.highest_mhz);
    Some(bound.to_string())
}

/// Whether the step goes the way that was published.
fn published(step: &Step) -> Option<String> {
    let published = step.published.as_ref()?;
    let there = (published.before?.time_s?, published.now.time_s?);
    let here = step.both(Side::seconds)?;
    let way = if !differ(there) || stays(step, here) {
        ""
    } else if (here.1 < here.0) == (there.1 < there.0) {
        ", as here"
    } else {
        "; here it goes the other way"
    };
    Some(format!("{}: {}{way}.", capital(&published.by), amount(there, "time")))
}

/// Whether two numbers differ by so much that it is told.
pub fn differ((before, now): Pair) -> bool {
    let ratio = now / before;
    ratio.is_finite() && ratio > 0.0 && (ratio - 1.0).abs() >= TOLD
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

#[cfg(test)]
mod tests;
