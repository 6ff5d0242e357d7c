//! ncu's CSV read, and its launches summed up for a version.

use std::collections::BTreeMap;

use gpp_kernels::kernel::GpuVersion;
use gpp_kernels::{reduction, versions};

use crate::catalogue::Kernel;
use crate::error::ProfileError;
use crate::problem::Problem;
use crate::profile::ncu::{self, Launch};
use crate::record::SCHEMA;
use crate::record::profile::{Bytes, Profile};

type Result<T> = std::result::Result<T, ProfileError>;

/// Reads the profiler's CSV of its `raw` page, a column for each metric and a row of units. What it prints besides is
/// passed over.
pub fn parse(text: &str) -> Result<Vec<Launch>> {
    let table = table(text)?;
    let mut rows = table.lines().enumerate().skip_while(|(_, line)| !is_header(line));
    let (first, _) = rows.next().ok_or_else(|| needs("no header row with \"Kernel Name\""))?;
    let body: String = table.lines().skip(first).flat_map(|line| [line, "\n"]).collect();
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(body.as_bytes());
    let header = reader.headers().map_err(malformed)?.clone();
    let kernel = header.iter().position(|h| h == "Kernel Name");
    let kernel = kernel.ok_or_else(|| needs("no column \"Kernel Name\""))?;
    let records: Vec<csv::StringRecord> =
        reader.records().collect::<std::result::Result<_, _>>().map_err(malformed)?;
    let launches = raw(&header, &records, kernel)?;
    if launches.is_empty() {
        return Err(needs("no launch: did the program run any kernel?"));
    }
    Ok(launches)
}

/// The part of the output that is a table; an error that the profiler printed is ours.
fn table(text: &str) -> Result<String> {
    if let Some(error) = text.lines().find(|line| line.starts_with("==ERROR==")) {
        return Err(ProfileError(error.trim_start_matches("==ERROR==").trim().to_string()));
    }
    let lines = text.lines().filter(|line| !line.starts_with("==") && !line.trim().is_empty());
    Ok(lines.flat_map(|line| [line, "\n"]).collect())
}

fn needs(what: &str) -> ProfileError {
    ProfileError(what.into())
}

fn malformed(error: csv::Error) -> ProfileError {
    ProfileError(format!("malformed CSV: {error}"))
}

fn is_header(line: &str) -> bool {
    line.contains("Kernel Name")
}

fn raw(
    header: &csv::StringRecord,
    records: &[csv::StringRecord],
    kernel: usize,
) -> Result<Vec<Launch>> {
    let (units, records) = records.split_first().ok_or_else(|| needs("no row of units"))?;
    if units.get(kernel).is_some_and(|name| !name.is_empty()) {
        return Err(needs("no row of units below the header"));
    }
    Ok(records
        .iter()
        .filter_map(|record| {
            let metrics = header
                .iter()
                .zip(units.iter())
                .zip(record.iter())
                .filter_map(|((name, unit), value)| {
                    Some((name.to_string(), number(value)? * scale(unit)?))
                })
                .collect();
            let name = header.iter().position(|h| h == "device__attribute_display_name");
            Some(Launch {
                kernel: record.get(kernel).filter(|name| !name.is_empty())?.to_string(),
                device: name.and_then(|at| record.get(at)).map(str::to_string),
                metrics,
            })
        })
        .collect())
}

/// A number as the C locale writes it, digits grouped by commas.
fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok().filter(|number: &f64| number.is_finite())
}

/// Factor from a unit to its base; `None` for a unit that is not known.
fn scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "" | "%" | "byte" | "inst" | "cycle" | "warp" | "block" | "thread" | "hz" | "Hz" | "s"
        | "second" | "sector" | "wavefront" | "register/thread" | "warp/cycle" | "inst/warp" => 1.0,
        "ns" | "nsecond" => 1e-9,
        "us" | "usecond" => 1e-6,
        "ms" | "msecond" => 1e-3,
        "Kbyte" | "KB" | "Khz" | "KHz" => 1e3,
        "Mbyte" | "MB" | "Mhz" | "MHz" => 1e6,
        "Gbyte" | "GB" | "Ghz" | "GHz" | "cycle/nsecond" => 1e9,
        "Tbyte" | "TB" => 1e12,
        _ => return None,
    })
}

// Launches summed up to one profile for each version.

#[derive(Clone, Debug)]
pub struct Context {
    pub system: String,
    pub terms: u64,
    pub nw: u32,
    pub source: String,
    /// Batches of energies of each version that has more than one: a calculation has a second stage for each.
    pub batches: BTreeMap<&'static str, usize>,
}

impl Context {
    pub fn new(problem: &Problem, source: String) -> Context {
        let counted = |gpu: &&'static GpuVersion| {
            let count = Kernel::Gpu(gpu).batches(problem).count();
            (count > 1).then_some((gpu.id(), count))
        };
        let batches = versions::ALL.iter().filter_map(counted).collect();
        let (system, terms) = (problem.name().into(), problem.terms());
        Context { system, terms, nw: problem.nw() as u32, source, batches }
    }

    fn batches(&self, version: &str) -> usize {
        self.batches.get(version).copied().unwrap_or(1)
    }
}

fn second_stages(launches: &[&Launch]) -> usize {
    launches.iter().filter(|launch| launch.kernel == reduction::SYMBOL).count()
}

const SECOND_STAGE_FIRST: &str = "a second stage comes before any version's kernel";

/// Sums launches up to one profile for each version. A second stage belongs to the version before.
pub fn aggregate(launches: &[Launch], context: &Context) -> Result<Vec<Profile>> {
    let mut groups: Vec<(&'static str, Vec<&Launch>)> = Vec::new();
    for launch in launches {
        if launch.kernel == reduction::SYMBOL {
            let (_, group) =
                groups.last_mut().ok_or_else(|| ProfileError(SECOND_STAGE_FIRST.into()))?;
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
        return Err(ProfileError("no launch of any version".into()));
    }
    let of_group = |(id, group): &(&'static str, Vec<&Launch>)| {
        let batches = context.batches(id);
        if batches > 1 && second_stages(group) < batches {
            return Err(ProfileError("fewer second stages than batches of energies".into()));
        }
        profile(id, group, context)
    };
    groups.iter().map(of_group).collect()
}

fn version_of(kernel: &str) -> Result<&'static str> {
    let found = versions::find(kernel).map(|(gpu, ..)| gpu.id());
    found.ok_or_else(|| ProfileError(format!("kernel `{kernel}` is of no known version")))
}

fn profile(id: &str, launches: &[&Launch], context: &Context) -> Result<Profile> {
    let sum =
        |name: &str| -> Result<f64> { launches.iter().map(|launch| launch.required(name)).sum() };
    let duration = sum(ncu::DURATION)?;
    // What older CSV and other chips lack.
    let known =
        |name: &str| -> Option<f64> { launches.iter().map(|launch| launch.get(name)).sum() };
    let moved = |name: &str, bytes: f64| known(name).map(|count| count * bytes);
    // Averages over the launches by their time.
    let average = |name: &str| -> Option<f64> {
        launches
            .iter()
            .map(|launch| Some(launch.get(name)? * launch.get(ncu::DURATION)?))
            .sum::<Option<f64>>()
            .map(|total| total / duration)
    };
    let waits: BTreeMap<String, f64> = ncu::STALLS
        .iter()
        .filter_map(|reason| Some((reason.to_string(), average(&ncu::stall(reason))?)))
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
        time_s: None,
        duration_s: duration,
        dadd: sum(ncu::DADD)?,
        dmul: sum(ncu::DMUL)?,
        dfma: sum(ncu::DFMA)?,
        bytes: Bytes {
            hbm: sum(ncu::HBM)?,
            l2: moved(ncu::L2, ncu::SECTOR),
            l2_fabric: moved(ncu::FABRIC, ncu::SECTOR),
            l1: Some(sum(ncu::L1)?),
            shared: moved(ncu::SHARED, ncu::WAVEFRONT),
        },
        l1_hit_percent: average(ncu::L1_HIT),
        l2_hit_percent: average(ncu::L2_HIT),
        fp64_pipe_percent: average(ncu::FP64_PIPE),
        pipes_percent: ncu::PIPES
            .iter()
            .filter_map(|(name, metric)| Some((name.to_string(), average(metric)?)))
            .collect(),
        cycles: known(ncu::CYCLES),
        registers: launches[0].get(ncu::REGISTERS).map(|registers| registers as u32),
        warps_per_sm: average(ncu::WARPS),
        stalls: waits.into_iter().map(|(reason, wait)| (reason, wait / all)).collect(),
        launches: launches.iter().map(|launch| launch.kernel.clone()).collect(),
    })
}
