//! The time-ordered formula against its definition, on the arrays as they are given.

use gpp_core::{Calculator, Formula, Placed, Precision, State};
use num_complex::Complex64;
use twofloat::TwoFloat;

use crate::common::arrays::Arrays;
use crate::common::double::*;
use crate::common::{Random, assert_fails};

const NG: usize = 8;
const NGPOWN: usize = 8;

const fn broad(eta: f64) -> Formula {
    Formula::TimeOrdered { eta, window: 0.0 }
}

const fn windowed(window: f64) -> Formula {
    Formula::TimeOrdered { eta: 0.0, window }
}

/// The arrays of a call, with so many columns of a G′; `aqsm` is `aqsn`. Poles are real if η is to stay the only broadening;
/// some are at ± the energies above a band, one at nothing and one is static.
fn call(nw: usize, are_real: bool, poles: usize, seed: u64) -> Arrays {
    let mut r = Random::of(seed);
    let e: Vec<f64> = (0..13).map(|_| r.between(-12.0, 12.0)).collect();
    let step = 0.5 + 0.3 * f64::from(are_real);
    let mut omega: Vec<f64> = (0..nw).map(|iw| e[2] + step * iw as f64).collect();
    if nw > 3 {
        omega.iter_mut().for_each(|omega| *omega += r.between(-0.1, 0.1));
    }
    let mut wtilde: Vec<Complex64> = (0..NG * NGPOWN)
        .map(|pair| match (pair, pair % 3) {
            (0, _) => Complex64::ZERO,
            (1, _) => 1e12.into(),
            (2..5, _) => (omega[0] - e[pair]).abs().into(),
            (_, 0) if !are_real => Complex64::new(r.between(0.1, 9.0), r.between(-3.0, 3.0)),
            (_, 1) if !are_real => Complex64::new(0.0, r.between(-9.0, 9.0)),
            _ => r.between(0.3, 20.0).into(),
        })
        .collect();
    wtilde[5] += if are_real { 0.0 } else { 0.1 } * Complex64::I;
    let occ = (0..e.len()).map(|n| [1.0, 0.0, 1.0, 0.37, 0.0][n % 5]).collect();
    let inv_igp_index = (0..NGPOWN).map(|column| (column / poles) as i32 + 1).collect();
    Arrays {
        inv_igp_index,
        indinv: (1..=NG as i32).collect(),
        wtilde,
        eps: (0..NG * NGPOWN).map(|_| r.complex()).collect(),
        vcoul: (0..NG).map(|_| r.between(0.1, 2.0)).collect(),
        elements: (0..NG * e.len()).map(|_| r.complex()).collect(),
        e,
        occ,
        omega,
    }
}

/// Σ at each energy, of a function of each quotient, and the sizes of all terms of Σ alone, and of SX − X and CH.
fn expected(
    call: &Arrays,
    eta: f64,
    window: f64,
    of: impl Fn(Double) -> Double,
) -> Vec<(Complex64, [f64; 2])> {
    let of_energy = |&omega: &f64| {
        let (mut sum, mut sizes) = (ZERO, [0.0; 2]);
        for (n, (&e, &f)) in call.e.iter().zip(&call.occ).enumerate() {
            let (w, aqs) = (omega - e, &call.elements[n * NG..][..NG]);
            for (pair, (&pole, &eps)) in call.wtilde.iter().zip(&call.eps).enumerate() {
                // Without either there is no term at w = ω̃, and no p at w = −ω̃.
                let is_bare = |w: f64| (eta, window) == (0.0, 0.0) && pole == Complex64::from(w);
                if pole == Complex64::ZERO || is_bare(w) {
                    continue;
                }
                let (ig, igp) = (pair % NG, call.inv_igp_index[pair / NG] as usize - 1);
                let factor = [0.5 * call.vcoul[igp], 1.0].map(Complex64::from);
                let factor = factor.into_iter().chain([aqs[igp].conj(), aqs[ig], pole, eps]);
                let factor = factor.map(double).reduce(times).unwrap();
                let quotient = |sign: f64| {
                    let re = TwoFloat::new_add(w, sign * pole.re);
                    let is_inside = window > 0.0 && re * re <= TwoFloat::new_mul(window, window);
                    let width = if is_inside { window } else { eta };
                    of(inverse([re, TwoFloat::new_sub(sign * pole.im, sign * width)]))
                };
                let (q, p) = (quotient(-1.0), quotient(1.0));
                let p = if is_bare(-w) { q } else { p };
                let part = |part: usize| (q[part] - f * q[part]) + f * p[part];
                let term = times(factor, [part(0), part(1)]);
                let size = |q_part: f64| {
                    rounded(factor).norm() * (q_part * rounded(q).norm() + f * rounded(p).norm())
                };
                sizes = [sizes[0] + size(1.0 - f), sizes[1] + size(1.0 + f)];
                sum = plus(sum, term);
            }
        }
        (rounded(sum), sizes)
    };
    call.omega.iter().map(of_energy).collect()
}

/// 128 roundings of a term and one for each band, as `reference::roundings` has it, and 16 for η and for the definition.
const ALLOWED: f64 = (128 + 13 + 16) as f64 * 0.5 * f64::EPSILON;

/// One screening at several η in turn, and back, and with windows, which are of real poles and versions for Σ alone.
#[test]
fn the_time_ordered_formula_is_its_definition_in_every_version() {
    let (calculator, mut failed) = (Calculator::open("cpu").unwrap(), Vec::new());
    let all = [0.1, 1e-6, 0.0, 1e-3, 1.0, 0.1].map(broad);
    let all = [&all[..], &[0.3, 1e-6, 1e-3, 4.0].map(windowed), &all[..1]].concat();
    for (seed, (nw, poles)) in (0..).zip([(1, 1), (2, 2), (3, 4), (17, 8), (64, 3)]) {
        for are_real in [true, false] {
            let call = call(nw, are_real, poles, seed);
            let mut placed = calculator.place(&call.screening()).unwrap();
            // Versions for few energies sum many one after the other: some formulas suffice there.
            for &formula in all.iter().step_by(if nw > 3 { 3 } else { 1 }) {
                let Formula::TimeOrdered { eta, window } = formula else { unreachable!() };
                if window != 0.0 && !are_real {
                    let sums = calculator.sums_at(&mut placed, &call.bands(), &[0.0], formula);
                    assert_fails(sums, "window: needs real poles");
                    continue;
                }
                let expected = expected(&call, eta, window, |quotient| quotient);
                let found = |calculator: &Calculator, placed: &mut Placed| {
                    calculator.sums_at(placed, &call.bands(), &call.omega, formula).unwrap()
                };
                let mut check = |what: &str, is_alone: bool, allowed: f64, found: &[Complex64]| {
                    for (iw, (found, (expected, sizes))) in found.iter().zip(&expected).enumerate()
                    {
                        let error = (found - expected).norm() / sizes[usize::from(!is_alone)];
                        let call = format!("{what}, {nw} {are_real} {formula:?} {iw}: {error:e}");
                        let is_within = error <= allowed;
                        failed.extend((!is_within).then_some(call));
                    }
                };
                for listed in gpp::catalogue::versions() {
                    let calculator = calculator.clone().with_version(listed.id()).unwrap();
                    if window != 0.0 && !["v15", "cpu:alone"].contains(&listed.id()) {
                        let sums = calculator.sums_at(&mut placed, &call.bands(), &[0.0], formula);
                        assert_fails(sums, "has no window");
                        continue;
                    }
                    let found = found(&calculator, &mut placed);
                    // Not all pairs are summed in FP64.
                    let has_bound = listed.is_single() && eta >= 1e-3;
                    assert!(!has_bound || found.error_bound > 0.0, "{}: {formula:?}", listed.id());
                    let allowed = match listed.id() {
                        "s1" => 1.0 / 8192.0,
                        _ if listed.is_single() => (24 + 64) as f64 * 0.5 * f64::from(f32::EPSILON),
                        _ => ALLOWED,
                    };
                    let sums = found.sums.alone().ach;
                    check(listed.id(), listed.is_sigma_alone() && window == 0.0, allowed, &sums);
                }
                check("best", false, ALLOWED, &found(&calculator, &mut placed).sums.alone().ach);
                let bands = call.matrix();
                for is_alone in [false, true] {
                    let calculator = calculator.clone().with_sigma_alone(is_alone);
                    let found = calculator.matrix_at(&mut placed, &bands, &call.omega, formula);
                    let found = found.unwrap().sums;
                    let parts = found.sx.iter().zip(&found.ch);
                    let all: Vec<Complex64> = parts.map(|(sx, ch)| sx + ch).collect();
                    check("matrix", false, ALLOWED, &all);
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}:\n{}", failed.len(), failed.join("\n"));
}

/// That of `1/x` is `−1/x²`, within a window too. Σ is that of a call with one energy, bitwise but for complex poles on a
/// GPU, whose far bands are summed by another expression.
#[test]
fn the_derivative_is_that_of_each_quotient() {
    let calculator = Calculator::open("cpu").unwrap();
    let falling = |q: Double| times(q, [-q[0], -q[1]]);
    for (seed, (are_real, poles)) in (0..).zip([(true, 1), (false, 2), (true, 4), (false, 1)]) {
        let call = call(3, are_real, poles, seed);
        let mut placed = calculator.place(&call.screening()).unwrap();
        let formulas = [broad(0.1), broad(1e-6), broad(0.0), broad(1e-3), broad(1.0)];
        let windows = [windowed(0.3), windowed(1e-3), windowed(4.0)];
        for formula in formulas.into_iter().chain(windows.into_iter().filter(|_| are_real)) {
            let Formula::TimeOrdered { eta, window } = formula else { unreachable!() };
            let sums = expected(&call, eta, window, |quotient| quotient);
            let expected = expected(&call, eta, window, falling);
            for id in ["v15", "cpu:alone", "best"] {
                let alone = calculator.clone().with_version(id).unwrap().with_sigma_alone(true);
                let both = alone.clone().with_derivative(true);
                let found = both.sums_at(&mut placed, &call.bands(), &call.omega, formula).unwrap();
                let rates = found.derivative.unwrap();
                assert_eq!(rates.len(), expected.len());
                for (iw, (found, (expected, [_, size]))) in rates.iter().zip(&expected).enumerate()
                {
                    let error = (found - expected).norm() / size;
                    assert!(error <= ALLOWED, "{id} {seed} {formula:?} {iw}: {error:e}");
                }
                // For so few terms the best without a derivative is another version.
                let each = call.omega.iter().zip(&found.sums.ach).filter(|_| id != "best");
                for ((&omega, sum), (_, [_, size])) in each.zip(&sums) {
                    let one = alone.sums_at(&mut placed, &call.bands(), &[omega], formula).unwrap();
                    let error = (sum - one.sums.ach[0]).norm() / size;
                    let is_another = id == "v15" && (!are_real || eta > 0.0);
                    let allowed = if is_another { ALLOWED } else { 0.0 };
                    assert!(error <= allowed, "{id} {seed} {formula:?}: {error:e}");
                }
            }
        }
    }
}

/// Of several states as of one; other versions, single precision and matrices have none.
#[test]
fn the_derivative_is_asked_for() {
    let call = call(3, true, 1, 9);
    let calculator = Calculator::open("cpu").unwrap().with_derivative(true);
    let mut placed = calculator.place(&call.screening()).unwrap();
    let state = State { bands: call.bands(), omega: &call.omega };
    let mut ask = |calculator: &Calculator| {
        calculator.sums_of_states(&mut placed, &[state, state], Formula::default())
    };
    let found = ask(&calculator).unwrap();
    let one = calculator.sums(&call.screening(), &call.bands(), &call.omega, Formula::default());
    let one = one.unwrap();
    assert!(one.version == "cpu:alone" && one.derivative.as_ref().unwrap().len() == 3);
    for of_state in found {
        assert_eq!((&of_state.derivative, &of_state.sums), (&one.derivative, &one.sums));
    }
    let single = calculator.clone().with_precision(Precision::Single).with_sigma_alone(true);
    for wrong in [single, calculator.clone().with_version("v13").unwrap()] {
        let error = ask(&wrong).unwrap_err().to_string();
        assert!(error.contains("derivative") && error.contains("cpu:alone"), "{error}");
    }
    let error = calculator.matrix_at(&mut placed, &call.matrix(), &call.omega, Formula::default());
    assert_fails(error, "derivative");
}

/// What is kept of poles belongs to its η.
#[test]
fn a_placed_screening_has_the_bits_of_a_fresh_one_at_any_broadening() {
    let (call, calculator) = (call(2, true, 1, 9), Calculator::open("cpu").unwrap());
    let mut placed = calculator.place(&call.screening()).unwrap();
    let some =
        [broad(0.1), Formula::default(), broad(0.1), windowed(0.2), broad(0.2), windowed(0.1)];
    let bare = [Formula::BerkeleyGw { gamma: 0.0, sexcut: f64::INFINITY }];
    for formula in [&some[..], &bare, &some, &bare].concat() {
        let fresh = calculator.sums(&call.screening(), &call.bands(), &call.omega, formula);
        let again = calculator.sums_at(&mut placed, &call.bands(), &call.omega, formula);
        assert_eq!(fresh.unwrap().sums, again.unwrap().sums, "{formula:?}");
    }
    let both = Formula::TimeOrdered { eta: 0.1, window: 0.1 };
    for (formula, named) in [
        (broad(-0.1), "eta is -0.1"),
        (broad(f64::NAN), "eta is NaN"),
        (broad(f64::INFINITY), "eta is inf"),
        (windowed(-0.1), "window is -0.1"),
        (windowed(f64::NAN), "window is NaN"),
        (both, "window: needs the time-ordered formula with eta 0"),
        (Formula::BerkeleyGw { gamma: 0.5, sexcut: -1.0 }, "sexcut is -1.0"),
        (Formula::BerkeleyGw { gamma: f64::NAN, sexcut: 4.0 }, "gamma is NaN"),
    ] {
        assert_fails(calculator.sums_at(&mut placed, &call.bands(), &call.omega, formula), named);
    }
    let of_static = calculator.clone().with_static_ch(true);
    let error = of_static.sums_at(&mut placed, &call.bands(), &call.omega, broad(0.1));
    assert_fails(error, "static_ch");
}
