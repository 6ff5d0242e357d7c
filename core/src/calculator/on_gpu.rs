//! Arrays that are on a GPU already: device pointers instead of slices.
//!
//! Matrices may be there, column-major, with `ld` elements from one column to the next; small arrays are on
//! the host. They are in the device's primary context, which CUDA's runtime uses. A call waits for the
//! pending work of the caller's stream ([`Calculator::set_stream`]); its own work is done when it returns.
//!
//! - `wtilde` and `eps` are copied to the host once, when they are placed, 32 bytes a pair: the host finds
//!   fallback pairs and sorts pairs for each set of energies. Unless many poles are complex it sorts them by
//!   size once, 8 bytes a pair, so that new energies need a look at few.
//! - Kernels read them in place if their columns have no gaps and no `eps` is between zero and 1e-120.
//! - Matrix elements are read in place or reordered on the GPU. Their values are not checked: NaN gives NaN.

pub use bytemuck::Pod;
use num_complex::Complex64;

use crate::calculator::Calculator;
pub use crate::devices::gpu::driver::{ForeignStream, is_on_device};
use crate::devices::gpu::driver::{fetched, require_on};
pub use crate::devices::gpu::uploads::DeviceMatrix;
use crate::error::{Error, Result};

/// [`Screening`](crate::calculator::Screening) with ω̃ and `δ − ε⁻¹` on the GPU.
#[derive(Clone, Copy, Debug)]
pub struct Screening<'a> {
    /// `wtilde_array(ncouls, ngpown)`.
    pub wtilde: DeviceMatrix,
    /// `I_eps_array(ncouls, ngpown)`.
    pub eps: DeviceMatrix,
    /// See [`Screening::vcoul`](crate::calculator::Screening::vcoul).
    pub vcoul: &'a [f64],
    /// See [`Screening::inv_igp_index`](crate::calculator::Screening::inv_igp_index).
    pub inv_igp_index: &'a [i32],
    /// See [`Screening::indinv`](crate::calculator::Screening::indinv).
    pub indinv: &'a [i32],
}

/// Matrix elements of G′ on the GPU.
#[derive(Clone, Copy, Debug)]
pub enum Aqsm {
    /// `aqsmtemp(ncouls, nbands)`.
    Whole(DeviceMatrix),
    /// `(ngpown, nbands)`.
    Local(DeviceMatrix),
}

/// [`Bands`](crate::calculator::Bands) with matrix elements on the GPU.
#[derive(Clone, Copy, Debug)]
pub struct Bands<'a> {
    /// `aqsntemp(ncouls, nbands)`.
    pub aqsn: DeviceMatrix,
    /// Matrix elements of G′.
    pub aqsm: Aqsm,
    /// See [`Bands::e`](crate::calculator::Bands::e).
    pub e: &'a [f64],
    /// See [`Bands::occ`](crate::calculator::Bands::occ).
    pub occ: &'a [f64],
}

impl Aqsm {
    /// The matrix.
    pub fn matrix(self) -> DeviceMatrix {
        match self {
            Aqsm::Whole(matrix) | Aqsm::Local(matrix) => matrix,
        }
    }

    /// Its rows, of so many G and G′.
    pub(super) fn rows(self, [ncouls, ngpown]: [usize; 2]) -> usize {
        match self {
            Aqsm::Whole(_) => ncouls,
            Aqsm::Local(_) => ngpown,
        }
    }
}

impl Calculator {
    /// Fails if a matrix is not in the memory of this calculator's GPU, not at a multiple of 16 bytes, or has
    /// columns over each other.
    pub(super) fn require_on_gpu(
        &self,
        name: &str,
        matrix: DeviceMatrix,
        [rows, columns]: [usize; 2],
    ) -> Result<()> {
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        let wrong = |what: String| Err(Error::Input { origin: name.into(), what });
        let Some((_, index)) = self.opened.gpu() else {
            let found = if self.opened.is_host() { "is the CPU" } else { "are several GPUs" };
            return wrong(format!(
                "is on a GPU; what was opened {found}, and takes the host's arrays"
            ));
        };
        if matrix.at == 0 || !matrix.at.is_multiple_of(16) {
            return wrong(format!("is at {:#x}, no multiple of 16 bytes, or null", matrix.at));
        }
        if matrix.ld < rows {
            let found = matrix.ld;
            return wrong(format!(
                "has {rows} rows, and only {found} elements from one column to the next"
            ));
        }
        require_on(index, name, matrix.at, matrix.bytes([rows, columns]))
    }

    /// Copies a matrix on the GPU to the host, without gaps between columns.
    ///
    /// # Errors
    /// [`Error::Input`] if it is not on this calculator's GPU; [`Error::Memory`], [`Error::Driver`].
    ///
    /// # Safety
    /// It is valid, and only pending work of the stream writes it.
    pub unsafe fn fetch_matrix(
        &self,
        name: &'static str,
        matrix: DeviceMatrix,
        shape: [usize; 2],
    ) -> Result<Vec<Complex64>> {
        self.require_on_gpu(name, matrix, shape)?;
        // SAFETY: looked at above; the rest is the caller's word.
        unsafe { self.fetch(name, matrix, shape) }
    }

    /// Copies a vector on the GPU to the host, after the stream's pending work.
    ///
    /// # Errors
    /// [`Error::Input`] if it is not on this calculator's GPU; [`Error::Memory`], [`Error::Driver`].
    ///
    /// # Safety
    /// It is valid, and only pending work of the stream writes it.
    pub unsafe fn fetch_vector<T: Pod>(
        &self,
        name: &'static str,
        at: u64,
        len: usize,
    ) -> Result<Vec<T>> {
        let Some((_, index)) = self.opened.gpu() else {
            let what = "is on a GPU, and no GPU was opened".into();
            return Err(Error::Input { origin: name.into(), what });
        };
        require_on(index, name, at, (len * size_of::<T>()) as u64)?;
        // SAFETY: the caller's word.
        unsafe { self.fetch(name, DeviceMatrix { at, ld: len }, [len, 1]) }
    }

    /// # Safety
    /// As of [`fetched`].
    unsafe fn fetch<T: Pod>(
        &self,
        name: &'static str,
        DeviceMatrix { at, ld }: DeviceMatrix,
        shape: [usize; 2],
    ) -> Result<Vec<T>> {
        if shape.contains(&0) {
            return Ok(Vec::new());
        }
        let (gpu, _) = self.opened.gpu().expect("the array is on a GPU");
        self.opened.here(|| {
            let stream = gpu.stream("arrays of a caller's")?;
            stream.wait_for_foreign(self.stream)?;
            // SAFETY: the caller's word.
            unsafe { fetched(name, at, ld, shape, &stream) }
        })
    }
}
