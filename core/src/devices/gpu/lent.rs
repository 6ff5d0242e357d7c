//! Matrix elements that a caller has on the GPU, and what lays them out.

use std::sync::Arc;

use gpp_kernels::layout::Layout;
use num_complex::Complex64;

use super::driver::Buffer;
use super::modules::Loaded;
use crate::problem::Id;

/// A column-major matrix in a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMatrix {
    /// Its address, `CUdeviceptr`; at a multiple of 16 bytes.
    pub at: u64,
    /// Elements from one column to the next.
    pub ld: usize,
}

impl DeviceMatrix {
    /// Its address, for kernels.
    pub fn pointer(self) -> *const Complex64 {
        std::ptr::without_provenance(self.at as usize)
    }

    /// Bytes from its first element to its last one.
    pub fn bytes(self, [rows, columns]: [usize; 2]) -> u64 {
        let before = columns.saturating_sub(1).saturating_mul(self.ld);
        before.saturating_add(rows).saturating_mul(size_of::<Complex64>()) as u64
    }
}

/// Matrix elements of G and G′ there, of bands in the problem's order.
#[derive(Clone, Debug)]
pub struct Lent {
    /// `aqsntemp(ncouls, nbands)`.
    pub aqsn: DeviceMatrix,
    /// What has a row for each G′.
    pub aqsm: DeviceMatrix,
    /// The row of each G′ in it (0-based); [`NONE`](gpp_kernels::relaid::NONE) for one without. The same memory in
    /// each call where they are the same.
    pub rows: Rows,
}

/// Matrix elements of G.
pub enum Elements {
    /// Uploaded, or laid out.
    Own(Arc<Buffer<Complex64>>),
    /// The caller's, by their address.
    Lent(u64),
}

impl Elements {
    /// Where they are.
    pub fn pointer(&self) -> *const Complex64 {
        match self {
            Elements::Own(buffer) => buffer.pointer(),
            Elements::Lent(at) => std::ptr::without_provenance(*at as usize),
        }
    }
}

/// What lays them out.
#[derive(Default)]
pub struct Relay {
    /// The kernel, once it was wanted.
    pub kernel: Option<Arc<Loaded>>,
    /// Rows, then columns; those of G and those of G′.
    pub(super) maps: [Map; 2],
}

/// Rows of a matrix, 0-based.
pub type Rows = Arc<Vec<u32>>;

/// Numbers of rows and columns in place.
#[derive(Default)]
pub struct Map {
    /// Rows, whose bands are in the order of these energies, in a layout; rows that are not named are all, as they
    /// come.
    pub(super) holds: Option<(Option<Rows>, Id, Layout)>,
    pub(super) room: Option<Buffer<u32>>,
}
