//! How the time changed, and what of it is cycles and what the clock.

use super::{change, is_change, percent};
use crate::analysis::explain::step::{Side, Step};

/// The change, and whether the times of the two lie apart.
pub fn time(step: &Step) -> Option<String> {
    let (before, now) = step.both(Side::seconds)?;
    let from = step.before.as_ref()?.id;
    let told = format!(
        "{} takes {} for the {} of {from}: {}",
        step.now.id,
        milliseconds(now),
        milliseconds(before),
        change((before, now))
    );
    let Some(is_noise) = is_noise(step) else { return Some(format!("{told}.")) };
    let of_noise = if is_noise {
        "no more than the noise, for the two lie within each other's spread"
    } else {
        "more than the noise"
    };
    Some(format!("{told}, {of_noise}."))
}

/// Whether the times of the two versions overlap; `None` where too few were taken.
pub fn is_noise(step: &Step) -> Option<bool> {
    let (before, now) = (step.before.as_ref()?.interval()?, step.now.interval()?);
    Some(!(before[1] < now[0] || now[1] < before[0]))
}

/// Time is cycles over clock, so the logarithms of their ratios add up to that of the time.
pub fn clock(step: &Step) -> Option<String> {
    let (time, cycles) = (step.both(Side::seconds)?, step.cycles()?);
    let of_cycles = (cycles.1 / cycles.0).ln();
    let of_time = (time.1 / time.0).ln();
    let of_clock = of_time - of_cycles;
    if !(of_cycles.is_finite() && of_time.is_finite()) {
        return None;
    }
    let clock = change((1.0, (-of_clock).exp()));
    let seen = step.both(Side::clock_mhz);
    let seen = seen.map_or(String::new(), |(a, b)| format!(" ({a:.0} → {b:.0} MHz)"));
    let cycles_by = change(cycles);
    Some(match (is_change(of_cycles.exp()), is_change(of_clock.exp())) {
        (false, false) => {
            format!("Neither cycles ({cycles_by}) nor clock ({clock}{seen}) changed by 2 %.")
        }
        (true, false) => format!("All of it is cycles, {cycles_by}; the clock stays{seen}."),
        (false, true) => {
            format!(
                "The cycles are the same ({cycles_by}): what changed is the clock, {clock}{seen}."
            )
        }
        (true, true) if (of_cycles > 0.0) == (of_clock > 0.0) => format!(
            "{} of it is cycles, {cycles_by}, the rest the clock, {clock}{seen}.",
            percent(of_cycles / of_time)
        ),
        (true, true) => {
            let least = (of_clock / of_cycles).abs();
            let rest = if least < 1.0 {
                format!("takes {} of that back", percent(least))
            } else {
                "outweighs that".into()
            };
            format!("Cycles alone would make it {cycles_by}; the clock, {clock}{seen}, {rest}.")
        }
    })
}

fn milliseconds(seconds: f64) -> String {
    format!("{} ms", crate::analysis::explain::digits(seconds * 1e3))
}
