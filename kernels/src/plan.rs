//! What is found out once of a problem's bands and of a slab's poles: which bands need what, and
//! which poles are odd.
//!
//! **Bands** stand in classes: *plain* (occupation 1, no energy below zero), *other occupied*
//! (any occupation, any energy: the cutoff and the weight matter), *empty* (no `ssx` at all), of which
//! the *far* ones come last. All energies of a far band lie below zero, by more than gamma and by more than
//! they differ among themselves; they differ as those of most bands do. No pole is near a far band.
//!
//! **Poles** are *regular* where the short formulas of the later versions lose no digits and no edge
//! case of the definition can arise; the rest, *odd*, are listed, summed by the definition, and
//! masked out of the fast loops.
//!
//! **Energies** stand in a *table* too: see [`crate::table`].

use crate::table::Table;

/// What the poles of a problem have in common, or what a kernel takes the regular ones to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Poles {
    /// Nothing.
    Any,
    /// All are purely real and positive.
    Real,
    /// Of a kernel that reads none: all are regular. No problem has this.
    Unread,
}

impl Poles {
    /// Whether a kernel that takes poles to be `self` sums problems of `poles`.
    pub const fn admits(self, poles: Poles) -> bool {
        matches!((self, poles), (Poles::Any | Poles::Unread, _) | (Poles::Real, Poles::Real))
    }
}

/// Pointers to the plan of one slab. The arrays that go with it have their bands in its order.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Plain bands, the first ones.
    pub plain: u32,
    /// Plain and other occupied bands.
    pub occupied: u32,
    /// The first far band: from here on all are far.
    pub far_begin: u32,
    /// One bit for each pair, set where its pole is odd: word `igp · ⌈ncouls/32⌉ + ig/32`, bit
    /// `ig % 32`.
    pub odd_mask: *const u32,
    /// Offsets `igp · ncouls + ig` of the odd pairs that contribute, ascending.
    pub odd_pairs: *const u32,
    /// Where the pairs of each `igp` begin in `odd_pairs`, and where the last ones end,
    /// `(ngpown + 1)`.
    pub odd_begins: *const u32,
    /// Blocks of each group that sum odd pairs: [`crate::tiling::Shape::odd_blocks`].
    pub odd_blocks: u32,
    /// The energies.
    pub table: Table,
}

impl Plan {
    /// The plan of versions that need none.
    pub const NONE: Plan = Plan {
        plain: 0,
        occupied: 0,
        far_begin: 0,
        odd_mask: core::ptr::null(),
        odd_pairs: core::ptr::null(),
        odd_begins: core::ptr::null(),
        odd_blocks: 0,
        table: Table::NONE,
    };

    /// Words of the mask for each `igp`.
    #[inline(always)]
    pub const fn words(ncouls: u32) -> u32 {
        ncouls.div_ceil(u32::BITS)
    }

    /// Whether the pole of the pair is odd.
    ///
    /// # Safety
    /// The [launch contract](crate::contract), `ig < ncouls` and `igp < ngpown`.
    #[inline(always)]
    pub unsafe fn is_odd(&self, ig: u32, igp: u32, ncouls: u32) -> bool {
        let word = igp * Plan::words(ncouls) + ig / u32::BITS;
        // SAFETY: the launch contract, the pair in range.
        unsafe { *self.odd_mask.add(word as usize) >> (ig % u32::BITS) & 1 != 0 }
    }
}
