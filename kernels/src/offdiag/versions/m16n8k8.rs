//! m16n8k8: the FP64 matrix instruction of the Hopper generation, as much in one as in four before.
//!
//! Operands come from L1, where each warp reads them on its own and waits for them.

use crate::offdiag::fragment;
use crate::offdiag::tile::Tile;
use crate::offdiag::version::version;
use crate::offdiag::way::Way;

/// See the module.
pub struct M16N8K8;

impl Way for M16N8K8 {
    type Instruction = fragment::M16N8;
    const FIRST: Tile = Tile { m: 2, n: 2, across: 1, along: 4, deep: 1 };
    const SECOND: Tile = Tile { m: 1, n: 2, across: 1, along: 4, deep: 1 };
    const SPLITS: bool = true;
}

version! {
    M16N8K8, "m16n8k8", "the matrix instruction of sm_90", from Some("m8n8k4"), capability 9.0, ring false;
    gpp_offdiag_m16n8k8_hole gpp_offdiag_m16n8k8_exchange
    gpp_offdiag_m16n8k8_complex_hole gpp_offdiag_m16n8k8_complex_exchange
    gpp_offdiag_m16n8k8_second
}
