//! Any number of energies.

use crate::arrays::Layout;
use crate::entries::entries;
use crate::kernel::{Energies, Kernel, Loops};
use crate::plan::{EnergiesFrom, Poles};
use crate::sigma::{BANDS, Disc, Interval, MAX_ENERGIES, complex, real};

pub mod blocks {
    //! sigma:blocks: pairs sorted by their poles into clusters, whose moments give the sums at every energy.
    //!
    //! All versions before take a term for each energy. Whatever the energy, a term is `c·M` times a function of
    //! the pole and of `w`, and for pairs whose poles lie close together that function is one and the same
    //! polynomial: sums of `c·M` times a few powers of the pole, taken once for a band, give the sums at any
    //! number of energies. A block's threads share them: for real poles of intervals ([`crate::sigma::real`]), for
    //! others of discs ([`crate::sigma::complex`]).
    //!
    //! Lines of the nest: 1, 2, 3, 4, 6, 7, 8, 10.

    use super::*;

    version! {
        id: "sigma:blocks", change: "sorted pairs: moments for all energies",
        source: "docs/many-energies.md", kernels: [REAL, ANY]
    }

    pub const REAL: Kernel = Kernel {
        poles: Poles::Real,
        loops: Loops::Clusters(real::BLOCKS),
        energies: Energies::UpTo(MAX_ENERGIES),
        energies_from: EnergiesFrom::Arrays,
        layout: Layout::Clusters,
        threads: BANDS,
        max_registers: Some(128),
        flops_per_term: None,
        entries: entries!(clusters Interval: gpp_sigma_blocks_real),
    };

    pub const ANY: Kernel = Kernel {
        poles: Poles::Any,
        loops: Loops::Clusters(complex::BLOCKS),
        // With a cap of 168 registers, for six blocks, ptxas spills; without one four blocks fit.
        max_registers: None,
        entries: entries!(clusters Disc: gpp_sigma_blocks_any),
        ..REAL
    };
}
