//! The time-ordered formula against its definition, on the arrays as they are given.

use gpp::catalogue;
use gpp_core::{Bands, Calculator, Error, Formula, MatrixBands, MatrixRef, Placed, Screening};
use num_complex::Complex64;

use crate::common::Random;

const NG: usize = 7;
const NGPOWN: usize = 5;

/// The arrays of a call, whose poles are real if η is to stay the only broadening; `aqsm` is `aqsn`.
struct Call {
    wtilde: Vec<Complex64>,
    eps: Vec<Complex64>,
    vcoul: Vec<f64>,
    aqs: Vec<Complex64>,
    e: Vec<f64>,
    occ: Vec<f64>,
    omega: Vec<f64>,
}

const INDICES: [i32; NG] = [1, 2, 3, 4, 5, 6, 7];

impl Call {
    /// Some poles at ± the energies above a band, one at nothing and one that is static.
    fn new(nw: usize, are_real: bool, seed: u64) -> Call {
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
        Call {
            wtilde,
            eps: (0..NG * NGPOWN).map(|_| r.complex()).collect(),
            vcoul: (0..NG).map(|_| r.between(0.1, 2.0)).collect(),
            aqs: (0..NG * e.len()).map(|_| r.complex()).collect(),
            e,
            occ,
            omega,
        }
    }

    fn screening(&self) -> Screening<'_> {
        let [wtilde, eps] = [&self.wtilde, &self.eps].map(|array| MatrixRef::Host(array));
        let inv_igp_index = &INDICES[..NGPOWN];
        Screening { wtilde, eps, vcoul: &self.vcoul, inv_igp_index, indinv: &INDICES }
    }

    fn bands(&self) -> Bands<'_> {
        let aqs = MatrixRef::Host(&self.aqs);
        Bands { aqsn: aqs, aqsm: aqs, aqsm_local: false, e: &self.e, occ: &self.occ }
    }

    /// Σ at each energy, and the sizes of all terms of Σ alone, and of SX − X and CH.
    fn expected(&self, eta: f64) -> Vec<(Complex64, [f64; 2])> {
        let of_energy = |&omega: &f64| {
            let (mut sum, mut lost, mut sizes) = (Complex64::ZERO, Complex64::ZERO, [0.0; 2]);
            for (n, (&e, &f)) in self.e.iter().zip(&self.occ).enumerate() {
                let (w, aqs) = (omega - e, &self.aqs[n * NG..][..NG]);
                for (pair, (&pole, &eps)) in self.wtilde.iter().zip(&self.eps).enumerate() {
                    // Without a broadening there is no term at w = ω̃, and no p at w = −ω̃.
                    let is_bare = |w: f64| eta == 0.0 && pole == Complex64::from(w);
                    if pole == Complex64::ZERO || is_bare(w) {
                        continue;
                    }
                    let (ig, igp) = (pair % NG, pair / NG);
                    let factor = 0.5 * self.vcoul[igp] * aqs[igp].conj() * aqs[ig] * (pole * eps);
                    let q = Complex64::new(w - pole.re, eta - pole.im).inv();
                    let p = Complex64::new(w + pole.re, pole.im - eta).inv();
                    let p = if is_bare(-w) { q } else { p };
                    let term = factor * ((1.0 - f) * q + f * p);
                    let size = |q_part: f64| factor.norm() * (q_part * q.norm() + f * p.norm());
                    sizes = [sizes[0] + size(1.0 - f), sizes[1] + size(1.0 + f)];
                    // Neumaier's sum.
                    let before = sum;
                    sum += term;
                    let kept = sum - before;
                    lost += (before - (sum - kept)) + (term - kept);
                }
            }
            (sum + lost, sizes)
        };
        self.omega.iter().map(of_energy).collect()
    }
}

fn found(call: &Call, calculator: &Calculator, placed: &mut Placed, eta: f64) -> Vec<Complex64> {
    let formula = Formula::TimeOrdered { eta };
    let found = calculator.sums_at(placed, &call.bands(), &call.omega, formula).unwrap().sums;
    found.asx.iter().zip(&found.ach).map(|(asx, ach)| asx + ach).collect()
}

/// 128 roundings of a term and one for each band, as `reference::roundings` has it, and 16 for η and for the definition.
const ALLOWED: f64 = (128 + 13 + 16) as f64 * 0.5 * f64::EPSILON;

/// Poles of one screening at several η one after the other, and back.
#[test]
fn the_time_ordered_formula_is_its_definition_in_every_version() {
    let calculator = Calculator::open("cpu").unwrap();
    let mut failed = Vec::new();
    for (seed, nw) in (0..).zip([1, 2, 3, 17, 64]) {
        for are_real in [true, false] {
            let call = Call::new(nw, are_real, seed);
            let mut placed = calculator.place(&call.screening()).unwrap();
            for eta in [0.1, 1e-6, 0.0, 1e-3, 1.0, 0.1] {
                let expected = call.expected(eta);
                let mut check = |what: &str, is_alone: bool, found: &[Complex64]| {
                    for (iw, (found, (expected, sizes))) in found.iter().zip(&expected).enumerate()
                    {
                        let error = (found - expected).norm() / sizes[usize::from(!is_alone)];
                        let is_within = error <= ALLOWED;
                        if !is_within {
                            failed.push(format!("{what}, {nw} {are_real} {eta} {iw}: {error:e}"));
                        }
                    }
                };
                for listed in catalogue::versions().filter(|listed| !listed.is_single()) {
                    let calculator = calculator.clone().with_version(listed.id()).unwrap();
                    let sums = found(&call, &calculator, &mut placed, eta);
                    check(listed.id(), listed.is_sigma_alone(), &sums);
                }
                let bands =
                    MatrixBands { a: &call.aqs, e: &call.e, occ: &call.occ, at_bands: false };
                for is_alone in [false, true] {
                    let (calculator, formula) = (
                        calculator.clone().with_sigma_alone(is_alone),
                        Formula::TimeOrdered { eta },
                    );
                    let found =
                        calculator.matrix_at(&mut placed, &bands, &call.omega, formula).unwrap();
                    let parts = found.sums.sx.iter().zip(&found.sums.ch);
                    check("matrix", false, &parts.map(|(sx, ch)| sx + ch).collect::<Vec<_>>());
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}:\n{}", failed.len(), failed.join("\n"));
}

/// What is kept of poles belongs to its η.
#[test]
fn a_placed_screening_has_the_bits_of_a_fresh_one_at_any_broadening() {
    let call = Call::new(2, false, 9);
    let calculator = Calculator::open("cpu").unwrap();
    let mut placed = calculator.place(&call.screening()).unwrap();
    let all = [
        Formula::TimeOrdered { eta: 0.1 },
        Formula::default(),
        Formula::TimeOrdered { eta: 0.1 },
        Formula::TimeOrdered { eta: 0.2 },
        Formula::BerkeleyGw { gamma: 0.0, sexcut: f64::INFINITY },
    ];
    for formula in all.into_iter().chain(all) {
        let fresh = calculator.sums(&call.screening(), &call.bands(), &call.omega, formula);
        let again = calculator.sums_at(&mut placed, &call.bands(), &call.omega, formula);
        assert_eq!(fresh.unwrap().sums, again.unwrap().sums, "{formula:?}");
    }
    for (formula, named) in [
        (Formula::TimeOrdered { eta: -0.1 }, "eta is -0.1"),
        (Formula::TimeOrdered { eta: f64::NAN }, "eta is NaN"),
        (Formula::TimeOrdered { eta: f64::INFINITY }, "eta is inf"),
        (Formula::BerkeleyGw { gamma: 0.5, sexcut: -1.0 }, "sexcut is -1.0"),
        (Formula::BerkeleyGw { gamma: f64::NAN, sexcut: 4.0 }, "gamma is NaN"),
    ] {
        let error: Error = calculator
            .sums_at(&mut placed, &call.bands(), &call.omega, formula)
            .expect_err("a number that is none");
        assert!(error.to_string().contains(named), "{error}");
    }
    let of_static = calculator.clone().with_static_ch(true);
    let formula = Formula::TimeOrdered { eta: 0.1 };
    let error = of_static.sums_at(&mut placed, &call.bands(), &call.omega, formula).unwrap_err();
    assert!(error.to_string().contains("static_ch"), "{error}");
}
