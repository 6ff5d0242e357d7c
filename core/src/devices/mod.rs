//! Where the kernels run.

pub mod gauge;
pub mod gpu;
pub mod host;

use std::collections::HashSet;
use std::fmt;
use std::ops::Add;
use std::str::FromStr;
use std::sync::Arc;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use gpp_cpu::pool::{Pool, Room, STACK, Team, Threads, starting};
use gpp_cpu::simd::Level;
use gpp_cpu::stop::{NEVER, Stop};
use gpp_kernels::arrays::Layout;
use gpp_kernels::kernel::{Dimensions, Exceeded};
use gpp_kernels::kernel::{Entry, GpuVersion, Kernel};
use gpp_kernels::tiling::Grid;
use serde::{Deserialize, Serialize};

use crate::catalogue;
use crate::catalogue::BackEnd;
use crate::devices::gauge::Gauge;
use crate::error::{Error, Result};
use crate::problem::layout::{Pairs, preparation};
use crate::problem::memory::{AQSM_LOCAL, Of};
use crate::problem::{Batch, Extents, Matrix, Outline, Problem, SlabView};

pub trait Device: Sync {
    fn info(&self) -> &DeviceInfo;

    fn back_end(&self) -> BackEnd {
        self.info().back_end()
    }

    /// What is known of one of a kernel's entries here.
    fn kernel(&self, kernel: &Kernel, entry: &Entry) -> Result<KernelInfo>;

    /// Loads an entry that is needed next while the next run goes on.
    fn prepare(&self, _entry: &Entry) {}

    /// Bytes that are free for arrays on a device with a memory of its own.
    fn free_memory(&self) -> Result<Option<u64>> {
        Ok(None)
    }

    /// What the host's memory has to hold in addition to a problem's arrays while these versions run here, one after
    /// the other, on slabs of these dimensions.
    fn workspace(
        &self,
        _: Outline,
        _versions: &[catalogue::Kernel],
        _slab: Extents,
    ) -> HostWorkspace {
        HostWorkspace::default()
    }

    /// What shows its clocks, power and temperature, if anything does.
    fn gauge(&self) -> Option<Arc<dyn Gauge>> {
        None
    }

    /// The CPU, if it is that.
    fn host(&self) -> Option<&Host> {
        None
    }

    /// A worker for slabs of a problem. Workers of one device may work at the same time.
    fn worker<'a>(&'a self, problem: &'a Problem) -> Result<Box<dyn Worker + 'a>>;
}

/// Sums slabs of one problem on one device. Slabs are finished in the order in which they were begun.
pub trait Worker: Send {
    /// Takes memory for slabs of so many `igp` at most, about so many in all: as many as there is room for
    /// stay in place. Without it there is room for one.
    fn expect(&mut self, _igp: usize, _slabs: usize) -> Result<()> {
        Ok(())
    }

    /// The device, for errors of one of several workers.
    fn device(&self) -> &str {
        HOST
    }

    /// How many slabs may be in flight.
    fn depth(&self) -> usize {
        1
    }

    /// Whether slabs displace each other, so that every calculation uploads them again.
    fn streams(&self) -> bool {
        false
    }

    /// Page-locks memory for as long as the result lives, which owns it: slabs there are uploaded without a
    /// copy. None if that is of no use, and if the system refuses it.
    fn lock(&self, _memory: Arc<Matrix>) -> Option<Locked> {
        None
    }

    /// Begins to sum a slab at a batch of energies by a version's kernels, second stage included, and uploads what is
    /// not in place. After this returns, the device reads only what is [locked](Worker::lock): dropping the lock waits
    /// until that has ended. A CPU reports its progress to `watch`. If this fails, the slab is not in flight, and those
    /// begun before still are.
    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Kernel,
        watch: Watch,
    ) -> Result<()>;

    /// Has all in place that [`Worker::begin`] would put there, kernels included, so that it does nothing but
    /// launch.
    fn ready(&mut self, _: SlabView<'_>, _: &Batch, _: catalogue::Kernel) -> Result<()> {
        Ok(())
    }

    /// Makes what the host makes of a slab for the batch that begins next, while another is in flight.
    fn look_ahead(&mut self, _: SlabView<'_>, _: &Batch, _: catalogue::Kernel) {}

    /// Allows so many bytes of the host's memory for what is made of slabs and needed in each calculation, such
    /// as sorted pairs; what finds no room is made each time. Without it there are few.
    fn keep(&mut self, _bytes: u64) {}

    /// The sums of the slab that was begun first, which is no longer in flight, even if this fails.
    fn finish(&mut self) -> Result<SlabSums>;

    /// Forgets what is in place of slabs, none of which is in flight.
    fn forget(&mut self);
}

/// Holds memory page-locked, and owns it.
pub type Locked = Box<dyn Send>;

/// The result of one calculation on a slab.
#[derive(Clone, Debug, PartialEq)]
pub struct SlabSums {
    /// `(groups, values)`: the values are the parts of `asx`, then of `ach`, energy by energy.
    pub values: Vec<f64>,
    /// Groups of `igp`, in their order: one if the kernel has one sum of the slab, as many as there are `igp` in
    /// kernels for CPUs.
    pub groups: usize,
    /// Time of the calculation, data already in place.
    pub seconds: f64,
    /// Blocks of a launch, of kernels for GPUs.
    pub blocks: Option<u32>,
    pub upload: Upload,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Upload {
    /// Bytes; none if all was in place.
    pub bytes: u64,
    /// From the first to the last of them.
    pub seconds: f64,
}

impl Upload {
    /// This and another one, one after the other.
    #[must_use]
    pub fn and(self, other: Upload) -> Upload {
        Upload { bytes: self.bytes + other.bytes, seconds: self.seconds + other.seconds }
    }
}

impl SlabSums {
    /// Of all energies, from those of its batches in their order; none without any.
    pub fn joined(batches: impl IntoIterator<Item = SlabSums>) -> Option<SlabSums> {
        let join = |mut all: SlabSums, next: SlabSums| {
            assert_eq!(all.groups, next.groups, "groups of a slab");
            all.values.extend(next.values);
            all.seconds += next.seconds;
            all.upload = all.upload.and(next.upload);
            all
        };
        batches.into_iter().reduce(join)
    }

    /// One of the values, of each group.
    pub fn of_value(&self, value: usize) -> &[f64] {
        &self.values[value * self.groups..][..self.groups]
    }
}

pub const HOST: &str = "cpu";

/// What is known of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// `cpu`, `gpu:0`, `gpu:1`, …
    pub id: String,
    /// Model.
    pub name: String,
    /// Driver version, of a GPU.
    pub driver: Option<String>,
    /// Compute capability, of a GPU.
    pub compute_capability: Option<String>,
    /// Streaming multiprocessors, or threads of the host.
    pub multiprocessors: u32,
    /// Of a GPU, `GPU-…`.
    pub uuid: Option<String>,
    /// Highest clock in MHz, if known.
    pub clock_mhz: Option<u32>,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

impl DeviceInfo {
    /// Whether it has the instructions of a version.
    pub fn runs(&self, gpu: &GpuVersion) -> bool {
        let capability = self.compute_capability.as_ref().and_then(|told| told.parse().ok());
        capability.is_none_or(|capability: f64| capability >= gpu.capability)
    }

    /// What the device runs kernels as.
    pub fn back_end(&self) -> BackEnd {
        if self.id == HOST { BackEnd::Cpu } else { BackEnd::Gpu }
    }
}

/// What is known of one kernel on one device; `None` if it does not apply.
#[derive(Clone, Debug, Default)]
pub struct KernelInfo {
    pub symbol: String,
    pub registers: Option<u32>,
    /// Local memory of a thread in bytes: the stack frame and spills.
    pub local_bytes: Option<u32>,
    /// Static shared memory of a block in bytes.
    pub shared_bytes: Option<u32>,
    /// Warps that fit on a multiprocessor.
    pub warps_per_sm: Option<u32>,
}

// The CPU with its threads and vectors; its worker is in host.rs.

pub struct Host {
    info: DeviceInfo,
    level: Level,
    team: Arc<Team>,
}

impl Host {
    /// With the widest vectors that it has.
    pub fn new() -> Host {
        Host::at(Level::best())
    }

    /// With the vectors of a level.
    pub fn at(level: Level) -> Host {
        Host::with_team(level, Arc::new(Team::new(Room::here())))
    }

    /// With the vectors of a level, and these threads.
    pub fn with_team(level: Level, team: Arc<Team>) -> Host {
        assert!(level.is_available(), "this processor has no {level}");
        Host { info: info(team.count(Threads::All)), level, team }
    }

    /// This host with so many threads, 1 to [`MOST`](gpp_cpu::pool::MOST).
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Host {
        self.team.set(threads);
        Host::with_team(self.level, self.team)
    }

    /// The vectors that it is used with.
    pub fn level(&self) -> Level {
        self.level
    }

    /// How many threads its versions run.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// The threads that versions run, started when they are first asked for.
    pub fn pool(&self, threads: Threads) -> Result<Arc<Pool>> {
        self.team.pool(threads).map_err(Error::threads)
    }
}

impl Default for Host {
    fn default() -> Self {
        Host::new()
    }
}

fn info(threads: usize) -> DeviceInfo {
    use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};
    let system = System::new_with_specifics(
        RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram()),
    );
    let name = system
        .as_ref()
        .ok()
        .and_then(|system| Some(system.cpus().first()?.brand().trim().to_string()));
    DeviceInfo {
        id: HOST.into(),
        name: name.filter(|name| !name.is_empty()).unwrap_or("unknown processor".into()),
        driver: None,
        compute_capability: None,
        multiprocessors: threads as u32,
        uuid: None,
        clock_mhz: None,
        memory_bytes: system.map_or(0, |system| system.total_memory()),
    }
}

// How a kernel runs on a slab, in the emulator and on a GPU.

/// A kernel, its entry for so many energies, and the grid of each launch.
pub struct Launch<'a> {
    /// The kernel that sums problems of these poles.
    pub kernel: &'a Kernel,
    pub entry: &'static Entry,
    pub grid: Grid,
}

impl<'a> Launch<'a> {
    /// Of the kernels of `gpu` at some energies, with what they read of the slab's pairs.
    pub fn of(
        gpu: &'a GpuVersion,
        problem: &Problem,
        batch: &Batch,
        slab: SlabView,
        pairs: &Pairs,
    ) -> Result<Launch<'a>> {
        let kernel = batch.plan().kernel(gpu);
        let (header, nw) = (problem.header(), batch.nw());
        // Neither kernel nor driver would notice.
        assert!(
            slab.igp().end <= header.ngpown
                && slab.ncouls() == header.ncouls
                && slab.nbands() == header.nbands,
            "the slab is of the problem"
        );
        assert_eq!(batch.id().0, problem.bands().id(), "the batch is of the problem");
        let extents = pairs.counted(Dimensions {
            nbands: header.nbands as u32,
            ngpown: slab.len() as u32,
            ncouls: slab.ncouls() as u32,
            nw: nw as u32,
            fallback_begins: &[],
            clusters: 0,
        });
        if let Some(Exceeded { what, count, below }) = kernel.exceeded(&extents) {
            let origin = format!("{} on {}", gpu.id(), problem.name());
            let what = format!("the kernel takes fewer than {below} {what}, found {count}");
            return Err(Error::Input { origin, what });
        }
        Ok(Launch { kernel, entry: entry(kernel, nw), grid: kernel.grid(&extents) })
    }
}

/// The entry of `kernel` for `nw` energies.
pub fn entry(kernel: &Kernel, nw: usize) -> &'static Entry {
    kernel.entry(nw).expect("every kernel has an entry for every number of energies")
}

// What versions take of the host's memory in addition to a problem's arrays, known before they take it.

/// Bytes in addition to the arrays of a problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostWorkspace {
    /// As long as there is a worker.
    pub bands: u64,
    /// While a slab is worked on.
    pub slab: u64,
}

impl HostWorkspace {
    /// What two need that are there one after the other.
    #[must_use]
    pub fn or(self, other: HostWorkspace) -> HostWorkspace {
        HostWorkspace { bands: self.bands.max(other.bands), slab: self.slab.max(other.slab) }
    }
}

impl Add for HostWorkspace {
    type Output = HostWorkspace;

    fn add(self, other: HostWorkspace) -> HostWorkspace {
        HostWorkspace {
            bands: self.bands.saturating_add(other.bands),
            slab: self.slab.saturating_add(other.slab),
        }
    }
}

/// What kernels for GPUs read that is laid out for them, layout by layout: those that sum a problem for these
/// versions, in slabs of these dimensions.
pub fn of_layouts(
    problem: Outline,
    versions: &[catalogue::Kernel],
    slab: Extents,
) -> impl Iterator<Item = HostWorkspace> {
    let of_version = |version: &catalogue::Kernel| version.first(problem);
    let kernels: Vec<(&Kernel, usize)> = versions.iter().filter_map(of_version).collect();
    Layout::ALL.into_iter().filter_map(move |layout| {
        let those = kernels.iter().filter(|(kernel, _)| kernel.layout == layout);
        let nw = those.map(|(_, nw)| *nw).max()?;
        let slab = Extents { nw, ..slab };
        // A part of a slab has its rows far apart, so that the original layout is one of its own too.
        let aqsm_local = AQSM_LOCAL.bytes(slab, layout);
        let pairs = preparation(layout).bytes_while_made(slab, problem.poles);
        let bands = slab.bytes_beside(Of::Bands, layout, problem.keeps_order);
        Some(HostWorkspace { bands, slab: aqsm_local.saturating_add(pairs) })
    })
}

// The names of devices.

/// The devices of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first GPU, or the CPU if there is none.
    Auto,
    /// These GPUs; one at least, each once.
    Gpus(Vec<usize>),
    /// All GPUs that this process sees.
    AllGpus,
    Cpu,
}

impl Choice {
    /// Whether it is more than one device, or may be.
    pub fn is_several(&self) -> bool {
        match self {
            Choice::Auto | Choice::Cpu => false,
            Choice::Gpus(indices) => indices.len() > 1,
            Choice::AllGpus => true,
        }
    }
}

/// Names of devices; numbers stand for N and M.
pub const NAMED: [&str; 4] = ["auto", "gpu", "gpu:all", HOST];

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Choice> {
        let unknown = || {
            let mut error = Error::unknown(
                "device",
                text,
                ["auto", "gpu", "gpu:N", "gpu:N,M", "gpu:all", HOST],
            );
            let gpu = text.to_lowercase().strip_prefix("cuda").map(|index| format!("gpu{index}"));
            if let (Error::Unknown { nearest, .. }, Some(gpu)) = (&mut error, gpu)
                && gpu.parse::<Choice>().is_ok()
            {
                *nearest = gpu;
            }
            error
        };
        match text.split_once(':') {
            None if text == "auto" => Ok(Choice::Auto),
            None if text == "gpu" => Ok(Choice::Gpus(vec![0])),
            None if text == HOST => Ok(Choice::Cpu),
            Some(("gpu", "all")) => Ok(Choice::AllGpus),
            Some(("gpu", indices)) => {
                let indices: Vec<usize> = indices
                    .split(',')
                    .map(|index| index.parse().map_err(|_| unknown()))
                    .collect::<Result<_>>()?;
                let mut seen = HashSet::new();
                match indices.iter().find(|&index| !seen.insert(index)) {
                    Some(twice) => Err(Error::Input {
                        origin: format!("--device {text}"),
                        what: format!("names gpu:{twice} twice"),
                    }),
                    None => Ok(Choice::Gpus(indices)),
                }
            }
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Auto => f.write_str("auto"),
            Choice::Gpus(indices) => {
                let indices: Vec<String> = indices.iter().map(usize::to_string).collect();
                write!(f, "gpu:{}", indices.join(","))
            }
            Choice::AllGpus => f.write_str("gpu:all"),
            Choice::Cpu => f.write_str(HOST),
        }
    }
}

// Progress and stop of a calculation, and the threads of its workers.

/// Called with the part of a calculation that is done, from any thread and in any order.
pub type Done<'a> = &'a (dyn Fn(f64) + Sync);

#[derive(Clone, Copy)]
pub struct Watch<'a> {
    pub done: Done<'a>,
    /// Ends the calculation, within a slab too.
    pub stop: &'a Stop,
}

impl<'a> Watch<'a> {
    pub fn none() -> Watch<'static> {
        Watch::of(&|_| ())
    }

    /// Progress alone.
    pub fn of(done: Done<'a>) -> Watch<'a> {
        Watch { done, stop: &NEVER }
    }

    /// Fails once the stop is asked.
    pub fn check(&self) -> Result<()> {
        let stopped = |code| Error::Stopped { code, done: 0, all: 1, of: "parts" };
        self.stop.asked().map_or(Ok(()), |code| Err(stopped(code)))
    }
}

/// Starts a thread for one of several workers.
pub fn spawned<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    let thread = starting(|| Builder::new().stack_size(STACK).spawn_scoped(scope, work));
    thread.map_err(Error::threads)
}
