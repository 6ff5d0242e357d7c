//! The arrays of a problem on a GPU. Those of the bands stay; those of a slab stay until the next slab takes
//! their place. Each layout is made when a kernel first wants it; that of sorted pairs has the device to
//! itself.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use super::cells::CellBuffers;
use super::driver::Buffer;
use super::lent::{BandBuffers, Elements};
use super::odd::{FoundPoles, OddBuffers};
use super::uploads::{Uploads, pointer};
use crate::error::Result;
use crate::problem::layout::{BandArrays, aqsm_local, energies};
use crate::problem::memory::{Extents, Of};
use crate::problem::{Batch, Cells, SlabView};

/// The arrays of the bands. What stands in the problem's own order is there once for all layouts.
#[derive(Default)]
pub struct PlacedBands {
    pub(super) aqsn: Option<Arc<Buffer<Complex64>>>,
    pub(super) occ: Option<Arc<Buffer<f64>>>,
    pub(super) by_layout: [Option<BandBuffers>; 4],
    /// In each layout.
    pub(super) energies: [PlacedEnergies; 4],
    /// Occupations in each layout that the next bands have too.
    pub(super) same_occ: [Option<Arc<Buffer<f64>>>; 4],
    /// Memory for those of the next bands.
    pub(super) spare: (Option<Buffer<Complex64>>, Option<Buffer<f64>>),
}

/// Energies, in memory that those of the next batch take over.
#[derive(Default)]
pub(super) struct PlacedEnergies {
    /// Which ones are in place.
    pub(super) which: Option<Range<usize>>,
    wx: Option<Buffer<f64>>,
}

impl PlacedBands {
    /// Uploads what a layout lacks, with the energies of a batch; it is there when this returns. Nothing that
    /// is under way reads other energies.
    pub fn want(&mut self, to: &mut Uploads, layout: Layout, batch: &Batch) -> Result<()> {
        let before = to.bytes;
        self.want_bands(to, layout)?;
        let PlacedEnergies { which, wx } = &mut self.energies[layout as usize];
        if which.as_ref() != Some(&batch.energies()) {
            *which = None;
            to.fill("wx", wx, &energies(to.problem.bands(), batch, layout), 0)?;
            *which = Some(batch.energies());
        }
        // Other streams read them as well.
        if to.bytes > before { to.stream.synchronize() } else { Ok(()) }
    }

    /// Uploads what a layout lacks but for energies.
    fn want_bands(&mut self, to: &mut Uploads, layout: Layout) -> Result<()> {
        #[expect(clippy::ptr_arg, reason = "what is borrowed stands in the problem's own order")]
        fn there<T: Pod>(
            to: &mut Uploads,
            what: &'static str,
            array: &Cow<[T]>,
            own_order: &mut Option<Arc<Buffer<T>>>,
            spare: &mut Option<Buffer<T>>,
        ) -> Result<Arc<Buffer<T>>> {
            let mut filled = |values: &[T]| -> Result<Arc<Buffer<T>>> {
                to.fill(what, spare, values, 0)?;
                Ok(spare.take().expect("filled").into())
            };
            let values = match array {
                Cow::Owned(values) => return filled(values),
                Cow::Borrowed(values) => values,
            };
            let buffer = match own_order.take() {
                Some(buffer) => buffer,
                None => filled(values)?,
            };
            Ok(own_order.insert(buffer).clone())
        }
        if self.by_layout[layout as usize].is_some() {
            return Ok(());
        }
        let lent = to.lent;
        let arrays = match lent {
            Some(_) => BandArrays::without_aqsn(to.problem.bands(), to.problem.order(), layout),
            None => BandArrays::of(to.problem.bands(), to.problem.order(), layout),
        };
        let has_cells = self.by_layout[Layout::Cells as usize].is_some();
        if to.one_layout || layout == Layout::Cells || has_cells {
            self.by_layout = [const { None }; 4];
            self.energies = Default::default();
            if matches!(arrays.aqsn(), Cow::Owned(_)) {
                self.aqsn = None;
            }
        }
        let spare = &mut self.spare;
        let aqsn = match lent.map(|lent| (lent, lent.aqsn_as_it_is(to, layout))) {
            Some((_, Some(at))) => Elements::Lent(at),
            Some((lent, None)) => {
                lent.lay_aqsn(to, layout, &mut spare.0)?;
                Elements::Own(spare.0.take().expect("laid out").into())
            }
            None => Elements::Own(there(to, "aqsn", arrays.aqsn(), &mut self.aqsn, &mut spare.0)?),
        };
        let occ = match self.same_occ[layout as usize].take() {
            Some(occ) => occ,
            None => there(to, "occ", arrays.occ(), &mut self.occ, &mut spare.1)?,
        };
        self.by_layout[layout as usize] = Some(BandBuffers { aqsn, occ });
        Ok(())
    }

    /// The energies in place, in a layout.
    ///
    /// # Panics
    /// Where that was not wanted.
    pub fn energies(&self, layout: Layout) -> *const f64 {
        pointer(&self.energies[layout as usize].wx)
    }

    /// Whether there are none in any layout.
    fn is_empty(&self) -> bool {
        self.by_layout.iter().all(Option::is_none)
    }

    /// The arrays in a layout.
    ///
    /// # Panics
    /// Where that was not wanted.
    pub fn in_layout(&self, layout: Layout) -> &BandBuffers {
        self.by_layout[layout as usize].as_ref().expect("the layout was wanted")
    }
}

/// A slab, in memory that the next one takes over.
#[derive(Default)]
pub struct PlacedSlab {
    /// Which one is in place.
    igp: Option<Range<usize>>,
    /// Each, and whether it is of the slab in place.
    pub(super) wtilde: (Option<Buffer<Complex64>>, bool),
    pub(super) eps: (Option<Buffer<Complex64>>, bool),
    /// Where a caller has both, in place of these.
    pub(super) lent: Option<[u64; 2]>,
    vcoul_loc: Option<Buffer<f64>>,
    /// For each layout, and whether it is of the slab in place.
    pub(super) aqsm_local: [(Option<Buffer<Complex64>>, bool); 4],
    /// For kernels that take any poles, and for those that take real ones.
    pub(super) odd: [OddBuffers; 2],
    pub(super) cells: CellBuffers,
}

/// What kernels read of a slab in place.
pub struct SlabPointers {
    pub igp: usize,
    pub vcoul_loc: *const f64,
    pub aqsm_local: *const Complex64,
}

impl PlacedSlab {
    /// Whether this slab is in place.
    pub fn holds(&self, igp: &Range<usize>) -> bool {
        self.igp.as_ref() == Some(igp)
    }

    /// Whether none is in place.
    pub fn is_empty(&self) -> bool {
        self.igp.is_none()
    }

    /// Forgets which slab is in place.
    pub fn forget(&mut self) {
        self.igp = None;
        let matrices = self.aqsm_local.iter_mut().chain([&mut self.wtilde, &mut self.eps]);
        matrices.for_each(|(_, there)| *there = false);
        self.odd.iter_mut().for_each(OddBuffers::forget);
        self.cells.forget();
    }

    /// Enqueues what all layouts have in common, where it is not in place.
    ///
    /// # Errors
    /// [`Error::Memory`] where the slab, in one layout, does not fit with the bands, which may be there
    /// already; [`Error::Driver`].
    pub fn place(&mut self, to: &mut Uploads, bands: &PlacedBands, slab: SlabView) -> Result<()> {
        if self.holds(&slab.igp()) {
            return Ok(());
        }
        self.forget();
        if self.vcoul_loc.as_ref().is_none_or(|buffer| buffer.len() < slab.len()) {
            (self.wtilde, self.eps) = Default::default();
            self.cells.clear();
            let extents = Extents { ngpown: slab.len(), ..to.problem.extents() };
            let is_lent = self.lent.is_some() || to.lent.is_some();
            let all = if bands.is_empty() { extents.bytes() } else { extents.bytes_of(Of::Slab) };
            // What is there already needs no room; the rest is looked at one by one.
            to.require("arrays", if is_lent { 0 } else { all })?;
        }
        to.fill("vcoul_loc", &mut self.vcoul_loc, slab.vcoul_loc(), 0)?;
        self.igp = Some(slab.igp());
        Ok(())
    }

    /// Enqueues what a kernel lacks of `slab`, which is in place, at a batch: pairs as its layout has them,
    /// others make room.
    ///
    /// # Errors
    /// As [`PlacedSlab::place`].
    pub fn want(
        &mut self,
        to: &mut Uploads,
        found: &mut FoundPoles,
        (slab, batch): (SlabView, &Batch),
        kernel: &Kernel,
        cells: Option<&Cells>,
    ) -> Result<()> {
        let layout = kernel.layout as usize;
        let has_cells = self.aqsm_local[Layout::Cells as usize].0.is_some();
        if to.one_layout || kernel.layout == Layout::Cells || has_cells {
            for (_, other) in (0..).zip(&mut self.aqsm_local).filter(|(at, _)| *at != layout) {
                *other = (None, false);
            }
        }
        let (room, there) = &mut self.aqsm_local[layout];
        if !*there {
            match to.lent {
                Some(lent) => lent.lay_aqsm(to, kernel.layout, room)?,
                None => {
                    let values = aqsm_local(slab, to.problem.order(), kernel.layout);
                    to.fill("aqsm_local", room, &values, 0)?;
                }
            }
            *there = true;
        }
        if kernel.layout == Layout::Cells {
            (self.wtilde, self.eps, self.odd) = Default::default();
            return cells.map_or(Ok(()), |cells| self.cells.fill(to, cells));
        }
        self.cells.clear();
        self.want_pairs(to, slab)?;
        match kernel.layout {
            Layout::Planned => {
                self.odd[kernel.poles as usize].want(to, found, (slab, batch), kernel.poles)
            }
            _ => Ok(()),
        }
    }

    /// Whether `slab` lacks what kernels of a layout read in place of `wtilde` and `eps`: to be given to
    /// [`PlacedSlab::want`].
    pub fn lacks_cells(&self, slab: SlabView, layout: Layout) -> bool {
        layout == Layout::Cells && !(self.holds(&slab.igp()) && self.cells.count().is_some())
    }

    /// Enqueues `wtilde` and `eps` where they are not in place.
    fn want_pairs(&mut self, to: &mut Uploads, slab: SlabView) -> Result<()> {
        if self.lent.is_some() {
            return Ok(());
        }
        for (name, (room, there), values) in
            [("wtilde", &mut self.wtilde, slab.wtilde()), ("eps", &mut self.eps, slab.eps())]
        {
            if !*there {
                to.fill(name, room, values, 0)?;
                *there = true;
            }
        }
        Ok(())
    }

    /// What kernels of a layout read of the slab in place.
    ///
    /// # Panics
    /// Where there is none, and where the layout was not wanted.
    pub fn pointers(&self, layout: Layout) -> SlabPointers {
        let igp = self.igp.as_ref().expect("a slab is in place").len();
        let (aqsm_local, there) = &self.aqsm_local[layout as usize];
        assert!(there, "the layout was wanted");
        SlabPointers { igp, vcoul_loc: pointer(&self.vcoul_loc), aqsm_local: pointer(aqsm_local) }
    }

    /// The pairs sorted by their poles, where they were wanted.
    pub fn cells(&self) -> &CellBuffers {
        &self.cells
    }

    /// The odd poles for kernels that take these, where they were wanted.
    pub fn odd(&self, takes: Poles) -> &OddBuffers {
        &self.odd[takes as usize]
    }
}
