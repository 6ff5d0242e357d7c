//! Our versions against the yardstick, on the same arrays: in CUDA C++ on a GPU, in Fortran on a processor.

mod cpu;
mod gpu;

pub use self::cpu::OnCpu;
pub use self::gpu::{OnGpu, both_have};
use super::measure::{judged, same_bits};
use super::source::Source;
use crate::catalogue::{Listed, sources};
use crate::devices::DeviceInfo;
use crate::error::Result;
use crate::problem::{Problem, Sums};
use crate::process::progress::Progress;
use crate::record::Head;
use crate::record::comparison::{Comparison, Heat, Racer, Side};
use crate::record::provenance::{Provenance, Regime};
use crate::record::times::{Repetition, Times};
use crate::reference::{self, Reference};

/// What is compared.
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
}

/// A device and the yardstick for it.
pub trait Course {
    /// The device.
    fn info(&self) -> &DeviceInfo;

    /// The yardstick's compiler.
    fn compiler(&self) -> &str;

    /// How often and how long each runs.
    fn repetition(&self, repeat: usize) -> Repetition;

    /// Runs all on a problem; `done` is called after each heat.
    ///
    /// # Errors
    /// Those of the device.
    fn heats(&mut self, on: &On, done: &mut dyn FnMut(Heat)) -> Result<()>;
}

/// A problem, and how versions run on it.
pub struct On<'a> {
    options: &'a Options,
    source: &'a Source,
    problem: &'a Problem,
    reference: Option<Reference>,
    repetition: Repetition,
    progress: Progress,
}

impl On<'_> {
    fn heat(&self, racers: Vec<Racer>) -> Heat {
        Heat {
            system: self.problem.name().into(),
            poles: Some(self.problem.poles().into()),
            terms: Some(self.problem.terms()),
            racers,
            v3_error: None,
        }
    }
}

/// Compares; `each` is called after each heat.
///
/// # Errors
/// Those of the device and of [`Source::load`].
pub fn compare(
    course: &mut dyn Course,
    options: &Options,
    progress: Progress,
    mut each: impl FnMut(&Comparison),
) -> Result<Comparison> {
    let repetition = course.repetition(options.repeat);
    let provenance = Provenance {
        seed: options.seed,
        repeat: Some(options.repeat),
        settle_s: Some(repetition.settle.as_secs_f64()),
        regime: Regime::of(repetition),
        ..Provenance::now(course.info())
    };
    let mut found = Comparison {
        head: Head::new(course.info(), provenance),
        yardstick: course.compiler().into(),
        repeat: Some(options.repeat),
        heats: Vec::new(),
    };
    for source in &options.sources {
        let problem = &source.load_for_yardstick(progress)?;
        let reference = reference::of(problem, progress)?;
        let on = On { options, source, problem, reference, repetition, progress };
        course.heats(&on, &mut |heat| {
            found.heats.push(heat);
            each(&found);
        })?;
    }
    found.head.complete = true;
    Ok(found)
}

/// The sums of someone's runs.
#[derive(Default)]
struct Seen {
    last: Option<Sums>,
    differ: bool,
}

impl Seen {
    fn push(&mut self, sums: Sums) {
        self.differ |= self.last.as_ref().is_some_and(|before| !same_bits(before, &sums));
        self.last = Some(sums);
    }

    /// Who ran, the last sums verified. Of sums that OpenMP's threads add in the order in which they are done
    /// nobody asks the same bits.
    fn racer(self, on: &On, side: Side, name: &str, seconds: Vec<f64>) -> Result<Racer> {
        let sums = on.problem.start().plus(&self.last.expect("at least one run is timed"));
        let deterministic = !self.differ || side == Side::Fortran;
        let verification = judged(on.problem, &sums, on.reference.as_ref(), deterministic)?;
        let is_ours = side == Side::Rust;
        Ok(Racer {
            side,
            name: name.into(),
            flags: None,
            simd: None,
            threads: None,
            kernel: None,
            kernel_hash: None,
            source_hash: is_ours.then(|| sources::hash(name)).flatten(),
            times: Times::of(seconds),
            before_cap: None,
            state: None,
            held_back: None,
            fp64_pipe_percent: None,
            hbm_bytes: None,
            over_yardstick: None,
            over_before_cap: None,
            verdict: None,
            max_rel_error: verification.max_rel_error,
            outcome: verification.outcome,
        })
    }
}
