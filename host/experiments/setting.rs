//! Who calculates what: the devices and processes that share a problem, and its slabs.

use std::path::Path;

use super::parting::{Crew, Limits};
use crate::catalogue::Kernel;
use crate::devices::gpu::{self, KERNELS_BY};
use crate::devices::launch::entry;
use crate::devices::{Device, DeviceInfo};
use crate::engine::Engine;
use crate::engine::checkpoint::{self, Checkpoint, Finished, Identity};
use crate::error::{Error, Result};
use crate::problem::{Batch, Frame, Origin, Problem, Slabs};
use crate::ranks::{Alone, Ranks};
use crate::record::parting::{Parting, Place};
use crate::record::provenance;

/// Devices, processes and a problem.
#[derive(Clone, Copy)]
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

    /// The same that goes on from a checkpoint. Rank 0 reads it for all.
    fn resumed(&self, engine: Engine<'a>, path: &Path, version: Kernel) -> Result<Engine<'a>> {
        let ranks = self.crew.ranks;
        let identity = self.identity(version)?;
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

    /// All that the sums of a version's slabs depend on.
    fn identity(&self, version: Kernel) -> Result<Identity> {
        let (frame, ranks) = (self.slabs.frame(), self.crew.ranks);
        let contents = if ranks.is_root() { contents(frame)?.into_bytes() } else { Vec::new() };
        let contents = ranks.broadcast(contents);
        let info = self.crew.devices[0].info();
        let compiler = match (&info.compute_capability, provenance::kernels_by()) {
            (Some(_), Some(by)) => by,
            (Some(_), None) => KERNELS_BY.map_or("unknown".into(), |_| named_ptx()),
            // The program's own code.
            (None, _) => provenance::PROGRAM_BY.unwrap_or("unknown").into(),
        };
        let commit = provenance::COMMIT.unwrap_or("unknown");
        Ok(Identity {
            problem: frame.name().into(),
            contents: String::from_utf8_lossy(&contents).into_owned(),
            version: version.id().into(),
            kernel: kernel(frame, version),
            compiler: format!("{compiler}; {} at {commit}", provenance::PROGRAM),
            back_end: back_end(info),
            ngpown: frame.header().ngpown,
            nw: frame.nw(),
            slab: self.slabs.igp(),
        })
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

/// The size of slabs of a checkpoint that is there. Rank 0 reads it for all.
///
/// # Errors
/// Those of [`checkpoint::slab_of`].
///
/// # Panics
/// Never: rank 0 sends eight bytes.
pub fn slab_of(path: &Path, ranks: &dyn Ranks) -> Result<Option<usize>> {
    let found = if ranks.is_root() { checkpoint::slab_of(path)? } else { None };
    let bytes = ranks.broadcast((found.unwrap_or(0) as u64).to_ne_bytes().to_vec());
    let igp = u64::from_ne_bytes(bytes.try_into().expect("eight bytes")) as usize;
    Ok((igp > 0).then_some(igp))
}

/// Fails on all ranks where their devices are not of one kind: they would run other versions, or the same to
/// other bits.
///
/// # Errors
/// [`Error::Data`] that names the first rank with another kind than rank 0.
pub fn require_one_kind(crew: Crew) -> Result<()> {
    let own = back_end(crew.devices[0].info());
    let all = crew.ranks.gather(own.as_bytes()).unwrap_or_default();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let other = all.iter().zip(0..).find(|(kind, _)| kind[..] != *own.as_bytes());
    let said = other.map_or(String::new(), |(kind, rank)| {
        format!("need devices of one kind: rank 0 has a {own}, rank {rank} a {}", text(kind))
    });
    match text(&crew.ranks.broadcast(said.into_bytes())) {
        none if none.is_empty() => Ok(()),
        what => Err(Error::Data { origin: "the ranks".into(), what }),
    }
}

/// A digest of a problem's data: all bytes of a file; of what is made, its seed and its bands.
fn contents(frame: &Frame) -> Result<String> {
    let mut digest = crc32fast::Hasher::new();
    let of = match frame.origin() {
        Origin::File(path) => {
            let unreadable = |e: std::io::Error| Error::Data {
                origin: path.display().to_string(),
                what: format!("cannot be read for its digest: {e}"),
            };
            let mut file = std::fs::File::open(path).map_err(unreadable)?;
            let mut part = vec![0; 1 << 20];
            loop {
                match std::io::Read::read(&mut file, &mut part).map_err(unreadable)? {
                    0 => break,
                    read => digest.update(&part[..read]),
                }
            }
            "file".into()
        }
        Origin::System(_, seed) => format!("seed {seed}"),
        Origin::Made => "made".into(),
    };
    digest.update(bytemuck::cast_slice(frame.aqsn()));
    digest.update(bytemuck::cast_slice(frame.wx()));
    digest.update(bytemuck::cast_slice(frame.occ()));
    Ok(format!("{of}, CRC-32 {:08x}", digest.finalize()))
}

/// What a version runs on a problem.
fn kernel(frame: &Frame, version: Kernel) -> String {
    match version {
        Kernel::Gpu(gpu) => {
            let of_batch = |batch: &Batch| {
                let kernel = batch.plan().kernel(gpu);
                let symbol = entry(kernel, batch.nw()).symbol;
                match kernel.max_registers {
                    Some(most) => format!("{symbol}, {most} registers"),
                    None => symbol.into(),
                }
            };
            // All batches have as many energies but for the last one.
            let mut kernels: Vec<String> =
                frame.batches_for(version).iter().map(of_batch).collect();
            kernels.dedup();
            kernels.join("; ")
        }
        Kernel::Cpu(cpu) => cpu.id().into(),
    }
}

/// The PTX that `GPP_PTX` names.
fn named_ptx() -> String {
    let ptx = gpu::kernels().map(|ptx| crc32fast::hash(ptx.text().as_bytes()));
    ptx.map_or("unknown".into(), |digest| format!("PTX with CRC-32 {digest:08x}"))
}

/// What runs the kernels: all levels of a processor give the same bits.
fn back_end(info: &DeviceInfo) -> String {
    match &info.compute_capability {
        Some(capability) => format!("GPU of compute capability {capability}"),
        None => "CPU".into(),
    }
}
