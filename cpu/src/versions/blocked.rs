//! cpu:blocked: `ig` and bands in blocks that the caches hold.
//!
//! cpu:simd reads all of ω̃, eps and `aqsn` again for each band: 530 KB for 11075 `ig`, more than a second
//! cache holds beside others. Here a row of 512 `ig` of ω̃ and eps, 16 KB, stays in the first cache for a
//! block of bands, and the block of `aqsn`, 32 bands by 512 `ig` in 256 KB, in the second for eight `igp`
//! (the talk's third step, "Cache blocking").
//!
//! Lines of the nest: 1, 3.

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
    id: "cpu:blocked",
    change: "ig and bands blocked for the second and the first cache",
    source: "talk, processors, step 3",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    threads: Threads::Cores,
    needs: Needs::SLAB,
    holds: FEW,
    pieces: Pieces { igp: 8, ig: ROW },
    kernels: &[Kernel::of::<Blocks<false>>()],
};

/// Bands of a block.
const BANDS: usize = 32;

/// Blocks of bands, for a row of `ig`; `RECIPROCAL` divides by approximate reciprocals.
pub struct Blocks<const RECIPROCAL: bool>;

impl<const RECIPROCAL: bool> Body for Blocks<RECIPROCAL> {
    #[inline(always)]
    fn sum<L: Lanes>(token: L::Token, task: &Task, piece: &Piece, sums: &mut [f64]) {
        let (bands, slab) = (&task.bands, &task.slab);
        let definition = Definition::<L, RECIPROCAL>::new(token, bands.limits);
        let values = bands.nw * VALUES;
        let mut totals = vec![Compensated::default(); sums.len()];
        for first in (0..bands.nbands).step_by(BANDS) {
            for (igp, totals) in piece.igp.clone().zip(totals.chunks_exact_mut(values)) {
                if task.stop.is_asked() {
                    return;
                }
                for n in first..bands.nbands.min(first + BANDS) {
                    let row = Row::of(task, igp, n, piece.ig.clone());
                    for iw in 0..bands.nw {
                        let band = Band::of(bands, slab, igp, n, iw);
                        definition.row(row, band, &mut totals[iw * VALUES..][..VALUES]);
                    }
                }
            }
        }
        sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total.value());
    }
}
