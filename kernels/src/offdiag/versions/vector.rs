//! Vector: P is made in registers and multiplied by ordinary FMAs.
//!
//! A lane holds parts of rows and columns only, as the matrix instruction wants it, so it asks the others for the rest.
//! These shuffles take four times as long as the arithmetic. It runs on any GPU.

use crate::offdiag::fragment;
use crate::offdiag::tile::Tile;
use crate::offdiag::version::version;
use crate::offdiag::way::Way;

/// See the module.
pub struct Vector;

impl Way for Vector {
    type Instruction = fragment::Vector;
    const FIRST: Tile = Tile { m: 1, n: 2, across: 2, along: 2, deep: 1 };
    const SECOND: Tile = Tile { m: 1, n: 2, across: 1, along: 4, deep: 1 };
    const SPLITS: bool = false;
}

version! {
    Vector, "vector", "P made in registers, FMAs of vectors", from None, capability 7.0, ring false;
    gpp_offdiag_vector_hole gpp_offdiag_vector_exchange
    gpp_offdiag_vector_complex_hole gpp_offdiag_vector_complex_exchange
    gpp_offdiag_vector_second
}
