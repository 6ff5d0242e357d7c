//! A caller's arrays in, sums out: the bits of the command line, and errors that name what was wrong.

use std::sync::mpsc::channel;

use gpp::devices::cpu::CpuDevice;
use gpp::engine::Engine;
use gpp::problem::Sums;
use gpp_core::offdiag::MatrixTask;
use gpp_core::{
    Bands, Calculator, Error, Found, MatrixBands, MatrixRef, Precision, Screening, State,
};
use num_complex::{Complex32, Complex64};

use crate::common::arrays::{Own, formula, screening, synthesised};
use crate::common::matrices::{Given, on_cpu};
use crate::common::{EnergyGrid, assert_fails};

#[test]
fn sums_have_the_bits_of_the_command_line_for_every_version() {
    for (name, nw) in [("tiny", 2), ("tiny-complex", 3), ("tiny", 17)] {
        let problem = synthesised(name, EnergyGrid::Count(nw));
        let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
        let host = CpuDevice::new();
        for listed in gpp::catalogue::versions() {
            let expected = Engine::whole(&host, &problem).unwrap().run(listed).unwrap().sums;
            let calculator = Calculator::open("cpu").unwrap().with_version(listed.id()).unwrap();
            let mut placed = calculator.place(&given).unwrap();
            for bands in [own.whole(&problem), own.bands(&problem)] {
                for found in [
                    calculator.sums(&given, &bands, &own.omega, formula).unwrap(),
                    calculator.sums_at(&mut placed, &bands, &own.omega, formula).unwrap(),
                ] {
                    assert_eq!(found.version, listed.id());
                    assert_eq!(found.sums, expected, "{name}, {nw} energies, {}", listed.id());
                }
            }
        }
    }
}

#[test]
fn single_precision_is_asked_for_and_has_a_bound() {
    let problem = synthesised("demo", EnergyGrid::Count(5));
    let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
    let bands = own.bands(&problem);
    let double = Calculator::open("cpu").unwrap().with_sigma_alone(true);
    let expected = double.sums(&given, &bands, &own.omega, formula).unwrap();
    assert_eq!([expected.error_bound, expected.error_found], [0.0; 2]);
    let single = double.with_precision(Precision::Single).with_static_ch(true);
    let mut last = f64::INFINITY;
    for tolerance in [1.0, 1e-6, 0.0] {
        let single = single.clone().with_tolerance(tolerance).unwrap();
        let found = single.sums(&given, &bands, &own.omega, formula).unwrap();
        assert_eq!(found.version, "cpu:single");
        assert!(found.error_bound <= last && found.error_bound > 0.0);
        assert!(found.error_found <= found.error_bound && found.error_found > 0.0);
        last = found.error_bound;
        for (found, expected) in found.sums.ach.iter().zip(&expected.sums.ach) {
            let error = (found - expected).norm();
            assert!(error <= last && error > 0.0, "{error:e} of {last:e}");
        }
    }
    for wrong in [-1.0, f64::NAN] {
        assert!(single.clone().with_tolerance(wrong).is_err());
    }
    let both = single.clone().with_sigma_alone(false);
    let in_double = single.clone().with_version("v15").unwrap();
    for (calculator, says) in [
        (both, "precision: single sums Σ alone: ask for that"),
        (in_double, "precision: is single, but v15 sums in double"),
    ] {
        assert_fails(calculator.sums(&given, &bands, &own.omega, formula), says);
        let states = [State { bands, omega: &own.omega }];
        let mut placed = calculator.place(&given).unwrap();
        assert_fails(calculator.sums_of_states(&mut placed, &states, formula), says);
    }
    let matrix = MatrixBands { a: problem.aqsn(), e: &own.e, occ: &own.occ, at_bands: false };
    let error = single.matrix(&given, &matrix, &own.omega, formula);
    assert_fails(error, "a matrix is summed in double");
}

/// By a version for Σ alone, and as the sum of both parts by others.
#[test]
fn sigma_alone_is_the_sum_of_both_parts() {
    let problem = synthesised("tiny", EnergyGrid::Count(3));
    let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
    let bands = own.bands(&problem);
    let calculator = Calculator::open("cpu").unwrap().with_version("cpu:simd").unwrap();
    let both = calculator.sums(&given, &bands, &own.omega, formula).unwrap();
    let mut alone = calculator.with_sigma_alone(true);
    let added = alone.sums(&given, &bands, &own.omega, formula).unwrap();
    assert_eq!((added.version, &added.sums), (both.version, &both.sums.alone()));
    for id in ["v15", "cpu:alone", "best"] {
        alone = alone.with_version(id).unwrap();
        let found = alone.sums(&given, &bands, &own.omega, formula).unwrap();
        assert_eq!(found.version, if id == "best" { "cpu:alone" } else { id });
        assert!(found.sums.asx.iter().all(|asx| asx.norm() == 0.0));
        for ((found, asx), ach) in found.sums.ach.iter().zip(&both.sums.asx).zip(&both.sums.ach) {
            // tiny has 13,000 terms an energy of both signs.
            let difference = (found - (asx + ach)).norm();
            assert!(difference <= 1e-13 * (asx.norm() + ach.norm()), "{found} {asx} {ach}");
        }
    }
}

/// One state after the other and side by side; matrices with gaps, and in single precision; fewer bands.
#[test]
fn many_states_have_the_bits_of_single_calls() {
    for (name, version) in [
        ("tiny", "best"),
        ("tiny-complex", "cpu:paired"),
        ("tiny", "v13"),
        ("tiny", "v9"),
        ("tiny", "cpu:simd"),
        ("tiny-complex", "sigma:cells"),
        ("tiny", "cpu:threads"),
    ] {
        let problem = synthesised(name, EnergyGrid::Count(3));
        let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
        let (ncouls, ld) = (given.vcoul.len(), given.vcoul.len() + 3);
        let round = |z: &Complex64| Complex32::new(z.re as f32, z.im as f32);
        let single: Vec<Complex32> = problem.aqsn().iter().map(round).collect();
        let wide = |z: &Complex32| Complex64::new(z.re.into(), z.im.into());
        let rounded: Vec<Complex64> = single.iter().map(wide).collect();
        let nan = [Complex64::new(f64::NAN, f64::NAN); 3];
        let gaps = own.aqsmtemp.chunks(ncouls).flat_map(|column| column.iter().chain(&nan));
        let gaps: Vec<Complex64> = gaps.copied().collect();
        let gaps = &gaps[..gaps.len() - 3];
        let (whole, n) = (own.whole(&problem), own.e.len() - 1);
        let [aqsn, aqsm] =
            [problem.aqsn(), &own.aqsmtemp].map(|all| MatrixRef::Host(&all[..n * ncouls]));
        let fewer = Bands { aqsn, aqsm, aqsm_local: false, e: &own.e[..n], occ: &own.occ[..n] };
        let state = |at: usize| {
            let dense = Bands { aqsn: MatrixRef::Host(&rounded), ..whole };
            let aqsn = MatrixRef::Single(&single, ncouls);
            let given = Bands { aqsn, aqsm: MatrixRef::Spaced(gaps, ld), ..whole };
            let omega = &own.omega[at % 3..];
            let local = own.bands(&problem);
            (State { bands: [given, whole, given, fewer, given, local][at % 6], omega }, dense)
        };
        for threads in [1, 3] {
            let calculator = Calculator::open("cpu").unwrap().with_version(version).unwrap();
            let calculator = calculator.with_threads(threads).unwrap().with_ach_of_bands(Some(0));
            let mut placed = calculator.place(&given).unwrap();
            let states: Vec<State> = (0..11).map(|at| state(at).0).collect();
            let found = calculator.sums_of_states(&mut placed, &states, formula).unwrap();
            for (at, found) in found.iter().enumerate() {
                let (State { bands, omega }, dense) = state(at);
                let bands = if at % 2 == 0 { dense } else { bands };
                let stays = calculator.sums_at(&mut placed, &bands, omega, formula).unwrap();
                let fresh = calculator.sums(&given, &bands, omega, formula).unwrap();
                // The best of a call alone may be another version.
                let all = if version == "best" { &[stays][..] } else { &[stays, fresh] };
                for expected in all {
                    assert_eq!(found.sums, expected.sums, "{name} {version} {threads} {at}");
                    assert_eq!(found.ach_of_bands, expected.ach_of_bands);
                    assert_eq!(found.version, expected.version);
                }
                assert!(found.call_seconds > 0.0 && found.seconds > 0.0);
            }
            assert!(calculator.sums_of_states(&mut placed, &[], formula).unwrap().is_empty());
            let other = Calculator::open("cpu").unwrap();
            let error = other.sums_at(&mut placed, &whole, &own.omega, formula);
            assert_fails(error, "another calculator");
        }
    }
}

#[test]
fn an_error_names_its_state_and_progress_is_of_all_states() {
    let problem = synthesised("tiny", EnergyGrid::Count(2));
    let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
    let bands = own.bands(&problem);
    let short = MatrixRef::Spaced(&problem.aqsn()[..5], given.vcoul.len());
    let hole = with_hole(problem.aqsn(), 3);
    let right = State { bands, omega: &own.omega };
    let none = State { omega: &[], ..right };
    let mut states = vec![right; 40];
    for threads in [1, 4] {
        let calculator = Calculator::open("cpu").unwrap().with_threads(threads).unwrap();
        let calculator = calculator.with_index_base(1);
        let mut placed = calculator.place(&given).unwrap();
        for (wrong, says) in [
            (none, "state 33: the caller's arrays: the length of omega must"),
            (State { omega: &[f64::NAN], ..right }, "state 33: the caller's arrays: omega(1) is"),
            (State { bands: Bands { aqsn: short, ..bands }, ..right }, "state 33: aqsn: needs 21"),
            (
                State { bands: Bands { aqsn: MatrixRef::Host(&hole), ..bands }, ..right },
                "state 33: the caller's arrays: aqsn(ig,n) is NaN",
            ),
        ] {
            states[32] = wrong;
            // Later ones have it too.
            states[35..].fill(wrong);
            assert_fails(calculator.sums_of_states(&mut placed, &states, formula), says);
            states.fill(right);
        }
        for most in [2.0, 0.5] {
            let (tell, told) = channel();
            // Progress is reported within a state too.
            let calculator = calculator.clone().with_ach_of_bands(Some(0));
            let calculator = calculator.with_progress(move |part| {
                tell.send(part).unwrap();
                (part >= most).then_some(7)
            });
            let many = vec![right; if most < 1.0 { 4000 } else { 40 }];
            let found = calculator.sums_of_states(&mut placed, &many, formula);
            let told: Vec<f64> = told.try_iter().collect();
            assert!(told.is_sorted() && told.last().is_some_and(|&last| last <= 1.0), "{told:?}");
            match found {
                Ok(found) => assert!(most > 1.0 && found.len() == 40 && told.last() == Some(&1.0)),
                Err(Error::Stopped { code: 7, done, total: 4000, unit: "states" }) => {
                    assert!(most < 1.0 && (1000..4000).contains(&done), "{done}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn with_hole(array: &[Complex64], at: usize) -> Vec<Complex64> {
    let mut array = array.to_vec();
    array[at].re = f64::NAN;
    array
}

#[test]
fn what_is_wrong_is_named_and_the_calculator_goes_on() {
    let problem = synthesised("tiny", EnergyGrid::Count(2));
    let (own, calculator) = (Own::of(&problem), Calculator::open("cpu").unwrap());
    let (right, bands) = (screening(&problem), own.bands(&problem));
    let sums = |screening: &Screening, bands: &Bands, omega: &[f64]| {
        calculator.sums(screening, bands, omega, formula(&problem)).map(|found| found.sums)
    };
    let expected = sums(&right, &bands, &own.omega).unwrap();
    let few = MatrixRef::Host(&problem.aqsn()[..5]);
    for (screening, of, omega, named) in [
        (Screening { inv_igp_index: &[0], ..right }, bands, &own.omega[..], "inv_igp_index"),
        (Screening { vcoul: &[], ..right }, bands, &own.omega, "wtilde(ig,igp) needs"),
        (right, Bands { aqsn: few, ..bands }, &own.omega, "aqsn(ig,n) needs"),
        (right, Bands { e: &[], ..bands }, &own.omega, "occ(n) needs 0"),
        (right, bands, &[], "the length of omega must be from 1 to 100000, found 0"),
        (right, bands, &[f64::INFINITY], "omega(0) is inf"),
    ] {
        assert_fails(sums(&screening, &of, omega), named);
        assert_eq!(sums(&right, &bands, &own.omega).unwrap(), expected);
    }
    assert_fails(Calculator::open("gpu:0,0"), "gpu:0 twice");
    assert_fails(Calculator::open("cpi"), "did you mean `cpu`?");
    assert_fails(calculator.with_version("v99"), "unknown version");
}

/// Indices count from 0, or from 1 by [`Calculator::with_index_base`]; a row of `aqsm` is that of the array given.
#[test]
fn places_are_those_of_the_arrays_given() {
    let problem = synthesised("tiny", EnergyGrid::Count(2));
    let (own, formula) = (Own::of(&problem), formula(&problem));
    let (right, bands, local) = (screening(&problem), own.whole(&problem), own.bands(&problem));
    let (ncouls, ngpown) = (right.vcoul.len(), right.inv_igp_index.len());
    let row = right.indinv[right.inv_igp_index[2] as usize - 1] as usize - 1;
    let aqsm = with_hole(&own.aqsmtemp, 4 * ncouls + row);
    let aqsm_local = with_hole(problem.slab().aqsm_local().whole().unwrap(), 4 * ngpown + 2);
    let aqsn = with_hole(problem.aqsn(), 3 * ncouls + 5);
    let wtilde = with_hole(problem.wtilde(), 2 * ncouls + 6);
    let [aqsm, aqsm_local, aqsn, wtilde] =
        [&aqsm, &aqsm_local, &aqsn, &wtilde].map(|of| MatrixRef::Host(of));
    for base in [0, 1] {
        let calculator = Calculator::open("cpu").unwrap().with_index_base(base);
        for (screening, bands, name, at) in [
            (right, Bands { aqsm, ..bands }, "aqsm(ig,n)", [row, 4]),
            (right, Bands { aqsm: aqsm_local, ..local }, "aqsm(igp,n)", [2, 4]),
            (right, Bands { aqsn, ..local }, "aqsn(ig,n)", [5, 3]),
            (Screening { wtilde, ..right }, bands, "wtilde(ig,igp)", [6, 2]),
        ] {
            let [first, second] = at.map(|at| at + base);
            let place = format!("at ({first},{second})");
            let by_sums = calculator.sums(&screening, &bands, &own.omega, formula);
            let by_place = calculator
                .place(&screening)
                .and_then(|mut at| calculator.sums_at(&mut at, &bands, &own.omega, formula));
            for error in [by_sums, by_place].map(|found| found.unwrap_err().to_string()) {
                let is_said = error.contains(&format!("{name} is NaN")) && error.contains(&place);
                assert!(is_said, "{place}: {error}");
            }
        }
    }
}

/// Poles next to real are resolved, or refused, with the energies of each call.
#[test]
fn poles_next_to_real_are_looked_at_in_each_call() {
    let problem = synthesised("tiny", EnergyGrid::Count(1));
    let own = Own::of(&problem);
    let w = problem.wx()[3];
    let mut wtilde = problem.wtilde().to_vec();
    wtilde[5] = Complex64::new(w, w.abs() * 1e-60);
    wtilde[9] = Complex64::new(-w - 0.25, 0.0);
    let thin = Screening { wtilde: MatrixRef::Host(&wtilde), ..screening(&problem) };
    let (bands, calculator) = (own.bands(&problem), Calculator::open("cpu").unwrap());
    let mut placed = calculator.place(&thin).unwrap();
    let mut both = |omega: &[f64]| {
        let each = calculator.sums(&thin, &bands, omega, formula(&problem));
        let stays = calculator.sums_at(&mut placed, &bands, omega, formula(&problem));
        [each, stays].map(|found| found.map(|found| found.sums).map_err(|error| error.to_string()))
    };
    let [each, stays] = both(&own.omega);
    assert!(each.is_ok());
    assert_eq!(each, stays);
    let [each, stays] = both(&[own.omega[0] + 0.25]);
    let error = each.as_ref().unwrap_err();
    assert!(error.contains("wtilde(ig,igp) is ") && error.contains("not bounded"), "{error}");
    assert_eq!(each, stays);
}

#[test]
fn a_rank_without_work_sums_to_zero() {
    let problem = synthesised("tiny", EnergyGrid::Count(3));
    let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
    let (all, empty) = (own.whole(&problem), MatrixRef::Host(&[]));
    let no_columns = Screening { wtilde: empty, eps: empty, inv_igp_index: &[], ..given };
    let no_g = Screening { vcoul: &[], wtilde: empty, eps: empty, ..given };
    let none = Bands { aqsn: empty, aqsm: empty, aqsm_local: false, e: &[], occ: &[] };
    let of_no_g = Bands { aqsn: empty, aqsm: empty, ..all };
    let few = MatrixRef::Host(&problem.wtilde()[..1]);
    for version in ["best", "v3", "v13", "sigma:cells", "cpu:threads"] {
        let calculator = Calculator::open("cpu").unwrap().with_version(version).unwrap();
        let calculator = calculator.with_static_ch(true).with_ach_of_bands(Some(2));
        let cases = [(no_columns, all), (given, none), (no_columns, none), (no_g, of_no_g)];
        for (screening, bands) in cases {
            let mut placed = calculator.place(&screening).unwrap();
            let found = [
                calculator.sums(&screening, &bands, &own.omega, formula).unwrap(),
                calculator.sums_at(&mut placed, &bands, &own.omega, formula).unwrap(),
            ];
            let zeros = Some(vec![Complex64::ZERO; bands.e.len()]);
            for Found { sums, static_ch, ach_of_bands, .. } in found {
                assert_eq!(sums, Sums::zero(3), "{version}");
                assert_eq!((static_ch, ach_of_bands), (zeros.clone(), zeros.clone()), "{version}");
            }
        }
        for (screening, bands, named) in [
            (Screening { wtilde: few, ..no_columns }, all, "wtilde(ig,igp) needs 0"),
            (given, Bands { aqsn: all.aqsn, ..none }, "aqsn(ig,n) needs 0"),
            (no_columns, Bands { occ: &[], ..all }, "occ(n)"),
        ] {
            assert_fails(calculator.sums(&screening, &bands, &own.omega, formula), named);
        }
    }
    let calculator = Calculator::open("cpu").unwrap();
    let of = |a| MatrixBands { a, e: &own.e, occ: &own.occ, at_bands: false };
    let matrix = |a| calculator.matrix(&no_columns, &of(a), &own.omega, formula);
    let found = matrix(problem.aqsn()).unwrap().sums;
    assert_eq!((found.bands, &found.sx[..]), (1, &[Complex64::ZERO; 3][..]));
    assert_fails(calculator.matrix(&no_g, &of(&[]), &own.omega, formula), "a(ig,n,l)");
}

#[test]
fn matrices_have_the_bits_of_the_command_line() {
    for (name, nw, sigma_alone) in [("tiny", 3, false), ("tiny-complex", 2, true)] {
        let problem = synthesised(name, EnergyGrid::Count(nw));
        let (own, given, formula) = (Own::of(&problem), screening(&problem), formula(&problem));
        let elements = Given::of(&problem, 5, 1);
        let task = MatrixTask { sigma_alone, ..MatrixTask::new(&problem, &elements) };
        let expected = on_cpu(&task).unwrap();
        assert_eq!(expected.sx.iter().any(|sx| sx.norm() > 0.0), !sigma_alone);
        let calculator = Calculator::open("cpu").unwrap().with_sigma_alone(sigma_alone);
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
        let says = format!("at_bands needs an energy for each of 3 bands; found {}", wrong.len());
        assert_fails(calculator.matrix(&given, &at_bands, wrong, formula), &says);
    }
    assert_fails(calculator.matrix(&given, &at_bands, &[0.0, f64::NAN, 0.0], formula), "NaN");
}
