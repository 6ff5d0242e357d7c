//! How a problem is parted: what is in memory of it at a time, and how large its slabs are.

use gpp_kernels::plan::Poles;

use super::room::{self, BESIDE, Held, Need};
pub use super::room::{Crew, Limits};
use super::sizes::{Share, Waves};
use crate::catalogue::Kernel;
use crate::error::{Error, Result};
use crate::problem::memory::{Extents, Of};
use crate::problem::slab::slab_count;
use crate::problem::source::Kept;
use crate::problem::vectors::SortedSlab;
use crate::problem::{Frame, Problem, Slabs, Source};
use crate::ranks::Ranks;

/// A problem as this process has it.
pub enum Loaded<'a> {
    /// All in memory.
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
    ///
    /// # Errors
    /// Those of the source; [`Error::Memory`] where there is no room for the bands.
    pub fn of(source: Box<dyn Source + 'a>, crew: Crew, limits: Limits) -> Result<Loaded<'a>> {
        let extents = source.extents();
        let room = room::of_host(crew, limits, 0);
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

    /// What all slabs have in common.
    pub fn frame(&self) -> &Frame {
        match self {
            Loaded::Whole(problem) => problem.frame(),
            Loaded::Share(frame, _) | Loaded::Streamed(frame, _) => frame,
        }
    }

    /// All of it, where it is in memory.
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
    ///
    /// # Errors
    /// Those of the source.
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
    ///
    /// # Errors
    /// Those of [`Waves::on`] and [`Need::most`]; [`Error::Data`] for a `--slab` that ends within a group.
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
