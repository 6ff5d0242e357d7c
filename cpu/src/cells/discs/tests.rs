//! A level's vectors against [`gpp_kernels::sigma::complex`], whose tests say how much moments tell.

use gpp_kernels::sigma::FarField as Way;
use gpp_kernels::sigma::complex as series;

use crate::cells::discs::*;
use crate::cells::real::numbers;
use crate::lanes::Single;

const LIMITS: Limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };

fn number(of: ComplexLanes<Single>) -> Complex64 {
    let [re, im] = [of.re, of.im].map(|lanes| numbers(lanes)[0]);
    Complex64::new(re, im)
}

/// Discs all over the plane, a small one and one without a radius.
fn discs() -> impl Iterator<Item = Disc> {
    let all = (0..500).map(|at| {
        let at = f64::from(at);
        let middle = Complex64::from_polar(0.02 + at * 0.05, at * 0.0648);
        (middle, (0.05 + 0.02 * (at % 3.0)).min(middle.norm() / LEAST))
    });
    let others = [(1e-6, 1e-8), (3.0, f64::NAN)].map(|(re, radius)| (Complex64::from(re), radius));
    all.chain(others).map(|(middle, radius)| Disc { middle, radius, begin: 0, end: 1 })
}

#[test]
fn ways_and_weights_are_those_of_one_number() {
    let mut seen = [0; 5];
    let even = (-60..80).map(|step| f64::from(step) * 0.5 + 0.017);
    let energies: Vec<f64> = even.chain([1e-12, 1e3, -1e3, 1e90, -1e90, 1e101, -1e150]).collect();
    let moments: Moments = std::array::from_fn(|k| [[1.0 / (k + 1) as f64; _], [-0.3; _]]);
    for disc in discs() {
        let (lanes, one) =
            (Bounds::<Single>::of((), &disc, LIMITS), series::Acceptance::of(&disc, &LIMITS));
        for &w in &energies {
            for occupied in [false, true] {
                let Ways { told, first: q, ssx } = lanes.ways(lanes.splat(w), occupied);
                let found = told.then_some(Way { q, ssx });
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
        let bounds = Bounds::<Single>::of((), &disc, LIMITS);
        for &w in energies.iter().chain(&[2.9, 3.1, 1e99, 1e101, -1e101]) {
            for occupied in [false, true] {
                let one = bounds.splat(1.0);
                let is_first = bounds.is_first(bounds.splat(w), occupied);
                if numbers(Lanes::select(is_first, one, bounds.splat(0.0)))[0] == 0.0 {
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
