//! A caller's matrix elements, laid out anew from where they are on the GPU.

use gpp_kernels::grid::blocks;
use gpp_kernels::layout::Layout;
use gpp_kernels::relaid::{NONE, RelaidArguments, SYMBOL, THREADS};
use num_complex::Complex64;

use super::driver::Buffer;
use super::lent::{DeviceMatrix, Lent};
use super::uploads::{Uploads, pointer};
use crate::error::Result;
use crate::problem::BandOrder;
use crate::problem::memory::{AQSM_LOCAL, AQSN, Array};

/// Numbers up to a padded count.
fn padded(numbers: impl Iterator<Item = u32>, count: usize) -> Vec<u32> {
    numbers.chain(std::iter::repeat(NONE)).take(count).collect()
}

impl Lent {
    /// `aqsn` where kernels of a layout read it as it stands.
    pub fn aqsn_as_it_is(&self, to: &Uploads, layout: Layout) -> Option<u64> {
        let is_own = AQSN.has_own(layout, to.problem.order().is_kept());
        let is_dense = self.aqsn.ld == to.problem.extents().ncouls;
        (!is_own && is_dense).then_some(self.aqsn.at)
    }

    /// Lays `aqsn` out.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory), [`Error::Driver`](crate::Error::Driver).
    pub fn lay_aqsn(
        &self,
        to: &mut Uploads,
        layout: Layout,
        room: &mut Option<Buffer<Complex64>>,
    ) -> Result<()> {
        let rows: Vec<u32> = (0..to.problem.extents().ncouls as u32).collect();
        self.lay(to, (&AQSN, 0), (self.aqsn, &rows), layout, room)
    }

    /// Lays `aqsm` out.
    ///
    /// # Errors
    /// As [`Lent::lay_aqsn`].
    pub fn lay_aqsm(
        &self,
        to: &mut Uploads,
        layout: Layout,
        room: &mut Option<Buffer<Complex64>>,
    ) -> Result<()> {
        self.lay(to, (&AQSM_LOCAL, 1), (self.aqsm, &self.rows), layout, room)
    }

    fn lay(
        &self,
        to: &mut Uploads,
        (array, which): (&'static Array, usize),
        (from, rows): (DeviceMatrix, &[u32]),
        layout: Layout,
        room: &mut Option<Buffer<Complex64>>,
    ) -> Result<()> {
        let extents = to.problem.extents();
        let [first, second] = array.extents(extents, layout);
        let is_turned = is_turned(array, layout);
        let (height, width) = if is_turned { (second, first) } else { (first, second) };
        let bands = in_order(to.problem.order(), layout, extents.nbands);
        let mut map = padded(rows.iter().copied(), height);
        map.extend(padded(bands, width));

        to.room(array.name, room, height * width, 0)?;
        let mut place = std::mem::take(&mut to.relay.maps[which]);
        if place.holds != map {
            place.holds.clear();
            to.fill("rows and bands", &mut place.room, &map, 0)?;
            place.holds = map;
        }
        let (map, out) = (pointer(&place.room), room.as_ref().expect("made above"));
        let arguments = RelaidArguments {
            from: from.pointer(),
            ld: from.ld as u64,
            rows: map,
            height: height as u32,
            // Behind the rows in the same memory, which is never followed here.
            columns: map.wrapping_add(height),
            width: width as u32,
            transposed: is_turned.into(),
            to: out.pointer(),
        };
        to.relay.maps[which] = place;
        let kernel = to.relay.kernel.clone().expect("it was loaded with the matrix elements");
        let function = kernel.module.function(SYMBOL)?;
        let grid = blocks((height * width) as u64, THREADS);
        // SAFETY: `rows` and `columns` were uploaded in this stream with the numbers of rows and columns that
        // the caller's matrix has by his word; the room has an element for each pair of them, fewer than 2³²
        // as every array; this stream alone writes it, and whoever reads it comes later in the stream.
        unsafe { function.launch(to.stream, grid, THREADS, &arguments.pointers()) }
    }
}

/// Whether a layout has an array's bands fastest.
fn is_turned(array: &'static Array, layout: Layout) -> bool {
    layout == Layout::Cells || layout == Layout::Swapped && std::ptr::eq(array, &AQSM_LOCAL)
}

/// Numbers of bands in the order of a layout.
fn in_order(
    order: &BandOrder,
    layout: Layout,
    nbands: usize,
) -> Box<dyn Iterator<Item = u32> + '_> {
    match layout {
        Layout::Planned => Box::new(order.bands().iter().map(|&n| n as u32)),
        _ => Box::new(0..nbands as u32),
    }
}
