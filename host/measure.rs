//! Warm-up until the clock is steady, timed runs, and the state of the GPU meanwhile.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use crate::catalogue::{BackEnd, Version};
use crate::devices::entry;
use crate::devices::gauge::{Gauge, GaugeSample, Reading, Sampler};
use crate::devices::{Advance, Control, Device, gpu};
use crate::engine::{Calculation, Engine};
use crate::error::Result;
use crate::output::STOP;
use crate::problem::Sums;
use crate::record::run::{DerivativeResult, LoadBalance, Measurement, Times};
use crate::record::{ClockAndPower, Repetition, Span};
use crate::reference::{Outcome, Reference, verify_version};

/// FP64 operations (FMA = 2) for each (n, igp, ig, iw) of a version's kernel for these poles, as the hardware counts for
/// si214 in the archived profiles.
pub fn flops_per_term(version: &str, poles: Poles) -> Option<f64> {
    static COUNTS: LazyLock<HashMap<String, HashMap<String, f64>>> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../data/flops.json")).expect("counts under names")
    });
    let poles = if poles == Poles::Real { "real" } else { "any" };
    COUNTS.get(version)?.get(poles).copied()
}

/// A calculation in single precision with a sample of it in FP64. Collective.
pub fn sampled(version: Version, engine: &mut Engine, control: Control) -> Result<Calculation> {
    engine.samples = true;
    let found = engine.run_with(version, None, control);
    engine.samples = false;
    found
}

/// Repeats a version's calculation, samples the state of `device` meanwhile, and compares the sums with `reference`.
/// `done` gets the number of calculations that are done, with the fraction of the current one.
pub fn measure(
    version: Version,
    device: &dyn Device,
    engine: &mut Engine,
    reference: Option<&Reference>,
    repetition: Repetition,
    done: Advance,
) -> Result<Measurement> {
    // The data are in place before the first timed calculation.
    let control = Control { stop: &STOP, ..Control::none() };
    engine.ready(version, control)?;
    let (mut last, mut deterministic) = (None::<Calculation>, true);
    let (times, state, energy_j) = timed(device.gauge(), repetition, &mut |before| {
        let of_run = |part: f64| done(before as f64 + part);
        let begin = Instant::now();
        let calculation =
            engine.run_with(version, None, Control { advance: &of_run, stop: &STOP })?;
        let end = Instant::now();
        done((before + 1) as f64);
        let seconds = calculation.seconds;
        deterministic &= last.as_ref().is_none_or(|last| {
            same_bits(&last.sums, &calculation.sums) && last.derivative == calculation.derivative
        });
        last = Some(calculation);
        // The time in which a kernel is loaded is not part of the run.
        let elapsed = end - begin;
        let timed =
            Duration::try_from_secs_f64(seconds).map_or(elapsed, |timed| timed.min(elapsed));
        Ok((seconds, end - timed..end))
    })?;
    let Calculation { sums, derivative, bound, blocks, workers, .. } =
        last.expect("at least one run is timed");
    let sampled = repetition.has_sample.then(|| sampled(version, engine, control)).transpose()?;
    let sample = sampled.and_then(|calculation| calculation.sample);
    let is_shared = workers.len() > 1 || engine.slabs().count() > 1;
    let load_balance = is_shared.then_some(LoadBalance { workers });
    let problem = engine.problem();
    let (sums, mut verification) = verify_version(version, engine.slabs(), &sums, reference)?;
    let error_bound = Some(bound).filter(|bound| version.is_single() && bound.is_finite());
    let whole = reference.filter(|reference| error_bound.is_some() && reference.energies.is_none());
    let error_found = whole.map(|reference| {
        let (found, expected) = (sums.alone().ach, reference.sums.alone().ach);
        let errors = found.iter().zip(&expected).map(|(a, b)| (a - b).norm().abs());
        // NaN is the largest.
        errors.max_by(f64::total_cmp).unwrap_or(0.0)
    });
    // The bound is of FP32: pairs in FP64 and the reference are rounded too. Stored sums have no Σ|terms|, of which they may
    // be a small part.
    let largest = |of: &mut dyn Iterator<Item = f64>| of.fold(0.0, f64::max);
    let rounding = whole.map_or(0.0, |reference| match &reference.scale {
        Some(scale) => 1e-12 * largest(&mut scale.magnitudes.iter().flatten().copied()),
        None => 1e-9 * largest(&mut reference.sums.alone().ach.iter().map(|z| z.norm())),
    });
    let is_within = error_found.is_none_or(|found| found <= bound + rounding);
    if !is_within || !sample.is_none_or(|sample| sample.is_within(bound)) {
        verification.outcome = Outcome::Incorrect;
    }
    // Wrong sums are worse than sums that change.
    if !deterministic && verification.outcome != Outcome::Incorrect {
        verification.outcome = Outcome::Nondeterministic;
    }
    // The last batch may have fewer energies and another kernel.
    let kernel = version.first(problem.outline());
    let symbol = kernel.map(|(launch, nw)| entry(launch, nw).symbol);
    let known = kernel.map(|(launch, nw)| device.kernel(launch, entry(launch, nw))).transpose()?;
    let known = known.unwrap_or_default();
    let on_gpu = symbol.filter(|_| device.back_end() == BackEnd::Gpu);
    let counted = kernel.filter(|_| derivative.is_none());
    let flops = counted.and_then(|(launch, _)| {
        Some(flops_per_term(version.id(), launch.poles)? * problem.terms() as f64)
    });
    let on_cpu = version.cpu().zip(device.cpu());
    Ok(Measurement {
        version: version.id().into(),
        device: device.info().id.clone(),
        emulated: version.back_end() != device.back_end(),
        clock_and_power: state,
        // Of several devices only the first is sampled.
        energy_j: energy_j.filter(|_| load_balance.is_none()),
        flops,
        tflops: flops.map(|flops| flops / times.median / 1e12),
        times,
        kernel_hash: on_gpu.and_then(gpu::hash),
        kernel: symbol.map(String::from),
        registers: known.registers,
        local_bytes: known.local_bytes,
        warps_per_sm: known.warps_per_sm,
        threads_per_block: kernel.map(|(launch, _)| launch.threads),
        blocks,
        simd: on_cpu.map(|(cpu, (level, _))| cpu.level(level).to_string()),
        threads: on_cpu.map(|(cpu, (_, team))| team.count(cpu.threads) as u32),
        sums,
        derivative: derivative.map(|values| DerivativeResult { values, max_rel_error: None }),
        error_bound,
        error_found,
        sample,
        deterministic,
        load_balance,
        verification,
    })
}

/// Equal as bits, so that NaN equals itself.
pub fn same_bits(a: &Sums, b: &Sums) -> bool {
    let bits = bytemuck::cast_slice::<Complex64, u64>;
    bits(&a.asx) == bits(&b.asx) && bits(&a.ach) == bits(&b.ach)
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

/// Means of two windows that differ by no more are steady; the second is of quick measurements.
const STEADY: f64 = 0.005;
const QUICK_STEADY: f64 = 0.01;

/// A run: from the number of runs before it, at most those of the [`Repetition`], to its seconds and when these were.
pub type TimedRun<'r> = dyn FnMut(usize) -> Result<(f64, Range<Instant>)> + 'r;

/// The times, the state of the GPU meanwhile, and the energy of a run in joules.
type Timed = (Times, Option<ClockAndPower>, Option<f64>);

/// The window of a quick measurement.
const SHORT: Duration = Duration::from_millis(100);

/// Runs as often as `repetition` says and, if it has a window, in windows of which the last one counts; if it is quick,
/// in short ones if the power limit is not in reach and two in a row are steady or have as many runs as a long one has:
/// kernels of 50 µs differ by more than 1 % from process to process.
pub fn timed(
    gauge: Option<Arc<dyn Gauge>>,
    repetition: Repetition,
    run: &mut TimedRun,
) -> Result<Timed> {
    let Repetition { warmup, repeat, window: whole, quick, .. } = repetition;
    let limit_w = gauge.as_ref().and_then(|gauge| gauge.power_limit_w());
    let mut is_short = quick && !whole.is_zero();
    loop {
        let (window, steady) = if is_short { (SHORT, QUICK_STEADY) } else { (whole, STEADY) };
        let sampler = gauge.clone().map(Sampler::begin);
        // The first run may compile its kernel.
        for before in 0..warmup.max((!window.is_zero()).into()) {
            run(before.min(warmup.saturating_sub(1)))?;
        }
        if sampler.is_some() {
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
            let is_steady = before.is_some_and(|before| (mean / before - 1.0).abs() <= steady);
            if left == 0 || is_steady {
                while runs.len() < repeat {
                    runs.push(run(warmup + runs.len())?);
                }
                break (runs, is_steady);
            }
            before = Some(mean);
        };
        let (samples, spans): (Vec<f64>, Vec<Range<Instant>>) = runs.into_iter().unzip();
        let gauge_samples = sampler.map_or(Vec::new(), Sampler::end);
        let mut state = state(&gauge_samples, &spans, limit_w);
        if let Some(state) = &mut state {
            let of_version = gauge_samples.iter().filter(|sample| sample.begin >= since);
            state.highest_mhz =
                of_version.filter_map(|sample| sample.reading.sm_mhz).reduce(f64::max);
        }
        let is_settled = is_steady || samples.len() >= MOST;
        if is_short && !(is_settled && state.as_ref().is_some_and(ClockAndPower::is_unthrottled)) {
            is_short = false;
            continue;
        }
        let watts = state.as_ref().and_then(|state| state.mean_w);
        let each = (spans[spans.len() - 1].end - spans[0].start) / spans.len() as u32;
        let energy = watts.map(|watts| watts * each.as_secs_f64());
        return Ok((Times::from_samples(samples), state, energy));
    }
}

/// From the first to the last step of the energy counter, which moves every 20 to 100 ms: less says little.
const SHORTEST: Duration = Duration::from_millis(250);

/// The state of a GPU during runs in a row, by the samples within them. If there is none within, the last one before
/// their end counts, since what follows may belong to another version.
pub fn state(
    samples: &[GaugeSample],
    runs: &[Range<Instant>],
    power_limit_w: Option<f64>,
) -> Option<ClockAndPower> {
    let (begin, end) = (runs.first()?.start, runs.last()?.end);
    let known = |sample: &&GaugeSample| sample.reading != Reading::default();
    let samples: Vec<&GaugeSample> = samples.iter().filter(known).collect();
    let first = samples.partition_point(|sample| sample.begin < begin);
    let last = samples.partition_point(|sample| sample.end <= end);
    let first = if first < last { first } else { last.saturating_sub(1) };
    let samples = samples.get(first..last.max(first + 1)).filter(|samples| !samples.is_empty())?;
    let span = |value: fn(&Reading) -> Option<f64>| {
        Span::from_values(samples.iter().filter_map(|sample| value(&sample.reading)).collect())
    };
    let reasons: Vec<_> =
        samples.iter().filter_map(|sample| sample.reading.clock_limited_by.as_ref()).collect();
    let mut clock_limited_by: BTreeMap<String, f64> = BTreeMap::new();
    for reason in reasons.iter().copied().flatten() {
        *clock_limited_by.entry(reason.to_string()).or_default() += 1.0;
    }
    clock_limited_by.values_mut().for_each(|count| *count /= reasons.len() as f64);
    Some(ClockAndPower {
        samples: samples.len(),
        sm_mhz: span(|reading| reading.sm_mhz),
        memory_mhz: span(|reading| reading.memory_mhz),
        power_w: span(|reading| reading.power_w),
        power_limit_w,
        temperature_c: span(|reading| reading.temperature_c),
        clock_limited_by,
        highest_mhz: None,
        mean_w: mean_power(samples),
    })
}

/// Mean power from the first to the last step of the energy counter.
fn mean_power(samples: &[&GaugeSample]) -> Option<f64> {
    let counted: Vec<(Instant, f64)> = samples
        .iter()
        .filter_map(|sample| Some((sample.begin, sample.reading.energy_j?)))
        .collect();
    let mut steps = counted.windows(2).filter(|pair| pair[0].1 != pair[1].1).map(|pair| pair[1]);
    let ((first, before), (last, after)) = (steps.next()?, steps.next_back()?);
    let power = (after - before) / (last - first).as_secs_f64();
    (last - first >= SHORTEST && power > 0.0).then_some(power)
}
