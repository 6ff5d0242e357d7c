//! Reads ncu's CSV and sums the launches of each version up.

use std::collections::BTreeMap;

use csv::StringRecord;
use gpp_kernels::{reduction, versions};

use crate::error::ProfileError;
use crate::profile::ncu;
use crate::record::SCHEMA;
use crate::record::profile::{Bytes, Profile};
use crate::record::run::SystemInfo;

type Result<T> = std::result::Result<T, ProfileError>;

/// One launch and its metrics in base units: seconds, bytes, hertz, percent, counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    pub kernel: String,
    pub device: Option<String>,
    pub metrics: BTreeMap<String, f64>,
}

/// Reads ncu's CSV of its `raw` page: a column for each metric, and units below the header.
pub fn parse(text: &str) -> Result<Vec<Launch>> {
    let needs = |what: &str| ProfileError(what.into());
    if let Some(error) = text.lines().find_map(|line| line.strip_prefix("==ERROR==")) {
        return Err(ProfileError(error.trim().into()));
    }
    // Other lines of ncu's and of the program's come before the header.
    let lines = text.lines().filter(|line| !line.starts_with("==") && !line.trim().is_empty());
    let table: Vec<&str> = lines.skip_while(|line| !line.contains("Kernel Name")).collect();
    let table = table.join("\n");
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(table.as_bytes());
    let malformed = |error: csv::Error| ProfileError(format!("malformed CSV: {error}"));
    let header = reader.headers().map_err(malformed)?.clone();
    let column = |name: &str| header.iter().position(|heading| heading == name);
    let kernel =
        column("Kernel Name").ok_or_else(|| needs("no header row with \"Kernel Name\""))?;
    let device = column("device__attribute_display_name");
    let mut records = reader.records();
    let units = records.next().transpose().map_err(malformed)?.unwrap_or_default();
    if units.get(kernel) != Some("") {
        return Err(needs("no row of units below the header"));
    }
    let launch = |record: StringRecord| {
        let columns = header.iter().zip(&units).zip(&record);
        let metrics = columns.filter_map(|((name, unit), value)| {
            Some((name.to_string(), number(value)? * scale(unit)?))
        });
        Launch {
            kernel: record.get(kernel).unwrap_or_default().into(),
            device: device.and_then(|at| record.get(at)).map(str::to_string),
            metrics: metrics.collect(),
        }
    };
    let launches = records.map(|record| record.map(launch).map_err(malformed));
    let launches = launches.collect::<Result<Vec<_>>>()?;
    if launches.is_empty() {
        return Err(needs("no launch: did the program run any kernel?"));
    }
    Ok(launches)
}

/// A number of the C locale, with digits grouped by commas.
fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok().filter(|number: &f64| number.is_finite())
}

/// Factor from a unit to its base; `None` for an unknown unit.
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

/// One profile for each version, which ran one calculation: launches in a row, one or more for each batch of energies,
/// with the second stage of each batch.
pub fn aggregate(launches: &[Launch], system: &SystemInfo, source: &str) -> Result<Vec<Profile>> {
    let mut groups: Vec<(&str, Vec<&Launch>)> = Vec::new();
    for launch in launches {
        let kernel = &launch.kernel;
        let version = match versions::find(kernel) {
            Some((gpu, ..)) => gpu.id(),
            None if kernel == reduction::SYMBOL && !groups.is_empty() => groups[groups.len() - 1].0,
            None => {
                return Err(ProfileError(format!("kernel `{kernel}` is of no known version")));
            }
        };
        match groups.last_mut() {
            Some((id, group)) if *id == version => group.push(launch),
            _ => groups.push((version, vec![launch])),
        }
    }
    groups.iter().map(|(id, group)| profile(id, group, system, source)).collect()
}

fn profile(
    version: &str,
    launches: &[&Launch],
    system: &SystemInfo,
    source: &str,
) -> Result<Profile> {
    // Chips and older versions of ncu lack some metrics.
    let get = |launch: &Launch, name: &str| launch.metrics.get(name).copied();
    let known = |name: &str| -> Option<f64> { launches.iter().map(|own| get(own, name)).sum() };
    let sum = |name: &str| -> Result<f64> {
        let missing = launches.iter().find(|launch| get(launch, name).is_none());
        let kernel = missing.map_or("", |launch| &launch.kernel);
        known(name)
            .ok_or_else(|| ProfileError(format!("metric {name} is missing for kernel `{kernel}`")))
    };
    let duration = sum(ncu::DURATION)?;
    // By the launches' time.
    let average = |name: &str| -> Option<f64> {
        let weighted = launches.iter().map(|own| Some(get(own, name)? * get(own, ncu::DURATION)?));
        Some(weighted.sum::<Option<f64>>()? / duration)
    };
    let stalls = ncu::STALLS.iter();
    let stalls: BTreeMap<String, f64> = stalls
        .filter_map(|reason| Some((reason.to_string(), average(&ncu::stall(reason))?)))
        .collect();
    let cycles: f64 = stalls.values().sum();
    let pipes = ncu::PIPES.iter();
    let pipes = pipes.filter_map(|(name, metric)| Some((name.to_string(), average(metric)?)));
    Ok(Profile {
        schema: SCHEMA,
        version: version.into(),
        system: system.name.clone(),
        terms: system.terms(),
        nw: Some(system.nw() as u32),
        device: launches[0].device.clone().unwrap_or_else(|| "unknown device".into()),
        source: source.into(),
        provenance: None,
        time_s: None,
        duration_s: duration,
        dadd: sum(ncu::DADD)?,
        dmul: sum(ncu::DMUL)?,
        dfma: sum(ncu::DFMA)?,
        bytes: Bytes {
            hbm: sum(ncu::HBM)?,
            l2: known(ncu::L2).map(|sectors| sectors * ncu::SECTOR),
            l1: Some(sum(ncu::L1)?),
            shared: known(ncu::SHARED).map(|wavefronts| wavefronts * ncu::WAVEFRONT),
        },
        l1_hit_percent: average(ncu::L1_HIT),
        l2_hit_percent: average(ncu::L2_HIT),
        fp64_pipe_percent: average(ncu::FP64_PIPE),
        pipes_percent: pipes.collect(),
        cycles: known(ncu::CYCLES),
        registers: get(launches[0], ncu::REGISTERS).map(|registers| registers as u32),
        warps_per_sm: average(ncu::WARPS),
        stalls: stalls.into_iter().map(|(reason, own)| (reason, own / cycles)).collect(),
        launches: launches.iter().map(|launch| launch.kernel.clone()).collect(),
    })
}
