//! Expansions against quotients, and far fields against the definition.

use num_complex::Complex64;

use crate::arrays::Limits;
use crate::sigma::complex::Acceptance;
use crate::sigma::real::{IntervalExpansion, far_field};
use crate::sigma::{Disc, FarField, Interval, complex, real};

const LIMITS: Limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };

fn interval(low: f64, high: f64) -> Interval {
    Interval { low, high, begin: 0, end: 1 }
}

fn disc(middle: Complex64, radius: f64) -> Disc {
    Disc { middle, radius, begin: 0, end: 1 }
}

fn length(z: Complex64) -> f64 {
    z.re.hypot(z.im)
}

fn polar(size: f64, angle: f64) -> Complex64 {
    Complex64::new(size * angle.cos(), size * angle.sin())
}

/// Poles of a disc: its middle and points on its rim.
fn poles(of: &Disc) -> impl Iterator<Item = Complex64> + Clone + use<> {
    let Disc { middle, radius, .. } = *of;
    (0..16).map(move |at| middle + polar(radius, f64::from(at) * 0.393)).chain([middle])
}

/// What weights make of the moments of one pair of weight one.
fn sum(weights: [f64; real::MOMENTS], wtilde: f64, interval: &Interval) -> f64 {
    let (mid, half) = interval.middle();
    let t = ((wtilde - mid) / half).clamp(-1.0, 1.0);
    (0..).zip(weights).map(|(k, weight)| weight * (f64::from(k) * t.acos()).cos()).sum()
}

/// The moments of one pair of weight one.
fn moments(wtilde: Complex64, of: &Disc) -> [Complex64; complex::MOMENTS] {
    let (zeta, mut power) = ((wtilde - of.middle) / of.radius, Complex64::ONE);
    core::array::from_fn(|_| {
        let now = power;
        power *= zeta;
        now
    })
}

/// The sum by moments over the quotient, less one.
fn relative(w: f64, wtilde: f64, interval: &Interval) -> f64 {
    sum(IntervalExpansion::at_energy(w, interval).weights, wtilde, interval) * (w - wtilde) - 1.0
}

/// The size of that for complex poles.
fn relative_in_disc(w: f64, wtilde: Complex64, of: &Disc) -> f64 {
    let (moments, expansion) = (moments(wtilde, of), of.expansion(w));
    let sum = expansion.first * (moments[0] + expansion.tail(|k| moments[k]));
    length(sum * (w - wtilde) - 1.0)
}

/// Roundings of the test's own quotients and of the moments of one pair.
const ROUNDED: f64 = 32.0 * f64::EPSILON;

#[test]
fn expansions_in_intervals_are_as_exact_as_stated() {
    let interval = interval(3.0, 3.0625);
    let (mid, half) = interval.middle();
    let mut most: f64 = 0.0;
    for s in [real::MIN_DISTANCE, 101.0, 150.0, 1e4, 1e9].into_iter().flat_map(|s| [-s, s]) {
        for at in 0..=16 {
            let wtilde = interval.low + (interval.high - interval.low) * f64::from(at) / 16.0;
            most = most.max(relative(mid + s * half, wtilde, &interval).abs());
        }
    }
    assert!(most <= 1.6e-16 + 16.0 * f64::EPSILON, "{most:e}");
    // Not by chance: nearer they tell less.
    assert!(relative(mid + 0.3 * real::MIN_DISTANCE * half, 3.0, &interval).abs() > 1e-13);
}

#[test]
fn expansions_in_discs_are_as_exact_as_stated() {
    let mut most: f64 = 0.0;
    for middle in [Complex64::new(3.0, 0.5), Complex64::new(-2.0, 0.0), Complex64::new(0.0, -4.0)] {
        // As near as moments tell it, and farther.
        for away in [1.0, 1.01, 1.5, 1e3, 1e9].into_iter().flat_map(|away: f64| [-away, away]) {
            let w = middle.re + 4.0 * away;
            let of = disc(middle, length(w - middle) / complex::MIN_DISTANCE / away.abs());
            most = poles(&of).map(|wtilde| relative_in_disc(w, wtilde, &of)).fold(most, f64::max);
        }
    }
    assert!(most <= 1e-16 + ROUNDED, "{most:e}");
    // Not by chance: nearer they tell less.
    let (near, w) = (disc(Complex64::new(3.0, 0.5), 0.5), 3.0 + 0.3 * complex::MIN_DISTANCE * 0.5);
    assert!(poles(&near).any(|wtilde| relative_in_disc(w, wtilde, &near) > 1e-11));
}

#[test]
fn differences_in_intervals_keep_their_digits() {
    let mut most: f64 = 0.0;
    for (low, w) in [(3.0, 25.0), (0.01, 30.0), (0.01, -30.0), (1e-3, 1e16), (2.0, 1e-12)] {
        let interval = interval(low, low * (1.0 + 1.0 / 32.0));
        let [q, p] = [w, -w].map(|w| IntervalExpansion::at_energy(w, &interval));
        let weights = q.minus(&p, w, &interval);
        for wtilde in [interval.low, interval.middle().0, interval.high] {
            let expected = 2.0 * wtilde / ((w - wtilde) * (w + wtilde));
            most = most.max((sum(weights, wtilde, &interval) / expected - 1.0).abs());
        }
    }
    assert!(most <= 6e-16 + 16.0 * f64::EPSILON, "{most:e}");
}

#[test]
fn differences_in_discs_keep_their_digits() {
    let mut most: f64 = 0.0;
    for (angle, far) in (0..8).flat_map(|angle| [1e-3, 0.1, 3.0, 40.0].map(|far| (angle, far))) {
        let middle = polar(far, f64::from(angle) * 0.8);
        let of = disc(middle, far / complex::MIN_DISTANCE);
        for w in [1e-12, 2.2 * far, -3.0 * far, 30.0 * far, -1e4 * far, 1e16 * far] {
            let (q, p) = (of.expansion(w), of.expansion(-w));
            let is_far = |side: f64| length(middle - side * w) >= complex::MIN_DISTANCE * of.radius;
            if !(is_far(1.0) && is_far(-1.0)) {
                continue;
            }
            for wtilde in poles(&of) {
                let m = moments(wtilde, &of);
                let tails = q.first * q.tail(|k| m[k]) + p.first * p.tail(|k| m[k]);
                let expected = 2.0 * wtilde / ((w - wtilde) * (w + wtilde));
                most = most.max(length((m[0] * of.difference(&q, &p) + tails) / expected - 1.0));
            }
        }
    }
    assert!(most <= 4e-16 + ROUNDED, "{most:e}");
}

/// Compares the far field of a cluster at energies with the definition's branches for each pole, and counts what it is.
fn check_far_field(
    far_field: impl Fn(f64, bool) -> Option<FarField>,
    poles: impl Iterator<Item = Complex64> + Clone,
    (energies, apart): (core::ops::Range<i32>, f64),
    seen: &mut [usize; 5],
) {
    for (step, occupied) in energies.flat_map(|step| [(step, false), (step, true)]) {
        let w = f64::from(step) * apart + 0.017;
        let Some(FarField { q, ssx }) = far_field(w, occupied) else {
            seen[4] += 1;
            continue;
        };
        seen[usize::from(q) * 2 + usize::from(ssx)] += 1;
        for wtilde in poles.clone() {
            let (d, s) = (length(w - wtilde), length(w + wtilde));
            let first = d * d > 0.25 && (length(wtilde) / d).powi(2) < 250_000.0;
            assert_eq!(q, first, "{w} {wtilde}");
            let size = if first { wtilde.norm_sqr() / (d * s) } else { length(wtilde) / (2.0 * s) };
            let cut = w < 0.0 && size > 4.0;
            assert_eq!(ssx, occupied && !cut, "{w} {wtilde}");
        }
    }
}

#[test]
fn the_far_field_is_that_of_every_pole() {
    let (mut real, mut any) = ([0; 5], [0; 5]);
    for at in 0..2000 {
        let low = f64::from(at) * 0.013 + 1e-3;
        let of = interval(low, low + 0.006_f64.min(low / 32.0));
        let poles = [of.low, of.middle().0, of.high].map(Complex64::from);
        let far_field = |w, occupied| far_field(w, &of, occupied, &LIMITS);
        check_far_field(far_field, poles.into_iter(), (-120..160, 0.25), &mut real);
    }
    for at in 0..1500 {
        // Everywhere in the plane, also behind the imaginary axis, as large as the nearest of all may be.
        let middle = polar(0.02 + f64::from(at) * 0.016, f64::from(at % 97) * 0.0648);
        let most = length(middle) / complex::MIN_DISTANCE;
        let of = disc(middle, (0.05 + 0.02 * f64::from(at % 3)).min(most));
        let acceptance = Acceptance::for_disc(&of, &LIMITS);
        let far_field = |w: f64, occupied| {
            let far = acceptance.far_field(w, occupied)?;
            for (side, is_used) in [(1.0, far.q), (-1.0, far.ssx)] {
                // With room where rounding decides.
                let least = complex::MIN_DISTANCE * of.radius * (1.0 - 1e-12);
                assert!(!is_used || length(middle - side * w) >= least, "{w} {of:?}");
            }
            Some(far)
        };
        check_far_field(far_field, poles(&of), (-60..80, 0.5), &mut any);
    }
    assert!(real.iter().chain(&any).all(|&count| count > 0), "{real:?} {any:?}");
}

/// The far fields of an interval and of a disc.
fn far_fields(w: f64, occupied: bool, part: &Interval, of: &Disc) -> [Option<FarField>; 2] {
    let acceptance = Acceptance::for_disc(of, &LIMITS);
    [far_field(w, part, occupied, &LIMITS), acceptance.far_field(w, occupied)]
}

#[test]
fn what_overflows_is_near_field() {
    let part = interval(1e-6, 1e-6 * (1.0 + 1.0 / 32.0));
    let of = disc(Complex64::new(1e-6, 1e-6), 1e-8);
    for (w, is_far) in [(1e3, true), (1e90, true), (-1e90, true), (1e101, false), (-1e150, false)] {
        for occupied in [false, true] {
            let found = far_fields(w, occupied, &part, &of).map(|far| far.is_some());
            assert_eq!(found, [is_far; 2], "{w:e}");
        }
        if is_far {
            assert!(relative(w, 1e-6, &part).abs() <= 4e-15, "{w:e}");
            assert!(relative_in_disc(w, of.middle, &of) <= ROUNDED, "{w:e}");
        }
    }
}

#[test]
fn a_pole_at_the_energy_and_a_cluster_without_bounds_are_near_field() {
    let (part, of) = (interval(3.0, 3.0 + 1e-4), disc(3.0.into(), 1e-4));
    assert_eq!(far_fields(3.00005, false, &part, &of), [None; 2]);
    let second = Some(FarField { q: false, ssx: false });
    assert_eq!(far_fields(3.01, false, &part, &of), [second; 2]);
    let (part, of) = (interval(f64::NAN, f64::NAN), disc(Complex64::new(3.0, 0.1), f64::NAN));
    for w in [-30.0, -1.0, 1e-12, 3.0, 1e6] {
        let found = [true, false].map(|occupied| far_fields(w, occupied, &part, &of));
        assert_eq!(found, [[None; 2]; 2]);
    }
}
