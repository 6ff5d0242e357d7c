//! How a problem is parted: what is in memory of it at a time, and how large its slabs are.

use super::sizes::{Share, Waves};
use crate::catalogue::{BackEnd, Kernel};
use crate::devices::Device;
use crate::error::{Error, Result};
use crate::problem::kept::Kept;
use crate::problem::memory::{self, Extents, Of};
use crate::problem::{Frame, Problem, Slabs, Source};
use crate::ranks::Ranks;

/// What the user says of memory and slabs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Bytes of each device's memory.
    pub device: Option<u64>,
    /// Bytes of the host's memory, for all ranks on it.
    pub host: Option<u64>,
    /// `igp` of a slab.
    pub slab: Option<usize>,
    /// Whether slabs are kept as they are finished: then there are several, one device or not.
    pub keeps: bool,
}

impl Limits {
    /// Fails where a limit means nothing to what the kernels run on.
    ///
    /// # Errors
    /// [`Error::Data`] that names the flag.
    pub fn require_effect_on(self, back_end: BackEnd) -> Result<()> {
        if back_end == BackEnd::Cpu && self.device.is_some() {
            let what = "has no effect on a CPU: --host-memory limits its arrays".into();
            return Err(Error::Data { origin: "--device-memory".into(), what });
        }
        Ok(())
    }
}

/// Who shares a problem.
#[derive(Clone, Copy)]
pub struct Crew<'a> {
    /// The devices of this process.
    pub devices: &'a [&'a dyn Device],
    /// The processes.
    pub ranks: &'a dyn Ranks,
}

impl Crew<'_> {
    /// All workers, where each process has as many devices as this one.
    pub fn workers(self) -> usize {
        self.devices.len() * self.ranks.size()
    }
}

/// A problem as this process has it.
pub enum Loaded<'a> {
    /// All in memory.
    Whole(Box<Problem>),
    /// Slab by slab.
    Parts {
        /// What the slabs have in common.
        frame: Box<Frame>,
        /// Who makes or reads them.
        source: Box<dyn Source + 'a>,
        /// Whether those of this process find room together.
        keeps: bool,
    },
}

/// Bytes beside the arrays: what a run needs of its own is small.
const BESIDE: u64 = 64 << 20;

impl<'a> Loaded<'a> {
    /// All of a source where that is for one process and finds room, else its bands.
    ///
    /// # Errors
    /// Those of the source; [`Error::Memory`] where there is no room for the bands.
    pub fn of(source: Box<dyn Source + 'a>, crew: Crew, limits: Limits) -> Result<Loaded<'a>> {
        let (extents, name) = (source.extents(), source.name().to_string());
        let room = host_room(crew, limits, 0);
        // What versions made for processors lay out anew.
        let again = if of_processor(crew) { extents.bytes_of(Of::Bands) } else { 0 };
        let is_alone = crew.ranks.size() == 1;
        if is_alone && extents.bytes().saturating_add(again + BESIDE) <= room {
            return Ok(Loaded::Whole(source.load()?.into()));
        }
        let bands = extents.bytes_of(Of::Bands).saturating_add(again + BESIDE);
        if bands > room {
            let what = format!("the bands of {name}");
            return Err(Error::Memory { place: "host", what, needed: bands, free: room });
        }
        let share = extents.bytes_of(Of::Slab) / crew.ranks.size() as u64;
        let fits = !is_alone && bands.saturating_add(share + share / 8) <= room;
        // All or none: those that keep theirs run more often.
        let keeps = crew.ranks.least(fits.into()) == 1;
        Ok(Loaded::Parts { frame: Box::new(Frame::of(source.as_ref())?), source, keeps })
    }

    /// What all slabs have in common.
    pub fn frame(&self) -> &Frame {
        match self {
            Loaded::Whole(problem) => problem.frame(),
            Loaded::Parts { frame, .. } => frame,
        }
    }

    /// All of it, where it is in memory.
    pub fn whole(&self) -> Option<&Problem> {
        match self {
            Loaded::Whole(problem) => Some(problem),
            Loaded::Parts { .. } => None,
        }
    }

    /// Whether what this process needs of it stays in memory from one calculation to the next.
    pub fn stays(&self) -> bool {
        match self {
            Loaded::Whole(_) => true,
            Loaded::Parts { keeps, .. } => *keeps,
        }
    }

    /// The same for slabs of so many `igp`, which stay in memory where there is room.
    #[must_use]
    pub fn for_slabs(self, igp: usize) -> Self {
        match self {
            Loaded::Parts { frame, source, keeps: true } => {
                let source = Box::new(Kept::new(source, igp));
                Loaded::Parts { frame, source, keeps: true }
            }
            other => other,
        }
    }

    /// In slabs of so many `igp`.
    pub fn slabs(&self, igp: usize) -> Slabs<'_> {
        match self {
            Loaded::Whole(problem) => Slabs::from(problem.as_ref()).of_size(igp),
            Loaded::Parts { frame, source, .. } => Slabs::new(frame, source.as_ref(), igp),
        }
    }

    /// The `igp` of a slab for these versions: all where one device holds them, else so many that there is
    /// room for two slabs a device, and that all devices have about the same to do and are filled by it.
    ///
    /// # Errors
    /// Those of [`Waves::on`]; [`Error::Memory`] where there is no room for two slabs of one group each; [`Error::Data`] for a
    /// `--slab` that ends within a group.
    pub fn igp(&self, versions: &[Kernel], crew: Crew, limits: Limits) -> Result<usize> {
        let frame = self.frame();
        let group = group(frame, versions);
        let ngpown = frame.header().ngpown;
        let most = self.most(group, crew, limits)?;
        if let Some(igp) = limits.slab {
            let wrong = |what| Err(Error::Data { origin: format!("--slab {igp}"), what });
            if !igp.is_multiple_of(group) && igp < ngpown {
                let what = "needs a multiple of the igp of a group of these versions";
                return wrong(format!("{what}, {group}"));
            }
            if igp.min(ngpown).div_ceil(group) > most {
                return wrong(format!("needs at most {}, for which there is room", most * group));
            }
            return Ok(igp.min(ngpown));
        }
        let groups = ngpown.div_ceil(group);
        let is_one = crew.workers() == 1 && most >= groups && self.whole().is_some();
        if is_one && !limits.keeps {
            return Ok(ngpown);
        }
        let batches = versions.iter().map(|version| frame.batches_for(*version).len()).max();
        let terms = frame.terms() as f64 / (groups * batches.unwrap_or(1)) as f64;
        let waves = Waves::on(crew.devices[0], frame, versions)?;
        let own = Share { groups, terms, workers: crew.workers(), waves }.at_most(most) * group;
        // Slabs are the same for all, with however much memory each has.
        Ok(crew.ranks.least(own as u64) as usize)
    }

    /// The groups of a slab at most, two of which have to find room.
    fn most(&self, group: usize, crew: Crew, limits: Limits) -> Result<usize> {
        let frame = self.frame();
        let groups = frame.header().ngpown.div_ceil(group);
        let of_groups = |n: usize| Extents { ngpown: n * group, ..frame.extents() };
        let mut most = groups;
        for device in crew.devices {
            let Some(free) = device.free_memory()? else { continue };
            let bands = of_groups(1).device_bytes(Of::Bands);
            let whole = bands.saturating_add(of_groups(groups).device_bytes(Of::Slab));
            if crew.workers() == 1 && whole <= free {
                continue;
            }
            let slab = of_groups(1).device_bytes(Of::Slab);
            let fit = free.saturating_sub(bands) / (2 * slab);
            if fit == 0 {
                let what = format!("bands and two slabs of {group} igp of {}", frame.name());
                let needed = bands + 2 * slab;
                return Err(Error::Memory { place: "device", what, needed, free });
            }
            most = most.min(fit as usize);
        }
        if let Loaded::Parts { .. } = self {
            // The bands are there; processors lay them out once more.
            let there = frame.extents().bytes_of(Of::Bands);
            let room = host_room(crew, limits, there);
            let bands = BESIDE + if of_processor(crew) { there } else { 0 };
            // Each device's slab is made while another one may be kept or laid out anew.
            let slab = 2 * crew.devices.len() as u64 * of_groups(1).bytes_of(Of::Slab);
            let fit = room.saturating_sub(bands) / slab;
            if fit == 0 {
                let what = format!("bands and two slabs of {group} igp of {}", frame.name());
                return Err(Error::Memory {
                    place: "host",
                    what,
                    needed: bands + slab,
                    free: room,
                });
            }
            most = most.min(fit as usize);
        }
        Ok(most)
    }
}

/// The `igp` that the groups of all these versions are parts of.
fn group(frame: &Frame, versions: &[Kernel]) -> usize {
    let groups = versions
        .iter()
        .filter_map(|version| frame.batches_for(*version)[0].plan().igp_of_group(*version));
    groups.fold(1, |all, one| all / greatest_divisor(all, one) * one)
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

fn of_processor(crew: Crew) -> bool {
    crew.devices.iter().any(|device| device.host().is_some())
}

/// Bytes of the host's memory for this process, beside `taken` ones.
fn host_room(crew: Crew, limits: Limits, taken: u64) -> u64 {
    let local = crew.ranks.local().1 as u64;
    let free = memory::free().unwrap_or(u64::MAX) / local;
    limits.host.map_or(free, |limit| (limit / local).saturating_sub(taken).min(free))
}
