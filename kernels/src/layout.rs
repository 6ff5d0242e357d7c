//! The orders in which kernels find `wx` and `aqsm_local`.

/// Index order of `wx` and `aqsm_local`, and order of the bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `wx(iw,n)`, `aqsm_local(igp,n)`.
    Original,
    /// `wx(n,iw)`, `aqsm_local(n,igp)`.
    Swapped,
    /// `wx(iw,n)`, `aqsm_local(igp,n)` padded ([`Planned`]), bands in the order of [`crate::plan`],
    /// whose arguments the entries take.
    Planned,
    /// The same with [lists](crate::lists) of a slab's pairs.
    Listed,
    /// Pairs sorted by their poles, bands fastest: see [`crate::cells`].
    Cells,
}

/// What offsets depend on.
#[derive(Clone, Copy)]
pub struct Lengths {
    pub nbands: u32,
    /// `igp` of the slab.
    pub ngpown: u32,
    /// Energies that `wx` holds of a band.
    pub nw: u32,
}

/// A [`Layout`] as a type: where the elements stand.
pub trait Order {
    fn wx(lengths: Lengths, iw: u32, n: u32) -> u32;
    fn aqsm_local(lengths: Lengths, igp: u32, n: u32) -> u32;
}

/// The reference's order: `wx(iw,n)`, `aqsm_local(igp,n)`.
pub struct Original;

/// The order of v7 and v8: `wx(n,iw)`, `aqsm_local(n,igp)`.
pub struct Swapped;

/// The original order with zeros added to each band of `aqsm_local` and of `wx`: blocks read whole
/// tiles, and 16 bytes at once.
pub struct Planned;

impl Order for Original {
    #[inline(always)]
    fn wx(lengths: Lengths, iw: u32, n: u32) -> u32 {
        n * lengths.nw + iw
    }

    #[inline(always)]
    fn aqsm_local(lengths: Lengths, igp: u32, n: u32) -> u32 {
        n * lengths.ngpown + igp
    }
}

impl Order for Swapped {
    #[inline(always)]
    fn wx(lengths: Lengths, iw: u32, n: u32) -> u32 {
        iw * lengths.nbands + n
    }

    #[inline(always)]
    fn aqsm_local(lengths: Lengths, igp: u32, n: u32) -> u32 {
        igp * lengths.nbands + n
    }
}

impl Planned {
    /// Energies that `wx` has room for in each band.
    pub const ENERGIES: u32 = 4;

    /// `igp` that `aqsm_local` has room for in each band of a slab of `ngpown`: whole blocks of every
    /// shape of tiles.
    #[inline(always)]
    pub const fn rows(ngpown: u32) -> u32 {
        ngpown.next_multiple_of(48)
    }
}

impl Order for Planned {
    #[inline(always)]
    fn wx(_: Lengths, iw: u32, n: u32) -> u32 {
        n * Planned::ENERGIES + iw
    }

    #[inline(always)]
    fn aqsm_local(lengths: Lengths, igp: u32, n: u32) -> u32 {
        n * Planned::rows(lengths.ngpown) + igp
    }
}
