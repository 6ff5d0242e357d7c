//! What the kernels are given: borrowed views of a slab, of the bands and of the plan.
//!
//! All arrays are column-major, the first index named fastest; indices count from zero.

use gpp_kernels::arrays::Limits;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use crate::cells;
use crate::relaid::Relaid;
use crate::stop::Stop;

/// The bands of a problem, in its own order.
#[derive(Clone, Copy)]
pub struct Bands<'a> {
    /// Matrix elements of G, `(ncouls, nbands)`.
    pub aqsn: &'a [Complex64],
    /// Energies in eV, `(nw, nbands)`.
    pub wx: &'a [f64],
    /// Occupation of each band, `(nbands)`.
    pub occ: &'a [f64],
    /// Bands.
    pub nbands: usize,
    /// `ig`.
    pub ncouls: usize,
    /// Energies.
    pub nw: usize,
    /// Limits of the formula.
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
    /// The bands.
    pub bands: Bands<'a>,
    /// `aqsn` as versions that ask for it read it: [`crate::version::Needs`].
    pub relaid: Option<&'a Relaid>,
    /// The slab.
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
