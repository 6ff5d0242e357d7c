//! The files of `data/fixtures/hard` and generated families, against references of more than double precision.

use gpp::catalogue::{self, Version};
use gpp::problem::synthesis::Synthesis;
use gpp::problem::{Slabs, Source as _, Sums, System, input_file};
use gpp::reference::{self, Reference, ReferenceSource, Terms, evaluate};
use gpp::reference::{Outcome, RelativeTo, verify};
use num_complex::Complex64;

use crate::common::families::{FAMILIES, family};
use crate::common::{EnergyGrid, Kind, QUIET, REFUSED, fixture, fixture_path, hard, made, remade};
use crate::{assert_passes, check, failures_of, referenced};

#[test]
fn files_pass_by_their_own_sums_and_by_evaluated_ones() {
    for name in hard() {
        let mut problem = fixture(&name);
        let stored = problem.stored.clone().expect("quadruple precision");
        assert_passes(&problem, &referenced(&problem));
        problem.stored = None;
        let evaluated = referenced(&problem);
        assert_eq!(evaluated.source, ReferenceSource::Serial, "{name}");
        assert_passes(&problem, &evaluated);
        // The evaluation finds what an independent program found in quadruple precision.
        let scale = evaluated.scale.as_ref().unwrap();
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
fn what_means_nothing_is_refused_by_name() {
    for (name, parts) in REFUSED.into_iter().zip([
        &["ω(iw) − e(n) is -1e155 eV at (2,2)", "at most 1e150"][..],
        &["record 11: sexcut is -4.0; it must be finite and not negative"],
        &["wtilde_array(ig,igp) is ", "at most 1e75"],
    ]) {
        let path = fixture_path(name);
        let error = input_file::read(&path, QUIET).unwrap_err();
        assert_eq!(gpp::output::exit_code(&error), 2);
        let text = error.to_string();
        assert!(text.contains(&path.display().to_string()), "{text}");
        for part in parts {
            assert!(text.contains(part), "{name}: `{part}` is not in: {text}");
        }
    }
}

#[test]
fn wrong_sums_of_hard_files_do_not_pass() {
    for name in hard() {
        let mut problem = fixture(&name);
        let stored = referenced(&problem);
        problem.stored = None;
        let evaluated = referenced(&problem);
        let scale = evaluated.scale.as_ref().unwrap();
        let tolerance = verify(&problem, &evaluated.sums, Some(&evaluated)).unwrap().tolerance;
        for reference in [&stored, &evaluated] {
            let right = verify(&problem, &reference.sums, Some(reference)).unwrap();
            assert_eq!(right.outcome, Outcome::Passed, "{name}");
            for (e, part) in (0..problem.nw()).flat_map(|e| [(e, 0), (e, 1)]) {
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

#[test]
fn families_pass() {
    let seeds: u64 = std::env::var("GPP_SEEDS").map_or(40, |n| n.parse().unwrap());
    let mut failed = Vec::new();
    for kind in FAMILIES {
        for seed in 0..seeds {
            let problem = family(kind, seed);
            let reference = referenced(&problem);
            let is_finite = |(_, z): (String, Complex64)| z.re.is_finite() && z.im.is_finite();
            assert!(reference.sums.named(1).all(is_finite), "{}", problem.name());
            let found = verify(&problem, &reference.sums, Some(&reference)).unwrap();
            assert_eq!(found.relative_to, RelativeTo::Terms);
            let failures = failures_of(catalogue::versions(), &problem, &reference);
            if !failures.is_empty() {
                failed.push(format!("{}:\n{}", problem.name(), failures.join("\n")));
            }
        }
    }
    assert!(failed.is_empty(), "{}:\n{}", failed.len(), failed.join("\n"));
}

/// Nothing is near or cut off, whatever the poles.
#[test]
fn families_pass_by_the_time_ordered_formula() {
    for kind in FAMILIES {
        for (seed, eta) in (0..).zip([0.0, 1e-6, 0.1, 1.0, 0.0, 1e-3, 0.0]) {
            check(&remade(&family(kind, seed), |header, _| header.eta = Some(eta)));
        }
    }
}

/// Versions that have a window, with the families' poles on the real axis.
#[test]
fn families_pass_with_a_window() {
    for kind in FAMILIES {
        for (seed, window) in (0..).zip([1e-6, 0.1, 1.0, 30.0, 1e-3, 1e-12, 0.5]) {
            let made = family(kind, seed);
            let problem = remade(&made, |header, matrices| {
                (header.eta, header.window) = (Some(0.0), window);
                matrices.wtilde.iter_mut().for_each(|pole| *pole = pole.re.into());
                // With a window w = −ω̃ is no pole, wherever ω̃ is.
                matrices.wtilde[0] = (-made.wx()[0].clamp(-1e3, 1e3)).into();
            });
            let has_window = |version: &Version| version.require_for(problem.outline()).is_ok();
            let versions: Vec<_> = catalogue::versions().filter(has_window).collect();
            assert_eq!(versions.iter().map(|v| v.id()).collect::<Vec<_>>(), ["v15", "cpu:alone"]);
            let failures = failures_of(versions.into_iter(), &problem, &referenced(&problem));
            assert!(failures.is_empty(), "{}, {window}: {failures:?}", problem.name());
        }
    }
}

/// All terms are below the smallest normal number, and what rounding takes of them does not shrink with them.
#[test]
fn subnormal_terms_pass_and_others_than_these_do_not() {
    let problem = fixture("subnormal-terms");
    let reference = referenced(&problem);
    assert_passes(&problem, &reference);
    let right = evaluate(&problem, QUIET).unwrap();
    for (e, [asx, ach]) in right.scale.magnitudes.into_iter().enumerate() {
        // Four terms, of factors up to some ten.
        assert!(asx.max(ach) < 1e-305, "{asx:e} {ach:e}");
        for wrong in [1e-314, 1e-300, f64::NAN] {
            let mut sums = reference.sums.clone();
            sums.ach[e].re += wrong;
            let outcome = verify(&problem, &sums, Some(&reference)).unwrap().outcome;
            assert_eq!(outcome, Outcome::Incorrect, "{wrong:e} at {e}");
        }
    }
}

/// Another version's sums are no larger than the rounding of their terms: what differs is held against these.
#[test]
fn sums_that_cancel_pass_beside_a_versions_own() {
    // Two bands that are but for the last few digits each other's opposite.
    let problem = remade(&made([2, 7, 300, 3], Kind::Real, 3), |header, of| {
        (header.wfnkq_ekq, header.nvband, header.efermi) = (vec![1.0; 2], 2, 1.0);
        let (one, other) = of.aqsn.split_at_mut(300);
        other.iter_mut().zip(one).for_each(|(other, one)| *other = *one * -(1.0 + 1e-12));
        of.aqsm_local.copy_within(..7, 7);
    });
    let whole = reference::evaluate(&problem, QUIET).unwrap();
    let part = |all: &[Complex64]| vec![all[0], all[2]];
    let of_two = Sums { asx: part(&whole.sums.asx), ach: part(&whole.sums.ach) };
    let of_device = || Reference::at(&[0, 2], &problem, &of_two, ReferenceSource::Device, QUIET);
    assert_passes(&problem, &of_device());
    let found = verify(&problem, &problem.start().plus(&whole.sums), Some(&of_device())).unwrap();
    assert_eq!((found.outcome, found.relative_to), (Outcome::Passed, RelativeTo::Sum));
    for (e, is_compared) in [(0, true), (1, false), (2, true)] {
        let [asx, ach] = whole.scale.magnitudes[e];
        assert!(whole.sums.asx[e].norm() < 1e-11 * asx && whole.sums.ach[e].norm() < 1e-11 * ach);
        let off = |part: f64| {
            let mut sums = problem.start().plus(&whole.sums);
            sums.ach[e].im += part * ach;
            verify(&problem, &sums, Some(&of_device())).unwrap()
        };
        let (small, large) = (off(1e-15), off(1e-12));
        assert_eq!(small.outcome, Outcome::Passed, "{e}");
        assert_eq!(large.outcome == Outcome::Incorrect, is_compared, "{e}");
        if is_compared {
            assert_eq!([small.relative_to, large.relative_to], [RelativeTo::Terms; 2]);
        }
    }
}

/// Of more terms than are worth the time those of some igp are added: never more than all.
#[test]
fn sizes_of_some_terms_are_less_than_those_of_all() {
    let problem = made([5, 23, 37, 3], Kind::Mixed, 4);
    let of = |terms: Terms| evaluate(terms, QUIET).unwrap().scale.magnitudes;
    let all = Terms::from(&problem);
    let whole = of(all.clone());
    for most in [1, 555, 4000] {
        let some = all.clone().at_most(most);
        assert!(some.igp() == 1 || some.count() <= most, "{} of {most}", some.count());
        for slabs in [Slabs::from(&problem), Slabs::new(&problem, 3)] {
            let some = of(Terms::from(slabs).at_most(most));
            let parts = some.as_flattened().iter().zip(whole.as_flattened());
            assert!(parts.into_iter().all(|(some, all)| 0.0 < *some && some < all), "{most}");
        }
    }
}

#[test]
fn of_many_energies_some_are_evaluated() {
    let energies = |system: &str, count: usize| {
        let system = System::find(system).unwrap();
        let mut made = Synthesis::new(system, 214, QUIET);
        let header = EnergyGrid::Count(count).apply_to(made.header());
        made.set_header(header);
        reference::evaluated(&made.load().unwrap()).map(|terms| terms.energies().to_vec())
    };
    assert_eq!(energies("tiny", 501), Some((0..501).collect()));
    let some = energies("demo", 501).unwrap();
    assert_eq!((some.len(), some[0], some[some.len() - 1]), (16, 0, 500));
    assert!(some.is_sorted_by(|a, b| b - a == 33 || b - a == 34), "{some:?}");
}
