//! The arrays of a problem's bands on a GPU. What stays when other bands come is memory, and what they have too.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::Pod;
use gpp_kernels::layout::Layout;
use num_complex::Complex64;

use super::driver::Buffer;
use super::lent::Elements;
use super::uploads::{Uploads, pointer};
use crate::error::Result;
use crate::problem::layout::preparation;
use crate::problem::memory::AQSN;
use crate::problem::{Batch, Id};

/// The arrays of the bands in one layout, in memory that those of the next bands take over.
pub struct BandBuffers {
    layout: Layout,
    /// None where other bands have these.
    aqsn: Option<Elements>,
    /// None where other bands have these.
    occ: Option<Arc<Buffer<f64>>>,
    /// Which energies are in place.
    which: Option<(Id, Range<usize>)>,
    wx: Option<Buffer<f64>>,
}

impl BandBuffers {
    /// Matrix elements of G.
    ///
    /// # Panics
    /// Where they were not wanted.
    pub fn aqsn(&self) -> *const Complex64 {
        self.aqsn.as_ref().expect("they were wanted").pointer()
    }

    /// Occupations.
    ///
    /// # Panics
    /// Where they were not wanted.
    pub fn occ(&self) -> *const f64 {
        self.occ.as_ref().expect("they were wanted").pointer()
    }

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
    /// Whose they are: energies, and matrix elements.
    of: Option<[Id; 2]>,
    aqsn: Option<Arc<Buffer<Complex64>>>,
    occ: Option<Arc<Buffer<f64>>>,
    layouts: Vec<BandBuffers>,
    /// Memory for those of the next bands.
    spare: (Option<Buffer<Complex64>>, Option<Buffer<f64>>),
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

    /// Forgets what other bands have: occupations too, unless these have the same energies.
    fn renew(&mut self, to: &Uploads) {
        let ids @ [energies, elements] =
            [to.problem.bands().id(), to.problem.bands().elements_id()];
        let [same_energies, same_elements] = match self.of.replace(ids) {
            Some([of_energies, of_elements]) => [of_energies == energies, of_elements == elements],
            None => return,
        };
        // Another order of bands goes with other energies.
        if same_energies && same_elements {
            return;
        }
        self.aqsn = None;
        for placed in &mut self.layouts {
            if let Some(Elements::Own(aqsn)) = placed.aqsn.take() {
                self.spare.0 = Arc::into_inner(aqsn).or(self.spare.0.take());
            }
        }
        if same_energies {
            return;
        }
        self.occ = None;
        for occ in self.layouts.iter_mut().filter_map(|placed| placed.occ.take()) {
            self.spare.1 = Arc::into_inner(occ).or(self.spare.1.take());
        }
    }

    /// Uploads what a layout lacks but for energies.
    fn want_bands(&mut self, to: &mut Uploads, layout: Layout) -> Result<&mut BandBuffers> {
        fn there<T: Pod>(
            to: &mut Uploads,
            what: &'static str,
            array: Cow<[T]>,
            own_order: &mut Option<Arc<Buffer<T>>>,
            spare: &mut Option<Buffer<T>>,
        ) -> Result<Arc<Buffer<T>>> {
            let mut filled = |values: &[T]| -> Result<Arc<Buffer<T>>> {
                to.fill(what, spare, values, 0)?;
                Ok(spare.take().expect("filled").into())
            };
            let values = match array {
                Cow::Owned(values) => return filled(&values),
                Cow::Borrowed(values) => values,
            };
            let buffer = match own_order.take() {
                Some(buffer) => buffer,
                None => filled(values)?,
            };
            Ok(own_order.insert(buffer).clone())
        }
        self.renew(to);
        let (prepared, bands, order) =
            (preparation(layout), to.problem.bands(), to.problem.order());
        let at = self.layouts.iter().position(|of| of.layout == layout);
        let at = at.unwrap_or_else(|| {
            if to.makes_room(layout, self.layouts.iter().map(|of| of.layout)) {
                self.layouts.clear();
                if prepared.has_own(&AQSN, order.is_kept()) {
                    self.aqsn = None;
                }
            }
            self.layouts.push(BandBuffers { layout, aqsn: None, occ: None, which: None, wx: None });
            self.layouts.len() - 1
        });
        let (placed, spare) = (&mut self.layouts[at], &mut self.spare);
        if placed.aqsn.is_none() {
            placed.aqsn = Some(match to.lent {
                Some(lent) => lent.elements(to, layout, &mut spare.0)?,
                None => {
                    let values = prepared.aqsn(bands, order)?;
                    Elements::Own(there(to, "aqsn", values, &mut self.aqsn, &mut spare.0)?)
                }
            });
        }
        if placed.occ.is_none() {
            let values = prepared.occ(bands, order);
            placed.occ = Some(there(to, "occ", values, &mut self.occ, &mut spare.1)?);
        }
        Ok(placed)
    }

    /// Whether there are none in any layout.
    pub fn is_empty(&self) -> bool {
        self.layouts.is_empty()
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
