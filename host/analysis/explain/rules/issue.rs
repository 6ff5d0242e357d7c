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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::explain::made::{made, said};

    #[test]
    fn cycles_are_instructions_times_waits_over_warps() {
        let before = made(|_, _| {});
        // A fifth fewer cycles with warps as many: instructions 150·0.8·20·0.125 to 150·20·0.1.
        let now = made(|profile, _| {
            profile.cycles = Some(120e6);
            profile.stalls.insert("selected".into(), 0.125);
        });
        let says = said(issue, &before, &now).unwrap();
        assert!(says.starts_with("Cycles, −20 %, are instructions, +0.0 %, times what"), "{says}");
        assert!(
            says.contains("between two, −20 %, over the warps that are active, +0.0 %"),
            "{says}"
        );
        let back = said(issue, &now, &before).unwrap();
        assert!(back.starts_with("Cycles, +25 %") && back.contains("between two, +25 %"), "{back}");
        assert_eq!(said(issue, &before, &before), None);
        let older = made(|profile, _| profile.cycles = None);
        assert_eq!(said(issue, &before, &older), None);
    }

    #[test]
    fn the_wait_that_changed_most_is_named() {
        let before = made(|_, _| {});
        let now = made(|profile, _| {
            profile.stalls.insert("selected".into(), 0.2);
            profile.stalls.insert("long_scoreboard".into(), 0.2);
        });
        let says = said(waits, &before, &now).unwrap();
        assert_eq!(
            says,
            "A warp waits 5.0 cycles between two instructions, before 10.0; most of the change is \
             long scoreboard, 5.0 → 1.0."
        );
        let back = said(waits, &now, &before).unwrap();
        assert!(
            back.contains("before 5.0") && back.contains("long scoreboard, 1.0 → 5.0"),
            "{back}"
        );
        assert_eq!(said(waits, &before, &before), None);
        let older = made(|profile, _| profile.stalls.clear());
        assert_eq!(said(waits, &before, &older), None);
        assert_eq!(said(waits, &older, &before), None);
    }

    #[test]
    fn registers_and_warps_go_together() {
        let before = made(|_, _| {});
        let room = |registers, warps, local| {
            made(|_, measured| {
                measured.registers = Some(registers);
                measured.warps_per_sm = Some(warps);
                measured.local_bytes = Some(local);
            })
        };
        let says = |now| said(occupancy, &before, &now).unwrap();
        assert!(says(room(80, 20, 0)).ends_with("64 → 80 registers, and 24 → 20 warps fit."));
        assert!(says(room(60, 24, 0)).ends_with("64 → 60 registers, 24 warps fit as before."));
        assert!(says(room(64, 32, 8)).ends_with("24 → 32 warps fit; 0 → 8 bytes of local memory."));
        assert_eq!(said(occupancy, &before, &room(64, 24, 0)), None);
    }
}
