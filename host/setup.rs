//! The parts of a calculation: devices, MPI ranks, the problem and its slabs.

use std::ffi::OsString;
use std::path::PathBuf;

use gpp_cpu::pool::Room;

use crate::catalogue::{BackEnd, Kernel, Listed};
use crate::cli::{DeviceArgs, ProblemArgs};
use crate::devices::cpu::CpuDevice;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::is_there;
use crate::devices::{Choice, Device, DeviceInfo};
use crate::engine::Engine;
use crate::error::{Error, Result, invalid};
use crate::memory::{self, Limits, Resources};
use crate::output::{Progress, note};
use crate::problem::synthesis::{DEFAULT_SEED, Synthesis};
use crate::problem::{self, EnergyGrid, Problem, Slabs, System, input_file};
use crate::ranks::{Alone, Ranks, require_same};
use crate::record::run::{Parting, Place};

#[derive(Clone, Debug)]
pub enum Input {
    System(&'static System, u64),
    /// A file in the format of BerkeleyGW's mini-app.
    File(PathBuf),
}

/// A problem before it is synthesised or read.
#[derive(Clone, Debug)]
pub struct Source {
    pub input: Input,
    pub energies: Option<EnergyGrid>,
}

impl Source {
    pub fn of(args: &ProblemArgs, system: &str) -> Result<Source> {
        let input = match &args.input {
            Some(path) => Input::File(path.clone()),
            None => {
                let system = System::find(args.system.as_deref().unwrap_or(system))?;
                Input::System(system, args.seed.unwrap_or(DEFAULT_SEED))
            }
        };
        Ok(Source { input, energies: args.energies.map(EnergyGrid::Even) })
    }

    /// Name of the system, or of the file without its extension.
    pub fn name(&self) -> String {
        match &self.input {
            Input::System(system, _) => system.name.clone(),
            Input::File(path) => path.file_stem().unwrap_or_default().to_string_lossy().into(),
        }
    }

    /// The flags by which a run of this program has the same problem.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut flags: Vec<OsString> = match &self.input {
            Input::System(system, seed) => {
                ["--system", &system.name, "--seed", &seed.to_string()].map(Into::into).to_vec()
            }
            Input::File(path) => vec!["--input".into(), path.into()],
        };
        if let Some(EnergyGrid::Even(even)) = &self.energies {
            flags.extend(["--energies".into(), even.to_string().into()]);
        }
        flags
    }

    pub fn open(&self, progress: Progress) -> Result<Box<dyn problem::Source>> {
        let mut source: Box<dyn problem::Source> = match &self.input {
            Input::System(system, seed) => Box::new(Synthesis::new(system, *seed, progress)),
            Input::File(path) => Box::new(input_file::Input::open(path, progress)?),
        };
        if let Some(grid) = &self.energies {
            source.set_energies(grid);
        }
        Ok(source)
    }

    pub fn load(&self, progress: Progress) -> Result<Problem> {
        self.open(progress)?.load()
    }
}

impl Resources<'_> {
    /// Where the workers of all ranks are, for rank 0. Collective.
    pub fn places(self) -> Option<Vec<Place>> {
        let place = |device: &&dyn Device| Place {
            rank: self.ranks.rank(),
            host: sysinfo::System::host_name().ok(),
            device: device.info().clone(),
        };
        let own: Vec<Place> = self.devices.iter().map(place).collect();
        let own = serde_json::to_vec(&own).expect("texts and numbers under names");
        let read = |places: &Vec<u8>| -> Vec<Place> {
            serde_json::from_slice(places).expect("the same program wrote it")
        };
        Some(self.ranks.gather(&own)?.iter().flat_map(read).collect())
    }

    /// Fails on all ranks if devices differ in kind: their versions, or bits, would differ. Collective.
    pub fn require_one_kind(self) -> Result<()> {
        let own: Vec<String> = self.devices.iter().map(|device| kind(device.info())).collect();
        if let Some(other) = own.iter().find(|other| **other != own[0]) {
            let what = format!("must be of one model; found a {} and a {other}", own[0]);
            return Err(invalid("the devices", what));
        }
        require_same(self.ranks, "back end", &own[0])
    }
}

/// What decides which versions a device runs, and their bits.
pub fn kind(info: &DeviceInfo) -> String {
    match &info.compute_capability {
        Some(capability) => format!("GPU of compute capability {capability}"),
        None => "CPU".into(),
    }
}

pub struct Session<'a> {
    pub resources: Resources<'a>,
    pub slabs: Slabs<'a>,
}

impl<'a> Session<'a> {
    pub fn single(device: &'a &'a dyn Device, problem: &'a Problem) -> Session<'a> {
        let (devices, limits) = (std::slice::from_ref(device), Limits::default());
        let resources = Resources { devices, ranks: &Alone, limits };
        Session { resources, slabs: problem.into() }
    }

    /// Whether it is one slab on one device.
    pub fn is_single(&self) -> bool {
        self.resources.workers() == 1 && self.slabs.count() == 1
    }

    pub fn engine(&self, versions: &[Kernel]) -> Result<Engine<'a>> {
        let Session { resources: Resources { devices, ranks, .. }, slabs } = *self;
        let workers = devices.iter().map(|device| device.worker(slabs.problem()));
        let workers = workers.collect::<Result<_>>()?;
        let mut engine = Engine::among(ranks, slabs, slabs.igp(), workers)?;
        engine.keep(memory::cache(slabs, versions, self.resources));
        Ok(engine.stopping(&crate::output::STOP))
    }

    /// How the problem is divided, for rank 0; none if it is not. Collective.
    pub fn partition(&self) -> Option<Parting> {
        if self.is_single() {
            return None;
        }
        let Resources { ranks, limits, .. } = self.resources;
        Some(Parting {
            igp: self.slabs.igp(),
            slabs: self.slabs.count(),
            in_memory: self.slabs.problem().is_whole(),
            device_memory: limits.device,
            host_memory: limits.host,
            ranks: ranks.size(),
            places: self.resources.places()?,
        })
    }
}

pub enum Devices {
    Cpu(Box<CpuDevice>),
    Gpus(Vec<Gpu>),
}

impl Devices {
    /// Opens the devices of a command line to run these versions. All processes together take at most `most` bytes of a
    /// GPU's memory, each an equal part. Processes of a host take one GPU after the other, and share its cores. Collective.
    pub fn open(
        args: &DeviceArgs,
        most: Option<u64>,
        versions: &[Listed],
        progress: Progress,
        ranks: &dyn Ranks,
    ) -> Result<Devices> {
        let for_cpu = |listed: &Listed| listed.kernel.back_end() == BackEnd::Cpu;
        // All ranks of a host count the same GPUs.
        let of_rank = || Gpu::limited(ranks.local().0 % Gpu::count()?, most);
        let choice: Choice = args.device.parse()?;
        let gpus = match choice {
            Choice::Cpu => Vec::new(),
            Choice::Auto if !versions.is_empty() && versions.iter().all(for_cpu) => Vec::new(),
            Choice::Auto => match of_rank() {
                Err(Error::NoGpu { why }) => {
                    if ranks.is_root() && is_there() {
                        // A driver that fails is reported even with --quiet.
                        note(format_args!("note: no GPU found: running on the CPU: {why}"));
                    } else if ranks.is_root() {
                        progress
                            .say("note: no GPU found: running on the CPU (`gpp info` says why)");
                    }
                    Vec::new()
                }
                gpu => vec![gpu?],
            },
            Choice::Gpus(_) | Choice::AllGpus => {
                versions.iter().try_for_each(|listed| listed.kernel.require_on(BackEnd::Gpu))?;
                let opened = |index| Gpu::limited(index, most);
                let gpus: Result<Vec<Gpu>> = match choice {
                    _ if args.device == "gpu" => of_rank().map(|gpu| vec![gpu]),
                    Choice::Gpus(indices) => indices.into_iter().map(opened).collect(),
                    _ => Gpu::count().and_then(|count| (0..count).map(opened).collect()),
                };
                gpus.map_err(|error| match error {
                    Error::NoGpu { why } => {
                        Error::NoGpu { why: why + "; --device cpu runs on the CPU" }
                    }
                    other => other,
                })?
            }
        };
        let uuid = |gpu: &Gpu| gpu.info().uuid.clone().unwrap_or_default();
        let processes = ranks.having(&gpus.iter().map(uuid).collect::<Vec<_>>());
        if gpus.is_empty() {
            let mut host = CpuDevice::at(args.level());
            if let Some(threads) = args.threads.map(usize::from) {
                if threads > 4 * Room::here().all {
                    progress.say("note: more than four threads share each CPU");
                }
                host = host.with_threads(threads);
            }
            return Ok(Devices::Cpu(Box::new(host)));
        }
        let shared = gpus.into_iter().zip(processes).map(|(gpu, count)| gpu.shared(count));
        shared.collect::<Result<_>>().map(Devices::Gpus)
    }

    /// One at least.
    pub fn all(&self) -> Vec<&dyn Device> {
        match self {
            Devices::Cpu(host) => vec![host.as_ref()],
            Devices::Gpus(gpus) => gpus.iter().map(|gpu| gpu as &dyn Device).collect(),
        }
    }
}
