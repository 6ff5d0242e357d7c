//! Journeys: lists of versions in the order in which they are told.

use gpp_kernels::kernel::Gpu;
use gpp_kernels::versions::{PAPER, PAST};
use serde::{Deserialize, Serialize};

use super::{Listed, find};

/// What runs kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackEnd {
    /// A GPU.
    Gpu,
    /// The host, which emulates GPU kernels.
    Cpu,
}

/// The fastest version of a journey on one back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// Where.
    pub back_end: BackEnd,
    /// Its id.
    pub version: &'static str,
    /// What it was measured on, and where it does not hold.
    pub condition: &'static str,
}

/// Versions in order, each against the one before and all against a baseline, one of them.
#[derive(Clone, Copy)]
pub struct Journey {
    /// Name.
    pub id: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// Where it is told.
    pub source: &'static str,
    /// Its versions.
    pub versions: &'static [&'static Gpu],
    /// The version that speed-ups are over in a run that begins with this journey.
    pub baseline: &'static str,
    /// The journey whose last version its first one is compared with.
    pub continues: Option<&'static str>,
    /// Its fastest versions.
    pub best: &'static [Best],
}

/// All journeys.
pub static JOURNEYS: [Journey; 2] = [
    Journey {
        id: "paper",
        title: "8 Steps to 3.7 TFLOP/s on NVIDIA V100 GPU",
        source: "arXiv 2008.11326, section III",
        versions: PAPER,
        baseline: "v0",
        continues: None,
        best: &[
            Best {
                back_end: BackEnd::Gpu,
                version: "v4",
                condition: "on an H200, si214; on the paper's V100 it is v8",
            },
            Best {
                back_end: BackEnd::Cpu,
                version: "v4",
                condition: "emulated, demo and demo-complex",
            },
        ],
    },
    Journey {
        id: "past",
        title: "Past the paper",
        source: "docs/past-the-paper.md",
        versions: PAST,
        baseline: "v9",
        continues: Some("paper"),
        best: &[
            Best {
                back_end: BackEnd::Gpu,
                version: "v13",
                condition: "on an H200, si214 and si510, any poles; v12's kernels run where the \
                            constant memory does not hold the energies",
            },
            Best {
                back_end: BackEnd::Cpu,
                version: "v13",
                condition: "emulated, demo; with complex poles v9 is faster",
            },
        ],
    },
];

impl Journey {
    /// Whether it has this version.
    pub fn has(&self, id: &str) -> bool {
        self.versions.iter().any(|gpu| gpu.version.id == id)
    }

    /// The version that one of its versions is compared with: the one before, or the last one of the
    /// journey that this one continues.
    pub fn before(&self, id: &str) -> Option<&'static str> {
        let at = self.versions.iter().position(|gpu| gpu.version.id == id)?;
        match at.checked_sub(1) {
            Some(before) => Some(self.versions[before].version.id),
            None => {
                let continued = JOURNEYS.iter().find(|other| Some(other.id) == self.continues)?;
                Some(continued.versions.last()?.version.id)
            }
        }
    }

    /// Its best version on a back end.
    pub fn best(&self, back_end: BackEnd) -> Option<&'static Best> {
        self.best.iter().find(|best| best.back_end == back_end)
    }
}

/// The journey that has this version.
pub fn journey_of(id: &str) -> Option<&'static Journey> {
    JOURNEYS.iter().find(|journey| journey.has(id))
}

/// The best version of all on a back end: that of the last journey.
///
/// # Panics
/// Never: a test looks up every best version.
pub fn best(back_end: BackEnd) -> Listed {
    let best = JOURNEYS.iter().rev().find_map(|journey| journey.best(back_end));
    best.and_then(|best| find(best.version)).expect("every back end has a best version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stated_exists() {
        for journey in &JOURNEYS {
            assert!(journey.has(journey.baseline), "{}", journey.id);
            for back_end in [BackEnd::Gpu, BackEnd::Cpu] {
                let best = journey.best(back_end).expect(journey.id);
                assert!(journey.has(best.version), "{}", best.version);
                assert!(!best.condition.is_empty());
                assert_eq!(super::best(back_end).id(), JOURNEYS[1].best(back_end).unwrap().version);
            }
        }
    }

    #[test]
    fn a_journey_goes_on_from_another() {
        let before = |id: &str| journey_of(id).and_then(|journey| journey.before(id));
        assert_eq!(before("v0"), None);
        assert_eq!(before("v3"), Some("v2"));
        assert_eq!(before("v9"), Some("v8"));
        assert_eq!(before("none"), None);
    }
}
