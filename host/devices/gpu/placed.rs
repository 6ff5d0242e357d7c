//! What is on a GPU of a problem: the arrays of the bands once, those of a slab until the next one takes
//! their place, and of both each layout when a kernel first wants it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use super::driver::{Buffer, Context, Stream};
use crate::error::{Error, Result};
use crate::problem::layout::{BandArrays, aqsm_local};
use crate::problem::memory::{Extents, Of};
use crate::problem::{OddPoles, Problem, SlabView};

/// Where uploads go, and what of.
#[derive(Clone, Copy)]
pub struct Uploads<'a> {
    pub context: &'a Context,
    pub stream: &'a Stream,
    pub problem: &'a Problem,
}

impl Uploads<'_> {
    /// Memory of the device with `values` in it.
    fn of<T: Pod>(self, what: &'static str, values: &[T]) -> Result<Buffer<T>> {
        self.require(what, size_of_val(values) as u64)?;
        self.context.upload(what, values, self.stream)
    }

    /// Fails where less than `needed` bytes are free.
    fn require(self, what: &str, needed: u64) -> Result<()> {
        let (free, _) = self.context.memory()?;
        if needed > free {
            let what = format!("{what} of {}", self.problem.name());
            return Err(Error::Memory { place: "device", what, needed, free });
        }
        Ok(())
    }
}

/// The arrays of the bands in one layout.
pub struct BandBuffers {
    pub aqsn: Arc<Buffer<Complex64>>,
    pub wx: Arc<Buffer<f64>>,
    pub occ: Arc<Buffer<f64>>,
}

/// The arrays of the bands. What stands in the problem's own order is there once for all layouts.
#[derive(Default)]
pub struct PlacedBands {
    aqsn: Option<Arc<Buffer<Complex64>>>,
    wx: Option<Arc<Buffer<f64>>>,
    occ: Option<Arc<Buffer<f64>>>,
    by_layout: [Option<BandBuffers>; 3],
}

impl PlacedBands {
    /// Uploads what a layout lacks.
    pub fn want(&mut self, to: Uploads, layout: Layout) -> Result<()> {
        #[expect(clippy::ptr_arg, reason = "what is borrowed stands in the problem's own order")]
        fn there<T: Pod>(
            to: Uploads,
            what: &'static str,
            array: &Cow<[T]>,
            own_order: &mut Option<Arc<Buffer<T>>>,
        ) -> Result<Arc<Buffer<T>>> {
            let values = match array {
                Cow::Owned(values) => return Ok(to.of(what, values)?.into()),
                Cow::Borrowed(values) => values,
            };
            let buffer = match own_order.take() {
                Some(buffer) => buffer,
                None => to.of(what, values)?.into(),
            };
            Ok(own_order.insert(buffer).clone())
        }
        if self.by_layout[layout as usize].is_some() {
            return Ok(());
        }
        let arrays = BandArrays::of(to.problem.bands(), to.problem.plan(), layout);
        self.by_layout[layout as usize] = Some(BandBuffers {
            aqsn: there(to, "aqsn", arrays.aqsn(), &mut self.aqsn)?,
            wx: there(to, "wx", arrays.wx(), &mut self.wx)?,
            occ: there(to, "occ", arrays.occ(), &mut self.occ)?,
        });
        Ok(())
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

/// A slab.
pub struct PlacedSlab {
    pub igp: Range<usize>,
    pub wtilde: Buffer<Complex64>,
    pub eps: Buffer<Complex64>,
    pub vcoul_loc: Buffer<f64>,
    aqsm_local: [Option<Buffer<Complex64>>; 3],
    /// For kernels that take any poles, and for those that take real ones.
    odd: [Option<OddBuffers>; 2],
}

/// The odd poles of a slab for some kernels.
pub struct OddBuffers {
    pub poles: OddPoles,
    pub mask: Buffer<u32>,
    pub pairs: Buffer<u32>,
    pub begins: Buffer<u32>,
}

impl PlacedSlab {
    /// Uploads what all layouts have in common.
    ///
    /// # Errors
    /// [`Error::Memory`] where the slab, in one layout, does not fit with the bands, which may be there
    /// already; [`Error::Driver`].
    pub fn new(to: Uploads, bands: &PlacedBands, slab: SlabView) -> Result<PlacedSlab> {
        let extents = Extents { ngpown: slab.len(), ..to.problem.bands().extents() };
        let needed = if bands.is_empty() { extents.bytes() } else { extents.bytes_of(Of::Slab) };
        to.require("arrays", needed)?;
        Ok(PlacedSlab {
            igp: slab.igp(),
            wtilde: to.of("wtilde", slab.wtilde())?,
            eps: to.of("eps", slab.eps())?,
            vcoul_loc: to.of("vcoul_loc", slab.vcoul_loc())?,
            aqsm_local: [const { None }; 3],
            odd: [const { None }; 2],
        })
    }

    /// Uploads what a kernel lacks of `slab`, which is this one.
    ///
    /// # Errors
    /// As [`PlacedSlab::new`].
    pub fn want(&mut self, to: Uploads, slab: SlabView, kernel: &Kernel) -> Result<()> {
        let of_layout = &mut self.aqsm_local[kernel.layout as usize];
        if of_layout.is_none() {
            *of_layout =
                Some(to.of("aqsm_local", &aqsm_local(slab, to.problem.plan(), kernel.layout))?);
        }
        let of_poles = &mut self.odd[kernel.poles as usize];
        if kernel.layout == Layout::Planned && of_poles.is_none() {
            let poles = to.problem.plan().odd(slab, kernel.poles);
            *of_poles = Some(OddBuffers {
                mask: to.of("mask of odd poles", poles.mask())?,
                pairs: to.of("odd pairs", poles.pairs())?,
                begins: to.of("begins of odd pairs", poles.begins())?,
                poles,
            });
        }
        Ok(())
    }

    /// Matrix elements of G′ in a layout.
    ///
    /// # Panics
    /// Where that was not wanted.
    pub fn aqsm_local(&self, layout: Layout) -> &Buffer<Complex64> {
        self.aqsm_local[layout as usize].as_ref().expect("the layout was wanted")
    }

    /// The odd poles for kernels that take these.
    ///
    /// # Panics
    /// Where they were not wanted.
    pub fn odd(&self, takes: Poles) -> &OddBuffers {
        self.odd[takes as usize].as_ref().expect("they were wanted")
    }

    /// The odd poles for a kernel, on the host; none for one without a plan.
    pub fn odd_poles(&self, kernel: &Kernel) -> Option<&OddPoles> {
        self.odd[kernel.poles as usize].as_ref().map(|odd| &odd.poles)
    }
}
