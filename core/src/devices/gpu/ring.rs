//! Uploads through page-locked memory: while a part of an array is on its way, the next one is copied there.

use std::collections::VecDeque;

use bytemuck::Pod;
use rayon::prelude::*;

use super::driver::{Buffer, Context, Pinned, Stream, Transfer};
use crate::error::Result;

/// Bytes of a part at most: the copy of one and the transfer of another take about as long.
const PART: usize = 32 << 20;

/// Parts on their way at most.
const PARTS: usize = 3;

/// Bytes that a thread copies at a time.
const AT_ONCE: usize = 1 << 20;

/// Page-locked memory that uploads go through, taken when it is first needed.
#[derive(Default)]
pub struct Ring {
    free: Vec<Pinned<u8>>,
    /// In the order in which they were begun.
    on_its_way: VecDeque<Transfer<u8>>,
}

impl Ring {
    /// Bytes that it takes at most.
    pub const MOST: u64 = (PARTS * PART) as u64;

    /// Enqueues an upload of `values` to the first elements of `to`. They are not read any more when this
    /// returns; what is enqueued in `stream` afterwards finds them there.
    ///
    /// # Errors
    /// [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Panics
    /// Where the buffer is smaller.
    pub fn upload<T: Pod>(
        &mut self,
        values: &[T],
        to: &Buffer<T>,
        context: &Context,
        stream: &Stream,
    ) -> Result<()> {
        let size = size_of::<T>();
        for (part, begin) in values.chunks(PART / size).zip((0..).step_by(PART / size)) {
            let bytes: &[u8] = bytemuck::cast_slice(part);
            let mut pinned = self.take(bytes.len(), context)?;
            let to_fill = &mut pinned[..bytes.len()];
            // Other threads take longer to wake than a small copy takes.
            if bytes.len() <= AT_ONCE {
                to_fill.copy_from_slice(bytes);
            } else {
                to_fill
                    .par_chunks_mut(AT_ONCE)
                    .zip(bytes.par_chunks(AT_ONCE))
                    .for_each(|(to, from)| to.copy_from_slice(from));
            }
            self.on_its_way.push_back(pinned.upload_part(part.len(), to, begin, stream)?);
        }
        Ok(())
    }

    /// Memory of at least so many bytes.
    fn take(&mut self, bytes: usize, context: &Context) -> Result<Pinned<u8>> {
        if self.on_its_way.len() == PARTS
            && let Some(first) = self.on_its_way.pop_front()
        {
            self.free.push(first.wait()?);
        }
        let fits = self.free.iter().position(|pinned| pinned.len() >= bytes);
        match (fits, self.free.is_empty()) {
            (Some(at), _) => return Ok(self.free.swap_remove(at)),
            // Others take its place.
            (None, false) => drop(self.free.pop()),
            (None, true) => {}
        }
        context.pinned("uploads", bytes.next_power_of_two().min(PART))
    }
}
