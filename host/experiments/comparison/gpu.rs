//! Our kernels and the yardstick's in CUDA C++, one after the other.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use gpp_kernels::kernel::Gpu as Kernels;

use super::{Course, On, Seen};
use crate::catalogue::{self, BackEnd, Kernel, Listed, best};
use crate::devices::gauge::Gauge;
use crate::devices::gpu::yardstick::{self, OnBoth, Yardstick};
use crate::devices::gpu::{self, Gpu};
use crate::devices::launch::entry;
use crate::devices::{Device, DeviceInfo};
use crate::engine::total;
use crate::error::{Error, Result};
use crate::experiments::measure::timed::settle;
use crate::experiments::measure::{regimes, seen};
use crate::experiments::profile::aggregate::{Context, aggregate};
use crate::experiments::profile::ncu::{Ncu, Target};
use crate::process::progress::Progress;
use crate::process::terminal::note;
use crate::record::comparison::{Heat, Racer, Side};
use crate::record::profile::Profile;
use crate::record::times::Repetition;

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

/// A GPU, and the yardstick in CUDA C++.
pub struct OnGpu<'a> {
    gpu: &'a Gpu,
    gauge: Option<Arc<dyn Gauge>>,
    yardstick: Yardstick,
    /// For the counters of the best version.
    ncu: Option<Ncu>,
}

impl<'a> OnGpu<'a> {
    /// Compiles the yardstick, and looks for the profiler.
    ///
    /// # Errors
    /// [`Error::Compiler`] without nvcc; those of the driver.
    pub fn new(gpu: &'a Gpu, nvcc: &Path, ncu: &Path, progress: Progress) -> Result<OnGpu<'a>> {
        let yardstick = gpu.yardstick(nvcc)?;
        let ncu = Ncu::find(ncu)
            .map_err(|why| progress.say(format_args!("no counters: profiler: {why}")))
            .ok();
        Ok(OnGpu { gpu, gauge: gpu.gauge(), yardstick, ncu })
    }

    /// Times one side, before the cap and sustained.
    fn timed(
        &self,
        on: &On,
        both: &mut OnBoth,
        side: Side,
        version: &'static Kernels,
    ) -> Result<Racer> {
        let (by, is_ours) = match side {
            Side::Rust => (yardstick::Side::Rust, true),
            _ => (yardstick::Side::Cuda, false),
        };
        let mut sums = Seen::default();
        let regimes::Timed { samples, seen, before_cap } =
            regimes::timed(self.gauge.clone(), on.repetition, &mut |_, _| {
                let begin = Instant::now();
                let calculated = both.sum(by, version)?;
                let at = begin..Instant::now();
                sums.push(total::of([&calculated], on.problem.nw()));
                Ok((calculated.seconds, at))
            })?;
        let seen::Seen { state, held_back, .. } = seen;
        let held_back = held_back.map(|marks| marks.into_iter().filter(|held| *held).count());
        let batch = on.problem.batches_for(Kernel::Gpu(version)).first();
        let symbol = entry(batch.plan().kernel(version), batch.nw()).symbol;
        Ok(Racer {
            kernel: is_ours.then(|| symbol.into()),
            kernel_hash: is_ours.then(|| gpu::hash(symbol)).flatten(),
            before_cap,
            state,
            held_back,
            ..sums.racer(on, side, version.id(), samples)?
        })
    }

    /// The best version's counters; what fails is said and leaves them out.
    fn counters(&self, on: &On) -> Option<Profile> {
        let ncu = self.ncu.as_ref()?;
        let target = Target {
            versions: "best".into(),
            problem: on.source.arguments(),
            device: self.gpu.info().id.clone(),
        };
        let origin = format!("hardware counters, ncu {}", ncu.version);
        let context = Context::new(on.problem, origin, Vec::new());
        ncu.counters(&target, true)
            .and_then(|(_, launches)| aggregate(&launches, &context))
            .map_err(|why| note(format_args!("no counters of {}: {why}", on.problem.name())))
            .ok()?
            .pop()
    }
}

impl Course for OnGpu<'_> {
    fn info(&self) -> &DeviceInfo {
        self.gpu.info()
    }

    fn compiler(&self) -> &str {
        &self.yardstick.compiler
    }

    fn repetition(&self, repeat: usize) -> Repetition {
        Repetition { settle: settle(self.gpu, None), ..Repetition::exactly(1, repeat) }
    }

    fn heats(&mut self, on: &On, done: &mut dyn FnMut(Heat)) -> Result<()> {
        let versions = &on.options.versions;
        let what = format!("comparing {}", on.problem.name());
        let bar = on.progress.bar(&what, versions.len() as u64 + 1);
        let mut both = self.gpu.both(on.problem, &self.yardstick)?;
        let mut timed = |side, version| self.timed(on, &mut both, side, version);
        for version in versions {
            let kernels = version.kernel.require_gpu()?;
            done(on.heat(vec![timed(Side::Rust, kernels)?, timed(Side::Cuda, kernels)?]));
            bar.inc(1);
        }
        let [v3, v8] = ["v3", "v8"].map(|id| {
            catalogue::find(id).and_then(|listed| listed.gpu()).expect("a version of the paper")
        });
        let fastest = best(BackEnd::Gpu).kernel.require_gpu()?;
        let [mut ours, cuda] = [timed(Side::Rust, fastest)?, timed(Side::Cuda, v8)?];
        let v3_error = timed(Side::Rust, v3)?.max_rel_error;
        bar.finish_and_clear();
        drop(both);
        let counters = self.counters(on);
        ours.fp64_pipe_percent = counters.as_ref().and_then(|of| of.fp64_pipe_percent);
        ours.hbm_bytes = counters.map(|of| of.bytes.hbm);
        done(Heat { v3_error, ..on.heat(vec![ours, cuda]) });
        Ok(())
    }
}
