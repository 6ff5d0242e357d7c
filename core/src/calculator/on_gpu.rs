//! Arrays that are on a GPU already: device pointers instead of slices.
//!
//! Matrices may be there, column-major, with `ld` elements from one column to the next; small arrays are on
//! the host. They are in the device's primary context, which CUDA's runtime uses. A call waits for the
//! pending work of the caller's stream ([`Calculator::with_stream`]); its own work is done when it returns.
//!
//! - `wtilde` and `eps` are copied to the host once, when they are placed, 32 bytes a pair: the host finds
//!   fallback pairs and sorts pairs for each set of energies. Unless many poles are complex it sorts them by
//!   size once, 8 bytes a pair, so that new energies need a look at few.
//! - Kernels read them in place if their columns have no gaps and no `eps` is between zero and 1e-120.
//! - Matrix elements are read in place or reordered on the GPU. Their values are not checked: NaN gives NaN.

use std::borrow::Cow;

pub use bytemuck::Pod;
use num_complex::Complex64;

use crate::calculator::{Calculator, MatrixRef};
pub use crate::devices::gpu::driver::{ForeignStream, is_on_device};
use crate::devices::gpu::driver::{fetched, require_on};
use crate::error::{Result, invalid};
pub use crate::problem::arrays::DeviceMatrix;
use crate::problem::layout::LaidElements;

impl Calculator {
    /// Fails if columns overlap or elements are missing, or a matrix on a GPU is not on this one, aligned to 16 bytes.
    pub(super) fn require_shape(
        &self,
        name: &str,
        matrix: MatrixRef,
        shape @ [rows, columns]: [usize; 2],
    ) -> Result<()> {
        let wrong = |what: String| Err(invalid(name, what));
        let (len, ld) = match matrix {
            MatrixRef::Device(matrix @ DeviceMatrix { at, ld }) if !shape.contains(&0) => {
                let index = self.index_of_gpu(name)?;
                if at == 0 || !at.is_multiple_of(16) {
                    let what = "which is null or not aligned to 16 bytes";
                    return wrong(format!("is at {at:#x}, {what}"));
                }
                if ld < rows {
                    let what = format!("{ld} elements from one column to the next");
                    return wrong(format!("has {rows} rows, but only {what}"));
                }
                return require_on(index, name, at, matrix.bytes(shape));
            }
            MatrixRef::Spaced(array, ld) if !shape.contains(&0) => (array.len(), ld),
            MatrixRef::Single(array, ld) if !shape.contains(&0) => (array.len(), ld),
            _ => return Ok(()),
        };
        let needed = (columns - 1).saturating_mul(ld).saturating_add(rows);
        if ld >= rows && len >= needed {
            return Ok(());
        }
        let has = format!("has {len} elements, {ld} from one column to the next");
        wrong(format!("needs {columns} columns of {rows} elements, {has}"))
    }

    fn index_of_gpu(&self, name: &str) -> Result<usize> {
        let found = match self.session.gpu() {
            Some(gpu) => return Ok(gpu.index),
            None if self.session.cpu().is_some() => "the CPU",
            None => "several GPUs",
        };
        let what = format!("is on a GPU, but the calculator uses {found}: pass host arrays");
        Err(invalid(name, what))
    }

    /// A matrix on the host: in place, or a copy without gaps; of one on the GPU after the stream's work.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) if it is not on this calculator's GPU, or shorter than its columns;
    /// [`Error::Memory`](crate::Error::Memory), [`Error::Driver`](crate::Error::Driver).
    pub fn on_host<'a>(
        &self,
        name: &str,
        matrix: MatrixRef<'a>,
        shape: [usize; 2],
    ) -> Result<Cow<'a, [Complex64]>> {
        self.require_shape(name, matrix, shape)?;
        match matrix {
            MatrixRef::Host(array) => Ok(array.into()),
            _ if shape.contains(&0) => Ok(Cow::Borrowed(&[])),
            MatrixRef::Spaced(_, ld) | MatrixRef::Single(_, ld) => {
                let numbers = shape.map(|count| (0..count as u32).collect());
                let elements = LaidElements::Picked(matrix, numbers, [1, ld]);
                self.session.computed(|| elements.whole(name))
            }
            // SAFETY: checked above; the rest is the contract of `DeviceMatrix::new`.
            MatrixRef::Device(matrix) => unsafe { self.fetch(name, matrix, shape) }.map(Cow::Owned),
        }
    }

    /// Copies a vector on the GPU to the host, after the stream's pending work.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) if it is not on this calculator's GPU;
    /// [`Error::Memory`](crate::Error::Memory), [`Error::Driver`](crate::Error::Driver).
    ///
    /// # Safety
    /// It is valid, and only pending work of the stream writes it.
    pub unsafe fn fetch_vector<T: Pod>(&self, name: &str, at: u64, len: usize) -> Result<Vec<T>> {
        require_on(self.index_of_gpu(name)?, name, at, (len * size_of::<T>()) as u64)?;
        // SAFETY: the caller's word.
        unsafe { self.fetch(name, DeviceMatrix { at, ld: len }, [len, 1]) }
    }

    /// # Safety
    /// As of [`fetched`].
    unsafe fn fetch<T: Pod>(
        &self,
        name: &str,
        DeviceMatrix { at, ld }: DeviceMatrix,
        shape: [usize; 2],
    ) -> Result<Vec<T>> {
        if shape.contains(&0) {
            return Ok(Vec::new());
        }
        let gpu = self.session.gpu().expect("the array is on a GPU");
        self.session.here(|| {
            let stream = gpu.context.stream("arrays of a caller's")?;
            stream.wait_for_foreign(self.stream)?;
            // SAFETY: the caller's word.
            unsafe { fetched(name, at, ld, shape, &stream) }
        })
    }
}
