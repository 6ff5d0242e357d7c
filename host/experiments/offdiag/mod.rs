//! Σ as a matrix: the calculation, its record, and the matrices.

pub mod bands;
mod digest;
pub mod folder;
pub mod on;
pub mod qsgw;
pub mod stored;

use std::time::Instant;

use gpp_core::offdiag::calculation::Crew;
use gpp_core::offdiag::parts;
use gpp_core::offdiag::versions::Version;
use gpp_core::offdiag::{At, Elements, Summed, Sums, Task};
use gpp_kernels::offdiag;
use num_complex::Complex64;

use super::measure::seen::seen;
use super::room::{self, Limits};
use super::setting;
use crate::catalogue::sources;
use crate::devices::gauge::Watch;
use crate::devices::gpu;
use crate::error::Result;
use crate::problem::Problem;
use crate::process::interrupt::{self, Deferred};
use crate::process::progress::Progress;
use crate::ranks::{Ranks, require_same};
use crate::record::Head;
use crate::record::map::Map;
use crate::record::offdiag::{Largest, Matrix, OfVersion, Offdiag, pictured};
use crate::record::provenance::Provenance;
use crate::record::system::SystemInfo;
use crate::record::times::{Repetition, Times};
use crate::reference::Source;
use crate::reference::matrix::{Sample, Verdict, compare, golden, verify};
use bands::Bands;
use on::On;

/// How it is calculated.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How a GPU multiplies, one after the other; none is as is fastest.
    pub versions: &'a [&'static Version],
    /// Calculations that are timed.
    pub repeat: usize,
    /// Whether elements are compared with the definition.
    pub compares: bool,
    /// What was said of memory.
    pub limits: Limits,
    /// Which of the problem's energies are those of the bands, where these are asked for.
    pub at: Option<&'a [usize]>,
}

/// Sums the matrices of bands l and m by each version; what is shown of them comes first, then they themselves. None on
/// other ranks than rank 0. Collective.
///
/// # Errors
/// Those of the device.
///
/// # Panics
/// Where no calculation is asked for.
pub fn run(
    (on, ranks): (&On, &dyn Ranks),
    problem: &Problem,
    elements: &dyn Elements,
    bands: Bands,
    options: Options,
    progress: Progress,
) -> Result<Option<(Offdiag, Sums)>> {
    let at = options.at.map_or(At::Energies, At::Bands);
    let task = Task { at, ..Task::new(problem, elements) };
    let devices = on.devices();
    let team = room::Crew { devices: &devices, ranks };
    setting::require_one_kind(team)?;
    let times = Repetition::exactly(usize::from(options.repeat > 1), options.repeat);
    let provenance = Provenance::now(on.info()).of(problem.origin(), times);
    let (mut results, mut found) = (Vec::new(), None::<Sums>);
    let by = Calculations { on, ranks, team, task, bands, options, times, progress };
    for version in on.versions(options.versions, task.bands())? {
        let Some((sums, mut result)) = by.of(version)? else { continue };
        result.same_bits &= found.as_ref().is_none_or(|found| same_bits(found, &sums));
        results.push(result);
        found = Some(sums);
    }
    let Some(sums) = found else { return Ok(None) };
    let above = problem.header().above_state();
    let matrices = matrices(&sums, bands.first, |plane| options.at.is_none().then(|| above[plane]));
    let record = Offdiag {
        head: Head { complete: true, ..Head::new(on.info(), provenance) },
        system: SystemInfo::of(problem),
        elements: None,
        bands: [bands.first + 1, bands.first + bands.count],
        flops: by.flops(),
        results,
        parts: parts::count(&task),
        places: Vec::new(),
        map: Some(Map::of(&sums, pictured(&matrices))),
        matrices,
        qsgw: options.at.map(|at| qsgw::told(&sums, at.iter().map(|&iw| above[iw]).collect())),
    };
    Ok(Some((record, sums)))
}

/// The part of the time in which a GPU whose state is told has products to sum.
const BUSY: f64 = 0.9;

/// A task, where and how often it is calculated.
struct Calculations<'a> {
    on: &'a On,
    ranks: &'a dyn Ranks,
    team: room::Crew<'a>,
    task: Task<'a>,
    bands: Bands,
    options: Options<'a>,
    times: Repetition,
    progress: Progress,
}

impl Calculations<'_> {
    /// Those of one version. Of several the first is not timed: it brings A. None on other ranks than rank 0.
    fn of(&self, version: Option<&'static Version>) -> Result<Option<(Sums, OfVersion)>> {
        let Calculations { on, ranks, task, bands, options, times, progress, .. } = self;
        if ranks.size() > 1 {
            let own = digest::of(on, (task, version), *bands)?;
            require_same(*ranks, digest::WHAT, &own)?;
        }
        on.require((task, version), self.team, options.limits, *progress)?;
        // What others wait for ends by itself.
        let _deferred = (ranks.size() > 1).then(|| Deferred::new("the parts at hand"));
        let gauge = on.gauge();
        let watch = gauge.clone().map(Watch::begin);
        let bar = progress.fine_bar("summing", times.runs() as u64);
        let (mut seconds, mut spans, mut is_same) = (Vec::new(), Vec::new(), true);
        let (mut found, mut total_s): (Option<Sums>, _) = (None, None);
        let begun = Instant::now();
        let mut crew = Crew::new(on.workers(*task, version)?, *ranks);
        if times.runs() > 1 {
            crew = crew.for_several();
        }
        for at in 0..times.runs() {
            let done = |part: f64| bar.set(at as f64 + part);
            let since = Instant::now();
            let summed = crew.sum(task, &done, &interrupt::ASKED)?;
            let Summed { sums, seconds: products, .. } = summed;
            total_s.get_or_insert_with(|| begun.elapsed().as_secs_f64());
            if at >= times.warmup {
                seconds.push(products);
                spans.push(since..Instant::now());
            }
            is_same &= found.as_ref().is_none_or(|found| same_bits(found, &sums));
            found = Some(sums);
        }
        bar.finish_and_clear();
        let looks = watch.map_or(Vec::new(), Watch::end);
        if !ranks.is_root() {
            return Ok(None);
        }
        let sums = found.expect("at least one calculation");
        // Of a GPU that waits for A the looks are of no calculation.
        let whole: f64 = spans.iter().map(|span| (span.end - span.start).as_secs_f64()).sum();
        let spans = if seconds.iter().sum::<f64>() < BUSY * whole { Vec::new() } else { spans };
        let time_s = Times::of(seconds);
        let result = OfVersion {
            version: version.map(|version| version.id.into()),
            kernel_hashes: version.map(|version| {
                let symbols = version.kernels().chain(offdiag::COMMON).map(|(symbol, _)| symbol);
                symbols.filter_map(|symbol| Some((symbol.into(), gpu::hash(symbol)?))).collect()
            }),
            source_hash: sources::hash_at(&source(version.map(|version| version.id))),
            total_s: total_s.unwrap_or_default(),
            tflops: 1e-12 * self.flops() / time_s.median,
            state: seen(&looks, &spans, gauge.and_then(|gauge| gauge.power_limit_w())).state,
            time_s,
            same_bits: is_same,
            verification: options.compares.then(|| verdict(task, &sums, *bands, *progress)),
        };
        Ok(Some((sums, result)))
    }

    /// Operations of all parts.
    fn flops(&self) -> f64 {
        self.task.operations_of(0..self.task.problem.extents().nbands)
    }
}

/// Compares the golden elements that there are, or else a few by the definition.
fn verdict(task: &Task, sums: &Sums, bands: Bands, progress: Progress) -> Verdict {
    match golden::find(task, bands.first) {
        Some((sample, golden)) => compare(task, sums, &sample, &golden, Source::Golden),
        None => verify(task, sums, &Sample::few(task), progress),
    }
}

/// The file of a version; on a processor that of what makes P.
pub fn source(version: Option<&str>) -> String {
    let of_gpu = |version| format!("kernels/src/offdiag/versions.rs#{version}");
    version.map_or_else(|| "cpu/src/poles.rs".into(), of_gpu)
}

fn same_bits(one: &Sums, other: &Sums) -> bool {
    let bits = |sums: &Sums| -> Vec<[u64; 2]> {
        let all = sums.sx.iter().chain(&sums.ch);
        all.map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
    };
    bits(one) == bits(other)
}

/// What the matrices are like; bands are counted from the first, which is 0-based.
fn matrices(sums: &Sums, first: usize, above: impl Fn(usize) -> Option<f64>) -> Vec<Matrix> {
    let of_energy = |iw: usize| {
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
            above_state_ev: above(iw),
            trace_sx: trace(&sums.sx),
            trace_ch: trace(&sums.ch),
            largest_diagonal: sizes(true).expect("one band at least"),
            largest_off_diagonal: sizes(false),
        }
    };
    (0..sums.nw()).map(of_energy).collect()
}
