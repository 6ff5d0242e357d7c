//! Journeys: lists of versions in the order in which they are told.

use gpp_cpu::versions::Cpu;
use gpp_cpu::versions::{CPU, SIGMA as SIGMA_ON_CPU};
use gpp_kernels::kernel::Gpu;
use gpp_kernels::versions::{BLOG, PAPER, PAST, SIGMA, TALK};
use serde::{Deserialize, Serialize};

use crate::catalogue::{Kernel, Listed, find};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackEnd {
    Gpu,
    /// The processor, which emulates GPU kernels.
    Cpu,
}

/// The fastest version of a journey on one back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    pub back_end: BackEnd,
    pub version: &'static str,
    /// What it was measured on, and where it does not hold.
    pub condition: &'static str,
}

/// The versions of a journey, as the crate of their kernels lists them.
#[derive(Clone, Copy)]
pub enum List {
    Gpu(&'static [&'static Gpu]),
    Cpu(&'static [&'static Cpu]),
}

/// Versions in order, each against the one before and all against a baseline, one of them.
#[derive(Clone, Copy)]
pub struct Journey {
    pub id: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    pub source: &'static str,
    pub list: List,
    /// The version that speed-ups are over in a run that begins with this journey.
    pub baseline: &'static str,
    /// The journey whose last version its first one is compared with.
    pub continues: Option<&'static str>,
    pub best: &'static [Best],
}

pub static JOURNEYS: &[Journey] = &[
    Journey {
        id: "paper",
        title: "8 Steps to 3.7 TFLOP/s on NVIDIA V100 GPU",
        source: "arXiv 2008.11326, section III",
        list: List::Gpu(PAPER),
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
        list: List::Gpu(PAST),
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
    Journey {
        id: "blog",
        title: "Accelerating HPC Applications with NVIDIA Nsight Compute Roofline Analysis",
        source: "NVIDIA developer blog, and its repository",
        list: List::Gpu(BLOG),
        baseline: "blog:baseline",
        continues: None,
        best: &[
            Best {
                back_end: BackEnd::Gpu,
                version: "blog:step3",
                condition: "on an H200, si214; with 512 threads fewer warps fit",
            },
            Best {
                back_end: BackEnd::Cpu,
                version: "blog:step3",
                condition: "emulated, demo; steps 1 to 4 are within a tenth",
            },
        ],
    },
    Journey {
        id: "talk",
        title: "Guiding Optimization with the Roofline Model",
        source: "NERSC, February 2020",
        list: List::Gpu(TALK),
        baseline: "talk:V1",
        continues: None,
        best: &[
            Best {
                back_end: BackEnd::Gpu,
                version: "talk:V8",
                condition: "on an H200, si214; on the talk's V100 it is V9",
            },
            Best { back_end: BackEnd::Cpu, version: "talk:V3", condition: "emulated, demo" },
        ],
    },
    Journey {
        id: "cpu",
        title: "The kernel in a processor's vectors",
        source: "docs/processor.md",
        list: List::Cpu(CPU),
        baseline: "cpu:threads",
        continues: None,
        best: &[Best {
            back_end: BackEnd::Cpu,
            version: "cpu:paired",
            condition: "on two cores with AVX-512, si214, demo and demo-complex",
        }],
    },
    Journey {
        id: "sigma-gpu",
        title: "Any number of energies on a GPU",
        source: "docs/many-energies.md",
        list: List::Gpu(SIGMA),
        baseline: "sigma:blocks",
        continues: None,
        best: &[Best {
            back_end: BackEnd::Gpu,
            version: "sigma:blocks",
            condition: "on an H200, si214, of five energies or more and real poles",
        }],
    },
    Journey {
        id: "sigma",
        title: "Any number of energies",
        source: "docs/many-energies.md",
        list: List::Cpu(SIGMA_ON_CPU),
        baseline: "sigma:cells",
        continues: Some("cpu"),
        best: &[Best {
            back_end: BackEnd::Cpu,
            version: "sigma:cells",
            condition: "on two cores with AVX-512, si214, of many energies and real poles",
        }],
    },
];

/// The journey whose best version is the best of all, on each back end.
const LEADING: [(BackEnd, &str); 2] = [(BackEnd::Gpu, "past"), (BackEnd::Cpu, "cpu")];

impl Journey {
    pub fn versions(&self) -> Vec<Listed> {
        match self.list {
            List::Gpu(list) => list.iter().map(|gpu| Listed::of(Kernel::Gpu(gpu))).collect(),
            List::Cpu(list) => list.iter().map(|cpu| Listed::of(Kernel::Cpu(cpu))).collect(),
        }
    }

    pub fn ids(&self) -> Vec<&'static str> {
        self.versions().iter().map(Listed::id).collect()
    }

    pub fn has(&self, id: &str) -> bool {
        self.ids().contains(&id)
    }

    /// The version that one of its versions is compared with: the one before, or the last one of the
    /// journey that this one continues.
    pub fn before(&self, id: &str) -> Option<&'static str> {
        let ids = self.ids();
        match ids.iter().position(|own| *own == id)?.checked_sub(1) {
            Some(before) => Some(ids[before]),
            None => journey(self.continues?)?.ids().last().copied(),
        }
    }

    /// Its best version on a back end.
    pub fn best(&self, back_end: BackEnd) -> Option<&'static Best> {
        self.best.iter().find(|best| best.back_end == back_end)
    }
}

pub fn journey(id: &str) -> Option<&'static Journey> {
    JOURNEYS.iter().find(|journey| journey.id == id)
}

pub fn journey_of(id: &str) -> Option<&'static Journey> {
    JOURNEYS.iter().find(|journey| journey.has(id))
}

/// The best version of all on a back end, as the journey that leads there states it.
pub fn best_of_all(back_end: BackEnd) -> &'static Best {
    let leading = LEADING.iter().find(|(on, _)| *on == back_end);
    let best = leading.and_then(|(_, id)| journey(id)?.best(back_end));
    best.expect("every back end has a best version")
}

/// The version of [`best_of_all`].
pub fn best(back_end: BackEnd) -> Listed {
    find(best_of_all(back_end).version).expect("a test looks it up")
}

#[cfg(test)]
mod tests;
