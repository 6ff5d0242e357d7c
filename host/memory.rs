//! Which part of a problem is in memory, and the size of its slabs.

use std::ops::Add;

use gpp_kernels::arrays::Layout;
use gpp_kernels::intrinsics::WARP;
use gpp_kernels::plan::Poles;

use crate::catalogue::{BackEnd, Kernel};
use crate::devices::Beside;
use crate::devices::Device;
use crate::devices::entry;
use crate::error::{Error, Result, mib};
use crate::output::memory::Free;
use crate::problem::bands::KEPT;
use crate::problem::memory::{self, EPS, Extents, Of, WTILDE};
use crate::problem::slab::slab_count;
use crate::problem::source::Kept;
use crate::problem::vectors::SortedSlab;
use crate::problem::{Frame, Problem, Slabs, Source};
use crate::ranks::Ranks;

pub enum Loaded<'a> {
    Whole(Box<Problem>),
    /// The slabs of this process in memory.
    Share(Box<Frame>, Box<Kept<'a>>),
    /// Slab by slab, by who makes or reads them.
    Streamed(Box<Frame>, Box<dyn Source + 'a>),
}

/// The igp of slabs that a process works on at least: whole groups of any version.
const LEAST: usize = 64;

impl<'a> Loaded<'a> {
    /// All of a source where that is for one process and finds room, else the share of this process, else its
    /// bands. Nothing is made or read twice that stays: of a share poles are looked at where it is in memory. Of
    /// a problem that streams they are read once before all, by each process those of its share. Collective.
    pub fn of(source: Box<dyn Source + 'a>, crew: Crew, limits: Limits) -> Result<Loaded<'a>> {
        let extents = source.extents();
        let room = of_host(crew, limits, 0);
        // What versions made for processors lay out anew.
        let again = if of_processor(crew) { extents.bytes_of(Of::Bands) } else { 0 };
        let bands = extents.bytes_of(Of::Bands).saturating_add(again + BESIDE);
        room.require(&format!("the bands of {}", source.name()), bands)?;
        // Which versions run, and whether they sort pairs, may hang on the poles.
        let least = Extents { ngpown: extents.ngpown.min(LEAST), ..extents };
        let work = bands.saturating_add(SortedSlab::bytes_while_made(least, Poles::Any));
        let ranks = crew.ranks;
        if ranks.size() == 1 {
            if work.saturating_add(extents.bytes_of(Of::Slab)) <= room.bytes {
                return Ok(Loaded::Whole(source.load()?.into()));
            }
        } else {
            let share = Extents { ngpown: extents.ngpown.div_ceil(ranks.size()), ..extents };
            let made = least.bytes_of(Of::Slab).saturating_mul(2 * crew.devices.len() as u64);
            let share = share.bytes_of(Of::Slab);
            let needed = work.saturating_add(made.max(share / 8)).saturating_add(share);
            // All or none: those that keep theirs run more often.
            if ranks.least((needed <= room.bytes).into()) == 1 {
                let kept = Kept::new(source, ranks.share(extents.ngpown))?;
                return Ok(Loaded::Share(Frame::of(&kept, ranks)?.into(), kept.into()));
            }
        }
        Ok(Loaded::Streamed(Frame::of(source.as_ref(), ranks)?.into(), source))
    }

    pub fn frame(&self) -> &Frame {
        match self {
            Loaded::Whole(problem) => problem.frame(),
            Loaded::Share(frame, _) | Loaded::Streamed(frame, _) => frame,
        }
    }

    pub fn whole(&self) -> Option<&Problem> {
        match self {
            Loaded::Whole(problem) => Some(problem),
            Loaded::Share(..) | Loaded::Streamed(..) => None,
        }
    }

    /// Whether what this process needs of it stays in memory from one calculation to the next.
    pub fn stays(&self) -> bool {
        !matches!(self, Loaded::Streamed(..))
    }

    fn held(&self) -> Held {
        match self {
            Loaded::Whole(_) => Held::All,
            Loaded::Share(_, kept) => Held::Share(kept.igp().len()),
            Loaded::Streamed(..) => Held::None,
        }
    }

    /// The same for slabs of so many `igp`: a share is then that of whole slabs.
    pub fn for_slabs(self, igp: usize, ranks: &dyn Ranks) -> Result<Self> {
        let Loaded::Share(frame, kept) = self else { return Ok(self) };
        let ngpown = frame.header().ngpown;
        let own = ranks.share(slab_count(ngpown, igp));
        let bound = |slab: usize| slab.saturating_mul(igp).min(ngpown);
        let kept = kept.moved(bound(own.start)..bound(own.end))?;
        Ok(Loaded::Share(frame, kept.into()))
    }

    /// In slabs of so many `igp`.
    pub fn slabs(&self, igp: usize) -> Slabs<'_> {
        match self {
            Loaded::Whole(problem) => Slabs::from(problem.as_ref()).of_size(igp),
            Loaded::Share(frame, kept) => Slabs::new(frame, kept.as_ref(), igp),
            Loaded::Streamed(frame, source) => Slabs::new(frame, source.as_ref(), igp),
        }
    }

    /// The `igp` of a slab for these versions: all where one device holds them and the host what it needs. Else a
    /// device has room for two slabs, and all devices are filled and have about as much to do. Collective.
    pub fn igp(&self, versions: &[Kernel], crew: Crew, limits: Limits) -> Result<usize> {
        let frame = self.frame();
        let group = group(frame, versions);
        let ngpown = frame.header().ngpown;
        let need = Need::of(frame, versions, crew, self.held());
        let most = need.most(ngpown.div_ceil(group), group, limits)?;
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
        if is_one {
            return Ok(ngpown);
        }
        let batches = versions.iter().map(|version| frame.batches_for(*version).count()).max();
        let terms = frame.terms() as f64 / (groups * batches.unwrap_or(1)) as f64;
        let waves = Waves::on(crew.devices[0], frame, versions)?;
        let own = Share { groups, terms, workers: crew.workers(), waves }.at_most(most) * group;
        // Slabs are the same for all, with however much memory each has; the only one is all igp.
        Ok(crew.ranks.least(own.min(ngpown) as u64) as usize)
    }
}

/// The `igp` that the groups of all these versions are parts of.
fn group(frame: &Frame, versions: &[Kernel]) -> usize {
    let groups = versions
        .iter()
        .filter_map(|version| frame.batches_for(*version).first().plan().igp_of_group(*version));
    groups.fold(1, |all, one| all / greatest_divisor(all, one) * one)
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

fn of_processor(crew: Crew) -> bool {
    crew.devices.iter().any(|device| device.host().is_some())
}

// How much memory there is for a run, and how much it needs: on the host, and on its devices.

/// What the user says of memory and slabs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    pub device: Option<u64>,
    /// Bytes of the host's memory, for all ranks on it.
    pub host: Option<u64>,
    /// `igp` of a slab.
    pub slab: Option<usize>,
}

impl Limits {
    /// Fails where a limit means nothing to what the kernels run on.
    pub fn require_effect_on(self, back_end: BackEnd) -> Result<()> {
        if back_end == BackEnd::Cpu && self.device.is_some() {
            let what = "has no effect on a CPU: --host-memory limits its arrays".into();
            return Err(Error::Data { origin: "--device-memory".into(), what });
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
pub struct Crew<'a> {
    pub devices: &'a [&'a dyn Device],
    pub ranks: &'a dyn Ranks,
}

impl Crew<'_> {
    /// All workers, where each process has as many devices as this one.
    pub fn workers(self) -> usize {
        self.devices.len() * self.ranks.size()
    }
}

/// Bytes beside all that is counted: what a run needs of its own is small, and batches of energies that stay.
pub const BESIDE: u64 = (64 << 20) + KEPT as u64;

/// The host's memory for this process, beside `taken` bytes of its own, where nobody takes any meanwhile: all
/// processes of a host have as much, and no process of a run has more than another. Collective.
pub fn of_host(crew: Crew, limits: Limits, taken: u64) -> Free {
    let local = crew.ranks.local().1 as u64;
    let shared = match local {
        1 => String::new(),
        _ => format!(", and {local} ranks share it"),
    };
    let free = memory::free().unwrap_or(Free { bytes: u64::MAX, limit: None });
    let of_all = free.limit.map(|limit| format!("{limit}{shared}"));
    let limit = of_all.or((local > 1).then(|| format!("{local} ranks share the host")));
    let mut own = Free { bytes: free.bytes / local, limit };
    if let Some(most) = limits.host {
        let bytes = (most / local).saturating_sub(taken);
        let limit = Some(format!("--host-memory allows {}{shared}", mib(most)));
        own = own.or_less(Free { bytes, limit });
    }
    let least = crew.ranks.least(own.bytes);
    own.or_less(Free { bytes: least, limit: Some("another rank has no more".into()) })
}

/// What this process has of a problem's slabs in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    All,
    /// Those of so many igp, its own share.
    Share(usize),
    /// None: each is made or read when its turn comes.
    None,
}

impl Held {
    /// Bytes of the arrays that are in memory, bands included.
    pub fn bytes(self, whole: crate::problem::Extents) -> u64 {
        let slabs = match self {
            Held::All => whole.bytes_of(Of::Slab),
            Held::Share(igp) => crate::problem::Extents { ngpown: igp, ..whole }.bytes_of(Of::Slab),
            Held::None => 0,
        };
        whole.bytes_of(Of::Bands).saturating_add(slabs)
    }
}

/// What versions need on slabs of some igp, by what they are made of.
pub struct Need<'a> {
    frame: &'a Frame,
    versions: &'a [Kernel],
    crew: Crew<'a>,
    held: Held,
    /// Of the sums of all groups, on the way to their total.
    sums: u64,
}

impl<'a> Need<'a> {
    /// Of these versions by this crew, where so much of the problem is in memory.
    pub fn of(frame: &'a Frame, versions: &'a [Kernel], crew: Crew<'a>, held: Held) -> Need<'a> {
        // Those of a slab's batches and then of all are put together; ranks send theirs as text.
        let copies = if crew.ranks.size() == 1 { 2 } else { 6 };
        let of_version = |version: &Kernel| copies * frame.outline().bytes_of_sums(*version);
        let sums = versions.iter().map(of_version).max().unwrap_or(0);
        Need { frame, versions, crew, held, sums }
    }

    fn slab(&self, igp: usize) -> crate::problem::Extents {
        crate::problem::Extents {
            ngpown: igp.min(self.frame.header().ngpown),
            ..self.frame.extents()
        }
    }

    /// Bytes of the host's memory beside the arrays that are there.
    pub fn on_host(&self, igp: usize) -> u64 {
        let slab = self.slab(igp);
        let beside =
            |device: &&dyn Device| device.beside(self.frame.outline(), self.versions, slab);
        let all = self.crew.devices.iter().map(beside).fold(Beside::default(), Beside::add);
        // Each device's slab is made while another one is under way, or the share's ends are.
        let made = match self.held {
            Held::All => 0,
            Held::Share(_) | Held::None => {
                slab.bytes_of(Of::Slab).saturating_mul(2 * self.crew.devices.len() as u64)
            }
        };
        [self.sums, all.bands, all.slab, made].into_iter().fold(BESIDE, u64::saturating_add)
    }

    /// Bytes of a device's memory for the bands and so many slabs.
    pub fn on_device(&self, igp: usize, slabs: u64) -> u64 {
        let slab = self.slab(igp);
        let slabs = slab.device_bytes(Of::Slab).saturating_mul(slabs);
        slab.device_bytes(Of::Bands).saturating_add(slabs)
    }

    /// What needs it, where it does not fit.
    pub fn what(&self, group: usize) -> String {
        let name = self.frame.name();
        match self.held {
            Held::All => {
                let ids: Vec<&str> = self.versions.iter().map(|version| version.id()).collect();
                format!("{} beside {name}, by {group} igp", ids.join(", "))
            }
            Held::Share(_) | Held::None => format!("bands and two slabs of {group} igp of {name}"),
        }
    }

    /// The most of `groups` groups of so many igp that a slab may have: two slabs find room on each device, or one
    /// where it is alone with all, and the host holds what it has to.
    pub fn most(&self, groups: usize, group: usize, limits: Limits) -> Result<usize> {
        let mut most = groups;
        for device in self.crew.devices {
            let Some(free) = device.free_memory()? else { continue };
            if self.crew.workers() == 1 && self.on_device(groups * group, 1) <= free {
                continue;
            }
            let needed = self.on_device(group, 2);
            if needed > free {
                let what = format!("bands and two slabs of {group} igp of {}", self.frame.name());
                return Err(Error::Memory { place: "device", what, needed, free, limit: None });
            }
            most = largest(most, |n| self.on_device(n * group, 2) <= free);
        }
        let room = of_host(self.crew, limits, self.held.bytes(self.frame.extents()));
        room.require(&self.what(group), self.on_host(group))?;
        Ok(largest(most, |n| self.on_host(n * group) <= room.bytes))
    }
}

/// Bytes of the host's memory for what workers make of slabs and need again, half of what is left beside all that
/// these versions need. Collective.
pub fn spare(slabs: Slabs, versions: &[Kernel], crew: Crew, limits: Limits) -> u64 {
    let (frame, igp) = (slabs.frame(), slabs.held().iter().map(|slab| slab.view().len()).sum());
    let held = match igp {
        0 => Held::None,
        _ if igp == frame.header().ngpown => Held::All,
        _ => Held::Share(igp),
    };
    let room = of_host(crew, limits, held.bytes(frame.extents()));
    room.bytes.saturating_sub(Need::of(frame, versions, crew, held).on_host(slabs.igp())) / 2
}

/// Bytes of this process' slabs' sorted pairs, where any of these versions for GPUs sorts them.
pub fn of_sorted(slabs: Slabs, versions: &[Kernel], crew: Crew) -> Option<u64> {
    let (extents, poles) = (slabs.frame().extents(), slabs.frame().poles());
    let [wtilde, eps] = [&WTILDE, &EPS].map(|array| array.bytes(extents, Layout::Original));
    // Poles off the real axis have two numbers.
    let beside = if poles == Poles::Real { 0 } else { wtilde / 2 };
    let any = versions.iter().any(|version| version.gpu().is_some() && version.sorts(poles));
    any.then_some((wtilde + eps + beside) / crew.ranks.size() as u64)
}

/// The largest of `1..=most` that fits, where one does and smaller ones do.
fn largest(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (1, most.max(1));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

// How many groups a slab has, where that is for the program to choose.

/// What a slab costs beside its terms, in terms: 0.13 ms of v13's on an H200. On a processor it is less.
const SLAB: f64 = 1.5e8;

/// What is waited for the first slab's upload, over the time of its kernels: less where uploads are short (si510),
/// more where they take nearly as long as kernels (si214).
const FILL: f64 = 0.2;

/// How a launch fills a device: with as many blocks at a time as there are places, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waves {
    /// Blocks of a group, those for odd pairs aside.
    pub blocks: u64,
    /// Blocks that the device holds at a time.
    pub places: u64,
}

impl Waves {
    /// Of the last of these versions that keeps sums of groups, on a GPU.
    pub fn on(device: &dyn Device, frame: &Frame, versions: &[Kernel]) -> Result<Option<Waves>> {
        let of_groups = versions.iter().rev().find_map(|version| {
            let batch = frame.batches_for(*version).first();
            let kernel = batch.plan().kernel(version.gpu()?);
            kernel.igp_of_group().map(|_| (kernel, batch.nw()))
        });
        let Some((kernel, nw)) = of_groups.filter(|_| device.back_end() == BackEnd::Gpu) else {
            return Ok(None);
        };
        let info = device.kernel(kernel, entry(kernel, nw))?;
        let (header, nw) = (frame.header(), nw as u32);
        let extents = gpp_kernels::kernel::Dimensions {
            nbands: header.nbands as u32,
            ngpown: kernel.igp_of_group().unwrap_or(1),
            ncouls: header.ncouls as u32,
            nw,
            odd_begins: &[],
            clusters: 0,
        };
        let of_multiprocessor = info.warps_per_sm.unwrap_or(0) * WARP / kernel.threads;
        let places = u64::from(of_multiprocessor) * u64::from(device.info().multiprocessors);
        let blocks = u64::from(kernel.grid(&extents).blocks());
        Ok((places > 0).then_some(Waves { blocks, places }))
    }

    /// The number of groups that would fill every place in the time that these take.
    fn filled(self, groups: usize) -> f64 {
        let waves = (groups as u64 * self.blocks).div_ceil(self.places);
        (waves * self.places) as f64 / self.blocks as f64
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub groups: usize,
    /// Terms of a group at the energies that are summed together.
    pub terms: f64,
    pub workers: usize,
    /// How launches fill a device, where that is known.
    pub waves: Option<Waves>,
}

impl Share {
    /// The groups of a slab where memory sets no bound to it.
    pub fn unbounded(self) -> usize {
        self.at_most(self.groups)
    }

    /// The groups of a slab, at most `most`, with which all are done first, data coming from the host: many
    /// slabs can be shared out evenly and begin soon, few cost little beside their terms.
    pub fn at_most(self, most: usize) -> usize {
        let Share { groups, terms, workers, waves } = self;
        let time = |size: usize| {
            let of_busiest = groups.div_ceil(size).div_ceil(workers) as f64;
            let filled = waves.map_or(size as f64, |waves| waves.filled(size));
            of_busiest * (SLAB + filled * terms) + FILL * size as f64 * terms
        };
        let sizes = (1..=most.clamp(1, groups.max(1))).rev();
        sizes.min_by(|&a, &b| time(a).total_cmp(&time(b))).unwrap_or(1)
    }
}

#[cfg(test)]
mod tests;
