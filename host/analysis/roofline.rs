//! The hierarchical roofline: levels, points, and which versions a figure shows.

use serde::Serialize;

use crate::catalogue::order;
use crate::record::profile::Profile;

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
    /// Its name in charts of a device, a processor or not.
    pub fn name_on(self, processor: bool) -> &'static str {
        match self {
            Level::Hbm if processor => "memory",
            _ => self.name(),
        }
    }

    /// Its name in charts of a GPU.
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

/// The dots of a profile, one for each level whose bytes are known.
pub fn points(profile: &Profile) -> Vec<Point> {
    let point = |level: Level| {
        let bytes = match level {
            Level::Hbm => Some(profile.bytes.hbm),
            Level::L2 => profile.bytes.l2,
            Level::L1 => profile.bytes.l1,
        };
        bytes.map(|bytes| Point {
            version: profile.version.clone(),
            level,
            intensity: profile.flops() / bytes,
            flops_per_s: profile.rate(),
        })
    };
    LEVELS.into_iter().filter_map(point).collect()
}

/// A figure of the paper, or one of more versions.
pub struct Figure {
    /// File name without its ending.
    pub name: &'static str,
    /// Its number in the paper.
    pub paper: Option<u32>,
    /// Its versions.
    shown: Shown,
}

/// Versions of a figure.
enum Shown {
    /// Those of a journey and of what goes on from it.
    Story(&'static str),
    /// Those past the paper, and the one that they start from.
    Past,
    /// From one to another.
    Range(&'static str, &'static str),
}

const fn figure(name: &'static str, paper: Option<u32>, shown: Shown) -> Figure {
    Figure { name, paper, shown }
}

/// One of the paper's versions and what came after, its own rooflines, and one of each other journey.
pub const FIGURES: [Figure; 9] = [
    figure("roofline", None, Shown::Story("paper")),
    figure("roofline-fig1", Some(1), Shown::Range("v0", "v1")),
    figure("roofline-fig3", Some(3), Shown::Range("v1", "v3")),
    figure("roofline-fig5", Some(5), Shown::Range("v3", "v5")),
    figure("roofline-fig6", Some(6), Shown::Range("v5", "v8")),
    figure("roofline-past", None, Shown::Past),
    figure("roofline-blog", None, Shown::Story("blog")),
    figure("roofline-talk", None, Shown::Story("talk")),
    figure("roofline-cpu", None, Shown::Story("cpu")),
];

impl Figure {
    /// The versions that it is of.
    pub fn versions(&self) -> Vec<&'static str> {
        match self.shown {
            Shown::Story(id) => order::told(id),
            Shown::Past => order::past(),
            Shown::Range(first, last) => order::range(first, last),
        }
    }

    /// The profiles that it shows.
    pub fn of<'a>(&self, profiles: &'a [Profile]) -> Vec<&'a Profile> {
        let versions = self.versions();
        profiles.iter().filter(|p| versions.contains(&p.version.as_str())).collect()
    }

    /// The versions that it shows of the profiles at hand, and those that the paper's figure has.
    pub fn title(&self, shown: &[&Profile]) -> String {
        let places =
            |ids: &[&str]| -> Vec<usize> { ids.iter().filter_map(|id| order::place(id)).collect() };
        let shown = places(&shown.iter().map(|p| p.version.as_str()).collect::<Vec<_>>());
        let all = places(&self.versions());
        match self.paper {
            None => names(&shown),
            Some(number) if shown == all => format!("{} (paper, Fig. {number})", names(&shown)),
            Some(number) => format!("{} (paper, Fig. {number}: {})", names(&shown), names(&all)),
        }
    }
}

/// Versions by their places: "v0, v3, v8 to v13".
fn names(places: &[usize]) -> String {
    let all = order::all();
    let runs = places.chunk_by(|a, b| order::before(all[*b]) == Some(all[*a]));
    let name = |at: &usize| all[*at].to_string();
    let run = |run: &[usize]| match run {
        [first, .., last] if run.len() > 2 => format!("{} to {}", name(first), name(last)),
        few => few.iter().map(name).collect::<Vec<_>>().join(", "),
    };
    runs.map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_name_what_is_there() {
        assert_eq!(names(&[0, 1]), "v0, v1");
        assert_eq!(names(&[0, 3, 8, 9, 10]), "v0, v3, v8 to v10");
        assert_eq!(names(&[13, 14, 15, 16]), "v13, blog:baseline to blog:step2");
        assert_eq!(names(&[]), "");
    }
}
