//! Inputs at the edges: the files of `data/fixtures/hard` and generated families, every version on the
//! host against references of more than double precision.

mod common;

use std::fs;

use common::families::{FAMILIES, family};
use common::{HARD, QUIET, hard_path, repository};
use gpp::catalogue;
use gpp::devices::host::Host;
use gpp::engine::Engine;
use gpp::experiments::measure::same_bits;
use gpp::problem::{Problem, file};
use gpp::reference::verify::{Outcome, RelativeTo, verify};
use gpp::reference::{self, Reference, Source};
use num_complex::Complex64;

/// What is wrong with any version on a problem, by its reference.
fn failures(problem: &Problem, reference: &Reference) -> Vec<String> {
    let device = Host::new();
    let mut engine = Engine::whole(&device, problem).unwrap();
    let mut all = Vec::new();
    for version in catalogue::versions() {
        let sums = engine.run(version.kernel).unwrap().sums;
        let again = engine.run(version.kernel).unwrap().sums;
        assert!(same_bits(&sums, &again), "{} of {}", version.id(), problem.name());
        let found = verify(problem, &problem.start().plus(&sums), Some(reference)).unwrap();
        if found.outcome != Outcome::Passed {
            let (error, tolerance) = (found.max_rel_error, found.tolerance);
            let worst = found.worst;
            all.push(format!("{} {error:?} of {tolerance:e}, {worst:?}", version.id()));
        }
    }
    all
}

fn assert_passes(problem: &Problem, reference: &Reference) {
    let failures = failures(problem, reference);
    assert!(failures.is_empty(), "{}:\n{}", problem.name(), failures.join("\n"));
}

#[test]
fn files_pass_by_their_own_sums_and_by_evaluated_ones() {
    for name in HARD {
        let problem = file::read(&hard_path(name), QUIET).unwrap();
        let stored = problem.stored().cloned().expect("quadruple precision");
        assert_passes(&problem, &reference::of(&problem, QUIET).unwrap().unwrap());
        let problem = problem.without_stored();
        let evaluated = reference::of(&problem, QUIET).unwrap().unwrap();
        assert_eq!(evaluated.source, Source::Serial, "{name}");
        assert_passes(&problem, &evaluated);
        // The evaluation finds what an independent program found in quadruple precision.
        let scale = evaluated.scale().unwrap();
        let outputs = evaluated.sums.named(1).zip(stored.named(1));
        for (at, ((what, found), (_, expected))) in outputs.enumerate() {
            let (part, e) = (at / problem.nw(), at % problem.nw());
            let error = (found - expected).norm();
            let allowed = 1e-15 * scale.magnitudes[e][part] + scale.undecided[e][part];
            assert!(error <= allowed, "{name}: {what} is {found}, not {expected}");
        }
    }
}

#[test]
fn every_file_is_tested() {
    let mut files: Vec<String> = fs::read_dir(repository("data/fixtures/hard"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "dat"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut known: Vec<&str> =
        HARD.iter().chain(REFUSED.iter().map(|(name, _)| name)).copied().collect();
    known.sort_unstable();
    assert_eq!(files, known);
}

/// Files that no version can sum, and what the error says.
const REFUSED: [(&str, &[&str]); 3] = [
    ("09-v10-v13-w-1e155", &["wx(2,2) is -1e155", "at most 1e150", "wfnkq_ekq"]),
    ("13-negative-sexcut", &["record 11", "sexcut must not be negative, found -4"]),
    ("17-v1-v13-wtilde-1e78", &["wtilde_array(", "at most 1e75"]),
];

#[test]
fn what_means_nothing_is_refused_by_name() {
    for (name, parts) in REFUSED {
        let path = hard_path(name);
        let error = file::read(&path, QUIET).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(text.contains(&path.display().to_string()), "{text}");
        for part in parts {
            assert!(text.contains(part), "{name}: `{part}` is not in: {text}");
        }
    }
}

/// Sums that are off by a few tolerances, or not numbers, pass nowhere.
#[test]
fn wrong_sums_of_hard_files_do_not_pass() {
    for name in HARD {
        let problem = file::read(&hard_path(name), QUIET).unwrap();
        let stored = reference::of(&problem, QUIET).unwrap().unwrap();
        let problem = problem.without_stored();
        let evaluated = reference::of(&problem, QUIET).unwrap().unwrap();
        let scale = evaluated.scale().unwrap();
        let tolerance = verify(&problem, &evaluated.sums, Some(&evaluated)).unwrap().tolerance;
        for reference in [&stored, &evaluated] {
            let right = verify(&problem, &reference.sums, Some(reference)).unwrap();
            assert_eq!(right.outcome, Outcome::Passed, "{name}");
            for e in 0..problem.nw() {
                for part in 0..2 {
                    let off = 4.0 * tolerance.max(right.tolerance) * scale.magnitudes[e][part]
                        + 2.0 * scale.undecided[e][part]
                        + f64::MIN_POSITIVE;
                    for wrong in [off, -off, f64::NAN, f64::INFINITY] {
                        for change in [Complex64::new(wrong, 0.0), Complex64::new(0.0, wrong)] {
                            let mut sums = reference.sums.clone();
                            let outputs = if part == 0 { &mut sums.asx } else { &mut sums.ach };
                            outputs[e] += change;
                            let outcome = verify(&problem, &sums, Some(reference)).unwrap().outcome;
                            assert_eq!(outcome, Outcome::Incorrect, "{name}: {change}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn families_pass() {
    let seeds: u64 = std::env::var("GPP_SEEDS").map_or(40, |n| n.parse().unwrap());
    let mut failed = Vec::new();
    let mut checked = 0;
    for kind in FAMILIES {
        for seed in 0..seeds {
            let problem = family(kind, seed);
            let reference = reference::of(&problem, QUIET).unwrap().unwrap();
            let is_finite = |(_, z): (String, Complex64)| z.re.is_finite() && z.im.is_finite();
            assert!(reference.sums.named(1).all(is_finite), "{}", problem.name());
            assert_eq!(
                verify(&problem, &reference.sums, Some(&reference)).unwrap().relative_to,
                RelativeTo::Terms
            );
            checked += 1;
            let failures = failures(&problem, &reference);
            if !failures.is_empty() {
                failed.push(format!("{}:\n{}", problem.name(), failures.join("\n")));
            }
        }
    }
    assert!(failed.is_empty(), "{} of {checked}:\n{}", failed.len(), failed.join("\n"));
}
