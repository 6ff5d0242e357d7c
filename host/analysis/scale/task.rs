//! How long a calculation takes by the model.

use crate::engine::pieces::unhidden;
use crate::problem::memory::{Extents, Of};
use crate::record::scale::{Constants, Data, Over, Scale};
use crate::record::system::SystemInfo;

/// What calculations of a system have in common.
#[derive(Clone, Debug)]
pub struct Kind {
    /// What members are.
    pub over: Over,
    /// `igp` of a group.
    pub group: usize,
    /// Terms of an `igp` over those of the system that was measured.
    pub effort: f64,
    /// Terms of an `igp`.
    pub terms: f64,
    /// Bytes of an `igp` that are uploaded.
    pub bytes: f64,
    /// Bytes of the sums of a group.
    pub sums: f64,
}

impl Kind {
    /// Of the system that was measured.
    pub fn of(scale: &Scale) -> Kind {
        Kind::of_system(scale, extents(&scale.system))
    }

    /// Of a system with these extents.
    pub fn of_system(scale: &Scale, of: Extents) -> Kind {
        let terms = |of: Extents| of.nbands as f64 * of.ncouls as f64 * of.nw as f64;
        let one = Extents { ngpown: 1, ..of };
        Kind {
            over: scale.over,
            group: scale.group,
            effort: terms(of) / terms(extents(&scale.system)),
            terms: terms(of),
            bytes: one.bytes_of(Of::Slab) as f64,
            sums: of.nw as f64 * 4.0 * 8.0,
        }
    }
}

/// What the sizes of a system's arrays depend on.
pub fn extents(system: &SystemInfo) -> Extents {
    let SystemInfo { nbands, ngpown, ncouls, .. } = *system;
    Extents { nbands, ngpown, ncouls, nw: system.nw() }
}

/// A calculation.
#[derive(Clone, Debug)]
pub struct Task<'k> {
    /// What of.
    pub kind: &'k Kind,
    /// Members.
    pub members: usize,
    /// `igp` of the whole.
    pub ngpown: usize,
    /// Those of a slab.
    pub igp: usize,
    /// Where the slabs are.
    pub data: Data,
}

impl Task<'_> {
    /// Groups of the whole.
    pub fn groups(&self) -> usize {
        self.ngpown.div_ceil(self.kind.group)
    }

    /// Slabs and `igp` of the member that has most: whole slabs, but that cores share each.
    pub fn busiest(&self) -> (f64, f64) {
        let slabs = self.ngpown.div_ceil(self.igp);
        if self.kind.over == Over::Cores {
            return (slabs as f64, self.ngpown as f64 / self.members as f64);
        }
        let own = slabs.div_ceil(self.members);
        (own as f64, (own * self.igp).min(self.ngpown) as f64)
    }

    /// Doublings from one member to these, the last one begun, and bytes of all groups' sums: what the gather
    /// depends on. Nothing of one member.
    pub fn gather(&self) -> [f64; 2] {
        if self.members == 1 {
            return [0.0; 2];
        }
        let doublings = self.members.next_power_of_two().ilog2();
        [f64::from(doublings), self.groups() as f64 * self.kind.sums]
    }

    /// Seconds that the kernels of the busiest member take.
    pub fn kernels(&self, constants: &Constants) -> f64 {
        let (slabs, igp) = self.busiest();
        slabs * constants.slab_s + igp * constants.igp_s * self.kind.effort
    }

    /// Seconds that its uploads take.
    pub fn uploads(&self, constants: &Constants) -> f64 {
        match (self.data, constants.bandwidth) {
            (Data::Host, Some(bandwidth)) => self.busiest().1 * self.kind.bytes / bandwidth,
            _ => 0.0,
        }
    }

    /// Seconds from the begin to the last sum: kernels and uploads run at the same time, but that a part of
    /// the first slab's upload comes before all kernels, the rest of it before those of that rest, and the last
    /// slab's kernels after all uploads.
    pub fn seconds(&self, constants: &Constants) -> f64 {
        let (slabs, _) = self.busiest();
        let (kernels, uploads) = (self.kernels(constants), self.uploads(constants));
        let part = unhidden(self.igp / self.kind.group);
        let (upload, kernel) = (uploads / slabs, kernels / slabs);
        // The rest of the first slab is summed once it is there, and once its first part is summed.
        let first = upload.max(part * (upload + kernel)) - part * kernel;
        let both = (first + kernels).max(uploads + kernel);
        let [doublings, bytes] = self.gather();
        // Of data in place nothing is hidden.
        let both = if uploads > 0.0 { both } else { kernels };
        both + doublings * constants.gather_s + bytes * constants.gather_byte_s
    }
}
