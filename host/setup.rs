//! Devices, the problem, memory and ranks of a calculation.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use gpp_cpu::pool::Room;
use gpp_kernels::reduction;

use crate::catalogue::{BackEnd, Kernel, Listed, sources};
use crate::cli::args::{AUTO, DeviceArgs};
use crate::devices::Choice;
use crate::devices::entry;
use crate::devices::gpu::driver::is_there;
use crate::devices::gpu::{self, Gpu};
use crate::devices::host::Host;
use crate::devices::{Device, DeviceInfo};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::memory::{self, Crew, Limits};
use crate::output::{Kept, note};
use crate::problem::synthesis::Synthesis;
use crate::problem::{self, Batch, Grid, Problem, Slabs, System, digest, file, systems};
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
    OnGrid(Box<Source>, Grid),
}

impl Source {
    pub fn system(name: &str, seed: u64) -> Result<Source> {
        Ok(Source::System(systems::find(name)?, seed))
    }

    /// This source at other energies, where some are asked for.
    #[must_use]
    pub fn at(self, grid: Option<Grid>) -> Source {
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

    pub fn arguments(&self) -> Vec<OsString> {
        match self {
            Source::System(system, seed) => {
                ["--system", &system.name, "--seed", &seed.to_string()].map(Into::into).to_vec()
            }
            Source::File(path) => vec!["--input".into(), path.into()],
            Source::OnGrid(source, grid) => {
                let grid = grid.argument().into_iter().flatten().map(OsString::from);
                source.arguments().into_iter().chain(grid).collect()
            }
        }
    }

    /// Who makes or reads it, whole or slab by slab.
    pub fn open(&self, progress: Progress) -> Result<Box<dyn problem::Source>> {
        Ok(match self {
            Source::File(path) => Box::new(file::Input::open(path, progress)?),
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
    /// The problem's digest, once it is known.
    pub contents: OnceLock<u64>,
}

impl<'a> Setting<'a> {
    pub fn whole(device: &'a &'a dyn Device, problem: &'a Problem) -> Setting<'a> {
        Setting {
            crew: Crew { devices: std::slice::from_ref(device), ranks: &Alone },
            slabs: problem.into(),
            whole: Some(problem),
            limits: Limits::default(),
            contents: OnceLock::new(),
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

    /// A digest of all that the sums of a version depend on, but for the program and slabs.
    pub fn task(&self, version: Kernel) -> Result<String> {
        let contents = match self.contents.get() {
            Some(contents) => *contents,
            None => {
                let contents = digest::of_problem(self.slabs.problem())?;
                *self.contents.get_or_init(|| contents)
            }
        };
        Ok(task(self.crew, self.slabs.problem(), contents, version))
    }

    /// How the problem is parted, for rank 0; none where it is not.
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

/// Where the workers are, for rank 0. Collective.
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
        return Err(Error::Input { origin: "the devices".into(), what });
    }
    require_same(crew.ranks, "back end", &own[0])
}

/// Fails on all ranks where these are not the tasks of all, or another program is to calculate them.
pub fn require_same_tasks(ranks: &dyn Ranks, own: &[String]) -> Result<()> {
    let own = format!("{} {}", own.join(" "), record::program());
    require_same(ranks, "input, energies, version, vectors or program", &own)
}

/// A digest of all that the sums of a version depend on, but for the program and slabs.
pub fn task(crew: Crew, frame: &Problem, contents: u64, version: Kernel) -> String {
    let device = crew.devices[0];
    let kernels = kernels(frame, version);
    let on_gpu = device.back_end() == BackEnd::Gpu;
    let code =
        if on_gpu { code(&kernels) } else { sources::hash(version.id()).unwrap_or_default() };
    let vectors = match (version, device.host()) {
        (Kernel::Cpu(cpu), Some(host)) => cpu.level(host.level()).to_string(),
        _ => String::new(),
    };
    let (id, by) = (version.id(), back_end(device.info()));
    let all = format!("{contents} {id} {kernels:?} {code} {by} {vectors}");
    format!("{:016x}", digest::of(all.as_bytes()))
}

/// The symbols of the entries that a version for GPUs runs on a problem; none for one for CPUs.
fn kernels(frame: &Problem, version: Kernel) -> Vec<&'static str> {
    let Kernel::Gpu(gpu) = version else { return Vec::new() };
    let of_batch = |batch: Arc<Batch>| entry(batch.plan().kernel(gpu), batch.nw()).symbol;
    let mut kernels: Vec<_> = version.batches(frame).kinds().map(of_batch).collect();
    kernels.dedup();
    kernels
}

/// A digest of the code of kernels, and of the second stage.
fn code(kernels: &[&str]) -> String {
    let symbols = kernels.iter().copied().chain([reduction::SYMBOL]);
    let hash = |symbol| gpu::hash(symbol).unwrap_or("unknown".into());
    symbols.map(hash).collect::<Vec<_>>().join(" ")
}

pub fn back_end(info: &DeviceInfo) -> String {
    match &info.compute_capability {
        Some(capability) => format!("GPU of compute capability {capability}"),
        None => "CPU".into(),
    }
}

// What is done of an experiment is shown at its end, on an error and on an interrupt.

/// Runs an experiment that hands out its record after each part. The last record, or the one that it returns,
/// is shown.
pub fn keep<R: Clone + Send + 'static>(
    show: impl Fn(&R) -> anyhow::Result<()> + Send + Sync + 'static,
    experiment: impl FnOnce(&mut dyn FnMut(&R)) -> Result<R>,
) -> anyhow::Result<R> {
    let kept = Kept::new(None, move |record: &Option<R>| match record {
        Some(record) => show(record),
        None => Ok(()),
    });
    let mut tell = |record: &R| kept.change(|kept| *kept = Some(record.clone()));
    let done = experiment(&mut tell);
    if let Ok(record) = &done {
        tell(record);
    }
    kept.finish(done)
}

// The devices named on the command line.

/// Opens the device that is to run these versions. With none named, that is the processor where all versions
/// are made for it or there is no GPU.
pub fn device(
    args: &DeviceArgs,
    versions: &[Listed],
    progress: Progress,
) -> Result<Box<dyn Device>> {
    require_one(args)?;
    let mut devices = devices(args, None, versions, progress, &Alone)?;
    Ok(devices.swap_remove(0))
}

/// Fails where several devices are asked for.
pub fn require_one(args: &DeviceArgs) -> Result<()> {
    let choice = args.choice()?;
    if choice.is_several() {
        let what = "this command takes one device".into();
        return Err(Error::Input { origin: format!("--device {choice}"), what });
    }
    Ok(())
}

pub enum Opened {
    Host(Box<Host>),
    Gpus(Vec<Gpu>),
}

/// Opens the devices to run these versions, one at least. Of a GPU's memory no more than `most` bytes are
/// taken for arrays, by all processes that have it together. Processes of one host take its GPUs in turn, and
/// share its cores.
pub fn devices(
    args: &DeviceArgs,
    most: Option<u64>,
    versions: &[Listed],
    progress: Progress,
    ranks: &dyn Ranks,
) -> Result<Vec<Box<dyn Device>>> {
    let gpus = match opened(args, most, versions, progress, ranks)? {
        Opened::Host(host) => {
            ranks.having(&[]);
            return Ok(vec![host]);
        }
        Opened::Gpus(gpus) => gpus,
    };
    Ok(shared(gpus, ranks)?.into_iter().map(|gpu| Box::new(gpu) as _).collect())
}

/// GPUs of which each process that has one takes an equal part of the memory. Collective.
pub fn shared(gpus: Vec<Gpu>, ranks: &dyn Ranks) -> Result<Vec<Gpu>> {
    let uuids: Vec<String> =
        gpus.iter().map(|gpu| gpu.info().uuid.clone().unwrap_or_default()).collect();
    let shared = gpus.into_iter().zip(ranks.having(&uuids));
    shared.map(|(gpu, processes)| gpu.shared(processes)).collect()
}

pub fn opened(
    args: &DeviceArgs,
    most: Option<u64>,
    versions: &[Listed],
    progress: Progress,
    ranks: &dyn Ranks,
) -> Result<Opened> {
    let choice = args.choice()?;
    args.level()?;
    let host = || Ok(Opened::Host(args.host(Room::here())?.into()));
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

/// Fails where the vectors of a level are asked for and no version uses them.
pub fn require_vectors(args: &DeviceArgs, versions: &[Listed]) -> Result<()> {
    let uses = |listed: &Listed| listed.kernel.back_end() == BackEnd::Cpu;
    match &args.simd {
        Some(level) if !versions.iter().any(uses) => Err(Error::Input {
            origin: format!("--simd {level}"),
            what: "has no effect without a version made for processors: --version cpu has them"
                .into(),
        }),
        _ => Ok(()),
    }
}
