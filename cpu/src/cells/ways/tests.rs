//! What moments tell, against quotients.

use super::*;
use crate::lanes::Single;

const LIMITS: Limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };

fn cell(low: f64, high: f64) -> Cell<Single<f64>> {
    let (mid, half) = (0.5 * (low + high), 0.5 * (high - low));
    Cell { token: (), low, high, mid, half, limits: LIMITS }
}

fn number(of: Single<f64>) -> f64 {
    let mut to = [0.0];
    of.add_to(&mut to);
    to[0]
}

/// The sum by moments of one pair of weight one, over the quotient.
fn relative(cell: &Cell<Single<f64>>, w: f64, wtilde: f64) -> f64 {
    let t = (wtilde - cell.mid) / cell.half;
    let weights = cell.weights(cell.splat(w)).0.into_iter().map(number);
    let sum: f64 = (0..).zip(weights).map(|(k, c)| c * (f64::from(k) * t.acos()).cos()).sum();
    sum * (w - wtilde) - 1.0
}

#[test]
fn moments_tell_quotients_as_well_as_is_said() {
    let cell = cell(3.0, 3.0625);
    let mut most: f64 = 0.0;
    for s in [LEAST, 101.0, 150.0, 1e4, 1e9] {
        for side in [-1.0, 1.0] {
            for at in 0..=16 {
                let wtilde = cell.low + (cell.high - cell.low) * f64::from(at) / 16.0;
                most = most.max(relative(&cell, cell.mid + side * s * cell.half, wtilde).abs());
            }
        }
    }
    assert!(most <= 1.6e-16 + 16.0 * f64::EPSILON, "{most:e}");
    // Not by chance: nearer they tell less.
    assert!(relative(&cell, cell.mid + 0.3 * LEAST * cell.half, 3.0).abs() > 1e-13);
}

#[test]
fn differences_keep_their_digits() {
    let mut most: f64 = 0.0;
    for (low, w) in [(3.0, 25.0), (0.01, 30.0), (0.01, -30.0), (1e-3, 1e16), (2.0, 1e-12)] {
        let cell = cell(low, low * (1.0 + 1.0 / 32.0));
        let [w_lanes, opposite] = [cell.splat(w), cell.splat(-w)];
        let (q, p) = (cell.weights(w_lanes), cell.weights(opposite));
        let weights = cell.difference(w_lanes, q, p).map(number);
        for wtilde in [cell.low, cell.mid, cell.high] {
            let t = ((wtilde - cell.mid) / cell.half).clamp(-1.0, 1.0);
            let terms = (0..).zip(weights).map(|(k, c)| c * (f64::from(k) * t.acos()).cos());
            let expected = 2.0 * wtilde / ((w - wtilde) * (w + wtilde));
            most = most.max((terms.sum::<f64>() / expected - 1.0).abs());
        }
    }
    assert!(most <= 6e-16 + 16.0 * f64::EPSILON, "{most:e}");
}

#[test]
fn a_way_is_that_of_every_pole_of_the_cell() {
    let mut seen = [0usize; 5];
    for at in 0..2000 {
        let low = f64::from(at) * 0.013 + 1e-3;
        let cell = cell(low, low + 0.006_f64.min(low / 32.0));
        for step in -120..160 {
            let w = f64::from(step) * 0.25 + 0.017;
            for occupied in [false, true] {
                let Ways { told, first: q, ssx } = cell.ways(cell.splat(w), occupied);
                if !told {
                    seen[4] += 1;
                    continue;
                }
                seen[usize::from(q) * 2 + usize::from(ssx)] += 1;
                for wtilde in [cell.low, cell.mid, cell.high] {
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
fn what_no_number_holds_is_not_told() {
    let cell = cell(1e-6, 1e-6 * (1.0 + 1.0 / 32.0));
    for (w, is_told) in [(1e3, true), (1e90, true), (-1e90, true), (1e100, false), (-1e150, false)]
    {
        for occupied in [false, true] {
            assert_eq!(cell.ways(cell.splat(w), occupied).told, is_told, "{w:e}");
        }
        if is_told {
            assert!(relative(&cell, w, 1e-6).abs() <= 4e-15, "{w:e}");
        }
    }
}
