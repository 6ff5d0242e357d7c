//! The GPU's kernels here: the same source, warp by warp. For tests; slow.

use gpp_kernels::offdiag::Version;

use crate::offdiag::gpu::{Launches, Place, batches};
use crate::offdiag::images::{Shape, begins, energies, fill, poles, rows};
use crate::offdiag::{Sums, Task};

/// The sums of a task as a version computes them on a GPU.
pub fn emulated(task: &Task, version: &'static Version) -> Sums {
    let shape = Shape::of(task, version);
    let (image, fallback) = poles(task, &shape);
    let begins = begins(&fallback);
    let (rows, vcoul) = rows(task, &shape);
    let (w, weights) = energies(task);
    let (mut u, mut v) = (vec![f64::NAN; shape.u()], vec![f64::NAN; shape.v()]);
    let nw = task.nw();
    let mut total = Sums::zero(task.bands(), task.planes());
    let mut sums = vec![0.0; 2 * nw * shape.sums()];
    let mut folded = vec![f64::NAN; 2 * nw * shape.folded()];
    for part in 0..task.parts() {
        let mut a = vec![0.0; shape.a()];
        fill(task, &shape, part, &mut a);
        let place = Place {
            a: a.as_ptr(),
            poles: image.as_ptr(),
            pairs: fallback.as_ptr(),
            begins: begins.as_ptr(),
            columns: begins.len() as u32 - 1,
            rows: rows.as_ptr(),
            vcoul: vcoul.as_ptr(),
            w: w.as_ptr(),
            weights: weights.as_ptr(),
            u: u.as_mut_ptr(),
            v: v.as_mut_ptr(),
        };
        // SAFETY: the arrays are of this shape, and live.
        unsafe {
            for batch in batches(task.problem.occ(), 0..nw, part) {
                let first = (2 * batch.iw + usize::from(batch.exchange)) * shape.sums();
                let sums = sums[first..][..shape.sums()].as_mut_ptr();
                let Launches { first, fallback, gather, second } =
                    Launches::of(task, &shape, &place, batch, sums);
                version.run_u(!shape.real, batch.exchange, &first);
                fallback.run();
                if batch.gathers {
                    gather.run();
                }
                version.run_sigma(&second);
            }
            shape.fold(sums.as_mut_ptr(), folded.as_mut_ptr(), 2 * nw as u32).run();
        }
        let mut found = Sums::zero(task.bands(), task.planes());
        for (iw, values) in folded.chunks_exact(2 * shape.folded()).enumerate() {
            shape.take(&mut found, task.at, iw, values);
        }
        total.add(&found);
    }
    total
}
