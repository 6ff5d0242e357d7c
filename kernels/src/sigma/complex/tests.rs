//! Expansions against quotients.

use num_complex::Complex64;

use crate::sigma::complex::*;

const LIMITS: Limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };

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
fn poles(of: &Disc) -> impl Iterator<Item = Complex64> + use<> {
    let Disc { middle, radius, .. } = *of;
    let rim = (0..16).map(move |at| middle + polar(radius, f64::from(at) * 0.393));
    rim.chain([middle])
}

/// The moments of one pair of weight one.
fn moments(wtilde: Complex64, of: &Disc) -> [Complex64; MOMENTS] {
    let zeta = (wtilde - of.middle) / of.radius;
    let mut power = Complex64::ONE;
    core::array::from_fn(|_| {
        let now = power;
        power *= zeta;
        now
    })
}

/// The sum by moments of `1/(w − ω̃)` over the quotient, less one.
fn relative(w: f64, wtilde: Complex64, of: &Disc) -> f64 {
    let (moments, expansion) = (moments(wtilde, of), of.expansion(w));
    let sum = expansion.first * (moments[0] + expansion.tail(|k| moments[k]));
    length(sum * (w - wtilde) - 1.0)
}

/// Roundings of the test's own quotients and of the moments of one pair.
const ROUNDED: f64 = 32.0 * f64::EPSILON;

#[test]
fn expansions_are_as_exact_as_stated() {
    let mut most: f64 = 0.0;
    for middle in [Complex64::new(3.0, 0.5), Complex64::new(-2.0, 0.0), Complex64::new(0.0, -4.0)] {
        for away in [1.0, 1.01, 1.5, 1e3, 1e9] {
            for side in [-1.0, 1.0] {
                // As near as moments tell it, and farther.
                let w = middle.re + side * 4.0 * away;
                let of = disc(middle, length(w - middle) / MIN_DISTANCE / away);
                most = poles(&of).fold(most, |most, wtilde| most.max(relative(w, wtilde, &of)));
            }
        }
    }
    assert!(most <= 1e-16 + ROUNDED, "{most:e}");
    // Not by chance: nearer they tell less.
    let near = disc(Complex64::new(3.0, 0.5), 0.5);
    let w = 3.0 + 0.3 * MIN_DISTANCE * 0.5;
    assert!(poles(&near).any(|wtilde| relative(w, wtilde, &near) > 1e-11));
}

#[test]
fn differences_keep_their_digits() {
    let mut most: f64 = 0.0;
    for angle in 0..8 {
        for far in [1e-3, 0.1, 3.0, 40.0] {
            let middle = polar(far, f64::from(angle) * 0.8);
            let of = disc(middle, far / MIN_DISTANCE);
            for w in [1e-12, 2.2 * far, -3.0 * far, 30.0 * far, -1e4 * far, 1e16 * far] {
                let (q, p) = (of.expansion(w), of.expansion(-w));
                let is_far = |side: f64| length(middle - side * w) >= MIN_DISTANCE * of.radius;
                if !(is_far(1.0) && is_far(-1.0)) {
                    continue;
                }
                for wtilde in poles(&of) {
                    let m = moments(wtilde, &of);
                    let tails = q.first * q.tail(|k| m[k]) + p.first * p.tail(|k| m[k]);
                    let sum = m[0] * of.difference(&q, &p) + tails;
                    let expected = 2.0 * wtilde / ((w - wtilde) * (w + wtilde));
                    most = most.max(length(sum / expected - 1.0));
                }
            }
        }
    }
    assert!(most <= 4e-16 + ROUNDED, "{most:e}");
}

/// The definition's branches, with room where rounding decides.
#[test]
fn the_far_field_is_that_of_every_pole_of_the_disc() {
    let mut seen = [0usize; 5];
    for at in 0..1500 {
        // Everywhere in the plane, also behind the imaginary axis, as large as the nearest of all may be.
        let angle = f64::from(at % 97) * 0.0648;
        let middle = polar(0.02 + f64::from(at) * 0.016, angle);
        let of = disc(middle, (0.05 + 0.02 * f64::from(at % 3)).min(length(middle) / MIN_DISTANCE));
        let acceptance = Acceptance::for_disc(&of, &LIMITS);
        for step in -60..80 {
            let w = f64::from(step) * 0.5 + 0.017;
            for occupied in [false, true] {
                let Some(FarField { q, ssx }) = acceptance.far_field(w, occupied) else {
                    seen[4] += 1;
                    continue;
                };
                seen[usize::from(q) * 2 + usize::from(ssx)] += 1;
                for wtilde in poles(&of) {
                    let d = length(w - wtilde);
                    let first = d * d > 0.25 && (length(wtilde) / d).powi(2) < 250_000.0;
                    assert_eq!(q, first, "{w} {wtilde}");
                    let ssx_size = match first {
                        true => wtilde.norm_sqr() / (d * length(w + wtilde)),
                        false => length(wtilde) / (2.0 * length(w + wtilde)),
                    };
                    let cut = w < 0.0 && ssx_size > 4.0;
                    assert_eq!(ssx, occupied && !cut, "{w} {wtilde}");
                    for (side, is_used) in [(1.0, q), (-1.0, ssx)] {
                        let least = MIN_DISTANCE * of.radius * (1.0 - 1e-12);
                        let is_far = length(middle - side * w) >= least;
                        assert!(!is_used || is_far, "{w} {of:?}");
                    }
                }
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn what_overflows_is_near_field() {
    let of = disc(Complex64::new(1e-6, 1e-6), 1e-8);
    let acceptance = Acceptance::for_disc(&of, &LIMITS);
    for (w, is_far) in [(1e3, true), (1e90, true), (-1e90, true), (1e101, false), (-1e150, false)] {
        for occupied in [false, true] {
            assert_eq!(acceptance.far_field(w, occupied).is_some(), is_far, "{w:e}");
        }
        if is_far {
            assert!(relative(w, of.middle, &of) <= ROUNDED, "{w:e}");
        }
    }
}

#[test]
fn a_pole_at_the_energy_and_a_disc_without_a_radius_are_near_field() {
    let of = disc(Complex64::new(3.0, 0.0), 1e-4);
    let near = Acceptance::for_disc(&of, &LIMITS);
    assert_eq!(near.far_field(3.00005, false), None);
    assert_eq!(near.far_field(3.01, false), Some(FarField { q: false, ssx: false }));
    let unbound = Acceptance::for_disc(&disc(Complex64::new(3.0, 0.1), f64::NAN), &LIMITS);
    for w in [-30.0, -1.0, 1e-12, 3.0, 1e6] {
        assert_eq!([true, false].map(|occupied| unbound.far_field(w, occupied)), [None; 2]);
    }
}
