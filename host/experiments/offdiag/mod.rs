//! Σ as a matrix: the calculation, its record, and the matrices.

pub mod bands;
pub mod stored;

use std::time::Instant;

use gpp_core::offdiag::gpu::OnGpu;
use gpp_core::offdiag::versions::{self, Version};
use gpp_core::offdiag::{Elements, Summed, Sums, Task, on_processor};
use gpp_kernels::offdiag;
use num_complex::Complex64;

use crate::devices::gpu::{self, Gpu};
use crate::devices::host::Host;
use crate::devices::{Device, DeviceInfo, Done};
use crate::error::{Error, Result};
use crate::problem::Problem;
use crate::process::interrupt;
use crate::process::progress::Progress;
use crate::record::Head;
use crate::record::offdiag::{Largest, Matrix, Offdiag};
use crate::record::provenance::Provenance;
use crate::record::system::SystemInfo;
use crate::record::times::{Repetition, Times};
use crate::reference::matrix::{Sample, verify};
use crate::reference::verify::Outcome;
use bands::Bands;

/// Who sums.
pub enum On {
    /// A processor.
    Host(Box<Host>),
    /// A GPU.
    Gpu(Box<Gpu>),
}

impl On {
    /// The device.
    pub fn info(&self) -> &DeviceInfo {
        match self {
            On::Host(host) => host.info(),
            On::Gpu(gpu) => gpu.info(),
        }
    }
}

/// The version that a GPU sums with.
fn chosen(
    on: &On,
    asked: Option<&'static Version>,
    bands: usize,
) -> Result<Option<&'static Version>> {
    match (on, asked) {
        (On::Gpu(gpu), asked) => versions::on(gpu, asked, bands).map(Some),
        (On::Host(_), None) => Ok(None),
        (On::Host(host), Some(version)) => {
            let what = format!("is of GPUs, and {} is a processor", host.info().id);
            Err(Error::Data { origin: format!("--version {}", version.id), what })
        }
    }
}

/// A task where it is summed, all in place that finds room there.
enum Placed<'a> {
    Host(&'a Host, Task<'a>),
    Gpu(Box<OnGpu<'a>>),
}

impl<'a> Placed<'a> {
    fn of(on: &'a On, task: Task<'a>, version: Option<&'static Version>) -> Result<Placed<'a>> {
        Ok(match (on, version) {
            (On::Gpu(gpu), Some(version)) => {
                Placed::Gpu(OnGpu::new(gpu, task, version, &interrupt::asked)?.into())
            }
            (On::Host(host), None) => Placed::Host(host, task),
            (On::Host(_), Some(_)) | (On::Gpu(_), None) => unreachable!("GPUs have versions"),
        })
    }

    fn sum(&self, done: Done) -> Result<Summed> {
        match self {
            Placed::Host(host, task) => on_processor(host, task, done, &interrupt::asked),
            Placed::Gpu(on_gpu) => on_gpu.sums(done, &interrupt::asked),
        }
    }
}

/// How it is calculated.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How a GPU multiplies, or as is fastest.
    pub version: Option<&'static Version>,
    /// Calculations.
    pub repeat: usize,
    /// Whether elements are compared with the definition.
    pub compares: bool,
}

/// Sums the matrices of bands l and m; what is shown of them comes first, then they themselves.
///
/// # Errors
/// Those of the device.
///
/// # Panics
/// Where no calculation is asked for.
pub fn run(
    on: &On,
    problem: &Problem,
    elements: &dyn Elements,
    bands: Bands,
    options: Options,
    progress: Progress,
) -> Result<(Offdiag, Sums)> {
    let task = Task { problem, elements };
    let version = chosen(on, options.version, task.bands())?;
    let times = Repetition::exactly(0, options.repeat);
    let provenance = Provenance::now(on.info()).of(problem.origin(), times);
    let bar = progress.fine_bar("summing", options.repeat as u64);
    let (mut seconds, mut differs) = (Vec::new(), false);
    let (mut found, mut total_s): (Option<Sums>, _) = (None, None);
    let begun = Instant::now();
    let placed = Placed::of(on, task, version)?;
    for at in 0..options.repeat {
        let done = |part: f64| bar.set(at as f64 + part);
        let Summed { sums, seconds: time, .. } = placed.sum(&done)?;
        total_s.get_or_insert_with(|| begun.elapsed().as_secs_f64());
        seconds.push(time);
        differs |= found.as_ref().is_some_and(|found| !same_bits(found, &sums));
        found = Some(sums);
    }
    bar.finish_and_clear();
    let sums = found.expect("at least one calculation");
    let verification = options.compares.then(|| {
        let mut verdict = verify(&task, &sums, &Sample::few(&task), progress);
        if differs {
            verdict.outcome = Outcome::Nondeterministic;
        }
        verdict
    });
    let (times, flops) = (Times::of(seconds), task.operations());
    let record = Offdiag {
        head: Head { complete: true, ..Head::new(on.info(), provenance) },
        system: SystemInfo::of(problem),
        elements: None,
        bands: [bands.first + 1, bands.first + bands.count],
        version: version.map(|version| version.id.into()),
        kernel_hashes: version.map(|version| {
            let symbols = version.kernels().chain(offdiag::COMMON).map(|(symbol, _)| symbol);
            symbols.filter_map(|symbol| Some((symbol.into(), gpu::hash(symbol)?))).collect()
        }),
        flops,
        tflops: flops / times.median * 1e-12,
        time_s: times,
        total_s: total_s.unwrap_or_default(),
        verification,
        matrices: matrices(problem, &sums, bands.first),
    };
    Ok((record, sums))
}

fn same_bits(one: &Sums, other: &Sums) -> bool {
    let bits = |sums: &Sums| -> Vec<[u64; 2]> {
        let all = sums.sx.iter().chain(&sums.ch);
        all.map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
    };
    bits(one) == bits(other)
}

/// What the matrices are like; bands are counted from the first, which is 0-based.
fn matrices(problem: &Problem, sums: &Sums, first: usize) -> Vec<Matrix> {
    let above = problem.header().above_state();
    let of_energy = |(iw, above_state_ev): (usize, f64)| {
        let trace = |of: &[Complex64]| {
            let trace: Complex64 = (0..sums.bands).map(|l| of[sums.at(l, l, iw)]).sum();
            [trace.re, trace.im]
        };
        let sizes = |diagonal: bool| {
            let pairs = (0..sums.bands).flat_map(|l| (0..sums.bands).map(move |m| (l, m)));
            let some = pairs.filter(move |(l, m)| (l == m) == diagonal);
            let sized = some.map(|(l, m)| {
                let at = sums.at(l, m, iw);
                let bands = [first + l + 1, first + m + 1];
                Largest { bands, size: (sums.sx[at] + sums.ch[at]).norm() }
            });
            sized.max_by(|a, b| a.size.total_cmp(&b.size))
        };
        Matrix {
            above_state_ev,
            trace_sx: trace(&sums.sx),
            trace_ch: trace(&sums.ch),
            largest_diagonal: sizes(true).expect("one band at least"),
            largest_off_diagonal: sizes(false),
        }
    };
    above.into_iter().enumerate().map(of_energy).collect()
}
