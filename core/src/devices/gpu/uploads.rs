//! Uploads of arrays, to memory that is there already where that is large enough.

use bytemuck::Pod;
use gpp_kernels::layout::Layout;

use super::driver::{Buffer, Context, Event, Stream};
use super::lent::{Lent, Relay};
use super::ring::Ring;
use crate::error::{Error, Result};
use crate::problem::Frame;
use crate::problem::layout::preparation;

/// Where uploads go, and what of.
pub struct Uploads<'a> {
    pub context: &'a Context,
    pub stream: &'a Stream,
    /// Marked before the first one.
    pub begin: &'a Event,
    pub problem: &'a Frame,
    pub ring: &'a mut Ring,
    /// Matrix elements that are on the GPU already, in place of the problem's.
    pub lent: Option<&'a Lent>,
    pub relay: &'a mut Relay,
    /// Whether what other layouts have of their own makes room.
    pub one_layout: bool,
    /// What was enqueued.
    pub bytes: u64,
}

impl Uploads<'_> {
    /// Memory of the device that `values` are enqueued for.
    pub fn of<T: Pod>(&mut self, what: &'static str, values: &[T]) -> Result<Buffer<T>> {
        let mut room = None;
        self.fill(what, &mut room, values, 0)?;
        Ok(room.expect("filled"))
    }

    /// Enqueues `values` for memory that is there, or for other with `spare` elements more where that is too
    /// small.
    pub fn fill<T: Pod>(
        &mut self,
        what: &'static str,
        room: &mut Option<Buffer<T>>,
        values: &[T],
        spare: usize,
    ) -> Result<()> {
        let buffer = self.room(what, room, values.len(), spare)?;
        if self.bytes == 0 {
            self.begin.record(self.stream)?;
        }
        if !buffer.upload_registered(values, self.stream)? {
            self.ring.upload(values, buffer, self.context, self.stream)?;
        }
        self.bytes += size_of_val(values) as u64;
        Ok(())
    }

    /// Memory that is there, or other with `spare` elements more where that is too small.
    pub fn room<'r, T: Pod>(
        &self,
        what: &'static str,
        room: &'r mut Option<Buffer<T>>,
        length: usize,
        spare: usize,
    ) -> Result<&'r Buffer<T>> {
        let kept = room.take().filter(|buffer| buffer.len() >= length);
        let buffer = match kept {
            Some(buffer) => buffer,
            None => {
                let length = length + spare;
                self.require(what, (length * size_of::<T>()) as u64)?;
                self.context.buffer(what, length)?
            }
        };
        Ok(room.insert(buffer))
    }

    /// Whether the layouts in place make room for one, or it for them.
    pub fn makes_room(&self, layout: Layout, mut others: impl Iterator<Item = Layout>) -> bool {
        self.one_layout
            || preparation(layout).replaces()
            || others.any(|other| preparation(other).replaces())
    }

    /// Fails where less than `needed` bytes are free.
    pub fn require(&self, what: &str, needed: u64) -> Result<()> {
        let (free, _) = self.context.memory()?;
        if needed > free {
            let what = format!("{what} of {}", self.problem.name());
            return Err(Error::Memory { place: "device", what, needed, free, limit: None });
        }
        Ok(())
    }
}

/// Where an array in place is.
pub fn pointer<T: Pod>(room: &Option<Buffer<T>>) -> *const T {
    room.as_ref().expect("it is in place").pointer()
}
