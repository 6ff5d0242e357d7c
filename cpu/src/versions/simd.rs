//! cpu:simd: `ig` in vectors.
//!
//! The loop over `ig` is innermost, real and imaginary parts are taken apart when they are read, and each
//! condition is a selection between two results, so that a vector of pairs goes one way (the talk's second
//! step, "loop reordering, conditional removal"). A quotient is a division of real numbers.
//!
//! Lines of the nest: 1, 2, 3, 7, 8, 9.

use gpp_kernels::kernel::Version;
use gpp_kernels::sums::VALUES;

use crate::compensated::Compensated;
use crate::definition::{Band, Definition, ROW, Row};
use crate::lanes::Lanes;
use crate::pool::Threads;
use crate::problem::Task;
use crate::version::{Body, Cpu, FEW, Kernel, Needs};
use crate::work::{Piece, Pieces};

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:simd",
    change: "ig in vectors, conditions as selections",
    source: "talk, processors, step 2",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    threads: Threads::Cores,
    needs: Needs::SLAB,
    holds: FEW,
    pieces: Pieces { igp: 1, ig: usize::MAX },
    kernels: &[Kernel::of::<Vectors>()],
};

/// All `ig` of a band, band after band.
struct Vectors;

impl Body for Vectors {
    #[inline(always)]
    fn sum<L: Lanes>(token: L::Token, task: &Task, piece: &Piece, sums: &mut [f64]) {
        let (bands, slab) = (&task.bands, &task.slab);
        let definition = Definition::<L, false>::new(token, bands.limits);
        for (igp, sums) in piece.igp.clone().zip(sums.chunks_exact_mut(bands.nw * VALUES)) {
            let mut totals = [Compensated::default(); FEW * VALUES];
            for n in (0..bands.nbands).take_while(|_| !task.stop.is_asked()) {
                for iw in 0..bands.nw {
                    let band = Band::of(bands, slab, igp, n, iw);
                    for begin in (0..bands.ncouls).step_by(ROW) {
                        let row = Row::of(task, igp, n, begin..bands.ncouls.min(begin + ROW));
                        definition.row(row, band, &mut totals[iw * VALUES..][..VALUES]);
                    }
                }
            }
            sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total.value());
        }
    }
}
