//! Tables by name, as Markdown.

use super::archive::{Archive, System};
use super::quantities::{self, of_version, text};
use crate::analysis::table1;
use crate::catalogue::{self, order};
use crate::error::FigureError;
use crate::render::table::or_dash;

type Found<T> = std::result::Result<T, FigureError>;

/// A table: `versions`, `profiles @SYSTEM V,V-,…` (`v8-` is v8 and all after it) or `clock`.
///
/// # Errors
/// What it lacks.
pub fn table(archive: &Archive, name: &str) -> Found<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    match words[..] {
        ["versions"] => Ok(versions(archive.system("si214")?)),
        ["profiles", system, chosen] if system.starts_with('@') => {
            profiles(archive, &system[1..], chosen)
        }
        ["clock"] => clock(archive),
        _ => Err(FigureError::Unknown("table")),
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

/// Every version of the paper and past it beside the paper's figures, with links to the sources.
fn versions(system: &System) -> String {
    let mut rows = Vec::new();
    let mut rated = table1::rows(&system.run);
    rated.retain(|row| row.journey == "paper");
    let baseline = rated.first().map_or("", |row| &row.baseline);
    let over = format!("over {baseline}");
    for row in &rated {
        let id = &row.version;
        let change = catalogue::find(id).map(|listed| listed.version.change);
        let ratio = |ratio: Option<f64>| or_dash(ratio.map(|ratio| format!("{ratio:.2}")));
        rows.push(vec![
            format!("[{id}](kernels/src/versions/{id}.rs)"),
            change.unwrap_or("").to_string(),
            text("time", row.time_s * 1e3, None),
            ratio(row.over_baseline),
            or_dash(system.cycles.get(id).map(|cycles| text("cycles", cycles / 1e6, None))),
            or_dash(row.paper_time_s.map(|time| format!("{time:.3}"))),
            ratio(row.paper_over_baseline),
        ]);
    }
    let headings = [
        "version",
        "what it changes",
        "H200, si214 [ms]",
        &over,
        "cycles [10⁶]",
        "V100, paper [s]",
        &over,
    ];
    markdown(&headings, rows)
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

/// Versions by a list of ids, `v8-` standing for v8 and all that are told after it.
fn versions_of(chosen: &str) -> Found<Vec<&'static str>> {
    let mut found = Vec::new();
    for word in chosen.split(',') {
        let id = word.trim_end_matches('-');
        let none = || FigureError::NoName { what: "version", name: id.into(), of: "" };
        let told = order::story(id).map_or(Vec::new(), |story| order::told(story.id));
        let first = told.iter().position(|own| *own == id).ok_or_else(none)?;
        let last = if word.ends_with('-') { told.len() } else { first + 1 };
        found.extend(&told[first..last]);
    }
    Ok(found)
}

/// Clock, power and energy of sustained runs.
fn clock(archive: &Archive) -> Found<String> {
    let run = &archive.system("si214")?.run;
    let passed = run.results.iter().filter(|result| result.passed());
    let mut rows: Vec<_> = passed.filter_map(quantities::seen).collect();
    if rows.is_empty() {
        rows = quantities::clock(archive)?.versions;
    }
    let rows = rows.into_iter().map(|row| {
        let time = format!("{:.1}", row.time_ms);
        let [mhz, watts] = [row.sm_mhz, row.power_w].map(|value| format!("{value:.0}"));
        let joules = text("joules", row.energy_j, None);
        vec![row.version, time, mhz, watts, joules, row.throttle]
    });
    let headings =
        ["version", "time [ms]", "SM clock [MHz]", "power [W]", "energy [J]", "held back by"];
    Ok(markdown(&headings, rows))
}
