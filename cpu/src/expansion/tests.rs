//! The far fields of a level's vectors against those of numbers, in [`gpp_kernels::sigma`].

use fearless_simd::Fallback;
use gpp_kernels::sigma::real::far_field;
use gpp_kernels::sigma::{FarField as OneFarField, complex};

use super::*;

const LIMITS: Limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };

/// Energies from −30 eV on, and far ones.
fn energies(step: f64, count: u32) -> impl Iterator<Item = f64> {
    let even = (0..count).map(move |at| f64::from(at) * step - 29.983);
    even.chain([1e-12, 1e3, -1e3, 1e90, -1e90, 1e101, -1e150])
}

/// Discs all over the plane, and a small one.
fn discs() -> impl Iterator<Item = Disc> {
    let all = (0..500).map(|at| {
        let at = f64::from(at);
        let middle = Complex64::from_polar(0.02 + at * 0.05, at * 0.0648);
        (middle, (0.05 + 0.02 * (at % 3.0)).min(middle.norm() / complex::MIN_DISTANCE))
    });
    let all = all.chain([(1e-6.into(), 1e-8)]);
    all.map(|(middle, radius)| Disc { middle, radius, begin: 0, end: 1 })
}

/// Compares a cluster's far field in vectors with that of one number, and counts what it is.
fn compare<E: ClusterExpansion<Fallback, Cluster: std::fmt::Debug>>(
    cluster: &E::Cluster,
    energies: impl Iterator<Item = f64>,
    one: impl Fn(f64, bool) -> Option<OneFarField>,
    seen: &mut [usize; 5],
) {
    let vectors = E::for_cluster(Fallback::new(), cluster, LIMITS).unwrap();
    for (w, occupied) in energies.flat_map(|w| [(w, false), (w, true)]) {
        let far = vectors.far_field(splat(Fallback::new(), w), occupied);
        let way = OneFarField { q: far.first.test(0), ssx: far.ssx.test(0) };
        let found = far.holds.test(0).then_some(way);
        assert_eq!(found, one(w, occupied), "{w:e} {cluster:?} {occupied}");
        seen[found.map_or(4, |way| usize::from(way.q) * 2 + usize::from(way.ssx))] += 1;
    }
}

#[test]
fn far_fields_are_those_of_one_number() {
    let (mut real, mut any) = ([0; 5], [0; 5]);
    // Clusters from near zero on, and one of small poles.
    for low in (0..500).map(|at| f64::from(at) * 0.052 + 1e-3).chain([1e-6]) {
        let part = Interval { low, high: low + 0.006_f64.min(low / 32.0), begin: 0, end: 1 };
        let one = |w, occupied| far_field(w, &part, occupied, &LIMITS);
        compare::<Chebyshev<_>>(&part, energies(0.25, 280), one, &mut real);
    }
    for disc in discs() {
        let one = complex::Acceptance::for_disc(&disc, &LIMITS);
        let one = |w, occupied| one.far_field(w, occupied);
        compare::<Powers<_>>(&disc, energies(0.5, 140), one, &mut any);
    }
    assert!(real.iter().chain(&any).all(|&count| count > 0), "{real:?} {any:?}");
}

#[test]
fn where_the_first_branch_is_said_to_hold_it_does_for_every_pole() {
    let mut seen = [0; 3];
    for disc in discs().chain([Disc { middle: (-3.0).into(), radius: 0.2, begin: 0, end: 1 }]) {
        let bounds = Powers::for_cluster(Fallback::new(), &disc, LIMITS).unwrap();
        let all = energies(0.5, 140).chain([2.9, 3.1, 1e99, -1e101]);
        for (w, occupied) in all.flat_map(|w| [(w, false), (w, true)]) {
            if !bounds.is_first(splat(Fallback::new(), w), occupied).test(0) {
                seen[2] += 1;
                continue;
            }
            seen[usize::from(occupied)] += 1;
            assert!(w.abs() <= 1e100, "{w:e}");
            let rim = (0..16).map(|at| Complex64::from_polar(disc.radius, f64::from(at) * 0.393));
            for wtilde in rim.chain([Complex64::ZERO]).map(|from| disc.middle + from) {
                let (d, s) = ((w - wtilde).norm(), (w + wtilde).norm());
                let is_first = d * d > 0.25 && (wtilde.norm() / d).powi(2) < 250_000.0;
                let is_kept = s > 0.0 && (w >= 0.0 || wtilde.norm_sqr() / (d * s) <= 4.0);
                assert!(is_first && (!occupied || is_kept), "{w} {wtilde}");
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 1000), "{seen:?}");
}
