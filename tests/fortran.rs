//! The yardstick in Fortran against the references of the kernels, and the comparison with it end to
//! end. Reported as ignored where there is no gfortran; with GPP_REQUIRE_GFORTRAN set, that is a failure.

mod common;

use std::path::Path;

use assert_cmd::Command;
use common::families::{FAMILIES, family};
use common::{FIXTURES, HARD, QUIET, assorted, fixture, hard_path, make};
use gpp::devices::fortran::{BUILDS, Loaded, TALK, Yardstick};
use gpp::engine::total;
use gpp::problem::{Problem, file, synthesis, systems};
use gpp::record::comparison::{Comparison, Side};
use gpp::record::{parse, text};
use gpp::reference::{self, verify::Outcome, verify::verify};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let found = std::process::Command::new("gfortran").arg("--version").output();
    let missing = found.is_err() && std::env::var_os("GPP_REQUIRE_GFORTRAN").is_none();
    if missing {
        println!("skipped on this machine: no gfortran");
    }
    let trials = vec![
        Trial::test("every build sums what the kernels sum", every_build),
        Trial::test("builds without -ffast-math sum hard inputs", hard_inputs),
        Trial::test("gpp compare --device cpu", compared),
    ];
    let trials = trials.into_iter().map(|trial| trial.with_ignored_flag(missing)).collect();
    libtest_mimic::run(&arguments, trials).exit();
}

/// What is wrong with the sums of a build.
fn failure(loaded: &mut Loaded, problem: &Problem, threads: usize) -> Option<String> {
    let name = loaded.build.name();
    let reference = reference::of(problem, QUIET).unwrap().expect("small problems have one");
    let sums = total::of([&loaded.place(problem).unwrap().sum(threads)], problem.nw());
    let found = verify(problem, &problem.start().plus(&sums), Some(&reference)).unwrap();
    let (error, tolerance, worst) = (found.max_rel_error, found.tolerance, found.worst);
    (found.outcome != Outcome::Passed)
        .then(|| format!("{name}, {}: {error:?} of {tolerance:e}, {worst:?}", problem.name()))
}

fn report(failures: Vec<String>) -> Result<(), Failed> {
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn every_build() -> Result<(), Failed> {
    let mut yardstick = Yardstick::compile(Path::new("gfortran"))?;
    assert_eq!(yardstick.builds.len(), BUILDS.len());
    assert!(yardstick.compiler.contains("GNU Fortran"), "{}", yardstick.compiler);
    let mut problems: Vec<Problem> = FIXTURES.into_iter().map(fixture).collect();
    problems.extend(assorted().into_iter().map(make));
    for name in ["tiny", "tiny-complex", "demo"] {
        problems.push(synthesis::synthesise(systems::find(name)?, 11, QUIET)?);
    }
    let mut failures = Vec::new();
    for loaded in &mut yardstick.builds {
        for problem in &problems {
            failures.extend((1..=3).filter_map(|threads| failure(loaded, problem, threads)));
        }
    }
    report(failures)
}

/// Whether the square of `sexcut` is no number: the talk's loops take no ssx to be above it then, not even
/// an infinite one.
fn squares_overflow(problem: &Problem) -> bool {
    problem.limits().sexcut.powi(2).is_infinite()
}

fn hard_inputs() -> Result<(), Failed> {
    let mut yardstick = Yardstick::compile(Path::new("gfortran"))?;
    let mut problems: Vec<Problem> = Vec::new();
    for name in HARD {
        problems.push(file::read(&hard_path(name), QUIET)?);
    }
    problems.extend(FAMILIES.into_iter().flat_map(|kind| (0..4).map(move |s| family(kind, s))));
    let mut failures = Vec::new();
    let exact = |loaded: &&mut Loaded| loaded.build.flag != Some("-ffast-math");
    for loaded in yardstick.builds.iter_mut().filter(exact) {
        let is_talk = loaded.build.loops.id == TALK.id;
        for problem in problems.iter().filter(|problem| !(is_talk && squares_overflow(problem))) {
            failures.extend(failure(loaded, problem, 2));
        }
    }
    report(failures)
}

fn compared() -> Result<(), Failed> {
    let arguments =
        ["compare", "--device", "cpu", "--system", "tiny", "--repeat", "2", "--version", "v13,v3"];
    let gpp = || Command::cargo_bin("gpp").unwrap();
    let output = gpp().args(arguments).args(["--json", "-"]).assert().success();
    let json = String::from_utf8(output.get_output().stdout.clone())?;
    let found: Comparison = parse(&json, Path::new("race.json"))?;
    assert_eq!(text(&found), json.trim_end());
    assert!(found.head.complete && found.passed());
    let [heat] = &found.heats[..] else { return Err("one heat a system".into()) };
    assert_eq!(heat.racers.len(), BUILDS.len() + 2);
    assert_eq!(found.racers().count(), heat.racers.len());
    let builds = heat.racers.iter().filter(|racer| racer.side == Side::Fortran);
    let ratios: Vec<f64> = builds.map(|racer| racer.over_yardstick.unwrap()).collect();
    assert_eq!(ratios.iter().copied().fold(0.0, f64::max), 1.0);
    for racer in &heat.racers {
        assert_eq!(racer.times.samples.len(), 2);
        let ns = racer.times.median * 1e9 / heat.terms.unwrap() as f64;
        assert_eq!(heat.ns_per_term(racer), Some(ns), "{}", racer.name);
    }
    let output = gpp().args(arguments).assert().success();
    let shown = String::from_utf8(output.get_output().stdout.clone())?;
    for part in ["talk -ffast-math", "ns/term", "v13", "GNU Fortran", "passed"] {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
    Ok(())
}
