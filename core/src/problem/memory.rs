//! The list of the arrays that kernels read: their names and sizes, and whether they belong to bands or
//! slabs. All estimates of memory follow from this list.

use gpp_kernels::extents::Sizes;
use gpp_kernels::kernel::Kernel;
use gpp_kernels::layout::Layout;
use gpp_kernels::sums::VALUES;

use crate::catalogue;
use crate::error::DataError;
pub(crate) use crate::system::memory::refused;
pub use crate::system::memory::{free, require, zeros};

/// One array, column-major.
#[derive(Debug)]
pub struct Array {
    /// Its name in a file with those of its indices, the fastest first.
    pub name: &'static str,
    /// Bytes of an element.
    pub element: u64,
    /// Whether it belongs to the bands or to a slab.
    pub of: Of,
    /// Elements along each index.
    extents: fn(Extents, Sizes) -> [u64; 2],
}

/// The owner of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The bands: one array for a problem.
    Bands,
    /// The slab: one array for each.
    Slab,
}

/// The modes.
pub static WTILDE: Array = Array {
    name: "wtilde_array(ig,igp)",
    element: 16,
    of: Of::Slab,
    extents: |e, _| [e.ncouls as u64, e.ngpown as u64],
};

/// `δ − ε⁻¹`.
pub static EPS: Array = Array { name: "I_eps_array(ig,igp)", ..WTILDE };

/// Matrix elements of G.
pub static AQSN: Array =
    Array { name: "aqsntemp(ig,n)", element: 16, of: Of::Bands, extents: |_, sizes| sizes.aqsn };

/// Matrix elements of G′.
pub static AQSM_LOCAL: Array = Array {
    name: "aqsm_local(igp,n)",
    element: 16,
    of: Of::Slab,
    extents: |_, sizes| sizes.aqsm_local,
};

/// Energies.
pub static WX: Array =
    Array { name: "wx(iw,n)", element: 8, of: Of::Bands, extents: |_, sizes| sizes.wx };

/// Coulomb interaction.
pub static VCOUL_LOC: Array = Array {
    name: "vcoul_loc(igp)",
    element: 8,
    of: Of::Slab,
    extents: |e, _| [e.ngpown as u64, 1],
};

/// Occupations.
pub static OCC: Array =
    Array { name: "occ(n)", element: 8, of: Of::Bands, extents: |e, _| [e.nbands as u64, 1] };

/// What `aqsm_local` is taken from; no kernel reads it.
pub static AQSMTEMP: Array = Array { name: "aqsmtemp(ig,n)", ..AQSN };

/// All arrays.
pub static ARRAYS: [&Array; 7] = [&WTILDE, &EPS, &AQSN, &AQSM_LOCAL, &WX, &VCOUL_LOC, &OCC];

/// Elements of an array at most: 32 bits number them.
const MOST_ELEMENTS: u64 = u32::MAX as u64;

/// Energies of a batch at most, of any version.
pub const MOST_TOGETHER: usize = 512;

/// Bytes of the partial sums and sums of a slab at most, of any kernel.
pub(crate) fn partial_sums(slab: Extents) -> u64 {
    let Extents { nbands, ngpown, ncouls, nw } = slab;
    // Odd pairs are no more than one of 16, and groups no larger than these igp.
    let igp = 0..=ngpown.min(GROUP) as u64;
    let odd_begins: Vec<u32> = igp.map(|igp| (igp * ncouls as u64 / 16) as u32).collect();
    let of_kernel = |kernel: &Kernel| {
        let extents = gpp_kernels::extents::Extents {
            nbands: nbands as u32,
            ngpown: ngpown as u32,
            ncouls: ncouls as u32,
            nw: nw as u32,
            odd_begins: &odd_begins,
            parts: u32::MAX,
        };
        let grid = kernel.grid(&extents);
        let numbers = nw.min(kernel.holds()) * VALUES * size_of::<f64>();
        (u64::from(grid.per_group()) + 1) * u64::from(grid.groups) * numbers as u64
    };
    let kernels = catalogue::versions().filter_map(|version| version.gpu());
    kernels.flat_map(|gpu| gpu.kernels).map(of_kernel).max().unwrap_or(0)
}

/// The igp of a group at most, of any kernel.
const GROUP: usize = 512;

/// The extents that the sizes of arrays depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extents {
    /// Bands.
    pub nbands: usize,
    /// G′ vectors, of a problem or of a slab.
    pub ngpown: usize,
    /// G vectors.
    pub ncouls: usize,
    /// Energies.
    pub nw: usize,
}

impl Array {
    /// Elements along each index.
    pub fn extents(&self, of: Extents, layout: Layout) -> [u64; 2] {
        let Extents { nbands, ngpown, ncouls, nw } = of;
        let sizes = layout.sizes([nbands, ngpown, ncouls, nw].map(|n| n as u64));
        (self.extents)(of, sizes)
    }

    /// All elements.
    pub fn elements(&self, of: Extents, layout: Layout) -> u64 {
        let [first, second] = self.extents(of, layout);
        first.saturating_mul(second)
    }

    /// Bytes.
    pub fn bytes(&self, of: Extents, layout: Layout) -> u64 {
        self.elements(of, layout).saturating_mul(self.element)
    }

    /// Checks that so many elements are all, in the original layout, and that 32 bits number them.
    ///
    /// # Errors
    /// [`DataError::Length`], [`DataError::Elements`].
    pub fn check(&self, of: Extents, elements: usize) -> std::result::Result<(), DataError> {
        let (name, needed) = (self.name, self.elements(of, Layout::Original));
        if elements as u64 != needed {
            return Err(DataError::Length { name, needed, found: elements as u64 });
        }
        if needed > MOST_ELEMENTS {
            return Err(DataError::Elements { name, found: needed });
        }
        Ok(())
    }
}

impl Extents {
    /// Fails if 32 bits do not number the elements of all arrays.
    ///
    /// # Errors
    /// [`DataError::Elements`].
    pub(crate) fn check(self) -> std::result::Result<(), DataError> {
        let elements = |array: &Array| array.elements(self, Layout::Original);
        let wrong = ARRAYS.into_iter().find(|array| elements(array) > MOST_ELEMENTS);
        wrong.map_or(Ok(()), |array| {
            Err(DataError::Elements { name: array.name, found: elements(array) })
        })
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

    /// Bytes of the odd poles of a slab, where these are no more than one of 16 pairs.
    pub fn odd_bytes(self) -> u64 {
        (self.ngpown as u64).saturating_mul(self.ncouls as u64 / 2 + 64)
    }
}
