//! Versions on one problem and device: timed, verified, recorded.

use std::sync::Once;

use gpp_kernels::kernel::Gpu;

use super::measure::measure;
use crate::catalogue::tuned::{Overrides, shaped};
use crate::catalogue::{self, BackEnd, Kernel, Listed};
use crate::devices::Device;
use crate::devices::launch::entry;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::process::progress::Progress;
use crate::record::run::Run;
use crate::record::times::Repetition;
use crate::reference;

/// What runs, and how often.
#[derive(Clone)]
pub struct Options {
    /// In the order in which they run.
    pub versions: Vec<Listed>,
    /// Shapes other than the tuned ones.
    pub overrides: Overrides,
    /// How often each version runs.
    pub repetition: Repetition,
    /// The same of those that are emulated.
    pub emulated: Repetition,
}

impl Options {
    /// These versions in the shapes tuned for the device.
    pub fn new(versions: &[Listed], repetition: Repetition) -> Options {
        let (versions, overrides) = (versions.to_vec(), Overrides::default());
        Options { versions, overrides, repetition, emulated: repetition }
    }

    /// Fails where the flags of a shape change nothing.
    ///
    /// # Errors
    /// [`Error::Data`] that names the flag.
    pub fn require_effect(&self) -> Result<()> {
        let given = [
            ("--tile", self.overrides.tile),
            ("--warps", self.overrides.warps),
            ("--registers", self.overrides.registers),
        ];
        let tunable = |version: &Listed| version.gpu().is_some_and(|gpu| !gpu.shapes.is_empty());
        let known = catalogue::versions().filter(tunable).map(|version| version.id());
        let known: Vec<&str> = known.collect();
        match given.iter().find(|(_, value)| value.is_some()) {
            Some((flag, _)) if !self.versions.iter().any(tunable) => Err(Error::Data {
                origin: (*flag).into(),
                what: format!("has no effect without --version {}", known.join(" or ")),
            }),
            _ => Ok(()),
        }
    }

    /// Fails where a flag means nothing to the device, or it cannot run a version.
    ///
    /// # Errors
    /// [`Error::Data`] that names the flag or the version.
    pub fn require_effect_on(&self, device: &dyn Device) -> Result<()> {
        let back_end = device.back_end();
        if back_end == BackEnd::Cpu && self.overrides.registers.is_some() {
            let what = "has no effect on a CPU".into();
            return Err(Error::Data { origin: "--registers".into(), what });
        }
        self.versions.iter().try_for_each(|listed| listed.kernel.require_on(back_end))
    }
}

/// Runs the versions of `options` on `device`; `each` is called when the run begins and after each
/// version.
///
/// # Errors
/// [`Error::UnknownName`] for a shape without kernels; [`Error::Data`] for one without effect; those
/// of the device.
pub fn run(
    device: &dyn Device,
    problem: &Problem,
    options: &Options,
    progress: Progress,
    mut each: impl FnMut(&Run),
) -> Result<Run> {
    let Options { versions, overrides, repetition, emulated } = options;
    let (plan, name) = (problem.plan(), &device.info().name);
    let shaped = |version: &Listed| shaped(version.kernel, name, plan.poles(), *overrides);
    let versions: Vec<Kernel> = versions.iter().map(shaped).collect::<Result<_>>()?;
    let mut run = Run::new(device.info(), problem, *repetition);
    each(&run);
    let reference = reference::of(problem, progress)?;
    let mut engine = Engine::whole(device, problem)?;
    let is_replaced = |gpu: &'static Gpu| plan.running(gpu).id() != gpu.id();
    let mut of_gpus = versions.iter().filter_map(|kernel| kernel.gpu());
    if *overrides != Overrides::default() && of_gpus.any(is_replaced) {
        let what =
            "have no effect: the constant memory does not hold the energies, so the kernels \
                    of another version run"
                .into();
        return Err(Error::Data { origin: "--tile, --warps, --registers".into(), what });
    }
    let back_end = device.back_end();
    let times =
        |kernel: &Kernel| if kernel.back_end() == back_end { *repetition } else { *emulated };
    let all = versions.iter().map(|kernel| times(kernel).runs()).sum::<usize>();
    let bar = progress.fine_bar("running", all as u64);
    let mut ran = 0;
    for (at, &version) in versions.iter().enumerate() {
        // Loads of kernels go beside a last run, never between timed ones.
        let next = versions.get(at + 1).and_then(|next| next.gpu()).map(|next| plan.kernel(next));
        let prepared = Once::new();
        let runs = times(&version).runs();
        let done = |calculations: f64| {
            bar.set(ran as f64 + calculations);
            if let Some(next) = next.filter(|_| calculations >= (runs - 1) as f64) {
                prepared.call_once(|| device.prepare(next, entry(next, problem.nw())));
            }
        };
        done(0.0);
        bar.set_message(format!("{} on {}", version.id(), device.info().id));
        let reference = reference.as_ref();
        let result = measure(version, device, &mut engine, reference, times(&version), &done)?;
        ran += runs;
        run.push(result);
        each(&run);
    }
    bar.finish_and_clear();
    run.head.complete = true;
    Ok(run)
}
