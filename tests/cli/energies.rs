//! Energies other than a problem's own: what is taken, what is refused, and files of them.

use predicates::prelude::*;
use predicates::str::contains;

use gpp::problem::input_file::write;

use crate::common::{QUIET, fixture, fixture_path, place, remade};
use crate::{gpp, json, text};

#[test]
fn a_grid_runs_and_is_recorded() {
    let run = json(&["--system", "tiny", "-v", "v3,v13,cpu:best", "--energies", "-2:3:11"]);
    let system = &run["system"];
    assert_eq!((&system["nstart"], &system["nend"]), (&1.into(), &11.into()));
    let energies = system["energies_ev"].as_array().unwrap();
    assert_eq!((&energies[0], &energies[10]), (&(-2.0).into(), &3.0.into()));
    for result in run["results"].as_array().unwrap() {
        assert_eq!(result["verification"]["outcome"], "passed");
        assert_eq!(result["verification"]["reference"], "serial");
        assert_eq!(result["asx"].as_array().unwrap().len(), 11);
    }
    let four = ["--system", "tiny", "-d", "cpu", "-v", "v13", "--energies", "0:3:4"];
    let shown = contains("4 energies from +0 eV to +3 eV").and(contains("Re SX").not());
    gpp().args(four).assert().success().stdout(shown);
}

/// In files of `finite_difference_form -3`, whose `e_lk` is no state's energy, energies are ω itself.
#[test]
fn without_the_state_s_energy_all_energies_are_omega() {
    let (path, own) = (text(fixture_path("real/gaas-grid")), fixture("real/gaas-grid"));
    let run = json(&["--input", &path, "-v", "cpu:paired"]);
    let first = own.header().e_lk - own.header().sig_dw;
    assert!(run["system"]["state_ev"].is_null());
    assert_eq!(run["system"]["energies_ev"][0], first);
    let sigma = gpp().args(["sigma", "-d", "cpu", "-i", &path]).assert().success();
    sigma.stdout(contains(" ω [eV] ").and(contains("ω − E").not()));
    let at = json(&["--input", &path, "-v", "cpu:paired", &format!("--energies={first}")]);
    assert_eq!(at["system"]["energies_ev"][0], first);
    let [asx, expected] = [&at, &run].map(|run| run["results"][0]["asx"][0][0].as_f64().unwrap());
    assert!((asx / expected - 1.0).abs() < 1e-9, "{asx} {expected}");
}

/// Occupations are counted, not bands up to nvband, and a counted band above the Fermi energy is noted.
#[test]
fn occupations_are_those_of_the_sums() {
    let problem = fixture("edge");
    let count: f64 = problem.occ().iter().sum();
    assert!(count != f64::from(problem.header().nvband));
    let run = |path: &std::path::Path| {
        let run = ["-d", "cpu", "-v", "cpu:simd", "--no-verify", "-i"];
        gpp().args(run).arg(path).assert().success()
    };
    let noted = contains("above efermi").count(1);
    let shown = contains(format!("({count} occupied)"));
    run(&fixture_path("edge")).stdout(shown).stderr(noted.clone().not());
    let (_dir, path) = place("lower.dat");
    let lower = remade(&problem, |header, _| header.efermi = 0.1);
    write(&path, &lower, problem.stored.as_ref().unwrap(), QUIET).unwrap();
    run(&path).stderr(noted.and(contains("above efermi, 0.1 eV, and counts as occupied")));
}

#[test]
fn files_hold_sums_of_their_own_energies() {
    let (_dir, path) = place("tiny.dat");
    gpp().args(["generate", "--system", "tiny", "--output"]).arg(&path).assert().success();
    let run = json(&["--input", &text(path), "-v", "v3,v13,cpu:best"]);
    for result in run["results"].as_array().unwrap() {
        assert_eq!(result["verification"]["outcome"], "passed");
        assert_eq!(result["verification"]["reference"], "file");
    }
    let run = json(&["--input", &text(fixture_path("edge")), "-v", "v3", "--energies", "0:4:5"]);
    assert_eq!(run["results"][0]["verification"]["reference"], "serial");
    assert_eq!(run["results"][0]["verification"]["outcome"], "passed");
}

#[test]
fn without_a_version_energies_are_summed_by_the_best() {
    for (arguments, version) in [
        (&["--energies", "-10:10:64", "-s", "tiny"][..], "sigma:cells"),
        (&["--energies", "-1:1:2", "-s", "demo"], "cpu:paired"),
        (&["--energies", "0:6:7", "-s", "tiny-complex"], "sigma:cells"),
    ] {
        let run = json(arguments);
        let ran = run["results"].as_array().unwrap();
        assert_eq!((ran.len(), &ran[0]["version"]), (1, &version.into()), "{arguments:?}");
        assert_eq!(ran[0]["verification"]["outcome"], "passed");
    }
}
