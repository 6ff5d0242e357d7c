//! Warm-up, timed runs and the clocks meanwhile.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gpp_cpu::versions::Cpu;
use gpp_kernels::kernel::{Gpu, Loops};

use crate::catalogue::{BackEnd, Kernel, sources};
use crate::devices::entry;
use crate::devices::gauge::{self, Gauge, Look, Reading};
use crate::devices::{Device, Done, KernelInfo, Watch, gpu};
use crate::engine::{Calculation, Engine};
use crate::error::Result;
use crate::problem::{Problem, Slabs, Sums};
use crate::record::run::{Measurement, Repetition, Span, State, Threads, TileShape, Times, Work};
use crate::reference::Reference;
use crate::reference::verify::{Outcome, Verification, verify};

/// Source of the operation counts that kernels hold.
pub const ARCHIVED_COUNTS: &str = "archived: hardware counters, these kernels, si214 on an H200";

const NOT_COUNTED: &str = "none: no counters of these kernels are archived";

/// Has `engine` run a version on `device`, which is watched meanwhile, and compares the sums with
/// `reference`.
pub fn measure(
    version: Kernel,
    device: &dyn Device,
    engine: &mut Engine,
    reference: Option<&Reference>,
    repetition: Repetition,
    telling: &Telling,
) -> Result<Measurement> {
    // What is timed has its data in place, the first calculation too.
    engine.ready(version)?;
    let mut runs =
        Runs { version, engine, telling, first_s: None, last: None, deterministic: true };
    let (times, seen) = timed(device.gauge(), repetition, &mut |before, is_last| {
        if is_last {
            (telling.last)();
        }
        runs.run(before)
    })?;
    let Runs { first_s, last, deterministic, .. } = runs;
    let Calculation { sums, blocks, workers, .. } = last.expect("at least one is timed");
    let is_shared = workers.len() > 1 || engine.slabs().count() > 1;
    let work = is_shared.then(|| Work::of(workers, first_s));
    let Seen { state, held_back, energy_j } = seen;
    let problem = engine.problem();
    let sums = problem.start().plus(&sums);
    let verification = judged(engine.slabs(), &sums, reference, deterministic)?;
    let kernel = match version {
        Kernel::Gpu(gpu) => for_gpu(gpu, device, problem)?,
        Kernel::Cpu(cpu) => for_cpu(cpu, device)?,
    };
    // Of several devices one clock tells nothing.
    let clock = state.as_ref().and_then(|state| state.sm_mhz).filter(|_| work.is_none());
    let clock = clock.map(|clock| clock.median);
    let mut result = Measurement {
        version: version.id().into(),
        device: device.info().id.clone(),
        emulated: version.back_end() != device.back_end(),
        spread: Some(times.spread()),
        cycles: clock.map(|mhz| mhz * 1e6 * times.median),
        state,
        held_back,
        // Looks are at the first device alone.
        energy_j: energy_j.filter(|_| work.is_none()),
        flops: None,
        flops_source: NOT_COUNTED.into(),
        tflops: None,
        times,
        kernel: kernel.known.as_ref().map(|known| known.symbol.clone()),
        kernel_hash: kernel.known.as_ref().and_then(|known| {
            (device.back_end() == BackEnd::Gpu).then(|| gpu::hash(&known.symbol))?
        }),
        task: None,
        source_hash: sources::hash(version.id()),
        registers: kernel.known.as_ref().and_then(|known| known.registers),
        local_bytes: kernel.known.as_ref().and_then(|known| known.local_bytes),
        warps_per_sm: kernel.known.as_ref().and_then(|known| known.warps_per_sm),
        threads_per_block: kernel.threads_per_block,
        blocks,
        shape: kernel.shape,
        simd: kernel.simd,
        threads: kernel.threads,
        sums,
        deterministic,
        work,
        verification,
    };
    if let Some((per_term, source)) = kernel.flops_per_term {
        result.rate(per_term * problem.terms() as f64, source);
    }
    Ok(result)
}

/// What is recorded of the kernel that ran; what does not apply is `None`.
struct Ran {
    /// Operations of a term and who counted them, where that is kept.
    flops_per_term: Option<(f64, &'static str)>,
    known: Option<KernelInfo>,
    threads_per_block: Option<u32>,
    shape: Option<TileShape>,
    simd: Option<String>,
    threads: Option<Threads>,
}

fn for_gpu(gpu: &'static Gpu, device: &dyn Device, problem: &Problem) -> Result<Ran> {
    // Of the last batch, which may have fewer energies, nothing is recorded.
    let first = Kernel::Gpu(gpu).batches(problem).first();
    let launch = first.plan().kernel(gpu);
    let shape = match launch.loops {
        Loops::Tiled(shape) => Some(TileShape {
            tile: shape.tile,
            warps: shape.warps,
            max_registers: launch.max_registers,
        }),
        _ => None,
    };
    Ok(Ran {
        flops_per_term: launch.flops_per_term.map(|archived| (archived, ARCHIVED_COUNTS)),
        known: Some(device.kernel(launch, entry(launch, first.nw()))?),
        threads_per_block: Some(launch.threads),
        shape,
        simd: None,
        threads: None,
    })
}

fn for_cpu(cpu: &'static Cpu, device: &dyn Device) -> Result<Ran> {
    let host = device.host().expect("it ran on a processor");
    Ok(Ran {
        flops_per_term: None,
        known: None,
        threads_per_block: None,
        shape: None,
        simd: Some(cpu.level(host.level()).to_string()),
        threads: Some(Threads { count: host.team().count(cpu.threads) as u32 }),
    })
}

/// Compares the last sums of repeated runs, starting sums included, with a reference. Wrong sums are
/// worse than sums that change.
pub fn judged<'a>(
    problem: impl Into<Slabs<'a>>,
    sums: &Sums,
    reference: Option<&Reference>,
    deterministic: bool,
) -> Result<Verification> {
    let mut verification = verify(problem, sums, reference)?;
    if !deterministic && verification.outcome != Outcome::Incorrect {
        verification.outcome = Outcome::Nondeterministic;
    }
    Ok(verification)
}

/// Equal as bits, so that NaN equals itself.
pub fn same_bits(a: &Sums, b: &Sums) -> bool {
    let bits = |sums: &Sums| -> Vec<[u64; 2]> {
        sums.named(1).map(|(_, z)| [z.re.to_bits(), z.im.to_bits()]).collect()
    };
    bits(a) == bits(b)
}

// Runs of a version: as many as it takes to settle, then those that are timed.

/// What is told of while it goes on.
pub struct Telling<'a> {
    /// How many of the calculations asked for are done, and which part of the next one.
    pub done: Done<'a>,
    /// That the next calculation is the last, where that is known beforehand.
    pub last: &'a dyn Fn(),
}

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
        let calculation = self.engine.run_with(self.version, Watch::of(&of_run))?;
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

pub const QUIETLY: Telling<'static> = Telling { done: &|_| (), last: &|| () };

/// How long a window of runs is on a device, unless it is said: one with a gauge has clocks to settle, in some
/// tenths of a second. Profilers have one calculation run, and say so by no warm-up.
pub fn settle(device: &dyn Device, warmup: Option<usize>) -> Duration {
    let gauge = (warmup != Some(0)).then(|| device.gauge()).flatten();
    gauge.map_or(Duration::ZERO, |_| Duration::from_secs(1))
}

// A board at its limit of power lowers the clock of its multiprocessors some tenths of a second after a kernel
// has begun to take more, then seeks the clock that it can hold. So runs go on in windows, until two in a row take
// the same time.

/// Runs of a window at most, where fewer were asked for.
pub const MOST: usize = 200;

/// Windows at most: the clock may swing about the one that the board can hold.
const WINDOWS: usize = 5;

/// Means of two windows that differ by no more are of a steady state.
const STEADY: f64 = 0.005;

/// A run, given how many of those asked for are done before it and whether it is known to be the last: its seconds,
/// and when these were.
pub type Run<'r> = dyn FnMut(usize, bool) -> Result<(f64, Range<Instant>)> + 'r;

/// Runs as often as `repetition` says and, where it has a time, in windows of that time: the last one counts.
pub fn timed(
    gauge: Option<Arc<dyn Gauge>>,
    repetition: Repetition,
    run: &mut Run,
) -> Result<(Times, Seen)> {
    let Repetition { warmup, repeat, settle } = repetition;
    let limit_w = gauge.as_ref().and_then(|gauge| gauge.power_limit_w());
    let watch = gauge.map(gauge::Watch::begin);
    // The first run may have compiled its kernel.
    for before in 0..warmup.max((!settle.is_zero()).into()) {
        run(before.min(warmup.saturating_sub(1)), false)?;
    }
    if watch.is_some() {
        // A board that has rested shows the highest clock.
        thread::sleep(settle / 2);
    }
    let since = Instant::now();
    let mut left = if settle.is_zero() { 1 } else { WINDOWS };
    let mut before: Option<f64> = None;
    let runs = loop {
        let mut runs: Vec<(f64, Range<Instant>)> = Vec::new();
        let mut next = |runs: &mut Vec<_>| -> Result<()> {
            let is_last = settle.is_zero() && runs.len() + 1 == repeat;
            runs.push(run(warmup + runs.len().min(repeat - 1), is_last)?);
            Ok(())
        };
        let begin = Instant::now();
        while runs.is_empty() || runs.len() < MOST && begin.elapsed() < settle {
            next(&mut runs)?;
        }
        let mean = runs.iter().map(|(seconds, _)| seconds).sum::<f64>() / runs.len() as f64;
        left -= 1;
        if left == 0 || before.is_some_and(|before| (mean / before - 1.0).abs() <= STEADY) {
            while runs.len() < repeat {
                next(&mut runs)?;
            }
            break runs;
        }
        before = Some(mean);
    };
    let (samples, spans): (_, Vec<_>) = runs.into_iter().unzip();
    let looks = watch.map_or(Vec::new(), gauge::Watch::end);
    let mut seen = seen(&looks, &spans, limit_w);
    if let Some(state) = &mut seen.state {
        let of_version = looks.iter().filter(|look| look.begin >= since);
        state.highest_mhz = of_version.filter_map(|look| look.reading.sm_mhz).reduce(f64::max);
    }
    Ok((Times::of(samples), seen))
}

// What was seen of a GPU during timed runs.

/// What the looks tell of runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub state: Option<State>,
    /// For each run, whether something held the clock back; `None` where nobody tells.
    pub held_back: Option<Vec<bool>>,
    /// Energy of a run in joules, of runs in a row.
    pub energy_j: Option<f64>,
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
