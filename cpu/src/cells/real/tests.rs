//! A level's vectors against [`gpp_kernels::sigma::real`], whose tests say how much moments tell.

use gpp_kernels::sigma::FarField as Way;
use gpp_kernels::sigma::real::{Expansion as Weights, far_field as way};

use crate::cells::real::*;
use crate::lanes::Single;

const LIMITS: Limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };

fn cell(part: &Part) -> Cell<Single> {
    Cell::of((), part, LIMITS)
}

fn numbers(of: [Single; MOMENTS]) -> [f64; MOMENTS] {
    of.map(|lanes| {
        let mut to = [0.0];
        lanes.add_to(&mut to);
        to[0]
    })
}

/// Cells from near zero on, one of small poles, and one without bounds.
fn parts() -> impl Iterator<Item = Part> {
    let low = (0..500).map(|at| f64::from(at) * 0.052 + 1e-3);
    let bounds = low.map(|low| (low, low + 0.006_f64.min(low / 32.0)));
    let others = [(1e-6, 1e-6 * (1.0 + 1.0 / 32.0)), (f64::NAN, f64::NAN)];
    bounds.chain(others).map(|(low, high)| Part { low, high, begin: 0, end: 1 })
}

fn energies() -> impl Iterator<Item = f64> {
    let even = (-120..160).map(|step| f64::from(step) * 0.25 + 0.017);
    even.chain([1e-12, 1e3, -1e3, 1e90, -1e90, 1e100, -1e150])
}

#[test]
fn ways_are_those_of_one_number() {
    let mut seen = [0; 5];
    for part in parts() {
        let cell = cell(&part);
        for w in energies() {
            for occupied in [false, true] {
                let Ways { told, first: q, ssx } = cell.ways(cell.splat(w), occupied);
                let found = told.then_some(Way { q, ssx });
                assert_eq!(found, way(w, &part, occupied, &LIMITS), "{w:e} {part:?} {occupied}");
                seen[found.map_or(4, |way| usize::from(way.q) * 2 + usize::from(way.ssx))] += 1;
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

#[test]
fn weights_are_those_of_one_number() {
    let mut compared = 0;
    for part in parts() {
        let cell = cell(&part);
        for w in energies() {
            let [at, opposite] = [cell.splat(w), cell.splat(-w)];
            if !(cell.is_told(at) && cell.is_told(opposite)) {
                continue;
            }
            let lanes = [at, opposite].map(|w| cell.weights(w));
            let both = numbers(cell.difference(at, lanes[0], lanes[1]));
            let [q, p] = [w, -w].map(|w| Weights::of(w, &part));
            let expected = q.minus(&p, w, &part);
            for k in 0..MOMENTS {
                // A root, two quotients and k products.
                let same = |found: f64, expected: f64, size: f64| {
                    let room = (8 + 2 * k) as f64 * f64::EPSILON * size.abs();
                    assert!((found - expected).abs() <= room, "{w:e} {part:?} {k}");
                };
                let (of_q, of_p) = (q.weights[k], p.weights[k]);
                same(numbers(lanes[0].0)[k], of_q, of_q);
                same(numbers(lanes[1].0)[k], of_p, of_p);
                // The weight of T₀ has no cancellation.
                let size = if k == 0 { expected[0] } else { of_q.abs() + of_p.abs() };
                same(both[k], expected[k], size);
            }
            compared += 1;
        }
    }
    assert!(compared > 100_000, "{compared}");
}
