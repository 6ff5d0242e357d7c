//! The arrays that kernels read: names, sizes, of bands or slabs. All estimates of memory follow from this list.

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::{ptr, slice};

use gpp_kernels::arrays::Layout;
use gpp_kernels::kernel::ArraySizes;
use num_complex::{Complex32, Complex64};

use crate::error::{Error, Fault, Quantity, Result};
use crate::os::memory::zeros;

#[derive(Debug)]
pub struct ArraySpec {
    pub quantity: Quantity,
    pub element: u64,
    pub belongs_to: Of,
    extents: fn(Extents, ArraySizes) -> [u64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Bands,
    Slab,
}

pub static WTILDE: ArraySpec = ArraySpec {
    quantity: Quantity::Wtilde,
    element: 16,
    belongs_to: Of::Slab,
    extents: |e, _| [e.ncouls as u64, e.ngpown as u64],
};

/// `δ − ε⁻¹`.
pub static EPS: ArraySpec = ArraySpec { quantity: Quantity::IEps, ..WTILDE };

pub static AQSN: ArraySpec = ArraySpec {
    quantity: Quantity::Aqsntemp,
    element: 16,
    belongs_to: Of::Bands,
    extents: |_, sizes| sizes.aqsn,
};

pub static AQSM_LOCAL: ArraySpec =
    ArraySpec { quantity: Quantity::AqsmLocal, extents: |_, sizes| sizes.aqsm_local, ..WTILDE };

pub static WX: ArraySpec = ArraySpec {
    quantity: Quantity::Wx,
    element: 8,
    belongs_to: Of::Bands,
    extents: |_, sizes| sizes.wx,
};

pub static VCOUL_LOC: ArraySpec = ArraySpec {
    quantity: Quantity::VcoulLoc,
    element: 8,
    belongs_to: Of::Slab,
    extents: |e, _| [e.ngpown as u64, 1],
};

pub static OCC: ArraySpec =
    ArraySpec { quantity: Quantity::Occ, extents: |e, _| [e.nbands as u64, 1], ..WX };

/// What `aqsm_local` is taken from; no kernel reads it.
pub static AQSMTEMP: ArraySpec = ArraySpec { quantity: Quantity::Aqsmtemp, ..AQSN };

pub static ARRAYS: [&ArraySpec; 7] = [&WTILDE, &EPS, &AQSN, &AQSM_LOCAL, &WX, &VCOUL_LOC, &OCC];

/// Kernels index the elements of an array with 32 bits.
const MOST_ELEMENTS: u64 = u32::MAX as u64;

/// Energies of a batch at most, of any version.
pub const MOST_TOGETHER: usize = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    pub nbands: usize,
    /// G′ vectors, of a problem or of a slab.
    pub ngpown: usize,
    pub ncouls: usize,
    pub nw: usize,
}

impl ArraySpec {
    /// Its name in a file with the names of its indices, the fastest first.
    pub fn name(&self) -> &'static str {
        self.quantity.array()
    }

    pub fn extents(&self, extents: Extents, layout: Layout) -> [u64; 2] {
        let Extents { nbands, ngpown, ncouls, nw } = extents;
        let sizes = layout.sizes([nbands, ngpown, ncouls, nw].map(|n| n as u64));
        (self.extents)(extents, sizes)
    }

    pub fn elements(&self, extents: Extents, layout: Layout) -> u64 {
        let [first, second] = self.extents(extents, layout);
        first.saturating_mul(second)
    }

    pub fn bytes(&self, extents: Extents, layout: Layout) -> u64 {
        self.elements(extents, layout).saturating_mul(self.element)
    }

    /// Checks the number of elements in the original layout.
    pub fn check(&self, extents: Extents, elements: usize) -> Result<()> {
        let needed = self.elements(extents, Layout::Original);
        if elements as u64 != needed {
            let fault = Fault::Length { needed, found: elements as u64 };
            return Err(Error::data(self.quantity, fault));
        }
        if needed > MOST_ELEMENTS {
            let fault = Fault::TooLong { found: needed, most: MOST_ELEMENTS };
            return Err(Error::data(self.quantity, fault));
        }
        Ok(())
    }
}

impl Extents {
    /// Terms of the sum: (n, igp, ig, iw).
    pub fn terms(self) -> u64 {
        let Extents { nbands, ngpown, ncouls, nw } = self;
        [nbands, ngpown, ncouls, nw].map(|n| n as u64).into_iter().fold(1, u64::saturating_mul)
    }

    /// Bytes of all arrays in the original layout.
    pub fn bytes(self) -> u64 {
        self.bytes_of(Of::Bands).saturating_add(self.bytes_of(Of::Slab))
    }

    /// Bytes of the arrays of the bands, or of a slab, in the original layout.
    pub fn bytes_of(self, part: Of) -> u64 {
        let part = ARRAYS.into_iter().filter(|array| array.belongs_to == part);
        part.fold(0, |sum, array| sum.saturating_add(array.bytes(self, Layout::Original)))
    }
}

/// A large array of a problem, column-major. What is borrowed has no lifetime: see [`ComplexMatrix::kept`].
#[derive(Clone, Debug, PartialEq)]
pub struct ComplexMatrix(Cow<'static, [Complex64]>);

impl ComplexMatrix {
    /// Borrows an array without a lifetime.
    ///
    /// # Safety
    /// It stays valid and unchanged until this and what is made of it are dropped, not forgotten.
    pub unsafe fn kept(array: &[Complex64]) -> ComplexMatrix {
        // SAFETY: this function's own contract.
        ComplexMatrix(Cow::Borrowed(unsafe { slice::from_raw_parts(array.as_ptr(), array.len()) }))
    }

    /// The numbers, to change them; a borrowed array is copied.
    pub fn to_mut(&mut self, name: &'static str) -> Result<&mut [Complex64]> {
        if let Cow::Borrowed(array) = self.0 {
            self.0 = copied(name, array)?.into();
        }
        Ok(self.0.to_mut())
    }

    /// Some columns, ascending, of a matrix of `rows` rows; a borrowed array is copied.
    pub fn with_columns(
        mut self,
        name: &'static str,
        rows: usize,
        columns: &[usize],
    ) -> Result<ComplexMatrix> {
        self.to_mut(name)?;
        let mut elements = self.0.into_owned();
        let from = |column: usize| column * rows..(column + 1) * rows;
        columns.iter().enumerate().for_each(|(to, &k)| elements.copy_within(from(k), to * rows));
        elements.truncate(columns.len() * rows);
        Ok(elements.into())
    }
}

pub(super) fn copied(name: &'static str, from: &[Complex64]) -> Result<Vec<Complex64>> {
    let mut copy = zeros(name, from.len())?;
    copy.copy_from_slice(from);
    Ok(copy)
}

impl Deref for ComplexMatrix {
    type Target = [Complex64];

    fn deref(&self) -> &[Complex64] {
        &self.0
    }
}

impl From<Vec<Complex64>> for ComplexMatrix {
    fn from(elements: Vec<Complex64>) -> ComplexMatrix {
        ComplexMatrix(elements.into())
    }
}

/// A column-major matrix in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMatrix {
    pub(crate) at: u64,
    pub(crate) ld: usize,
}

impl DeviceMatrix {
    /// The matrix at this `CUdeviceptr`, a multiple of 16 bytes, with `ld` elements from one column to the next.
    ///
    /// # Safety
    /// It is there, with as many rows and columns as a call expects, as long as it is used and as what is placed of
    /// it. Nobody writes it meanwhile but what the calculator's stream has pending.
    pub unsafe fn new(address: u64, ld: usize) -> DeviceMatrix {
        DeviceMatrix { at: address, ld }
    }

    /// Bytes from its first element to its last one.
    pub fn bytes(self, [rows, columns]: [usize; 2]) -> u64 {
        let before = columns.saturating_sub(1).saturating_mul(self.ld);
        before.saturating_add(rows).saturating_mul(size_of::<Complex64>()) as u64
    }
}

/// A column-major matrix of complex numbers.
#[derive(Clone, Copy, Debug)]
pub enum MatrixRef<'a> {
    /// On the host, without gaps between columns.
    Host(&'a [Complex64]),
    /// On the host, with so many elements from one column to the next: a call copies it without the gaps, of many states
    /// on the way to a GPU.
    Spaced(&'a [Complex64], usize),
    /// The same in single precision: it is widened as it is copied.
    Single(&'a [Complex32], usize),
    /// On the calculator's only GPU: see [`on_gpu`](crate::on_gpu).
    Device(DeviceMatrix),
}

impl MatrixRef<'_> {
    /// Whether a copy of `other` on the host, which a call makes, is one of this too: on the diagonal of Σ.
    pub(crate) fn is_copy_of(self, other: MatrixRef) -> bool {
        match (self, other) {
            (MatrixRef::Spaced(one, ld), MatrixRef::Spaced(other, of)) => {
                ptr::eq(one, other) && ld == of
            }
            (MatrixRef::Single(one, ld), MatrixRef::Single(other, of)) => {
                ptr::eq(one, other) && ld == of
            }
            (MatrixRef::Device(one), MatrixRef::Device(other)) => one == other,
            _ => false,
        }
    }
}

/// Neighbouring rows of a column-major matrix.
#[derive(Clone, Copy, Debug)]
pub struct MatrixRows<'a> {
    all: &'a [Complex64],
    stride: usize,
    begin: usize,
    end: usize,
}

impl<'a> MatrixRows<'a> {
    /// All rows of a matrix that has `rows` rows.
    pub(super) fn new(elements: &'a [Complex64], rows: usize) -> MatrixRows<'a> {
        MatrixRows { all: elements, stride: rows, begin: 0, end: rows }
    }

    /// Some of these rows; `rows` counts from the first of these.
    pub(super) fn part(self, rows: Range<usize>) -> MatrixRows<'a> {
        MatrixRows { begin: self.begin + rows.start, end: self.begin + rows.end, ..self }
    }

    /// The rows of column `n` (0-based), next to each other.
    pub fn column(self, n: usize) -> &'a [Complex64] {
        &self.all[n * self.stride..(n + 1) * self.stride][self.begin..self.end]
    }

    pub fn columns(self) -> impl ExactSizeIterator<Item = &'a [Complex64]> + Clone {
        self.all.chunks_exact(self.stride).map(move |column| &column[self.begin..self.end])
    }

    pub fn rows(self) -> usize {
        self.end - self.begin
    }

    /// The matrix, if these are all of its rows.
    pub fn whole(self) -> Option<&'a [Complex64]> {
        (self.rows() == self.stride).then_some(self.all)
    }
}
