//! The hierarchical roofline: points, and which versions a figure shows.

use serde::Serialize;

use super::levels::{LEVELS, Level};
use crate::catalogue::order;
use crate::record::profile::Profile;

/// What the times of a chart's dots are by: one clock for all of them, as intensities need none and
/// ceilings are timed by events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Medians of runs without a profiler; on a GPU by its events.
    Runs,
    /// The launches' durations under the profiler.
    Profiler,
}

impl Timing {
    /// The one that all of these profiles have: that of the runs, if each was run.
    pub fn of<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Timing {
        let run = profiles.into_iter().all(|profile| profile.time_s.is_some());
        if run { Timing::Runs } else { Timing::Profiler }
    }

    /// Seconds of a calculation.
    pub fn seconds(self, profile: &Profile) -> f64 {
        match self {
            Timing::Runs => profile.seconds(),
            Timing::Profiler => profile.duration_s,
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

/// Shared memory's traffic, over L1's, below which it is that of shuffles and of the sum of a block.
const OF_SUMS: f64 = 0.02;

/// The dots of a profile, one for each level whose bytes are known; shared memory's of versions that
/// keep more there than their sums.
pub fn points(profile: &Profile, timing: Timing) -> Vec<Point> {
    let uses = |shared: f64| profile.bytes.l1.is_none_or(|l1| shared > OF_SUMS * l1);
    let point = |level: Level| {
        let bytes = level.bytes(profile).filter(|&bytes| level != Level::Shared || uses(bytes))?;
        Some(Point {
            version: profile.version.clone(),
            level,
            intensity: profile.flops() / bytes,
            flops_per_s: profile.flops() / timing.seconds(profile),
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

    /// Whether it is of a journey and all that goes on from it.
    pub fn is_whole(&self) -> bool {
        matches!(self.shown, Shown::Story(_))
    }

    /// The levels that it shows: all in the paper's own figures, HBM alone where there are many versions.
    pub fn levels(&self) -> &'static [Level] {
        if self.paper.is_some() { &LEVELS } else { &[Level::Hbm] }
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
