//! The arrays that the kernels read, once and for all: what they are called, how large they are, what
//! they belong to and how they depend on the layout. All that is said of memory follows from this list.

use gpp_kernels::cells::BANDS;
use gpp_kernels::layout::{Layout, Planned};

use crate::error::{DataError, Error, Result};

/// One array, column-major.
#[derive(Debug)]
pub struct Array {
    /// Its name in a file with those of its indices, the fastest first.
    pub name: &'static str,
    /// Bytes of an element.
    pub element: u64,
    /// What it belongs to.
    pub of: Of,
    /// What a layout changes of it.
    pub varies: Varies,
    /// Elements along each index.
    extents: fn(Extents) -> [usize; 2],
    /// The same in the planned layout.
    planned: fn(Extents) -> [usize; 2],
    /// The same in the layout of cells.
    cells: fn(Extents) -> [usize; 2],
}

/// What an array belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The bands: there once for a problem.
    Bands,
    /// The slab: there for each.
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

/// All of them.
pub static ARRAYS: [&Array; 7] = [&WTILDE, &EPS, &AQSN, &AQSM_LOCAL, &WX, &VCOUL_LOC, &OCC];

/// Bands that the layout of cells has room for.
fn rows(e: Extents) -> usize {
    e.nbands.next_multiple_of(BANDS as usize)
}

/// The planned layout's igp are a multiple of this.
const PADDED_IGP: usize = Planned::rows(1) as usize;

/// Bytes of the partial sums of a slab at most: those of the paper's grids, 65535 blocks with four numbers for
/// each of three energies.
const PARTIAL_SUMS: u64 = 65_535 * 12 * 8;

/// Energies of a batch at most, of any version.
pub const MOST_TOGETHER: usize = 512;

/// What the sizes of arrays depend on.
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

    /// Bytes that a device needs at most for the arrays of the bands, or of a slab, in one layout, with odd
    /// poles where these are no more than one of 16 pairs, and of a slab its sums; energies are there a batch
    /// at a time.
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
            Of::Slab => self.ngpown as u64 * (self.ncouls as u64 / 2 + 64) + PARTIAL_SUMS,
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

/// Bytes of host memory that are free, limits of a container included; nothing where the system does not tell.
pub fn free() -> Option<u64> {
    use sysinfo::{MemoryRefreshKind, RefreshKind, System};
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(kind).ok()?;
    let available = system.available_memory();
    Some(system.cgroup_limits().map_or(available, |limits| limits.free_memory.min(available)))
}

/// Fails where less than `needed` bytes of host memory are free.
///
/// # Errors
/// [`Error::Memory`].
pub fn require(what: &str, needed: u64) -> Result<()> {
    // Where the system does not tell, the allocation itself will.
    match free() {
        Some(free) if needed > free => {
            Err(Error::Memory { place: "host", what: what.into(), needed, free })
        }
        _ => Ok(()),
    }
}
