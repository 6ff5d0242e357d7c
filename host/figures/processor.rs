//! What a processor takes: a folder with runs of some systems and at some numbers of energies, and a comparison.

use std::collections::BTreeMap;

use super::archive::Archive;
use super::quantities::text;
use super::{energies, tables};
use crate::analysis::comparison::rated;
use crate::analysis::sigma::Sigma;
use crate::error::FigureError;
use crate::record::ceilings::Ceilings;
use crate::record::comparison::{Comparison, Heat, Racer};
use crate::record::run::{Measurement, Run};
use crate::render::chart::sigma::svg;
use crate::render::table::or_dash;

type Found<T> = std::result::Result<T, FigureError>;

/// The record's name.
pub const NAME: &str = "processor";

/// The versions that many energies are told of: that which has moments, and that which has terms.
const MOMENTS: &str = "sigma:cells";
const TERMS: &str = "cpu:paired";

/// Folders of runs of versions, with what a table says of them.
pub const RUNS: [(&str, &str); 3] =
    [("demo", "real poles"), ("demo-avx2", "real poles, AVX2"), ("demo-complex", "complex poles")];

/// Folders of runs at several numbers of energies, of si214, si214-complex and demo-complex.
pub const ENERGIES: [&str; 3] = ["energies", "energies-complex", "energies-demo-complex"];

/// The run in `FOLDER/run.json`.
///
/// # Errors
/// What is wrong with the file.
pub fn run(archive: &Archive, folder: &str) -> Found<Run> {
    archive.record(NAME, &format!("{folder}/run.json"))
}

/// The comparison with Fortran.
///
/// # Errors
/// What is wrong with the file.
pub fn comparison(archive: &Archive) -> Found<Comparison> {
    Ok(rated(&archive.record(NAME, "race.json")?))
}

fn ceilings(archive: &Archive) -> Found<Ceilings> {
    archive.record(NAME, "demo/ceilings.json")
}

fn seconds(run: &Run, version: &str) -> Found<f64> {
    let none = || FigureError::missing("the processor's run", format!("{version} that passed"));
    Ok(run.passed_result(version).ok_or_else(none)?.times.median)
}

fn terms(run: &Run) -> f64 {
    let of = &run.system;
    of.nbands as f64 * of.ngpown as f64 * of.ncouls as f64 * of.nw() as f64
}

/// A figure: the time of a version on si214 in `s`, `at` a number of energies, in `ns` a term, or in vector `operations`
/// a term; a `ceiling`; how much faster
/// cpu:paired is than the fastest Fortran on a system, `over-fortran`; or how many times as long as two energies 501
/// take in a folder, each by the fastest version there, `over-two`.
///
/// # Errors
/// What there is none of.
pub fn figure(archive: &Archive, name: &str) -> Found<String> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let run = run(archive, "si214");
    match words[..] {
        ["s", version] => Ok(text("cpu-time", seconds(&run?, version)?, None)),
        ["ns", version] => {
            let run = run?;
            Ok(text("term", 1e9 * seconds(&run, version)? / terms(&run), None))
        }
        // A vector has eight numbers, and a fused operation is two.
        ["operations", version] => {
            let run = run?;
            let of_a_term = seconds(&run, version)? / terms(&run);
            Ok(text("ratio", of_a_term * ceilings(archive)?.fp64 / 16.0, None))
        }
        ["ceiling", of] => {
            let found = ceilings(archive)?;
            let by_level = found.fp64_by_level.unwrap_or_default();
            let rates = [("memory", found.hbm), ("l2", found.l2), ("l1", found.l1)];
            let rate = rates.into_iter().find(|(name, _)| *name == of).map(|(_, rate)| rate);
            let none = || FigureError::missing("the ceilings", of);
            let rate = rate.or(by_level.get(of).copied()).ok_or_else(none)?;
            Ok(text("ceiling", 1e-9 * rate, None))
        }
        ["over-fortran", system] => {
            let found = comparison(archive)?;
            let ours = racer(&found, system, TERMS).and_then(|(_, one)| one.over_yardstick);
            let none = || FigureError::missing("the comparison", format!("{TERMS} on {system}"));
            Ok(text("ratio", ours.ok_or_else(none)?, None))
        }
        ["at", nw, version] => {
            let none = || FigureError::missing("the processor's energies", nw);
            let runs = runs(archive, "energies")?;
            let run = nw.parse().ok().and_then(|nw: usize| runs.get(&nw)).ok_or_else(none)?;
            Ok(text("cpu-time", seconds(run, version)?, None))
        }
        ["over-two", folder] => {
            let runs = runs(archive, folder)?;
            let fastest = |nw: usize| {
                let passed = runs.get(&nw).into_iter().flat_map(|run| &run.results);
                let times = passed.filter(|one| one.passed()).map(|one| one.times.median);
                let none = || FigureError::missing(folder, format!("{nw} energies"));
                times.min_by(f64::total_cmp).ok_or_else(none)
            };
            Ok(text("intensity", fastest(501)? / fastest(2)?, None))
        }
        _ => Err(FigureError::Unknown("figure")),
    }
}

/// A table: `versions`, `fortran` or `energies`.
///
/// # Errors
/// What there is none of.
pub fn table(archive: &Archive, name: &str) -> Found<String> {
    match name.trim() {
        "versions" => versions(archive),
        "fortran" => beside_fortran(archive),
        "energies" => by_number(archive),
        _ => Err(FigureError::Unknown("table")),
    }
}

/// Σ(ω) of si214 at 501 energies, drawn.
///
/// # Errors
/// What there is none of.
pub fn picture(archive: &Archive) -> Found<String> {
    let runs = runs(archive, "energies")?;
    let run = runs.get(&501).ok_or_else(|| FigureError::missing(NAME, "501 energies"))?;
    let sigma = Sigma::of(run, None).map_err(|error| FigureError::Record(error.to_string()))?;
    Ok(svg(&sigma))
}

/// The runs in a folder by their number of energies.
///
/// # Errors
/// As [`energies::runs`].
pub fn runs(archive: &Archive, folder: &str) -> Found<BTreeMap<usize, Run>> {
    energies::runs_in(&archive.path(NAME).with_file_name(folder))
}

/// Each version's time of a term.
fn versions(archive: &Archive) -> Found<String> {
    let runs: Vec<Run> = RUNS.iter().map(|(name, _)| run(archive, name)).collect::<Found<_>>()?;
    let first = &runs[0].results;
    let ns = |run: &Run, id: &str| Ok(1e9 * seconds(run, id)? / terms(run));
    let row = |id: &str| -> Found<Vec<String>> {
        let all: Vec<f64> = runs.iter().map(|run| ns(run, id)).collect::<Found<_>>()?;
        let over = ns(&runs[0], &first[0].version)? / all[0];
        let mut cells = vec![id.to_string()];
        cells.extend(all.iter().map(|ns| text("ratio", *ns, None)));
        cells.insert(2, text("intensity", over, None));
        Ok(cells)
    };
    let rows: Vec<_> = first.iter().map(|one| row(&one.version)).collect::<Found<_>>()?;
    let over = first.first().map_or(String::new(), |one| format!("over {}", one.version));
    Ok(tables::markdown(&["version", RUNS[0].1, &over, RUNS[1].1, RUNS[2].1], rows))
}

/// Who ran on a system.
fn racer<'f>(found: &'f Comparison, system: &str, name: &str) -> Option<(&'f Heat, &'f Racer)> {
    found.racers().find(|(heat, one)| heat.system == system && one.name == name)
}

/// Builds of the yardstick and a version in turn.
fn beside_fortran(archive: &Archive) -> Found<String> {
    let found = comparison(archive)?;
    let of = |system: &str, name: &str| {
        let found = racer(&found, system, name);
        let ratio = |value: Option<f64>| or_dash(value.map(|value| text("ratio", value, None)));
        let ns = found.and_then(|(heat, one)| heat.ns_per_term(one));
        [ratio(ns), ratio(found.and_then(|(_, one)| one.over_yardstick))]
    };
    let systems = ["demo", "demo-complex"];
    let first = found.racers().filter(|(heat, _)| heat.system == systems[0]);
    let names = first.map(|(_, one)| &one.name);
    let rows = names.map(|name| {
        let cells = systems.into_iter().flat_map(|system| of(system, name));
        [name.clone()].into_iter().chain(cells).collect()
    });
    let over = "over the fastest Fortran";
    let headings = ["build or version", "demo [ns a term]", over, "demo-complex [ns a term]", over];
    Ok(tables::markdown(&headings, rows))
}

/// Times by the number of energies, on si214.
fn by_number(archive: &Archive) -> Found<String> {
    let runs = runs(archive, "energies")?;
    let two = runs.get(&2).ok_or_else(|| FigureError::missing(NAME, "two energies"))?;
    let unit = seconds(two, TERMS)?;
    let row = |(nw, run): (&usize, &Run)| {
        let [terms, moments] = [TERMS, MOMENTS].map(|version| run.passed_result(version));
        let s = |one: &Measurement| text("cpu-time", one.times.median, None);
        let error = moments.and_then(|one| one.verification.max_rel_error);
        vec![
            nw.to_string(),
            or_dash(terms.map(s)),
            or_dash(moments.map(s)),
            or_dash(moments.map(|one| text("intensity", one.times.median / unit, None))),
            or_dash(error.map(|error| text("error", error, None))),
            or_dash(moments.and_then(|one| tables::compared_with(&one.verification))),
        ]
    };
    let headings = [
        "energies",
        &format!("{TERMS} [s]"),
        &format!("{MOMENTS} [s]"),
        &format!("over {TERMS} at two"),
        "largest error",
        "compared with",
    ];
    Ok(tables::markdown(&headings, runs.iter().map(row)))
}
