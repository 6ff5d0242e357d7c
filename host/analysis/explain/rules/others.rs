//! Energy, what bounds a version, and what was published of the step.

use super::time::is_noise;
use super::{change, is_change};
use crate::analysis::bounds;
use crate::analysis::explain::step::{Side, Step};

/// The energy of a calculation, and the power behind it.
pub fn energy(step: &Step) -> Option<String> {
    let of = |side: &Side| side.measured?.energy_j;
    let now = of(&step.now)?;
    let watts = |side: &Side| side.watts().map(|watts| format!(" at {watts:.0} W"));
    let at = watts(&step.now).unwrap_or_default();
    let digits = crate::analysis::explain::digits;
    Some(match step.both(of) {
        Some((before, _)) => {
            let from = step.before.as_ref().and_then(watts).unwrap_or_default();
            format!(
                "A calculation takes {} J{at}, before {} J{from}: {}.",
                digits(now),
                digits(before),
                change((before, now))
            )
        }
        None => format!("A calculation takes {} J{at}.", digits(now)),
    })
}

/// What bounds the version.
pub fn bound(step: &Step) -> Option<String> {
    let bound = bounds::verdict(step.now.profile?, step.ceilings?, step.now.measured);
    Some(format!("{} is {bound}.", step.now.id))
}

/// Whether the step goes the way that was published.
pub fn published(step: &Step) -> Option<String> {
    let published = step.published.as_ref()?;
    let there = (published.before?.time_s?, published.now.time_s?);
    let here = step.both(Side::seconds)?;
    let (ratio, published_ratio) = (here.1 / here.0, there.1 / there.0);
    let way = if is_noise(step) == Some(true) || !is_change(ratio) {
        "here it makes no difference"
    } else if (ratio < 1.0) == (published_ratio < 1.0) {
        "as here"
    } else {
        "here it goes the other way"
    };
    Some(format!("Published ({}): {}; {way}.", published.by, change(there)))
}
