//! What the machine did while it was timed, and how right the sums are.

use maud::{Markup, html};

use super::sheet::Sheet;
use crate::analysis::outcomes::{all_reservations, clock_lost, reference, words};
use crate::record::run::{Measurement, Run};
use crate::record::state::{Span, State};
use crate::render::results;
use crate::render::table::or_dash;

const HEADINGS: [&str; 13] = [
    "version",
    "median [ms]",
    "before cap [ms]",
    "95 % interval [ms]",
    "σ",
    "clock lost",
    "clock [MHz]",
    "power [W]",
    "temperature [°C]",
    "energy [J]",
    "cycles [10⁶]",
    "rel. error",
    "outcome",
];

pub(super) fn measured(run: &Run) -> Markup {
    let mut sheet = Sheet::new(&HEADINGS).words([5]);
    for result in &run.results {
        sheet.push(Some(&result.version), cells(result, run.passed()));
    }
    let limits = run.results.iter().filter_map(|result| result.state.as_ref()?.power_limit_w);
    let limit = limits.reduce(f64::max);
    let regime = run.head.provenance.as_ref().and_then(|from| from.regime).map(results::regime);
    let references: Vec<_> = run.results.iter().map(|r| r.verification.reference).collect();
    let compared = references.first().filter(|first| references.iter().all(|r| r == *first));
    html! {
        (sheet.markup())
        p .note {
            "Medians of the timed runs. Errors are the largest of all sums"
            @if let Some(source) = compared { ", against " (reference(*source)) }
            @if run.passed() { "; all passed" }
            "."
            @for (said, versions) in all_reservations(&run.results) {
                " " (versions.join(", ")) ": passed" (said) "."
            }
            @if run.results.iter().any(|result| result.state.is_some()) {
                " Clock, power and temperature: median (lowest–highest) of what was seen during "
                "these runs. "
                @if let Some(limit) = limit { "The board is limited to " (format!("{limit:.0}")) " W. " }
                "Clock lost: what that took of the highest clock at which the version was seen. "
                @if let Some(said) = regime { (said) "." }
            } @else {
                " This record holds no clock, power or energy."
            }
        }
    }
}

fn cells(result: &Measurement, all_passed: bool) -> Vec<String> {
    let of = |field: fn(&State) -> Option<Span>| {
        or_dash(result.state.as_ref().and_then(field).map(range))
    };
    let (times, before) = (&result.times, result.before_cap.as_ref());
    let interval = result.spread.and_then(|spread| spread.interval_s);
    vec![
        result.version.clone(),
        format!("{:.2}", times.median * 1e3),
        or_dash(before.map(|of| format!("{:.2}", of.times.median * 1e3))),
        or_dash(interval.map(|[low, high]| format!("{:.2}–{:.2}", low * 1e3, high * 1e3))),
        or_dash(times.relative_sigma().map(|sigma| format!("{:.1} %", sigma * 100.0))),
        or_dash(result.state.as_ref().and_then(clock_lost)),
        of(|state| state.sm_mhz),
        of(|state| state.power_w),
        of(|state| state.temperature_c),
        or_dash(result.energy_j.map(|joules| format!("{joules:.1}"))),
        or_dash(result.cycles.map(|cycles| format!("{:.1}", cycles / 1e6))),
        or_dash(result.verification.max_rel_error.map(|error| format!("{error:.1e}"))),
        if all_passed { "–".into() } else { words(result.outcome()).into() },
    ]
}

fn range(Span { median, min, max }: Span) -> String {
    if max - min < 1.0 {
        format!("{median:.0}")
    } else {
        format!("{median:.0} ({min:.0}–{max:.0})")
    }
}
