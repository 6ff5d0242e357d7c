//! The versions, in groups that build on each other, and the fastest version for a problem.
//!
//! A *version* is one way to compute Σ. A [`Version`] is a version with its back end, not the kernel of
//! [`gpp_kernels`]. A *series* is a list of versions with a baseline.

use std::ops::Range;
use std::ptr;

use gpp_cpu::problem::CHUNK;
use gpp_cpu::versions::{CPU, CpuVersion, MANY_BANDS, SIGMA as SIGMA_ON_CPU};
use gpp_kernels::formula::VALUES;
use gpp_kernels::kernel::{GpuVersion, Kernel as GpuKernel, Label, Loops, Precision};
use gpp_kernels::offdiag::ALL as OF_MATRICES;
use gpp_kernels::plan::{CONSTANT, Poles};
use gpp_kernels::versions::{BLOG, NEW, PAPER, SIGMA, SINGLE, TALK};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, invalid};
use crate::problem::plan::batches;
use crate::problem::{Extents, Outline};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackEnd {
    Gpu,
    /// The CPU, which emulates GPU kernels.
    Cpu,
}

/// A series: versions in order, each compared with the one before and all with a baseline.
#[derive(Clone, Copy)]
pub struct Series {
    pub id: &'static str,
    pub source: &'static str,
    pub versions: Versions,
    /// The series whose last version its first one is compared with.
    pub continues: Option<&'static str>,
    /// The fastest version on the series' back end under `condition`; in `new`, the fastest reproducible one.
    pub best: &'static str,
    /// The hardware and problems for which `best` was measured, and exceptions.
    pub condition: &'static str,
}

#[derive(Clone, Copy)]
pub enum Versions {
    Gpu(&'static [&'static GpuVersion]),
    Cpu(&'static [&'static CpuVersion]),
}

pub static SERIES: &[Series] = &[
    Series {
        id: "paper",
        source: "arXiv 2008.11326, section III",
        versions: Versions::Gpu(PAPER),
        continues: None,
        best: "v4",
        condition: "on an H100, si214; on the paper's V100 it is v8",
    },
    Series {
        id: "new",
        source: "docs/versions.md",
        versions: Versions::Gpu(NEW),
        continues: Some("paper"),
        best: "v13",
        condition: "on an H100, si214: fastest of both sums for one energy; v14, whose last bits depend on slabs, takes 2 % less \
                    time for two and 21 % less for three; v15, for Σ alone, takes 30 % less for two",
    },
    Series {
        id: "blog",
        source: "NVIDIA developer blog, and its repository",
        versions: Versions::Gpu(BLOG),
        continues: None,
        best: "blog:step3",
        condition: "on an H100, si214; the 512 threads of step4 leave room for fewer warps",
    },
    Series {
        id: "talk",
        source: "NERSC, February 2020",
        versions: Versions::Gpu(TALK),
        continues: None,
        best: "talk:V8",
        condition: "on an H100, si214; on the talk's V100 it is V9",
    },
    Series {
        id: "cpu",
        source: "docs/cpu.md",
        versions: Versions::Cpu(CPU),
        continues: None,
        best: "cpu:static",
        condition: "on two cores with AVX-512, si214; cpu:paired for complex poles or fewer than 256 bands, cpu:alone \
                    for Σ alone",
    },
    Series {
        id: "single",
        source: "docs/versions.md",
        versions: Versions::Gpu(SINGLE),
        continues: None,
        best: "s3",
        condition: "Σ alone in single precision; s4 on GPUs that have 64 times as many lanes for FP32 as for FP64",
    },
    Series {
        id: "sigma-gpu",
        source: "docs/many-energies.md",
        versions: Versions::Gpu(SIGMA),
        continues: None,
        best: "sigma:blocks",
        condition: "on an H100, si214, for five energies or more and real poles",
    },
    Series {
        id: "sigma",
        source: "docs/many-energies.md",
        versions: Versions::Cpu(SIGMA_ON_CPU),
        continues: Some("cpu"),
        best: "sigma:cells",
        condition: "on two cores with AVX-512, si214, for five energies or more",
    },
];

/// The version for a problem on a back end, the fastest by sizes and poles but v14, whose last bits depend on slabs.
///
/// On an H100 moments of sorted pairs are faster than terms from five energies on, for si214 and si214-complex
/// (docs/many-energies.md); with real poles from four on if the cutoff may act in a quarter of the bands. On a CPU the
/// least of these times decides, in tenths of a term of cpu:paired: what each pair takes by itself and, unless they are
/// kept, in lists of pairs, as measured on two cores with AVX-512 (docs/cpu.md). For a few energies cpu:static gains on cpu:paired with bands: nothing for 96, a tenth for 192, a fifth from 256 on. With
/// complex poles, of which none is static, it takes as long for 800 bands, and longer for few.
pub fn best_for(back_end: BackEnd, problem: Outline) -> Version {
    if problem.poles == Poles::Windowed {
        return best_alone_for(back_end, problem);
    }
    let Extents { nbands, nw, .. } = problem.extents;
    if back_end == BackEnd::Gpu {
        let are_cut = problem.poles == Poles::Real && 4 * problem.cut_bands >= nbands;
        let is_many = nw >= if are_cut { 4 } else { 5 };
        return if is_many { found("sigma:blocks") } else { best(back_end) };
    }
    let has_static = problem.poles == Poles::Real && nbands >= MANY_BANDS;
    let few = if has_static { best(back_end) } else { found("cpu:paired") };
    fastest_on_cpu(problem, [few, found("sigma:cells")], [10, 18], [660, 1450])
}

/// The version for a problem on a CPU: one of few energies, of which a term with real and with complex poles takes
/// `of_terms`, one of many, of which a chunk of bands takes `of_chunks`, or cpu:simd.
fn fastest_on_cpu(
    problem: Outline,
    [few, many]: [Version; 2],
    of_terms: [u64; 2],
    of_chunks: [u64; 2],
) -> Version {
    let Extents { nbands, nw, .. } = problem.extents;
    let [terms, chunks] = [nbands.saturating_mul(nw), nbands.div_ceil(CHUNK)].map(|of| of as u64);
    let batches = few.energies(problem).count() as u64;
    let once = |lists: u64| if problem.lists_once { lists } else { 0 };
    let is_complex = usize::from(problem.poles != Poles::Real);
    let [of_lists, of_sorting] = [[450, 3000], [1300, 4700]][is_complex];
    let times = [
        (found("cpu:simd"), 84 * terms),
        (few, of_terms[is_complex] * terms + (400 + once(of_lists)) * batches),
        (many, of_chunks[is_complex] * chunks + once(of_sorting)),
    ];
    times.into_iter().min_by_key(|(_, time)| *time).expect("there are some").0
}

/// The version for Σ alone: on a GPU v15 for up to five energies, eight with complex poles, then sigma:blocks-alone; on a
/// CPU as [`best_for`] chooses, but a term of cpu:alone takes 0.7 times one of cpu:paired, a chunk of bands 0.6 times one of sigma:cells.
pub fn best_alone_for(back_end: BackEnd, problem: Outline) -> Version {
    let is_windowed = problem.poles == Poles::Windowed;
    let few = if problem.poles == Poles::Real { 5 } else { 8 };
    match back_end {
        BackEnd::Gpu if is_windowed || problem.extents.nw <= few => found("v15"),
        BackEnd::Gpu => found("sigma:blocks-alone"),
        BackEnd::Cpu if is_windowed => found("cpu:alone"),
        BackEnd::Cpu => {
            let versions = [found("cpu:alone"), found("sigma:cells-alone")];
            fastest_on_cpu(problem, versions, [7, 12], [400, 870])
        }
    }
}

/// The version for Σ alone in single precision: without FP64 in loops for GPUs that have few lanes for it.
pub fn best_single_on(back_end: BackEnd, single_over_double: Option<u32>) -> Version {
    found(match back_end {
        BackEnd::Cpu => "cpu:single",
        BackEnd::Gpu if single_over_double.is_some_and(|ratio| ratio >= 32) => "s4",
        BackEnd::Gpu => "s3",
    })
}

/// The version for Σ alone with its derivative, one energy a launch: v15 or cpu:alone, whose ids these have.
pub fn with_derivative(back_end: BackEnd) -> Version {
    match back_end {
        BackEnd::Gpu => Version::Gpu(&gpp_kernels::versions::v15::DERIVATIVE),
        BackEnd::Cpu => Version::Cpu(&gpp_cpu::versions::alone::DERIVATIVE),
    }
}

/// The same for few energies, as the paper's problems have.
pub fn best(back_end: BackEnd) -> Version {
    found(if back_end == BackEnd::Gpu { "v13" } else { "cpu:static" })
}

impl Series {
    pub fn versions(&self) -> Vec<Version> {
        match self.versions {
            Versions::Gpu(list) => list.iter().map(|gpu| Version::Gpu(gpu)).collect(),
            Versions::Cpu(list) => list.iter().map(|cpu| Version::Cpu(cpu)).collect(),
        }
    }

    pub fn ids(&self) -> Vec<&'static str> {
        self.versions().iter().copied().map(Version::id).collect()
    }

    /// Its first version, which speed-ups are relative to in a run that begins with this series.
    pub fn baseline(&self) -> &'static str {
        self.ids()[0]
    }

    pub fn back_end(&self) -> BackEnd {
        self.versions()[0].back_end()
    }
}

pub fn series(id: &str) -> Option<&'static Series> {
    SERIES.iter().find(|series| series.id == id)
}

pub fn series_of(id: &str) -> Option<&'static Series> {
    SERIES.iter().find(|series| series.ids().contains(&id))
}

#[derive(Clone, Copy)]
pub enum Version {
    /// For GPUs; on a CPU its bodies run in an emulator.
    Gpu(&'static GpuVersion),
    /// In the vectors of a CPU.
    Cpu(&'static CpuVersion),
}

impl Version {
    /// What is said of it in the one place or the other.
    fn of<T>(
        self,
        gpu: impl FnOnce(&'static GpuVersion) -> T,
        cpu: impl FnOnce(&'static CpuVersion) -> T,
    ) -> T {
        match self {
            Version::Gpu(of) => gpu(of),
            Version::Cpu(of) => cpu(of),
        }
    }

    pub fn label(self) -> &'static Label {
        self.of(|gpu| gpu.version, |cpu| cpu.version)
    }

    pub fn id(self) -> &'static str {
        self.label().id
    }

    pub fn back_end(self) -> BackEnd {
        self.of(|_| BackEnd::Gpu, |_| BackEnd::Cpu)
    }

    /// Energies that a calculation of problems of these poles sums at most.
    pub fn holds(self, poles: Poles) -> usize {
        self.of(|gpu| gpu.kernel(poles).holds(), |cpu| cpu.holds)
    }

    /// Whether it sums problems of these poles by their pairs sorted, for all energies at once.
    pub fn sorts(self, poles: Poles) -> bool {
        let sorts = |gpu: &GpuVersion| matches!(gpu.kernel(poles).loops, Loops::Clusters(_));
        self.of(sorts, |cpu| cpu.needs.clusters)
    }

    pub fn gpu(self) -> Option<&'static GpuVersion> {
        self.of(Some, |_| None)
    }

    pub fn cpu(self) -> Option<&'static CpuVersion> {
        self.of(|_| None, Some)
    }

    /// The kernels for GPUs, or an error that says how the version runs.
    pub fn require_gpu(self) -> Result<&'static GpuVersion> {
        self.gpu().ok_or_else(|| invalid(self.id(), "runs on CPUs only: use --device cpu"))
    }

    /// Fails if such a device does not run it; a CPU runs all.
    pub fn require_on(self, back_end: BackEnd) -> Result<()> {
        match back_end {
            BackEnd::Gpu => self.require_gpu().map(drop),
            BackEnd::Cpu => Ok(()),
        }
    }

    /// Fails if it has no kernel for these poles: of the time-ordered formula with a window.
    pub fn require_for(self, problem: Outline) -> Result<()> {
        let Outline { extents, poles, .. } = problem;
        if self.has_derivative() && self.gpu().is_some() && extents.nbands > CONSTANT {
            let what =
                format!("has a derivative for {CONSTANT} bands at most; cpu:alone for any number");
            return Err(invalid(self.id(), what));
        }
        let has_kernel = match self {
            Version::Gpu(gpu) => {
                let admits = |gpu: &GpuVersion| gpu.kernels.iter().any(|of| of.poles.admits(poles));
                let first = || self.energies(problem).next().map_or(0, |first| first.len());
                admits(gpu) && admits(gpu.holding(extents.nbands * first()))
            }
            Version::Cpu(cpu) => {
                cpu.suited(poles, extents.nbands).kernels.iter().any(|of| of.poles.admits(poles))
            }
        };
        if has_kernel {
            return Ok(());
        }
        let what = "has no window for this problem: cpu:alone has one, and v15 for 4096 bands at most, 8192 \
                    at one energy";
        Err(invalid(self.id(), what))
    }

    /// The energies (0-based) of each batch; two, if constant memory has room for no more.
    pub fn energies(self, problem: Outline) -> impl Iterator<Item = Range<usize>> {
        let (Extents { nbands, nw, .. }, most) = (problem.extents, self.holds(problem.poles));
        let has_room = |nw| self.gpu().is_none_or(|gpu| ptr::eq(gpu.holding(nbands * nw), gpu));
        let holds = if has_room(2) && !has_room(most.min(nw)) { 2 } else { most };
        batches(nw, holds)
    }

    /// The kernel of a version for GPUs that sums the first batch, and the number of its energies.
    pub fn first(self, problem: Outline) -> Option<(&'static GpuKernel, usize)> {
        let nw = self.energies(problem).next()?.len();
        let gpu = self.gpu()?.holding(problem.extents.nbands * nw);
        Some((gpu.kernel(problem.poles), nw))
    }

    /// The `igp` of the groups whose sums it keeps apart; none if it has one sum of a slab.
    pub fn igp_of_group(self, problem: Outline) -> Option<usize> {
        // Heavy pairs are chosen in each slab.
        let is_heavy = |of| matches!(of, Precision::Single { has_heavy: true, .. });
        let has_heavy = self.of(|gpu| is_heavy(gpu.kernels[0].precision), |cpu| cpu.is_single);
        if has_heavy { None } else { self.igp_of_sums(problem) }
    }

    /// The `igp` of the groups whose sums its kernels store.
    pub fn igp_of_sums(self, problem: Outline) -> Option<usize> {
        match self {
            Version::Gpu(_) => self.first(problem)?.0.igp_of_group().map(|igp| igp as usize),
            Version::Cpu(cpu) => cpu.igp_of_group(),
        }
    }

    /// Whether it sums Σ alone, in the place of CH.
    pub fn is_sigma_alone(self) -> bool {
        self.of(|gpu| gpu.kernels[0].is_sigma_alone, |cpu| cpu.is_sigma_alone)
    }

    /// Whether the sums at each energy are followed by their derivatives: [`with_derivative`].
    pub fn has_derivative(self) -> bool {
        self.of(|gpu| gpu.kernels[0].has_derivative, |cpu| cpu.has_derivative)
    }

    /// Whether pairs but fallback pairs are summed in single precision.
    pub fn is_single(self) -> bool {
        self.of(|gpu| gpu.kernels[0].is_single(), |cpu| cpu.is_single)
    }

    /// What sums [samples](crate::devices::GroupSample) of a version in single precision in FP64; cpu:single does so itself.
    #[must_use]
    pub fn in_double(self) -> Version {
        self.gpu().map_or(self, |_| found("v15"))
    }

    /// Whether its sums are CH of each band at one energy: see [`ch_of_bands`].
    pub fn is_per_band(self) -> bool {
        self.of(|gpu| gpu.kernels[0].loops == Loops::PerBand, |cpu| cpu.per_band)
    }

    /// Values of each group's sums.
    pub fn values(self, [nbands, nw]: [usize; 2]) -> usize {
        let of_energy = if self.has_derivative() { 2 * VALUES } else { VALUES };
        if self.is_per_band() { 2 * nbands } else { nw * of_energy }
    }

    /// Bytes of the sums of all groups at all energies.
    pub fn bytes_of_sums(self, problem: Outline) -> u64 {
        let Extents { nbands, ngpown, nw, .. } = problem.extents;
        let groups = ngpown.div_ceil(self.igp_of_sums(problem).unwrap_or(ngpown).max(1)) as u64;
        groups * (self.values([nbands, nw]) * size_of::<f64>()) as u64
    }
}

pub fn versions() -> impl Iterator<Item = Version> {
    SERIES.iter().flat_map(Series::versions)
}

pub fn find(id: &str) -> Option<Version> {
    versions().find(|listed| listed.id() == id)
}

/// A version that is named here.
fn found(id: &str) -> Version {
    find(id).expect("a test looks it up")
}

/// The kernel of CH of each band on a back end, or of the static CH; neither is a version.
pub fn ch_of_bands(back_end: BackEnd, is_static: bool) -> Version {
    match (back_end, is_static) {
        (BackEnd::Gpu, false) => Version::Gpu(&gpp_kernels::versions::per_band::CH),
        (BackEnd::Gpu, true) => Version::Gpu(&gpp_kernels::versions::per_band::STATIC_CH),
        (BackEnd::Cpu, false) => Version::Cpu(&gpp_cpu::versions::per_band::CH),
        (BackEnd::Cpu, true) => Version::Cpu(&gpp_cpu::versions::per_band::STATIC_CH),
    }
}

/// The position of a version among all, for sorting.
pub fn place(id: &str) -> Option<usize> {
    versions().position(|listed| listed.id() == id)
}

/// The version that one is compared with: the one before it, or the last of the series that its own continues.
pub fn before(id: &str) -> Option<&'static str> {
    let own_series = series_of(id)?;
    let ids = own_series.ids();
    match ids.iter().position(|known| *known == id)?.checked_sub(1) {
        Some(before) => Some(ids[before]),
        None => series(own_series.continues?)?.ids().last().copied(),
    }
}

/// The first of the series that a version belongs to, following [`Series::continues`].
pub fn first_series_of(id: &str) -> Option<&'static Series> {
    let continued = |current: &&'static Series| current.continues.and_then(series);
    std::iter::successors(series_of(id), continued).last()
}

/// The series that run if no version is named.
pub const MAIN: &str = "paper,new";

pub const BEST: &str = "best";

/// The versions in a comma-separated list of ids, ranges (`v0-v8`, `talk:V1-V9`), series, `best`, `SERIES:best` and
/// `all`, each once, in order. `best` depends on the back end; `all` begins with the back end's own versions.
pub fn named(names: &str, back_end: BackEnd) -> Result<Vec<Version>> {
    named_for(names, back_end, None)
}

/// As [`named`], with `best` for this problem, of Σ alone or not, except as the end of a range.
pub fn named_for(
    names: &str,
    back_end: BackEnd,
    problem: Option<(Outline, bool)>,
) -> Result<Vec<Version>> {
    if names.split([',', '-']).any(|name| name.trim().is_empty()) {
        return Err(invalid(format!("--version {names}"), "has an empty name"));
    }
    let mut named: Vec<Version> = Vec::new();
    for name in names.split(',').map(str::trim) {
        let versions = match (series(name), problem) {
            (Some(whole), _) => whole.versions(),
            (None, Some((problem, is_alone))) if name == BEST => {
                vec![if is_alone { best_alone_for } else { best_for }(back_end, problem)]
            }
            (None, _) if name == "all" => {
                let is_made_for = |listed: &Version| listed.back_end() == back_end;
                let (mut run, others): (Vec<_>, Vec<_>) = versions().partition(is_made_for);
                // A CPU runs all, a GPU what is made for it.
                run.extend(others.into_iter().filter(|_| back_end == BackEnd::Cpu));
                run
            }
            (None, _) => from_to(name, back_end)?,
        };
        for version in versions {
            if named.iter().all(|other| other.id() != version.id()) {
                named.push(version);
            }
        }
    }
    Ok(named)
}

/// The one version that a name is of.
pub fn single(flag: &str, names: &str, back_end: BackEnd) -> Result<Version> {
    match named(names, back_end)?[..] {
        [version] => Ok(version),
        ref several => {
            let what = format!("needs one version, found {}", several.len());
            Err(invalid(format!("{flag} {names}"), what))
        }
    }
}

/// The versions of a range, whose last may be named without the first's series, or the one of another name.
fn from_to(name: &str, back_end: BackEnd) -> Result<Vec<Version>> {
    let (first, last) = match (one(name, back_end), name.split_once('-')) {
        (Err(_), Some(ends)) => ends,
        (version, _) => return Ok(vec![version?]),
    };
    let first = one(first, back_end)?;
    let last = match first.id().split_once(':') {
        Some((series, _)) if !last.contains(':') => one(&format!("{series}:{last}"), back_end)?,
        _ => one(last, back_end)?,
    };
    let [of_first, of_last] =
        [first, last].map(|version| first_series_of(version.id()).map_or("none", |own| own.id));
    let (first, last) = (first.id(), last.id());
    let listed: Vec<Version> = versions().collect();
    let range = place(first).zip(place(last)).and_then(|(first, last)| listed.get(first..=last));
    let what = match range {
        Some(range) if of_first == of_last && !range.is_empty() => return Ok(range.to_vec()),
        _ if of_first == of_last => format!("{first} comes after {last}: write {last}-{first}"),
        _ => format!(
            "a range needs two versions of one series: {first} is in {of_first}, {last} in {of_last}"
        ),
    };
    Err(invalid(format!("--version {name}"), what))
}

fn one(name: &str, back_end: BackEnd) -> Result<Version> {
    if name == BEST {
        return Ok(best(back_end));
    }
    let of_series = name.strip_suffix(":best").and_then(series).map(|series| series.best);
    find(of_series.unwrap_or(name)).ok_or_else(|| {
        match OF_MATRICES.iter().any(|version| version.id == name) {
            true => invalid(
                format!("version {name}"),
                format!("is of Σ as a matrix: type `gpp offdiag --version {name}`"),
            ),
            false => {
                let ids = versions().map(|listed| listed.id());
                let series = SERIES.iter().map(|series| series.id);
                Error::unknown("version", name, ids.chain(series).chain([BEST, "all"]))
            }
        }
    })
}

#[cfg(test)]
mod tests;
