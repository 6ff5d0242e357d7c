//! Versions against the builds of the yardstick in Fortran, in turn, on the same arrays and with as many
//! threads.

use std::path::PathBuf;

use gpp_cpu::pool::Threads;

use super::estimate::Estimate;
use super::measure::{judged, same_bits};
use super::source::Source;
use crate::catalogue::{Kernel, Listed, sources};
use crate::devices::Device;
use crate::devices::fortran::{Placed, Yardstick};
use crate::devices::host::Host;
use crate::engine::{Engine, total};
use crate::error::Result;
use crate::problem::{Problem, Sums};
use crate::process::progress::Progress;
use crate::record::Head;
use crate::record::provenance::Provenance;
use crate::record::race::{Race, Racer, Side};
use crate::record::times::Times;
use crate::reference::{self, Reference};

/// What is compared, and with what.
#[derive(Clone)]
pub struct Options {
    /// Our versions.
    pub versions: Vec<Listed>,
    /// The problems.
    pub sources: Vec<Source>,
    /// Seed of those that are built-in systems.
    pub seed: Option<u64>,
    /// Timed runs of each.
    pub repeat: usize,
    /// The compiler of the yardstick.
    pub gfortran: PathBuf,
}

/// Compares on a processor; `each` is called after each problem.
///
/// # Errors
/// [`crate::Error::Compiler`] without gfortran; those of the device and of [`Source::load`].
pub fn race(
    host: &Host,
    options: &Options,
    progress: Progress,
    mut each: impl FnMut(&Race),
) -> Result<Race> {
    let mut yardstick = Yardstick::compile(&options.gfortran)?;
    let Options { versions, repeat, seed, .. } = options;
    // As many as the versions that use all.
    let threads = host.pool(Threads::All)?.threads();
    let info = host.info();
    let provenance = Provenance { seed: *seed, repeat: Some(*repeat), ..Provenance::now(info) };
    let mut race = Race {
        head: Head::new(info, provenance),
        yardstick: yardstick.compiler.clone(),
        repeat: *repeat,
        racers: Vec::new(),
    };
    for source in &options.sources {
        let problem = source.load_for_yardstick(progress)?;
        let reference = reference::of(&problem, progress)?;
        let mut competitors = Vec::new();
        for loaded in &mut yardstick.builds {
            let build = loaded.build;
            let runner = Runner::Fortran(loaded.place(&problem)?);
            let flags = Some(build.flags().join(" "));
            competitors
                .push(Competitor { flags, ..Competitor::new(build.name(), runner, threads) });
        }
        for version in versions {
            let (simd, threads) = match version.kernel {
                Kernel::Cpu(cpu) => {
                    (Some(cpu.level(host.level()).to_string()), host.pool(cpu.threads)?.threads())
                }
                // The emulator's.
                Kernel::Gpu(_) => (None, rayon::current_num_threads()),
            };
            let runner = Runner::Rust(version.kernel);
            let name = version.id().into();
            competitors.push(Competitor { simd, ..Competitor::new(name, runner, threads) });
        }
        let mut engine = Engine::whole(host, &problem)?;
        let runs = repeat * competitors.len();
        let mut estimate = Estimate::on(host, &problem);
        versions.iter().for_each(|version| estimate.runs(version.kernel, 2 * repeat));
        estimate.yardsticks(competitors.len() - versions.len(), 2 * repeat);
        estimate.say("--repeat 1 is the least", progress);
        let bar = progress.bar(&format!("comparing {}", problem.name()), runs as u64);
        for _ in 0..*repeat {
            for competitor in &mut competitors {
                competitor.turn(&mut engine)?;
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        for by in competitors {
            race.racers.push(by.racer(&problem, reference.as_ref())?);
        }
        each(&race);
    }
    race.head.complete = true;
    Ok(race)
}

/// Who sums.
enum Runner<'a> {
    /// A version.
    Rust(Kernel),
    /// A build.
    Fortran(Placed<'a>),
}

impl Runner<'_> {
    /// One calculation: its sums and seconds.
    fn run(&mut self, engine: &mut Engine, threads: usize) -> Result<(Sums, f64)> {
        match self {
            Runner::Rust(kernel) => {
                let done = engine.run(*kernel)?;
                Ok((done.sums, done.seconds))
            }
            Runner::Fortran(placed) => {
                let done = placed.sum(threads);
                Ok((total::of([&done], engine.problem().nw()), done.seconds))
            }
        }
    }
}

/// Someone and what was seen of them.
struct Competitor<'a> {
    name: String,
    flags: Option<String>,
    simd: Option<String>,
    threads: usize,
    runner: Runner<'a>,
    samples: Vec<f64>,
    last: Option<Sums>,
    deterministic: bool,
}

impl<'a> Competitor<'a> {
    fn new(name: String, runner: Runner<'a>, threads: usize) -> Competitor<'a> {
        let (flags, simd, samples, last) = (None, None, Vec::new(), None);
        Competitor { name, flags, simd, threads, runner, samples, last, deterministic: true }
    }

    /// A run that warms up, while the threads of whoever was before come to rest, then the timed one.
    fn turn(&mut self, engine: &mut Engine) -> Result<()> {
        self.runner.run(engine, self.threads)?;
        let (sums, seconds) = self.runner.run(engine, self.threads)?;
        self.samples.push(seconds);
        self.deterministic &= self.last.as_ref().is_none_or(|before| same_bits(before, &sums));
        self.last = Some(sums);
        Ok(())
    }

    /// What is recorded, the last sums verified. Of sums that OpenMP's threads add in the order in which
    /// they are done nobody asks the same bits.
    fn racer(self, problem: &Problem, reference: Option<&Reference>) -> Result<Racer> {
        let side = match self.runner {
            Runner::Rust(_) => Side::Rust,
            Runner::Fortran(_) => Side::Fortran,
        };
        let deterministic = self.deterministic || side == Side::Fortran;
        let sums = problem.start().plus(&self.last.expect("at least one run is timed"));
        let verification = judged(problem, &sums, reference, deterministic)?;
        let times = Times::of(self.samples);
        let source_hash = (side == Side::Rust).then(|| sources::hash(&self.name)).flatten();
        Ok(Racer {
            system: problem.name().into(),
            poles: problem.poles().into(),
            terms: problem.terms(),
            side,
            name: self.name,
            flags: self.flags,
            simd: self.simd,
            source_hash,
            threads: self.threads,
            ns_per_term: times.median * 1e9 / problem.terms() as f64,
            over_fortran: None,
            times,
            max_rel_error: verification.max_rel_error,
            outcome: verification.outcome,
        })
    }
}
