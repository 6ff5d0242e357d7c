//! Runs of a version: as many as it takes to settle, then those that are timed.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::regimes;
use super::same_bits;
use super::seen::Seen;
use crate::catalogue::Kernel;
use crate::devices::{Device, Done, Watch};
use crate::engine::{Calculation, Engine};
use crate::error::Result;
use crate::problem::Sums;
use crate::record::parting::Work;
use crate::record::times::{BeforeCap, Repetition};

/// What is told of while it goes on.
pub struct Telling<'a> {
    /// How many of the calculations asked for are done, and which part of the next one.
    pub done: Done<'a>,
    /// That the next calculation is the last, where that is known beforehand.
    pub last: &'a dyn Fn(),
}

/// What timed runs gave.
pub struct Timed {
    /// Seconds of each.
    pub samples: Vec<f64>,
    /// Runs before the limit of power lowered the clock.
    pub before_cap: Option<BeforeCap>,
    /// What was seen of the device meanwhile.
    pub seen: Seen,
    /// The sums of the last run, without the starting sums.
    pub sums: Sums,
    /// Whether all runs found the same bits, those before the timed ones included.
    pub deterministic: bool,
    /// Blocks of a launch.
    pub blocks: Option<u32>,
    /// What the workers did in the last run.
    pub work: Option<Work>,
}

/// Runs so far.
struct Runs<'r, 'a> {
    version: Kernel,
    engine: &'r mut Engine<'a>,
    telling: &'r Telling<'r>,
    first_s: Option<f64>,
    last: Option<Calculation>,
    deterministic: bool,
}

impl Runs<'_, '_> {
    /// One run: its seconds, and when these were, the loading of a kernel before them left out. Its part is
    /// told after so many runs that are done.
    fn run(&mut self, before: usize) -> Result<(f64, Range<Instant>)> {
        let done = self.telling.done;
        let of_run = |part: f64| done(before as f64 + part);
        let begin = Instant::now();
        let calculation = self.engine.run_telling(self.version, Watch::of(&of_run))?;
        let end = Instant::now();
        let seconds = calculation.seconds;
        self.first_s.get_or_insert(seconds);
        let last = self.last.replace(calculation);
        let bits = |before: Calculation| {
            self.last.as_ref().is_some_and(|now| same_bits(&before.sums, &now.sums))
        };
        self.deterministic &= last.is_none_or(bits);
        done((before + 1) as f64);
        let all = end - begin;
        let timed = Duration::try_from_secs_f64(seconds).map_or(all, |timed| timed.min(all));
        Ok((seconds, end - timed..end))
    }
}

/// Has `engine` run a version as often as `repetition` says, and as long.
///
/// # Errors
/// Those of the device.
///
/// # Panics
/// Where `repetition` has no timed run.
pub fn timed(
    version: Kernel,
    device: &dyn Device,
    engine: &mut Engine,
    repetition: Repetition,
    telling: &Telling,
) -> Result<Timed> {
    let mut runs =
        Runs { version, engine, telling, first_s: None, last: None, deterministic: true };
    // What is timed has its data in place, the first calculation too.
    runs.engine.ready(version)?;
    let regimes::Timed { samples, mut seen, before_cap } =
        regimes::timed(device.gauge(), repetition, &mut |before, is_last| {
            if is_last {
                (telling.last)();
            }
            runs.run(before)
        })?;
    let Runs { engine, first_s, last, deterministic, .. } = runs;
    let Calculation { sums, blocks, shares, .. } = last.expect("at least one is timed");
    let is_shared = shares.len() > 1 || engine.slabs().count() > 1;
    if is_shared {
        // It is looked at the first device alone.
        seen.energy_j = None;
    }
    let work = is_shared.then(|| Work::of(shares, first_s));
    Ok(Timed { samples, before_cap, seen, sums, deterministic, blocks, work })
}

/// Tells nobody.
pub const QUIETLY: Telling<'static> = Telling { done: &|_| (), last: &|| () };

/// How long runs of a regime go on for on a device, unless it is said: one with a gauge has clocks to settle, in
/// some tenths of a second. Profilers have one calculation run, and say so by no warm-up.
pub fn settle(device: &dyn Device, warmup: Option<usize>) -> Duration {
    let gauge = (warmup != Some(0)).then(|| device.gauge()).flatten();
    gauge.map_or(Duration::ZERO, |_| Duration::from_secs(1))
}
