//! Any number of energies.

use crate::cells::{BANDS, BLOCKS, HOLDS};
use crate::discs;
use crate::entries::entries;
use crate::kernel::{Energies, Kernel, Loops};
use crate::layout::Layout;
use crate::plan::{EnergiesFrom, Poles};

pub mod blocks {
    //! sigma:blocks: pairs sorted by their poles, whose moments tell the sums at every energy.
    //!
    //! All versions before take a term for each energy. Whatever the energy, a term is `c·M` times a function of
    //! the pole and of `w`, and for pairs whose poles lie close together that function is one and the same
    //! polynomial: sums of `c·M` times a few powers of the pole, taken once for a band, give the sums at any
    //! number of energies. A block's threads share them: for real poles of cells between two bounds
    //! ([`crate::cells`]), for others of discs ([`crate::discs`]).
    //!
    //! Lines of the nest: 1, 2, 3, 4, 6, 7, 8, 10.

    use super::*;
    use crate::versions::v3;

    version! {
        id: "sigma:blocks", change: "sorted pairs: moments for all energies",
        source: "docs/many-energies.md", kernels: [REAL, ANY]
    }

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

    pub const ANY: Kernel = Kernel {
        poles: Poles::Any,
        loops: Loops::Cells(discs::BLOCKS),
        // With a cap of 168, what six blocks find room with, ptxas spills; with what it takes by itself four do.
        max_registers: None,
        entries: entries!(discs v3::term: gpp_sigma_blocks_any),
        ..REAL
    };
}
