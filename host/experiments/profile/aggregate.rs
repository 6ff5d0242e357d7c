//! Launches summed up to one profile for each version.

use std::collections::BTreeMap;

use gpp_kernels::kernel::Gpu;
use gpp_kernels::reduction;
use gpp_kernels::versions;

use super::metrics::{self, Launch};
use crate::catalogue::Kernel;
use crate::error::ProfileError;
use crate::problem::Problem;
use crate::record::SCHEMA;
use crate::record::profile::{Bytes, Profile};

type Result<T> = std::result::Result<T, ProfileError>;

/// What the launches are of.
#[derive(Clone, Debug)]
pub struct Context {
    /// The system's name.
    pub system: String,
    /// Its terms.
    pub terms: u64,
    /// Its energies.
    pub nw: u32,
    /// Where the counters come from.
    pub source: String,
    /// Batches of energies of each version that has more than one: a calculation has a second stage for each.
    pub batches: BTreeMap<&'static str, usize>,
}

impl Context {
    /// Launches on a problem.
    pub fn new(problem: &Problem, source: String) -> Context {
        let counted = |gpu: &&'static Gpu| {
            let count = problem.batches_for(Kernel::Gpu(gpu)).count();
            (count > 1).then_some((gpu.id(), count))
        };
        let batches = versions::ALL.iter().filter_map(counted).collect();
        let (system, terms) = (problem.name().into(), problem.terms());
        Context { system, terms, nw: problem.nw() as u32, source, batches }
    }

    /// Batches of a version.
    fn batches(&self, version: &str) -> usize {
        self.batches.get(version).copied().unwrap_or(1)
    }
}

/// Second stages among launches.
fn second_stages(launches: &[&Launch]) -> usize {
    launches.iter().filter(|launch| launch.kernel == reduction::SYMBOL).count()
}

const SECOND_STAGE_FIRST: &str = "a second stage comes before any version's kernel";

/// Sums launches up to one profile for each version. A second stage belongs to the version before.
///
/// # Errors
/// What is missing or cannot be told.
pub fn aggregate(launches: &[Launch], context: &Context) -> Result<Vec<Profile>> {
    let mut groups: Vec<(&'static str, Vec<&Launch>)> = Vec::new();
    for launch in launches {
        if launch.kernel == reduction::SYMBOL {
            let (_, group) = groups.last_mut().ok_or(ProfileError::Launches(SECOND_STAGE_FIRST))?;
            group.push(launch);
            continue;
        }
        let version = version_of(&launch.kernel)?;
        match groups.last_mut() {
            // A calculation ends with the second stage of its last batch.
            Some((id, group))
                if *id == version && second_stages(group) < context.batches(version) =>
            {
                group.push(launch);
            }
            _ => groups.push((version, vec![launch])),
        }
    }
    if groups.is_empty() {
        return Err(ProfileError::Launches("no launch of any version"));
    }
    let of_group = |(id, group): &(&'static str, Vec<&Launch>)| {
        let batches = context.batches(id);
        if batches > 1 && second_stages(group) < batches {
            return Err(ProfileError::Launches("fewer second stages than batches of energies"));
        }
        profile(id, group, context)
    };
    groups.iter().map(of_group).collect()
}

/// The version that has a kernel.
fn version_of(kernel: &str) -> Result<&'static str> {
    let found = versions::find(kernel).map(|(gpu, ..)| gpu.id());
    found.ok_or_else(|| ProfileError::UnknownKernel(kernel.into()))
}

/// Cycles of a multiprocessor by version, a second stage's with those of the version before it.
///
/// # Errors
/// What is missing or cannot be told.
pub fn cycles(launches: &[Launch]) -> Result<BTreeMap<String, f64>> {
    let mut cycles = BTreeMap::new();
    let mut version = None;
    for launch in launches {
        if launch.kernel != reduction::SYMBOL {
            version = Some(version_of(&launch.kernel)?);
        }
        let version = version.ok_or(ProfileError::Launches(SECOND_STAGE_FIRST))?;
        *cycles.entry(version.to_string()).or_insert(0.0) += launch.required(metrics::CYCLES)?;
    }
    Ok(cycles)
}

fn profile(id: &str, launches: &[&Launch], context: &Context) -> Result<Profile> {
    let sum =
        |name: &str| -> Result<f64> { launches.iter().map(|launch| launch.required(name)).sum() };
    let duration = sum(metrics::DURATION)?;
    // What older CSV and other chips lack.
    let known =
        |name: &str| -> Option<f64> { launches.iter().map(|launch| launch.get(name)).sum() };
    let moved = |name: &str, bytes: f64| known(name).map(|count| count * bytes);
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
    Ok(Profile {
        schema: SCHEMA,
        version: id.into(),
        system: context.system.clone(),
        terms: context.terms,
        nw: Some(context.nw),
        device: launches[0].device.clone().unwrap_or_else(|| "unknown device".into()),
        source: context.source.clone(),
        provenance: None,
        kernels_by: None,
        time_s: None,
        duration_s: duration,
        dadd: sum(metrics::DADD)?,
        dmul: sum(metrics::DMUL)?,
        dfma: sum(metrics::DFMA)?,
        bytes: Bytes {
            hbm: sum(metrics::HBM)?,
            l2: moved(metrics::L2, metrics::SECTOR),
            l2_fabric: moved(metrics::FABRIC, metrics::SECTOR),
            l1: Some(sum(metrics::L1)?),
            shared: moved(metrics::SHARED, metrics::WAVEFRONT),
        },
        l1_hit_percent: average(metrics::L1_HIT),
        l2_hit_percent: average(metrics::L2_HIT),
        fp64_pipe_percent: average(metrics::FP64_PIPE),
        pipes_percent: metrics::PIPES
            .iter()
            .filter_map(|(name, metric)| Some((name.to_string(), average(metric)?)))
            .collect(),
        cycles: known(metrics::CYCLES),
        kernel_hash: None,
        source_hash: None,
        task: None,
        registers: launches[0].get(metrics::REGISTERS).map(|registers| registers as u32),
        warps_per_sm: average(metrics::WARPS),
        stalls: waits.into_iter().map(|(reason, wait)| (reason, wait / all)).collect(),
        launches: launches.iter().map(|launch| launch.kernel.clone()).collect(),
    })
}
