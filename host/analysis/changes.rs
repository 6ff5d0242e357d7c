//! What changed in the counters from one version to another.

use crate::catalogue::order;
use crate::record::profile::{Bytes, Profile};

/// Changes below this share are not told.
const TOLD: f64 = 0.02;

/// What changed from the nearest version before that has a profile, in a sentence that names it where
/// it is not the one that the version builds on; `None` for the first.
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

/// What changed from one profile to another, in a sentence.
pub fn changed(before: &Profile, now: &Profile) -> String {
    let ratio = |a: f64, b: f64| b / a - 1.0;
    let moved = |level: fn(&Bytes) -> Option<f64>| {
        let (before, now) = (level(&before.bytes)?, level(&now.bytes)?);
        Some(ratio(before, now))
    };
    let mut parts = Vec::new();
    for (what, change) in [
        ("time", Some(ratio(before.seconds(), now.seconds()))),
        ("operations", Some(ratio(before.flops(), now.flops()))),
        ("HBM bytes", moved(|bytes| Some(bytes.hbm))),
        ("L2 bytes", moved(|bytes| bytes.l2)),
        ("L1 bytes", moved(|bytes| bytes.l1)),
    ] {
        if let Some(change) = change.filter(|change| change.abs() >= TOLD) {
            parts.push(format!("{what} {:+.0} %", change * 100.0));
        }
    }
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
