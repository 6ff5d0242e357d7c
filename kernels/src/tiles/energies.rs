//! Where the energies of a band come from.

use num_complex::Complex64;

use crate::arrays::Arrays;
use crate::layout::Planned;
use crate::table::EnergiesFrom;

/// What memory holds of a band's energies beside its elements, and how the energies are had of it.
pub trait Energies: Copy {
    /// Where they stand.
    const FROM: EnergiesFrom;

    /// Read from `wx(:,n)`.
    ///
    /// # Safety
    /// The [launch contract](crate::contract) and `n < nbands`.
    unsafe fn read(a: &Arrays, n: u32) -> Self;

    /// Read in pairs: pair `p` is energies `2p` and `2p + 1`.
    fn of_pairs(pair: impl Fn(usize) -> Complex64) -> Self;

    /// `wx(:,n)`, for the band that `self` is of.
    ///
    /// # Safety
    /// The [launch contract](crate::contract), `n < nbands` and `NW = nw`.
    unsafe fn of<const NW: usize>(&self, a: &Arrays, n: u32) -> [f64; NW];
}

/// Energies come with the band.
#[derive(Clone, Copy)]
pub struct WithBand([f64; Planned::ENERGIES as usize]);

impl Energies for WithBand {
    const FROM: EnergiesFrom = EnergiesFrom::Arrays;

    #[inline(always)]
    unsafe fn read(a: &Arrays, n: u32) -> Self {
        // SAFETY: the launch contract: wx has room for so many in each band.
        WithBand(core::array::from_fn(|e| unsafe {
            *a.wx.add((n * Planned::ENERGIES) as usize + e)
        }))
    }

    #[inline(always)]
    fn of_pairs(pair: impl Fn(usize) -> Complex64) -> Self {
        let (first, second) = (pair(0), pair(1));
        WithBand([first.re, first.im, second.re, second.im])
    }

    #[inline(always)]
    unsafe fn of<const NW: usize>(&self, _: &Arrays, _: u32) -> [f64; NW] {
        core::array::from_fn(|e| self.0[e])
    }
}

/// Energies come from the constant memory ([`crate::table`]): operands of arithmetic, which take neither
/// a register nor a read.
#[derive(Clone, Copy)]
pub struct FromConstant;

impl Energies for FromConstant {
    const FROM: EnergiesFrom = EnergiesFrom::ConstantMemory;

    #[inline(always)]
    unsafe fn read(_: &Arrays, _: u32) -> Self {
        FromConstant
    }

    #[inline(always)]
    fn of_pairs(_: impl Fn(usize) -> Complex64) -> Self {
        FromConstant
    }

    #[inline(always)]
    unsafe fn of<const NW: usize>(&self, a: &Arrays, n: u32) -> [f64; NW] {
        // SAFETY: the launch contract.
        unsafe { a.plan.table.energies(n) }
    }
}

/// No energies are read.
#[derive(Clone, Copy)]
pub struct Unread;

impl Energies for Unread {
    const FROM: EnergiesFrom = EnergiesFrom::Nowhere;

    #[inline(always)]
    unsafe fn read(_: &Arrays, _: u32) -> Self {
        Unread
    }

    #[inline(always)]
    fn of_pairs(_: impl Fn(usize) -> Complex64) -> Self {
        Unread
    }

    #[inline(always)]
    unsafe fn of<const NW: usize>(&self, _: &Arrays, _: u32) -> [f64; NW] {
        [0.0; NW]
    }
}
