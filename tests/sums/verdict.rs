//! What a verdict says beside the outcome: terms that rounding decides, and real parts alone.

use crate::common::matrices::{Given, on_cpu, sample_of_all};
use crate::common::{Matrices, QUIET, fixture, remade};
use crate::reference::one_term;
use crate::{check, referenced, sums};
use gpp::problem::{Problem, Sums};
use gpp::reference::{Outcome, Reference, ReferenceSource, Verification, matrix, verify};
use gpp::summary::reservations;
use gpp_core::offdiag::MatrixTask;
use num_complex::Complex64;

fn evaluated(problem: &Problem) -> Sums {
    crate::precise::precisely(problem).sums
}

fn by_file(problem: &Problem, sums: &Sums, stored: &Sums) -> Verification {
    let reference = Reference::new(stored.clone(), ReferenceSource::File, QUIET);
    verify(problem, sums, Some(&reference)).unwrap()
}

/// A call with energies below those of occupied bands, where `|ssx|` of a static pole is that cutoff times `|eps|`.
fn static_poles(sexcut: f64) -> Problem {
    remade(&fixture("real/gaas-grid"), |header, _| header.sexcut = sexcut)
}

#[test]
fn rounding_decides_static_poles_at_a_cutoff_of_one() {
    let problem = static_poles(1.0);
    let [cut, kept] = [1.0 - 1e-12, 1.0 + 1e-12].map(|sexcut| evaluated(&static_poles(sexcut)));
    let off = (cut.asx[1] - kept.asx[1]).norm() / cut.asx[1].norm();
    assert!(off > 1e-3, "{off}");
    for version in ["v0", "v9", "cpu:paired", "sigma:cells"] {
        let sums = sums(&problem, gpp::catalogue::find(version).unwrap());
        let found = [&cut, &kept].map(|stored| by_file(&problem, &sums, stored));
        // A version may happen to decide all terms as one of them does.
        let off_by = |of: &Verification| of.max_rel_error.unwrap() > 1e-12;
        assert!(found.iter().any(off_by), "{version}: {found:?}");
        for found in found {
            assert_eq!(found.outcome, Outcome::Passed, "{version}: {found:?}");
            assert!(!off_by(&found) || found.undecided.is_some(), "{version}: {found:?}");
            let Some(undecided) = found.undecided else { continue };
            let of_sum = undecided.of_sum.unwrap();
            assert!(of_sum >= off && of_sum < 10.0 * off, "{of_sum}, {off}");
            assert!(undecided.of_terms > 1e-3 && undecided.of_terms < 0.1, "{undecided:?}");
            let said = reservations(&found);
            assert!(said.starts_with(", but rounding decides ") && said.contains(" % of Σ|terms|"));
            assert!(said.contains(": sums may differ by "), "{said}");
        }
        // Beyond these terms sums are as exact as any.
        let mut wrong = sums.clone();
        wrong.ach[1] *= 1.0 + 1e-8;
        assert_eq!(by_file(&problem, &wrong, &cut).outcome, Outcome::Incorrect);
        wrong = sums;
        wrong.asx[1] *= 1.0 + 20.0 * off;
        assert_eq!(by_file(&problem, &wrong, &cut).outcome, Outcome::Incorrect);
    }
}

/// One term a relative distance from a bound: `|w − ω̃|` from the width, `|delw|` from 500 and from 1e-6, and `|ssx|` of
/// either branch from the cutoff.
fn beside_a_bound(bound: usize, distance: f64) -> Problem {
    let off = 1.0 + distance;
    let real = |x: f64| Complex64::new(x, 0.0);
    let far = 249_999f64.sqrt() * off;
    let (w, wtilde, gamma, sexcut) = [
        (1.0, real(2.0), off, 4.0),
        (far, Complex64::new(far, 1.0), 0.5, 4.0),
        (0.25, real(0.25e-6 / (1.0 + 1e-6) * off), 0.5, 4.0),
        (-2.0, real(1.0), 0.5, off / 3.0),
        (-2.0, real(2.25), 9.0, off * 4.5),
    ][bound];
    remade(&one_term(w, wtilde, true), |header, of| {
        (header.sig_gamma, header.sexcut) = (gamma, sexcut);
        // A real product is as large by the 1-norm as it is.
        of.aqsm_local[0] = real(0.7);
    })
}

#[test]
fn rounding_decides_at_a_bound_and_not_beside_it() {
    let ulp = f64::EPSILON;
    for (bound, distance) in (0..5).flat_map(|b| [1e-9, 1e-12, 1e-13, ulp].map(|d| (b, d))) {
        let [above, below] = [distance, -distance].map(|distance| beside_a_bound(bound, distance));
        for (problem, other) in [(&above, &below), (&below, &above)] {
            let (reference, off) = (referenced(problem), evaluated(other));
            let elements = [problem, other].map(Given::own);
            let [task, of_other] =
                [(problem, 0), (other, 1)].map(|(p, at)| MatrixTask::new(p, &elements[at]));
            let sample = sample_of_all(&task);
            let expected = matrix::evaluate(&task, &sample, QUIET);
            let on_cpu = |task| on_cpu(task).unwrap();
            let (right, off_matrix) = (on_cpu(&task), on_cpu(&of_other));
            for part in 0..2 {
                // Of the last three bounds `sch` does not know.
                let differs = part == 0 || bound < 2;
                let undecided = expected.iter().map(|element| element.undecided[part]);
                let of_sum = reference.scale.as_ref().unwrap().undecided[0][part];
                for undecided in undecided.chain([of_sum]) {
                    let at = format!("{bound} {distance:e} {part}");
                    assert_eq!(undecided > 0.0, differs && distance == ulp, "{at}: {undecided:e}");
                }
                let (mut sums, mut elements) = (reference.sums.clone(), right.clone());
                match part {
                    0 => (sums.asx, elements.sx) = (off.asx.clone(), off_matrix.sx.clone()),
                    _ => (sums.ach, elements.ch) = (off.ach.clone(), off_matrix.ch.clone()),
                }
                let found = [
                    verify(problem, &sums, Some(&reference)).unwrap().outcome,
                    matrix::compare(&task, &elements, &sample, &expected).outcome,
                ];
                let is_wrong = differs && distance > ulp;
                let outcome = if is_wrong { Outcome::Incorrect } else { Outcome::Passed };
                assert_eq!(found, [outcome; 2], "{bound} {distance:e} {part}");
            }
        }
    }
}

/// Some versions compare energies with bounds instead of terms with the cutoff.
#[test]
fn every_version_finds_the_cutoff() {
    for (bound, distance) in (3..5).flat_map(|b| [1e-9, -1e-9, 1e-11, -1e-11].map(|d| (b, d))) {
        check(&beside_a_bound(bound, distance));
    }
}

#[test]
fn an_error_of_1e_12_of_a_single_term_is_incorrect() {
    let problem = one_term(1.0, Complex64::new(3.0, 0.0), true);
    let (right, elements) = (evaluated(&problem), Given::own(&problem));
    let mut wrong = right.clone();
    wrong.asx[0] *= 1.0 + 1e-12;
    assert_eq!(by_file(&problem, &wrong, &right).outcome, Outcome::Incorrect);
    let task = MatrixTask::new(&problem, &elements);
    let sample = sample_of_all(&task);
    let expected = matrix::evaluate(&task, &sample, QUIET);
    let mut found = on_cpu(&task).unwrap();
    found.sx.iter_mut().for_each(|element| *element *= 1.0 + 1e-12);
    assert_eq!(matrix::compare(&task, &found, &sample, &expected).outcome, Outcome::Incorrect);
}

/// A call of the real flavour whose invalid modes are imaginary, with something changed.
fn imaginary(change: impl FnOnce(&mut Matrices)) -> Problem {
    remade(&fixture("real/silicon-q0"), |_, matrices| {
        for (at, pole) in matrices.wtilde.iter_mut().enumerate().filter(|(_, z)| z.re > 1e9) {
            *pole = Complex64::new(0.0, 5.0 + (at % 7) as f64);
        }
        change(matrices);
    })
}

fn real_parts(sums: &Sums) -> Sums {
    let re = |all: &[Complex64]| all.iter().map(|z| Complex64::from(z.re)).collect();
    Sums { asx: re(&sums.asx), ach: re(&sums.ach) }
}

#[test]
fn real_parts_of_the_real_flavour_are_compared_alone() {
    let problem = imaginary(|_| ());
    let sums = evaluated(&problem);
    let stored = real_parts(&sums);
    assert!(sums.ach[0].im.abs() > 1e-6 * sums.ach[0].re.abs());
    let found = by_file(&problem, &sums, &stored);
    assert_eq!((found.outcome, found.real_parts), (Outcome::Passed, true), "{found:?}");
    assert!(reservations(&found).contains("real parts compared"));
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for (wrong, part) in [(1.0 + 1e-10, 1.0), (nan, 1.0), (1.0, nan), (1.0, inf)] {
        for e in 0..problem.nw() {
            let [mut asx, mut ach] = [sums.clone(), sums.clone()];
            for z in [&mut asx.asx[e], &mut ach.ach[e]] {
                *z = Complex64::new(z.re * wrong, z.im * part);
            }
            for sums in [asx, ach] {
                let outcome = by_file(&problem, &sums, &stored).outcome;
                assert_eq!(outcome, Outcome::Incorrect, "{wrong} {part}");
            }
        }
    }
}

#[test]
fn imaginary_parts_count_in_all_other_files() {
    let changes: [(&str, fn(&mut Matrices)); 4] = [
        ("eps", |of| of.eps[3].im = 1e-3),
        ("aqsn", |of| of.aqsn[3].im = 1e-3),
        ("aqsm", |of| of.aqsm_local[3].im = 1e-3),
        ("real poles", |of| {
            of.wtilde.iter_mut().for_each(|z| *z = Complex64::from(z.norm() + 1.0))
        }),
    ];
    for (what, change) in changes {
        let problem = imaginary(change);
        let mut sums = evaluated(&problem);
        sums.ach[0].im += 1e-6;
        let found = by_file(&problem, &sums, &real_parts(&sums));
        assert_eq!((found.outcome, found.real_parts), (Outcome::Incorrect, false), "{what}");
    }
    // A stored imaginary part, and the complex flavour.
    let complex = fixture("real/gaas-imaginary");
    let sums = evaluated(&complex);
    assert_eq!(by_file(&complex, &sums, &real_parts(&sums)).outcome, Outcome::Incorrect);
    for problem in [imaginary(|_| ()), complex] {
        let sums = evaluated(&problem);
        for e in 0..problem.nw() {
            let mut stored = sums.clone();
            stored.ach[e].im = 0.0;
            let found = by_file(&problem, &sums, &stored);
            assert_eq!((found.outcome, found.real_parts), (Outcome::Incorrect, false), "{e}");
        }
    }
}
