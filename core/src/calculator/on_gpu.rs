//! Arrays that are on a GPU already: their addresses in place of slices.
//!
//! Matrices may be there, column-major, `ld` elements from one column to the next; what is small is on the host.
//! They are in the device's primary context, which CUDA's runtime uses. Work on them begins when the caller's
//! stream has done what it has under way ([`Calculator::set_stream`]); it is done when a call returns.
//!
//! - `wtilde` and `eps` are brought to the host once, when they are placed, and stay there too: 32 bytes a
//!   pair. There odd poles and sorted pairs are found for each set of energies. Poles are sorted by their size
//!   once, 8 bytes a pair, so that few are looked at for others; not if many are complex.
//! - Kernels read them where the caller has them, where their columns follow each other and no `eps` is between
//!   zero and 1e-120.
//! - Matrix elements are read where they are, or laid out anew on the GPU. Nobody looks at their numbers: a sum
//!   with one that is none is none.

pub use bytemuck::Pod;
use num_complex::Complex64;

use crate::calculator::Calculator;
pub use crate::devices::gpu::driver::{ForeignStream, is_on_device};
use crate::devices::gpu::driver::{fetched, require_on};
pub use crate::devices::gpu::resident::DeviceMatrix;
use crate::error::{Error, Result};

/// [`Screening`](crate::calculator::Screening) with modes and `δ − ε⁻¹` on the GPU.
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
    /// Those of G′.
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

    /// Brings a matrix that is on the GPU to the host, columns one behind the other.
    ///
    /// # Errors
    /// [`Error::Input`] if it is not on this calculator's GPU; [`Error::Memory`], [`Error::Driver`].
    ///
    /// # Safety
    /// It is there, and nobody writes it but what the stream has under way.
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

    /// Brings a vector of numbers that is on the GPU to the host, after what the stream has under way.
    ///
    /// # Errors
    /// [`Error::Input`] if it is not on this calculator's GPU; [`Error::Memory`], [`Error::Driver`].
    ///
    /// # Safety
    /// It is there, and nobody writes it but what the stream has under way.
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
