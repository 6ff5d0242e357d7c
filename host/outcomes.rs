//! What was found: outcomes, the fastest versions, speed-ups.

use crate::catalogue::{JOURNEYS, journey_of, order};
use crate::explain::verdict::Power;
use crate::record::run::{Measurement, Run, State, Verdict};
use crate::reference::Source;
use crate::reference::verify::{Outcome, RelativeTo, Undecided, Verification};
use crate::table::{Row, Section};

// How runs came out, in words.

pub fn words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Incorrect => "incorrect",
        Outcome::NotVerified => "not verified",
        Outcome::Nondeterministic => "nondeterministic",
    }
}

pub fn reference(source: Option<Source>) -> &'static str {
    match source {
        Some(Source::File) => "the sums stored in the input file",
        Some(Source::Golden) => "golden sums of this system and seed",
        Some(Source::Serial) => "every term evaluated now, on the host",
        Some(Source::Device) => "the definition on the same device",
        None => "none",
    }
}

/// What to say of a version that did not pass.
pub fn failure(result: &Measurement) -> Option<String> {
    let verification = &result.verification;
    let version = &result.version;
    match verification.outcome {
        Outcome::Passed => None,
        Outcome::NotVerified => Some(format!(
            "{version}: not verified: there was nothing to compare with, no stored reference and too many \
             terms to evaluate one, or none was asked for"
        )),
        Outcome::Nondeterministic => {
            Some(format!("{version}: nondeterministic: repeated runs gave different bits"))
        }
        Outcome::Incorrect => {
            let worst = verification.worst.as_ref().map(|(name, value, expected)| {
                format!("{name} = {value:e}, the reference has {expected:e}")
            });
            Some(format!(
                "{version}: incorrect: {} (tolerance {:.1e} of {}{})",
                worst.unwrap_or_default(),
                verification.tolerance,
                match verification.relative_to {
                    RelativeTo::Sum => "it",
                    RelativeTo::Terms => "the sum of all terms' sizes",
                },
                verification.undecided.map_or(String::new(), |of| format!("; {}", undecided(of)))
            ))
        }
    }
}

/// How much rounding decides, in words.
pub fn undecided(Undecided { of_terms, of_sum }: Undecided) -> String {
    let share = match 100.0 * of_terms {
        percent if percent >= 0.1 => format!("{percent:.1} %"),
        _ => format!("{of_terms:.1e}"),
    };
    let by = of_sum.map_or(String::new(), |of_sum| format!(" by {of_sum:.1e} of themselves"));
    format!("rounding decides {share} of Σ|terms|: sums may differ{by}")
}

/// What a comparison that passed leaves open: nothing, or words to put after the outcome.
pub fn reservations(of: &Verification) -> String {
    if of.outcome != Outcome::Passed {
        return String::new();
    }
    let undecided = of.undecided.map(|of| format!(", but {}", undecided(of)));
    let real_parts = of.real_parts.then_some(REAL_PARTS);
    undecided.unwrap_or_default() + real_parts.unwrap_or_default()
}

const REAL_PARTS: &str = "; real parts compared: the stored sums have no imaginary parts";

/// The [reservations] of some results, each with its versions.
pub fn all_reservations(results: &[Measurement]) -> Vec<(String, Vec<&str>)> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for result in results {
        let said = reservations(&result.verification);
        match all.iter_mut().find(|(known, _)| *known == said) {
            Some((_, versions)) => versions.push(&result.version),
            None if said.is_empty() => (),
            None => all.push((said, vec![&result.version])),
        }
    }
    all
}

/// The reference mini-app's own criterion, where a file's sums are judged: it is absolute, 1e-12.
#[derive(Clone, Debug, PartialEq)]
pub struct MiniApp<'a> {
    pub holds: bool,
    pub passed: bool,
    pub versions: Vec<&'a str>,
    /// The criterion over the largest sum.
    pub relative: f64,
}

/// Which of these results the reference mini-app would accept, and which not: first those that passed.
pub fn mini_app(results: &[Measurement]) -> Vec<MiniApp<'_>> {
    let said = |(holds, passed): (bool, bool)| {
        let judged = |r: &&Measurement| {
            r.passed() == passed && r.verification.reference_app_accepts == Some(holds)
        };
        let of: Vec<&Measurement> = results.iter().filter(judged).collect();
        let first = of.first()?;
        let all = first.sums.asx.iter().chain(&first.sums.ach);
        let largest = all.map(|z| z.norm()).fold(0.0, f64::max);
        let versions = of.iter().map(|result| result.version.as_str()).collect();
        Some(MiniApp { holds, passed, versions, relative: 1e-12 / largest })
    };
    [(true, true), (false, true), (true, false), (false, false)]
        .into_iter()
        .filter_map(said)
        .collect()
}

/// What the limit of power took of the clock, in percent, and what else held it back: `None` where nobody tells.
pub fn clock_lost(state: &State) -> Option<String> {
    let percent = 100.0 * state.clock_lost()?;
    let decimals = usize::from(percent > 0.0 && percent < 2.0);
    let others = state.held_back.keys().filter(|reason| !reason.to_lowercase().contains("power"));
    let others: String = others.map(|reason| format!(", {reason}")).collect();
    Some(format!("{percent:.decimals$} %{others}"))
}

/// A warning of times that stand apart.
pub fn outliers(result: &Measurement) -> Option<String> {
    let times = &result.times;
    (times.outliers() > 0).then(|| {
        format!(
            "outliers: {} of {}, {:.3}–{:.3} ms; device shared?",
            times.outliers(),
            times.samples.len(),
            times.min * 1e3,
            times.max * 1e3,
        )
    })
}

// What was found: the few sentences that a run comes down to.

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
    let states = run.results.iter().filter_map(|result| result.state.as_ref());
    let highest = states.filter_map(|state| state.highest_mhz).reduce(f64::max)?;
    let lost = |row: &Row| {
        let power = Power::of(run.passed_result(&row.version)?.state.as_ref()?)?;
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

// How much faster versions are than the one that their journey begins with.

/// The results by the journey that their versions are told in, with what goes on from it, in the order
/// in which these begin. A version that an archived record has and the program has no longer is told with the one
/// before it, or with the paper's.
pub fn by_story(results: &[Measurement]) -> Vec<(&'static str, Vec<Measurement>)> {
    let mut stories: Vec<(&'static str, Vec<Measurement>)> = Vec::new();
    for result in results {
        let before = stories.last().map_or(JOURNEYS[0].id, |(story, _)| story);
        let id = order::story(&result.version).map_or(before, |story| story.id);
        match stories.iter_mut().find(|(story, _)| *story == id) {
            Some((_, told)) => told.push(result.clone()),
            None => stories.push((id, vec![result.clone()])),
        }
    }
    stories
}

/// What speed-ups are over: the first version of the journey of the first result.
pub fn baseline(first: Option<&str>) -> &'static str {
    let of_none = || order::all().first().copied().unwrap_or_default();
    first.and_then(order::baseline).unwrap_or_else(of_none)
}

/// The baseline and its time over that of each result, where the baseline ran and passed, and another version
/// beside it.
pub fn over_baseline(results: &[Measurement]) -> (&'static str, Vec<Option<f64>>) {
    let id = baseline(results.first().map(|result| result.version.as_str()));
    let is_alone = results.iter().all(|result| result.version == id);
    let ran = results.iter().find(|result| result.version == id && result.passed() && !is_alone);
    let over = |result: &Measurement| Some(ran?.times.median / result.times.median);
    (id, results.iter().map(over).collect())
}
