//! Instructions, waits and warps: cycles are instructions × the cycles between two of a warp ÷ warps.

use super::{change, is_change};
use crate::analysis::explain::step::{Side, Step};

/// The three factors of the cycles.
pub fn issue(step: &Step) -> Option<String> {
    let cycles = step.both(|side| side.profile?.cycles)?;
    let instructions = step.both(Side::instructions)?;
    let wait = step.both(Side::cycles_an_instruction)?;
    let warps = step.both(|side| side.profile?.warps_per_sm)?;
    if ![cycles, instructions, wait, warps].iter().any(|(a, b)| is_change(b / a)) {
        return None;
    }
    Some(format!(
        "Cycles, {}, are instructions, {}, times what a warp waits between two, {}, over the warps \
         that are active, {}.",
        change(cycles),
        change(instructions),
        change(wait),
        change(warps)
    ))
}

/// The reason whose wait changed most, where a warp waits longer or shorter.
pub fn waits(step: &Step) -> Option<String> {
    let (before, now) = step.both(Side::cycles_an_instruction)?;
    let old = step.before.as_ref()?.profile?;
    let new = step.now.profile?;
    if !is_change(now / before) {
        return None;
    }
    let issues = ["selected", "not_selected"];
    let reasons = old.stalls.keys().filter(|reason| !issues.contains(&reason.as_str()));
    let cycles = |reason: &str| {
        let of = |all: &std::collections::BTreeMap<String, f64>| all.get(reason).copied();
        Some((of(&old.stalls)? * before, of(&new.stalls)? * now))
    };
    let that_way = |&(_, (a, b)): &(&str, (f64, f64))| (b < a) == (now < before);
    let by = |(a, b): (f64, f64)| (b - a).abs();
    let (reason, (a, b)) = reasons
        .filter_map(|reason| Some((reason.as_str(), cycles(reason)?)))
        .filter(that_way)
        .max_by(|one, other| by(one.1).total_cmp(&by(other.1)))?;
    Some(format!(
        "A warp waits {now:.1} cycles between two instructions, before {before:.1}; most of the \
         change is {}, {a:.1} → {b:.1}.",
        reason.replace('_', " ")
    ))
}

/// Registers and the warps that fit, and numbers in local memory.
pub fn occupancy(step: &Step) -> Option<String> {
    let fit = step.both(|side| side.measured?.warps_per_sm.map(f64::from));
    let registers = step.both(|side| side.registers().map(f64::from));
    let local = step.both(|side| side.measured?.local_bytes.map(f64::from));
    let differs = |pair: Option<(f64, f64)>| pair.filter(|(a, b)| a != b);
    let mut parts = Vec::new();
    match (differs(registers), differs(fit), fit) {
        (Some((a, b)), Some((c, d)), _) => {
            parts.push(format!("{a:.0} → {b:.0} registers, and {c:.0} → {d:.0} warps fit"));
        }
        (Some((a, b)), None, Some((c, _))) => {
            parts.push(format!("{a:.0} → {b:.0} registers, {c:.0} warps fit as before"));
        }
        (Some((a, b)), None, None) => parts.push(format!("{a:.0} → {b:.0} registers")),
        (None, Some((c, d)), _) => parts.push(format!("{c:.0} → {d:.0} warps fit")),
        (None, None, _) => {}
    }
    if let Some((a, b)) = differs(local) {
        parts.push(format!("{a:.0} → {b:.0} bytes of local memory"));
    }
    (!parts.is_empty()).then(|| format!("A thread takes other room: {}.", parts.join("; ")))
}
