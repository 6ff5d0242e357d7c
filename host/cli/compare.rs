//! `gpp compare`: our kernels against the yardstick in CUDA C++, alternately, on the same arrays.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use gpp_kernels::registry::{Poles, Version};
use serde_json::json;

use super::CompareArgs;
use super::run::versions;
use crate::devices::cpu::require_memory;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::yardstick::{OnBoth, Side};
use crate::devices::{Choice, Device};
use crate::error::Error;
use crate::measure::Times;
use crate::output::replace;
use crate::problem::{Problem, synthesis, systems};
use crate::profile::{self, Context, ncu};
use crate::progress::Progress;
use crate::reference;
use crate::report::parity::{self, Best, Parity};
use crate::verify::{Outcome, verify};

pub fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let progress = Progress { shown: !args.quiet };
    let compared: Vec<&'static Version> =
        versions(&args.version)?.into_iter().filter(|version| OnBoth::has(version)).collect();
    let systems =
        args.system.iter().map(|name| systems::find(name)).collect::<crate::Result<Vec<_>>>()?;
    let Choice::Gpu(index) = args.device.parse()? else {
        return Err(Error::NoGpu { why: "comparing needs a GPU: --device gpu:N".into() }.into());
    };
    let gpu = Gpu::open(index)?;
    let yardstick = gpu.yardstick(&args.nvcc)?;
    let ncu = ncu::Ncu::find(&args.ncu).map_err(|why| eprintln!("no counters: {why}")).ok();

    let (mut parity, mut best) = (Vec::new(), Vec::new());
    let mut passed = true;
    for system in systems {
        require_memory(&system.name, system.bytes())?;
        let problem = synthesis::synthesise(system, args.seed, progress)?;
        let mut race = Race::new(&gpu, &yardstick, &problem, args.repeat, progress)?;
        let bar = progress.bar(&format!("comparing {}", system.name), compared.len() as u64 + 1);
        for version in &compared {
            let [rust, cuda] =
                race.run([(Side::Rust, version), (Side::Cuda, version)], &mut passed)?;
            parity.push(Parity {
                version: version.id,
                system: system.name.clone(),
                rust_ms: rust.ms,
                cuda_ms: cuda.ms,
                ratio: rust.ms / cuda.ms,
                rust_error: rust.error,
                cuda_error: cuda.error,
            });
            bar.inc(1);
        }
        let [v3, v8] = ["v3", "v8"].map(|id| versions(id).map(|found| found[0]));
        let (v3, v8, fastest) = (v3?, v8?, Version::best());
        let [ours, cuda, v3] =
            race.run([(Side::Rust, fastest), (Side::Cuda, v8), (Side::Rust, v3)], &mut passed)?;
        bar.finish_and_clear();
        let poles = match race.on.plan().poles {
            Poles::Real => "real",
            Poles::Any => "complex",
        };
        drop(race);
        let counters = ncu.as_ref().and_then(|ncu| counters(ncu, args, &problem));
        best.push(Best {
            version: fastest.id,
            system: system.name.clone(),
            poles,
            best_ms: ours.ms,
            cuda_v8_ms: cuda.ms,
            cuda_v8_over_best: cuda.ms / ours.ms,
            best_error: ours.error,
            v3_error: v3.error,
            fp64_pipe_percent: counters.as_ref().and_then(|c| c.fp64_pipe_percent),
            hbm_bytes: counters.map(|c| c.bytes.hbm),
        });
    }

    let first = |poles: &str| best.iter().find(|best| best.poles == poles);
    let mut means = BTreeMap::new();
    for row in &parity {
        let (sum, count) = means.entry(row.system.clone()).or_insert((0.0, 0));
        *sum += row.ratio.ln();
        *count += 1;
    }
    let means: BTreeMap<String, f64> = means
        .into_iter()
        .map(|(system, (sum, count))| (system, f64::exp(sum / f64::from(count))))
        .collect();
    let document = json!({
        "schema": 1,
        "program": format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
        "device": gpu.info(),
        "yardstick": yardstick.compiler,
        "repeat": args.repeat,
        "parity": parity,
        "geometric_mean": means,
        "best": best,
        "best_over_cuda_v8": {
            "real": first("real").map(|best| best.cuda_v8_over_best),
            "complex": first("complex").map(|best| best.cuda_v8_over_best),
        },
        "fp64_pipe_percent": best.first().and_then(|best| best.fp64_pipe_percent),
    });
    let text = serde_json::to_string_pretty(&document)?;
    if let Some(path) = &args.json
        && path != Path::new("-")
    {
        replace(path, |file| writeln!(file, "{text}"))?;
    }
    let mut to = std::io::stdout().lock();
    if args.json.as_deref() == Some(Path::new("-")) {
        writeln!(to, "{text}")?;
    } else if !args.quiet {
        writeln!(to, "on {}: {}, {}", gpu.info().id, gpu.info().name, yardstick.compiler)?;
        writeln!(to, "{}", parity::sides(&parity))?;
        for (system, mean) in &means {
            writeln!(to, "{system}: geometric mean of Rust over CUDA {mean:.3}")?;
        }
        writeln!(to, "{}", parity::best(&best))?;
    }
    Ok(ExitCode::from(u8::from(!passed)))
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
        let mut sums = [const { None }; N];
        for _ in 0..self.repeat {
            for (at, (side, version)) in competitors.iter().enumerate() {
                let mut warm = 0.0;
                while warm < STEADY {
                    warm += self.on.run(*side, version)?.1;
                }
                let (last, seconds) = self.on.run(*side, version)?;
                samples[at].push(seconds);
                sums[at] = Some(last);
            }
        }
        Ok(std::array::from_fn(|at| {
            let sums = sums[at].take().expect("at least the warm-up ran");
            let sums = self.problem.start.plus(&sums);
            let verification = verify(self.problem, &sums, self.reference.as_ref());
            if verification.outcome != Outcome::Passed {
                let (side, version) = competitors[at];
                let outcome = verification.outcome;
                eprintln!("{} by {side:?} on {}: {outcome:?}", version.id, self.problem.name);
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
fn counters(ncu: &ncu::Ncu, args: &CompareArgs, problem: &Problem) -> Option<profile::Profile> {
    let target = ncu::Target {
        versions: "best".into(),
        problem: ["--system", &problem.name, "--seed", &args.seed.to_string()]
            .map(Into::into)
            .to_vec(),
        device: args.device.clone(),
    };
    let context = Context {
        system: problem.name.clone(),
        terms: problem.terms(),
        source: format!("hardware counters, ncu {}", ncu.version),
        operations: Vec::new(),
    };
    ncu.counters(&target, true)
        .map_err(|e| e.to_string())
        .and_then(|(_, launches)| profile::aggregate(&launches, &context))
        .map_err(|why| eprintln!("no counters of {}: {why}", problem.name))
        .ok()?
        .pop()
}
