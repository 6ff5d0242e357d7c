//! sigma:blocks: pairs sorted by their poles, whose moments tell the sums at every energy.
//!
//! All versions before take a term for each energy. Whatever the energy, a term is `c·M` times a function of
//! the pole and of `w`, and for pairs whose poles lie close together that function is one and the same
//! polynomial: sums of `c·M` times a few powers of the pole, taken once for a band, give the sums at any
//! number of energies. A block's threads share them: for real poles of cells between two bounds
//! ([`crate::cells`]), for others of discs ([`crate::discs`]).
//!
//! Lines of the nest: 1, 2, 3, 4, 6, 7, 8, 10.

use super::super::v3;
use crate::cells::{BANDS, BLOCKS, HOLDS};
use crate::discs;
use crate::entries::entries;
use crate::kernel::{Energies, Gpu, Kernel, Loops, Version};
use crate::layout::Layout;
use crate::plan::Poles;
use crate::table::EnergiesFrom;

/// What it is.
pub static VERSION: Version = Version {
    id: "sigma:blocks",
    change: "sorted pairs: moments for all energies",
    source: "docs/many-energies.md",
};

/// How a GPU does it.
pub static GPU: Gpu = Gpu { version: &VERSION, kernels: &[REAL, ANY], beyond: None };

/// For purely real poles.
pub const REAL: Kernel = Kernel {
    poles: Poles::Real,
    loops: Loops::Cells(BLOCKS),
    energies: Energies::UpTo(HOLDS),
    energies_from: EnergiesFrom::Arrays,
    layout: Layout::Cells,
    threads: BANDS,
    max_registers: Some(128),
    flops_per_term: None,
    entries: entries!(cells v3::term: gpp_sigma_blocks_real),
};

/// For any poles.
pub const ANY: Kernel = Kernel {
    poles: Poles::Any,
    loops: Loops::Cells(discs::BLOCKS),
    // With a cap of 168, what six blocks find room with, ptxas spills; with what it takes by itself four do.
    max_registers: None,
    entries: entries!(discs v3::term: gpp_sigma_blocks_any),
    ..REAL
};
