//! The arrays of a slab on a GPU, beside those of the [bands](super::bands): they stay until the next slab takes
//! their place. Each layout is made when a kernel first wants it; that of sorted pairs has the device to
//! itself.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::plan::Poles;
use num_complex::Complex64;

use super::bands::PlacedBands;
use super::driver::Buffer;
use super::pairs::PlacedPairs;
use super::uploads::{Uploads, pointer};
use crate::error::Result;
use crate::problem::layout::{Pairs, preparation};
use crate::problem::memory::{Extents, Of};
use crate::problem::{Batch, Id, SlabView};

/// An array of a slab.
#[derive(Default)]
struct PlacedMatrix {
    room: Option<Buffer<Complex64>>,
    /// Whose it is.
    of: Option<(Id, Range<usize>)>,
}

impl PlacedMatrix {
    /// Has it filled with that of this identity where it is another one.
    fn want(
        &mut self,
        of: (Id, Range<usize>),
        fill: impl FnOnce(&mut Option<Buffer<Complex64>>) -> Result<()>,
    ) -> Result<()> {
        if self.of.as_ref() != Some(&of) {
            self.of = None;
            fill(&mut self.room)?;
            self.of = Some(of);
        }
        Ok(())
    }

    /// Where it is; null where it was not wanted.
    fn pointer(&self) -> *const Complex64 {
        if self.of.is_some() { pointer(&self.room) } else { ptr::null() }
    }
}

/// A slab, in memory that the next one takes over.
#[derive(Default)]
pub struct PlacedSlab {
    /// Which one is in place, by the identity of its pairs.
    which: Option<(Id, Range<usize>)>,
    wtilde: PlacedMatrix,
    eps: PlacedMatrix,
    /// Where a caller has both, in place of these.
    lent: Option<[u64; 2]>,
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
    /// Has kernels read `wtilde` and `eps` of the slab that is to be placed where a caller has them on the GPU.
    pub fn lend(&mut self, pairs: [u64; 2]) {
        self.lent = Some(pairs);
    }

    /// Whether this slab is in place, whatever its matrix elements.
    pub fn holds(&self, slab: SlabView) -> bool {
        self.which == Some(slab.pairs_id())
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
        matrices.for_each(|matrix| matrix.of = None);
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
            let is_first = bands.is_empty();
            let all = if is_first { extents.bytes() } else { extents.bytes_of(Of::Slab) };
            // What is lent needs no room; the rest is looked at one by one.
            let is_lent = self.lent.is_some() || to.lent.is_some();
            to.require("arrays", if is_lent { 0 } else { all })?;
        }
        to.fill("vcoul_loc", &mut self.vcoul_loc, slab.vcoul_loc(), 0)?;
        self.which = Some(slab.pairs_id());
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
        if to.makes_room(layout, &mut others) {
            self.aqsm_local.retain(|(of, _)| *of == layout);
            self.pairs.retain(|((of, _), _)| preparation(*of).replaces() == prepared.replaces());
        }
        let order = to.problem.order();
        let aqsm_local = entry(&mut self.aqsm_local, layout);
        aqsm_local.want(slab.id(), |room| match to.lent {
            Some(lent) => lent.lay_aqsm(to, layout, room),
            None => to.fill("aqsm_local", room, &prepared.aqsm_local(slab, order)?, 0),
        })?;
        if prepared.replaces() {
            (self.wtilde, self.eps) = Default::default();
        } else if self.lent.is_none() {
            let of = slab.pairs_id();
            self.wtilde.want(of.clone(), |room| to.fill("wtilde", room, slab.wtilde(), 0))?;
            self.eps.want(of, |room| to.fill("eps", room, slab.eps(), 0))?;
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
        let [wtilde, eps] = match self.lent.filter(|_| !preparation(kernel.layout).replaces()) {
            Some(lent) => lent.map(|at| ptr::without_provenance(at as usize)),
            None => [self.wtilde.pointer(), self.eps.pointer()],
        };
        let is_there = [wtilde, eps].iter().all(|matrix| !matrix.is_null());
        let replaces = preparation(kernel.layout).replaces();
        let (vcoul_loc, aqsm_local) = (pointer(&self.vcoul_loc), aqsm_local.pointer());
        assert!(!aqsm_local.is_null() && is_there != replaces, "the layout was wanted");
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
