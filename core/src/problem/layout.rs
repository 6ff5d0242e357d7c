//! How a problem is prepared for the kernels of each layout.

use std::borrow::Cow;
use std::ffi::c_void;
use std::iter::repeat_n;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use gpp_kernels::arguments::{Arguments, CellsArguments, PaperArguments, PlannedArguments};
use gpp_kernels::cells::BANDS;
use gpp_kernels::extents;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::lists;
use gpp_kernels::plan::{Plan, Poles};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::error::Result;
use crate::problem::memory::{
    AQSM_LOCAL, AQSN, ARRAYS, Array, EPS, Extents, OCC, Of, WTILDE, WX, zeros,
};
use crate::problem::{
    BandOrder, Bands, Batch, Cells, Evaluator, Frame, Id, Lists, OddPoles, SlabView, memory,
};

/// How a problem is prepared for the kernels of a layout.
///
/// - [`Layout::Original`], the reference's: all arrays as they are
/// - [`Layout::Swapped`], of v7 and v8: bands fastest in `wx` and `aqsm_local`
/// - [`Layout::Planned`], of v9 and later: bands in the plan's order, padded, and a slab's odd poles
/// - [`Layout::Listed`], of v14: the same with lists of a slab's pairs
/// - [`Layout::Cells`]: bands fastest, pairs sorted by their poles
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preparation(Layout);

pub fn preparation(layout: Layout) -> Preparation {
    Preparation(layout)
}

/// Bytes of a sorted pair beside its pole and its `eps`.
const SORTED: u64 = 8;

/// Bytes of the host's memory that are taken for odd poles at a part of the energies.
const MOST_BYTES: u64 = 1 << 30;

impl Preparation {
    /// The arrays that it has of its own, where the plan's order of bands is the problem's or not.
    pub fn own(self, keeps_order: bool) -> Vec<&'static Array> {
        match self.0 {
            Layout::Original => Vec::new(),
            Layout::Planned | Layout::Listed if !keeps_order => vec![&AQSM_LOCAL, &WX, &AQSN, &OCC],
            Layout::Swapped | Layout::Planned | Layout::Listed => vec![&AQSM_LOCAL, &WX],
            Layout::Cells => vec![&AQSM_LOCAL, &AQSN],
        }
    }

    /// Whether an array is among [those](Preparation::own).
    pub fn has_own(self, array: &'static Array, keeps_order: bool) -> bool {
        self.own(keeps_order).into_iter().any(|own| ptr::eq(own, array))
    }

    /// Matrix elements of G; borrowed where they stand so.
    pub fn aqsn<'a>(self, bands: &'a Bands, order: &BandOrder) -> Result<Cow<'a, [Complex64]>> {
        let ncouls = bands.header().ncouls;
        Ok(match self.0 {
            Layout::Planned | Layout::Listed if !order.is_kept() => {
                let column = |n| &bands.aqsn()[n * ncouls..(n + 1) * ncouls];
                order.reordered(&AQSN, ncouls, column)?.into()
            }
            Layout::Original | Layout::Swapped | Layout::Planned | Layout::Listed => {
                bands.aqsn().into()
            }
            Layout::Cells => {
                let columns = bands.aqsn().chunks_exact(ncouls).collect();
                bands_fastest(&AQSN, columns, ncouls)?.into()
            }
        })
    }

    /// Occupations; borrowed where they stand so.
    pub fn occ<'a>(self, bands: &'a Bands, order: &BandOrder) -> Cow<'a, [f64]> {
        if matches!(self.0, Layout::Planned | Layout::Listed) && !order.is_kept() {
            return order.bands().iter().map(|&n| bands.occ()[n]).collect();
        }
        bands.occ().into()
    }

    pub fn of_bands<'a>(self, bands: &'a Bands, order: &BandOrder) -> Result<BandArrays<'a>> {
        Ok(BandArrays { aqsn: self.aqsn(bands, order)?, occ: self.occ(bands, order) })
    }

    /// Whether bands are fastest in an array of matrix elements.
    pub fn has_bands_fastest(self, array: &'static Array) -> bool {
        match self.0 {
            Layout::Original | Layout::Planned | Layout::Listed => false,
            Layout::Swapped => ptr::eq(array, &AQSM_LOCAL),
            Layout::Cells => true,
        }
    }

    /// The bands (0-based) of matrix elements in their order.
    pub fn bands(self, order: &BandOrder) -> Vec<usize> {
        match self.0 {
            Layout::Planned | Layout::Listed => order.bands().to_vec(),
            _ => (0..order.bands().len()).collect(),
        }
    }

    /// The energies of a batch; borrowed where they stand so.
    pub fn energies<'a>(self, bands: &Bands, batch: &'a Batch) -> Cow<'a, [f64]> {
        match self.0 {
            Layout::Original | Layout::Cells => batch.wx().into(),
            Layout::Swapped => {
                let nbands = bands.header().nbands;
                let of_energy = |iw: usize| (0..nbands).map(move |n| batch.of_band(n)[iw]);
                (0..batch.nw()).flat_map(of_energy).collect()
            }
            Layout::Planned | Layout::Listed => {
                let padded = padded(&WX, Extents { nw: batch.nw(), ..bands.extents() });
                let zeros = repeat_n(0.0, padded - batch.nw());
                let of_band = |&n: &usize| batch.of_band(n).iter().copied().chain(zeros.clone());
                batch.plan().order().iter().flat_map(of_band).collect()
            }
        }
    }

    /// A slab's matrix elements of G′; borrowed where they stand so.
    pub fn aqsm_local<'a>(
        self,
        slab: SlabView<'a>,
        order: &BandOrder,
    ) -> Result<Cow<'a, [Complex64]>> {
        let all = slab.aqsm_local();
        Ok(match self.0 {
            Layout::Original => {
                if let Some(whole) = all.whole() {
                    return Ok(whole.into());
                }
                let mut rows = zeros(AQSM_LOCAL.name, all.rows() * slab.nbands())?;
                rows.chunks_exact_mut(all.rows())
                    .zip(all.columns())
                    .for_each(|(to, from)| to.copy_from_slice(from));
                rows.into()
            }
            Layout::Swapped => transposed(all.columns(), all.rows())?.into(),
            Layout::Planned | Layout::Listed => {
                let of_band = Extents { nbands: 1, ngpown: slab.len(), ncouls: 1, nw: 1 };
                let padded = padded(&AQSM_LOCAL, of_band);
                order.reordered(&AQSM_LOCAL, padded, |n| all.column(n))?.into()
            }
            Layout::Cells => {
                bands_fastest(&AQSM_LOCAL, all.columns().collect(), all.rows())?.into()
            }
        })
    }

    /// What its kernels read of a slab's pairs beside `wtilde` and `eps`, or in their place.
    pub fn pairs(
        self,
        frame: &Frame,
        slab: SlabView,
        batch: &Batch,
        kernel: &Kernel,
    ) -> Arc<dyn Pairs> {
        match self.0 {
            Layout::Original | Layout::Swapped => Arc::new(AsTheyAre),
            Layout::Planned => Arc::new(frame.odd(slab, batch, kernel.poles)),
            Layout::Listed => {
                let odd = frame.odd(slab, batch, kernel.poles);
                Arc::new(ListedPairs {
                    lists: Lists::of(slab, &odd, batch.plan().has_static()),
                    odd,
                })
            }
            Layout::Cells => Arc::new(frame.cells(slab, Evaluator::Gpu)),
        }
    }

    /// What these depend on beside the slab, if on anything.
    pub fn pairs_at(self, batch: &Batch, kernel: &Kernel) -> Option<PairsAt> {
        let planned = matches!(self.0, Layout::Planned | Layout::Listed);
        let depends = planned && kernel.poles != Poles::Unread;
        depends.then(|| (batch.id(), kernel.poles))
    }

    /// Bytes of theirs on a device, beside `wtilde` and `eps`, of a slab of these extents.
    pub fn bytes_of_pairs(self, slab: Extents) -> u64 {
        match self.0 {
            Layout::Original | Layout::Swapped => 0,
            Layout::Planned => slab.odd_bytes(),
            Layout::Listed => slab.odd_bytes().saturating_add(slab.list_bytes()),
            Layout::Cells => {
                SORTED.saturating_mul(slab.ncouls as u64).saturating_mul(slab.ngpown as u64)
            }
        }
    }

    /// Bytes of the host's memory that they and what they are made in take.
    pub fn bytes_while_made(self, slab: Extents, poles: Poles) -> u64 {
        match self.0 {
            Layout::Original | Layout::Swapped => 0,
            Layout::Planned => OddPoles::bytes_while_made(slab),
            // The records before they are put together.
            Layout::Listed => {
                OddPoles::bytes_while_made(slab).saturating_add(slab.list_bytes().saturating_mul(3))
            }
            Layout::Cells => Cells::bytes_while_made(slab, poles),
        }
    }

    /// Bytes of them that stay on the host for the next calculation at most, those of all slabs at some batches of
    /// so many in all; `granted` are those that a run allows.
    pub fn bytes_kept(self, problem: Extents, batches: usize, granted: u64) -> u64 {
        match self.0 {
            Layout::Original | Layout::Swapped => 0,
            Layout::Planned if batches == 1 => problem.odd_bytes(),
            Layout::Listed if batches == 1 => {
                problem.odd_bytes().saturating_add(problem.list_bytes())
            }
            Layout::Planned | Layout::Listed => {
                problem.odd_bytes().saturating_mul(batches as u64).min(MOST_BYTES)
            }
            Layout::Cells => granted,
        }
    }

    /// Whether they take the place of `wtilde` and `eps`, so that on a device nothing of other layouts stays beside
    /// them.
    pub fn replaces(self) -> bool {
        self.0 == Layout::Cells
    }
}

/// Elements of a band in an array of the planned layout, padded.
fn padded(array: &Array, of: Extents) -> usize {
    array.extents(of, Layout::Planned)[0] as usize
}

/// Which batch, and what poles kernels take.
pub type PairsAt = ((Id, Range<usize>), Poles);

/// What was made of a slab's pairs, and what it depends on beside the slab.
pub type MadePairs = (Option<PairsAt>, Arc<dyn Pairs>);

/// What kernels read of a slab's pairs beside `wtilde` and `eps`, or in their place.
pub trait Pairs: Send + Sync {
    fn arrays(&self) -> Vec<Words<'_>>;

    /// With what the size of a grid depends on of it.
    fn counted<'a>(&'a self, of: extents::Extents<'a>) -> extents::Extents<'a> {
        of
    }

    /// What a kernel is given at a batch: that which all are given, and where [`Pairs::arrays`] are.
    ///
    /// # Panics
    /// Where they are of another slab.
    fn arguments(
        &self,
        common: PaperArguments,
        at: (&Batch, &Kernel),
        arrays: &[*const c_void],
    ) -> Box<dyn Arguments>;
}

/// An array as it is copied to a device.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    pub name: &'static str,
    pub words: &'a [u32],
    /// Words that the next slab may have more.
    pub spare: usize,
}

impl Extents {
    /// Most bytes that a device needs for the arrays of the bands or of a slab in one layout, with one batch
    /// of energies. A slab's include sums, and odd poles up to one in 16 pairs or indices of sorted ones.
    pub fn device_bytes(self, of: Of) -> u64 {
        let batch = Extents { nw: self.nw.min(memory::MOST_TOGETHER), ..self };
        let most =
            |bytes: &dyn Fn(Layout) -> u64| Layout::ALL.into_iter().map(bytes).max().unwrap_or(0);
        let beside = match of {
            Of::Bands => 0,
            Of::Slab => most(&|layout| preparation(layout).bytes_of_pairs(batch))
                .saturating_add(memory::partial_sums(batch)),
        };
        let arrays = ARRAYS.into_iter().filter(|array| array.of == of);
        let arrays = arrays.map(|array| most(&|layout| array.bytes(batch, layout)));
        arrays.fold(beside, u64::saturating_add)
    }

    /// Bytes of the lists of a slab at most.
    fn list_bytes(self) -> u64 {
        lists::words(self.ngpown as u64, self.ncouls as u64).saturating_mul(4)
    }

    /// Bytes of what a layout has of its own beside the original, of the bands or of a slab;
    /// `keeps_order` as in [`Preparation::own`].
    pub fn bytes_beside(self, of: Of, layout: Layout, keeps_order: bool) -> u64 {
        let own = preparation(layout).own(keeps_order).into_iter().filter(|array| array.of == of);
        own.fold(0, |sum, array| sum.saturating_add(array.bytes(self, layout)))
    }
}

/// The arrays of a problem's bands in one layout, for all of its energies.
#[derive(Clone, Debug)]
pub struct BandArrays<'a> {
    aqsn: Cow<'a, [Complex64]>,
    occ: Cow<'a, [f64]>,
}

impl<'a> BandArrays<'a> {
    pub fn aqsn(&self) -> &Cow<'a, [Complex64]> {
        &self.aqsn
    }

    pub fn occ(&self) -> &Cow<'a, [f64]> {
        &self.occ
    }
}

/// All that the kernels of one layout read of a slab at some energies.
#[derive(Clone, Copy)]
pub struct Laid<'a> {
    pub bands: &'a Bands,
    pub batch: &'a Batch,
    pub slab: SlabView<'a>,
    /// The arrays of the bands in the layout.
    pub of_bands: &'a BandArrays<'a>,
    /// [Energies](Preparation::energies) in the layout.
    pub wx: &'a [f64],
    /// Matrix elements of G′ in the layout.
    pub aqsm_local: &'a [Complex64],
}

impl<'a> Laid<'a> {
    /// What a kernel of the layout is given from energy `iw` on, with what it reads of the slab's pairs and room for
    /// the sums of all blocks.
    ///
    /// # Panics
    /// Where an array has not the size that the layout gives it, and where the pairs are of another slab.
    pub fn arguments(
        self,
        kernel: &Kernel,
        pairs: &'a dyn Pairs,
        iw: u32,
        partials: &'a mut [f64],
    ) -> Shared<'a> {
        let Laid { bands, batch, slab, of_bands: BandArrays { aqsn, occ }, wx, aqsm_local } = self;
        let extents = Extents { ngpown: slab.len(), nw: batch.nw(), ..bands.extents() };
        for (array, length) in [
            (&WTILDE, slab.wtilde().len()),
            (&EPS, slab.eps().len()),
            (&AQSN, aqsn.len()),
            (&AQSM_LOCAL, aqsm_local.len()),
            (&WX, wx.len()),
            (&OCC, occ.len()),
        ] {
            let needed = array.elements(extents, kernel.layout);
            assert_eq!(length as u64, needed, "{}", array.name);
        }
        let limits = bands.limits();
        let common = PaperArguments {
            wtilde: slab.wtilde().as_ptr(),
            eps: slab.eps().as_ptr(),
            aqsn: aqsn.as_ptr(),
            aqsm_local: aqsm_local.as_ptr(),
            wx: wx.as_ptr(),
            vcoul_loc: slab.vcoul_loc().as_ptr(),
            occ: occ.as_ptr(),
            partials: partials.as_mut_ptr(),
            nbands: extents.nbands as u32,
            ngpown: extents.ngpown as u32,
            ncouls: extents.ncouls as u32,
            nw: extents.nw as u32,
            iw,
            limittwo: limits.limittwo,
            limitone: limits.limitone,
            sexcut: limits.sexcut,
        };
        let own: Vec<_> = pairs.arrays().iter().map(|array| array.words.as_ptr().cast()).collect();
        let arguments = pairs.arguments(common, (batch, kernel), &own);
        Shared { arguments, borrowed: PhantomData }
    }
}

/// What a kernel is given, for threads to share, while what it points to is borrowed.
pub struct Shared<'a> {
    arguments: Box<dyn Arguments>,
    borrowed: PhantomData<&'a [Complex64]>,
}

// SAFETY: each block writes its own sums; the other pointers are only read through, and what they point to is
// borrowed for `'a`.
unsafe impl Sync for Shared<'_> {}

impl Shared<'_> {
    pub fn address(&self) -> *const () {
        self.arguments.address()
    }
}

/// Nothing beside `wtilde` and `eps`.
struct AsTheyAre;

impl Pairs for AsTheyAre {
    fn arrays(&self) -> Vec<Words<'_>> {
        Vec::new()
    }

    fn arguments(
        &self,
        common: PaperArguments,
        _: (&Batch, &Kernel),
        _: &[*const c_void],
    ) -> Box<dyn Arguments> {
        Box::new(common)
    }
}

/// A matrix of `rows` rows given by its columns, transposed.
fn transposed<'a>(
    columns: impl ExactSizeIterator<Item = &'a [Complex64]> + Clone,
    rows: usize,
) -> Result<Vec<Complex64>> {
    let mut all = zeros(AQSM_LOCAL.name, rows * columns.len())?;
    for (row, to) in all.chunks_exact_mut(columns.len()).enumerate() {
        to.iter_mut().zip(columns.clone()).for_each(|(to, column)| *to = column[row]);
    }
    Ok(all)
}

impl Pairs for OddPoles {
    fn arrays(&self) -> Vec<Words<'_>> {
        vec![
            Words { name: "mask of odd poles", words: self.mask(), spare: 0 },
            Words { name: "odd pairs", words: self.pairs(), spare: self.pairs().len() / 8 },
            Words { name: "begins of odd pairs", words: self.begins(), spare: 0 },
        ]
    }

    fn counted<'a>(&'a self, of: extents::Extents<'a>) -> extents::Extents<'a> {
        extents::Extents { odd_begins: self.begins(), ..of }
    }

    fn arguments(
        &self,
        common: PaperArguments,
        (batch, kernel): (&Batch, &Kernel),
        arrays: &[*const c_void],
    ) -> Box<dyn Arguments> {
        assert_eq!(self.begins().len(), common.ngpown as usize + 1, "the slab's odd poles");
        let plan = Plan {
            odd_mask: arrays[0].cast(),
            odd_pairs: arrays[1].cast(),
            odd_begins: arrays[2].cast(),
            ..batch.plan().view(kernel, self)
        };
        Box::new(PlannedArguments::new(common, plan))
    }
}

/// The pairs of a slab: those of lists, and the odd ones.
struct ListedPairs {
    lists: Lists,
    odd: OddPoles,
}

impl Pairs for ListedPairs {
    fn arrays(&self) -> Vec<Words<'_>> {
        let mut arrays = self.odd.arrays();
        let words = &self.lists.words;
        arrays[0] = Words { name: "lists of pairs", words, spare: words.len() / 8 };
        arrays
    }

    fn counted<'a>(&'a self, of: extents::Extents<'a>) -> extents::Extents<'a> {
        extents::Extents { parts: self.lists.records, ..self.odd.counted(of) }
    }

    fn arguments(
        &self,
        common: PaperArguments,
        at: (&Batch, &Kernel),
        arrays: &[*const c_void],
    ) -> Box<dyn Arguments> {
        self.odd.arguments(common, at, arrays)
    }
}

impl Pairs for Cells {
    fn arrays(&self) -> Vec<Words<'_>> {
        let (poles, parts) = self.words();
        vec![
            Words { name: "sorted pairs", words: poles, spare: poles.len() / 64 },
            Words { name: "parts of sorted pairs", words: parts, spare: parts.len() / 8 },
        ]
    }

    fn counted<'a>(&'a self, of: extents::Extents<'a>) -> extents::Extents<'a> {
        extents::Extents { parts: self.count(), ..of }
    }

    fn arguments(
        &self,
        common: PaperArguments,
        _: (&Batch, &Kernel),
        arrays: &[*const c_void],
    ) -> Box<dyn Arguments> {
        let PaperArguments { aqsn, aqsm_local, wx, vcoul_loc, occ, partials, .. } = common;
        let PaperArguments { nbands, nw, limittwo, limitone, sexcut, .. } = common;
        Box::new(CellsArguments {
            poles: arrays[0].cast(),
            parts: arrays[1].cast(),
            aqsn,
            aqsm_local,
            wx,
            vcoul_loc,
            occ,
            partials,
            count: self.count(),
            nbands,
            rows: nbands.next_multiple_of(BANDS),
            nw,
            limittwo,
            limitone,
            sexcut,
        })
    }
}

/// A matrix of `rows` rows given by its columns, one for each band, transposed, with zeros behind the last
/// band.
fn bands_fastest(array: &Array, columns: Vec<&[Complex64]>, rows: usize) -> Result<Vec<Complex64>> {
    /// Rows at a time, so that what is read next to each other is used before it is gone.
    const TILE: usize = 32;
    let padded = columns.len().next_multiple_of(BANDS as usize);
    let mut all = zeros(array.name, padded * rows)?;
    all.par_chunks_mut(padded * TILE).enumerate().for_each(|(tile, out)| {
        for (n, column) in columns.iter().enumerate() {
            let own = &column[tile * TILE..rows.min((tile + 1) * TILE)];
            own.iter().enumerate().for_each(|(row, value)| out[row * padded + n] = *value);
        }
    });
    Ok(all)
}
