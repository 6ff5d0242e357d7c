//! Who calculates what: the devices and processes that share a problem, and its slabs.

use std::sync::{Arc, OnceLock};

use gpp_kernels::reduction;

use super::room::{self, Crew, Limits};
use crate::catalogue::{BackEnd, Kernel, sources};
use crate::devices::entry;
use crate::devices::{Device, DeviceInfo, gpu};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::problem::digest;
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
    /// The problem's digest, once it is known.
    pub contents: OnceLock<u64>,
}

impl<'a> Setting<'a> {
    /// One device and a problem that is one slab.
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

    /// Who does it.
    ///
    /// # Errors
    /// Those of [`Engine::whole`] and [`Engine::new`].
    pub fn engine(&self, versions: &[Kernel]) -> Result<Engine<'a>> {
        let mut engine = self.opened()?;
        engine.keep(room::spare(self.slabs, versions, self.crew, self.limits));
        Ok(engine.stopping(&interrupt::ASKED))
    }

    fn opened(&self) -> Result<Engine<'a>> {
        let devices = self.crew.devices;
        let engine = match (self.whole, devices) {
            (Some(problem), [only]) if self.is_plain() => return Engine::whole(*only, problem),
            _ => {
                let workers = devices.iter().map(|device| device.worker(self.slabs.frame()));
                Engine::new(self.slabs, self.slabs.igp(), workers.collect::<Result<_>>()?)?
            }
        };
        engine.among(self.crew.ranks)
    }

    /// A digest of all that the sums of a version depend on, but for the program and slabs.
    ///
    /// # Errors
    /// Those of [`digest::of_problem`], where the problem's digest is not known yet.
    pub fn task(&self, version: Kernel) -> Result<String> {
        let contents = match self.contents.get() {
            Some(contents) => *contents,
            None => {
                let contents = digest::of_problem(self.slabs)?;
                *self.contents.get_or_init(|| contents)
            }
        };
        Ok(task(self.crew, self.slabs.frame(), contents, version))
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
    require_same(crew.ranks, "back end", &own[0])
}

/// Fails on all ranks where these are not the tasks of all, or another program is to calculate them.
///
/// # Errors
/// [`Error::Data`] that names the rank.
pub fn require_same_tasks(ranks: &dyn Ranks, own: &[String]) -> Result<()> {
    let own = format!("{} {}", own.join(" "), provenance::program());
    require_same(ranks, "input, energies, version, vectors or program", &own)
}

/// A digest of all that the sums of a version depend on, but for the program and slabs.
///
/// # Panics
/// Where there is no device.
pub fn task(crew: Crew, frame: &Frame, contents: u64, version: Kernel) -> String {
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
fn kernels(frame: &Frame, version: Kernel) -> Vec<&'static str> {
    let Kernel::Gpu(gpu) = version else { return Vec::new() };
    let of_batch = |batch: Arc<Batch>| entry(batch.plan().kernel(gpu), batch.nw()).symbol;
    let mut kernels: Vec<_> = frame.batches_for(version).kinds().map(of_batch).collect();
    kernels.dedup();
    kernels
}

/// A digest of the code of kernels, and of the second stage.
fn code(kernels: &[&str]) -> String {
    let symbols = kernels.iter().copied().chain([reduction::SYMBOL]);
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
