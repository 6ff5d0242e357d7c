//! Versions and the builds of the yardstick in Fortran, in turn, with as many threads.

use std::path::Path;

use gpp_cpu::pool::Threads;

use super::{Course, On, Seen};
use crate::catalogue::Kernel;
use crate::devices::fortran::{Placed, Yardstick};
use crate::devices::host::Host;
use crate::devices::{Device, DeviceInfo};
use crate::engine::{Engine, total};
use crate::error::Result;
use crate::problem::Sums;
use crate::record::comparison::{Heat, Racer, Side};
use crate::record::times::Repetition;

/// A processor, and the yardstick in Fortran.
pub struct OnCpu<'a> {
    host: &'a Host,
    yardstick: Yardstick,
}

impl<'a> OnCpu<'a> {
    /// Compiles the yardstick.
    ///
    /// # Errors
    /// [`crate::Error::Compiler`] without gfortran.
    pub fn new(host: &'a Host, gfortran: &Path) -> Result<OnCpu<'a>> {
        Ok(OnCpu { host, yardstick: Yardstick::compile(gfortran)? })
    }
}

impl Course for OnCpu<'_> {
    fn info(&self) -> &DeviceInfo {
        self.host.info()
    }

    fn compiler(&self) -> &str {
        &self.yardstick.compiler
    }

    fn repetition(&self, repeat: usize) -> Repetition {
        Repetition::exactly(1, repeat)
    }

    fn heats(&mut self, on: &On, done: &mut dyn FnMut(Heat)) -> Result<()> {
        let OnCpu { host, yardstick } = self;
        let On { options, problem, progress, .. } = *on;
        let repeat = options.repeat;
        // As many as the versions that use all.
        let threads = host.team().count(Threads::All);
        let mut competitors = Vec::new();
        for loaded in &mut yardstick.builds {
            let build = loaded.build;
            let flags = Some(build.flags().join(" "));
            let runner = Runner::Fortran(loaded.place(problem)?);
            let own = Competitor { flags, ..Competitor::new(build.name(), runner, threads) };
            competitors.push(own);
        }
        for version in &options.versions {
            let (simd, threads) = match version.kernel {
                Kernel::Cpu(cpu) => {
                    (Some(cpu.level(host.level()).to_string()), host.team().count(cpu.threads))
                }
                Kernel::Gpu(_) => (None, threads),
            };
            let (name, runner) = (version.id().into(), Runner::Rust(version.kernel));
            competitors.push(Competitor { simd, ..Competitor::new(name, runner, threads) });
        }
        let mut engine = Engine::whole(*host, problem)?;
        let runs = (repeat * competitors.len()) as u64;
        let bar = progress.bar(&format!("comparing {}", problem.name()), runs);
        for _ in 0..repeat {
            for competitor in &mut competitors {
                competitor.turn(&mut engine)?;
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        let racers = competitors.into_iter().map(|competitor| competitor.racer(on));
        done(on.heat(racers.collect::<Result<_>>()?));
        Ok(())
    }
}

/// Who sums.
enum Runner<'a> {
    /// A version.
    Rust(Kernel),
    /// A build.
    Fortran(Placed<'a>),
}

/// Someone and what was seen of them.
struct Competitor<'a> {
    name: String,
    flags: Option<String>,
    simd: Option<String>,
    threads: usize,
    runner: Runner<'a>,
    seconds: Vec<f64>,
    seen: Seen,
}

impl<'a> Competitor<'a> {
    fn new(name: String, runner: Runner<'a>, threads: usize) -> Competitor<'a> {
        let (flags, simd, seconds, seen) = (None, None, Vec::new(), Seen::default());
        Competitor { name, flags, simd, threads, runner, seconds, seen }
    }

    /// One calculation: its sums and seconds.
    fn run(&mut self, engine: &mut Engine) -> Result<(Sums, f64)> {
        match &mut self.runner {
            Runner::Rust(kernel) => {
                let done = engine.run(*kernel)?;
                Ok((done.sums, done.seconds))
            }
            Runner::Fortran(placed) => {
                let done = placed.sum(self.threads);
                Ok((total::of([&done], engine.problem().nw()), done.seconds))
            }
        }
    }

    /// A run that warms up, while the threads of whoever was before come to rest, then the timed one.
    fn turn(&mut self, engine: &mut Engine) -> Result<()> {
        self.run(engine)?;
        let (sums, seconds) = self.run(engine)?;
        self.seconds.push(seconds);
        self.seen.push(sums);
        Ok(())
    }

    fn racer(self, on: &On) -> Result<Racer> {
        let Competitor { name, flags, simd, threads, runner, seconds, seen } = self;
        let side = match runner {
            Runner::Rust(_) => Side::Rust,
            Runner::Fortran(_) => Side::Fortran,
        };
        let racer = seen.racer(on, side, &name, seconds)?;
        Ok(Racer { flags, simd, threads: Some(threads), ..racer })
    }
}
