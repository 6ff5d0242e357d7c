//! `aqsn` in the order in which vectors read it.

use num_complex::Complex64;
use rayon::prelude::*;

use crate::lanes::WIDTH;

/// Matrix elements of G in blocks of [`WIDTH`] `ig`, each block with all its bands one after the other:
/// `(WIDTH, 2, nbands, ⌈ncouls/WIDTH⌉)`, real parts before imaginary ones. What is past `ncouls` is zero.
///
/// The loop over bands of one block of `ig` then reads one stretch of memory, 100 KB for 800 bands, which
/// stays in the second cache for all `igp` that are summed with it.
pub struct Relaid {
    blocks: Vec<f64>,
    nbands: usize,
}

impl Relaid {
    /// Of `aqsn(ncouls, nbands)`, bands in this order, or in their own.
    pub fn of(aqsn: &[Complex64], ncouls: usize, order: Option<&[usize]>) -> Relaid {
        let nbands = aqsn.len() / ncouls;
        let mut blocks = vec![0.0; ncouls.div_ceil(WIDTH) * nbands * 2 * WIDTH];
        blocks.par_chunks_mut(nbands * 2 * WIDTH).enumerate().for_each(|(block, to)| {
            let ig = block * WIDTH;
            let count = WIDTH.min(ncouls - ig);
            for (at, band) in to.chunks_exact_mut(2 * WIDTH).enumerate() {
                let n = order.map_or(at, |order| order[at]);
                let from: &[Complex64] = &aqsn[n * ncouls + ig..][..count];
                let (re, im) = band.split_at_mut(WIDTH);
                for (lane, value) in from.iter().enumerate() {
                    (re[lane], im[lane]) = (value.re, value.im);
                }
            }
        });
        Relaid { blocks, nbands }
    }

    /// Block number `block`: `(WIDTH, 2, nbands)`.
    #[inline(always)]
    pub fn block(&self, block: usize) -> &[f64] {
        let size = self.nbands * 2 * WIDTH;
        &self.blocks[block * size..][..size]
    }

    /// Fails where it is of other extents.
    pub(crate) fn check(&self, ncouls: usize, nbands: usize) {
        let needed = ncouls.div_ceil(WIDTH) * nbands * 2 * WIDTH;
        assert!(self.nbands == nbands && self.blocks.len() == needed, "aqsn of other extents");
    }

    /// Bytes that it takes.
    pub fn bytes(ncouls: usize, nbands: usize) -> u64 {
        (ncouls.div_ceil(WIDTH) * nbands * 2 * WIDTH * size_of::<f64>()) as u64
    }
}
