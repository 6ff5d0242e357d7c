//! Which part of a problem is in memory, and the size of its slabs.

use gpp_kernels::arrays::Layout;
use gpp_kernels::plan::Poles;

use crate::catalogue::{BackEnd, Kernel};
use crate::devices::Device;
use crate::error::{Error, Result, invalid, mib};
use crate::output::memory::Free;
use crate::problem::memory::{self, EPS, Extents, Of, WTILDE};
use crate::problem::plan::CACHED;
use crate::problem::vectors::SortedSlab;
use crate::problem::{Problem, Slabs, Source, slab_count};
use crate::ranks::Ranks;

/// A problem of which this process has all in memory, its share, or the bands alone.
pub struct Loaded(Problem);

/// The igp of slabs that a process works on at least: whole groups of any version.
const LEAST: usize = 64;

impl Loaded {
    /// All of a source if that is for one process and finds room, else the share of this process, else its
    /// bands. Nothing is made or read twice that stays: of a share poles are looked at if it is in memory. Of
    /// a problem that streams they are read once before all, by each process those of its share. Collective.
    pub fn of(source: Box<dyn Source>, crew: Crew, limits: Limits) -> Result<Loaded> {
        let extents = source.extents();
        let room = of_host(crew, limits, 0);
        // What versions made for CPUs lay out anew.
        let again = if of_processor(crew) { extents.bytes_of(Of::Bands) } else { 0 };
        let bands = extents.bytes_of(Of::Bands).saturating_add(again + BESIDE);
        room.require(&format!("the bands of {}", source.name()), bands)?;
        // Which versions run, and whether they sort pairs, may hang on the poles.
        let least = Extents { ngpown: extents.ngpown.min(LEAST), ..extents };
        let work = bands.saturating_add(SortedSlab::bytes_while_made(least, Poles::Any));
        let ranks = crew.ranks;
        if ranks.size() == 1 {
            if work.saturating_add(extents.bytes_of(Of::Slab)) <= room.bytes {
                return Ok(Loaded(source.load()?));
            }
        } else {
            let share = Extents { ngpown: extents.ngpown.div_ceil(ranks.size()), ..extents };
            let made = least.bytes_of(Of::Slab).saturating_mul(2 * crew.devices.len() as u64);
            let share = share.bytes_of(Of::Slab);
            let needed = work.saturating_add(made.max(share / 8)).saturating_add(share);
            // All or none: those that keep theirs run more often.
            if ranks.least((needed <= room.bytes).into()) == 1 {
                return Ok(Loaded(Problem::open(source, true, ranks)?));
            }
        }
        Ok(Loaded(Problem::open(source, false, ranks)?))
    }

    pub fn problem(&self) -> &Problem {
        &self.0
    }

    pub fn whole(&self) -> Option<&Problem> {
        self.0.is_whole().then_some(&self.0)
    }

    /// Whether what this process needs of it stays in memory from one calculation to the next.
    pub fn stays(&self) -> bool {
        self.0.stays()
    }

    /// The igp in the memory of this process.
    fn held(&self) -> usize {
        self.0.in_memory().map_or(0, |slab| slab.view().len())
    }

    /// The same for slabs of so many `igp`: a share is then that of whole slabs.
    pub fn for_slabs(self, igp: usize, ranks: &dyn Ranks) -> Result<Loaded> {
        let ngpown = self.0.header().ngpown;
        let own = ranks.share(slab_count(ngpown, igp));
        let bound = |slab: usize| slab.saturating_mul(igp).min(ngpown);
        Ok(Loaded(self.0.with_share(bound(own.start)..bound(own.end))?))
    }

    /// In slabs of so many `igp`.
    pub fn slabs(&self, igp: usize) -> Slabs<'_> {
        Slabs::new(&self.0, igp)
    }

    /// The `igp` of a slab for these versions: all if one device holds them and the host what it needs. Else a slab
    /// takes at most half the memory that is free, and each worker has the same number of slabs, two at least, so that
    /// one's upload runs under the other's kernels. Collective.
    pub fn igp(&self, versions: &[Kernel], crew: Crew, limits: Limits) -> Result<usize> {
        let frame = self.problem();
        let group = group(frame, versions);
        let ngpown = frame.header().ngpown;
        let groups = ngpown.div_ceil(group);
        let most = Need::of(frame, versions, crew, self.held()).most(groups, group, limits)?;
        if let Some(igp) = limits.slab {
            let wrong = |what: String| Err(invalid(format!("--slab {igp}"), what));
            if !igp.is_multiple_of(group) && igp < ngpown {
                let what = "needs a multiple of the igp of a group of these versions";
                return wrong(format!("{what}, {group}"));
            }
            if igp.min(ngpown).div_ceil(group) > most {
                return wrong(format!("needs at most {}, for which there is room", most * group));
            }
            return Ok(igp.min(ngpown));
        }
        if crew.workers() == 1 && most >= groups && self.whole().is_some() {
            return Ok(ngpown);
        }
        let own = (slab_groups(groups, most, crew.workers()) * group).min(ngpown);
        // Slabs are the same for all, with however much memory each has; the only one is all igp.
        Ok(crew.ranks.least(own as u64) as usize)
    }
}

/// The groups of a slab, `most` at most, if all workers get the same number of slabs, two at least.
fn slab_groups(groups: usize, most: usize, workers: usize) -> usize {
    groups.div_ceil(workers * groups.div_ceil(workers * most).max(2))
}

/// The `igp` that the groups of all these versions are parts of.
fn group(frame: &Problem, versions: &[Kernel]) -> usize {
    let groups = versions
        .iter()
        .filter_map(|version| version.igp_of_group(version.batches(frame).first().plan()));
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
    /// Fails if a limit means nothing to what the kernels run on.
    pub fn require_effect_on(self, back_end: BackEnd) -> Result<()> {
        if back_end == BackEnd::Cpu && self.device.is_some() {
            let what = "has no effect on a CPU: --host-memory limits its arrays";
            return Err(invalid("--device-memory", what));
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
pub const BESIDE: u64 = (64 << 20) + CACHED as u64;

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

/// Bytes of the arrays that are in memory: the bands, and the slab of so many igp.
pub fn bytes_of(whole: Extents, igp: usize) -> u64 {
    let slab = Extents { ngpown: igp, ..whole };
    whole.bytes_of(Of::Bands).saturating_add(slab.bytes_of(Of::Slab))
}

/// What versions need on slabs of some igp, by what they are made of.
pub struct Need<'a> {
    frame: &'a Problem,
    versions: &'a [Kernel],
    crew: Crew<'a>,
    /// The igp in the memory of this process.
    held: usize,
    /// Of the sums of all groups, on the way to their total.
    sums: u64,
}

impl<'a> Need<'a> {
    /// Of these versions by this crew, if so much of the problem is in memory.
    pub fn of(frame: &'a Problem, versions: &'a [Kernel], crew: Crew<'a>, held: usize) -> Need<'a> {
        // Those of a slab's batches and then of all are put together; ranks send theirs as text.
        let copies = if crew.ranks.size() == 1 { 2 } else { 6 };
        let of_version = |version: &Kernel| copies * version.bytes_of_sums(frame.outline());
        let sums = versions.iter().map(of_version).max().unwrap_or(0);
        Need { frame, versions, crew, held, sums }
    }

    fn slab(&self, igp: usize) -> Extents {
        Extents { ngpown: igp.min(self.frame.header().ngpown), ..self.frame.extents() }
    }

    /// Bytes of the host's memory beside the arrays that are there.
    pub fn on_host(&self, igp: usize) -> u64 {
        let slab = self.slab(igp);
        let beside =
            |device: &&dyn Device| device.workspace(self.frame.outline(), self.versions, slab);
        let devices = self.crew.devices.iter().map(beside).fold(0, u64::saturating_add);
        // Each device's slab is made while another one is under way, or the share's ends are.
        let made = slab.bytes_of(Of::Slab).saturating_mul(2 * self.crew.devices.len() as u64);
        let made = if self.held == self.frame.header().ngpown { 0 } else { made };
        [self.sums, devices, made].into_iter().fold(BESIDE, u64::saturating_add)
    }

    /// Bytes of a device's memory for the bands and so many slabs.
    pub fn on_device(&self, igp: usize, slabs: u64) -> u64 {
        let slab = self.slab(igp);
        let slabs = slab.device_bytes(Of::Slab).saturating_mul(slabs);
        slab.device_bytes(Of::Bands).saturating_add(slabs)
    }

    /// The most of `groups` groups of so many igp that a slab may have: two slabs find room on each device, or one
    /// if it is alone with all, and the host holds what it has to.
    pub fn most(&self, groups: usize, group: usize, limits: Limits) -> Result<usize> {
        let what = format!("bands and two slabs of {group} igp of {}", self.frame.name());
        let mut most = groups;
        for device in self.crew.devices {
            let Some(free) = device.free_memory()? else { continue };
            if self.crew.workers() == 1 && self.on_device(groups * group, 1) <= free {
                continue;
            }
            let needed = self.on_device(group, 2);
            if needed > free {
                return Err(Error::memory("device", &what, needed, free, None));
            }
            most = largest(most, |n| self.on_device(n * group, 2) <= free);
        }
        let room = of_host(self.crew, limits, bytes_of(self.frame.extents(), self.held));
        room.require(&what, self.on_host(group))?;
        Ok(largest(most, |n| self.on_host(n * group) <= room.bytes))
    }
}

/// Bytes of the host's memory for what workers make of slabs and need again, half of what is left beside all that
/// these versions need. Collective.
pub fn spare(slabs: Slabs, versions: &[Kernel], crew: Crew, limits: Limits) -> u64 {
    let (frame, held) = (slabs.problem(), slabs.in_memory().map_or(0, |slab| slab.view().len()));
    let room = of_host(crew, limits, bytes_of(frame.extents(), held));
    room.bytes.saturating_sub(Need::of(frame, versions, crew, held).on_host(slabs.igp())) / 2
}

/// Bytes of this process' slabs' sorted pairs, if any of these versions for GPUs sorts them.
pub fn of_sorted(slabs: Slabs, versions: &[Kernel], crew: Crew) -> Option<u64> {
    let (extents, poles) = (slabs.problem().extents(), slabs.problem().poles());
    let [wtilde, eps] = [&WTILDE, &EPS].map(|array| array.bytes(extents, Layout::Original));
    // Poles off the real axis have two numbers.
    let beside = if poles == Poles::Real { 0 } else { wtilde / 2 };
    let any = versions.iter().any(|version| version.gpu().is_some() && version.sorts(poles));
    any.then_some((wtilde + eps + beside) / crew.ranks.size() as u64)
}

/// The largest of `1..=most` that fits, if one does and smaller ones do.
fn largest(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (1, most.max(1));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
mod tests;
