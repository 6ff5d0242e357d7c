//! What the versions read: borrowed views of a slab, of the bands, of their plan and of clusters of pairs, and the
//! matrix elements of G packed for vectors.
//!
//! All arrays are column-major, the first index named fastest; indices count from zero.

use std::ops::Range;

use gpp_kernels::arrays::Limits;
use gpp_kernels::plan::Poles;
use gpp_kernels::sigma::{Disc, Interval, Pole};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::rounded::Rounded;
use crate::simd::{Lines, WIDTH};
use crate::work::{SlabTile, Stop};

/// The bands of a problem, in its own order.
#[derive(Clone, Copy)]
pub struct BandSlices<'a> {
    /// Matrix elements of G, `(ncouls, nbands)`.
    pub aqsn: &'a [Complex64],
    /// Energies `ω(iw) − e(n)` in eV, `(nw, nbands)`.
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
pub struct SlabSlices<'a> {
    /// Plasmon-pole modes ω̃ in eV, `(ncouls, ngpown)`.
    pub wtilde: &'a [Complex64],
    /// `δ − ε⁻¹`, `(ncouls, ngpown)`.
    pub eps: &'a [Complex64],
    /// Elements of G′, `(nbands, ngpown)`, bands in the problem's order; empty unless [needed](crate::versions::ArrayNeeds).
    pub aqsm: &'a [Complex64],
    /// Coulomb interaction of each `igp`, `(ngpown)`.
    pub vcoul_loc: &'a [f64],
}

/// The plan of the bands: see [`gpp_kernels::plan`].
#[derive(Clone, Copy)]
pub struct PlanSlices<'a> {
    /// Bands in the plan's order: plain, other occupied, empty, far.
    pub order: &'a [usize],
    /// See [`gpp_kernels::plan::Plan::plain_far`].
    pub plain_far: usize,
    pub plain: usize,
    /// Plain and other occupied bands.
    pub occupied: usize,
    /// The first far band, in the plan's order.
    pub far_begin: usize,
    /// Half of what a far band's second energy is above its first, in eV.
    pub half: f64,
    /// See [`gpp_kernels::plan::Plan::small`].
    pub small: f64,
    /// The kind of all contributing poles.
    pub poles: Poles,
    /// Whether the terms of the [static pole](gpp_kernels::lists::STATIC) are `ssx = −eps` and `sch = −(1 + w/ω̃)·eps` to
    /// the last digit, at all energies.
    pub has_static: bool,
}

impl PlanSlices<'_> {
    /// The same classes in rows of so many bands. A row with bands of two classes belongs to the other occupied bands, or to
    /// the empty ones that are not far, whose loops take any band.
    pub(crate) fn in_rows(self, bands: usize) -> Self {
        let [plain_far, plain] = [self.plain_far, self.plain].map(|n| n / bands);
        let [occupied, far_begin] = [self.occupied, self.far_begin].map(|n| n.div_ceil(bands));
        PlanSlices { plain_far, plain, occupied, far_begin, ..self }
    }
}

/// The pairs of a slab that only the definition sums: see [`gpp_kernels::plan::Plan`].
#[derive(Clone, Copy)]
pub struct FallbackSlices<'a> {
    /// Bit `ig % 32` of word `igp · ⌈ncouls/32⌉ + ig/32` is set if the pair is one or has no weight.
    pub mask: &'a [u32],
    /// Offsets `igp · ncouls + ig` of those that contribute and of pairs with small poles, ascending.
    pub pairs: &'a [u32],
    /// Where the pairs of each `igp` begin, and where the last one's end, `(ngpown + 1)`.
    pub begins: &'a [u32],
}

impl FallbackSlices<'_> {
    /// Bit `i` for pair `(ig + i, igp)`, of the eight from `ig` on, a multiple of eight; also of those past `ncouls`.
    #[inline(always)]
    pub fn bits(&self, ncouls: usize, igp: usize, ig: usize) -> u32 {
        let word = self.mask[igp * ncouls.div_ceil(32) + ig / 32];
        let past = !0u32 << (ncouls - ig).min(8) as u32;
        (word >> (ig % 32) | past) & 0xff
    }
}

/// The pairs of a slab, those of a cluster next to each other, and the clusters, the largest first.
#[derive(Clone, Copy)]
pub enum ClusterPairs<'a> {
    Real(&'a [Pole], &'a [Interval]),
    Any(&'a [Pole<Complex64>], &'a [Disc]),
}

/// The pairs of a slab in clusters of neighbouring poles, with the matrix elements.
#[derive(Clone, Copy)]
pub struct Clusters<'a> {
    pub pairs: ClusterPairs<'a>,
    pub aqsn: &'a BandPanels,
    pub aqsm: &'a BandPanels,
}

#[derive(Clone, Copy)]
pub struct SlabTask<'a> {
    pub bands: BandSlices<'a>,
    /// `aqsn` packed, for versions that [need](crate::versions::ArrayNeeds) it.
    pub panels: Option<&'a IgPanels>,
    pub slab: SlabSlices<'a>,
    /// The plan and the slab's fallback pairs, for versions that follow one.
    pub plan: Option<(PlanSlices<'a>, FallbackSlices<'a>)>,
    /// Bits of the pairs that a version in single precision sums in double, as in [`FallbackSlices::mask`].
    pub heavy: Option<&'a Vec<u32>>,
    pub clusters: Option<Clusters<'a>>,
    /// Checked between tiles.
    pub stop: &'a Stop,
}

impl SlabTask<'_> {
    pub fn ngpown(&self) -> usize {
        self.slab.vcoul_loc.len()
    }

    /// # Panics
    /// If something that is made once for several sums is of other bands or of another slab.
    pub fn check(&self) {
        let (BandSlices { nbands, ncouls, .. }, ngpown) = (self.bands, self.ngpown());
        let aqsm = self.slab.aqsm.len();
        assert!(aqsm == 0 || aqsm == nbands * ngpown, "numbers of aqsm");
        let fallback = self.plan.iter().map(|(_, fallback)| fallback.mask);
        let masks = fallback.chain(self.heavy.map(Vec::as_slice));
        let words = ngpown * ncouls.div_ceil(32);
        assert!(masks.into_iter().all(|mask| mask.len() == words), "words of masks");
        if let Some(panels) = self.panels {
            let (count, rows) = IgPanels::size(ncouls, nbands, panels.lanes);
            assert_eq!((panels.of_panel, panels.rows.len()), (rows, count * rows), "packed aqsn");
        }
        if let Some(Clusters { aqsn, aqsm, .. }) = self.clusters {
            let chunks = nbands.div_ceil(CHUNK);
            let found = [aqsn, aqsm].map(|panels| panels.values.len());
            assert_eq!(found, [ncouls, ngpown].map(|rows| rows * chunks), "packed elements");
        }
    }
}

/// What the lanes of a vector hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneLayout {
    /// Neighbouring `ig` of one band.
    Ig,
    /// Bands next to each other in the order that is summed, of one `ig`.
    Bands,
    /// The same, and rounded to single precision besides.
    BandsTwice,
}

/// Matrix elements of G in panels: of [`WIDTH`] `ig`, with a row for each band, or of one `ig`, with a row for
/// [`WIDTH`] bands. What is past the last `ig` or band is zero.
///
/// The loop over bands of one panel then reads one stretch of memory: 100 KB for 800 bands and eight `ig`, which stays
/// in the second cache for all `igp` that are summed with it.
pub struct IgPanels {
    rows: Vec<Lines>,
    pub lanes: LaneLayout,
    of_panel: usize,
    pub(crate) rounded: Rounded,
}

impl IgPanels {
    /// Of `aqsn(ncouls, nbands)`, bands in this order, or in their own.
    pub fn from_aqsn(
        aqsn: &[Complex64],
        ncouls: usize,
        order: Option<&[usize]>,
        lanes: LaneLayout,
    ) -> IgPanels {
        let nbands = aqsn.len() / ncouls;
        let (panels, of_panel) = IgPanels::size(ncouls, nbands, lanes);
        let mut rows = vec![Lines::default(); panels * of_panel];
        rows.par_chunks_mut(of_panel).enumerate().for_each(|(panel, rows)| {
            for at in 0..nbands {
                let column = &aqsn[order.map_or(at, |order| order[at]) * ncouls..][..ncouls];
                let (row, first, values) = match lanes {
                    LaneLayout::Ig => (at, 0, column[panel * WIDTH..].iter().take(WIDTH)),
                    _ => (at / WIDTH, at % WIDTH, column[panel..].iter().take(1)),
                };
                let [re, im] = &mut rows[row];
                for (lane, value) in (first..).zip(values) {
                    (re.0[lane], im.0[lane]) = (value.re, value.im);
                }
            }
        });
        let rounded = match lanes {
            LaneLayout::BandsTwice => Rounded::new(&rows, of_panel),
            _ => Rounded::default(),
        };
        IgPanels { rows, lanes, of_panel, rounded }
    }

    /// Panels, and rows of each.
    fn size(ncouls: usize, nbands: usize, lanes: LaneLayout) -> (usize, usize) {
        match lanes {
            LaneLayout::Ig => (ncouls.div_ceil(WIDTH), nbands),
            _ => (ncouls, nbands.div_ceil(WIDTH)),
        }
    }

    #[inline(always)]
    pub fn panel(&self, panel: usize) -> &[Lines] {
        &self.rows[panel * self.of_panel..][..self.of_panel]
    }

    pub fn bytes(ncouls: usize, nbands: usize, lanes: LaneLayout) -> u64 {
        let (panels, of_panel) = IgPanels::size(ncouls, nbands, lanes);
        let in_single = lanes == LaneLayout::BandsTwice;
        let rounded = if in_single { Rounded::bytes(panels, of_panel) } else { 0 };
        (panels * of_panel * size_of::<Lines>()) as u64 + rounded
    }
}

/// Bands of a panel, a multiple of [`WIDTH`].
pub const CHUNK: usize = 16;
const _: () = assert!(CHUNK.is_multiple_of(WIDTH));

/// Real and imaginary parts for the bands of a panel.
pub(crate) type Parts = [[f64; CHUNK]; 2];

/// A matrix of complex numbers whose columns are bands, in panels of [`CHUNK`] of them: `(CHUNK, 2, rows, panels)`, real
/// parts before imaginary ones, zeros behind the last band.
#[derive(Clone, Debug)]
pub struct BandPanels {
    values: Vec<Parts>,
    rows: usize,
}

impl BandPanels {
    /// # Panics
    /// If a column does not have `rows` numbers.
    pub fn from_columns(columns: &[&[Complex64]], rows: usize) -> BandPanels {
        assert!(columns.iter().all(|column| column.len() == rows), "columns of {rows}");
        let mut values = vec![Parts::default(); columns.len().div_ceil(CHUNK) * rows];
        let panels = values.par_chunks_mut(rows.max(1));
        panels.zip(columns.par_chunks(CHUNK)).for_each(|(panel, columns)| {
            for (row, [re, im]) in panel.iter_mut().enumerate() {
                for ((re, im), column) in re.iter_mut().zip(im).zip(columns) {
                    (*re, *im) = (column[row].re, column[row].im);
                }
            }
        });
        BandPanels { values, rows }
    }

    #[inline(always)]
    pub(crate) fn row(&self, panel: usize, row: usize) -> &Parts {
        &self.values[panel * self.rows + row]
    }

    #[inline(always)]
    pub(crate) fn at(&self, band: usize, row: usize) -> Complex64 {
        let [re, im] = self.row(band / CHUNK, row);
        Complex64::new(re[band % CHUNK], im[band % CHUNK])
    }
}

/// The largest tiles of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Maximum number of `igp`.
    pub igp: usize,
    /// Maximum number of `ig`, a multiple of [`WIDTH`]; `usize::MAX` for all.
    pub ig: usize,
}

impl Tiles {
    /// Those of a slab, of the same `igp` next to each other.
    pub(crate) fn in_slab(self, task: &SlabTask) -> Vec<SlabTile> {
        let ranges = |count: usize, most: usize| {
            let begins = (0..count).step_by(most.min(count));
            begins.map(move |begin| begin..count.min(begin.saturating_add(most)))
        };
        let of_igp = |igp: Range<usize>| {
            ranges(task.bands.ncouls, self.ig).map(move |ig| SlabTile { igp: igp.clone(), ig })
        };
        ranges(task.ngpown(), self.igp).flat_map(of_igp).collect()
    }
}
