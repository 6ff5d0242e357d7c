//! Both parts of a plan, for a problem that is one slab.

use std::ops::Deref;
use std::sync::OnceLock;

use gpp_kernels::registry::{Extents, Layout, Poles, Version};

use super::{BandPlan, OddPoles};
use crate::problem::{Header, Problem, SlabView, Source};

/// The plan of a whole problem; odd poles are found when they are first wanted.
#[derive(Clone, Debug)]
pub struct Planned<'a> {
    slab: SlabView<'a>,
    bands: BandPlan,
    any: OnceLock<OddPoles>,
    real: OnceLock<OddPoles>,
}

impl Deref for Planned<'_> {
    type Target = BandPlan;

    fn deref(&self) -> &BandPlan {
        &self.bands
    }
}

impl<'a> Planned<'a> {
    /// Finds out what concerns the bands.
    pub fn of(problem: &'a Problem) -> Planned<'a> {
        let poles = problem.poles().expect("a problem in memory tells");
        Planned {
            slab: problem.slab(),
            bands: BandPlan::of(problem.bands(), poles),
            any: OnceLock::new(),
            real: OnceLock::new(),
        }
    }

    /// The odd poles of kernels that take these.
    pub fn odd(&self, takes: Poles) -> &OddPoles {
        let takes = self.bands.taken(takes);
        let odd = match takes {
            Poles::Any => &self.any,
            Poles::Real => &self.real,
        };
        odd.get_or_init(|| self.bands.odd(self.slab, takes))
    }

    /// Both parts, for a version that follows a plan.
    pub fn followed_by(&self, version: &Version) -> Option<(&BandPlan, &OddPoles)> {
        let follows = version.layout == Layout::Planned;
        follows.then(|| (&self.bands, self.odd(version.takes(self.poles()))))
    }

    /// The version as it runs here: by its own kernels, or by another's where they do not hold the
    /// energies.
    pub fn running(&self, version: &Version) -> Version {
        version.holding(self.table().wx().len())
    }

    /// What the grids of a version depend on.
    pub fn extents(&self, header: &Header, version: &Version) -> Extents {
        let odd = self.followed_by(version).map_or(0, |(_, odd)| odd.pairs().len());
        Extents {
            nbands: header.nbands as u32,
            ngpown: header.ngpown as u32,
            ncouls: header.ncouls as u32,
            odd_count: odd as u32,
        }
    }
}
