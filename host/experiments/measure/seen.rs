//! What was seen of a GPU during timed runs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::devices::gauge::{Look, Reading};
use crate::record::state::{Span, State};

/// What the looks tell of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Of all runs.
    pub state: Option<State>,
    /// For each run, whether something held the clock back; `None` where nobody tells.
    pub held_back: Option<Vec<bool>>,
    /// Energy of a run in joules, of runs in a row.
    pub energy_j: Option<f64>,
}

/// Whether a clock is the highest that was seen, or one step below.
pub fn is_highest(mhz: f64, highest: f64) -> bool {
    mhz >= 0.99 * highest
}

/// The highest clock of looks that were taken from a moment on.
pub fn highest(looks: &[Look], since: Instant) -> Option<f64> {
    let since = looks.iter().filter(|look| look.begin >= since);
    since.filter_map(|look| look.reading.sm_mhz).max_by(f64::total_cmp)
}

/// Lowest clock of the looks of each run, one after the other: a run is before the cap as a whole or not at all.
pub fn lowest_clocks(looks: &[Look], runs: &[Range<Instant>]) -> Vec<Option<f64>> {
    let known = |look: &&Look| look.reading.sm_mhz.is_some();
    let looks: Vec<&Look> = looks.iter().filter(known).collect();
    let lowest = |run| {
        let of = &looks[within(&looks, run)];
        of.iter().filter_map(|look| look.reading.sm_mhz).min_by(f64::total_cmp)
    };
    runs.iter().map(lowest).collect()
}

/// From the first to the last move of the counter of energy, which moves every 20 to 100 ms: less tells little.
const SHORTEST: Duration = Duration::from_millis(250);

/// The looks that fall into each of these runs, which are in order. A run without any has the last one before
/// its end, since what follows a run may be another version's.
pub fn seen(looks: &[Look], runs: &[Range<Instant>], power_limit_w: Option<f64>) -> Seen {
    let known = |look: &&Look| look.reading != Reading::default();
    let looks: Vec<&Look> = looks.iter().filter(known).collect();
    let of_runs: Vec<Range<usize>> = runs.iter().map(|run| within(&looks, run)).collect();
    let mut chosen: Vec<usize> = of_runs.iter().cloned().flatten().collect();
    chosen.dedup();
    let chosen: Vec<&Look> = chosen.into_iter().map(|at| looks[at]).collect();
    let told = |looks: &[&Look]| -> Option<bool> {
        let mut reasons = looks.iter().filter_map(|look| look.reading.held_back.as_ref());
        let first = !reasons.next()?.is_empty();
        Some(first || reasons.any(|reasons| !reasons.is_empty()))
    };
    let held_back: Option<Vec<bool>> = of_runs.iter().map(|of| told(&looks[of.clone()])).collect();
    let mean_w = power(&looks, runs);
    let (first, last) = (runs.first(), runs.last());
    let each = first.zip(last).map(|(first, last)| (last.end - first.start) / runs.len() as u32);
    Seen {
        held_back: held_back.filter(|marks| !marks.is_empty()),
        energy_j: mean_w.zip(each).map(|(power, each)| power * each.as_secs_f64()),
        state: (!chosen.is_empty()).then(|| State { mean_w, ..state(&chosen, power_limit_w) }),
    }
}

/// Looks within a run, or the last one before its end, or the first of all.
fn within(looks: &[&Look], run: &Range<Instant>) -> Range<usize> {
    let begin = looks.partition_point(|look| look.begin < run.start);
    let end = looks.partition_point(|look| look.end <= run.end);
    if begin < end || looks.is_empty() {
        return begin..end;
    }
    let last = end.saturating_sub(1);
    last..last + 1
}

fn state(looks: &[&Look], power_limit_w: Option<f64>) -> State {
    let span = |of: fn(&Reading) -> Option<f64>| {
        Span::of(looks.iter().filter_map(|look| of(&look.reading)).collect())
    };
    let told: Vec<_> = looks.iter().filter_map(|look| look.reading.held_back.as_ref()).collect();
    let mut held_back: BTreeMap<String, f64> = BTreeMap::new();
    for reason in told.iter().copied().flatten() {
        *held_back.entry(reason.to_string()).or_default() += 1.0;
    }
    held_back.values_mut().for_each(|count| *count /= told.len() as f64);
    State {
        looks: looks.len(),
        sm_mhz: span(|reading| reading.sm_mhz),
        memory_mhz: span(|reading| reading.memory_mhz),
        power_w: span(|reading| reading.power_w),
        power_limit_w,
        temperature_c: span(|reading| reading.temperature_c),
        held_back,
        highest_mhz: None,
        mean_w: None,
    }
}

/// Mean power from the first to the last move of the counter of energy that was seen from the begin of the first
/// run to the end of the last.
fn power(looks: &[&Look], runs: &[Range<Instant>]) -> Option<f64> {
    let (begin, end) = (runs.first()?.start, runs.last()?.end);
    let inside = looks.iter().filter(|look| begin <= look.begin && look.end <= end);
    let counted: Vec<(Instant, f64)> =
        inside.filter_map(|look| Some((look.begin, look.reading.energy_j?))).collect();
    let mut moves = counted.windows(2).filter(|pair| pair[0].1 != pair[1].1).map(|pair| pair[1]);
    let ((first, before), (last, after)) = (moves.next()?, moves.next_back()?);
    let power = (after - before) / (last - first).as_secs_f64();
    (last - first >= SHORTEST && power > 0.0).then_some(power)
}
