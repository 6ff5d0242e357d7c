//! What a profiler measured of each version: one record, aggregated over its launches.

pub mod folder;
pub mod lines;
pub mod metrics;
pub mod ncu;
pub mod sass;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gpp_kernels::reduction;
use gpp_kernels::versions::{self, ALL};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::experiments::counting::PerTerm;
use crate::process::output::replace;
use lines::SourceLine;
use metrics::Launch;
use sass::{Disassembly, Instructions};

/// One version's profile on one system and device, all launches of a calculation together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// Version of this record.
    pub schema: u32,
    /// The version's id.
    pub version: String,
    /// The system's name.
    pub system: String,
    /// Terms of the sum: (n, igp, ig, iw).
    pub terms: u64,
    /// The device's name.
    pub device: String,
    /// Where the counters come from.
    pub source: String,
    /// The compiler of the kernels and its LLVM, where it is known.
    #[serde(default)]
    pub kernels_by: Option<String>,
    /// Median time of the calculation by events, without a profiler; `None` where it was not run.
    pub time_s: Option<f64>,
    /// Sum of the launches' durations under the profiler.
    pub duration_s: f64,
    /// FP64 instructions counted by the hardware, each on one number.
    pub dadd: f64,
    /// Multiplications.
    pub dmul: f64,
    /// Fused operations.
    pub dfma: f64,
    /// Bytes moved at each level.
    pub bytes: Bytes,
    /// Hit rate of L1 in percent, over the launches by time.
    pub l1_hit_percent: Option<f64>,
    /// Hit rate of L2 in percent.
    pub l2_hit_percent: Option<f64>,
    /// Share of the time in which the FP64 pipe was busy, in percent.
    pub fp64_pipe_percent: Option<f64>,
    /// Registers of a thread of the version's kernel.
    pub registers: Option<u32>,
    /// Warps active on a multiprocessor, on average.
    pub warps_per_sm: Option<f64>,
    /// Why warps waited: share of the cycles between two instructions of a warp, by reason.
    pub stalls: BTreeMap<String, f64>,
    /// Warp samples by source line, where they were taken; most first.
    pub lines: Vec<SourceLine>,
    /// Operations counted by running the source.
    pub counted: Option<PerTerm>,
    /// Kernels launched, in their order.
    pub launches: Vec<String>,
    /// Instructions in the code of the version's kernel and how they were counted.
    #[serde(default)]
    pub disassembly: Option<Disassembled>,
}

/// Instructions of one kernel, and the tools and architecture behind them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disassembled {
    /// The tools and the architecture.
    pub source: String,
    /// The counts.
    #[serde(flatten)]
    pub instructions: Instructions,
}

/// Bytes moved between two levels and the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bytes {
    /// Memory.
    pub hbm: f64,
    /// L2.
    pub l2: f64,
    /// L1.
    pub l1: f64,
}

impl Profile {
    /// FP64 operations, a fused one counting two.
    pub fn flops(&self) -> f64 {
        self.dadd + self.dmul + 2.0 * self.dfma
    }

    /// Share of fused operations among FP64 arithmetic instructions.
    pub fn fma_ratio(&self) -> f64 {
        self.dfma / (self.dadd + self.dmul + self.dfma)
    }

    /// The time to rate by: without the profiler where there is one.
    pub fn seconds(&self) -> f64 {
        self.time_s.unwrap_or(self.duration_s)
    }

    /// Takes over what a disassembly says of the version's kernel.
    pub fn set_disassembly(&mut self, all: &Disassembly) {
        let kernel = self.launches.first().and_then(|kernel| all.kernels.get(kernel));
        self.disassembly = kernel.map(|instructions| Disassembled {
            source: all.source.clone(),
            instructions: instructions.clone(),
        });
    }

    /// Operations a second.
    pub fn rate(&self) -> f64 {
        self.flops() / self.seconds()
    }

    /// The reason that warps waited for most, and its share. A warp not selected waits for nothing:
    /// another issued in its place.
    pub fn main_stall(&self) -> Option<(&str, f64)> {
        self.stalls
            .iter()
            .filter(|(reason, _)| !["selected", "not_selected"].contains(&reason.as_str()))
            .max_by(|a, b| a.1.total_cmp(b.1))
            .map(|(reason, share)| (reason.as_str(), *share))
    }
}

/// What the launches are of.
#[derive(Clone, Debug)]
pub struct Context {
    /// The system's name.
    pub system: String,
    /// Its terms.
    pub terms: u64,
    /// Where the counters come from.
    pub source: String,
    /// Profiles whose FP64 operations for each term are taken, where none are counted.
    pub operations: Vec<Profile>,
}

/// Sums launches up to one profile for each version. A second stage belongs to the version before.
///
/// # Errors
/// What is missing or cannot be told.
pub fn aggregate(
    launches: &[Launch],
    context: &Context,
) -> std::result::Result<Vec<Profile>, String> {
    let mut groups: Vec<(&'static str, Vec<&Launch>)> = Vec::new();
    for launch in launches {
        if launch.kernel == reduction::SYMBOL {
            let (_, group) =
                groups.last_mut().ok_or("a second stage comes before any version's kernel")?;
            group.push(launch);
            continue;
        }
        let (version, ..) = versions::find(&launch.kernel)
            .ok_or_else(|| format!("kernel `{}` is of no known version", launch.kernel))?;
        match groups.last_mut() {
            // A calculation ends with its second stage.
            Some((id, group))
                if *id == version.id()
                    && group.last().is_some_and(|last| last.kernel != reduction::SYMBOL) =>
            {
                group.push(launch);
            }
            _ => groups.push((version.id(), vec![launch])),
        }
    }
    if groups.is_empty() {
        return Err("no launch of any version".into());
    }
    groups.iter().map(|(id, group)| profile(id, group, context)).collect()
}

fn profile(
    id: &str,
    launches: &[&Launch],
    context: &Context,
) -> std::result::Result<Profile, String> {
    let sum = |name: &str| -> std::result::Result<f64, String> {
        launches.iter().map(|launch| launch.required(name)).sum()
    };
    let duration = sum(metrics::DURATION)?;
    // Averages over the launches by their time.
    let average = |name: &str| -> Option<f64> {
        launches
            .iter()
            .map(|launch| Some(launch.get(name)? * launch.get(metrics::DURATION)?))
            .sum::<Option<f64>>()
            .map(|total| total / duration)
    };
    let waits: BTreeMap<String, f64> = metrics::STALLS
        .iter()
        .filter_map(|reason| Some((reason.to_string(), average(&metrics::stall(reason))?)))
        .collect();
    let all: f64 = waits.values().sum();
    let [dadd, dmul, dfma] = if context.operations.is_empty() {
        [sum(metrics::DADD)?, sum(metrics::DMUL)?, sum(metrics::DFMA)?]
    } else {
        let other = context
            .operations
            .iter()
            .find(|profile| profile.version == id)
            .ok_or_else(|| format!("no profile of {id} to take its operations from"))?;
        let scale = context.terms as f64 / other.terms as f64;
        [other.dadd, other.dmul, other.dfma].map(|count| count * scale)
    };
    Ok(Profile {
        schema: 1,
        version: id.into(),
        system: context.system.clone(),
        terms: context.terms,
        device: launches[0].device.clone().unwrap_or_else(|| "unknown device".into()),
        source: context.source.clone(),
        kernels_by: None,
        time_s: None,
        duration_s: duration,
        dadd,
        dmul,
        dfma,
        bytes: Bytes { hbm: sum(metrics::HBM)?, l2: sum(metrics::L2)?, l1: sum(metrics::L1)? },
        l1_hit_percent: average(metrics::L1_HIT),
        l2_hit_percent: average(metrics::L2_HIT),
        fp64_pipe_percent: average(metrics::FP64_PIPE),
        registers: launches[0].get(metrics::REGISTERS).map(|registers| registers as u32),
        warps_per_sm: average(metrics::WARPS),
        stalls: waits.into_iter().map(|(reason, wait)| (reason, wait / all)).collect(),
        lines: Vec::new(),
        counted: None,
        launches: launches.iter().map(|launch| launch.kernel.clone()).collect(),
        disassembly: None,
    })
}

/// Where the profile of a version is kept in a folder of profiles.
pub fn path(folder: &Path, version: &str) -> PathBuf {
    folder.join(format!("profile-{version}.json"))
}

/// Writes a profile to its folder.
///
/// # Errors
/// [`Error::Write`].
pub fn store(folder: &Path, profile: &Profile) -> Result<()> {
    let text = serde_json::to_string_pretty(profile).expect("a record of plain values");
    replace(&path(folder, &profile.version), |file| {
        use std::io::Write;
        writeln!(file, "{text}")
    })
}

/// Reads the profiles of a folder in the versions' order.
///
/// # Errors
/// [`Error::Data`] for a folder without any, and for a record that is none.
pub fn load(folder: &Path) -> Result<Vec<Profile>> {
    let mut profiles = Vec::new();
    for version in ALL {
        let path = path(folder, version.id());
        if !path.exists() {
            continue;
        }
        let wrong = |what: String| Error::Data { origin: path.display().to_string(), what };
        let text =
            std::fs::read_to_string(&path).map_err(|e| wrong(format!("cannot read: {e}")))?;
        let profile: Profile =
            serde_json::from_str(&text).map_err(|e| wrong(format!("is no profile: {e}")))?;
        profiles.push(profile);
    }
    if profiles.is_empty() {
        return Err(Error::Data {
            origin: folder.display().to_string(),
            what: if folder.is_dir() {
                "holds no profile-v*.json; `gpp profile` makes them".into()
            } else {
                "no such folder; `gpp profile` makes it".into()
            },
        });
    }
    Ok(profiles)
}
