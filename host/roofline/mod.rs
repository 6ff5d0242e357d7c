//! The hierarchical roofline: ceilings, points, charts.

pub mod ceilings;
pub mod chart;

use gpp_kernels::registry::VERSIONS;
use serde::Serialize;

use crate::profile::Profile;

/// A level of the memory hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Level {
    /// Device memory.
    #[serde(rename = "HBM")]
    Hbm,
    /// Second-level cache.
    L2,
    /// First-level cache.
    L1,
}

/// All levels, outermost first.
pub const LEVELS: [Level; 3] = [Level::Hbm, Level::L2, Level::L1];

impl Level {
    /// Its name in charts.
    pub fn name(self) -> &'static str {
        match self {
            Level::Hbm => "HBM",
            Level::L2 => "L2",
            Level::L1 => "L1",
        }
    }
}

/// One dot: AI(level) = FLOPs / bytes(level), FLOP/s = FLOPs / time (paper, equations 1 and 2).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The version's id.
    pub version: String,
    /// The level.
    pub level: Level,
    /// Operations for each byte moved at the level.
    pub intensity: f64,
    /// Operations a second.
    pub flops_per_s: f64,
}

/// The dots of a profile, one for each level.
pub fn points(profile: &Profile) -> [Point; 3] {
    LEVELS.map(|level| {
        let bytes = match level {
            Level::Hbm => profile.bytes.hbm,
            Level::L2 => profile.bytes.l2,
            Level::L1 => profile.bytes.l1,
        };
        Point {
            version: profile.version.clone(),
            level,
            intensity: profile.flops() / bytes,
            flops_per_s: profile.rate(),
        }
    })
}

/// A figure of the paper, or all versions at once.
pub struct Figure {
    /// File name without its ending.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// First and last version.
    pub versions: (&'static str, &'static str),
}

/// The paper's rooflines and one of everything.
pub const FIGURES: [Figure; 6] = [
    Figure { name: "roofline", title: "all versions", versions: ("v0", "v13") },
    Figure { name: "roofline-fig1", title: "v0, v1 (paper, Fig. 1)", versions: ("v0", "v1") },
    Figure { name: "roofline-fig3", title: "v1 to v3 (paper, Fig. 3)", versions: ("v1", "v3") },
    Figure { name: "roofline-fig5", title: "v3 to v5 (paper, Fig. 5)", versions: ("v3", "v5") },
    Figure { name: "roofline-fig6", title: "v5 to v8 (paper, Fig. 6)", versions: ("v5", "v8") },
    Figure { name: "roofline-past", title: "v8 to v13", versions: ("v8", "v13") },
];

impl Figure {
    /// The profiles that it shows.
    pub fn of<'a>(&self, profiles: &'a [Profile]) -> Vec<&'a Profile> {
        let place = |id: &str| VERSIONS.iter().position(|version| version.id == id);
        let (first, last) = (place(self.versions.0), place(self.versions.1));
        let shown = |p: &&Profile| {
            place(&p.version).is_some() && (first..=last).contains(&place(&p.version))
        };
        profiles.iter().filter(shown).collect()
    }
}
