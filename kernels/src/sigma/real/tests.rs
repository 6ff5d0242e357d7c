//! Expansions against quotients.

use crate::sigma::real::*;

const LIMITS: Limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };

fn interval(low: f64, high: f64) -> Interval {
    Interval { low, high, begin: 0, end: 1 }
}

/// What weights make of the moments of one pair of weight one.
fn sum(weights: [f64; MOMENTS], wtilde: f64, interval: &Interval) -> f64 {
    let (mid, half) = interval.middle();
    let t = ((wtilde - mid) / half).clamp(-1.0, 1.0);
    (0..).zip(weights).map(|(k, weight)| weight * (f64::from(k) * t.acos()).cos()).sum()
}

/// The sum by moments over the quotient.
fn relative(w: f64, wtilde: f64, interval: &Interval) -> f64 {
    sum(IntervalExpansion::at_energy(w, interval).weights, wtilde, interval) * (w - wtilde) - 1.0
}

#[test]
fn expansions_are_as_exact_as_stated() {
    let interval = interval(3.0, 3.0625);
    let (mid, half) = interval.middle();
    let mut most: f64 = 0.0;
    for s in [MIN_DISTANCE, 101.0, 150.0, 1e4, 1e9] {
        for side in [-1.0, 1.0] {
            for at in 0..=16 {
                let wtilde = interval.low + (interval.high - interval.low) * f64::from(at) / 16.0;
                most = most.max(relative(mid + side * s * half, wtilde, &interval).abs());
            }
        }
    }
    assert!(most <= 1.6e-16 + 16.0 * f64::EPSILON, "{most:e}");
    // Not by chance: nearer they tell less.
    assert!(relative(mid + 0.3 * MIN_DISTANCE * half, 3.0, &interval).abs() > 1e-13);
}

#[test]
fn differences_keep_their_digits() {
    let mut most: f64 = 0.0;
    for (low, w) in [(3.0, 25.0), (0.01, 30.0), (0.01, -30.0), (1e-3, 1e16), (2.0, 1e-12)] {
        let interval = interval(low, low * (1.0 + 1.0 / 32.0));
        let weights = IntervalExpansion::at_energy(w, &interval).minus(
            &IntervalExpansion::at_energy(-w, &interval),
            w,
            &interval,
        );
        for wtilde in [interval.low, interval.middle().0, interval.high] {
            let expected = 2.0 * wtilde / ((w - wtilde) * (w + wtilde));
            most = most.max((sum(weights, wtilde, &interval) / expected - 1.0).abs());
        }
    }
    assert!(most <= 6e-16 + 16.0 * f64::EPSILON, "{most:e}");
}

#[test]
fn the_far_field_is_that_of_every_pole_of_the_interval() {
    let mut seen = [0usize; 5];
    for at in 0..2000 {
        let low = f64::from(at) * 0.013 + 1e-3;
        let interval = interval(low, low + 0.006_f64.min(low / 32.0));
        for step in -120..160 {
            let w = f64::from(step) * 0.25 + 0.017;
            for occupied in [false, true] {
                let Some(FarField { q, ssx }) = far_field(w, &interval, occupied, &LIMITS) else {
                    seen[4] += 1;
                    continue;
                };
                seen[usize::from(q) * 2 + usize::from(ssx)] += 1;
                for wtilde in [interval.low, interval.middle().0, interval.high] {
                    let d = w - wtilde;
                    let first = d * d > 0.25 && (wtilde / d).powi(2) < 250_000.0;
                    assert_eq!(q, first, "{w} {wtilde}");
                    let size = if first {
                        wtilde * wtilde / ((w - wtilde) * (w + wtilde)).abs()
                    } else {
                        wtilde / (2.0 * (w + wtilde)).abs()
                    };
                    let cut = w < 0.0 && size > 4.0;
                    assert_eq!(ssx, occupied && !cut, "{w} {wtilde}");
                }
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn what_overflows_is_near_field() {
    let interval = interval(1e-6, 1e-6 * (1.0 + 1.0 / 32.0));
    for (w, is_far) in [(1e3, true), (1e90, true), (-1e90, true), (1e100, false), (-1e150, false)] {
        for occupied in [false, true] {
            assert_eq!(far_field(w, &interval, occupied, &LIMITS).is_some(), is_far, "{w:e}");
        }
        if is_far {
            assert!(relative(w, 1e-6, &interval).abs() <= 4e-15, "{w:e}");
        }
    }
}

#[test]
fn a_pole_at_the_energy_and_an_interval_without_bounds_are_near_field() {
    let near = interval(3.0, 3.0 + 1e-4);
    assert_eq!(far_field(3.00005, &near, false, &LIMITS), None);
    assert_eq!(far_field(3.01, &near, false, &LIMITS), Some(FarField { q: false, ssx: false }));
    let unbound = interval(f64::NAN, f64::NAN);
    for w in [-30.0, -1.0, 1e-12, 3.0, 1e6] {
        let found = [true, false].map(|occupied| far_field(w, &unbound, occupied, &LIMITS));
        assert_eq!(found, [None; 2]);
    }
}
