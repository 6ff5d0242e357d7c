//! Σ alone in single precision: its error relative to Σ|terms|, on inputs that are hard for 24 bits.

use gpp::kernels::plan::Poles;
use gpp::problem::Problem;
use num_complex::Complex64;

use crate::common::{FIXTURES, Kind, Random, changed, fixture, made, real, remade};
use crate::sums;

const U: f64 = 1.0 / (1u64 << 24) as f64;

/// 24 roundings of factors and 64 of sums, one after the other.
const GUARANTEED: f64 = (24.0 + 64.0) * U;

const VERSIONS: [&str; 4] = ["s1", "s2", "s3", "s4"];

/// The largest error of Σ of each version at any energy, relative to Σ|terms|, without what rounding in FP64 decides.
fn errors(problem: &Problem) -> [f64; VERSIONS.len()] {
    let right = crate::precise::precisely(problem);
    let (scale, right) = (right.scale.alone(), right.sums.alone().ach);
    VERSIONS.map(|id| {
        let found = sums(problem, gpp::catalogue::find(id).unwrap()).alone().ach;
        let errors = (0..right.len()).map(|e| {
            let (size, undecided) = (scale.magnitudes[e][1], scale.undecided[e][1]);
            let off = (found[e] - right[e]).norm() - undecided;
            let error = if off <= 0.0 { 0.0 } else { off / size };
            assert!(error >= 0.0, "{id} of {}: {off} of {size}", problem.name());
            error
        });
        errors.fold(0.0, f64::max)
    })
}

/// Near a pole the plain differences of s1 lose more.
fn assert_within(problem: &Problem, most: f64) {
    for (id, error) in VERSIONS.into_iter().zip(errors(problem)) {
        let most = if id == "s1" { most.max(1.0 / 8192.0) } else { most };
        assert!(error <= most, "{id} of {}: {error:.2e}", problem.name());
    }
}

/// As [`made`], real poles without those below zero: kernels for real poles sum them.
fn positive(extents: [usize; 4], kind: Kind, seed: u64) -> Problem {
    let made = made(extents, kind, seed);
    if kind != Kind::Real {
        return made;
    }
    let problem = remade(&made, |_, of| of.wtilde.iter_mut().for_each(|z| z.re = z.re.abs()));
    assert_eq!(problem.poles(), Poles::Real);
    problem
}

/// One pair of a real call holds most of Σ: its factors' roundings, two or three at random, are the error.
#[test]
fn real_calls() {
    for name in real().chain(FIXTURES.into_iter().filter(|name| !name.contains('/'))) {
        assert_within(&fixture(name), 4.0 * U);
    }
}

#[test]
fn many_pairs_average_out() {
    let each = (1..=3).flat_map(|nw| [(Kind::Real, nw), (Kind::First, nw)]);
    for (kind, nw) in each.chain([(Kind::Mixed, 2), (Kind::CutOff, 3)]) {
        let problem = positive([300, 40, 70, nw], kind, 5);
        assert!(kind != Kind::First || problem.poles() != Poles::Real);
        assert_within(&problem, U);
    }
}

/// Differences near poles and sums of many terms that round alike: s2 and later keep the bound, and lose half as much as s1.
#[test]
fn what_cancels_and_what_adds_up() {
    for kind in [Kind::Real, Kind::Mixed] {
        let near = remade(&positive([90, 20, 33, 2], kind, 8), |header, of| {
            (header.sig_gamma, header.sexcut) = (1e-2, 1e5);
            let (wx, mut random) = (header.wx(), Random::of(3));
            for pole in of.wtilde.iter_mut().step_by(2) {
                let w = wx[(random.unit() * wx.len() as f64) as usize];
                *pole = (w.abs() + random.between(0.01, 0.02)).into();
            }
        });
        let alike = remade(&positive([4096, 2, 1, 2], kind, 8), |_, of| {
            of.aqsn.fill(Complex64::new(0.7, -0.3));
            of.aqsm_local.fill(Complex64::new(0.2, 0.9));
        });
        let alike = changed(alike, |_, wx, occ| {
            wx.chunks_mut(2).for_each(|w| w.copy_from_slice(&[-3.1, -1.7]));
            occ.fill(0.0);
        });
        let above = changed(remade(&near, |_, _| ()), |_, wx, _| {
            wx.iter_mut().for_each(|w| *w = w.abs());
        });
        for problem in [near, above.unwrap(), alike.unwrap()] {
            let errors = errors(&problem).map(|error| error / GUARANTEED);
            let least = (0.5 * errors[0]).min(1.0);
            assert!(errors[1..].iter().all(|error| *error <= least), "{kind:?}: {errors:?}");
        }
    }
}

/// Poles of 1e12 eV, at gamma from an energy and beside it, on energies and on their negatives.
#[test]
fn poles_at_the_edges() {
    for kind in [Kind::Real, Kind::Mixed] {
        for gamma in [0.5, 1e-9, 0.0] {
            let problem = positive([90, 20, 33, 2], kind, 8);
            let wx = problem.header().wx();
            let problem = remade(&problem, |header, of| {
                header.sig_gamma = gamma;
                let edge = if gamma == 0.0 { 0.5 } else { gamma };
                let mut random = Random::of(3);
                for pole in &mut of.wtilde {
                    let w = wx[(random.unit() * wx.len() as f64) as usize];
                    let beside = 1.0
                        + random.between(-1.0, 1.0) * if random.unit() < 0.5 { U } else { 1e-4 };
                    *pole = match (random.unit() * 8.0) as usize {
                        0 => Complex64::new(1e12, 0.0),
                        1 => Complex64::new(1e13 * random.unit(), 0.0),
                        2 => Complex64::new((w + edge * beside).abs(), 0.0),
                        3 => Complex64::new((w - edge * beside).abs(), 0.0),
                        4 => Complex64::new(w.abs() * beside, 0.0),
                        5 => Complex64::new(w.abs() + 2e-4 * random.unit(), 0.0),
                        _ => *pole,
                    };
                }
            });
            assert_within(&problem, GUARANTEED);
        }
    }
}

/// Factors that FP32 does not hold, by themselves or beside each other in a row, and one pair with all the weight.
#[test]
fn factors_of_all_sizes() {
    let problem = made([150, 20, 70, 2], Kind::Real, 9);
    let (nbands, ncouls, ngpown) = (150, 70, 20);
    let scaled = |aqsn: &dyn Fn(usize, usize) -> f64, aqsm: &dyn Fn(usize, usize) -> f64| {
        remade(&problem, |_, of| {
            for n in 0..nbands {
                (0..ncouls).for_each(|ig| of.aqsn[n * ncouls + ig] *= aqsn(ig, n));
                (0..ngpown).for_each(|igp| of.aqsm_local[n * ngpown + igp] *= aqsm(igp, n));
            }
        })
    };
    let one = |_, _| 1.0;
    for size in [1e-30, 1e30, 1e-45, 1e45] {
        assert_within(&scaled(&|_, _| size, &one), 2.0 * U);
        assert_within(&scaled(&|_, _| size, &|_, _| size), 2.0 * U);
        // Rows of all sizes, and bands.
        let of_rows = |ig, _| if ig % 3 == 0 { size } else { 1.0 };
        assert_within(&scaled(&of_rows, &one), GUARANTEED);
        let of_bands = |at: usize| move |_, n: usize| if n % 2 == at { size } else { 1.0 };
        assert_within(&scaled(&of_bands(0), &of_bands(1)), GUARANTEED);
    }
    let heavy = |ig, _| if ig == 5 { 1e9 } else { 1.0 };
    assert_within(&scaled(&heavy, &|igp, _| if igp == 3 { 1e9 } else { 1.0 }), GUARANTEED);
}
