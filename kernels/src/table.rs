//! The table of energies, which the last version reads from the constant memory as operands of
//! arithmetic.

#[cfg(target_arch = "nvptx64")]
use core::arch::{asm, global_asm};

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics::load_const;

/// Where a kernel reads energies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnergiesFrom {
    /// `wx`, in the kernel's layout.
    Arrays,
    /// The table in the constant memory, which holds [`Table::CONSTANT`] numbers.
    ConstantMemory,
    /// It reads none.
    Nowhere,
}

/// The energies of all bands.
#[derive(Clone, Copy)]
pub struct Table {
    /// `wx(:,n)` in the plan's order of bands, `(nw, nbands)`, in eV; on the GPU it stands in the
    /// constant memory only and this is null.
    pub wx: *const f64,
    /// Half of what a far band's second energy is above its first, in eV.
    pub half: f64,
    /// Its square.
    pub square: f64,
}

/// The variable in constant memory that holds a table.
pub const SYMBOL: &str = "gpp_table";

#[cfg(target_arch = "nvptx64")]
global_asm!(
    ".const .align 8 .b8 gpp_table[{bytes}];",
    bytes = const Table::CONSTANT * 8,
);

impl Table {
    /// Numbers that the constant memory holds.
    pub const CONSTANT: usize = 1 << 13;

    /// No table.
    pub const NONE: Table = Table { wx: core::ptr::null(), half: 0.0, square: 0.0 };

    /// `wx(:,n)`.
    ///
    /// # Safety
    /// The [launch contract](crate::contract), `n < nbands` and `NW = nw`.
    #[inline(always)]
    pub unsafe fn energies<const NW: usize>(&self, n: u32) -> [f64; NW] {
        core::array::from_fn(|e| {
            // SAFETY: the launch contract fills the table for all bands.
            unsafe { self.number(n * NW as u32 + e as u32) }
        })
    }

    /// Number `at`.
    ///
    /// # Safety
    /// The table holds it.
    #[cfg(not(target_arch = "nvptx64"))]
    #[inline(always)]
    unsafe fn number(&self, at: u32) -> f64 {
        // SAFETY: in range by this function's own contract.
        unsafe { *self.wx.add(at as usize) }
    }

    /// Number `at`.
    ///
    /// # Safety
    /// The table holds it.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn number(&self, at: u32) -> f64 {
        let table: u32;
        // SAFETY: takes an address; in range by this function's own contract.
        unsafe {
            asm!("mov.b32 {}, gpp_table;", out(reg32) table,
                 options(pure, nomem, nostack, preserves_flags));
            load_const(table + at * 8)
        }
    }
}
