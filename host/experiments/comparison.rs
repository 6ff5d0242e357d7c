//! Our kernels against the yardstick in CUDA C++, one after the other, on the same arrays.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use gpp_kernels::kernel::Gpu as Kernels;

use super::measure::regimes;
use super::measure::seen::Seen;
use super::measure::timed::settle;
use super::measure::{judged, same_bits};
use super::profile::aggregate::{Context, aggregate};
use super::profile::ncu::{Ncu, Target};
use super::source::Source;
use crate::catalogue::{self, BackEnd, Kernel, Listed, best, sources};
use crate::devices::Device;
use crate::devices::gauge::Gauge;
use crate::devices::gpu::yardstick::{OnBoth, Side, Yardstick};
use crate::devices::gpu::{self, Gpu};
use crate::devices::launch::entry;
use crate::engine::total;
use crate::error::{Error, Result};
use crate::problem::{Problem, Sums};
use crate::process::progress::Progress;
use crate::process::terminal::note;
use crate::record::Head;
use crate::record::comparison::{Best, By, ByPoles, Comparison, Competitor, Failure, Parity};
use crate::record::profile::Profile;
use crate::record::provenance::{Provenance, Regime};
use crate::record::times::{Repetition, Times};
use crate::reference::{self, Reference, verify::Outcome};

/// What is compared, and with what.
#[derive(Clone)]
pub struct Options {
    /// Versions that both sides have: see [`both_have`].
    pub versions: Vec<Listed>,
    /// The problems.
    pub sources: Vec<Source>,
    /// Seed of those that are built-in systems.
    pub seed: Option<u64>,
    /// Timed runs of each side.
    pub repeat: usize,
    /// The compiler of the yardstick.
    pub nvcc: PathBuf,
    /// The profiler, for the counters of the best version.
    pub ncu: PathBuf,
}

/// The versions among these that the yardstick has.
///
/// # Errors
/// [`Error::Data`] for one that it lacks, unless `all` were asked for.
pub fn both_have(versions: Vec<Listed>, names: &str) -> Result<Vec<Listed>> {
    let (has, lacks): (Vec<_>, Vec<_>) =
        versions.into_iter().partition(|version| version.gpu().is_some_and(OnBoth::has));
    match lacks.first() {
        Some(lacking) if names != "all" => Err(Error::Data {
            origin: format!("--version {names}"),
            what: format!("the yardstick has no {}", lacking.id()),
        }),
        _ => Ok(has),
    }
}

/// Compares; `each` is called after each version of each problem.
///
/// # Errors
/// [`Error::Compiler`] without nvcc; those of the device and of [`Source::load`].
///
/// # Panics
/// Never: v3 and v8 are versions of the paper.
pub fn compare(
    gpu: &Gpu,
    options: &Options,
    progress: Progress,
    mut each: impl FnMut(&Comparison),
) -> Result<Comparison> {
    let yardstick = gpu.yardstick(&options.nvcc)?;
    let ncu = Ncu::find(&options.ncu)
        .map_err(|why| progress.say(format_args!("no counters: profiler: {why}")))
        .ok();
    let repeat = Some(options.repeat);
    let settle = settle(gpu, None);
    let repetition = Repetition { settle, ..Repetition::exactly(1, options.repeat) };
    let provenance = Provenance {
        seed: options.seed,
        repeat,
        settle_s: Some(settle.as_secs_f64()),
        regime: Regime::of(repetition),
        ..Provenance::now(gpu.info())
    };
    let mut found = Comparison {
        head: Head::new(gpu.info(), provenance),
        yardstick: yardstick.compiler.clone(),
        repeat,
        parity: Vec::new(),
        geometric_mean: Default::default(),
        best: Vec::new(),
        best_over_cuda_v8: ByPoles::default(),
        fp64_pipe_percent: None,
        failures: Vec::new(),
    };
    for source in &options.sources {
        let problem = source.load_for_yardstick(progress)?;
        let mut race = Race::new(gpu, &yardstick, &problem, repetition, progress)?;
        let system = problem.name();
        let bar = progress.bar(&format!("comparing {system}"), options.versions.len() as u64 + 1);
        for version in &options.versions {
            let kernels = version.kernel.require_gpu()?;
            let [rust, cuda] = race.run([Side::Rust, Side::Cuda].map(|side| (side, kernels)))?;
            found.failures.append(&mut race.failures);
            found.parity.push(Parity {
                version: version.id().into(),
                system: system.into(),
                rust_ms: rust.ms,
                cuda_ms: cuda.ms,
                ratio: rust.ms / cuda.ms,
                ratio_before_cap: before_cap(&rust.runs, &cuda.runs),
                kernel: Some(rust.kernel.into()),
                kernel_hash: gpu::hash(rust.kernel),
                source_hash: sources::hash(version.id()),
                rust_error: rust.error,
                cuda_error: cuda.error,
                rust: Some(rust.runs),
                cuda: Some(cuda.runs),
                verdict: None,
            });
            each(&found);
            bar.inc(1);
        }
        let [v3, v8] = ["v3", "v8"].map(|id| {
            catalogue::find(id).and_then(|listed| listed.gpu()).expect("a version of the paper")
        });
        let fastest = best(BackEnd::Gpu).kernel.require_gpu()?;
        let [ours, cuda, v3] =
            race.run([(Side::Rust, fastest), (Side::Cuda, v8), (Side::Rust, v3)])?;
        found.failures.append(&mut race.failures);
        bar.finish_and_clear();
        let poles = problem.poles().into();
        drop(race);
        let counters = ncu.as_ref().and_then(|ncu| counters(ncu, gpu, source, &problem));
        found.best.push(Best {
            version: fastest.id().into(),
            system: system.into(),
            poles,
            kernel: Some(ours.kernel.into()),
            kernel_hash: gpu::hash(ours.kernel),
            source_hash: sources::hash(fastest.id()),
            best_ms: ours.ms,
            cuda_v8_ms: cuda.ms,
            cuda_v8_over_best: cuda.ms / ours.ms,
            over_best_before_cap: before_cap(&cuda.runs, &ours.runs),
            best_error: ours.error,
            v3_error: v3.error,
            fp64_pipe_percent: counters.as_ref().and_then(|c| c.fp64_pipe_percent),
            hbm_bytes: counters.map(|c| c.bytes.hbm),
            best: Some(ours.runs),
            cuda_v8: Some(cuda.runs),
            verdict: None,
        });
        each(&found);
    }
    found.head.complete = true;
    Ok(found)
}

/// What one competitor did.
struct Timed {
    ms: f64,
    error: Option<f64>,
    /// Symbol of our kernel.
    kernel: &'static str,
    runs: Competitor,
}

/// Both sides on one problem.
struct Race<'a> {
    gauge: Option<Arc<dyn Gauge>>,
    on: OnBoth<'a>,
    problem: &'a Problem,
    reference: Option<Reference>,
    repetition: Repetition,
    failures: Vec<Failure>,
}

impl<'a> Race<'a> {
    fn new(
        gpu: &'a Gpu,
        yardstick: &'a Yardstick,
        problem: &'a Problem,
        repetition: Repetition,
        progress: Progress,
    ) -> Result<Race<'a>> {
        let reference = reference::of(problem, progress)?;
        let on = gpu.both(problem, yardstick)?;
        let gauge = gpu.gauge();
        Ok(Race { gauge, on, problem, reference, repetition, failures: Vec::new() })
    }

    /// Times the competitors one after the other, each before the cap and sustained, and verifies the last sums of
    /// each.
    fn run<const N: usize>(
        &mut self,
        competitors: [(Side, &'static Kernels); N],
    ) -> Result<[Timed; N]> {
        let timed = competitors.map(|(side, version)| self.timed(side, version));
        let timed: Vec<Timed> = timed.into_iter().collect::<Result<_>>()?;
        Ok(timed.try_into().unwrap_or_else(|_| unreachable!("one of each")))
    }

    fn timed(&mut self, side: Side, version: &'static Kernels) -> Result<Timed> {
        let Race { on, problem, .. } = self;
        let (mut last, mut repeats) = (None::<Sums>, true);
        let regimes::Timed { samples, seen, before_cap } =
            regimes::timed(self.gauge.clone(), self.repetition, &mut |_, _| {
                let begin = Instant::now();
                let calculated = on.sum(side, version)?;
                let at = begin..Instant::now();
                let sums = total::of([&calculated], problem.nw());
                repeats &= last.as_ref().is_none_or(|before| same_bits(before, &sums));
                last = Some(sums);
                Ok((calculated.seconds, at))
            })?;
        let sums = problem.start().plus(&last.expect("at least one is timed"));
        let verification = judged(*problem, &sums, self.reference.as_ref(), repeats)?;
        if verification.outcome != Outcome::Passed {
            self.failures.push(Failure {
                version: version.id().into(),
                system: self.problem.name().into(),
                by: match side {
                    Side::Rust => By::Rust,
                    Side::Cuda => By::Cuda,
                },
                outcome: verification.outcome,
            });
        }
        let times = Times::of(samples);
        let Seen { state, held_back, .. } = seen;
        let held_back = held_back.map(|marks| marks.into_iter().filter(|held| *held).count());
        let batch = self.problem.batches_for(Kernel::Gpu(version)).first();
        let kernel = batch.plan().kernel(version);
        Ok(Timed {
            kernel: entry(kernel, batch.nw()).symbol,
            ms: times.median * 1e3,
            error: verification.max_rel_error,
            runs: Competitor { spread: times.spread(), times, before_cap, state, held_back },
        })
    }
}

/// The times of one side over the other's, before the cap.
fn before_cap(over: &Competitor, under: &Competitor) -> Option<f64> {
    let median = |side: &Competitor| Some(side.before_cap.as_ref()?.times.median);
    Some(median(over)? / median(under)?)
}

/// The best version's counters; what fails is said and leaves them out.
fn counters(ncu: &Ncu, gpu: &Gpu, source: &Source, problem: &Problem) -> Option<Profile> {
    let target = Target {
        versions: "best".into(),
        problem: source.arguments(),
        device: gpu.info().id.clone(),
    };
    let origin = format!("hardware counters, ncu {}", ncu.version);
    let context = Context::new(problem, origin, Vec::new());
    ncu.counters(&target, true)
        .and_then(|(_, launches)| aggregate(&launches, &context))
        .map_err(|why| note(format_args!("no counters of {}: {why}", problem.name())))
        .ok()?
        .pop()
}
