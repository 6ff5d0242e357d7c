//! Why the time changed between versions: cycles over clock and, behind the cycles, the factor that changed most.

use super::{Side, meaning};
use crate::record::ELIGIBLE;
use crate::record::run::differ;

/// Changes below this share are not reported.
const LEAST: f64 = 0.02;

/// A number of the version before and of this one.
type Pair = (f64, f64);

type Step<'a> = [&'a Side<'a>; 2];

/// What is known of both and may be compared.
fn both<'a>([before, now]: Step<'a>, value: impl Fn(&'a Side<'a>) -> Option<f64>) -> Option<Pair> {
    value(before).zip(value(now)).filter(|pair| log(*pair).is_finite())
}

fn log((before, now): Pair) -> f64 {
    (now / before).ln()
}

fn changed(pair: &Pair) -> bool {
    (pair.1 / pair.0 - 1.0).abs() >= LEAST
}

/// A sentence, with the name of the version before; `None` if a time is not known.
pub fn why(name: &str, step: Step) -> Option<String> {
    let time = both(step, Side::seconds)?;
    let [before, now] = step.map(|side| side.measured);
    let significant = before.zip(now).and_then(|(a, b)| differ(&a.times, &b.times));
    if significant == Some(false) || !changed(&time) {
        return Some(format!("Not significantly different from {name}."));
    }
    let cause = cause(step, time.1 < time.0).map_or(String::new(), |cause| format!(", {cause}"));
    let cycles = both(step, |side| side.measured?.cycles());
    let clock = both(step, |side| side.measured?.sm_mhz());
    let mut parts: Vec<(Pair, String)> = Vec::new();
    parts.extend(cycles.map(|cycles| (cycles, amount(cycles, "cycles") + &cause)));
    parts.extend(clock.map(|clock| (clock, clock_change(step[1], clock))));
    parts.retain(|(pair, _)| changed(pair));
    parts.sort_by(|a, b| log(b.0).abs().total_cmp(&log(a.0).abs()));
    let texts: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
    let cause = if cycles.is_none() { &cause } else { "" };
    let colon = if texts.is_empty() { "" } else { ": " };
    Some(format!("{}{cause}{colon}{}.", amount(time, "time"), texts.join("; ")))
}

fn clock_change(now: &Side, (from, to): Pair) -> String {
    let state = now.measured.and_then(|measured| measured.clock_and_power.as_ref());
    let limit = state.filter(|state| state.is_at_power_limit()).and_then(|it| it.power_limit_w);
    let subject = match limit {
        Some(watts) if to < from => format!("the {watts:.0} W power limit lowers the clock"),
        _ if to < from => "the clock falls".into(),
        _ => "the clock rises".into(),
    };
    format!("{subject} ({from:.0} → {to:.0} MHz)")
}

/// Cycles are instructions × the cycles between two of a warp ÷ warps: the factor that changed most in the direction of
/// the time. Without counters of these, the operations.
fn cause(step: Step, lowers: bool) -> Option<String> {
    let from = |noun| move |pair| (log(pair), format!("from {}", amount(pair, noun)));
    let waits = |pair| Some((log(pair), stall_change(step, pair)?));
    let warps = |(before, now)| {
        let more = if now > before { "more" } else { "fewer" };
        (-log((before, now)), format!("with {more} warps active ({before:.0} → {now:.0})"))
    };
    let factors = [
        both(step, Side::instructions).map(from("instructions")),
        both(step, Side::cycles_per_instruction).and_then(waits),
        both(step, |side| side.profile?.warps_per_sm).map(warps),
    ];
    let mut factors: Vec<(f64, String)> = factors.into_iter().flatten().collect();
    if factors.is_empty() {
        let operations = both(step, |side| Some(side.profile?.flops_per_term()));
        factors.extend(operations.map(from("operations")));
    }
    factors.retain(|(log, _)| log.abs() >= LEAST && (*log < 0.0) == lowers);
    factors.into_iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs())).map(|(_, text)| text)
}

/// The stall that changed most, in cycles between two instructions of a warp.
fn stall_change(step: Step, (before, now): Pair) -> Option<String> {
    let [Some(old), Some(new)] = step.map(|side| Some(&side.profile?.stalls)) else { return None };
    let stalls = old.iter().filter(|(reason, _)| !ELIGIBLE.contains(&reason.as_str()));
    let cycles = stalls.map(|(reason, share)| {
        (reason, share * before, new.get(reason).copied().unwrap_or(0.0) * now)
    });
    let agreeing = cycles.filter(|(_, a, b)| (b < a) == (now < before));
    let (reason, a, b) = agreeing.max_by(|x, y| (x.2 - x.1).abs().total_cmp(&(y.2 - y.1).abs()))?;
    let less = if b < a { "less" } else { "more" };
    let reason = meaning(reason);
    Some(format!("as warps wait {less} for {reason} ({a:.1} → {b:.1} cycles an instruction)"))
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
