//! What changed in the counters from one version to another.

use super::levels::LEVELS;
use super::roofline::Timing;
use crate::catalogue::order;
use crate::record::profile::Profile;

/// Changes below this share are not told.
const TOLD: f64 = 0.02;

/// What changed from the nearest earlier version with a profile, in a sentence. It names that version where
/// the profiled one does not build on it directly. `None` for the first.
pub fn changed_before(profile: &Profile, profiles: &[Profile]) -> Option<String> {
    let id = order::nearest_before(&profile.version, profiles.iter().map(|p| p.version.as_str()))?;
    let before = profiles.iter().find(|other| other.version == id)?;
    let changed = changed(before, profile);
    if order::before(&profile.version) == Some(id) {
        Some(changed)
    } else {
        Some(format!("from {id}: {changed}"))
    }
}

/// What changed from one profile to another, in a sentence. Times are by one clock, cycles the
/// profiler's, bytes those of levels that both know.
pub fn changed(before: &Profile, now: &Profile) -> String {
    let timing = Timing::of([before, now]);
    let own = [
        ("time", Some((timing.seconds(before), timing.seconds(now)))),
        ("cycles", before.cycles.zip(now.cycles)),
        ("operations", Some((before.flops(), now.flops()))),
    ];
    let bytes =
        LEVELS.into_iter().map(|level| (level.name(), level.bytes(before).zip(level.bytes(now))));
    let own = own.into_iter().map(|(what, values)| (what.to_string(), values));
    let bytes = bytes.map(|(level, values)| (format!("{level} bytes"), values));
    let mut parts: Vec<String> = own
        .chain(bytes)
        .filter_map(|(what, values)| {
            let (before, now) = values?;
            Some(format!("{what} {}", change(before, now)?))
        })
        .collect();
    if let (Some(a), Some(b)) = (before.registers, now.registers)
        && a != b
    {
        parts.push(format!("registers {a} → {b}"));
    }
    if let (Some(a), Some(b)) = (before.warps_per_sm, now.warps_per_sm)
        && (a - b).abs() >= 0.5
    {
        parts.push(format!("warps {a:.0} → {b:.0}"));
    }
    if parts.is_empty() { "nothing by 2 % or more".into() } else { parts.join(", ") }
}

/// A change that is worth telling, in percent, or as a factor where there are many.
fn change(before: f64, now: f64) -> Option<String> {
    let ratio = now / before;
    if before == 0.0 {
        (now > 0.0).then(|| "from none".into())
    } else if ratio >= 10.0 {
        Some(format!("× {ratio:.0}"))
    } else {
        ((ratio - 1.0).abs() >= TOLD).then(|| format!("{:+.0} %", (ratio - 1.0) * 100.0))
    }
}
