//! Memory of the device.

use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use bytemuck::Pod;
use cust::context::Context;
use cust::error::CudaResult;
use cust::memory::{AsyncCopyDestination, DeviceBuffer, DeviceSlice};
use cust::sys::CUresult;

use super::Stream;
use super::budget::Taken;
use super::held::{Held, Operation};
use crate::error::{DriverError, Error, Result};

/// `T`s in the device's memory. They are freed when dropped, which the driver does once all work of
/// the device is done.
pub struct Buffer<T> {
    /// At least one byte, so that there always is an address.
    memory: Held<DeviceBuffer<u8>>,
    length: usize,
    what: &'static str,
    elements: PhantomData<T>,
    _taken: Taken,
}

impl<T: Pod> Buffer<T> {
    pub(super) fn new(
        context: &Arc<Context>,
        taken: Taken,
        what: &'static str,
        length: usize,
    ) -> Result<Buffer<T>> {
        let bytes = length.saturating_mul(size_of::<T>());
        // SAFETY: whatever the memory holds is a `T`, and the host sees it through copies only.
        let memory = Held::new(context, || unsafe { DeviceBuffer::uninitialized(bytes.max(1)) })
            .of(|| format!("allocation of {bytes} bytes for {what}"))
            .map_err(|error| too_little(error, what, bytes as u64))?;
        Ok(Buffer { memory, length, what, elements: PhantomData, _taken: taken })
    }

    /// Where it is, for kernels: not to be followed on the host.
    pub fn pointer(&self) -> *mut T {
        ptr::without_provenance_mut(self.memory.peek().as_device_ptr().as_raw() as usize)
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Bytes of the elements.
    pub fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }

    /// What it holds.
    pub(super) fn what(&self) -> &'static str {
        self.what
    }

    /// The first elements, as bytes.
    ///
    /// # Panics
    /// Where there are fewer.
    pub(super) fn first(&self, elements: usize) -> DeviceSlice<u8> {
        self.part(0, elements)
    }

    /// Some elements from number `at` on, as bytes.
    ///
    /// # Panics
    /// Where there are fewer.
    pub(super) fn part(&self, at: usize, elements: usize) -> DeviceSlice<u8> {
        let end = at.checked_add(elements).filter(|&end| end <= self.length);
        let end = end.unwrap_or_else(|| panic!("{} is used within its size", self.what));
        self.memory.peek().index(at * size_of::<T>()..end * size_of::<T>())
    }

    /// Enqueues a fill of the first `length` elements with ones, NaN to whoever reads them as `f64`.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Panics
    /// Where there are fewer.
    pub fn poison(&self, length: usize, stream: &Stream) -> Result<()> {
        self.fill(0xff, length, stream)
    }

    /// Enqueues a fill with zeros.
    ///
    /// # Errors
    /// [`Error::Driver`].
    pub fn clear(&self, stream: &Stream) -> Result<()> {
        self.fill(0, self.length, stream)
    }

    fn fill(&self, byte: u8, length: usize, stream: &Stream) -> Result<()> {
        let fill = || {
            let stream = stream.get()?;
            // SAFETY: the memory is not freed before the device is done with it, and any bytes are a
            // `T`.
            unsafe { self.first(length).set_8_async(byte, stream) }
        };
        fill().of(|| format!("fill of {}", self.what))
    }

    /// Copies `values` to the first elements, once all work before in `stream` is done, and waits
    /// for it.
    ///
    /// # Errors
    /// [`Error::Driver`].
    ///
    /// # Panics
    /// Where the buffer is smaller.
    pub fn upload(&self, values: &[T], stream: &Stream) -> Result<()> {
        copy_in(&mut self.first(values.len()), bytemuck::cast_slice(values), stream)
            .of(|| format!("upload of {}", self.what))
    }

    /// Copies the first `length` elements back, once all work before in `stream` is done.
    ///
    /// # Errors
    /// [`Error::Driver`], also of a kernel that failed before.
    ///
    /// # Panics
    /// Where the buffer is smaller.
    pub fn download(&self, length: usize, stream: &Stream) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); length];
        let source = self.first(length);
        let mut copy = || {
            let stream = stream.get()?;
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
            // SAFETY: the stream is waited for before the values are looked at or dropped.
            let copied = unsafe { source.async_copy_to(bytes, stream) };
            stream.synchronize().and(copied)
        };
        copy().of(|| format!("download of {}", self.what))?;
        Ok(values)
    }
}

/// The error of an allocation that found no room, with what is free; others as they are.
fn too_little(error: Error, what: &str, needed: u64) -> Error {
    let Error::Driver { reason: DriverError::Refused(code), .. } = &error else { return error };
    if code.code != OUT_OF_MEMORY {
        return error;
    }
    let free = cust::memory::mem_get_info().map_or(0, |(free, _)| free as u64);
    Error::Memory { place: "device", what: what.into(), needed, free, limit: None }
}

/// The driver's code for it.
const OUT_OF_MEMORY: i32 = CUresult::CUDA_ERROR_OUT_OF_MEMORY as i32;

/// Copies to memory of the device and waits for it.
pub(super) fn copy_in(to: &mut DeviceSlice<u8>, from: &[u8], stream: &Stream) -> CudaResult<()> {
    let stream = stream.get()?;
    // SAFETY: the stream is waited for while the source is borrowed.
    let copied = unsafe { to.async_copy_from(from, stream) };
    stream.synchronize().and(copied)
}
