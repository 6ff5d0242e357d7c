//! How the time changed, and what of it is cycles and what the clock.

use super::{change, is_change, percent};
use crate::analysis::explain::step::{Side, Step};
use crate::analysis::noise::differs;
use crate::record::times::Verdict;

/// The change, and whether it is more than noise.
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
    let of_noise = if is_noise { "no more than the noise" } else { "more than the noise" };
    Some(format!("{told}, {of_noise}."))
}

/// Whether the time stays: within the noise, or by less than is a change.
pub fn stays(step: &Step) -> bool {
    let ratio = step.both(Side::seconds).map(|(before, now)| now / before);
    is_noise(step) == Some(true) || ratio.is_some_and(|ratio| !is_change(ratio))
}

/// Whether noise explains how the times of the two versions differ; `None` where too few were taken.
pub fn is_noise(step: &Step) -> Option<bool> {
    let (before, now) = (step.before.as_ref()?.measured?, step.now.measured?);
    differs(&before.times, &now.times).map(|verdict| verdict == Verdict::Noise)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::explain::made::{Made, made, said, state, times};
    use crate::record::times::Times;

    /// A version with this time in milliseconds and this clock in MHz.
    fn at(ms: f64, mhz: f64) -> Made {
        made(|_, measured| {
            measured.times = times(ms * 1e-3);
            measured.cycles = Some(ms * 1e-3 * mhz * 1e6);
            measured.state = Some(state(mhz, 600.0));
        })
    }

    #[test]
    fn times_that_noise_explains() {
        let (slow, fast, near) = (at(100.0, 1500.0), at(80.0, 1500.0), at(101.0, 1500.0));
        let down = said(time, &slow, &fast).unwrap();
        assert_eq!(down, "v1 takes 80.0 ms for the 100 ms of v0: −20 %, more than the noise.");
        assert!(said(time, &fast, &slow).unwrap().contains("+25 %, more than the noise"));
        for (a, b) in [(&slow, &near), (&near, &slow)] {
            assert!(said(time, a, b).unwrap().contains("no more than the noise"));
        }
        let twice = made(|_, measured| measured.times = Times::of(vec![0.1, 0.2]));
        assert!(!said(time, &twice, &slow).unwrap().contains("noise"));
    }

    #[test]
    fn cycles_and_clock_share_the_change() {
        let before = at(100.0, 1500.0);
        let says = |ms, mhz| said(clock, &before, &at(ms, mhz)).unwrap();
        assert!(says(80.0, 1500.0).starts_with("All of it is cycles, −20 %; the clock stays"));
        assert!(says(80.0, 1875.0).starts_with("The cycles are the same"));
        assert!(says(80.0, 1875.0).contains("the clock, +25 % (1500 → 1875 MHz)"));
        // 0.8 = 0.894², a half each.
        assert!(
            says(80.0, 1677.0)
                .starts_with("50 % of it is cycles, −11 %, the rest the clock, +12 %")
        );
        let back = says(90.0, 1200.0);
        assert!(back.starts_with("Cycles alone would make it −28 %; the clock, −20 %"), "{back}");
        assert!(back.contains("takes 68 % of that back"), "{back}");
        assert!(says(110.0, 1200.0).contains("outweighs that"));
        assert!(says(101.0, 1500.0).starts_with("Neither cycles"));
        let slower = says(125.0, 1350.0);
        assert!(
            slower.starts_with("53 % of it is cycles, +12 %, the rest the clock, −10"),
            "{slower}"
        );
    }

    #[test]
    fn without_clocks_nothing_is_said_of_them() {
        let before = at(100.0, 1500.0);
        let unknown = made(|profile, measured| {
            (profile.cycles, measured.cycles, measured.state) = (None, None, None);
        });
        assert_eq!(said(clock, &before, &unknown), None);
        assert_eq!(said(clock, &unknown, &before), None);
        let broken = made(|_, measured| measured.cycles = Some(f64::NAN));
        assert_eq!(said(clock, &before, &broken), None);
        // The profiler's cycles, where the run has none.
        let counted = made(|_, measured| (measured.cycles, measured.state) = (None, None));
        assert!(said(clock, &before, &counted).unwrap().starts_with("Neither cycles"));
    }
}
