//! A level's vectors against [`gpp_kernels::sigma::real`] and [`gpp_kernels::sigma::complex`], whose tests say how exact
//! expansions are.

use fearless_simd::Fallback;
use gpp_kernels::sigma::FarField as OneFarField;
use gpp_kernels::sigma::complex;
use gpp_kernels::sigma::real::{Expansion as OneExpansion, far_field};

use super::*;

const LIMITS: Limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };

fn way_of(far: FarField<Fallback>) -> Option<OneFarField> {
    far.holds.test(0).then(|| OneFarField { q: far.first.test(0), ssx: far.ssx.test(0) })
}

fn number(z: Complex<Fallback>) -> Complex64 {
    Complex64::new(z.re[0], z.im[0])
}

/// Clusters from near zero on, and one of small poles.
fn parts() -> impl Iterator<Item = Interval> {
    let low = (0..500).map(|at| f64::from(at) * 0.052 + 1e-3);
    let bounds = low.map(|low| (low, low + 0.006_f64.min(low / 32.0)));
    bounds.chain([(1e-6, 1e-6 * (1.0 + 1.0 / 32.0))]).map(|(low, high)| Interval {
        low,
        high,
        begin: 0,
        end: 1,
    })
}

fn energies() -> impl Iterator<Item = f64> {
    let even = (-120..160).map(|step| f64::from(step) * 0.25 + 0.017);
    even.chain([1e-12, 1e3, -1e3, 1e90, -1e90, 1e100, -1e150])
}

#[test]
fn far_fields_of_real_poles_are_those_of_one_number() {
    let mut seen = [0; 5];
    for part in parts() {
        let vectors = Chebyshev::of(Fallback::new(), &part, LIMITS).unwrap();
        for w in energies() {
            for occupied in [false, true] {
                let found = way_of(vectors.far_field(vectors.splat(w), occupied));
                assert_eq!(
                    found,
                    far_field(w, &part, occupied, &LIMITS),
                    "{w:e} {part:?} {occupied}"
                );
                seen[found.map_or(4, |way| usize::from(way.q) * 2 + usize::from(way.ssx))] += 1;
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn weights_of_polynomials_are_those_of_one_number() {
    let mut compared = 0;
    for part in parts() {
        let vectors = Chebyshev::of(Fallback::new(), &part, LIMITS).unwrap();
        for w in energies() {
            let [at, opposite] = [vectors.splat(w), vectors.splat(-w)];
            if !(vectors.converges(at) & vectors.converges(opposite)).test(0) {
                continue;
            }
            let lanes = [at, opposite].map(|w| vectors.weights(w));
            let both = vectors.difference(at, lanes[0], lanes[1]);
            let [q, p] = [w, -w].map(|w| OneExpansion::of(w, &part));
            let expected = q.minus(&p, w, &part);
            for k in 0..MOMENTS {
                // A root, two quotients and k products.
                let same = |found: f64, expected: f64, size: f64| {
                    let room = (8 + 2 * k) as f64 * f64::EPSILON * size.abs();
                    assert!((found - expected).abs() <= room, "{w:e} {part:?} {k}");
                };
                let (of_q, of_p) = (q.weights[k], p.weights[k]);
                same(lanes[0].0[k][0], of_q, of_q);
                same(lanes[1].0[k][0], of_p, of_p);
                // The weight of T₀ has no cancellation.
                let size = if k == 0 { expected[0] } else { of_q.abs() + of_p.abs() };
                same(both[k][0], expected[k], size);
            }
            compared += 1;
        }
    }
    assert!(compared > 100_000, "{compared}");
}

/// Discs all over the plane, and a small one.
fn discs() -> impl Iterator<Item = Disc> {
    let all = (0..500).map(|at| {
        let at = f64::from(at);
        let middle = Complex64::from_polar(0.02 + at * 0.05, at * 0.0648);
        (middle, (0.05 + 0.02 * (at % 3.0)).min(middle.norm() / MIN_DISTANCE_OF_POWERS))
    });
    all.chain([(1e-6.into(), 1e-8)]).map(|(middle, radius)| Disc {
        middle,
        radius,
        begin: 0,
        end: 1,
    })
}

#[test]
fn powers_are_those_of_one_number() {
    let mut seen = [0; 5];
    let even = (-60..80).map(|step| f64::from(step) * 0.5 + 0.017);
    let energies: Vec<f64> = even.chain([1e-12, 1e3, -1e3, 1e90, -1e90, 1e101, -1e150]).collect();
    let moments: [Moment; POWERS] = std::array::from_fn(|k| [[1.0 / (k + 1) as f64; _], [-0.3; _]]);
    for disc in discs() {
        let (lanes, one) = (
            Powers::of(Fallback::new(), &disc, LIMITS).unwrap(),
            complex::Acceptance::of(&disc, &LIMITS),
        );
        for &w in &energies {
            for occupied in [false, true] {
                let found = way_of(lanes.far_field(lanes.splat(w), occupied));
                assert_eq!(found, one.far_field(w, occupied), "{w:e} {disc:?} {occupied}");
                seen[found.map_or(4, |way| usize::from(way.q) * 2 + usize::from(way.ssx))] += 1;
            }
            if one.far_field(w, false).is_none_or(|way| !way.q) {
                continue;
            }
            let [of_lanes, opposite] = [w, -w].map(|w| lanes.series(lanes.splat(w)));
            let [expected, other] = [w, -w].map(|w| one.expansion(w));
            let moment = |k: usize| Complex64::new(moments[k][0][0], moments[k][1][0]);
            let pairs = [
                (number(of_lanes.first), expected.first),
                (number(lanes.tail(&of_lanes, &moments, 0)), expected.tail(moment)),
                (number(lanes.difference(&of_lanes, &opposite)), one.difference(&expected, &other)),
            ];
            for (found, expected) in pairs {
                // A quotient, and a few products and sums of numbers no larger than the first.
                assert!((found - expected).norm() <= 1e-14 * expected.norm(), "{w:e} {disc:?}");
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

/// Points of a disc, its rim's too.
fn poles(of: &Disc) -> impl Iterator<Item = Complex64> + use<> {
    let Disc { middle, radius, .. } = *of;
    let rim = (0..16).map(move |at| Complex64::from_polar(radius, f64::from(at) * 0.393));
    rim.map(move |from| middle + from).chain([middle])
}

#[test]
fn where_the_first_branch_is_said_to_hold_it_does_for_every_pole() {
    let mut seen = [0; 3];
    let energies: Vec<f64> = (-60..80).map(|step| f64::from(step) * 0.5 + 0.017).collect();
    for disc in discs().chain([Disc { middle: (-3.0).into(), radius: 0.2, begin: 0, end: 1 }]) {
        let bounds = Powers::of(Fallback::new(), &disc, LIMITS).unwrap();
        for &w in energies.iter().chain(&[2.9, 3.1, 1e99, 1e101, -1e101]) {
            for occupied in [false, true] {
                if !bounds.is_first(bounds.splat(w), occupied).test(0) {
                    seen[2] += 1;
                    continue;
                }
                seen[usize::from(occupied)] += 1;
                assert!(w.abs() <= 1e100, "{w:e}");
                for wtilde in poles(&disc) {
                    let (d, s) = ((w - wtilde).norm(), (w + wtilde).norm());
                    assert!(
                        d * d > 0.25 && (wtilde.norm() / d).powi(2) < 250_000.0,
                        "{w} {wtilde}"
                    );
                    if occupied {
                        assert!(s > 0.0, "{w} {wtilde}");
                        assert!(w >= 0.0 || wtilde.norm_sqr() / (d * s) <= 4.0, "{w} {wtilde}");
                    }
                }
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 1000), "{seen:?}");
}
