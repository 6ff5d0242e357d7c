//! Energy, what bounds a version, and what was published of the step.

use super::time::stays;
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
    let way = if !is_change(published_ratio) {
        "it made no difference there"
    } else if stays(step) {
        "here it makes no difference"
    } else if (ratio < 1.0) == (published_ratio < 1.0) {
        "here it goes the same way"
    } else {
        "here it goes the other way"
    };
    Some(format!("Published ({}): {}; {way}.", published.by, change(there)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::explain::made::{ceilings, made, said, state, step, times};
    use crate::analysis::explain::step::{PublishedStep, Told};

    #[test]
    fn energy_is_told_where_it_was_measured() {
        let before = made(|_, _| {});
        let now = made(|_, measured| {
            measured.energy_j = Some(45.0);
            measured.state = Some(state(1500.0, 700.0));
        });
        let less = "A calculation takes 45.0 J at 700 W, before 60.0 J at 600 W: −25 %.";
        assert_eq!(said(energy, &before, &now).unwrap(), less);
        assert!(said(energy, &now, &before).unwrap().ends_with("+33 %."));
        let older = made(|_, measured| (measured.energy_j, measured.state) = (None, None));
        assert_eq!(said(energy, &before, &older), None);
        let alone = said(energy, &older, &now).unwrap();
        assert_eq!(alone, "A calculation takes 45.0 J at 700 W.");
    }

    #[test]
    fn what_bounds_is_of_the_version_alone() {
        let before = made(|profile, _| profile.fp64_pipe_percent = Some(95.0));
        let now = made(|_, _| {});
        assert!(said(bound, &before, &now).unwrap().contains("near the FP64 pipe, 70 % used"));
        assert!(said(bound, &now, &before).unwrap().contains("bound by the FP64 pipe, 95 % used"));
        let mut none = made(|_, _| {});
        none.profile = None;
        assert_eq!(said(bound, &now, &none), None);
    }

    #[test]
    fn steps_may_go_the_other_way_than_published() {
        let told = |time_s| Told { time_s: Some(time_s), ..Told::default() };
        let says = |here: f64, there: f64| {
            let (before, now) = (made(|_, _| {}), made(|_, own| own.times = times(here)));
            let ceilings = ceilings();
            let mut step = step(&before, &now, &ceilings);
            let by = "the paper, one V100".into();
            step.published = Some(PublishedStep { by, before: Some(told(1.0)), now: told(there) });
            published(&step).unwrap()
        };
        assert!(
            says(0.08, 0.9).ends_with("(the paper, one V100): −10 %; here it goes the same way.")
        );
        assert!(says(0.12, 1.2).ends_with("+20 %; here it goes the same way."));
        assert!(says(0.12, 0.9).ends_with("−10 %; here it goes the other way."));
        assert!(says(0.08, 1.2).ends_with("+20 %; here it goes the other way."));
        assert!(says(0.1, 0.9).ends_with("here it makes no difference."));
        assert!(says(0.08, 0.99).ends_with("−1.0 %; it made no difference there."));
        let (before, now) = (made(|_, _| {}), made(|_, _| {}));
        assert_eq!(said(published, &before, &now), None);
    }
}
