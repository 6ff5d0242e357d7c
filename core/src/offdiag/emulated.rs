//! The GPU's kernels here: the same source, warp by warp. For tests; slow.

use gpp_kernels::offdiag::fold::Fold;
use gpp_kernels::offdiag::version::Version;

use super::images::{Shape, begins, energies, group, limits, poles, rows};
use super::launches::{Launches, Place, batches};
use super::{Sums, Task, parts};

/// The sums of a task as a version computes them on a GPU.
pub fn emulated(task: &Task, version: &'static Version) -> Sums {
    let shape = Shape::of(task, version);
    let (image, odd) = poles(task, &shape);
    let begins = begins(&odd);
    let (rows, vcoul) = rows(task, &shape);
    let (w, weights) = energies(task);
    let (mut u, mut v) = (vec![f64::NAN; shape.u()], vec![f64::NAN; shape.v()]);
    let (nbands, nw) = (task.problem.occ().len(), task.nw());
    let limits = (limits(task, &shape), task.limits());
    let mut total = Sums::zero(task.bands(), task.planes());
    let mut sums = vec![0.0; 2 * nw * shape.sums()];
    let mut folded = vec![f64::NAN; 2 * nw * shape.folded()];
    for part in 0..parts::count(task) {
        let a = group(task, &shape, part);
        let place = Place {
            a: a.as_ptr(),
            poles: image.as_ptr(),
            odd: (odd.as_ptr(), begins.as_ptr(), begins.len() as u32 - 1),
            rows: rows.as_ptr(),
            vcoul: vcoul.as_ptr(),
            w: [w[0].as_ptr(), w[1].as_ptr()],
            weights: [weights[0].as_ptr(), weights[1].as_ptr()],
            u: u.as_mut_ptr(),
            v: v.as_mut_ptr(),
        };
        for batch in batches(task.problem.occ(), 0..nw, part) {
            let first = (2 * batch.iw + usize::from(batch.exchange)) * shape.sums();
            let sums = sums[first..][..shape.sums()].as_mut_ptr();
            let Launches { first, odd, gather, second } =
                Launches::of(&place, &shape, nbands, limits, batch, sums);
            // SAFETY: the arrays are of this shape, and live.
            unsafe {
                version.run[usize::from(!shape.real)][usize::from(batch.exchange)](&first);
                odd.run();
                if batch.gathers {
                    gather.run();
                }
                (version.run_second)(&second);
            }
        }
        let fold = Fold {
            sums: sums.as_mut_ptr(),
            folded: folded.as_mut_ptr(),
            each: shape.folded() as u32,
            slots: shape.slots,
            count: 2 * nw as u32,
        };
        // SAFETY: as above.
        unsafe { fold.run() };
        let mut found = Sums::zero(task.bands(), task.planes());
        for (iw, values) in folded.chunks_exact(2 * shape.folded()).enumerate() {
            let (hole, exchange) = values.split_at(shape.folded());
            found.take(task.at, iw, |l, m| {
                [exchange, hole].map(|values| shape.element(values, l, m))
            });
        }
        total.add(&found);
    }
    total
}

#[cfg(test)]
mod tests {
    use gpp_kernels::formula::Pair;
    use gpp_kernels::offdiag::versions::ALL;
    use gpp_kernels::versions::v3;
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
                    let term = v3::term(&pair, w, &limits);
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
}
