//! What was found: the few sentences that a run comes down to.

use super::bounds::{Power, highest_mhz};
use super::table1::{Row, Section};
use crate::catalogue::journey_of;
use crate::record::run::Run;
use crate::record::times::Verdict;

/// A loss of clock from this share on is told.
const TOLD: f64 = 0.01;

/// What a section of a run comes down to, a sentence or two each; without what the records do not tell.
pub fn found(run: &Run, section: &Section) -> Vec<String> {
    let Some(fastest) = fastest(&section.rows) else { return Vec::new() };
    let said = [Some(speed(section, fastest)), steps(section), power(run, section, fastest)];
    said.into_iter().flatten().collect()
}

fn fastest<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Option<&'a Row> {
    rows.into_iter().min_by(|a, b| a.time_s.total_cmp(&b.time_s))
}

/// The fastest version, the energy that it takes, and the fastest of the paper's own.
fn speed(section: &Section, fastest: &Row) -> String {
    let ms = |row: &Row| format!("{:.1} ms", row.time_s * 1e3);
    let base = section.rows.iter().find(|row| row.version == section.baseline);
    let mut text = format!("{} is the fastest version: {}", fastest.version, ms(fastest));
    if let (Some(base), Some(over)) = (base, fastest.over_baseline) {
        text += &format!(", {over:.1} times as fast as {} ({})", base.version, ms(base));
        if let Some((first, own)) = base.energy_j.zip(fastest.energy_j) {
            text += &format!(", with {own:.0} J instead of {first:.0}");
        }
    }
    text + "."
}

/// Whether a row is of the paper's own journey.
fn of_paper(row: &&Row) -> bool {
    journey_of(&row.version).is_some_and(|journey| journey.id == "paper")
}

/// Which of the paper's steps do not carry over, and which of its versions is the fastest here and there.
fn steps(section: &Section) -> Option<String> {
    let rows: Vec<&Row> = section.rows.iter().filter(of_paper).collect();
    let there = rows.iter().filter(|row| row.paper_time_s.is_some());
    let seconds = |row: &Row| row.paper_time_s.unwrap_or(f64::INFINITY);
    let there = there.min_by(|a, b| seconds(a).total_cmp(&seconds(b)))?;
    let here = fastest(rows.iter().copied())?;
    let is_noise = |row: &Row| row.step == Some(Verdict::Noise);
    // A step, and whether its version is slower than the one before.
    let pairs = rows.windows(2).map(|pair| (pair[1], pair[1].time_s > pair[0].time_s));
    let id = |row: &Row| row.version.clone();
    let (mut slower, mut faster, mut none) = (Vec::new(), Vec::new(), Vec::new());
    for (row, is_slower) in pairs {
        match () {
            () if is_noise(row) => none.push(id(row)),
            () if row.order_differs && is_slower => slower.push(id(row)),
            () if row.order_differs => faster.push(id(row)),
            () => {}
        }
    }
    let mut parts = Vec::new();
    if !slower.is_empty() {
        let gained = verb(&slower, "gained on its V100 and loses", "gained on its V100 and lose");
        parts.push(format!("{gained} here"));
    }
    if !faster.is_empty() {
        parts.push(format!("{} here, not there", verb(&faster, "gains", "gain")));
    }
    if !none.is_empty() {
        parts.push(format!("{} within noise", verb(&none, "stays", "stay")));
    }
    let steps = rows.len().saturating_sub(1);
    let first = if parts.is_empty() {
        format!("All {steps} steps of the paper go the way that they went on its V100")
    } else {
        format!("Not all of the paper’s {steps} steps carry over: {}", parts.join("; "))
    };
    let leads = if here.version == there.version { " too" } else { "" };
    Some(format!(
        "{first}. Of the paper’s versions {} is the fastest here, {} on the V100{leads}.",
        here.version, there.version
    ))
}

fn verb(names: &[String], one: &str, many: &str) -> String {
    match names {
        [name] => format!("{name} {one}"),
        [most @ .., last] => format!("{} and {last} {many}", most.join(", ")),
        [] => String::new(),
    }
}

/// What the power cap costs: most, and the fastest version.
fn power(run: &Run, section: &Section, fastest: &Row) -> Option<String> {
    let highest = highest_mhz(run)?;
    let lost = |row: &Row| {
        let power = Power::of(run.passed_result(&row.version)?, highest)?;
        (power.lost >= TOLD).then_some(power)
    };
    let all: Vec<(&Row, Power)> =
        section.rows.iter().filter_map(|row| Some((row, lost(row)?))).collect();
    let Some((most, power)) = all.iter().max_by(|a, b| a.1.lost.total_cmp(&b.1.lost)) else {
        return Some(format!(
            "No version loses clock to the power cap: all run near {highest:.0} MHz."
        ));
    };
    let watts = power.limit_w.map_or("power".to_string(), |watts| format!("{watts:.0} W"));
    let percent = |power: &Power| format!("{:.0} %", 100.0 * power.lost);
    let own = match lost(fastest) {
        Some(_) if fastest.version == most.version => String::new(),
        Some(own) => format!(", {}’s by {}", fastest.version, percent(&own)),
        None => format!(", {}’s by less", fastest.version),
    };
    Some(format!(
        "The board’s {watts} cap lowers the clock of {} of {} versions by 1 % or more: {}’s by {}{own}.",
        all.len(),
        section.rows.len(),
        most.version,
        percent(power)
    ))
}
