//! How much memory there is for a run, and how much it needs: on the host, and on its devices.

use std::ops::Add;

use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Poles;

use crate::catalogue::{BackEnd, Kernel};
use crate::devices::Beside;
use crate::devices::Device;
use crate::error::{Error, Result, mib};
use crate::problem::bands::KEPT;
use crate::problem::memory::{EPS, Of, WTILDE};
use crate::problem::{Extents, Frame, Slabs, memory};
use crate::process::memory::Free;
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
    /// All.
    All,
    /// Those of so many igp, its own share.
    Share(usize),
    /// None: each is made or read when its turn comes.
    None,
}

impl Held {
    /// Bytes of the arrays that are in memory, bands included.
    pub fn bytes(self, whole: Extents) -> u64 {
        let slabs = match self {
            Held::All => whole.bytes_of(Of::Slab),
            Held::Share(igp) => Extents { ngpown: igp, ..whole }.bytes_of(Of::Slab),
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

    fn slab(&self, igp: usize) -> Extents {
        Extents { ngpown: igp.min(self.frame.header().ngpown), ..self.frame.extents() }
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
    ///
    /// # Errors
    /// [`Error::Memory`] where a slab of one group does not fit; those of the devices. Collective.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_that_fits_is_found() {
        for most in 1..20 {
            for fitting in 1..25 {
                assert_eq!(largest(most, |n| n <= fitting), most.min(fitting));
            }
        }
    }
}
