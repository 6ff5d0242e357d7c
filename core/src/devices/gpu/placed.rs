//! The arrays of a problem on a GPU. Those of the bands stay; those of a slab stay until the next slab takes
//! their place. Each layout is made when a kernel first wants it; that of sorted pairs has the device to
//! itself.

use std::borrow::Cow;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use super::driver::Buffer;
use super::pairs::PlacedPairs;
use super::uploads::{Uploads, pointer};
use crate::error::Result;
use crate::problem::layout::{Pairs, preparation};
use crate::problem::memory::{Extents, Of};
use crate::problem::{Batch, Id, SlabView};

/// The arrays of the bands in one layout.
pub struct BandBuffers {
    layout: Layout,
    pub aqsn: Arc<Buffer<Complex64>>,
    pub occ: Arc<Buffer<f64>>,
    /// Which energies are in place, in memory that those of the next batch take over.
    which: Option<(Id, Range<usize>)>,
    wx: Option<Buffer<f64>>,
}

impl BandBuffers {
    /// The energies in place.
    ///
    /// # Panics
    /// Where none were wanted.
    pub fn energies(&self) -> *const f64 {
        pointer(&self.wx)
    }
}

/// The arrays of the bands. What stands in the problem's own order is there once for all layouts.
#[derive(Default)]
pub struct PlacedBands {
    aqsn: Option<Arc<Buffer<Complex64>>>,
    occ: Option<Arc<Buffer<f64>>>,
    layouts: Vec<BandBuffers>,
}

/// Whether the layouts in place make room for one, or it for them.
fn makes_room(to: &Uploads, layout: Layout, mut others: impl Iterator<Item = Layout>) -> bool {
    to.one_layout
        || preparation(layout).replaces()
        || others.any(|other| preparation(other).replaces())
}

impl PlacedBands {
    /// Uploads what a layout lacks, with the energies of a batch; it is there when this returns. Nothing that
    /// is under way reads other energies.
    pub fn want(&mut self, to: &mut Uploads, layout: Layout, batch: &Batch) -> Result<()> {
        let before = to.bytes;
        let BandBuffers { which, wx, .. } = self.want_bands(to, layout)?;
        if which.as_ref() != Some(&batch.id()) {
            *which = None;
            let energies = preparation(layout).energies(to.problem.bands(), batch);
            to.fill("wx", wx, &energies, 0)?;
            *which = Some(batch.id());
        }
        // Other streams read them as well.
        if to.bytes > before { to.stream.synchronize() } else { Ok(()) }
    }

    /// Uploads what a layout lacks but for energies.
    fn want_bands(&mut self, to: &mut Uploads, layout: Layout) -> Result<&mut BandBuffers> {
        #[expect(clippy::ptr_arg, reason = "what is borrowed stands in the problem's own order")]
        fn there<T: Pod>(
            to: &mut Uploads,
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
        if let Some(at) = self.layouts.iter().position(|of| of.layout == layout) {
            return Ok(&mut self.layouts[at]);
        }
        let arrays = preparation(layout).of_bands(to.problem.bands(), to.problem.order());
        if makes_room(to, layout, self.layouts.iter().map(|of| of.layout)) {
            self.layouts.clear();
            if matches!(arrays.aqsn(), Cow::Owned(_)) {
                self.aqsn = None;
            }
        }
        let aqsn = there(to, "aqsn", arrays.aqsn(), &mut self.aqsn)?;
        let occ = there(to, "occ", arrays.occ(), &mut self.occ)?;
        self.layouts.push(BandBuffers { layout, aqsn, occ, which: None, wx: None });
        Ok(self.layouts.last_mut().expect("pushed"))
    }

    /// The arrays in a layout.
    ///
    /// # Panics
    /// Where that was not wanted.
    pub fn in_layout(&self, layout: Layout) -> &BandBuffers {
        let of_layout = self.layouts.iter().find(|of| of.layout == layout);
        of_layout.expect("the layout was wanted")
    }
}

/// An array of a slab, and whether it is of the slab in place.
#[derive(Default)]
struct PlacedMatrix {
    room: Option<Buffer<Complex64>>,
    is_there: bool,
}

impl PlacedMatrix {
    /// Enqueues it where it is not in place.
    fn want<V: AsRef<[Complex64]>>(
        &mut self,
        to: &mut Uploads,
        what: &'static str,
        values: impl FnOnce() -> V,
    ) -> Result<()> {
        if !self.is_there {
            to.fill(what, &mut self.room, values().as_ref(), 0)?;
            self.is_there = true;
        }
        Ok(())
    }

    /// Where it is; null where it was not wanted.
    fn pointer(&self) -> *const Complex64 {
        if self.is_there { pointer(&self.room) } else { ptr::null() }
    }
}

/// A slab, in memory that the next one takes over.
#[derive(Default)]
pub struct PlacedSlab {
    /// Which one is in place.
    which: Option<(Id, Range<usize>)>,
    wtilde: PlacedMatrix,
    eps: PlacedMatrix,
    vcoul_loc: Option<Buffer<f64>>,
    /// In each layout that was wanted.
    aqsm_local: Vec<(Layout, PlacedMatrix)>,
    /// For the kernels of a layout that take any poles, and for those that take real ones.
    pairs: Vec<((Layout, Poles), PlacedPairs)>,
}

/// What kernels read of a slab in place; `wtilde` and `eps` are null where others take their place.
pub struct SlabPointers {
    pub igp: usize,
    pub wtilde: *const Complex64,
    pub eps: *const Complex64,
    pub vcoul_loc: *const f64,
    pub aqsm_local: *const Complex64,
}

/// What is there by this name, or now.
fn entry<K: PartialEq, V: Default>(all: &mut Vec<(K, V)>, key: K) -> &mut V {
    let at = all.iter().position(|(of, _)| *of == key).unwrap_or_else(|| {
        all.push((key, V::default()));
        all.len() - 1
    });
    &mut all[at].1
}

impl PlacedSlab {
    /// Whether this slab is in place.
    pub fn holds(&self, slab: SlabView) -> bool {
        self.which == Some(slab.id())
    }

    /// Whether none is in place.
    pub fn is_empty(&self) -> bool {
        self.which.is_none()
    }

    /// Forgets which slab is in place.
    pub fn forget(&mut self) {
        self.which = None;
        let others = self.aqsm_local.iter_mut().map(|(_, matrix)| matrix);
        let matrices = others.chain([&mut self.wtilde, &mut self.eps]);
        matrices.for_each(|matrix| matrix.is_there = false);
        self.pairs.iter_mut().for_each(|(_, pairs)| pairs.forget());
    }

    /// Enqueues what all layouts have in common, where it is not in place.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where the slab, in one layout, does not fit with the bands, which may
    /// be there already; [`Error::Driver`](crate::Error::Driver).
    pub fn place(&mut self, to: &mut Uploads, bands: &PlacedBands, slab: SlabView) -> Result<()> {
        if self.holds(slab) {
            return Ok(());
        }
        self.forget();
        if self.vcoul_loc.as_ref().is_none_or(|buffer| buffer.len() < slab.len()) {
            (self.wtilde, self.eps) = Default::default();
            self.pairs.retain(|((layout, _), _)| !preparation(*layout).replaces());
            let extents = Extents { ngpown: slab.len(), ..to.problem.extents() };
            let is_first = bands.layouts.is_empty();
            let all = if is_first { extents.bytes() } else { extents.bytes_of(Of::Slab) };
            to.require("arrays", all)?;
        }
        to.fill("vcoul_loc", &mut self.vcoul_loc, slab.vcoul_loc(), 0)?;
        self.which = Some(slab.id());
        Ok(())
    }

    /// Whether `slab` lacks what a kernel at a batch reads of its pairs: to be given to [`PlacedSlab::want`].
    pub fn lacks_pairs(&self, slab: SlabView, batch: &Batch, kernel: &Kernel) -> bool {
        let of_kernel = self.pairs.iter().find(|(key, _)| *key == (kernel.layout, kernel.poles));
        !(self.holds(slab) && of_kernel.is_some_and(|(_, pairs)| pairs.is_of(batch, kernel)))
    }

    /// Enqueues what a kernel lacks of `slab`, which is in place, at a batch, with what was made of its pairs where
    /// it [lacks](PlacedSlab::lacks_pairs) that.
    ///
    /// # Errors
    /// As [`PlacedSlab::place`].
    pub fn want(
        &mut self,
        to: &mut Uploads,
        slab: SlabView,
        (batch, kernel): (&Batch, &Kernel),
        made: Option<Arc<dyn Pairs>>,
    ) -> Result<()> {
        let (layout, prepared) = (kernel.layout, preparation(kernel.layout));
        let mut others = self.aqsm_local.iter().map(|(of, _)| *of).filter(|of| *of != layout);
        if makes_room(to, layout, &mut others) {
            self.aqsm_local.retain(|(of, _)| *of == layout);
            self.pairs.retain(|((of, _), _)| preparation(*of).replaces() == prepared.replaces());
        }
        let order = to.problem.order();
        let aqsm_local = entry(&mut self.aqsm_local, layout);
        aqsm_local.want(to, "aqsm_local", || prepared.aqsm_local(slab, order))?;
        if prepared.replaces() {
            (self.wtilde, self.eps) = Default::default();
        } else {
            self.wtilde.want(to, "wtilde", || slab.wtilde())?;
            self.eps.want(to, "eps", || slab.eps())?;
        }
        let pairs = entry(&mut self.pairs, (layout, kernel.poles));
        made.map_or(Ok(()), |made| pairs.fill(to, (batch, kernel), made))
    }

    /// What a kernel reads of the slab in place.
    ///
    /// # Panics
    /// Where there is none, and where the kernel's layout was not wanted.
    pub fn pointers(&self, kernel: &Kernel) -> SlabPointers {
        let (_, igp) = self.which.clone().expect("a slab is in place");
        let of_layout = self.aqsm_local.iter().find(|(of, _)| *of == kernel.layout);
        let (_, aqsm_local) = of_layout.expect("the layout was wanted");
        let (wtilde, eps) = (self.wtilde.pointer(), self.eps.pointer());
        let is_there = [wtilde, eps].iter().all(|matrix| !matrix.is_null());
        let replaces = preparation(kernel.layout).replaces();
        assert!(aqsm_local.is_there && is_there != replaces, "the layout was wanted");
        let (vcoul_loc, aqsm_local) = (pointer(&self.vcoul_loc), aqsm_local.pointer());
        SlabPointers { igp: igp.len(), wtilde, eps, vcoul_loc, aqsm_local }
    }

    /// What a kernel's layout made of its pairs.
    ///
    /// # Panics
    /// Where it was not wanted.
    pub fn pairs(&self, kernel: &Kernel) -> &PlacedPairs {
        let of_kernel = self.pairs.iter().find(|(key, _)| *key == (kernel.layout, kernel.poles));
        let (_, pairs) = of_kernel.expect("the layout was wanted");
        pairs
    }
}
