//! Levels of the memory hierarchy and the bytes that are moved at each.

use serde::Serialize;

use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;

/// A level of the memory hierarchy, or what older profiles knew of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Level {
    /// Device memory.
    #[serde(rename = "HBM")]
    Hbm,
    /// Second-level cache: what L1 asks for, and what goes from one half of L2 to the other as well. Of
    /// profiles that did not tell these apart, up to schema 3.
    #[serde(rename = "L2+fabric")]
    L2AndFabric,
    /// Second-level cache: what L1 asks for.
    L2,
    /// First-level cache, shared memory left out.
    L1,
    /// Shared memory.
    #[serde(rename = "shared")]
    Shared,
}

/// All levels, outermost first.
pub const LEVELS: [Level; 5] =
    [Level::Hbm, Level::L2AndFabric, Level::L2, Level::L1, Level::Shared];

/// Layouts of a profile before this one have the fabric in L2's bytes.
const FABRIC_APART: u32 = 4;

impl Level {
    /// Its name in charts.
    pub fn name(self) -> &'static str {
        match self {
            Level::Hbm => "HBM",
            Level::L2AndFabric => "L2+fabric",
            Level::L2 => "L2",
            Level::L1 => "L1",
            Level::Shared => "shared",
        }
    }

    /// Bytes that a version moved at the level, where they are known.
    pub fn bytes(self, profile: &Profile) -> Option<f64> {
        let bytes = &profile.bytes;
        match self {
            Level::Hbm => Some(bytes.hbm),
            Level::L2AndFabric => bytes.l2.filter(|_| has_fabric_in_l2(profile)),
            Level::L2 => bytes.l2.filter(|_| !has_fabric_in_l2(profile)),
            Level::L1 => bytes.l1,
            Level::Shared => bytes.shared,
        }
    }

    /// Bytes a second that the level can move: measured, of shared memory by clock and width, where that
    /// is known.
    pub fn bandwidth(self, ceilings: &Ceilings) -> Option<f64> {
        match self {
            Level::Hbm => Some(ceilings.hbm),
            Level::L2AndFabric | Level::L2 => Some(ceilings.l2),
            Level::L1 => Some(ceilings.l1),
            Level::Shared => ceilings.theoretical.shared,
        }
    }
}

/// Whether a profile of a GPU is from before L2's bytes left out the fabric.
fn has_fabric_in_l2(profile: &Profile) -> bool {
    profile.schema < FABRIC_APART
}
