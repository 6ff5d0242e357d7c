//! What is found out once when a problem is loaded: which bands need what, and which poles are odd.
//!
//! **Bands** stand in classes: *plain* (occupation 1, no energy below zero), *other occupied*
//! (any occupation, any energy: the cutoff and the weight matter), *empty* (no `ssx` at all), of which
//! the *far* ones come last: all energies more than gamma and more than their difference below zero, and
//! the difference that of most bands. No pole is near them.
//!
//! **Poles** are *regular* where the short formulas of the later versions lose no digits and no edge
//! case of the definition can arise; the rest, *odd*, are listed, summed by the definition, and
//! masked out of the fast loops.
//!
//! **Energies** stand in a *table* too, which the last version reads from the constant memory as operands
//! of arithmetic: see [`Table`].

use crate::real::Real;
use crate::target;

/// Pointers to the plan of one problem. The arrays that go with it have their bands in its order.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Plain bands, the first ones.
    pub plain: u32,
    /// Plain and other occupied bands.
    pub occupied: u32,
    /// Bands that are not far: far ones are the last.
    pub far: u32,
    /// One bit for each pair, set where its pole is odd: word `igp · ⌈ncouls/32⌉ + ig/32`, bit
    /// `ig % 32`.
    pub odd_mask: *const u32,
    /// Offsets `igp · ncouls + ig` of the odd pairs that contribute.
    pub odd_pairs: *const u32,
    /// How many there are.
    pub odd_count: u32,
    /// The energies.
    pub table: Table,
}

/// The energies of all bands.
#[derive(Clone, Copy)]
pub struct Table {
    /// `wx(:,n)` in the plan's order of bands; on the GPU it stands in the constant memory only.
    pub wx: *const f64,
    /// Half of what a band's second energy is above its first.
    pub half: f64,
    /// Its square.
    pub square: f64,
}

/// The variable in constant memory that holds a table.
pub const TABLE_SYMBOL: &str = "gpp_table";

impl Table {
    /// Numbers that the constant memory holds.
    pub const CONSTANT: usize = 1 << 13;

    /// No table.
    pub const NONE: Table = Table { wx: core::ptr::null(), half: 0.0, square: 0.0 };

    /// `wx(:,n)`.
    ///
    /// # Safety
    /// The table holds band `n`, and `NW` is the number of energies.
    #[inline(always)]
    pub unsafe fn energies<R: Real, const NW: usize>(&self, n: u32) -> [R; NW] {
        core::array::from_fn(|e| {
            // SAFETY: the caller's contract.
            R::of(unsafe { target::constant(self.wx, n * NW as u32 + e as u32) })
        })
    }
}

impl Plan {
    /// The plan of versions that need none.
    pub const NONE: Plan = Plan {
        plain: 0,
        occupied: 0,
        far: 0,
        odd_mask: core::ptr::null(),
        odd_pairs: core::ptr::null(),
        odd_count: 0,
        table: Table::NONE,
    };

    /// Words of a column of the mask.
    #[inline(always)]
    pub fn words(ncouls: u32) -> u32 {
        ncouls.div_ceil(u32::BITS)
    }

    /// Whether the pole of the pair is odd.
    ///
    /// # Safety
    /// `ig < ncouls`, `igp < ngpown`, the mask as described.
    #[inline(always)]
    pub unsafe fn is_odd(&self, ig: u32, igp: u32, ncouls: u32) -> bool {
        let word = igp * Plan::words(ncouls) + ig / u32::BITS;
        // SAFETY: in range by the caller's contract.
        unsafe { *self.odd_mask.add(word as usize) >> (ig % u32::BITS) & 1 != 0 }
    }
}
