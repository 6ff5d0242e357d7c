//! Versions on one problem and device: timed, verified, recorded.

use gpp_kernels::registry::{Loops, Poles, Version};

use super::measure::{body, measure};
use crate::catalogue::tuned::{Overrides, shaped};
use crate::devices::{Device, DeviceInfo};
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
    pub versions: Vec<&'static Version>,
    /// Shapes other than the tuned ones.
    pub overrides: Overrides,
    /// How often each version runs.
    pub repetition: Repetition,
}

impl Options {
    /// These versions in the shapes tuned for the device.
    pub fn new(versions: &[&'static Version], repetition: Repetition) -> Options {
        Options { versions: versions.to_vec(), overrides: Overrides::default(), repetition }
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
        let tunable = |version: &&Version| {
            let tiled = |poles| matches!(version.of(poles).loops, Loops::Tiled(_));
            version.id == Version::best().id && [Poles::Any, Poles::Real].into_iter().any(tiled)
        };
        match given.iter().find(|(_, value)| value.is_some()) {
            Some((flag, _)) if !self.versions.iter().any(tunable) => Err(Error::Data {
                origin: (*flag).into(),
                what: format!("has no effect without --version {}", Version::best().id),
            }),
            _ => Ok(()),
        }
    }

    /// Fails where a flag means nothing to the device.
    ///
    /// # Errors
    /// [`Error::Data`] that names the flag.
    pub fn require_effect_on(&self, device: &DeviceInfo) -> Result<()> {
        if device.id == "cpu" && self.overrides.registers.is_some() {
            let what = "has no effect on a CPU".into();
            return Err(Error::Data { origin: "--registers".into(), what });
        }
        Ok(())
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
    let Options { versions, overrides, repetition } = options;
    let shaped = |poles| -> Result<Vec<&'static Version>> {
        let name = &device.info().name;
        versions.iter().map(|version| shaped(version, name, poles, *overrides)).collect()
    };
    if *overrides != Overrides::default() {
        shaped(problem.plan().poles)?;
    }
    let mut run = Run::new(device.info(), problem, *repetition);
    each(&run);
    let reference = reference::of(problem, progress);
    let mut loaded = device.load(problem)?;
    let versions = shaped(loaded.plan().poles)?;
    let is_replaced =
        |v: &&Version| v.beyond.is_some() && loaded.plan().running(v).beyond.is_none();
    if *overrides != Overrides::default() && versions.iter().any(is_replaced) {
        let what =
            "have no effect: the constant memory does not hold the energies, so the kernels \
                    of another version run"
                .into();
        return Err(Error::Data { origin: "--tile, --warps, --registers".into(), what });
    }
    let runs = repetition.warmup + repetition.repeat;
    let bar = progress.bar("running", (versions.len() * runs) as u64);
    for (at, &version) in versions.iter().enumerate() {
        let next = versions.get(at + 1).map(|next| (next, body(next, problem, loaded.plan())));
        let mut left = runs;
        // Loads of kernels go beside a last run, never between timed ones.
        let prepare = |left: usize| {
            if let (1, Some((next, body))) = (left, next) {
                device.prepare(next, body);
            }
        };
        prepare(left);
        bar.set_message(format!("{} on {}", version.id, device.info().id));
        let loaded = loaded.as_mut();
        let reference = reference.as_ref();
        let result = measure(version, device, loaded, problem, reference, *repetition, || {
            bar.inc(1);
            left -= 1;
            prepare(left);
        })?;
        run.push(result);
        each(&run);
    }
    bar.finish_and_clear();
    run.head.complete = true;
    Ok(run)
}
