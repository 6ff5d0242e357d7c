//! What the program and callers of the library open alike: devices with their threads, ranks, and the memory that these
//! may take. It decides how much of a problem is in memory and how large slabs are.

use std::sync::Arc;
use std::{mem, panic, process, thread};

use gpp_cpu::pool::{CpuTeam, DefaultThreads, Pool, Room};
use gpp_cpu::simd::Level;
use gpp_kernels::arrays::Layout;
use num_integer::lcm;

use crate::catalogue::Version;
use crate::devices::cpu::CpuDevice;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::uploads::{PairsCache, Ring};
use crate::devices::{Choice, Device, DeviceInfo, spawned};
use crate::engine::Engine;
use crate::error::{Error, Result, invalid, shown};
use crate::os::memory::{self, Free};
use crate::problem::arrays::{AQSM_LOCAL, AQSN, Extents, Of, WX};
use crate::problem::{Problem, Slabs, Source};
use crate::ranks::{Ranks, require_same};

/// The memory that a session may take, all that is free without a limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryLimits {
    /// Bytes of each device's memory, for all processes on it.
    pub device: Option<u64>,
    /// Bytes of a host's memory, for all ranks on it.
    pub host: Option<u64>,
    /// `igp` of a slab.
    pub slab: Option<usize>,
}

/// The CPU or GPUs, all of one process, and the ranks that share its calculations.
pub struct Session<'r> {
    cpu: Option<CpuDevice>,
    gpus: Vec<Gpu>,
    pub team: Arc<CpuTeam>,
    pub ranks: &'r dyn Ranks,
    pub limits: MemoryLimits,
    /// Why it runs on the CPU, if the first GPU was asked for and there is none.
    pub no_gpu: Option<String>,
    process: u32,
}

/// Bytes that are not counted one by one: small arrays, and batches of energies that stay.
pub const SMALL: u64 = 64 << 20;

/// The least igp that a process works on: whole groups of any version.
const LEAST: usize = 64;

/// Slabs for each GPU if data are there for one calculation, and least pairs of one: uploads run under kernels.
const SLABS: usize = 6;
const LEAST_SLAB: usize = 1 << 20;

/// Bytes of a pair while pairs are sorted, in fallback pairs and lists, and of all that is there besides.
const OF_SORTED: u64 = 80;
const OF_LISTED: u64 = 8;
const OF_CELLS: u64 = 2 << 20;

impl<'r> Session<'r> {
    /// Collective. Opens devices, for all processes within these limits. Those of a host take one GPU after the other.
    pub fn open(choice: &Choice, limits: MemoryLimits, ranks: &'r dyn Ranks) -> Result<Self> {
        let open = |index: usize| Gpu::limited(index, limits.device);
        let open_gpus = || -> Result<Vec<Gpu>> {
            match choice {
                Choice::Cpu => Ok(Vec::new()),
                // All ranks of a host count the same GPUs.
                Choice::Auto | Choice::Gpu => Ok(vec![open(ranks.local().0 % Gpu::count()?)?]),
                Choice::Gpus(indices) => indices.iter().copied().map(open).collect(),
                Choice::AllGpus => (0..Gpu::count()?).map(open).collect(),
            }
        };
        let (gpus, no_gpu) = match choice {
            Choice::Cpu => (Vec::new(), None),
            _ => match on_own_thread(open_gpus, || ())?.0 {
                Err(Error::NoGpu { why }) if *choice == Choice::Auto => (Vec::new(), Some(why)),
                gpus => (gpus?, None),
            },
        };
        let uuid = |gpu: &Gpu| gpu.info().uuid.clone().unwrap_or_default();
        let processes = ranks.having(&gpus.iter().map(uuid).collect::<Vec<_>>());
        let shared = gpus.into_iter().zip(processes).map(|(gpu, count)| gpu.shared(count));
        let gpus = shared.collect::<Result<Vec<_>>>()?;
        let team = Arc::new(CpuTeam::new(Room::here()));
        let cpu = gpus.is_empty().then(|| CpuDevice::with_team(Level::best(), team.clone()));
        Ok(Session { cpu, gpus, team, ranks, limits, no_gpu, process: process::id() })
    }

    /// With a SIMD level of the CPU, and with so many threads in place of the default.
    #[must_use]
    pub fn with_cpu(mut self, level: Level, threads: Option<usize>) -> Self {
        if let Some(threads) = threads {
            self.team.set(threads);
        }
        if let Some(cpu) = &mut self.cpu {
            *cpu = CpuDevice::with_team(level, self.team.clone());
        }
        self
    }

    /// One at least.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = &dyn Device> {
        let count = self.gpus.len().max(1);
        (0..count).map(|index| match &self.cpu {
            Some(cpu) => cpu as &dyn Device,
            None => &self.gpus[index],
        })
    }

    pub fn first(&self) -> &dyn Device {
        self.devices().next().expect("one is open")
    }

    pub fn cpu(&self) -> Option<&CpuDevice> {
        self.cpu.as_ref()
    }

    pub fn gpus(&self) -> &[Gpu] {
        &self.gpus
    }

    /// The only GPU.
    pub fn gpu(&self) -> Option<&Gpu> {
        self.gpus.first().filter(|_| self.gpus.len() == 1)
    }

    pub fn workers(&self) -> usize {
        self.devices().len() * self.ranks.size()
    }

    /// Fails on all ranks if devices differ in kind: their versions, or bits, would differ. Collective.
    pub fn require_one_kind(&self) -> Result<()> {
        let kinds: Vec<String> = self.devices().map(|device| kind(device.info())).collect();
        if let Some(other) = kinds.iter().find(|other| **other != kinds[0]) {
            let what = format!("must be of one model; found a {} and a {other}", kinds[0]);
            return Err(invalid("the devices", what));
        }
        require_same(self.ranks, "back end", &kinds[0])
    }

    /// An engine for these versions of a problem in slabs of `igp`, or in smaller ones if a device has no room for these.
    pub fn engine<'a>(
        &'a self,
        problem: &'a Problem,
        igp: usize,
        kernels: &[Version],
    ) -> Result<Engine<'a>> {
        let workers = self.devices().map(|device| device.worker(problem));
        let workers = workers.collect::<Result<_>>()?;
        let least = self.limits.slab.map_or_else(|| group(problem, kernels), |_| igp);
        let mut engine = Engine::new(self.ranks, problem, igp, workers)?;
        engine.least = least;
        Ok(engine)
    }

    /// All of a problem if that fits the memory of the only process. Of several, each has its share if those fit, else
    /// the bands alone. Collective.
    pub fn load(&self, source: Box<dyn Source>) -> Result<Problem> {
        let (extents, size) = (source.extents(), self.ranks.size());
        let slab = |ngpown: usize| Extents { ngpown: ngpown.min(extents.ngpown), ..extents };
        let free = self.host_memory(0);
        // Versions for CPUs have another layout of the bands as well.
        let layouts = if self.cpu.is_some() { 2 } else { 1 };
        let bands = extents.bytes_of(Of::Bands).saturating_mul(layouts).saturating_add(SMALL);
        free.require(&format!("the bands of {}", source.name()), bands)?;
        // Which versions run, and whether they sort pairs, may depend on the poles.
        let pairs = (slab(LEAST).ngpown as u64).saturating_mul(extents.ncouls as u64);
        let work = bands.saturating_add(pairs.saturating_mul(OF_SORTED));
        let share = slab(extents.ngpown.div_ceil(size)).bytes_of(Of::Slab);
        if size == 1 {
            return match work.saturating_add(share) <= free.bytes {
                true => source.load(),
                false => Problem::open(source, false, self.ranks),
            };
        }
        // Each device's next slab is made while one is summed.
        let made = slab(LEAST).bytes_of(Of::Slab).saturating_mul(2 * self.devices().len() as u64);
        let needed = work.saturating_add(made).saturating_add(share);
        // All ranks or none: those with their share in memory run more often.
        let has_share = self.ranks.least((needed <= free.bytes).into()) == 1;
        Problem::open(source, has_share, self.ranks)
    }

    /// The same problem with the share of this process in whole slabs.
    pub fn in_whole_slabs(&self, problem: Problem, igp: usize) -> Result<Problem> {
        let (ngpown, slabs) = (problem.header().ngpown, Slabs::new(&problem, igp));
        let share = self.ranks.share(slabs.count());
        let [begin, end] = [share.start, share.end].map(|slab| ngpown.min(slab * slabs.igp()));
        problem.with_share(begin..end)
    }

    /// How many `igp` a slab has for these versions. What stays on one device (not `is_once`) is one slab, if the problem is
    /// in memory; several workers have slabs of equal size. The host must have room for what versions make. Collective.
    pub fn slab_size(
        &self,
        problem: &Problem,
        kernels: &[Version],
        is_once: bool,
    ) -> Result<usize> {
        let (ngpown, group) = (problem.header().ngpown, group(problem, kernels));
        let workers = self.workers();
        let slabs = match is_once {
            // One is made and uploaded during the kernels of another, if sums do not depend on slabs.
            true if self.cpu.is_none() && group > 1 => {
                (ngpown * problem.extents().ncouls / LEAST_SLAB).clamp(1, SLABS)
            }
            false if workers > 1 || !problem.is_whole() => 2,
            _ => 1,
        };
        // The devices of one process share out sorted pairs of all igp.
        let sort = kernels.iter().all(|kernel| kernel.sorts(problem.poles()));
        let is_dealt = sort && problem.is_whole() && self.ranks.size() == 1;
        let each = ngpown.div_ceil(group).div_ceil(workers * slabs) * group;
        let mut igp = if is_dealt { ngpown } else { each };
        if let Some(slab) = self.limits.slab {
            igp = slab.min(ngpown);
            if !igp.is_multiple_of(group) && igp < ngpown {
                let what = format!(
                    "must be a multiple of the number of G′ that these versions sum together, {group}"
                );
                return Err(invalid(format!("--slab {slab}"), what));
            }
        }
        let share = match problem.in_memory() {
            None if problem.stays() => {
                let ngpown = ngpown.div_ceil(self.ranks.size());
                Extents { ngpown, ..problem.extents() }.bytes_of(Of::Slab)
            }
            _ => 0,
        };
        let besides = if is_once { 0 } else { share + SMALL };
        let free = (!is_once).then(|| self.host_memory(bytes_in_memory(problem)));
        loop {
            let needed = self.host_bytes(problem, kernels, igp).saturating_add(besides);
            let what = format!("bands and two slabs of {igp} igp of {}", problem.name());
            let found = match &free {
                Some(free) => free.require(&what, needed),
                None => memory::require(&what, needed),
            };
            if found.is_ok() || igp <= group || self.limits.slab.is_some() {
                break found?;
            }
            igp = each.min(igp.div_ceil(group).div_ceil(2) * group);
        }
        // Slabs are the same for all ranks, however much memory each has.
        Ok(self.ranks.least(igp.min(ngpown) as u64) as usize)
    }

    /// Bytes of host memory that these versions need in addition to the arrays in memory, with slabs of so many `igp`.
    pub fn host_bytes(&self, problem: &Problem, kernels: &[Version], igp: usize) -> u64 {
        let in_memory = problem.in_memory().map_or(0, |slab| slab.view().len());
        let outline = problem.outline();
        let Extents { nbands, ngpown, ncouls, nw } = outline.extents;
        let pairs = |igp: usize| (igp as u64).saturating_mul(ncouls as u64);
        let bytes_of_version = |version: &Version| {
            let nw = version.energies(outline).next().map_or(0, |batch| batch.len());
            let of_pair = if version.sorts(outline.poles) { OF_SORTED } else { OF_LISTED };
            let sums = match (version, &self.cpu) {
                (Version::Cpu(cpu), Some(_)) => cpu.bytes_of_sums([nbands, igp, ncouls], nw),
                _ => 0,
            };
            pairs(igp).saturating_mul(of_pair).saturating_add(sums + OF_CELLS)
        };
        let of_versions = kernels.iter().map(bytes_of_version).max().unwrap_or(0);
        // In another layout, of whole vectors.
        let [padded_bands, padded_igp, padded_ncouls] =
            [nbands, igp.min(ngpown), ncouls].map(|count| count.next_multiple_of(16));
        let padded =
            Extents { nbands: padded_bands, ngpown: padded_igp, ncouls: padded_ncouls, nw };
        let [aqsn, aqsm, wx] =
            [&AQSN, &AQSM_LOCAL, &WX].map(|array| array.bytes(padded, Layout::Original));
        let has_single = kernels.iter().any(|version| version.is_single());
        let rounded = if has_single { (aqsn + aqsm) / 2 } else { 0 };
        // Plans of all energies, and those of a batch in a layout.
        let layouts = [aqsn, aqsm.saturating_mul(2), wx.saturating_mul(4), rounded];
        let of_device = layouts.into_iter().fold(of_versions, u64::saturating_add);
        // Each device's next slab is made while one is summed.
        let slabs = if in_memory == ngpown { 0 } else { 2 };
        let slab = Extents { ngpown: igp, ..outline.extents }.bytes_of(Of::Slab);
        let of_device = of_device.saturating_add(slab.saturating_mul(slabs));
        let uploads = match self.cpu {
            None => PairsCache::MOST.min(pairs(ngpown).saturating_mul(OF_LISTED)) + Ring::MOST,
            Some(_) => 0,
        };
        let of_devices =
            of_device.saturating_add(uploads).saturating_mul(self.devices().len() as u64);
        let copies = if self.ranks.size() == 1 { 2 } else { 6 };
        // Sums of a slab's batches are joined, then those of all slabs; ranks send them as well.
        let sums = kernels.iter().map(|kernel| copies * kernel.bytes_of_sums(outline)).max();
        of_devices.saturating_add(sums.unwrap_or(0))
    }

    /// Host memory for this process, which has taken some bytes of its limit before: the processes of a host have equal
    /// parts, and no process of a run has more than another. Collective.
    pub fn host_memory(&self, taken: u64) -> Free {
        let local = self.ranks.local().1 as u64;
        let free = memory::free().unwrap_or(Free { bytes: u64::MAX, limit: None });
        let share = |what: &str| format!("{local} ranks share {what}");
        let shared = |by: String| if local > 1 { format!("{by}, and {}", share("it")) } else { by };
        let limit = free.limit.map(shared).or((local > 1).then(|| share("the host")));
        let mut part = Free { bytes: free.bytes / local, limit };
        if let Some(most) = self.limits.host {
            let bytes = (most / local).saturating_sub(taken);
            let limit = Some(shared(format!("--host-memory allows {}", shown(most))));
            part = part.or_less(Free { bytes, limit });
        }
        let least = self.ranks.least(part.bytes);
        part.or_less(Free { bytes: least, limit: Some("another rank has no more".into()) })
    }

    /// Fails if less host memory is free than a calculation needs in addition to a problem's arrays. Collective.
    pub fn require_host(&self, problem: &Problem, needed: u64) -> Result<()> {
        if self.ranks.size() == 1 && self.limits.host.is_none() {
            return memory::require(problem.name(), needed);
        }
        self.host_memory(bytes_in_memory(problem)).require(problem.name(), needed)
    }

    pub fn pool(&self) -> Result<Arc<Pool>> {
        self.team.pool(DefaultThreads::All).map_err(Error::threads)
    }

    /// Fails in a process that was forked from that which has opened this: it has none of its threads.
    pub fn require_process(&self) -> Result<()> {
        let (opened, here) = (self.process, process::id());
        if opened == here {
            return Ok(());
        }
        Err(Error::Driver(format!(
            "the calculator was opened by process {opened}, and its threads are not in process {here}, which was \
             forked from it; open one here"
        )))
    }
}

/// What the driver keeps of a thread, its current context above all, is the caller's own.
impl Drop for Session<'_> {
    fn drop(&mut self) {
        let gpus = mem::take(&mut self.gpus);
        if self.require_process().is_err() {
            // Whoever holds a lock of theirs is not there to let it go.
            mem::forget((gpus, self.cpu.take(), self.team.clone()));
        } else if !gpus.is_empty() {
            // Without a thread they go here.
            let _ = on_own_thread(|| drop(gpus), || ());
        }
    }
}

/// What decides which versions a device runs, and their bits.
pub fn kind(info: &DeviceInfo) -> String {
    match &info.compute_capability {
        Some(capability) => format!("GPU of compute capability {capability}"),
        None => "CPU".into(),
    }
}

fn group(problem: &Problem, kernels: &[Version]) -> usize {
    let of_version = |kernel: &Version| kernel.igp_of_group(problem.outline());
    kernels.iter().filter_map(of_version).fold(1, lcm)
}

fn bytes_in_memory(problem: &Problem) -> u64 {
    let ngpown = problem.in_memory().map_or(0, |slab| slab.view().len());
    Extents { ngpown, ..problem.extents() }.bytes()
}

/// Does work on a thread of its own, and something else meanwhile.
pub fn on_own_thread<R: Send, M>(
    work: impl FnOnce() -> R + Send,
    meanwhile: impl FnOnce() -> M,
) -> Result<(R, M)> {
    thread::scope(|scope| {
        let working = spawned(scope, work)?;
        let meanwhile = meanwhile();
        let done = working.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
        Ok((done, meanwhile))
    })
}
