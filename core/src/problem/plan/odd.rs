//! The pairs that the fast loops pass by.

use gpp_kernels::plan::Plan;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::problem::{Extents, SlabView, range};

/// The odd poles of a slab, igp by igp.
#[derive(Clone, Debug, PartialEq)]
pub struct OddPoles {
    mask: Vec<u32>,
    pairs: Vec<u32>,
    begins: Vec<u32>,
}

impl OddPoles {
    /// Bytes of those of a slab while they are found, where they are no more than one of 16 pairs: each igp has its
    /// own before all are put together.
    pub fn bytes_while_made(slab: Extents) -> u64 {
        slab.odd_bytes().saturating_mul(2)
    }

    /// Of a slab, where `is_regular` says it of a pole.
    pub(super) fn of(slab: SlabView, is_regular: impl Fn(Complex64) -> bool + Sync) -> OddPoles {
        let ncouls = slab.ncouls();
        let words = Plan::words(ncouls as u32) as usize;
        let of_igp = |(igp, (wtilde, eps)): (usize, (&[Complex64], &[Complex64]))| {
            let mut mask = vec![0; words];
            let mut pairs = Vec::new();
            for (ig, (&pole, &eps)) in wtilde.iter().zip(eps).enumerate() {
                let counts = range::contributes(pole, eps);
                if !(counts && is_regular(pole)) {
                    mask[ig / 32] |= 1 << (ig % 32);
                    if counts {
                        pairs.push((igp * ncouls + ig) as u32);
                    }
                }
            }
            (mask, pairs)
        };
        let columns = slab.wtilde().par_chunks(ncouls).zip(slab.eps().par_chunks(ncouls));
        let (masks, pairs): (Vec<_>, Vec<_>) = columns.enumerate().map(of_igp).unzip();
        let ends = pairs.iter().scan(0, |end, pairs: &Vec<u32>| {
            *end += pairs.len() as u32;
            Some(*end)
        });
        let begins = [0].into_iter().chain(ends).collect();
        OddPoles { mask: masks.concat(), pairs: pairs.concat(), begins }
    }

    /// None, of kernels that read no pole.
    pub(super) fn none(slab: SlabView) -> OddPoles {
        let words = Plan::words(slab.ncouls() as u32) as usize;
        let (mask, begins) = (vec![0; words * slab.len()], vec![0; slab.len() + 1]);
        OddPoles { mask, pairs: Vec::new(), begins }
    }

    /// These and others of the same slab, ascending pairs that contribute and are none of these.
    pub(super) fn with(&self, others: &[u32], ncouls: usize) -> OddPoles {
        let words = Plan::words(ncouls as u32) as usize;
        let mut mask = self.mask.clone();
        let mut counts: Vec<u32> = self.begins.windows(2).map(|of| of[1] - of[0]).collect();
        for &pair in others {
            let (igp, ig) = (pair as usize / ncouls, pair as usize % ncouls);
            mask[igp * words + ig / 32] |= 1 << (ig % 32);
            counts[igp] += 1;
        }
        let mut pairs = [&self.pairs, others].concat();
        // Two ascending runs, which this merges.
        pairs.sort();
        let ends = counts.iter().scan(0, |end, count| {
            *end += count;
            Some(*end)
        });
        let begins = [0].into_iter().chain(ends).collect();
        OddPoles { mask, pairs, begins }
    }

    /// See [`Plan::odd_mask`]; pairs of no weight are in it too. igp counts from the slab's begin.
    pub fn mask(&self) -> &[u32] {
        &self.mask
    }

    /// See [`Plan::odd_pairs`]: offsets `igp · ncouls + ig`, ascending; igp counts from the slab's begin.
    pub fn pairs(&self) -> &[u32] {
        &self.pairs
    }

    /// Where the pairs of each igp of the slab begin, and where the last one's end.
    pub fn begins(&self) -> &[u32] {
        &self.begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::synthesis::synthesise;
    use crate::problem::{Evaluator, Matrices, Origin, Problem, systems};
    use crate::progress::Progress;

    /// However many poles are zero, none is summed: neither one by one, nor in cells.
    #[test]
    fn pairs_without_terms_are_neither_odd_nor_sorted() {
        let made = synthesise(systems::find("tiny").unwrap(), 1, Progress::NONE).unwrap();
        let is_zero = |at: usize| at % 5 < 2;
        for off_axis in [0.0, 0.1] {
            let poles = made.wtilde().iter().enumerate().map(|(at, pole)| match is_zero(at) {
                true => Complex64::ZERO,
                false => pole + Complex64::new(1.0, off_axis),
            });
            let matrices = Matrices {
                wtilde: poles.collect(),
                eps: vec![Complex64::ONE; made.eps().len()],
                aqsn: made.aqsn().to_vec(),
                aqsm_local: made.aqsm_local().to_vec(),
            };
            let problem =
                Problem::new("zeros", Origin::Made, made.header().clone(), matrices).unwrap();
            let (slab, batch) = (problem.slab(), problem.batches(3).first());
            for takes in [gpp_kernels::plan::Poles::Real, gpp_kernels::plan::Poles::Any] {
                let found = [problem.odd(slab, &batch, takes)];
                for odd in found {
                    assert!(odd.pairs().iter().all(|&pair| !is_zero(pair as usize)));
                    let words = Plan::words(slab.ncouls() as u32) as usize;
                    for at in (0..slab.wtilde().len()).filter(|&at| is_zero(at)) {
                        let (igp, ig) = (at / slab.ncouls(), at % slab.ncouls());
                        assert_ne!(odd.mask()[igp * words + ig / 32] & 1 << (ig % 32), 0);
                    }
                }
            }
            let summed = (0..slab.wtilde().len()).filter(|&at| !is_zero(at)).count();
            let sorted = match problem.cells(slab, Evaluator::Processor).pairs() {
                gpp_cpu::cells::Pairs::Real(poles, _) => poles.len(),
                gpp_cpu::cells::Pairs::Any(poles, _) => poles.len(),
            };
            assert_eq!(sorted, summed);
        }
    }
}
