//! `gpp sigma`: what it prints and writes.

use std::fs;

use gpp::record;
use gpp::record::run::RunRecord;
use gpp::reference::ReferenceSource;
use predicates::prelude::*;
use predicates::str::contains;

use crate::common::{fixture_path, place};
use crate::{gpp, text};

const GRID: [&str; 6] = ["sigma", "--system", "tiny", "--energies=-5:5:11", "--device", "cpu"];

#[test]
fn a_grid_is_printed_written_and_plotted() {
    let dir = tempfile::tempdir().unwrap();
    let [csv, json, svg] = ["s.csv", "s.json", "s.svg"].map(|name| dir.path().join(name));
    let rows = contains("│  -5.000000 ┆").and(contains("│  +5.000000 ┆"));
    let mut command = gpp();
    command.args(GRID).arg("--csv").arg(&csv).arg("--json").arg(&json);
    command.arg("--plot").arg(&svg);
    command.assert().success().stdout(contains("The result agrees").and(rows));
    let run: RunRecord = record::read(&json).unwrap();
    let energies: Vec<f64> = (-5..=5).map(f64::from).collect();
    assert_eq!(run.system.energies_ev, energies);
    let mut written = Vec::new();
    gpp::run::csv(&mut written, &gpp::record::run::Sigma::from_run(&run).unwrap()).unwrap();
    assert_eq!(fs::read(&csv).unwrap(), written);
    let plot = fs::read_to_string(&svg).unwrap();
    // A line for each part of each sum, and one beside its name.
    assert_eq!(["#127CF4", "#C75E00"].map(|color| plot.matches(color).count()), [4; 2]);
    assert!(plot.contains("Σ(ω) [vcoul]") && plot.contains("in units of vcoul"));

    let piped = gpp().args(GRID).args(["--csv", "-"]).assert().success();
    assert_eq!(piped.get_output().stdout, fs::read(&csv).unwrap());
}

#[test]
fn single_precision_tells_its_error() {
    let flags = ["sigma", "--system", "tiny", "--device", "cpu", "--precision", "single"];
    let says = contains("in a sample: error of the sums of 1 of 8 columns");
    gpp().args(flags).arg("--energies=-5:5:11").assert().success().stdout(says);
}

/// Slabs have the broadening that the whole has; golden and stored sums are of another formula.
#[test]
fn the_time_ordered_formula_is_named_and_verified() {
    let with_eta = ["--formula", "time-ordered", "--eta", "0.1"];
    let (_dir, path) = place("run.json");
    let file = text(fixture_path("three-energies"));
    let mut sums = Vec::new();
    for more in [&["-s", "tiny"][..], &["-s", "tiny", "--slab", "3"], &["-i", &file]] {
        let base = ["sigma", "-d", "cpu", "--json"];
        let shown = contains("time-ordered, η 0.1 eV").and(contains("The result agrees"));
        gpp().args(base).arg(&path).args(more).args(with_eta).assert().success().stdout(shown);
        let run: RunRecord = record::read(&path).unwrap();
        assert_eq!(run.system.time_ordered_eta_ev, Some(0.1));
        assert_eq!(run.results[0].verification.reference, Some(ReferenceSource::Serial));
        sums.push(run.results[0].sums.clone());
    }
    assert_eq!(sums[0], sums[1]);
    let shown = contains("time-ordered, window 2 eV").and(contains("The result agrees"));
    let with_window = ["--formula", "time-ordered", "--eta", "0", "--window", "2"];
    let base = ["sigma", "-d", "cpu", "-s", "tiny", "--version", "v15", "--energies", "-30:30:7"];
    gpp().args(base).args(with_window).assert().success().stdout(shown);
    gpp().args(["-s", "tiny", "-d", "cpu"]).args(with_window).assert().success();
    let json = path.to_str().unwrap();
    let offdiag = ["offdiag", "-s", "tiny", "-d", "cpu", "--bands", "3", "--json", json];
    gpp().args(offdiag).args(with_window).assert().success();
    gpp().args(offdiag).args(with_eta).assert().success();
    assert!(fs::read_to_string(json).unwrap().contains(r#""time_ordered_eta_ev": 0.1"#));
}
