//! What the kernels are given: borrowed views of a slab, of the bands and of the plan.
//!
//! All arrays are column-major, the first index named fastest; indices count from zero.

use gpp_kernels::arrays::Limits;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::caller::Stop;
use crate::cells;
use crate::lanes::WIDTH;

/// The bands of a problem, in its own order.
#[derive(Clone, Copy)]
pub struct Bands<'a> {
    /// Matrix elements of G, `(ncouls, nbands)`.
    pub aqsn: &'a [Complex64],
    /// Energies in eV, `(nw, nbands)`.
    pub wx: &'a [f64],
    /// Occupation of each band, `(nbands)`.
    pub occ: &'a [f64],
    pub nbands: usize,
    /// `ig`.
    pub ncouls: usize,
    pub nw: usize,
    pub limits: Limits,
}

/// A range of `igp`.
#[derive(Clone, Copy)]
pub struct Slab<'a> {
    /// Plasmon-pole modes ω̃ in eV, `(ncouls, ngpown)`.
    pub wtilde: &'a [Complex64],
    /// `δ − ε⁻¹`, `(ncouls, ngpown)`.
    pub eps: &'a [Complex64],
    /// Matrix elements of G′, `(nbands, ngpown)`, bands in the problem's order; nothing for versions
    /// that do not [need](crate::version::Needs) it.
    pub aqsm: &'a [Complex64],
    /// Coulomb interaction of each `igp`, `(ngpown)`.
    pub vcoul_loc: &'a [f64],
}

/// The plan of the bands: see [`gpp_kernels::plan`].
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// Bands in the plan's order: plain, other occupied, empty, far.
    pub order: &'a [usize],
    /// Plain bands.
    pub plain: usize,
    /// Plain and other occupied bands.
    pub occupied: usize,
    /// The first far band, in the plan's order.
    pub far_begin: usize,
    /// Half of what a far band's second energy is above its first, in eV.
    pub half: f64,
    /// What all contributing poles have in common.
    pub poles: Poles,
}

/// The odd pairs of a slab: see [`gpp_kernels::plan::Plan`].
#[derive(Clone, Copy)]
pub struct Odd<'a> {
    /// Bit `ig % 32` of word `igp · ⌈ncouls/32⌉ + ig/32` is set where the pair is odd or has no weight.
    pub mask: &'a [u32],
    /// Offsets `igp · ncouls + ig` of the odd pairs that contribute, ascending.
    pub pairs: &'a [u32],
    /// Where the pairs of each `igp` begin, and where the last one's end, `(ngpown + 1)`.
    pub begins: &'a [u32],
}

impl Odd<'_> {
    /// Bit `i` for pair `(ig + i, igp)`, of the eight from `ig` on, a multiple of eight; of those past
    /// `ncouls` too.
    #[inline(always)]
    pub fn bits(&self, ncouls: usize, igp: usize, ig: usize) -> u32 {
        let word = self.mask[igp * ncouls.div_ceil(32) + ig / 32];
        let past = !0u32 << (ncouls - ig).min(8) as u32;
        (word >> (ig % 32) | past) & 0xff
    }
}

/// All that a calculation reads.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    pub bands: Bands<'a>,
    /// `aqsn` as versions that ask for it read it: [`crate::version::Needs`].
    pub relaid: Option<&'a Relaid>,
    pub slab: Slab<'a>,
    /// The plan and the slab's odd poles, for versions that follow one.
    pub plan: Option<(Plan<'a>, Odd<'a>)>,
    /// The pairs sorted by their poles, with all that goes with them, for versions that take them so.
    pub sorted: Option<cells::Task<'a>>,
    /// What is looked at between pieces of work.
    pub stop: &'a Stop,
}

impl Task<'_> {
    /// `igp` of the slab.
    pub fn ngpown(&self) -> usize {
        self.slab.vcoul_loc.len()
    }

    /// Fails, with what is wrong, where an array has not the size that goes with the others.
    ///
    /// # Panics
    /// So that the kernels need not look at each index.
    pub fn check(&self) {
        let Bands { aqsn, wx, occ, nbands, ncouls, nw, .. } = self.bands;
        let ngpown = self.ngpown();
        let sizes = [
            ("aqsn", aqsn.len(), ncouls * nbands),
            ("wx", wx.len(), nw * nbands),
            ("occ", occ.len(), nbands),
            ("wtilde", self.slab.wtilde.len(), ncouls * ngpown),
            ("eps", self.slab.eps.len(), ncouls * ngpown),
        ];
        for (name, found, needed) in sizes {
            assert_eq!(found, needed, "numbers of {name}");
        }
        let aqsm = self.slab.aqsm.len();
        assert!(aqsm == 0 || aqsm == nbands * ngpown, "numbers of aqsm");
        if let Some((plan, odd)) = &self.plan {
            assert_eq!(plan.order.len(), nbands, "bands of the plan");
            assert!(plan.plain <= plan.occupied && plan.occupied <= plan.far_begin);
            assert!(plan.far_begin <= nbands);
            assert_eq!(odd.begins.len(), ngpown + 1, "igp of the odd poles");
            assert_eq!(odd.mask.len(), ngpown * ncouls.div_ceil(32), "words of the odd poles");
        }
        if let Some(relaid) = self.relaid {
            relaid.check(self.bands.ncouls, nbands);
        }
    }
}

// `aqsn` in the order in which vectors read it.

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

    pub fn bytes(ncouls: usize, nbands: usize) -> u64 {
        (ncouls.div_ceil(WIDTH) * nbands * 2 * WIDTH * size_of::<f64>()) as u64
    }
}
