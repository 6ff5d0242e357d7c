use gpp_kernels::formula;
use gpp_kernels::formula::Pair;
use gpp_kernels::offdiag::versions::ALL;
use num_complex::Complex64;

use super::*;
use crate::offdiag::Synthesised;
use crate::problem::synthesis::synthesise;
use crate::problem::{Problem, systems};
use crate::progress::Progress;

/// Element (l, m) at an energy by the definition: `SX`, `CH`, and the sums of the terms' sizes.
fn defined(task: &Task, l: usize, m: usize, iw: usize) -> ([Complex64; 2], [f64; 2]) {
    let problem: &Problem = task.problem;
    let (ncouls, limits) = (problem.extents().ncouls, task.limits());
    let rows: Vec<_> = problem.header().rows().collect();
    let (mut sums, mut sizes) = ([Complex64::ZERO; 2], [0.0; 2]);
    let [mut left, mut right] = [0, 1].map(|_| vec![Complex64::ZERO; ncouls]);
    for n in 0..problem.extents().nbands {
        task.elements.column(l, n, &mut left);
        task.elements.column(m, n, &mut right);
        let (w, occ) = (problem.bands().energies(n)[iw], problem.occ()[n]);
        for (igp, row) in rows.iter().enumerate() {
            let Some(row) = *row else { continue };
            let v = problem.vcoul_loc()[igp] * right[row].conj();
            for (ig, a) in left.iter().enumerate() {
                let (wtilde, eps) =
                    (problem.wtilde()[igp * ncouls + ig], problem.eps()[igp * ncouls + ig]);
                let wtilde2 = wtilde * wtilde;
                let pair = Pair { wtilde, wtilde2, eps, omega2: wtilde2 * eps };
                let term = formula::term(&pair, w, &limits);
                let terms = [-occ * term.ssx * a * v, 0.5 * term.sch * a * v];
                for kind in 0..2 {
                    sums[kind] += terms[kind];
                    sizes[kind] += terms[kind].norm();
                }
            }
        }
    }
    (sums, sizes)
}

#[test]
fn elements_are_the_definitions() {
    for (name, bands) in [("tiny", 5), ("tiny-complex", 33)] {
        let system = systems::find(name).unwrap();
        let problem = synthesise(system, 1, Progress::default()).unwrap();
        let elements = Synthesised::new(system, 1, bands);
        let task = Task::new(&problem, &elements);
        let [found, others @ ..] = ALL.map(|version| emulated(&task, version));
        for other in others {
            assert_eq!(found, other, "{name}: versions differ");
        }
        for (l, m) in [(0, 0), (0, bands - 1), (3, 1), (bands - 1, bands - 1)] {
            for iw in 0..task.nw() {
                let (sums, sizes) = defined(&task, l, m, iw);
                let at = found.at(l, m, iw);
                for (kind, found) in [found.sx[at], found.ch[at]].into_iter().enumerate() {
                    let error = (found - sums[kind]).norm() / sizes[kind];
                    assert!(
                        error < 1e-14,
                        "{name} ({l}, {m}) {iw} {kind}: {error} {found} {} {}",
                        sums[kind],
                        sizes[kind]
                    );
                    assert!(sums[kind].norm() > 1e-6 * sizes[kind]);
                }
            }
        }
    }
}
