//! Figures by name.
//!
//! A name is a quantity and its versions: `time v13`, `less cycles v3 v4`, `best pipe @si510`. `@` names
//! another system than si214, `.2` another number of decimals than usual.

use super::archive::{Archive, System};
use super::{energies, scales};
use crate::analysis::comparison::{rated, ratios};
use crate::analysis::outcomes::clock_lost;
use crate::analysis::published;
use crate::analysis::scale::least;
use crate::error::FigureError;
use crate::record::clock::Sustained;
use crate::record::comparison::{Comparison, Heat, Racer};
use crate::record::run::Measurement;
use crate::record::scale::{Line, Point, Scale};

type Found<T> = std::result::Result<T, FigureError>;

/// The text of a figure.
///
/// # Errors
/// Why there is none.
pub fn figure(archive: &Archive, name: &str) -> Found<String> {
    let mut system = "si214";
    let mut decimals = None;
    let mut words = Vec::new();
    for word in name.split_whitespace() {
        if let Some(name) = word.strip_prefix('@') {
            system = name;
        } else if let Some(digits) = word.strip_prefix('.') {
            decimals = Some(digits.parse().map_err(|_| FigureError::NoDecimals(word.into()))?);
        } else {
            words.push(word);
        }
    }
    match words[..] {
        ["scaling", "version"] => return Ok(scaling_of(archive, system)?.version),
        ["best", "version"] => return Ok(best_heat(archive, system)?.racers[0].name.clone()),
        ["energies", "capped"] => return energies::capped(archive, "sigma:blocks"),
        ["best", "fastest-cuda"] => return Ok(fastest_cuda(archive, system)?.name),
        _ => {}
    }
    if let Some(found) = super::words::words(archive, system, &words) {
        return found;
    }
    if let Some(found) = scales::quantity(archive, &words) {
        return found.map(|(what, value)| text(what, value, decimals));
    }
    let of = |what: &str, version: &str| of_version(archive, system, what, version);
    let (what, value) = match words[..] {
        ["over", before, now] => ("ratio", of("time", before)? / of("time", now)?),
        ["less", what, before, now] => ("%", -change(of(what, before)?, of(what, now)?, -1.0)?),
        ["more", what, before, now] => ("%", change(of(what, before)?, of(what, now)?, 1.0)?),
        ["share", what, version, all] => ("%", 100.0 * of(what, version)? / of(what, all)?),
        ["best", what] => (what, best(archive, system, what)?),
        ["parity", which @ ("mean" | "least" | "most")] => {
            (if which == "mean" { "mean" } else { "ratio" }, parity(archive, system, which)?)
        }
        ["stall", reason, version] => {
            ("intensity", stall(archive.system(system)?, reason, version)?)
        }
        // Which number of energies is compared with which has to be said.
        ["scaling", "nw"] => {
            return Err(FigureError::missing(
                "the scaling",
                "line nw without two numbers of energies",
            ));
        }
        ["scaling", line] => ("%", scaling(archive, system, line)?),
        ["scaling", "nw", few, more] => ("%", energies_over(archive, system, few, more)?),
        ["energies", what, nw] => energies::quantity(archive, what, "sigma:blocks", nw)?,
        ["energies", what, version, nw] => energies::quantity(archive, what, version, nw)?,
        [what, version] => (what, of(what, version)?),
        _ => return Err(FigureError::Unknown("figure")),
    };
    Ok(text(what, value, decimals))
}

/// A number with the decimals that a quantity usually has.
pub fn text(what: &str, value: f64, decimals: Option<usize>) -> String {
    let usual = match what {
        "error" | "v3-error" => return format!("{value:.1e}"),
        "time" | "before-cap" | "time-before-cap" | "cuda-time" if value < 1e3 => 1,
        "flop" | "tflops" | "intensity" => 1,
        "hbm" if value < 1e3 => 1,
        "over-cuda" | "over-cuda-before-cap" | "over-fastest-cuda" | "ratio" | "parity" => 2,
        "cycles" if value < 1e2 => 1,
        "cpu-time" => 1 + usize::from(value < 1e1),
        "term" => 3,
        "mean" => 3,
        _ => 0,
    };
    format!("{value:.*}", decimals.unwrap_or(usual))
}

/// Change in percent. One in the other direction than the text has it is no figure for that text.
fn change(before: f64, now: f64, direction: f64) -> Found<f64> {
    let percent = 100.0 * (now / before - 1.0);
    if percent * direction > 0.0 { Ok(percent) } else { Err(FigureError::OtherWay(percent)) }
}

/// A quantity of one version.
///
/// # Errors
/// Why there is none.
pub fn of_version(archive: &Archive, system: &str, what: &str, version: &str) -> Found<f64> {
    let archived = archive.system(system)?;
    let number = |value: Option<f64>| value.ok_or_else(|| FigureError::missing(version, what));
    match what {
        "time" => time(archived, version),
        "registers" => number(archived.result(version)?.registers.map(f64::from)),
        "local" => number(archived.result(version)?.local_bytes.map(f64::from)),
        "error" => number(archived.result(version)?.verification.max_rel_error),
        "cycles" => match archived.cycles.get(version) {
            Some(cycles) => Ok(cycles / 1e6),
            None => Err(FigureError::missing(version, "cycles")),
        },
        // What the clock must have been for the cycles to take the time.
        "clock" => {
            let cycles = of_version(archive, system, "cycles", version)?;
            Ok(1e3 * cycles / time(archived, version)?)
        }
        "mhz" => Ok(sustained(archive, system, version)?.sm_mhz),
        "lost" => Ok(100.0 * super::words::lost(archived.result(version)?)?),
        "before-cap" => match &archived.result(version)?.before_cap {
            Some(before) => Ok(1e3 * before.times.median),
            None => Err(FigureError::missing(version, "time before the cap")),
        },
        "watts" => Ok(sustained(archive, system, version)?.power_w),
        "joules" => Ok(sustained(archive, system, version)?.energy_j),
        "parity" => parity_of(archive, system, version),
        "paper-time" => paper_time(version),
        "flop" | "tflops" | "pipe" | "fused" | "hbm" | "hbm-time" | "l2" | "fabric"
        | "intensity" => {
            let profile = archived.profile(version)?;
            Ok(match what {
                "flop" => profile.flops_per_term(),
                "tflops" => profile.flops() / time(archived, version)? / 1e9,
                "pipe" => return number(profile.fp64_pipe_percent),
                "fused" => 100.0 * profile.fma_ratio(),
                "hbm" => profile.bytes.hbm / 1e9,
                "hbm-time" => profile.bytes.hbm / archived.ceilings.hbm * 1e3,
                "l2" => return number(profile.bytes.l2.map(|bytes| bytes / 1e9)),
                "fabric" => return number(profile.bytes.l2_fabric.map(|bytes| bytes / 1e9)),
                _ => profile.flops() / profile.bytes.hbm,
            })
        }
        _ => Err(no_quantity(what, "")),
    }
}

fn no_quantity(name: &str, of: &'static str) -> FigureError {
    FigureError::NoName { what: "quantity", name: name.into(), of }
}

/// Median time of a version in milliseconds.
fn time(system: &System, version: &str) -> Found<f64> {
    Ok(system.result(version)?.times.median * 1e3)
}

/// The paper's time on si214 in milliseconds.
fn paper_time(version: &str) -> Found<f64> {
    let paper = published::paper();
    let row = paper.iter().find(|row| row.version == version);
    Ok(row.ok_or_else(|| FigureError::missing("the paper", version))?.si214_time_s * 1e3)
}

/// What a run of a version showed that went on long enough.
fn sustained(archive: &Archive, system: &str, version: &str) -> Found<Sustained> {
    let none = || FigureError::missing(version, "clock, power and energy of its run");
    seen(archive.system(system)?.result(version)?).ok_or_else(none)
}

/// What was seen of the GPU during a version's timed runs.
pub fn seen(result: &Measurement) -> Option<Sustained> {
    let state = result.state.as_ref()?;
    Some(Sustained {
        version: result.version.clone(),
        time_ms: result.times.median * 1e3,
        sm_mhz: state.sm_mhz?.median,
        power_w: state.watts()?,
        energy_j: result.energy_j?,
        throttle: clock_lost(state)?,
    })
}

/// Cycles that a warp waits for a reason between two instructions. It is selected in one cycle.
fn stall(system: &System, reason: &str, version: &str) -> Found<f64> {
    let stalls = &system.profile(version)?.stalls;
    let share = |reason| stalls.get(reason).ok_or_else(|| FigureError::missing(version, reason));
    Ok(share(reason)? / share("selected")?)
}

/// The comparisons with the yardstick in CUDA C++.
fn comparisons(archive: &Archive) -> Found<Vec<Comparison>> {
    let of = |record: &&str| Ok(rated(&archive.record(record, &format!("{record}.json"))?));
    ["compare", "compare-si510"].iter().map(of).collect()
}

/// Our time of a version over the yardstick's.
fn parity_of(archive: &Archive, system: &str, version: &str) -> Found<f64> {
    let all = comparisons(archive)?;
    let mut pairs = all.iter().flat_map(Comparison::pairs);
    let found = pairs.find(|pair| pair.heat.system == system && pair.ours.name == version);
    let none =
        || FigureError::missing("the archive", format!("comparison of {version} on {system}"));
    Ok(found.ok_or_else(none)?.ratio())
}

/// A figure of the best version beside the yardstick's v8.
fn best(archive: &Archive, system: &str, what: &str) -> Found<f64> {
    let heat = best_heat(archive, system)?;
    let (ours, cuda) = (&heat.racers[0], &heat.racers[1]);
    let ms = |racer: &Racer| 1e3 * racer.times.median;
    let value = match what {
        "over-cuda" => ours.over_yardstick,
        "over-cuda-before-cap" => ours.over_before_cap,
        "over-fastest-cuda" => Some(ms(&fastest_cuda(archive, system)?) / ms(ours)),
        "time-before-cap" => ours.before_cap.as_ref().map(|before| 1e3 * before.times.median),
        "time" => Some(ms(ours)),
        "cuda-time" => Some(ms(cuda)),
        "error" => ours.max_rel_error,
        "v3-error" => heat.v3_error,
        "pipe" => ours.fp64_pipe_percent,
        "hbm" => ours.hbm_bytes.map(|bytes| bytes / 1e9),
        _ => return Err(no_quantity(what, " of the best version")),
    };
    value.ok_or_else(|| FigureError::missing("the best version", what))
}

/// The yardstick's fastest version on a system.
fn fastest_cuda(archive: &Archive, system: &str) -> Found<Racer> {
    let all = comparisons(archive)?;
    let pairs = all.iter().flat_map(Comparison::pairs).filter(|pair| pair.heat.system == system);
    let fastest =
        pairs.map(|pair| pair.other).min_by(|a, b| a.times.median.total_cmp(&b.times.median));
    let none = || FigureError::missing("the archive", format!("comparison on {system}"));
    fastest.cloned().ok_or_else(none)
}

/// The best version beside the yardstick's v8 on a system.
fn best_heat(archive: &Archive, system: &str) -> Found<Heat> {
    let all = comparisons(archive)?;
    let found = all.iter().flat_map(Comparison::best).find(|pair| pair.heat.system == system);
    let of = format!("comparison of the best version on {system}");
    let none = || FigureError::missing("the archive", of);
    Ok(found.ok_or_else(none)?.heat.clone())
}

/// Our times over the yardstick's on a system: geometric mean, least, most.
fn parity(archive: &Archive, system: &str, which: &str) -> Found<f64> {
    let found = ratios(&archive.record("compare", "compare.json")?, system);
    let ratios = found.ok_or_else(|| FigureError::missing("the comparison", system))?;
    Ok(match which {
        "least" => ratios.least,
        "most" => ratios.most,
        _ => ratios.mean,
    })
}

/// The scaling of problems with a system's poles.
fn scaling_of(archive: &Archive, system: &str) -> Found<Scale> {
    let poles = if system == "si214-complex" { "complex" } else { "real" };
    archive.record("scaling", &format!("scaling-{poles}.json"))
}

/// Terms a second at a number of energies over those at another, in percent.
fn energies_over(archive: &Archive, system: &str, few: &str, more: &str) -> Found<f64> {
    let found = scaling_of(archive, system)?;
    let rate = |nw: &str| {
        let mut points = found.points.iter().filter(|point| point.line == Line::Nw);
        let at = points.find(|point| point.nw.to_string() == nw).map(Point::terms_per_s);
        at.ok_or_else(|| FigureError::missing("the scaling", format!("{nw} energies")))
    };
    Ok(100.0 * rate(few)? / rate(more)?)
}

/// Least efficiency along a line of the scaling, in percent.
fn scaling(archive: &Archive, system: &str, line: &str) -> Found<f64> {
    let least = least(&scaling_of(archive, system)?, line).map(|efficiency| 100.0 * efficiency);
    least.ok_or_else(|| FigureError::missing("the scaling", format!("line {line}")))
}
