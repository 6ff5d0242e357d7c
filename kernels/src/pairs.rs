//! Pairs with their poles, and those next to each other that are summed together.

use num_complex::Complex64;

use crate::intrinsics::load;

/// Pairs of a part at most.
pub const PAIRS: u32 = 4096;

/// A pair with its pole: a real one, or any where `W` is complex.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Pole<W = f64> {
    /// ω̃ in eV.
    pub wtilde: W,
    /// Its G.
    pub ig: u32,
    /// Its G′.
    pub igp: u32,
    /// `δ − ε⁻¹`.
    pub eps: Complex64,
}

impl Pole {
    /// Number `at` of all, by two loads.
    ///
    /// # Safety
    /// There are more than `at`, fewer than 2³¹, aligned to 16 bytes on the GPU.
    #[inline(always)]
    pub unsafe fn read(poles: *const Pole, at: u32) -> Pole {
        let halves: *const Complex64 = poles.cast();
        // A pole is as long as two complex numbers.
        let [first, eps] = [load(halves, 2 * at), load(halves, 2 * at + 1)];
        // Both are little-endian, the GPU and the host that emulates it.
        let indices = first.im.to_bits();
        Pole { wtilde: first.re, ig: indices as u32, igp: (indices >> 32) as u32, eps }
    }
}

impl Pole<Complex64> {
    /// Number `at` of all.
    ///
    /// # Safety
    /// There are more than `at`.
    #[inline(always)]
    pub unsafe fn read_any(poles: *const Pole<Complex64>, at: u32) -> Pole<Complex64> {
        *poles.add(at as usize)
    }
}

const _: () = assert!(cfg!(target_endian = "little"), "indices of pairs are read as one number");

/// Pairs next to each other, of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Part {
    /// No pole of the cell is below, in eV; not a number where all are summed one by one.
    pub low: f64,
    /// No pole of the cell is above.
    pub high: f64,
    /// The first pair.
    pub begin: u32,
    /// Behind the last one.
    pub end: u32,
}

impl Part {
    /// The middle of its cell and half its width.
    #[inline(always)]
    pub fn middle(&self) -> (f64, f64) {
        (0.5 * (self.low + self.high), 0.5 * (self.high - self.low))
    }

    /// Number `at` of all.
    ///
    /// # Safety
    /// There are more than `at`.
    #[inline(always)]
    pub unsafe fn read(parts: *const Part, at: u32) -> Part {
        *parts.add(at as usize)
    }
}

/// Pairs next to each other whose poles lie in a disc of the complex plane.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Disc {
    /// Its middle, in eV.
    pub middle: Complex64,
    /// Its radius, above zero; not a number where all are summed one by one.
    pub radius: f64,
    /// The first pair.
    pub begin: u32,
    /// Behind the last one.
    pub end: u32,
}

impl Disc {
    /// Number `at` of all.
    ///
    /// # Safety
    /// There are more than `at`.
    #[inline(always)]
    pub unsafe fn read(parts: *const Disc, at: u32) -> Disc {
        *parts.add(at as usize)
    }
}
