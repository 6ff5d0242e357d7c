//! The arrays that kernels read: names, sizes, of bands or slabs. All estimates of memory follow from this list.

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::slice;

use gpp_kernels::arrays::Layout;
use gpp_kernels::kernel::{Dimensions, Kernel, Sizes};
use gpp_kernels::versions;
use num_complex::Complex64;

use crate::error::{Error, Result};
use crate::os::memory::zeros;

#[derive(Debug)]
pub struct Array {
    /// Its name in a file with the names of its indices, the fastest first.
    pub name: &'static str,
    pub element: u64,
    pub of: Of,
    extents: fn(Extents, Sizes) -> [u64; 2],
}

/// What an array belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Bands,
    Slab,
}

pub static WTILDE: Array = Array {
    name: "wtilde_array(ig,igp)",
    element: 16,
    of: Of::Slab,
    extents: |e, _| [e.ncouls as u64, e.ngpown as u64],
};

/// `δ − ε⁻¹`.
pub static EPS: Array = Array { name: "I_eps_array(ig,igp)", ..WTILDE };

pub static AQSN: Array =
    Array { name: "aqsntemp(ig,n)", element: 16, of: Of::Bands, extents: |_, sizes| sizes.aqsn };

pub static AQSM_LOCAL: Array = Array {
    name: "aqsm_local(igp,n)",
    element: 16,
    of: Of::Slab,
    extents: |_, sizes| sizes.aqsm_local,
};

pub static WX: Array =
    Array { name: "wx(iw,n)", element: 8, of: Of::Bands, extents: |_, sizes| sizes.wx };

pub static VCOUL_LOC: Array = Array {
    name: "vcoul_loc(igp)",
    element: 8,
    of: Of::Slab,
    extents: |e, _| [e.ngpown as u64, 1],
};

pub static OCC: Array =
    Array { name: "occ(n)", element: 8, of: Of::Bands, extents: |e, _| [e.nbands as u64, 1] };

/// What `aqsm_local` is taken from; no kernel reads it.
pub static AQSMTEMP: Array = Array { name: "aqsmtemp(ig,n)", ..AQSN };

pub static ARRAYS: [&Array; 7] = [&WTILDE, &EPS, &AQSN, &AQSM_LOCAL, &WX, &VCOUL_LOC, &OCC];

/// Kernels index the elements of an array with 32 bits.
const MOST_ELEMENTS: u64 = u32::MAX as u64;

/// Energies of a batch at most, of any version.
pub const MOST_TOGETHER: usize = 512;

/// Bytes of the partial sums and sums of a slab at most, of any kernel.
pub(crate) fn partial_sums(slab: Extents) -> u64 {
    let Extents { nbands, ngpown, ncouls, nw } = slab;
    // Fallback pairs are no more than one of 16.
    let fallback = |igp: u64| (igp * ncouls as u64 / 16).min(u32::MAX.into()) as u32;
    let fallback_begins: Vec<u32> = (0..=ngpown as u64).map(fallback).collect();
    let dimensions = Dimensions {
        nbands: nbands as u32,
        ngpown: ngpown as u32,
        ncouls: ncouls as u32,
        nw: nw as u32,
        fallback_begins: &fallback_begins,
        clusters: u32::MAX,
    };
    let of_kernel = |kernel: &Kernel| {
        let grid = kernel.grid(&dimensions);
        let numbers = kernel.values([nbands, nw.min(kernel.holds())].map(|count| count as u64));
        let numbers = numbers * size_of::<f64>() as u64;
        (u64::from(grid.per_group()) + 1) * u64::from(grid.groups) * numbers
    };
    let kernels = versions::ALL.iter().chain(&versions::PER_BAND);
    kernels.flat_map(|gpu| gpu.kernels).map(of_kernel).max().unwrap_or(0)
}

/// The dimensions that the sizes of arrays depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    pub nbands: usize,
    /// G′ vectors, of a problem or of a slab.
    pub ngpown: usize,
    pub ncouls: usize,
    pub nw: usize,
}

impl Array {
    pub fn extents(&self, of: Extents, layout: Layout) -> [u64; 2] {
        let Extents { nbands, ngpown, ncouls, nw } = of;
        let sizes = layout.sizes([nbands, ngpown, ncouls, nw].map(|n| n as u64));
        (self.extents)(of, sizes)
    }

    pub fn elements(&self, of: Extents, layout: Layout) -> u64 {
        let [first, second] = self.extents(of, layout);
        first.saturating_mul(second)
    }

    pub fn bytes(&self, of: Extents, layout: Layout) -> u64 {
        self.elements(of, layout).saturating_mul(self.element)
    }

    /// Checks the number of elements in the original layout.
    pub fn check(&self, of: Extents, elements: usize) -> Result<()> {
        let needed = self.elements(of, Layout::Original);
        if elements as u64 != needed {
            return Err(Error::length(self.name, needed, elements as u64));
        }
        self.check_most(of)
    }

    fn check_most(&self, of: Extents) -> Result<()> {
        let found = self.elements(of, Layout::Original);
        if found > MOST_ELEMENTS {
            let text = format!(" has {found} elements; the kernels index at most {MOST_ELEMENTS}");
            return Err(Error::of(self.name, text));
        }
        Ok(())
    }
}

impl Extents {
    pub(crate) fn check(self) -> Result<()> {
        ARRAYS.into_iter().try_for_each(|array| array.check_most(self))
    }

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
    pub fn bytes_of(self, of: Of) -> u64 {
        let of = ARRAYS.into_iter().filter(|array| array.of == of);
        of.fold(0, |sum, array| sum.saturating_add(array.bytes(self, Layout::Original)))
    }

    /// Bytes of the fallback pairs of a slab, if these are no more than one of 16 pairs.
    pub fn fallback_bytes(self) -> u64 {
        (self.ngpown as u64).saturating_mul(self.ncouls as u64 / 2 + 64)
    }
}

/// A large array of a problem, column-major. What is borrowed has no lifetime: see [`Matrix::kept`].
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix(Cow<'static, [Complex64]>);

impl Matrix {
    /// Borrows an array without a lifetime.
    ///
    /// # Safety
    /// It stays valid and unchanged until this and what is made of it are dropped, not forgotten.
    pub unsafe fn kept(array: &[Complex64]) -> Matrix {
        // SAFETY: this function's own contract.
        Matrix(Cow::Borrowed(unsafe { slice::from_raw_parts(array.as_ptr(), array.len()) }))
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
    ) -> Result<Matrix> {
        self.to_mut(name)?;
        let mut own = self.into_vec();
        let from = |column: usize| column * rows..(column + 1) * rows;
        columns.iter().enumerate().for_each(|(to, &k)| own.copy_within(from(k), to * rows));
        own.truncate(columns.len() * rows);
        Ok(own.into())
    }

    pub fn into_vec(self) -> Vec<Complex64> {
        self.0.into_owned()
    }
}

pub(super) fn copied(name: &'static str, from: &[Complex64]) -> Result<Vec<Complex64>> {
    let mut copy = zeros(name, from.len())?;
    copy.copy_from_slice(from);
    Ok(copy)
}

impl Deref for Matrix {
    type Target = [Complex64];

    fn deref(&self) -> &[Complex64] {
        &self.0
    }
}

impl From<Vec<Complex64>> for Matrix {
    fn from(own: Vec<Complex64>) -> Matrix {
        Matrix(own.into())
    }
}

/// Neighbouring rows of a column-major matrix.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    all: &'a [Complex64],
    stride: usize,
    begin: usize,
    end: usize,
}

impl<'a> Rows<'a> {
    /// All rows of a matrix that has `rows` rows.
    pub(super) fn of(all: &'a [Complex64], rows: usize) -> Rows<'a> {
        Rows { all, stride: rows, begin: 0, end: rows }
    }

    /// Some of these rows; `rows` counts from the first of these.
    pub(super) fn part(self, rows: Range<usize>) -> Rows<'a> {
        Rows { begin: self.begin + rows.start, end: self.begin + rows.end, ..self }
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
