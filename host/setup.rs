//! Devices, the problem, memory and ranks of a calculation.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpp_cpu::pool::Room;
use gpp_cpu::pool::Team;
use gpp_cpu::simd::Level;

use crate::catalogue::{BackEnd, Kernel, Listed};
use crate::cli::{AUTO, DeviceArgs, ProblemArgs};
use crate::devices::Choice;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::is_there;
use crate::devices::host::Host;
use crate::devices::{Device, DeviceInfo};
use crate::engine::Engine;
use crate::error::{Error, Result, invalid};
use crate::memory::{self, Crew, Limits};
use crate::output::note;
use crate::problem::synthesis::Synthesis;
use crate::problem::systems::DEFAULT_SEED;
use crate::problem::{self, EnergyGrid, Problem, Slabs, System, input_file, systems};
use crate::progress::Progress;
use crate::ranks::{Alone, Ranks, require_same};
use crate::record::run::{Parting, Place};
use crate::{interrupt, record};

// Where the problem of an experiment comes from.

/// A problem before it is made or read.
#[derive(Clone, Debug)]
pub enum Source {
    System(&'static System, u64),
    /// A file in the reference mini-app's format.
    File(PathBuf),
    OnGrid(Box<Source>, EnergyGrid),
}

impl Source {
    /// The problem that the arguments name, or else this system.
    pub fn of(args: &ProblemArgs, system: &str) -> Result<Source> {
        let grid = args.energies.map(EnergyGrid::Even);
        if let Some(path) = &args.input {
            return Ok(Source::File(path.clone()).at(grid));
        }
        let name = args.system.as_deref().unwrap_or(system);
        Ok(Source::system(name, args.seed.unwrap_or(DEFAULT_SEED))?.at(grid))
    }

    pub fn system(name: &str, seed: u64) -> Result<Source> {
        Ok(Source::System(systems::find(name)?, seed))
    }

    /// This source at other energies, where some are asked for.
    #[must_use]
    pub fn at(self, grid: Option<EnergyGrid>) -> Source {
        match grid {
            Some(grid) => Source::OnGrid(self.into(), grid),
            None => self,
        }
    }

    /// Name of the system, or of the file without its ending.
    pub fn name(&self) -> String {
        match self {
            Source::System(system, _) => system.name.clone(),
            Source::OnGrid(source, _) => source.name(),
            Source::File(path) => {
                path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
            }
        }
    }

    /// Its energies, where they are known before it is read.
    pub fn nw(&self) -> Option<usize> {
        match self {
            Source::System(system, _) => Some(system.nend + 1 - system.nstart),
            Source::OnGrid(_, grid) => Some(grid.nw()),
            Source::File(_) => None,
        }
    }

    pub fn file(&self) -> Option<&Path> {
        match self {
            Source::System(..) => None,
            Source::File(path) => Some(path),
            Source::OnGrid(source, _) => source.file(),
        }
    }

    /// The flags of a run of it.
    pub fn arguments(&self) -> Vec<OsString> {
        match self {
            Source::System(system, seed) => {
                ["--system", &system.name, "--seed", &seed.to_string()].map(Into::into).to_vec()
            }
            Source::File(path) => vec!["--input".into(), path.into()],
            Source::OnGrid(source, grid) => {
                let mut arguments = source.arguments();
                if let EnergyGrid::Even(even) = grid {
                    arguments.extend(["--energies".into(), even.to_string().into()]);
                }
                arguments
            }
        }
    }

    pub fn open(&self, progress: Progress) -> Result<Box<dyn problem::Source>> {
        Ok(match self {
            Source::File(path) => Box::new(input_file::Input::open(path, progress)?),
            Source::System(system, seed) => Box::new(Synthesis::new(system, *seed, progress)),
            Source::OnGrid(source, grid) => {
                let mut source = source.open(progress)?;
                source.set_energies(grid);
                source
            }
        })
    }

    pub fn load(&self, progress: Progress) -> Result<Problem> {
        self.open(progress)?.load()
    }
}

// Who calculates what: the devices and processes that share a problem, and its slabs.

pub struct Setting<'a> {
    pub crew: Crew<'a>,
    pub slabs: Slabs<'a>,
    pub whole: Option<&'a Problem>,
    pub limits: Limits,
}

impl<'a> Setting<'a> {
    pub fn whole(device: &'a &'a dyn Device, problem: &'a Problem) -> Setting<'a> {
        Setting {
            crew: Crew { devices: std::slice::from_ref(device), ranks: &Alone },
            slabs: problem.into(),
            whole: Some(problem),
            limits: Limits::default(),
        }
    }

    /// Whether there is nothing to share.
    pub fn is_plain(&self) -> bool {
        self.crew.workers() == 1 && self.slabs.count() == 1
    }

    pub fn engine(&self, versions: &[Kernel]) -> Result<Engine<'a>> {
        let mut engine = self.opened()?;
        engine.keep(memory::spare(self.slabs, versions, self.crew, self.limits));
        Ok(engine.stopping(&interrupt::ASKED))
    }

    fn opened(&self) -> Result<Engine<'a>> {
        let devices = self.crew.devices;
        match (self.whole, devices) {
            (Some(problem), [only]) if self.is_plain() => Engine::whole(*only, problem),
            _ => {
                let workers = devices.iter().map(|device| device.worker(self.slabs.problem()));
                let (ranks, workers) = (self.crew.ranks, workers.collect::<Result<_>>()?);
                Engine::among(ranks, self.slabs, self.slabs.igp(), workers)
            }
        }
    }

    /// How the problem is divided into slabs, for rank 0; none if it is not.
    pub fn parting(&self) -> Option<Parting> {
        if self.is_plain() {
            return None;
        }
        Some(Parting {
            igp: self.slabs.igp(),
            slabs: self.slabs.count(),
            in_memory: self.whole.is_some(),
            device_memory: self.limits.device,
            host_memory: self.limits.host,
            ranks: self.crew.ranks.size(),
            places: places(self.crew)?,
        })
    }
}

/// The workers of all ranks, for rank 0. Collective.
pub fn places(crew: Crew) -> Option<Vec<Place>> {
    let place = |device: &&dyn Device| Place {
        rank: crew.ranks.rank(),
        host: sysinfo::System::host_name().ok(),
        device: device.info().clone(),
    };
    let own: Vec<Place> = crew.devices.iter().map(place).collect();
    let own = serde_json::to_vec(&own).expect("texts and numbers under names");
    let read = |places: &Vec<u8>| -> Vec<Place> {
        serde_json::from_slice(places).expect("the same program wrote it")
    };
    Some(crew.ranks.gather(&own)?.iter().flat_map(read).collect())
}

/// Fails on all ranks where their devices are of several kinds: those would run other versions, or find other bits.
pub fn require_one_kind(crew: Crew) -> Result<()> {
    let own: Vec<String> = crew.devices.iter().map(|device| back_end(device.info())).collect();
    if let Some(other) = own.iter().find(|other| **other != own[0]) {
        let what = format!("need to be of one kind: the first is a {}, another a {other}", own[0]);
        return Err(invalid("the devices", what));
    }
    require_same(crew.ranks, "back end", &own[0])
}

/// Fails on all ranks unless all are to run the same versions of the same program on the same problem. Collective.
pub fn require_same_task(crew: Crew, versions: &[Kernel], problem: u64) -> Result<()> {
    let device = crew.devices[0];
    let ids: Vec<&str> = versions.iter().map(|version| version.id()).collect();
    let level = device.host().map_or(String::new(), |host| host.level().to_string());
    let own =
        format!("{problem} {ids:?} {} {level} {}", back_end(device.info()), record::program());
    require_same(crew.ranks, "input, energies, version, SIMD level or program", &own)
}

pub fn back_end(info: &DeviceInfo) -> String {
    match &info.compute_capability {
        Some(capability) => format!("GPU of compute capability {capability}"),
        None => "CPU".into(),
    }
}

// The devices named on the command line.

/// Opens the one device of a command that takes no more.
pub fn device(args: &DeviceArgs, progress: Progress) -> Result<Box<dyn Device>> {
    let choice = args.choice()?;
    if choice.is_several() {
        return Err(invalid(format!("--device {choice}"), "this command takes one device"));
    }
    Ok(devices(args, None, &[], progress, &Alone)?.swap_remove(0))
}

pub enum Opened {
    Host(Box<Host>),
    Gpus(Vec<Gpu>),
}

/// The devices to run these versions, one at least: see [`opened`].
pub fn devices(
    args: &DeviceArgs,
    most: Option<u64>,
    versions: &[Listed],
    progress: Progress,
    ranks: &dyn Ranks,
) -> Result<Vec<Box<dyn Device>>> {
    Ok(match opened(args, most, versions, progress, ranks)? {
        Opened::Host(host) => vec![host],
        Opened::Gpus(gpus) => gpus.into_iter().map(|gpu| Box::new(gpu) as _).collect(),
    })
}

/// Opens the devices to run these versions. At most `most` bytes of a GPU's memory are used for arrays, by all
/// processes that share it, of which each takes an equal part. Processes of one host take its GPUs in turn, and share
/// its cores. Collective.
pub fn opened(
    args: &DeviceArgs,
    most: Option<u64>,
    versions: &[Listed],
    progress: Progress,
    ranks: &dyn Ranks,
) -> Result<Opened> {
    let opened = open(args, most, versions, progress, ranks)?;
    let uuid = |gpu: &Gpu| gpu.info().uuid.clone().unwrap_or_default();
    let gpus = match opened {
        Opened::Host(host) => {
            ranks.having(&[]);
            return Ok(Opened::Host(host));
        }
        Opened::Gpus(gpus) => gpus,
    };
    let uuids: Vec<String> = gpus.iter().map(uuid).collect();
    let shared = gpus.into_iter().zip(ranks.having(&uuids));
    shared.map(|(gpu, processes)| gpu.shared(processes)).collect::<Result<_>>().map(Opened::Gpus)
}

/// Opens them for this process alone.
fn open(
    args: &DeviceArgs,
    most: Option<u64>,
    versions: &[Listed],
    progress: Progress,
    ranks: &dyn Ranks,
) -> Result<Opened> {
    let choice = args.choice()?;
    args.level()?;
    let host = || {
        let level = args.level()?.unwrap_or_else(Level::best);
        let host = Host::with_team(level, Arc::new(Team::new(Room::here())));
        Ok(Opened::Host(Box::new(match args.threads {
            Some(threads) => host.with_threads(threads),
            None => host,
        })))
    };
    let is_for_processors = |listed: &Listed| listed.kernel.back_end() == BackEnd::Cpu;
    match choice {
        Choice::Cpu => host(),
        Choice::Auto if !versions.is_empty() && versions.iter().all(is_for_processors) => host(),
        Choice::Auto => match of_rank(ranks, most) {
            Err(Error::NoGpu { why }) => {
                if ranks.is_root() && is_there() {
                    // Somebody who wants no notes wants to know of a driver that fails.
                    note(format_args!("note: no GPU found: running on the CPU: {why}"));
                } else if ranks.is_root() {
                    progress.say("note: no GPU found: running on the CPU (`gpp info` says why)");
                }
                host()
            }
            gpu => Ok(Opened::Gpus(vec![gpu?])),
        },
        Choice::Gpus(_) | Choice::AllGpus => {
            versions.iter().try_for_each(|listed| listed.kernel.require_on(BackEnd::Gpu))?;
            let indices: Vec<usize> = match choice {
                _ if args.device == "gpu" => return Ok(Opened::Gpus(vec![of_rank(ranks, most)?])),
                Choice::Gpus(indices) => indices,
                _ => (0..Gpu::count()?).collect(),
            };
            let gpus = indices.into_iter().map(|index| Gpu::limited(index, most));
            gpus.collect::<Result<_>>().map(Opened::Gpus)
        }
    }
}

/// The GPU of a process: all on a host count those that they see, and start again where there are more
/// processes than GPUs.
fn of_rank(ranks: &dyn Ranks, most: Option<u64>) -> Result<Gpu> {
    let (at, _) = ranks.local();
    Gpu::limited(at % Gpu::count()?, most)
}

/// Says, with `--quiet` too, which of the versions that somebody named are for GPUs and are emulated, if no device
/// was named.
pub fn say_emulated(args: &DeviceArgs, on: BackEnd, named: &[Listed]) {
    let is_for_gpus = |listed: &&Listed| listed.kernel.back_end() == BackEnd::Gpu;
    let names: Vec<&str> = named.iter().filter(is_for_gpus).map(Listed::id).collect();
    if on == BackEnd::Cpu && args.device == AUTO && !names.is_empty() {
        let names = names.join(", ");
        note(format_args!("note: no GPU for {names}: emulated on the CPU, slowly"));
    }
}

/// Fails if a SIMD level is asked for and no version uses it.
pub fn require_vectors(args: &DeviceArgs, versions: &[Listed]) -> Result<()> {
    let uses = |listed: &Listed| listed.kernel.back_end() == BackEnd::Cpu;
    match &args.simd {
        Some(level) if !versions.iter().any(uses) => Err(invalid(
            format!("--simd {level}"),
            "applies only to versions for CPUs, such as --version cpu",
        )),
        _ => Ok(()),
    }
}
