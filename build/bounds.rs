//! The launch bounds of each entry, as the registry states them.

use gpp_kernels::registry::{Body, Poles, VERSIONS};
use gpp_kernels::tiles::candidates::CANDIDATES;

/// The PTX with each entry's threads, and its register cap where it has one; a candidate is given its
/// cap when it is loaded.
pub fn add(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    let mut bounds = None;
    for line in ptx.lines() {
        text += line;
        text.push('\n');
        if let Some(entry) = line.strip_prefix(".visible .entry ") {
            bounds = of(entry.trim_end_matches('('));
        } else if line == ")" {
            text += &bounds.take().unwrap_or_default();
        }
    }
    text
}

fn of(symbol: &str) -> Option<String> {
    let has = |bodies: &[Body]| bodies.iter().any(|body| body.symbol == symbol);
    if let Some(candidate) = CANDIDATES.iter().find(|candidate| has(candidate.bodies)) {
        return Some(format!(".maxntid {}\n", candidate.shape.threads()));
    }
    let launch = VERSIONS
        .iter()
        .flat_map(|version| [Poles::Any, Poles::Real].map(|poles| version.of(poles)))
        .find(|launch| has(launch.bodies))?;
    let body = launch.bodies.iter().find(|body| body.symbol == symbol)?;
    let mut bounds = format!(".maxntid {}\n", launch.threads);
    if let Some(registers) = body.max_registers.or(launch.max_registers) {
        bounds += &format!(".maxnreg {registers}\n");
    }
    Some(bounds)
}
