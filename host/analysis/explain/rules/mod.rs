//! The rules that a verdict is composed of: each looks at a step and says a sentence or two, or nothing
//! where the records do not tell.

mod cause;
mod issue;
mod others;
mod time;

use serde::Serialize;

use super::step::Step;

/// Changes below this share are no changes.
const TOLD: f64 = 0.02;

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statement {
    /// Which rule.
    pub rule: Rule,
    /// What it says.
    pub text: String,
}

/// What statements are about, in the order of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// How the time changed, and whether that is more than the noise.
    Time,
    /// What of it is cycles and what the clock.
    Clock,
    /// Which limit's work changed, and whether that fits.
    Cause,
    /// Instructions, what a warp waits between two of them, and warps.
    Issue,
    /// What warps wait for.
    Waits,
    /// Registers, and the warps that fit.
    Occupancy,
    /// Energy and power.
    Energy,
    /// What bounds the version.
    Bound,
    /// What was published of the step.
    Published,
}

type Says = fn(&Step) -> Option<String>;

const RULES: [(Rule, Says); 9] = [
    (Rule::Time, time::time),
    (Rule::Clock, time::clock),
    (Rule::Cause, cause::cause),
    (Rule::Issue, issue::issue),
    (Rule::Waits, issue::waits),
    (Rule::Occupancy, issue::occupancy),
    (Rule::Energy, others::energy),
    (Rule::Bound, others::bound),
    (Rule::Published, others::published),
];

/// All that can be said of a step.
pub fn verdict(step: &Step) -> Vec<Statement> {
    let said = |&(rule, says): &(Rule, Says)| Some(Statement { rule, text: says(step)? });
    RULES.iter().filter_map(said).collect()
}

/// `now / before` as a change in percent, or as a factor of two and more.
fn change((before, now): (f64, f64)) -> String {
    let ratio = now / before;
    match ratio {
        _ if ratio >= 2.0 => format!("× {ratio:.1}"),
        _ if (ratio - 1.0).abs() < 0.0995 => {
            format!("{:+.1} %", (ratio - 1.0) * 100.0).replace('-', "−")
        }
        _ => format!("{:+.0} %", (ratio - 1.0) * 100.0).replace('-', "−"),
    }
}

/// Whether a ratio is a change at all; not of what is no number.
fn is_change(ratio: f64) -> bool {
    ratio.is_finite() && ratio > 0.0 && (ratio - 1.0).abs() >= TOLD
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
