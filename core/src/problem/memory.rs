//! The list of the arrays that kernels read: their names and sizes, whether they belong to bands or
//! slabs, and how they depend on the layout. All estimates of memory follow from this list.

use gpp_kernels::cells::BANDS;
use gpp_kernels::kernel::{Gpu, Kernel};
use gpp_kernels::layout::{Layout, Planned};
use gpp_kernels::sums::VALUES;

use crate::catalogue;
use crate::error::DataError;
pub use crate::system::memory::{free, require};

/// One array, column-major.
#[derive(Debug)]
pub struct Array {
    /// Its name in a file with those of its indices, the fastest first.
    pub name: &'static str,
    /// Bytes of an element.
    pub element: u64,
    /// Whether it belongs to the bands or to a slab.
    pub of: Of,
    /// What a layout changes of it.
    pub varies: Varies,
    /// Elements along each index.
    extents: fn(Extents) -> [usize; 2],
    /// Elements along each index in the planned layout.
    planned: fn(Extents) -> [usize; 2],
    /// Elements along each index in the layout of cells.
    cells: fn(Extents) -> [usize; 2],
}

/// The owner of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The bands: one array for a problem.
    Bands,
    /// The slab: one array for each.
    Slab,
}

/// What a layout changes of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varies {
    /// Nothing.
    Never,
    /// The order of its columns, where the plan's order of bands is another one.
    WithOrder,
    /// The order of its indices or their extents.
    WithLayout,
}

/// The modes.
pub static WTILDE: Array = Array {
    name: "wtilde_array(ig,igp)",
    element: 16,
    of: Of::Slab,
    varies: Varies::Never,
    extents: |e| [e.ncouls, e.ngpown],
    planned: |e| [e.ncouls, e.ngpown],
    cells: |e| [e.ncouls, e.ngpown],
};

/// `δ − ε⁻¹`.
pub static EPS: Array = Array { name: "I_eps_array(ig,igp)", ..WTILDE };

/// Matrix elements of G.
pub static AQSN: Array = Array {
    name: "aqsntemp(ig,n)",
    element: 16,
    of: Of::Bands,
    varies: Varies::WithOrder,
    extents: |e| [e.ncouls, e.nbands],
    planned: |e| [e.ncouls, e.nbands],
    cells: |e| [rows(e), e.ncouls],
};

/// Matrix elements of G′.
pub static AQSM_LOCAL: Array = Array {
    name: "aqsm_local(igp,n)",
    element: 16,
    of: Of::Slab,
    varies: Varies::WithLayout,
    extents: |e| [e.ngpown, e.nbands],
    planned: |e| [e.ngpown.next_multiple_of(PADDED_IGP), e.nbands],
    cells: |e| [rows(e), e.ngpown],
};

/// Energies.
pub static WX: Array = Array {
    name: "wx(iw,n)",
    element: 8,
    of: Of::Bands,
    varies: Varies::WithLayout,
    extents: |e| [e.nw, e.nbands],
    planned: |e| [e.nw.max(Planned::ENERGIES as usize), e.nbands],
    cells: |e| [e.nw, e.nbands],
};

/// Coulomb interaction.
pub static VCOUL_LOC: Array = Array {
    name: "vcoul_loc(igp)",
    element: 8,
    of: Of::Slab,
    varies: Varies::Never,
    extents: |e| [e.ngpown, 1],
    planned: |e| [e.ngpown, 1],
    cells: |e| [e.ngpown, 1],
};

/// Occupations.
pub static OCC: Array = Array {
    name: "occ(n)",
    element: 8,
    of: Of::Bands,
    varies: Varies::WithOrder,
    extents: |e| [e.nbands, 1],
    planned: |e| [e.nbands, 1],
    cells: |e| [e.nbands, 1],
};

/// All arrays.
pub static ARRAYS: [&Array; 7] = [&WTILDE, &EPS, &AQSN, &AQSM_LOCAL, &WX, &VCOUL_LOC, &OCC];

/// Bands that the layout of cells has room for.
fn rows(e: Extents) -> usize {
    e.nbands.next_multiple_of(BANDS as usize)
}

/// The planned layout's igp are a multiple of this.
const PADDED_IGP: usize = Planned::rows(1) as usize;

/// Bytes of a sorted pair beside its pole and its `eps`.
const SORTED: u64 = 8;

/// Energies of a batch at most, of any version.
pub const MOST_TOGETHER: usize = 512;

/// Bytes of the partial sums and sums of a slab at most, of any kernel.
fn partial_sums(slab: Extents) -> u64 {
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
    kernels.flat_map(Gpu::all_kernels).map(of_kernel).max().unwrap_or(0)
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
    pub fn extents(&self, of: Extents, layout: Layout) -> [usize; 2] {
        match layout {
            Layout::Original => (self.extents)(of),
            Layout::Planned => (self.planned)(of),
            Layout::Cells => (self.cells)(of),
            Layout::Swapped if self.varies == Varies::WithLayout => {
                let [first, second] = (self.extents)(of);
                [second, first]
            }
            Layout::Swapped => (self.extents)(of),
        }
    }

    /// All elements.
    pub fn elements(&self, of: Extents, layout: Layout) -> u64 {
        let [first, second] = self.extents(of, layout);
        (first as u64).saturating_mul(second as u64)
    }

    /// Bytes.
    pub fn bytes(&self, of: Extents, layout: Layout) -> u64 {
        self.elements(of, layout).saturating_mul(self.element)
    }

    /// Whether a layout has its own, other than the original; `keeps_order` says whether the plan's order
    /// of bands is the problem's.
    pub fn has_own(&self, layout: Layout, keeps_order: bool) -> bool {
        match (layout, self.varies) {
            (Layout::Original, _) | (_, Varies::Never) => false,
            (_, Varies::WithLayout) => true,
            (Layout::Planned, Varies::WithOrder) => !keeps_order,
            (Layout::Swapped, Varies::WithOrder) => false,
            (Layout::Cells, Varies::WithOrder) => self.element > 8,
        }
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
        if needed > u64::from(u32::MAX) {
            return Err(DataError::Elements { name, found: needed });
        }
        Ok(())
    }
}

impl Extents {
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

    /// Most bytes that a device needs for the arrays of the bands or of a slab in one layout, with one batch
    /// of energies. A slab's include sums, and odd poles up to one in 16 pairs or indices of sorted ones.
    pub fn device_bytes(self, of: Of) -> u64 {
        let batch = Extents { nw: self.nw.min(MOST_TOGETHER), ..self };
        let layouts = [Layout::Original, Layout::Swapped, Layout::Planned, Layout::Cells];
        let of_all = |array: &'static Array| layouts.map(|layout| array.bytes(batch, layout));
        let arrays = ARRAYS
            .into_iter()
            .filter(|array| array.of == of)
            .flat_map(|array| of_all(array).into_iter().max());
        let odd = match of {
            Of::Bands => 0,
            Of::Slab => {
                let pairs = (self.ncouls as u64).saturating_mul(self.ngpown as u64);
                let odd = batch.odd_bytes().max(SORTED.saturating_mul(pairs));
                odd.saturating_add(partial_sums(batch))
            }
        };
        arrays.fold(odd, |sum, bytes| sum.saturating_add(bytes))
    }

    /// Bytes of what a layout has of its own beside the original, of the bands or of a slab;
    /// `keeps_order` as in [`Array::has_own`].
    pub fn bytes_beside(self, of: Of, layout: Layout, keeps_order: bool) -> u64 {
        let own =
            ARRAYS.into_iter().filter(|array| array.of == of && array.has_own(layout, keeps_order));
        own.fold(0, |sum, array| sum.saturating_add(array.bytes(self, layout)))
    }
}
