//! cpu:threads, the start: the reference's loops, shared out to a thread for each core.
//!
//! A thread takes one `igp` after the other, whichever is next, and sums its terms as the reference
//! writes them: complex divisions, absolute values as square roots, a three-way branch, one number at a
//! time (the talk's first step on processors, "Add OpenMP").
//!
//! Lines of the nest: 2.

use gpp_kernels::formula::Pair;
use gpp_kernels::kernel::Version;
use gpp_kernels::sums::{Sums, VALUES};
use gpp_kernels::versions::v0;

use crate::compensated::{CHAIN, Compensated};
use crate::lanes::Lanes;
use crate::pool::Threads;
use crate::problem::Task;
use crate::version::{Body, Cpu, FEW, Kernel, Needs};
use crate::work::{Piece, Pieces};

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:threads",
    change: "the reference's loops, igp shared out to a thread for each core",
    source: "talk, processors, step 1",
};

/// How a processor does it.
pub static CPU: Cpu = Cpu {
    version: &VERSION,
    threads: Threads::Cores,
    needs: Needs::SLAB,
    holds: FEW,
    pieces: Pieces { igp: 1, ig: usize::MAX },
    kernels: &[Kernel::of::<Reference>()],
};

/// The reference's loops.
struct Reference;

impl Body for Reference {
    const IN_VECTORS: bool = false;

    #[inline(always)]
    fn sum<L: Lanes>(_: L::Token, task: &Task, piece: &Piece, sums: &mut [f64]) {
        let (bands, slab) = (&task.bands, &task.slab);
        let values = bands.nw * VALUES;
        for (igp, sums) in piece.igp.clone().zip(sums.chunks_exact_mut(values)) {
            let mut totals = [Compensated::default(); FEW * VALUES];
            let vcoul = slab.vcoul_loc[igp];
            for n in (0..bands.nbands).take_while(|_| !task.stop.is_asked()) {
                let aqsm = slab.aqsm[igp * bands.nbands + n];
                let occ = bands.occ[n];
                for iw in 0..bands.nw {
                    let w = bands.wx[n * bands.nw + iw];
                    for begin in (0..bands.ncouls).step_by(CHAIN) {
                        let end = bands.ncouls.min(begin + CHAIN);
                        let mut part = Sums::<1>::zero();
                        for ig in begin..end {
                            let at = igp * bands.ncouls + ig;
                            let wtilde = slab.wtilde[at];
                            let eps = slab.eps[at];
                            let wtilde2 = wtilde * wtilde;
                            let pair = Pair { wtilde, wtilde2, eps, omega2: wtilde2 * eps };
                            let aqsn = bands.aqsn[n * bands.ncouls + ig];
                            let term = v0::term(&pair, w, &bands.limits);
                            part.update(0, vcoul, occ, term, aqsm.conj() * aqsn);
                        }
                        let ([asx], [ach]) = (part.asx, part.ach);
                        let totals = &mut totals[iw * VALUES..][..VALUES];
                        for (total, part) in totals.iter_mut().zip([asx.re, asx.im, ach.re, ach.im])
                        {
                            total.add(part);
                        }
                    }
                }
            }
            sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total.value());
        }
    }
}
