//! The processor as a device: versions made for it in its vectors (`vectors.rs`), those for GPUs in an
//! emulator (`emulated.rs`).

mod emulated;
mod vectors;

use std::ops::{Add, Range};
use std::sync::Arc;

use gpp_cpu::level::Level;
use gpp_cpu::pool::{Pool, Team, Threads};
use gpp_cpu::topology::Room;
use gpp_kernels::kernel::{Entry, Kernel};

use super::beside::{Beside, of_layouts};
use super::{Device, DeviceInfo, HOST, KernelInfo, SlabSums, Watch, Worker};
use crate::catalogue;
use crate::error::{Error, Result};
use crate::problem::{Batch, Extents, Frame, Id, Outline, SlabView};

/// The processor.
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
    ///
    /// # Panics
    /// Where the processor does not have it.
    pub fn at(level: Level) -> Host {
        Host::with_team(level, Arc::new(Team::new(Room::here())))
    }

    /// With the vectors of a level, and these threads.
    ///
    /// # Panics
    /// Where the processor does not have the level.
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
    ///
    /// # Errors
    /// [`Error::Threads`] where the system gives none.
    pub fn pool(&self, threads: Threads) -> Result<Arc<Pool>> {
        self.team.pool(threads).map_err(|error| Error::Threads { reason: error.to_string() })
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

impl Device for Host {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn kernel(&self, _: &Kernel, entry: &Entry) -> Result<KernelInfo> {
        Ok(KernelInfo { symbol: entry.symbol.into(), ..KernelInfo::default() })
    }

    fn host(&self) -> Option<&Host> {
        Some(self)
    }

    fn beside(&self, problem: Outline, versions: &[catalogue::Kernel], slab: Extents) -> Beside {
        // What was made for one version stays for the next.
        let emulated = of_layouts(problem, versions, slab).fold(Beside::default(), Beside::add);
        emulated + vectors::beside(problem, versions, slab)
    }

    fn worker<'a>(&'a self, problem: &'a Frame) -> Result<Box<dyn Worker + 'a>> {
        let (emulated, vectors) = (emulated::OfBands::default(), vectors::OfBands::default());
        Ok(Box::new(OnHost { host: self, problem, emulated, vectors, slab: None, summed: None }))
    }
}

/// A worker: what a kernel reads beside the problem's own arrays is made when one first wants it.
struct OnHost<'a> {
    host: &'a Host,
    problem: &'a Frame,
    emulated: emulated::OfBands<'a>,
    vectors: vectors::OfBands,
    slab: Option<OfSlab>,
    /// Of the slab that was begun.
    summed: Option<SlabSums>,
}

/// What was made of a slab.
struct OfSlab {
    which: (Id, Range<usize>),
    emulated: emulated::OfSlab,
    vectors: vectors::OfSlab,
}

impl Worker for OnHost<'_> {
    fn place(&mut self, slab: SlabView<'_>) -> Result<()> {
        let which = slab.id();
        if self.slab.as_ref().is_none_or(|made| made.which != which) {
            let (emulated, vectors) = Default::default();
            self.slab = Some(OfSlab { which, emulated, vectors });
        }
        Ok(())
    }

    fn begin(
        &mut self,
        slab: SlabView<'_>,
        batch: &Batch,
        kernel: catalogue::Kernel,
        watch: Watch,
    ) -> Result<()> {
        assert!(self.summed.is_none(), "one slab is under way at a time");
        self.place(slab)?;
        let made = self.slab.as_mut().expect("placed above");
        let summed = match kernel {
            catalogue::Kernel::Gpu(gpu) => {
                let (emulated, made) = (&mut self.emulated, &mut made.emulated);
                let pool = self.host.pool(Threads::All)?;
                pool.install(|| emulated.sum(self.problem, batch, slab, made, gpu, watch))?
            }
            catalogue::Kernel::Cpu(cpu) => {
                let made = &mut made.vectors;
                self.vectors.sum(self.host, (self.problem, batch), slab, made, cpu, watch)?
            }
        };
        watch.check()?;
        self.summed = Some(summed);
        Ok(())
    }

    fn finish(&mut self) -> Result<SlabSums> {
        Ok(self.summed.take().expect("a slab was begun"))
    }

    fn forget(&mut self) {
        self.slab = None;
    }
}
