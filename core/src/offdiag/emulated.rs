//! The GPU's kernels here: the same source, warp by warp. For tests; slow.

use gpp_kernels::offdiag::pack::Fold;
use gpp_kernels::offdiag::versions::Version;

use crate::offdiag::gpu::{Launches, Place, batches};
use crate::offdiag::images::{Shape, begins, energies, group, limits, poles, rows};
use crate::offdiag::{Sums, Task};

/// The sums of a task as a version computes them on a GPU.
pub fn emulated(task: &Task, version: &'static Version) -> Sums {
    let shape = Shape::of(task, version);
    let (image, fallback) = poles(task, &shape);
    let begins = begins(&fallback);
    let (rows, vcoul) = rows(task, &shape);
    let (w, weights) = energies(task);
    let (mut u, mut v) = (vec![f64::NAN; shape.u()], vec![f64::NAN; shape.v()]);
    let (nbands, nw) = (task.problem.occ().len(), task.nw());
    let limits = (limits(task, &shape), task.limits());
    let mut total = Sums::zero(task.bands(), task.planes());
    let mut sums = vec![0.0; 2 * nw * shape.sums()];
    let mut folded = vec![f64::NAN; 2 * nw * shape.folded()];
    for part in 0..task.parts() {
        let a = group(task, &shape, part);
        let place = Place {
            a: a.as_ptr(),
            poles: image.as_ptr(),
            fallback: (fallback.as_ptr(), begins.as_ptr(), begins.len() as u32 - 1),
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
            let Launches { first, fallback, gather, second } =
                Launches::of(&place, &shape, nbands, limits, batch, sums);
            // SAFETY: the arrays are of this shape, and live.
            unsafe {
                version.run_u[usize::from(!shape.real)][usize::from(batch.exchange)](&first);
                fallback.run();
                if batch.gathers {
                    gather.run();
                }
                (version.run_sigma)(&second);
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
