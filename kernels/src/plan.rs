//! The plan of a problem, from v9 on: classes of bands, and pairs that need the definition.
//!
//! **Bands** are in classes: *plain* (occupation 1, no energy below zero), *other occupied* (any occupation, any energy:
//! the cutoff and the weight matter), *empty* (no `ssx` at all), of which the *far* ones come last. All energies of a far
//! band lie below zero, by more than gamma and by more than they differ among themselves, and the distance between them is
//! that of most bands. No pole is near a far band.
//!
//! **Poles** are *regular* if the short formulas of the later versions lose no digits and no edge case of the definition
//! can arise. The rest are *fallback pairs*: listed, summed by the definition, and masked out of the fast loops. Of pairs with
//! *small* poles, which are listed too but not masked, only `ssx` is summed by the definition.

use num_complex::Complex64;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics::{load_const, load_const_single};
#[cfg(target_arch = "nvptx64")]
use core::arch::{asm, global_asm};

/// The poles of a problem, or the regular poles that a kernel sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Poles {
    Any,
    /// All are purely real and positive.
    Real,
    /// As `Any`, of kernels that subtract no quotient from another: small poles are regular too. No problem has this.
    AnySize,
    /// A kernel reads none: all are regular. No problem has this.
    Unread,
    /// All are real, and quotients within a [window](crate::formula::windowed) of them are broadened.
    Windowed,
}

impl Poles {
    /// Whether a kernel of such poles sums problems of `poles`.
    pub const fn admits(self, poles: Poles) -> bool {
        matches!(
            (self, poles),
            (Poles::Any | Poles::AnySize | Poles::Unread, Poles::Any | Poles::Real)
                | (Poles::Real, Poles::Real)
                | (Poles::Windowed, Poles::Windowed)
        )
    }
}

/// Pointers to the plan of one slab. The bands of its arrays are in the order of the plan.
#[derive(Clone, Copy, Default)]
pub struct Plan {
    /// Plain bands, the first ones.
    pub plain: u32,
    /// Plain and other occupied bands.
    pub occupied: u32,
    /// The first far band: from here on all are far.
    pub far_begin: u32,
    /// One bit for each pair, set if it is a fallback pair or has no terms: word `igp · ⌈ncouls/32⌉ + ig/32`, bit
    /// `ig % 32`. Kernels of [lists](crate::lists) have the words of these instead.
    pub fallback_mask: *const u32,
    /// Offsets `igp · ncouls + ig` of the fallback pairs that contribute and of pairs with [small](Plan::is_small) poles,
    /// ascending.
    pub fallback_pairs: *const u32,
    /// First of the pairs of each `igp` in `fallback_pairs`, and the end of the last, `(ngpown + 1)`.
    pub fallback_begins: *const u32,
    /// Blocks of each group that sum fallback pairs: [`crate::tiling::TileShape::fallback_blocks`].
    pub fallback_blocks: u32,
    /// `wx(:,n)` in the plan's order of bands, `(nw, nbands)`, in eV. On the GPU the constant memory has it, as operands of
    /// arithmetic, and this is null.
    pub energies: *const f64,
    /// Half the difference of the second and the first energy of a far band, in eV.
    pub half: f64,
    /// Its square.
    pub square: f64,
    /// Of the plain bands, those as far from `−ω̃` as far bands are from `ω̃`, the first ones; for Σ alone.
    pub plain_far: u32,
    /// Plain bands and others of occupation 1 in which no regular pole is near an energy below zero; for Σ alone.
    pub full: u32,
    /// See [`Plan::is_small`]; zero for kernels that have no small poles.
    pub small: f64,
}

impl Plan {
    /// Words of the mask for each `igp`.
    #[inline(always)]
    pub const fn words(ncouls: u32) -> u32 {
        ncouls.div_ceil(u32::BITS)
    }

    #[inline(always)]
    pub unsafe fn is_fallback(&self, ig: u32, igp: u32, ncouls: u32) -> bool {
        let word = igp * Plan::words(ncouls) + ig / u32::BITS;
        *self.fallback_mask.add(word as usize) >> (ig % u32::BITS) & 1 != 0
    }

    /// Whether a regular pole is so small that `q − p` of an occupied band would lose digits: `ssx` of its pair is summed by
    /// the definition.
    #[inline(always)]
    pub fn is_small(&self, wtilde: Complex64) -> bool {
        wtilde.re.abs() < self.small && wtilde.im.abs() < self.small
    }

    #[inline(always)]
    pub unsafe fn energies<const NW: usize>(&self, n: u32) -> [f64; NW] {
        core::array::from_fn(|e| self.energy(n * NW as u32 + e as u32))
    }

    /// The same of kernels in single precision, each [in two floats](in_two_floats): the larger one, and what it lacks.
    #[inline(always)]
    pub unsafe fn single_energies<const NW: usize>(&self, n: u32) -> [[f32; 2]; NW] {
        core::array::from_fn(|e| self.single_energy(n * NW as u32 + e as u32))
    }

    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    unsafe fn single_energy(&self, at: u32) -> [f32; 2] {
        let bits = (*self.energies.add(at as usize)).to_bits();
        [(bits >> 32) as u32, bits as u32].map(f32::from_bits)
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn single_energy(&self, at: u32) -> [f32; 2] {
        let address = table() + at * 8;
        [load_const_single(address + 4), load_const_single(address)]
    }

    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    unsafe fn energy(&self, at: u32) -> f64 {
        *self.energies.add(at as usize)
    }

    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn energy(&self, at: u32) -> f64 {
        load_const(table() + at * 8)
    }
}

/// Where a kernel reads energies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnergiesFrom {
    /// `wx`, in the kernel's layout.
    Arrays,
    /// The constant memory, which holds [`CONSTANT`] numbers in the variable [`SYMBOL`].
    ConstantMemory,
    Nowhere,
}

/// Two floats whose sum is `x` to 2⁻⁴⁸ of it.
#[inline(always)]
pub fn two_floats(x: f64) -> [f32; 2] {
    let upper = x as f32;
    [upper, (x - f64::from(upper)) as f32]
}

/// The [two floats](two_floats) as the bits of one number: the larger one in the upper half. Zero if `x` is beyond the
/// range of kernels in single precision.
#[cfg(not(target_arch = "nvptx64"))]
pub fn in_two_floats(x: f64) -> f64 {
    let x = if x.abs() <= LARGEST_SINGLE { x } else { 0.0 };
    let [upper, lower] = two_floats(x);
    f64::from_bits(u64::from(upper.to_bits()) << 32 | u64::from(lower.to_bits()))
}

/// Largest pole and energy, in eV, of kernels in single precision: the cube of a sum of two is in the range of FP32.
pub const LARGEST_SINGLE: f64 = (1u64 << 41) as f64;

pub const CONSTANT: usize = 1 << 13;

pub const SYMBOL: &str = "gpp_table";

#[cfg(target_arch = "nvptx64")]
global_asm!(".const .align 8 .b8 gpp_table[{bytes}];", bytes = const CONSTANT * 8);

/// The address of the constant memory.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn table() -> u32 {
    let table;
    asm!("mov.b32 {}, gpp_table;", out(reg32) table, options(pure, nomem, nostack, preserves_flags));
    table
}
