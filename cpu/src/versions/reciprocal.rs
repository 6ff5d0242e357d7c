//! cpu:reciprocal: no division.
//!
//! Where the instruction set has an approximate reciprocal of FP64 numbers (AVX-512, 64-bit ARM), a division
//! is that and a few fused corrections, which lose no accuracy; AVX2 has none and goes on dividing (the
//! talk's fourth step, "Improved vectorization (divides)").
//!
//! Lines of the nest: 6, 7, 8.

use gpp_kernels::kernel::Version;

use super::blocked::{self, Blocks};
use crate::version::{Cpu, Kernel};

/// What it is.
pub static VERSION: Version = Version {
    id: "cpu:reciprocal",
    change: "approximate reciprocals, corrected, for divisions",
    source: "talk, processors, step 4",
};

/// How a processor does it.
pub static CPU: Cpu =
    Cpu { version: &VERSION, kernels: &[Kernel::of::<Blocks<true>>()], ..blocked::CPU };
