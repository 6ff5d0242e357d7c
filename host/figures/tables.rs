//! Tables by name, as Markdown.

use gpp_kernels::kernel::Gpu;
use gpp_kernels::versions::ALL;

use super::archive::{Archive, System};
use super::quantities::{of_version, text};
use crate::analysis::table1;
use crate::render::table::or_dash;

type Found<T> = std::result::Result<T, String>;

/// A table: `versions`, `profiles @SYSTEM V,V-,…` (`v8-` is v8 and all after it) or `clock`.
///
/// # Errors
/// What it lacks.
pub fn table(archive: &Archive, name: &str) -> Found<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    match words[..] {
        ["versions"] => versions(archive.system("si214")?),
        ["profiles", system, chosen] if system.starts_with('@') => {
            profiles(archive, &system[1..], chosen)
        }
        ["clock"] => clock(archive),
        _ => Err("no such table".into()),
    }
}

/// Rows under headings, the first columns to the left.
fn markdown(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let headings: Vec<String> = headings.iter().map(ToString::to_string).collect();
    let rule = vec!["---".to_string(); headings.len()];
    let rows: String = rows.into_iter().map(|row| line(&row)).collect();
    line(&headings) + &line(&rule) + &rows
}

/// Every version beside the paper, with links to the sources.
fn versions(system: &System) -> Found<String> {
    let mut rows = Vec::new();
    for row in table1::rows(&system.run)? {
        let id = &row.version;
        let change = ALL.iter().find(|version| version.id() == id).map(|v| v.version.change);
        let ratio = |ratio: Option<f64>| or_dash(ratio.map(|ratio| format!("{ratio:.2}")));
        rows.push(vec![
            format!("[{id}](kernels/src/versions/{id}.rs)"),
            change.unwrap_or("").to_string(),
            text("time", row.time_s * 1e3, None),
            ratio(row.over_v0),
            or_dash(system.cycles.get(id).map(|cycles| text("cycles", cycles / 1e6, None))),
            or_dash(row.paper_time_s.map(|time| format!("{time:.3}"))),
            ratio(row.paper_over_v0),
        ]);
    }
    let headings = [
        "version",
        "what it changes",
        "H200, si214 [ms]",
        "over v0",
        "cycles [10⁶]",
        "V100, paper [s]",
        "over v0",
    ];
    Ok(markdown(&headings, rows))
}

/// What the profiles say of the chosen versions.
fn profiles(archive: &Archive, system: &str, chosen: &str) -> Found<String> {
    let mut rows = Vec::new();
    for id in versions_of(chosen)? {
        let profile = archive.system(system)?.profile(id)?;
        let cell = |what: &str| -> Found<String> {
            Ok(text(what, of_version(archive, system, what, id)?, None))
        };
        let stall = profile.main_stall().map(|(why, share)| {
            let why = why.replace('_', " ");
            format!("{why} {:.0} %", share * 100.0)
        });
        rows.push(vec![
            id.to_string(),
            cell("time")?,
            cell("cycles")?,
            cell("flop")?,
            cell("tflops")?,
            format!("{} %", cell("pipe")?),
            cell("intensity")?,
            cell("hbm")?,
            or_dash(stall),
        ]);
    }
    let headings = [
        system,
        "time [ms]",
        "cycles [10⁶]",
        "FLOP/term",
        "TFLOP/s",
        "FP64 pipe busy",
        "FLOP/byte HBM",
        "HBM [GB]",
        "warps wait for",
    ];
    Ok(markdown(&headings, rows))
}

/// Versions by a list of ids, `v8-` standing for v8 and all after it.
fn versions_of(chosen: &str) -> Found<Vec<&'static str>> {
    let place = |id: &str| ALL.iter().position(|version| version.id() == id);
    let mut found = Vec::new();
    for word in chosen.split(',') {
        let id = word.trim_end_matches('-');
        let first = place(id).ok_or_else(|| format!("no version `{id}`"))?;
        let last = if word.ends_with('-') { ALL.len() } else { first + 1 };
        found.extend(ALL[first..last].iter().map(|version: &&Gpu| version.id()));
    }
    Ok(found)
}

/// Clock, power and energy of sustained runs.
fn clock(archive: &Archive) -> Found<String> {
    let record = archive.json("clock", "clock.json")?;
    let rows = record["versions"].as_array().ok_or("the clock's record has no versions")?;
    let rows = rows.iter().map(|row| {
        let fields = ["version", "time_ms", "sm_mhz", "power_w", "energy_j", "throttle"];
        let cell = |field: &str| row[field].as_str().map_or(row[field].to_string(), Into::into);
        fields.map(cell).to_vec()
    });
    let headings =
        ["version", "time [ms]", "SM clock [MHz]", "power [W]", "energy [J]", "held back by"];
    Ok(markdown(&headings, rows))
}
