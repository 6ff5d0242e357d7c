//! Matrices of a caller's arrays, wherever these are, on devices whose launches are emulated.

use gpp::devices::gpu::driver::Context;
use gpp_core::offdiag::Task;
use gpp_core::offdiag::gpu::{emulated, find};
use gpp_core::{Calculator, Error, FoundMatrix, MatrixBands, Placed, Screening};
use num_complex::Complex64;

use super::Outcome;
use super::resident::There;
use crate::common::arrays::{Own, formula, screening};
use crate::common::matrices::Given;
use crate::common::{Kind, made};

const BANDS: usize = 3;

pub fn of_a_caller() -> Outcome {
    let context = Context::open(0)?;
    let stream = context.stream("a caller's arrays")?;
    let problem = made([100, 5, 19, 2], Kind::Mixed, 21);
    let elements = Given::of(&problem, BANDS, 4);
    let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
    let ncouls = given.vcoul.len();
    let there = |values: &[Complex64]| There::new((&context, &stream), values, ncouls, ncouls + 2);
    let [wtilde, eps, a] = [there(problem.wtilde())?, there(problem.eps())?, there(&elements.all)?];
    let on_gpu = Screening { wtilde: wtilde.matrix(), eps: eps.matrix(), ..given };
    let right = |found: FoundMatrix| {
        let version = find(found.version).expect("a version");
        let expected = emulated(&Task::new(&problem, &elements), version);
        assert!(found.sums == expected && found.seconds > 0.0);
    };
    for device in ["gpu:0", "gpu:0,1,2"] {
        let calculator = Calculator::open(device)?;
        let bands = MatrixBands { a: &elements.all, e: &own.e, occ: &own.occ, at_bands: false };
        right(calculator.matrix(&given, &bands, &own.omega, formula)?);
        let mut placed = vec![calculator.place(&given)?];
        let fetched = calculator.on_host("a", a.matrix(), [ncouls, own.e.len() * BANDS]);
        // Several devices take no array of one.
        assert_eq!(fetched.is_ok(), device == "gpu:0");
        if fetched.is_ok() {
            placed.push(calculator.place(&on_gpu)?);
        }
        let fetched = fetched.unwrap_or(elements.all[..].into());
        let bands = MatrixBands { a: &fetched, ..bands };
        let at = |calculator: &Calculator, placed: &mut Placed| {
            calculator.matrix_at(placed, &bands, &own.omega, formula)
        };
        for placed in &mut placed {
            right(at(&calculator, placed)?);
        }
        let stops = calculator.clone().with_progress(|_| Some(5));
        let stopped = at(&stops, &mut placed[0]).err();
        assert!(matches!(stopped, Some(Error::Stopped { code: 5, .. })));
        let mut none = elements.all.clone();
        none[ncouls * 99 + 7].re = f64::INFINITY;
        let bands = MatrixBands { a: &none, ..bands };
        let error = calculator.matrix(&given, &bands, &own.omega, formula).unwrap_err();
        assert!(error.to_string().contains("at (7,99,0)"), "{error}");
        right(at(&calculator, &mut placed[0])?);
    }
    Ok(())
}
