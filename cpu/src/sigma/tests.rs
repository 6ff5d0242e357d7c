use fearless_simd::Fallback;
use gpp_kernels::arrays::Limits;

use super::*;
use crate::problem::{BandPanels, Bands, Slab};
use crate::stop::NEVER;

const LIMITS: Limits = Limits { limittwo: 0.25, limitone: 250_000.0, sexcut: 4.0 };

/// As many as fill no vector.
const POLES: u32 = 37;

#[test]
fn the_first_branch_alone_is_what_the_definition_is() {
    let number = |at: u32| Complex64::from_polar(0.3 + f64::from(at % 7), f64::from(at) * 1.7);
    let column: Vec<Complex64> = (0..POLES).map(number).collect();
    let elements = BandPanels::of(&[&column], column.len());
    // Large and small, around both axes and behind them, where the two quotients nearly cancel too.
    for (size, w) in [(3.0, 7.0), (3.0, -30.0), (40.0, 2.0), (1e-3, 20.0), (1e-3, -0.7)] {
        for (angle, occ) in [(0.0, 1.0), (0.3, 0.5), (1.5, 0.0), (2.8, 1.0)] {
            let pole = |at: u32| Pole {
                wtilde: Complex64::from_polar(size, angle) + number(at) * (size * 0.01),
                ig: at,
                igp: POLES - 1 - at,
                eps: number(at + 3),
            };
            let poles: Vec<Pole<Complex64>> = (0..POLES).map(pole).collect();
            let clusters =
                Clusters { pairs: Pairs::Any(&poles, &[]), aqsn: &elements, aqsm: &elements };
            let (wx, occ, ncouls) = (&[w], &[occ], column.len());
            let bands = Bands { aqsn: &column, wx, occ, nbands: 1, ncouls, nw: 1, limits: LIMITS };
            let vcoul_loc = &[1.7; POLES as usize];
            let slab = Slab { wtilde: &[], eps: &[], aqsm: &[], vcoul_loc };
            let task = Task { bands, slab, panels: None, plan: None, clusters: None, stop: &NEVER };
            let in_turn = |poles: &[Pole<Complex64>], are_first: &[bool]| {
                let mut sums = [Compensated::default(); VALUES];
                let near: Vec<_> = are_first.iter().map(|&first| Near::new(0, 0, first)).collect();
                add_near_field(Fallback::new(), &task, &clusters, poles, &near, &mut sums);
                let [a, b, c, d] = sums.map(Compensated::value);
                [Complex64::new(a, b), Complex64::new(c, d)]
            };
            let sums = |poles: &[Pole<Complex64>], is_first| in_turn(poles, &[is_first]);
            let (first, definition) = (sums(&poles, true), sums(&poles, false));
            // Weights are made in between.
            let mixed = in_turn(&poles, &[false, true, false]);
            let mut all = [0.0; 2];
            for pole in &poles {
                let own = sums(std::slice::from_ref(pole), false);
                all = [all[0] + own[0].norm(), all[1] + own[1].norm()];
            }
            assert!(all[1] > 0.0 && (all[0] > 0.0 || occ[0] == 0.0), "{all:?}");
            for (of, all) in all.into_iter().enumerate() {
                let near = |one: Complex64, other: Complex64| {
                    let error = (one - other).norm();
                    assert!(error <= 16.0 * f64::EPSILON * all, "{error:e} of {all:e} at {w}");
                };
                near(first[of], definition[of]);
                near(mixed[of], first[of] + 2.0 * definition[of]);
            }
        }
    }
}
