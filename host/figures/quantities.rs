//! Figures by name.
//!
//! `time v13`, `less cycles v3 v4`, `best pipe @si510`: a quantity and what it is of; `@` names the
//! system where it is not si214, `.2` the decimals where they are not the usual ones.

use serde_json::Value;

use super::archive::{Archive, System};
use crate::catalogue::published;

type Found<T> = std::result::Result<T, String>;

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
            decimals = Some(digits.parse().map_err(|_| format!("`{word}` is no decimals"))?);
        } else {
            words.push(word);
        }
    }
    if words == ["scaling", "version"] {
        let version = scaling_of(archive, system)?["version"].clone();
        return version.as_str().map(String::from).ok_or("the scaling names no version".into());
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
        ["scaling", line] => ("%", scaling(archive, system, line)?),
        [what, version] => (what, of(what, version)?),
        _ => return Err("no such figure".into()),
    };
    Ok(text(what, value, decimals))
}

/// A number with the decimals that a quantity usually has.
pub fn text(what: &str, value: f64, decimals: Option<usize>) -> String {
    let usual = match what {
        "error" | "v3-error" => return format!("{value:.1e}"),
        "time" | "cuda-time" if value < 1e3 => 1,
        "flop" | "tflops" | "intensity" => 1,
        "hbm" if value < 1e3 => 1,
        "over-cuda" | "ratio" | "parity" => 2,
        "cycles" if value < 1e2 => 1,
        "mean" => 3,
        _ => 0,
    };
    format!("{value:.*}", decimals.unwrap_or(usual))
}

/// Change in percent. One in the other direction than the text has it is no figure for that text.
fn change(before: f64, now: f64, direction: f64) -> Found<f64> {
    let percent = 100.0 * (now / before - 1.0);
    if percent * direction > 0.0 {
        Ok(percent)
    } else {
        Err(format!("the change is {percent:+.1} %: the text has it the other way round"))
    }
}

/// A quantity of one version.
pub fn of_version(archive: &Archive, system: &str, what: &str, version: &str) -> Found<f64> {
    let archived = archive.system(system)?;
    let number =
        |value: &Value| value.as_f64().ok_or_else(|| format!("no {what} of {version} is archived"));
    match what {
        "time" => time(archived, version),
        "registers" => number(&archived.result(version)?["registers"]),
        "local" => number(&archived.result(version)?["local_bytes"]),
        "error" => number(&archived.result(version)?["verification"]["max_rel_error"]),
        "cycles" => match archived.cycles.get(version) {
            Some(cycles) => Ok(cycles / 1e6),
            None => Err(format!("no cycles of {version} were counted")),
        },
        // What the clock must have been for the cycles to take the time.
        "clock" => {
            let cycles = of_version(archive, system, "cycles", version)?;
            Ok(1e3 * cycles / time(archived, version)?)
        }
        "mhz" => number(&clock(archive, version)?["sm_mhz"]),
        "watts" => number(&clock(archive, version)?["power_w"]),
        "joules" => number(&clock(archive, version)?["energy_j"]),
        "parity" => number(&row(archive, "parity", system, Some(version))?["ratio"]),
        "paper-time" => paper_time(version),
        "between-halves" => Ok(number(&halves(archive, version)?["between_halves"])? / 1e9),
        "flop" | "tflops" | "pipe" | "fused" | "hbm" | "hbm-time" | "l2" | "intensity" => {
            let profile = archived.profile(version)?;
            Ok(match what {
                "flop" => profile.flops() / profile.terms as f64,
                "tflops" => profile.flops() / time(archived, version)? / 1e9,
                "pipe" => return number(&profile.fp64_pipe_percent.into()),
                "fused" => 100.0 * profile.fma_ratio(),
                "hbm" => profile.bytes.hbm / 1e9,
                "hbm-time" => profile.bytes.hbm / archived.ceilings.hbm * 1e3,
                "l2" => profile.bytes.l2 / 1e9,
                _ => profile.flops() / profile.bytes.hbm,
            })
        }
        _ => Err(format!("no quantity `{what}`")),
    }
}

/// Median time of a version in milliseconds.
fn time(system: &System, version: &str) -> Found<f64> {
    let median = system.result(version)?["time_s"]["median"].as_f64();
    Ok(median.ok_or_else(|| format!("{version} has no median time"))? * 1e3)
}

/// The paper's time on si214 in milliseconds.
fn paper_time(version: &str) -> Found<f64> {
    let paper = published::paper();
    let row = paper.iter().find(|row| row.version == version);
    Ok(row.ok_or_else(|| format!("the paper has no {version}"))?.si214_time_s * 1e3)
}

/// What the sustained run of a version showed.
fn clock(archive: &Archive, version: &str) -> Found<Value> {
    of_list(&archive.json("clock", "clock.json")?["versions"], version)
}

/// What L2 moved for a version, and what of it only from one of its halves to the other.
fn halves(archive: &Archive, version: &str) -> Found<Value> {
    of_list(&archive.json("clock", "clock.json")?["l2_bytes"], version)
}

fn of_list(list: &Value, version: &str) -> Found<Value> {
    let row = list.as_array().and_then(|rows| rows.iter().find(|row| row["version"] == version));
    row.cloned().ok_or_else(|| format!("the clock's record has no {version}"))
}

/// Cycles that a warp waits for a reason between two instructions. It is selected in one cycle.
fn stall(system: &System, reason: &str, version: &str) -> Found<f64> {
    let stalls = &system.profile(version)?.stalls;
    let share = |reason| stalls.get(reason).ok_or_else(|| format!("{version} has no {reason}"));
    Ok(share(reason)? / share("selected")?)
}

/// A row of the comparisons with the yardstick.
fn row(archive: &Archive, list: &str, system: &str, version: Option<&str>) -> Found<Value> {
    for record in ["compare", "compare-si510"] {
        let compared = archive.json(record, &format!("{record}.json"))?;
        let rows = compared[list].as_array().ok_or(format!("{record} has no {list}"))?;
        let found = rows
            .iter()
            .find(|row| row["system"] == system && version.is_none_or(|id| row["version"] == id));
        if let Some(row) = found {
            return Ok(row.clone());
        }
    }
    Err(format!("no comparison of {} on {system}", version.unwrap_or("the best version")))
}

/// A figure of the best version beside the yardstick's v8.
fn best(archive: &Archive, system: &str, what: &str) -> Found<f64> {
    let row = row(archive, "best", system, None)?;
    let (field, unit) = match what {
        "over-cuda" => ("cuda_v8_over_best", 1.0),
        "time" => ("best_ms", 1.0),
        "cuda-time" => ("cuda_v8_ms", 1.0),
        "error" => ("best_error", 1.0),
        "v3-error" => ("v3_error", 1.0),
        "pipe" => ("fp64_pipe_percent", 1.0),
        "hbm" => ("hbm_bytes", 1e9),
        _ => return Err(format!("no quantity `{what}` of the best version")),
    };
    row[field].as_f64().map(|value| value / unit).ok_or_else(|| format!("no {field} is archived"))
}

/// Our times over the yardstick's on a system: geometric mean, least, most.
fn parity(archive: &Archive, system: &str, which: &str) -> Found<f64> {
    let compared = archive.json("compare", "compare.json")?;
    let rows = compared["parity"].as_array().ok_or("the comparison has no parity")?;
    let ratios: Vec<f64> = rows
        .iter()
        .filter(|row| row["system"] == system)
        .filter_map(|row| row["ratio"].as_f64())
        .collect();
    if ratios.is_empty() {
        return Err(format!("no comparison on {system}"));
    }
    Ok(match which {
        "least" => ratios.iter().copied().fold(f64::INFINITY, f64::min),
        "most" => ratios.iter().copied().fold(0.0, f64::max),
        _ => f64::exp(ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64),
    })
}

/// The scaling of problems with a system's poles.
fn scaling_of(archive: &Archive, system: &str) -> Found<Value> {
    let poles = if system == "si214-complex" { "complex" } else { "real" };
    archive.json("scaling", &format!("scaling-{poles}.json"))
}

/// Least efficiency along a line of the scaling, in percent.
fn scaling(archive: &Archive, system: &str, line: &str) -> Found<f64> {
    let scaling = scaling_of(archive, system)?;
    let points = scaling["points"].as_array().ok_or("the scaling has no points")?;
    let on_line = points.iter().filter(|point| point["line"] == line);
    let least =
        on_line.filter_map(|p| p["efficiency"].as_f64()).fold(f64::INFINITY, f64::min) * 100.0;
    if least.is_finite() { Ok(least) } else { Err(format!("the scaling has no line {line}")) }
}
