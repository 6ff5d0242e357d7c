//! `gpp compare`: our kernels against the yardstick in CUDA C++, alternately, on the same arrays.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use gpp_kernels::registry::{Poles, Version};
use serde_json::{Value, json};

use super::args::CompareArgs;
use super::source::{PAPER_SYSTEM, Source};
use crate::catalogue::names::{single, versions};
use crate::devices::gpu::Gpu;
use crate::devices::gpu::yardstick::{OnBoth, Side};
use crate::devices::{Choice, Device, DeviceInfo};
use crate::error::Error;
use crate::experiments::measure::{Times, same_bits};
use crate::experiments::profile::{self, Context, ncu};
use crate::problem::systems::DEFAULT_SEED;
use crate::problem::{Problem, Sums};
use crate::process::interrupt::Kept;
use crate::process::output::{self, is_stdout, note, print, write_text};
use crate::process::progress::Progress;
use crate::record::provenance::{PROGRAM, Provenance};
use crate::reference;
use crate::reference::verify::{Outcome, verify};
use crate::render::parity::{self, Best, Parity};
use crate::render::table;

/// What is measured of both sides.
struct Comparison {
    device: DeviceInfo,
    yardstick: String,
    provenance: Provenance,
    parity: Vec<Parity>,
    best: Vec<Best>,
}

pub fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let (quiet, json) = (args.output.quiet, args.output.json.clone());
    let progress = Progress { shown: !quiet };
    let compared = compared(&args.version)?;
    let mut sources = args.problems.named()?;
    if sources.is_empty() {
        for system in [PAPER_SYSTEM, "si214-complex"] {
            sources.push(args.problems.default_system(system)?);
        }
    }
    if let Some(path) = &json {
        let inputs: Vec<_> = sources.iter().filter_map(Source::file).collect();
        output::check(path, &inputs)?;
    }
    let Choice::Gpu(index) = args.device.parse()? else {
        return Err(Error::NoGpu { why: "comparing needs a GPU: --device gpu:N".into() }.into());
    };
    let gpu = Gpu::open(index)?;
    let yardstick = gpu.yardstick(&args.nvcc)?;
    let ncu =
        ncu::Ncu::find(&args.ncu).map_err(|why| progress.say(format!("no counters: {why}"))).ok();

    let seed = args.problems.seed.unwrap_or(DEFAULT_SEED);
    let comparison = Comparison {
        device: gpu.info().clone(),
        yardstick: yardstick.compiler.clone(),
        provenance: Provenance {
            seed: args.problems.input.is_empty().then_some(seed),
            repeat: Some(args.repeat),
            ..Provenance::now(gpu.info())
        },
        parity: Vec::new(),
        best: Vec::new(),
    };
    let kept = Kept::new(comparison, move |found: &Comparison, complete| {
        if found.parity.is_empty() && found.best.is_empty() {
            return Ok(());
        }
        let to_stdout = json.as_deref().is_some_and(is_stdout);
        let printed = if quiet || to_stdout { Ok(()) } else { print(|to| show(to, found)) };
        if let Some(path) = &json {
            write_text(path, &serde_json::to_string_pretty(&document(found, complete))?)?;
        }
        printed?;
        Ok(())
    });
    let measured = || -> crate::Result<bool> {
        let mut passed = true;
        for source in &sources {
            let problem = source.load(progress)?;
            let mut race = Race::new(&gpu, &yardstick, &problem, args.repeat, progress)?;
            let name = problem.name();
            let bar = progress.bar(&format!("comparing {name}"), compared.len() as u64 + 1);
            for version in &compared {
                let [rust, cuda] =
                    race.run([(Side::Rust, version), (Side::Cuda, version)], &mut passed)?;
                let row = Parity {
                    version: version.id,
                    system: name.into(),
                    rust_ms: rust.ms,
                    cuda_ms: cuda.ms,
                    ratio: rust.ms / cuda.ms,
                    rust_error: rust.error,
                    cuda_error: cuda.error,
                };
                progress.say(format_args!(
                    "{:<4} Rust {:.2} ms, CUDA {:.2} ms, {:.3}",
                    row.version, row.rust_ms, row.cuda_ms, row.ratio
                ));
                kept.change(|found| found.parity.push(row));
                bar.inc(1);
            }
            let [v3, v8] = ["v3", "v8"].map(|id| single("--version", id));
            let (v3, v8, fastest) = (v3?, v8?, Version::best());
            let [ours, cuda, v3] =
                race.run([(Side::Rust, fastest), (Side::Cuda, v8), (Side::Rust, v3)], &mut passed)?;
            bar.finish_and_clear();
            let poles = match race.on.plan().poles() {
                Poles::Real => "real",
                Poles::Any => "complex",
            };
            drop(race);
            let counters = ncu.as_ref().and_then(|ncu| counters(ncu, args, source, &problem));
            let row = Best {
                version: fastest.id,
                system: name.into(),
                poles,
                best_ms: ours.ms,
                cuda_v8_ms: cuda.ms,
                cuda_v8_over_best: cuda.ms / ours.ms,
                best_error: ours.error,
                v3_error: v3.error,
                fp64_pipe_percent: counters.as_ref().and_then(|c| c.fp64_pipe_percent),
                hbm_bytes: counters.map(|c| c.bytes.hbm),
            };
            kept.change(|found| found.best.push(row));
        }
        Ok(passed)
    };
    let done = measured();
    let passed = kept.finish(done)?;
    Ok(ExitCode::from(u8::from(!passed)))
}

/// The versions named; of `all`, those that the yardstick has.
fn compared(names: &str) -> crate::Result<Vec<&'static Version>> {
    let (has, lacks): (Vec<_>, Vec<_>) = versions(names)?.into_iter().partition(|v| OnBoth::has(v));
    match lacks.first() {
        Some(lacking) if names != "all" => Err(Error::Data {
            origin: format!("--version {names}"),
            what: format!("the yardstick has no {}", lacking.id),
        }),
        _ => Ok(has),
    }
}

/// Geometric means of Rust over CUDA, by system.
fn means(parity: &[Parity]) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    for row in parity {
        let (sum, count) = sums.entry(row.system.clone()).or_insert((0.0, 0));
        *sum += row.ratio.ln();
        *count += 1;
    }
    sums.into_iter()
        .map(|(system, (sum, count))| (system, f64::exp(sum / f64::from(count))))
        .collect()
}

fn show(to: &mut dyn Write, found: &Comparison) -> std::io::Result<()> {
    let width = table::terminal();
    writeln!(to, "on {}: {}, {}", found.device.id, found.device.name, found.yardstick)?;
    writeln!(to, "{}", parity::sides(&found.parity, width))?;
    for (system, mean) in means(&found.parity) {
        writeln!(to, "{system}: geometric mean of Rust over CUDA {mean:.3}")?;
    }
    writeln!(to, "{}", parity::best(&found.best, width))
}

fn document(found: &Comparison, complete: bool) -> Value {
    let first = |poles: &str| found.best.iter().find(|best| best.poles == poles);
    json!({
        "schema": 1,
        "program": PROGRAM,
        "provenance": found.provenance,
        "complete": complete,
        "device": found.device,
        "yardstick": found.yardstick,
        "repeat": found.provenance.repeat,
        "parity": found.parity,
        "geometric_mean": means(&found.parity),
        "best": found.best,
        "best_over_cuda_v8": {
            "real": first("real").map(|best| best.cuda_v8_over_best),
            "complex": first("complex").map(|best| best.cuda_v8_over_best),
        },
        "fp64_pipe_percent": found.best.first().and_then(|best| best.fp64_pipe_percent),
    })
}

/// Seconds of a kernel before it is timed.
const STEADY: f64 = 0.5;

/// Median and error of one competitor.
struct Result {
    ms: f64,
    error: Option<f64>,
}

/// Both sides on one problem.
struct Race<'a> {
    on: OnBoth<'a>,
    problem: &'a Problem,
    reference: Option<reference::Reference>,
    repeat: usize,
}

impl<'a> Race<'a> {
    fn new(
        gpu: &'a Gpu,
        yardstick: &'a crate::devices::gpu::yardstick::Yardstick,
        problem: &'a Problem,
        repeat: usize,
        progress: Progress,
    ) -> crate::Result<Race<'a>> {
        let reference = reference::of(problem, progress);
        Ok(Race { on: gpu.place_for(problem, yardstick)?, problem, reference, repeat })
    }

    /// Runs the competitors in turn and verifies the last sums of each. A device at its power limit
    /// takes some tenths of a second to find the clock for another kernel, so each turn is [`STEADY`]
    /// seconds of runs and then the timed one.
    fn run<const N: usize>(
        &mut self,
        competitors: [(Side, &'static Version); N],
        passed: &mut bool,
    ) -> crate::Result<[Result; N]> {
        let mut samples = [const { Vec::new() }; N];
        let mut sums: [Option<Sums>; N] = [const { None }; N];
        let mut repeats = [true; N];
        for _ in 0..self.repeat {
            for (at, (side, version)) in competitors.iter().enumerate() {
                let mut warm = 0.0;
                while warm < STEADY {
                    warm += self.on.run(*side, version)?.1;
                }
                let (last, seconds) = self.on.run(*side, version)?;
                samples[at].push(seconds);
                repeats[at] &= sums[at].as_ref().is_none_or(|before| same_bits(before, &last));
                sums[at] = Some(last);
            }
        }
        Ok(std::array::from_fn(|at| {
            let sums = sums[at].take().expect("at least the warm-up ran");
            let sums = self.problem.start().plus(&sums);
            let mut verification = verify(self.problem, &sums, self.reference.as_ref());
            if !repeats[at] && verification.outcome != Outcome::Incorrect {
                verification.outcome = Outcome::Nondeterministic;
            }
            if verification.outcome != Outcome::Passed {
                let (side, version) = competitors[at];
                let outcome = table::outcome(verification.outcome);
                let name = self.problem.name();
                note(format_args!("{} by {side:?} on {name}: {outcome}", version.id));
                *passed = false;
            }
            Result {
                ms: Times::of(std::mem::take(&mut samples[at])).median * 1e3,
                error: verification.max_rel_error,
            }
        }))
    }
}

/// The best version's counters; what fails is said and leaves them out.
fn counters(
    ncu: &ncu::Ncu,
    args: &CompareArgs,
    source: &Source,
    problem: &Problem,
) -> Option<profile::Profile> {
    let target = ncu::Target {
        versions: "best".into(),
        problem: source.arguments(),
        device: args.device.clone(),
    };
    let context = Context {
        system: problem.name().into(),
        terms: problem.terms(),
        source: format!("hardware counters, ncu {}", ncu.version),
        operations: Vec::new(),
    };
    ncu.counters(&target, true)
        .map_err(|e| e.to_string())
        .and_then(|(_, launches)| profile::aggregate(&launches, &context))
        .map_err(|why| note(format_args!("no counters of {}: {why}", problem.name())))
        .ok()?
        .pop()
}
