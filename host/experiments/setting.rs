//! Who calculates what: the devices and processes that share a problem, and its slabs.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use gpp_kernels::reduction;

use super::room::{self, Crew, Limits};
use crate::catalogue::{BackEnd, Kernel, sources};
use crate::devices::launch::entry;
use crate::devices::{Device, DeviceInfo, gpu};
use crate::engine::Engine;
use crate::engine::checkpoint::{self, Checkpoint, Finished};
use crate::engine::deal::share_of;
use crate::engine::identity::Identity;
use crate::error::{Difference, Error, Result};
use crate::problem::digest::{self, Contents};
use crate::problem::{Batch, Frame, Problem, Slabs};
use crate::process::interrupt;
use crate::ranks::{Alone, Ranks, require_same};
use crate::record::parting::{Parting, Place};
use crate::record::provenance;

/// Devices, processes and a problem.
pub struct Setting<'a> {
    /// Who calculates.
    pub crew: Crew<'a>,
    /// The problem in its slabs.
    pub slabs: Slabs<'a>,
    /// All of it, where it is in memory.
    pub whole: Option<&'a Problem>,
    /// What was said of memory.
    pub limits: Limits,
    /// Where finished slabs are kept.
    pub checkpoint: Option<&'a Path>,
    /// The problem's digest, once it is known.
    pub contents: OnceLock<Contents>,
}

impl<'a> Setting<'a> {
    /// One device and a problem that is one slab.
    pub fn whole(device: &'a &'a dyn Device, problem: &'a Problem) -> Setting<'a> {
        Setting {
            crew: Crew { devices: std::slice::from_ref(device), ranks: &Alone },
            slabs: problem.into(),
            whole: Some(problem),
            limits: Limits::default(),
            checkpoint: None,
            contents: OnceLock::new(),
        }
    }

    /// Whether there is nothing to share.
    pub fn is_plain(&self) -> bool {
        self.crew.workers() == 1 && self.slabs.count() == 1 && self.checkpoint.is_none()
    }

    /// Who does it.
    ///
    /// # Errors
    /// Those of [`Engine::whole`] and [`Engine::new`], and of the checkpoint, which is of this version.
    pub fn engine(&self, versions: &[Kernel]) -> Result<Engine<'a>> {
        let mut engine = self.opened(versions)?;
        engine.keep(room::spare(self.slabs, versions, self.crew, self.limits));
        Ok(engine.stopping(&interrupt::ASKED))
    }

    fn opened(&self, versions: &[Kernel]) -> Result<Engine<'a>> {
        let devices = self.crew.devices;
        let engine = match (self.whole, devices) {
            (Some(problem), [only]) if self.is_plain() => return Engine::whole(*only, problem),
            _ => {
                let workers = devices.iter().map(|device| device.worker(self.slabs.frame()));
                Engine::new(self.slabs, self.slabs.igp(), workers.collect::<Result<_>>()?)?
            }
        };
        let engine = engine.among(self.crew.ranks)?;
        match (self.checkpoint, versions) {
            (None, _) => Ok(engine),
            (Some(path), [version]) => self.resumed(engine, path, *version),
            (Some(path), _) => Err(Error::Data {
                origin: format!("--checkpoint {}", path.display()),
                what: format!("needs one version, has {}", versions.len()),
            }),
        }
    }

    /// Has an engine go on from a checkpoint. Rank 0 reads it for all.
    fn resumed(&self, engine: Engine<'a>, path: &Path, version: Kernel) -> Result<Engine<'a>> {
        let ranks = self.crew.ranks;
        let identity = Identity { columns: self.columns()?, ..self.identity(version)? };
        let finished =
            if ranks.is_root() { checkpoint::read(path, &identity)? } else { Finished::new() };
        let numbers: Vec<u64> = finished.keys().map(|&at| at as u64).collect();
        let numbers = ranks.broadcast(bytemuck::cast_slice(&numbers).to_vec());
        let numbers = numbers
            .chunks_exact(8)
            .map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")) as usize);
        let checkpoint = Checkpoint::begin(path, identity, ranks.rank(), &finished)?;
        // Nobody writes before the others' files are gone.
        ranks.barrier();
        Ok(engine.keeping(numbers.collect(), finished, checkpoint))
    }

    /// All that the sums of a version depend on.
    ///
    /// # Errors
    /// Those of [`Slabs::part`], where the problem's digest is not known yet.
    pub fn identity(&self, version: Kernel) -> Result<Identity> {
        let contents = match self.contents.get() {
            Some(contents) => contents,
            None => {
                let contents = Contents::of(self.slabs)?;
                self.contents.get_or_init(|| contents)
            }
        };
        Ok(identity(self.crew, self.slabs.frame(), contents, version, self.slabs.igp()))
    }

    /// A digest of all columns of the problem, each read by the rank whose it is, where that of some does not
    /// tell it from others.
    fn columns(&self) -> Result<Option<String>> {
        let (slabs, ranks) = (self.slabs, self.crew.ranks);
        if digest::is_told_by_some(slabs.frame()) {
            return Ok(None);
        }
        let mut own = Vec::new();
        for igp in share_of(slabs.count(), ranks).into_iter().filter_map(|at| slabs.range(at)) {
            own.extend(digest::of_columns(slabs.part(igp)?.view()));
        }
        // Ranks have neighbouring slabs, in their order.
        let all = ranks.gather(bytemuck::cast_slice(&own)).unwrap_or_default().concat();
        let all = ranks.broadcast(digest::hex(&[digest::of(&all)]).into_bytes());
        Ok(Some(String::from_utf8_lossy(&all).into_owned()))
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
///
/// # Panics
/// Never: what is read was written by the same program.
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

/// The size of slabs of a checkpoint that is there, of a task whose size of slabs is not known yet. Rank 0
/// reads it for all.
///
/// # Errors
/// Those of [`checkpoint::slab_of`].
///
/// # Panics
/// Never: rank 0 sends eight bytes.
pub fn slab_of(path: &Path, ranks: &dyn Ranks, task: &Identity) -> Result<Option<usize>> {
    let found = if ranks.is_root() { checkpoint::slab_of(path, task)? } else { None };
    let bytes = ranks.broadcast((found.unwrap_or(0) as u64).to_ne_bytes().to_vec());
    let igp = u64::from_ne_bytes(bytes.try_into().expect("eight bytes")) as usize;
    Ok((igp > 0).then_some(igp))
}

/// Fails on all ranks where their devices are of several kinds: those would run other versions, or find other bits.
///
/// # Errors
/// [`Error::Data`] that names a device of another kind than the first one of rank 0.
pub fn require_one_kind(crew: Crew) -> Result<()> {
    let own: Vec<String> = crew.devices.iter().map(|device| back_end(device.info())).collect();
    if let Some(other) = own.iter().find(|other| **other != own[0]) {
        let what = format!("need to be of one kind: the first is a {}, another a {other}", own[0]);
        return Err(Error::Data { origin: "the devices".into(), what });
    }
    require_same(crew.ranks, &own[0], |own, other| {
        let (needed, found) = (own.clone(), other.clone());
        (own != other).then(|| Difference {
            field: "back end".into(),
            needed,
            found,
            flag: "--device",
        })
    })
}

/// Fails on all ranks where these are not the tasks of all.
///
/// # Errors
/// [`Error::Data`] that names the rank and what is different.
pub fn require_same_tasks(ranks: &dyn Ranks, own: &Vec<Identity>) -> Result<()> {
    require_same(ranks, own, |own, other| {
        let count = |tasks: &[Identity]| tasks.len().to_string();
        let (needed, found) = (count(own), count(other));
        let counts = Difference { field: "versions".into(), needed, found, flag: "--version" };
        let mut pairs = own.iter().zip(other);
        pairs
            .find_map(|(own, other)| own.difference(other))
            .or_else(|| (own.len() != other.len()).then_some(counts))
    })
}

/// All that the sums of a version depend on, in slabs of so many `igp`.
///
/// # Panics
/// Where there is no device.
pub fn identity(
    crew: Crew,
    frame: &Frame,
    contents: &Contents,
    version: Kernel,
    igp: usize,
) -> Identity {
    let device = crew.devices[0];
    let kernels = kernels(frame, version);
    let on_gpu = device.back_end() == BackEnd::Gpu;
    Identity {
        problem: frame.name().into(),
        contents: contents.data.clone(),
        columns: None,
        ngpown: frame.header().ngpown,
        nw: frame.nw(),
        energies: contents.energies.clone(),
        version: version.id().into(),
        kernel: if kernels.is_empty() { version.id().into() } else { named(&kernels) },
        code: if on_gpu { code(&kernels) } else { sources::hash(version.id()).unwrap_or_default() },
        program: provenance::program().into(),
        back_end: back_end(device.info()),
        vectors: match (version, device.host()) {
            (Kernel::Cpu(cpu), Some(host)) => Some(cpu.level(host.level()).to_string()),
            _ => None,
        },
        slab: igp,
    }
}

/// The entries that a version for GPUs runs on a problem, with their kernels' caps on registers; none for
/// one for processors.
fn kernels(frame: &Frame, version: Kernel) -> Vec<(&'static str, Option<u32>)> {
    let Kernel::Gpu(gpu) = version else { return Vec::new() };
    let of_batch = |batch: Arc<Batch>| {
        let kernel = batch.plan().kernel(gpu);
        (entry(kernel, batch.nw()).symbol, kernel.max_registers)
    };
    let mut kernels: Vec<_> = frame.batches_for(version).kinds().map(of_batch).collect();
    kernels.dedup();
    kernels
}

fn named(kernels: &[(&str, Option<u32>)]) -> String {
    let name = |(symbol, most): &(&str, Option<u32>)| match most {
        Some(most) => format!("{symbol}, {most} registers"),
        None => symbol.to_string(),
    };
    kernels.iter().map(name).collect::<Vec<_>>().join("; ")
}

/// A digest of the code of kernels, and of the second stage.
fn code(kernels: &[(&str, Option<u32>)]) -> String {
    let symbols = kernels.iter().map(|(symbol, _)| *symbol).chain([reduction::SYMBOL]);
    let hash = |symbol| gpu::hash(symbol).unwrap_or("unknown".into());
    symbols.map(hash).collect::<Vec<_>>().join(" ")
}

/// What runs the kernels.
pub fn back_end(info: &DeviceInfo) -> String {
    match &info.compute_capability {
        Some(capability) => format!("GPU of compute capability {capability}"),
        None => "CPU".into(),
    }
}
