//! How much of a problem is in memory, and the size of its slabs.

use gpp_kernels::plan::Poles;
use num_integer::lcm;

use crate::catalogue::Kernel;
use crate::devices::Device;
use crate::error::{Error, Result, invalid, shown};
use crate::output::memory::{self, Free};
use crate::problem::arrays::{Extents, Of};
use crate::problem::layout::SortedSlab;
use crate::problem::{Problem, Slabs, Source, slab_count};
use crate::ranks::Ranks;

#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Bytes of each device's memory.
    pub device: Option<u64>,
    /// Bytes of a host's memory, for all ranks on it.
    pub host: Option<u64>,
    pub slab: Option<usize>,
}

/// What all versions of a run share.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    /// Those of this process; every other rank has as many.
    pub devices: &'a [&'a dyn Device],
    pub ranks: &'a dyn Ranks,
    pub limits: Limits,
}

impl Resources<'_> {
    pub fn workers(self) -> usize {
        self.devices.len() * self.ranks.size()
    }
}

/// Bytes that are not counted one by one: small arrays, and batches of energies that stay.
pub const SMALL: u64 = 64 << 20;

/// The least igp that a process works on: whole groups of any version.
const LEAST: usize = 64;

/// All of a problem if that fits the memory of the only process. Of several, each has its share if those fit, else the
/// bands alone. Nothing that stays is made or read twice. Collective.
pub fn load(source: Box<dyn Source>, resources: Resources) -> Result<Problem> {
    let Resources { devices, ranks, .. } = resources;
    let (extents, size) = (source.extents(), ranks.size());
    let slab = |ngpown: usize| Extents { ngpown: ngpown.min(extents.ngpown), ..extents };
    let free = host_memory(resources, 0);
    // Versions for CPUs have another layout of the bands as well.
    let layouts = if devices.iter().any(|device| device.cpu().is_some()) { 2 } else { 1 };
    let bands = extents.bytes_of(Of::Bands).saturating_mul(layouts).saturating_add(SMALL);
    free.require(&format!("the bands of {}", source.name()), bands)?;
    // Which versions run, and whether they sort pairs, may depend on the poles.
    let work = bands.saturating_add(SortedSlab::bytes_while_made(slab(LEAST), Poles::Any));
    let share = slab(extents.ngpown.div_ceil(size)).bytes_of(Of::Slab);
    if size == 1 {
        return match work.saturating_add(share) <= free.bytes {
            true => source.load(),
            false => Problem::open(source, false, ranks),
        };
    }
    // Each device's next slab is made while one is summed, or the ends of the share are.
    let made = slab(LEAST).bytes_of(Of::Slab).saturating_mul(2 * devices.len() as u64);
    let needed = work.saturating_add(made.max(share / 8)).saturating_add(share);
    // All ranks or none: those with their share in memory run more often.
    let has_share = ranks.least((needed <= free.bytes).into()) == 1;
    Problem::open(source, has_share, ranks)
}

/// The same problem with the share of this process in whole slabs.
pub fn in_whole_slabs(problem: Problem, igp: usize, ranks: &dyn Ranks) -> Result<Problem> {
    let ngpown = problem.header().ngpown;
    let own = ranks.share(slab_count(ngpown, igp));
    let bound = |slab: usize| slab.saturating_mul(igp).min(ngpown);
    problem.with_share(bound(own.start)..bound(own.end))
}

/// The `igp` of a slab for these versions: all if one device can hold them. Else a slab takes at most half the free
/// memory, and all workers have the same number of slabs, at least two, so that uploads run under kernels. Collective.
pub fn slab_size(problem: &Problem, versions: &[Kernel], resources: Resources) -> Result<usize> {
    let ngpown = problem.header().ngpown;
    let group = group(problem, versions);
    let groups = ngpown.div_ceil(group);
    let most = most_groups(problem, versions, resources, group)?;
    if let Some(igp) = resources.limits.slab {
        let wrong = |what: String| Err(invalid(format!("--slab {igp}"), what));
        if !igp.is_multiple_of(group) && igp < ngpown {
            let what = "must be a multiple of the number of G′ that these versions sum together";
            return wrong(format!("{what}, {group}"));
        }
        if igp.min(ngpown).div_ceil(group) > most {
            return wrong(format!("must be at most {}: memory holds no more", most * group));
        }
        return Ok(igp.min(ngpown));
    }
    let workers = resources.workers();
    if workers == 1 && most >= groups && problem.is_whole() {
        return Ok(ngpown);
    }
    let own = (slab_groups(groups, most, workers) * group).min(ngpown);
    // Slabs are the same for all ranks, however much memory each has.
    Ok(resources.ranks.least(own as u64) as usize)
}

/// The groups of a slab, at most `most`, if all workers have the same number of slabs, at least two.
fn slab_groups(groups: usize, most: usize, workers: usize) -> usize {
    groups.div_ceil(workers * groups.div_ceil(workers * most).max(2))
}

fn group(problem: &Problem, versions: &[Kernel]) -> usize {
    let of_version =
        |version: &Kernel| version.igp_of_group(&version.batches(problem).first().plan);
    versions.iter().filter_map(of_version).fold(1, lcm)
}

/// The groups of so many `igp` that a slab may have: two slabs fit on each device, or one if it is alone with all, and
/// the host has room for the rest. Collective.
fn most_groups(
    problem: &Problem,
    versions: &[Kernel],
    resources: Resources,
    group: usize,
) -> Result<usize> {
    let what = format!("bands and two slabs of {group} igp of {}", problem.name());
    let groups = problem.header().ngpown.div_ceil(group);
    let on_device = |igp: usize, slabs: u64| {
        let slab = slab(problem, igp);
        let slabs = slab.device_bytes(Of::Slab).saturating_mul(slabs);
        slab.device_bytes(Of::Bands).saturating_add(slabs)
    };
    let mut most = groups;
    for device in resources.devices {
        let Some(free) = device.free_memory()? else { continue };
        if resources.workers() == 1 && on_device(groups * group, 1) <= free {
            continue;
        }
        let needed = on_device(group, 2);
        if needed > free {
            return Err(Error::memory("device", &what, needed, free, None));
        }
        most = largest(most, |n| on_device(n * group, 2) <= free);
    }
    let free = host_memory(resources, bytes_in_memory(problem));
    let on_host = |igp: usize| workspace(problem, versions, resources, igp);
    free.require(&what, on_host(group))?;
    Ok(largest(most, |n| on_host(n * group) <= free.bytes))
}

/// The largest of `1..=most` that fits, if one does and all smaller ones do.
fn largest(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (1, most.max(1));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    low
}

fn slab(problem: &Problem, igp: usize) -> Extents {
    Extents { ngpown: igp.min(problem.header().ngpown), ..problem.extents() }
}

fn igp_in_memory(problem: &Problem) -> usize {
    problem.in_memory().map_or(0, |slab| slab.view().len())
}

fn bytes_in_memory(problem: &Problem) -> u64 {
    let slab = slab(problem, igp_in_memory(problem)).bytes_of(Of::Slab);
    slab.saturating_add(problem.extents().bytes_of(Of::Bands))
}

/// Bytes of host memory that these versions need in addition to the arrays in memory, with slabs of so many `igp`.
pub fn workspace(problem: &Problem, versions: &[Kernel], resources: Resources, igp: usize) -> u64 {
    let (slab, outline) = (slab(problem, igp), problem.outline());
    let of_device = |device: &&dyn Device| device.workspace(outline, versions, slab);
    let devices = resources.devices.iter().map(of_device).fold(0, u64::saturating_add);
    // Sums of a slab's batches are joined, then those of all slabs; ranks send them as well.
    let copies = if resources.ranks.size() == 1 { 2 } else { 6 };
    let sums = versions.iter().map(|version| copies * version.bytes_of_sums(outline)).max();
    // Each device's next slab is made while one is summed, or the ends of the share are.
    let made = match igp_in_memory(problem) == problem.header().ngpown {
        true => 0,
        false => slab.bytes_of(Of::Slab).saturating_mul(2 * resources.devices.len() as u64),
    };
    [sums.unwrap_or(0), devices, made].into_iter().fold(SMALL, u64::saturating_add)
}

/// Bytes of host memory for what workers compute from slabs and need again: half of what versions leave. Collective.
pub fn cache(slabs: Slabs, versions: &[Kernel], resources: Resources) -> u64 {
    let problem = slabs.problem();
    let free = host_memory(resources, bytes_in_memory(problem)).bytes;
    free.saturating_sub(workspace(problem, versions, resources, slabs.igp())) / 2
}

/// Host memory for this process, which has taken some bytes of its limit before: the processes of a host have equal
/// parts, and no process of a run has more than another. Collective.
pub fn host_memory(resources: Resources, taken: u64) -> Free {
    let Resources { ranks, limits, .. } = resources;
    let local = ranks.local().1 as u64;
    let shared = if local == 1 { String::new() } else { format!(", and {local} ranks share it") };
    let free = memory::free().unwrap_or(Free { bytes: u64::MAX, limit: None });
    let limit = free.limit.map(|limit| format!("{limit}{shared}"));
    let limit = limit.or((local > 1).then(|| format!("{local} ranks share the host")));
    let mut own = Free { bytes: free.bytes / local, limit };
    if let Some(most) = limits.host {
        let bytes = (most / local).saturating_sub(taken);
        let limit = Some(format!("--host-memory allows {}{shared}", shown(most)));
        own = own.or_less(Free { bytes, limit });
    }
    let least = ranks.least(own.bytes);
    own.or_less(Free { bytes: least, limit: Some("another rank has no more".into()) })
}

#[cfg(test)]
mod tests;
