//! m8n8k4: the FP64 matrix instruction of the Ampere generation.
//!
//! P is made in the registers where the instruction wants it, so that no lane asks another.
//! It is the version for compute capability 8.0.

use crate::offdiag::fragment;
use crate::offdiag::tile::Tile;
use crate::offdiag::version::version;
use crate::offdiag::way::Way;

/// See the module.
pub struct M8N8K4;

impl Way for M8N8K4 {
    type Instruction = fragment::M8N8K4;
    const FIRST: Tile = Tile { m: 2, n: 2, across: 1, along: 4, deep: 1 };
    const SECOND: Tile = Tile { m: 1, n: 2, across: 1, along: 4, deep: 1 };
    const SPLITS: bool = true;
}

version! {
    M8N8K4, "m8n8k4", "the matrix instruction of sm_80", from Some("vector"), capability 8.0, ring false;
    gpp_offdiag_m8n8k4_hole gpp_offdiag_m8n8k4_exchange
    gpp_offdiag_m8n8k4_complex_hole gpp_offdiag_m8n8k4_complex_exchange
    gpp_offdiag_m8n8k4_second
}
