//! A caller's matrix elements, laid out anew from where they are on the GPU.

use std::sync::Arc;

use gpp_kernels::grid::blocks;
use gpp_kernels::layout::Layout;
use gpp_kernels::relaid::{NONE, RelaidArguments, SYMBOL, THREADS};
use num_complex::Complex64;

use super::driver::Buffer;
use super::lent::{DeviceMatrix, Elements, Lent, Rows};
use super::uploads::{Uploads, pointer};
use crate::error::Result;
use crate::problem::layout::preparation;
use crate::problem::memory::{AQSM_LOCAL, AQSN, Array};

/// Numbers up to a padded count.
fn padded(numbers: impl Iterator<Item = u32>, count: usize) -> Vec<u32> {
    numbers.chain(std::iter::repeat(NONE)).take(count).collect()
}

impl Lent {
    /// `aqsn` in a layout: the caller's own where kernels read it as it stands.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory), [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Panics
    /// Never: what was laid out is there.
    pub fn elements(
        &self,
        to: &mut Uploads,
        layout: Layout,
        room: &mut Option<Buffer<Complex64>>,
    ) -> Result<Elements> {
        let ncouls = to.problem.extents().ncouls;
        let is_own = preparation(layout).has_own(&AQSN, to.problem.order().is_kept());
        if !is_own && self.aqsn.ld == ncouls {
            return Ok(Elements::Lent(self.aqsn.at));
        }
        self.lay(to, (&AQSN, 0), (self.aqsn, None), layout, room)?;
        Ok(Elements::Own(room.take().expect("laid out").into()))
    }

    /// Lays `aqsm` out.
    ///
    /// # Errors
    /// As [`Lent::elements`].
    pub fn lay_aqsm(
        &self,
        to: &mut Uploads,
        layout: Layout,
        room: &mut Option<Buffer<Complex64>>,
    ) -> Result<()> {
        self.lay(to, (&AQSM_LOCAL, 1), (self.aqsm, Some(&self.rows)), layout, room)
    }

    fn lay(
        &self,
        to: &mut Uploads,
        (array, which): (&'static Array, usize),
        (from, rows): (DeviceMatrix, Option<&Rows>),
        layout: Layout,
        room: &mut Option<Buffer<Complex64>>,
    ) -> Result<()> {
        let extents = to.problem.extents();
        let prepared = preparation(layout);
        let [first, second] = array.extents(extents, layout).map(|count| count as usize);
        let is_turned = prepared.has_bands_fastest(array);
        let (height, width) = if is_turned { (second, first) } else { (first, second) };
        to.room(array.name, room, height * width, 0)?;
        let mut place = std::mem::take(&mut to.relay.maps[which]);
        let energies = to.problem.bands().id();
        let is_there = place.holds.as_ref().is_some_and(|(of, order, laid)| {
            of.as_ref().map(Arc::as_ptr) == rows.map(Arc::as_ptr)
                && (*order, *laid) == (energies, layout)
        });
        if !is_there {
            place.holds = None;
            let all: Vec<u32> = match rows {
                Some(rows) => padded(rows.iter().copied(), height),
                None => padded(0..extents.ncouls as u32, height),
            };
            let bands = prepared.bands(to.problem.order()).into_iter().map(|n| n as u32);
            to.fill("rows and bands", &mut place.room, &[all, padded(bands, width)].concat(), 0)?;
            place.holds = Some((rows.cloned(), energies, layout));
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
