//! Figures that are words: which version is the fastest, which ones meet the limit of power, whether a step is more
//! than noise.

use super::archive::{Archive, System};
use crate::analysis::noise::differs;
use crate::catalogue::BackEnd;
use crate::catalogue::names::versions;
use crate::error::FigureError;
use crate::record::run::Measurement;
use crate::record::state::State;
use crate::record::times::Verdict;

type Found<T> = std::result::Result<T, FigureError>;

/// A version that loses this part of its clock or more to the limit of power is bound by it.
const COSTS: f64 = 0.05;

/// A version that loses this part of its clock or more to the limit of power meets it.
pub const MEETS: f64 = 0.005;

/// The text of such a figure; `None` where it is no such one: `fastest paper`, `slowest v0-v8`, `capped paper,past`,
/// `uncapped …`, `by-power …`, `cap v13`, `step v6 v7`.
pub fn words(archive: &Archive, system: &str, name: &[&str]) -> Option<Found<String>> {
    let told = |of: &dyn Fn(&System) -> Found<String>| archive.system(system).and_then(of);
    Some(match *name {
        ["fastest", of] => told(&|system| extreme(system, of, 1.0)),
        ["slowest", of] => told(&|system| extreme(system, of, -1.0)),
        ["capped", of] => told(&|system| those(system, of, &|lost| lost >= MEETS)),
        ["uncapped", of] => told(&|system| those(system, of, &|lost| lost < MEETS)),
        ["by-power", of] => told(&|system| those(system, of, &|lost| lost >= COSTS)),
        ["cap", version] => told(&|system| Ok(cap(lost(system.result(version)?)?))),
        ["step", before, now] => told(&|system| step(system.result(before)?, system.result(now)?)),
        _ => return None,
    })
}

/// Ids by names of versions, ranges and journeys, those that the system's run has.
fn chosen(system: &System, of: &str) -> Found<Vec<&'static str>> {
    let none = |_| FigureError::NoName { what: "version", name: of.into(), of: "" };
    let all = versions(of, BackEnd::Gpu).map_err(none)?;
    let ids = all.iter().map(|listed| listed.id());
    let ids: Vec<&str> = ids.filter(|id| system.run.passed_result(id).is_some()).collect();
    if ids.is_empty() { Err(FigureError::missing("the run", of)) } else { Ok(ids) }
}

/// The version that takes least, or most.
fn extreme(system: &System, of: &str, sign: f64) -> Found<String> {
    let ids = chosen(system, of)?;
    let timed: Found<Vec<(f64, &str)>> =
        ids.iter().map(|id| Ok((sign * system.result(id)?.times.median, *id))).collect();
    let found = timed?.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
    found.map(|(_, id)| id.into()).ok_or_else(|| FigureError::missing("the run", of))
}

/// What the limit of power takes of a version's clock.
///
/// # Errors
/// Where its run does not tell.
pub fn lost(result: &Measurement) -> Found<f64> {
    let lost = result.state.as_ref().and_then(State::clock_lost);
    lost.ok_or_else(|| FigureError::missing(&result.version, "clock of its run"))
}

/// The versions whose loss is so.
fn those(system: &System, of: &str, is: &dyn Fn(f64) -> bool) -> Found<String> {
    let ids = chosen(system, of)?;
    let marks: Found<Vec<bool>> = ids.iter().map(|id| Ok(is(lost(system.result(id)?)?))).collect();
    Ok(listed(&ids, &marks?))
}

/// Marked names in words: `v0 to v8, v11 and v13`; `none` without any.
pub fn listed(names: &[impl AsRef<str>], marks: &[bool]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut at = 0;
    while at < names.len() {
        let length = marks[at..].iter().take_while(|mark| **mark).count();
        let of = &names[at..at + length];
        match of {
            [] => at += 1,
            [first, _, .., last] => parts.push(format!("{} to {}", first.as_ref(), last.as_ref())),
            few => parts.extend(few.iter().map(|name| name.as_ref().to_string())),
        }
        at += length;
    }
    match parts.split_last() {
        None => "none".into(),
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

fn cap(lost: f64) -> String {
    match lost {
        lost if lost >= MEETS => {
            let decimals = usize::from(lost < 0.02);
            format!("at its limit of power, for {:.decimals$} % of its clock", 100.0 * lost)
        }
        _ => "below its limit of power".into(),
    }
}

/// A step in words: what the time does, where that is more than noise.
fn step(before: &Measurement, now: &Measurement) -> Found<String> {
    let percent = 100.0 * (now.times.median / before.times.median - 1.0);
    Ok(match differs(&before.times, &now.times) {
        Some(Verdict::Noise) => "as much time, to within noise".into(),
        Some(Verdict::Differs) if percent.abs() < 0.5 => "as much time, to half a percent".into(),
        Some(Verdict::Differs) if percent < 0.0 => format!("{:.0} % less time", -percent),
        Some(Verdict::Differs) => format!("{percent:.0} % more time"),
        None => return Err(FigureError::missing(&now.version, "runs enough to tell noise")),
    })
}
