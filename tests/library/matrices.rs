//! Σ as a matrix, of a caller's arrays.

use gpp::devices::host::Host;
use gpp::problem::EnergyGrid;
use gpp_core::offdiag::{Task, on_cpu};
use gpp_core::{Calculator, MatrixBands};
use num_complex::Complex64;

use crate::common::arrays::{Own, formula, screening, synthesised};
use crate::common::matrices::Given;

#[test]
fn matrices_have_the_bits_of_the_command_line() {
    for (name, nw) in [("tiny", 3), ("tiny-complex", 2)] {
        let problem = synthesised(name, EnergyGrid::Count(nw));
        let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
        let elements = Given::of(&problem, 5, 1);
        let task = Task::new(&problem, &elements);
        let expected = on_cpu(&Host::new(), &task, &|_| ()).unwrap().sums;
        let calculator = Calculator::open("cpu").unwrap();
        let mut placed = calculator.place(&given).unwrap();
        let mut matrices = |a: &[Complex64]| {
            let bands = MatrixBands { a, e: &own.e, occ: &own.occ, at_bands: false };
            let each = calculator.matrix(&given, &bands, &own.omega, formula);
            let stays = calculator.matrix_at(&mut placed, &bands, &own.omega, formula);
            [each, stays].map(|found| found.map(|found| (found.sums, found.version)))
        };
        let right = |found: gpp::error::Result<_>| found.unwrap() == (expected.clone(), "cpu");
        assert!(matrices(&elements.all).into_iter().all(right), "{name}");
        let (mut none, last) = (elements.all.clone(), elements.all.len() - 1);
        none[last].im = f64::NAN;
        for (a, says) in [(&none[..], "NaNi at ("), (&none[1..], "bands, has"), (&[], "has 0")] {
            for found in matrices(a) {
                let error = found.unwrap_err().to_string();
                assert!(error.contains("a(ig,n,l)") && error.contains(says), "{error}");
            }
        }
        assert!(matrices(&elements.all).into_iter().all(right), "{name}");
    }
}

/// Rows at the energies of their bands and columns: elements of the matrices at each energy, in every bit.
#[test]
fn matrices_at_the_bands_energies_are_rows_and_columns() {
    let problem = synthesised("tiny", EnergyGrid::Count(2));
    let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
    let a = &Given::of(&problem, 3, 1).all[..];
    let calculator = Calculator::open("cpu").unwrap();
    let omega = [1.5, -0.5, 1.5];
    let bands = MatrixBands { a, e: &own.e, occ: &own.occ, at_bands: false };
    let at_bands = MatrixBands { at_bands: true, ..bands };
    let whole = calculator.matrix(&given, &bands, &omega, formula).unwrap().sums;
    let found = calculator.matrix(&given, &at_bands, &omega, formula).unwrap().sums;
    assert_eq!((found.bands, found.nw()), (3, 2));
    for (l, m) in (0..9).map(|at| (at % 3, at / 3)) {
        for (plane, energy) in [(0, l), (1, m)] {
            let (at, expected) = (found.at(l, m, plane), whole.at(l, m, energy));
            assert_eq!((found.sx[at], found.ch[at]), (whole.sx[expected], whole.ch[expected]));
        }
    }
    for wrong in [&omega[..2], &[], &[0.0; 4]] {
        let error = calculator.matrix(&given, &at_bands, wrong, formula).unwrap_err().to_string();
        let says = format!(
            "omega: needs an energy for each of 3 bands, with at_bands; found {}",
            wrong.len()
        );
        assert!(error.contains(&says), "{error}");
    }
    let error = calculator.matrix(&given, &at_bands, &[0.0, f64::NAN, 0.0], formula).unwrap_err();
    assert!(error.to_string().contains("NaN"), "{error}");
}
