//! The list of the arrays that kernels read: their names and sizes, and whether they belong to bands or
//! slabs. All estimates of memory follow from this list.

use std::ops::{Deref, Range};

use gpp_kernels::arrays::Layout;
use gpp_kernels::formula::VALUES;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::kernel::Sizes;
use num_complex::Complex64;
use rayon::prelude::*;

use crate::error::{Error, Result};
pub use crate::os::memory::{free, require, zeros};

#[derive(Debug)]
pub struct Array {
    /// Its name in a file with those of its indices, the fastest first.
    pub name: &'static str,
    pub element: u64,
    /// Whether it belongs to the bands or to a slab.
    pub of: Of,
    extents: fn(Extents, Sizes) -> [u64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The bands: one array for a problem.
    Bands,
    /// The slab: one array for each.
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

/// Elements of an array at most: 32 bits number them.
const MOST_ELEMENTS: u64 = u32::MAX as u64;

/// Energies of a batch at most, of any version.
pub const MOST_TOGETHER: usize = 512;

/// Bytes of the partial sums and sums of a slab at most, of any kernel.
pub(crate) fn partial_sums(slab: Extents) -> u64 {
    let Extents { nbands, ngpown, ncouls, nw } = slab;
    // Fallback pairs are no more than one of 16.
    let fallback = |igp: u64| (igp * ncouls as u64 / 16).min(u32::MAX.into()) as u32;
    let fallback_begins: Vec<u32> = (0..=ngpown as u64).map(fallback).collect();
    let of_kernel = |kernel: &Kernel| {
        let extents = gpp_kernels::kernel::Dimensions {
            nbands: nbands as u32,
            ngpown: ngpown as u32,
            ncouls: ncouls as u32,
            nw: nw as u32,
            fallback_begins: &fallback_begins,
            clusters: u32::MAX,
        };
        let grid = kernel.grid(&extents);
        let numbers = nw.min(kernel.holds()) * VALUES * size_of::<f64>();
        (u64::from(grid.per_group()) + 1) * u64::from(grid.groups) * numbers as u64
    };
    let kernels = gpp_kernels::versions::ALL.iter();
    kernels.flat_map(|gpu| gpu.kernels).map(of_kernel).max().unwrap_or(0)
}

/// The extents that the sizes of arrays depend on.
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

    /// Checks that so many elements are all, in the original layout, and that 32 bits number them.
    pub fn check(&self, of: Extents, elements: usize) -> Result<()> {
        let (name, needed) = (self.name, self.elements(of, Layout::Original));
        if elements as u64 != needed {
            return Err(Error::length(name, needed, elements as u64));
        }
        if needed > MOST_ELEMENTS {
            return Err(too_many(name, needed));
        }
        Ok(())
    }
}

fn too_many(name: &'static str, found: u64) -> Error {
    Error::of(name, format!(" has {found} elements; the kernels index at most {}", u32::MAX))
}

impl Extents {
    /// Fails if 32 bits do not number the elements of all arrays.
    pub(crate) fn check(self) -> Result<()> {
        let elements = |array: &Array| array.elements(self, Layout::Original);
        let wrong = ARRAYS.into_iter().find(|array| elements(array) > MOST_ELEMENTS);
        wrong.map_or(Ok(()), |array| Err(too_many(array.name, elements(array))))
    }

    /// Bytes of all arrays in the original layout: a whole problem in host memory, for the extents of one.
    pub fn bytes(self) -> u64 {
        [Of::Bands, Of::Slab].into_iter().fold(0, |sum, of| sum.saturating_add(self.bytes_of(of)))
    }

    /// Bytes of the arrays of the bands, or of a slab, in the original layout.
    pub fn bytes_of(self, of: Of) -> u64 {
        let of = ARRAYS.into_iter().filter(|array| array.of == of);
        of.fold(0, |sum, array| sum.saturating_add(array.bytes(self, Layout::Original)))
    }

    /// Bytes of the fallback pairs of a slab, where these are no more than one of 16 pairs.
    pub fn fallback_bytes(self) -> u64 {
        (self.ngpown as u64).saturating_mul(self.ncouls as u64 / 2 + 64)
    }
}

// A large array: a problem's own, or one that a caller keeps where it is.

/// A large array of a problem, whose index order its owner says.
#[derive(Debug)]
pub struct Matrix(Memory);

#[derive(Debug)]
enum Memory {
    Own(Vec<Complex64>),
    Kept { at: *const Complex64, len: usize },
}

// SAFETY: what is kept elsewhere is only read, as a shared slice, which any thread may.
unsafe impl Send for Matrix {}
// SAFETY: as above.
unsafe impl Sync for Matrix {}

impl Matrix {
    /// An array that stays where it is: nothing is copied.
    ///
    /// # Safety
    /// It is there, and nobody changes it, until this and what is made of it are dropped, not forgotten.
    pub unsafe fn kept(array: &[Complex64]) -> Matrix {
        Matrix(Memory::Kept { at: array.as_ptr(), len: array.len() })
    }

    /// The numbers, to change them: copied if they are kept elsewhere.
    pub fn to_mut(&mut self, name: &'static str) -> Result<&mut [Complex64]> {
        if let Memory::Kept { .. } = self.0 {
            self.0 = Memory::Own(copied(name, self)?);
        }
        match &mut self.0 {
            Memory::Own(own) => Ok(own),
            Memory::Kept { .. } => unreachable!("it was copied"),
        }
    }

    /// Some columns of this matrix of so many rows, ascending: copied if they are kept elsewhere.
    pub fn with_columns(
        self,
        name: &'static str,
        rows: usize,
        columns: &[usize],
    ) -> Result<Matrix> {
        let from = |column: usize| column * rows..(column + 1) * rows;
        Ok(Matrix(match self.0 {
            Memory::Own(mut own) => {
                columns.iter().enumerate().for_each(|(to, &k)| own.copy_within(from(k), to * rows));
                own.truncate(columns.len() * rows);
                Memory::Own(own)
            }
            Memory::Kept { .. } => {
                let mut own = zeros(name, columns.len() * rows)?;
                let to = own.par_chunks_mut(rows).zip(columns);
                to.for_each(|(to, &k)| to.copy_from_slice(&self[from(k)]));
                Memory::Own(own)
            }
        }))
    }

    /// The numbers, copied where they are kept elsewhere.
    pub fn into_vec(self) -> Vec<Complex64> {
        match self.0 {
            Memory::Own(own) => own,
            Memory::Kept { .. } => self.to_vec(),
        }
    }
}

/// A copy of an array of this name.
pub(super) fn copied(name: &'static str, from: &[Complex64]) -> Result<Vec<Complex64>> {
    let mut copy = zeros(name, from.len())?;
    copy.copy_from_slice(from);
    Ok(copy)
}

impl Deref for Matrix {
    type Target = [Complex64];

    fn deref(&self) -> &[Complex64] {
        match &self.0 {
            Memory::Own(own) => own,
            // SAFETY: the contract of `kept`.
            Memory::Kept { at, len } => unsafe { std::slice::from_raw_parts(*at, *len) },
        }
    }
}

impl From<Vec<Complex64>> for Matrix {
    fn from(own: Vec<Complex64>) -> Matrix {
        Matrix(Memory::Own(own))
    }
}

impl Clone for Matrix {
    fn clone(&self) -> Matrix {
        self.to_vec().into()
    }
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Matrix) -> bool {
        self[..] == other[..]
    }
}

// Some rows of a matrix.

/// Neighbouring rows of a column-major matrix.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    all: &'a [Complex64],
    stride: usize,
    begin: usize,
    end: usize,
}

impl<'a> Rows<'a> {
    /// All rows of a matrix of so many.
    pub(super) fn of(all: &'a [Complex64], rows: usize) -> Rows<'a> {
        Rows { all, stride: rows, begin: 0, end: rows }
    }

    /// Those of these rows, by their numbers among them (0-based).
    pub(super) fn part(self, rows: Range<usize>) -> Rows<'a> {
        Rows { begin: self.begin + rows.start, end: self.begin + rows.end, ..self }
    }

    /// The rows of column `n` (0-based), next to each other.
    pub fn column(self, n: usize) -> &'a [Complex64] {
        &self.all[n * self.stride..(n + 1) * self.stride][self.begin..self.end]
    }

    /// All columns one after the other.
    pub fn columns(self) -> impl ExactSizeIterator<Item = &'a [Complex64]> + Clone {
        self.all.chunks_exact(self.stride).map(move |column| &column[self.begin..self.end])
    }

    pub fn rows(self) -> usize {
        self.end - self.begin
    }

    /// The matrix, where these are all of its rows.
    pub fn whole(self) -> Option<&'a [Complex64]> {
        (self.rows() == self.stride).then_some(self.all)
    }
}

impl PartialEq for Rows<'_> {
    fn eq(&self, other: &Rows) -> bool {
        self.columns().eq(other.columns())
    }
}
