//! The two regimes of a GPU: before its limit of power lowers the clock, and sustained.
//!
//! A board at its limit of power lowers the clock of its multiprocessors some tenths of a second after a kernel
//! has begun to take more, then seeks the clock that it can hold. So runs are timed twice: in bursts, each after
//! a rest, for as long as the clock stays the highest; then in windows, until two in a row take the same time.

use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::seen::{Seen, highest, is_highest, lowest_clocks, seen};
use crate::devices::gauge::{Gauge, Look, Reading, Watch};
use crate::error::Result;
use crate::record::state::Span;
use crate::record::times::{BeforeCap, Regimes, Repetition, Times};

/// Runs of a window or a burst at most, where fewer were asked for.
pub const MOST: usize = 200;

/// How long there are bursts, in times of a window: a version of which a run outlasts the delay of the limit has few
/// runs in each, or none.
const BURSTS: u32 = 3;

/// Windows at most: the clock may swing about the one that the board can hold.
const WINDOWS: usize = 5;

/// Means of two windows that differ by no more are of a steady state.
const STEADY: f64 = 0.005;

/// A board that takes less than this part of its limit does not meet it.
const FAR: f64 = 0.9;

/// A board that takes more than this part of its limit rests before a burst.
const WARM: f64 = 0.5;

/// A run, given how many of those asked for are done before it and whether it is the last: its seconds, and when
/// these were.
pub type Run<'r> = dyn FnMut(usize, bool) -> Result<(f64, Range<Instant>)> + 'r;

/// What runs gave.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Seconds of each timed run: of the last regime that was asked for.
    pub samples: Vec<f64>,
    /// What was seen of the device meanwhile.
    pub seen: Seen,
    /// Runs before the limit of power lowered the clock; the same as `samples` where it lowered none.
    pub before_cap: Option<BeforeCap>,
}

/// Runs, one after the other.
#[derive(Clone, Debug, Default)]
struct Runs {
    samples: Vec<f64>,
    spans: Vec<Range<Instant>>,
}

impl Runs {
    fn push(&mut self, (seconds, at): (f64, Range<Instant>)) {
        self.samples.push(seconds);
        self.spans.push(at);
    }

    fn mean(&self) -> f64 {
        self.samples.iter().sum::<f64>() / self.samples.len() as f64
    }

    /// Those during which no look shows a clock below the highest.
    fn at(&self, highest: f64, looks: &[Look]) -> Runs {
        let clocks = lowest_clocks(looks, &self.spans);
        let mut found = Runs::default();
        for (at, clock) in clocks.into_iter().enumerate() {
            if clock.is_some_and(|clock| is_highest(clock, highest)) {
                found.push((self.samples[at], self.spans[at].clone()));
            }
        }
        found
    }

    /// What is recorded of runs before the cap; none of none.
    fn before_cap(&self, sm_mhz: f64) -> Option<BeforeCap> {
        let times = (!self.samples.is_empty()).then(|| Times::of(self.samples.clone()))?;
        Some(BeforeCap { spread: times.spread(), times, sm_mhz })
    }
}

/// Runs as often as `repetition` says, and as long; by count alone where it has no time. Where nothing shows the
/// device's clock there is one regime: runs settle, and are timed for as long again.
///
/// # Errors
/// Those of a run.
///
/// # Panics
/// Where `repetition` has no timed run.
pub fn timed(
    gauge: Option<Arc<dyn Gauge>>,
    repetition: Repetition,
    run: &mut Run,
) -> Result<Timed> {
    let watch = gauge.clone().map(Watch::begin);
    let limit_w = gauge.and_then(|gauge| gauge.power_limit_w());
    let Repetition { warmup, settle, regimes, .. } = repetition;
    let shown = watch.as_ref().filter(|_| !settle.is_zero());
    let shown = shown.filter(|watch| watch.with(|looks| looks[0].reading.sm_mhz.is_some()));
    let Some(watch) = shown else {
        let runs = settled(repetition, run)?;
        let looks = watch.map_or(Vec::new(), Watch::end);
        let mut seen = seen(&looks, &runs.spans, limit_w);
        if let Some(state) = &mut seen.state {
            state.highest_mhz = highest(&looks, runs.spans[0].start);
        }
        return Ok(Timed { samples: runs.samples, seen, before_cap: None });
    };

    // The first run may have compiled its kernel.
    for before in 0..warmup.max(1) {
        run(before.min(warmup.saturating_sub(1)), false)?;
    }
    let on = On { watch, repetition, limit_w, since: Instant::now() };
    let most = |look: &Look| look.reading.power_w.unwrap_or(f64::INFINITY);
    let watts = watch.with(|looks| looks.iter().map(most).fold(0.0, f64::max));
    let bursts = on.bursts(limit_w.is_none_or(|limit| watts > WARM * limit), run)?;
    let steady = (regimes == Regimes::Both).then(|| on.steady(run)).transpose()?;
    let looks = watch.looks();
    let highest = highest(&looks, on.since).unwrap_or_default();
    // Runs that never met the cap are before it, whatever they are besides.
    let all = steady.as_ref().filter(|runs| runs.at(highest, &looks).samples == runs.samples);
    let before = all.cloned().unwrap_or_else(|| bursts.at(highest, &looks));
    let before_cap = before.before_cap(highest);
    let runs = steady.unwrap_or(if before_cap.is_some() { before } else { bursts });
    let mut seen = seen(&looks, &runs.spans, limit_w);
    if let Some(state) = &mut seen.state {
        state.highest_mhz = Some(highest);
    }
    Ok(Timed { samples: runs.samples, seen, before_cap })
}

/// Runs until they have settled, then those that are timed.
fn settled(repetition: Repetition, run: &mut Run) -> Result<Runs> {
    let Repetition { warmup, repeat, settle, .. } = repetition;
    let (mut warm, mut settling) = (0, None::<Instant>);
    while warm < warmup || (!settle.is_zero() && settling.is_none_or(|at| at.elapsed() < settle)) {
        let (_, at) = run(warm.min(warmup.saturating_sub(1)), false)?;
        settling.get_or_insert(at.end);
        warm += 1;
    }
    let mut runs = Runs::default();
    let begin = Instant::now();
    loop {
        let count = runs.samples.len() + 1;
        let took = runs.spans.last().map_or(Duration::ZERO, |at| at.end - at.start);
        let is_enough = count >= MOST || begin.elapsed() + took >= settle;
        let is_last = count >= repeat && is_enough;
        runs.push(run(warmup + count.min(repeat) - 1, is_last)?);
        if is_last {
            return Ok(runs);
        }
    }
}

/// Whether the board takes more than a part of its limit of power, by the median of these looks; where that is not
/// known it may.
fn takes(looks: &[Look], part: f64, limit_w: Option<f64>) -> bool {
    let watts = Span::of(looks.iter().filter_map(|look| look.reading.power_w).collect());
    watts.zip(limit_w).is_none_or(|(watts, limit)| watts.median > part * limit)
}

/// A device whose clock is shown.
struct On<'a> {
    watch: &'a Watch,
    repetition: Repetition,
    limit_w: Option<f64>,
    /// When its looks began to be of the version.
    since: Instant,
}

impl On<'_> {
    /// Whether a clock below the highest was seen from a moment on.
    fn has_fallen(&self, begin: Instant) -> bool {
        self.watch.with(|looks| {
            let Some(highest) = highest(looks, self.since) else { return false };
            let clock = |Reading { sm_mhz, .. }: &Reading| *sm_mhz;
            let mut of_these = looks.iter().rev().take_while(|look| look.begin >= begin);
            of_these.any(|look| clock(&look.reading).is_some_and(|mhz| !is_highest(mhz, highest)))
        })
    }

    /// Runs after rests, each as long as the clock stays, until there are enough before it falls.
    fn bursts(&self, is_warm: bool, run: &mut Run) -> Result<Runs> {
        let Repetition { warmup, repeat, settle, .. } = self.repetition;
        let mut runs = Runs::default();
        let mut before = 0;
        let first = Instant::now();
        loop {
            if is_warm || !runs.samples.is_empty() {
                thread::sleep(settle / 2);
            }
            // The clock rises.
            run(warmup.saturating_sub(1), false)?;
            let begin = Instant::now();
            let mut kept = 0;
            loop {
                let done = (before + kept).min(repeat - 1);
                runs.push(run(warmup + done, false)?);
                if self.has_fallen(begin) {
                    break;
                }
                kept += 1;
                let is_long = 2 * begin.elapsed() >= settle || kept >= MOST;
                if before + kept >= repeat && is_long {
                    break;
                }
            }
            before += kept;
            if kept == 0 || before >= repeat || first.elapsed() >= BURSTS * settle {
                return Ok(runs);
            }
        }
    }

    /// Runs in windows, until one takes as long as that before it, and then as many as were asked for.
    fn steady(&self, run: &mut Run) -> Result<Runs> {
        let Repetition { warmup, repeat, settle, .. } = self.repetition;
        let mut last: Option<f64> = None;
        for left in (0..WINDOWS).rev() {
            let mut runs = Runs::default();
            let begin = Instant::now();
            let mut next = |runs: &mut Runs| -> Result<()> {
                let done = runs.samples.len().min(repeat - 1);
                runs.push(run(warmup + done, false)?);
                Ok(())
            };
            while runs.samples.is_empty() || runs.samples.len() < MOST && begin.elapsed() < settle {
                next(&mut runs)?;
            }
            let mean = runs.mean();
            let stays = last.is_some_and(|last| (mean / last - 1.0).abs() <= STEADY);
            let since = |looks: &[Look]| looks.partition_point(|look| look.begin < begin);
            let is_far = self.watch.with(|looks| !takes(&looks[since(looks)..], FAR, self.limit_w));
            if stays || left == 0 || is_far && !self.has_fallen(begin) {
                while runs.samples.len() < repeat {
                    next(&mut runs)?;
                }
                return Ok(runs);
            }
            last = Some(mean);
        }
        unreachable!("the last window is the steady one")
    }
}
