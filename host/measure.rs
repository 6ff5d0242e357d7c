//! Warm-up until the clock is steady, timed runs, and the state of the GPU meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use gpp_kernels::plan::Poles;

use crate::catalogue::{BackEnd, Kernel};
use crate::devices::entry;
use crate::devices::gauge::{self, Gauge, Look, Reading};
use crate::devices::{Device, Done, Watch, gpu};
use crate::engine::{Calculation, Engine};
use crate::error::Result;
use crate::output::STOP;
use crate::problem::{Problem, Sums};
use crate::record::run::{Measurement, Threads, Times, Work};
use crate::record::{Repetition, Span, State};
use crate::reference::{Outcome, Reference, verify};

/// FP64 operations (FMA = 2) for each (n, igp, ig, iw) of a version's kernel for these poles, as the hardware counts for
/// si214 in the archived profiles.
pub fn flops_per_term(version: &str, poles: Poles) -> Option<f64> {
    static COUNTS: LazyLock<HashMap<String, HashMap<String, f64>>> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../data/flops.json")).expect("counts under names")
    });
    let poles = if poles == Poles::Real { "real" } else { "any" };
    COUNTS.get(version)?.get(poles).copied()
}

/// Repeats a version's calculation, samples the state of `device` meanwhile, and compares the sums with `reference`.
/// `done` gets the number of calculations that are done, with the fraction of the current one.
pub fn measure(
    version: Kernel,
    device: &dyn Device,
    engine: &mut Engine,
    reference: Option<&Reference>,
    repetition: Repetition,
    done: Done,
) -> Result<Measurement> {
    // The data are in place before the first timed calculation.
    engine.ready(version)?;
    let (mut first_s, mut last, mut deterministic) = (None, None::<Calculation>, true);
    let (times, state, energy_j) = timed(device.gauge(), repetition, &mut |before| {
        let of_run = |part: f64| done(before as f64 + part);
        let begin = Instant::now();
        let calculation = engine.run_with(version, Watch { done: &of_run, stop: &STOP })?;
        let end = Instant::now();
        done((before + 1) as f64);
        let seconds = calculation.seconds;
        first_s.get_or_insert(seconds);
        deterministic &= last.as_ref().is_none_or(|last| same_bits(&last.sums, &calculation.sums));
        last = Some(calculation);
        // The time in which a kernel is loaded is not part of the run.
        let all = end - begin;
        let timed = Duration::try_from_secs_f64(seconds).map_or(all, |timed| timed.min(all));
        Ok((seconds, end - timed..end))
    })?;
    let Calculation { sums, blocks, workers, .. } = last.expect("at least one run is timed");
    let is_shared = workers.len() > 1 || engine.slabs().count() > 1;
    let work = is_shared.then(|| Work::of(workers, first_s));
    let problem = engine.problem();
    let sums = problem.start().plus(&sums);
    let mut verification = verify(engine.slabs(), &sums, reference)?;
    // Wrong sums are worse than sums that change.
    if !deterministic && verification.outcome != Outcome::Incorrect {
        verification.outcome = Outcome::Nondeterministic;
    }
    let mut result = Measurement {
        version: version.id().into(),
        device: device.info().id.clone(),
        emulated: version.back_end() != device.back_end(),
        times,
        state,
        // Of several devices only the first is sampled.
        energy_j: energy_j.filter(|_| work.is_none()),
        flops: None,
        flops_source: "not counted".into(),
        tflops: None,
        kernel: None,
        kernel_hash: None,
        registers: None,
        local_bytes: None,
        warps_per_sm: None,
        threads_per_block: None,
        blocks,
        simd: None,
        threads: None,
        sums,
        deterministic,
        work,
        verification,
    };
    describe(&mut result, version, device, problem)?;
    Ok(result)
}

fn describe(
    result: &mut Measurement,
    version: Kernel,
    device: &dyn Device,
    problem: &Problem,
) -> Result<()> {
    match version {
        Kernel::Gpu(gpu) => {
            // The last batch may have fewer energies and another kernel.
            let first = version.batches(problem).first();
            let launch = first.plan.kernel(gpu);
            let known = device.kernel(launch, entry(launch, first.nw()))?;
            if device.back_end() == BackEnd::Gpu {
                result.kernel_hash = gpu::hash(&known.symbol);
            }
            if let Some(per_term) = flops_per_term(gpu.id(), launch.poles) {
                let flops = per_term * problem.terms() as f64;
                result.rate(flops, "hardware counters, these kernels, si214");
            }
            result.threads_per_block = Some(launch.threads);
            result.registers = known.registers;
            result.local_bytes = known.local_bytes;
            result.warps_per_sm = known.warps_per_sm;
            result.kernel = Some(known.symbol);
        }
        Kernel::Cpu(cpu) => {
            let (level, team) = device.cpu().expect("it ran on a CPU");
            result.simd = Some(cpu.level(level).to_string());
            result.threads = Some(Threads { count: team.count(cpu.threads) as u32 });
        }
    }
    Ok(())
}

/// Equal as bits, so that NaN equals itself.
pub fn same_bits(a: &Sums, b: &Sums) -> bool {
    let bits = |sums: &Sums| -> Vec<[u64; 2]> {
        sums.named(1).map(|(_, z)| [z.re.to_bits(), z.im.to_bits()]).collect()
    };
    bits(a) == bits(b)
}

/// How long a window of runs is: only a device with a gauge has a clock to wait for; `--warmup 0` skips it.
pub fn window(device: &dyn Device, warmup: Option<u32>) -> Duration {
    let gauge = (warmup != Some(0)).then(|| device.gauge()).flatten();
    gauge.map_or(Duration::ZERO, |_| Duration::from_secs(1))
}

// A GPU at its power limit lowers the clock some tenths of a second after a kernel has begun to draw more power, then
// searches for the clock that it can hold. So runs are repeated in windows, until two in a row take the same time.

/// Runs of a window at most, unless more were asked for.
pub const MOST: usize = 200;

/// Windows at most: the clock may oscillate.
const WINDOWS: usize = 5;

/// Means of two windows that differ by no more are steady.
const STEADY: f64 = 0.005;

/// A run: it receives the number of runs before it, at most those of the [`Repetition`], and returns its seconds and
/// when these were.
pub type Run<'r> = dyn FnMut(usize) -> Result<(f64, Range<Instant>)> + 'r;

/// The times, the state of the GPU meanwhile, and the energy of a run in joules.
type Timed = (Times, Option<State>, Option<f64>);

/// The window of a quick measurement.
const SHORT: Duration = Duration::from_millis(200);

/// Runs as often as `repetition` says and, if it has a window, in windows of which the last one counts; if it is quick,
/// in short ones if two in a row are steady and the power limit is not in reach.
pub fn timed(
    gauge: Option<Arc<dyn Gauge>>,
    repetition: Repetition,
    run: &mut Run,
) -> Result<Timed> {
    if repetition.quick && !repetition.window.is_zero() {
        let short = Repetition { window: SHORT, ..repetition };
        let (found, is_steady) = in_windows(gauge.clone(), short, run)?;
        if is_steady && found.1.as_ref().is_some_and(State::is_unthrottled) {
            return Ok(found);
        }
    }
    in_windows(gauge, repetition, run).map(|(found, _)| found)
}

/// [`timed`] in windows of one length, and whether the last two took the same time.
fn in_windows(
    gauge: Option<Arc<dyn Gauge>>,
    repetition: Repetition,
    run: &mut Run,
) -> Result<(Timed, bool)> {
    let Repetition { warmup, repeat, window, .. } = repetition;
    let limit_w = gauge.as_ref().and_then(|gauge| gauge.power_limit_w());
    let watch = gauge.map(gauge::Watch::begin);
    // The first run may compile its kernel.
    for before in 0..warmup.max((!window.is_zero()).into()) {
        run(before.min(warmup.saturating_sub(1)))?;
    }
    if watch.is_some() {
        // A GPU that has rested shows its highest clock.
        thread::sleep(window / 2);
    }
    let since = Instant::now();
    let mut left = if window.is_zero() { 1 } else { WINDOWS };
    let mut before: Option<f64> = None;
    let (runs, is_steady) = loop {
        let mut runs: Vec<(f64, Range<Instant>)> = Vec::new();
        let begin = Instant::now();
        while runs.is_empty() || runs.len() < MOST && begin.elapsed() < window {
            runs.push(run(warmup + runs.len().min(repeat - 1))?);
        }
        let mean = runs.iter().map(|(seconds, _)| seconds).sum::<f64>() / runs.len() as f64;
        left -= 1;
        let is_steady = before.is_some_and(|before| (mean / before - 1.0).abs() <= STEADY);
        if left == 0 || is_steady {
            while runs.len() < repeat {
                runs.push(run(warmup + runs.len())?);
            }
            break (runs, is_steady);
        }
        before = Some(mean);
    };
    let (samples, spans): (Vec<f64>, Vec<Range<Instant>>) = runs.into_iter().unzip();
    let looks = watch.map_or(Vec::new(), gauge::Watch::end);
    let mut state = state(&looks, &spans, limit_w);
    if let Some(state) = &mut state {
        let of_version = looks.iter().filter(|look| look.begin >= since);
        state.highest_mhz = of_version.filter_map(|look| look.reading.sm_mhz).reduce(f64::max);
    }
    let watts = state.as_ref().and_then(|state| state.mean_w);
    let each = (spans[spans.len() - 1].end - spans[0].start) / spans.len() as u32;
    let energy = watts.map(|watts| watts * each.as_secs_f64());
    Ok(((Times::of(samples), state, energy), is_steady))
}

/// From the first to the last step of the energy counter, which moves every 20 to 100 ms: less says little.
const SHORTEST: Duration = Duration::from_millis(250);

/// The state of a GPU during runs in a row, by the looks within them. If there is none within, the last one before
/// their end counts, since what follows may belong to another version.
pub fn state(looks: &[Look], runs: &[Range<Instant>], power_limit_w: Option<f64>) -> Option<State> {
    let (begin, end) = (runs.first()?.start, runs.last()?.end);
    let known = |look: &&Look| look.reading != Reading::default();
    let looks: Vec<&Look> = looks.iter().filter(known).collect();
    let first = looks.partition_point(|look| look.begin < begin);
    let last = looks.partition_point(|look| look.end <= end);
    let first = if first < last { first } else { last.saturating_sub(1) };
    let looks = looks.get(first..last.max(first + 1)).filter(|looks| !looks.is_empty())?;
    let span = |of: fn(&Reading) -> Option<f64>| {
        Span::of(looks.iter().filter_map(|look| of(&look.reading)).collect())
    };
    let reasons: Vec<_> = looks.iter().filter_map(|look| look.reading.held_back.as_ref()).collect();
    let mut held_back: BTreeMap<String, f64> = BTreeMap::new();
    for reason in reasons.iter().copied().flatten() {
        *held_back.entry(reason.to_string()).or_default() += 1.0;
    }
    held_back.values_mut().for_each(|count| *count /= reasons.len() as f64);
    Some(State {
        looks: looks.len(),
        sm_mhz: span(|reading| reading.sm_mhz),
        memory_mhz: span(|reading| reading.memory_mhz),
        power_w: span(|reading| reading.power_w),
        power_limit_w,
        temperature_c: span(|reading| reading.temperature_c),
        held_back,
        highest_mhz: None,
        mean_w: mean_power(looks),
    })
}

/// Mean power from the first to the last step of the energy counter.
fn mean_power(looks: &[&Look]) -> Option<f64> {
    let counted: Vec<(Instant, f64)> =
        looks.iter().filter_map(|look| Some((look.begin, look.reading.energy_j?))).collect();
    let mut steps = counted.windows(2).filter(|pair| pair[0].1 != pair[1].1).map(|pair| pair[1]);
    let ((first, before), (last, after)) = (steps.next()?, steps.next_back()?);
    let power = (after - before) / (last - first).as_secs_f64();
    (last - first >= SHORTEST && power > 0.0).then_some(power)
}
