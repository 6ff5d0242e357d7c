//! Σ as a matrix: kernels for `SX_lm` and `CH_lm` of many bands l, m at once, most on FP64 matrix instructions.
//!
//! With `A_l(ig,n)` the matrix elements of band l, `w = E − e(n)`, and `P(ig,igp)` either `ssx` or `sch` at `w`
//! (see [`crate::formula`]):
//!
//! ```text
//! U(l,igp)  = Σ_ig  A_l(ig,n) · P(ig,igp)                          nearly all of the work
//! Σ(l,m)   += Σ_igp U(l,igp) · V(igp,m)     V = vcoul · conj(A_m(igp,n))
//! ```
//!
//! An *item* is one P: a band n, an energy and an [`ItemKind`]. P is never stored: a warp makes the elements
//! of its next product in the registers in which the matrix instruction wants them. On the CPU a warp is all of its
//! lanes at once, so that tests run this source.
//!
//! - [`product`]: the kernels of both products and their main loop.
//! - [`pipeline`]: the tile of a block, and stages of operands in shared memory, with producers and consumers.
//! - [`poles`]: the elements of P.
//! - [`mma`]: which lane holds which element, and the instruction.
//! - [`pack`]: packed operands, and the kernels besides the products.

pub mod mma;
pub mod pack;
pub mod pipeline;
pub mod poles;
pub mod product;

use mma::ROWS;
use pack::{FallbackPairs, Fold, PackV, THREADS};
use pipeline::{BlockTile, TileConfig};
use poles::{ComplexOccupied, ComplexSch, ComplexSsx, Occupied, Sch, Ssx};
use product::{ProductSigma, ProductU};

/// What P is. For Σ alone a fully occupied band takes one item instead of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// `sch`.
    Hole,
    /// `ssx`.
    Exchange,
    /// `sch − 2·ssx`.
    Occupied,
}

impl ItemKind {
    pub const ALL: [ItemKind; 3] = [ItemKind::Hole, ItemKind::Exchange, ItemKind::Occupied];
}

/// Symbols of all kernels, with the threads of a block.
pub fn symbols() -> impl Iterator<Item = (&'static str, u32)> {
    let common = [FallbackPairs::SYMBOL, PackV::SYMBOL, Fold::SYMBOL].map(|own| (own, THREADS));
    ALL.into_iter().flat_map(MatrixVersion::kernels).chain(common)
}

/// A version of the products, of one idea. All give the same bits.
#[derive(Debug)]
pub struct MatrixVersion {
    pub id: &'static str,
    pub change: &'static str,
    pub from: Option<&'static str>,
    pub capability: (u32, u32),
    /// Whether operands are staged in shared memory.
    pub is_pipelined: bool,
    /// Whether an item may end within a warp's tile.
    pub splits: bool,
    pub tile_u: BlockTile,
    pub tile_sigma: BlockTile,
    /// Symbols of U: of real poles and of complex ones, for each [`ItemKind`].
    pub symbols_u: [[&'static str; 3]; 2],
    pub symbol_sigma: &'static str,
    /// A warp of a block of each kernel on the CPU, by the numbers of both, in the order of the symbols.
    #[cfg(not(target_arch = "nvptx64"))]
    pub warp_u: [[unsafe fn(&ProductU, u32, u32); 3]; 2],
    #[cfg(not(target_arch = "nvptx64"))]
    pub warp_sigma: unsafe fn(&ProductSigma, u32, u32),
}

impl MatrixVersion {
    /// Fragments of l that a band n takes for so many bands l.
    pub fn fragments(&self, bands: usize) -> usize {
        let (needed, tile) = (bands.div_ceil(ROWS as usize), self.tile_u.m as usize);
        // A warp's tile holds an item or two.
        if self.splits { needed.max(tile - 1) } else { needed.next_multiple_of(tile) }
    }

    /// Bytes of shared memory of a block of a tile, with so many words in an element of B.
    pub const fn shared(&self, tile: BlockTile, words: u32) -> u32 {
        if self.is_pipelined { tile.stages(words).bytes() } else { 0 }
    }

    pub fn kernels(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let first =
            self.symbols_u.into_iter().flatten().map(|symbol| (symbol, self.tile_u.threads()));
        first.chain([(self.symbol_sigma, self.tile_sigma.threads())])
    }
}

/// Fails to compile if the tiles of a version do not go together.
const fn check<W: TileConfig>() {
    let (u, sigma) = (W::TILE_U, W::TILE_SIGMA);
    // What a version's fragments of l are a multiple of: see `MatrixVersion::fragments`.
    let multiple = if W::SPLITS { 1 } else { u.m };
    assert!(multiple.is_multiple_of(sigma.a_fragments()));
    // k-tiles of U are whole tiles of the first product.
    assert!(u.b_fragments().is_multiple_of(sigma.k_tiles));
    // Of the stages one is consumed, one is released, and others are produced.
    let few = u.stages(3).count < 3 || u.stages(4).count < 3 || sigma.stages(2).count < 3;
    assert!(!W::PIPELINED || !few);
}

macro_rules! pipeline {
    (true) => {
        pipeline::Staged
    };
    (false) => {
        pipeline::Direct
    };
}

/// A version, its entries, and its kernels on the CPU. Tiles are `m`, `n` and `k_tiles`, then warps.
macro_rules! version {
    (
        $id:literal, $change:literal, from $from:expr, capability $capability:expr;
        instruction $instruction:ty, pipelined $pipelined:tt, splits $splits:literal;
        tile_u { m: $um:literal, n: $un:literal, k_tiles: $uk:literal, $($u_warps:tt)* }
        tile_sigma { m: $sm:literal, n: $sn:literal, k_tiles: $sk:literal, $($s_warps:tt)* }
    ) => {
        use super::*;

        pub struct Config;

        impl TileConfig for Config {
            type Instruction = $instruction;
            type Pipeline = pipeline!($pipelined);
            const TILE_U: BlockTile = BlockTile { m: $um, n: $un, k_tiles: $uk, $($u_warps)* };
            const TILE_SIGMA: BlockTile = BlockTile { m: $sm, n: $sn, k_tiles: $sk, $($s_warps)* };
            const SPLITS: bool = $splits;
            const PIPELINED: bool = $pipelined;
        }

        pub static VERSION: MatrixVersion = MatrixVersion {
            id: $id,
            change: $change,
            from: $from,
            capability: $capability,
            is_pipelined: $pipelined,
            splits: $splits,
            tile_u: Config::TILE_U,
            tile_sigma: Config::TILE_SIGMA,
            symbols_u: [
                [symbol!($id hole), symbol!($id exchange), symbol!($id occupied)],
                [
                    symbol!($id complex_hole),
                    symbol!($id complex_exchange),
                    symbol!($id complex_occupied),
                ],
            ],
            symbol_sigma: symbol!($id second),
            #[cfg(not(target_arch = "nvptx64"))]
            warp_u: [
                [
                    ProductU::warp::<Config, Sch, 3, $um, $un, $uk>,
                    ProductU::warp::<Config, Ssx<true>, 3, $um, $un, $uk>,
                    ProductU::warp::<Config, Occupied<true>, 3, $um, $un, $uk>,
                ],
                [
                    ProductU::warp::<Config, ComplexSch, 4, $um, $un, $uk>,
                    ProductU::warp::<Config, ComplexSsx<true>, 4, $um, $un, $uk>,
                    ProductU::warp::<Config, ComplexOccupied<true>, 4, $um, $un, $uk>,
                ],
            ],
            #[cfg(not(target_arch = "nvptx64"))]
            warp_sigma: ProductSigma::warp::<Config, $sm, $sn, $sk>,
        };

        const _: () = check::<Config>();

        product! { arguments_u $id hole: ProductU<Sch, 3, $um, $un, $uk> }
        product! { arguments_u $id exchange: ProductU<Ssx<true>, 3, $um, $un, $uk> }
        product! { arguments_u $id occupied: ProductU<Occupied<true>, 3, $um, $un, $uk> }
        product! { arguments_u $id complex_hole: ProductU<ComplexSch, 4, $um, $un, $uk> }
        product! { arguments_u $id complex_exchange: ProductU<ComplexSsx<true>, 4, $um, $un, $uk> }
        product! { arguments_u $id complex_occupied: ProductU<ComplexOccupied<true>, 4, $um, $un, $uk> }
        product! { arguments_sigma $id second: ProductSigma<$sm, $sn, $sk> }
    };
}

/// The symbol of a kernel of a version.
macro_rules! symbol {
    ($id:literal $of:ident) => {
        concat!("gpp_offdiag_", $id, "_", stringify!($of))
    };
}

/// An entry of a product: all warps of a block, see [`mma::warp`].
macro_rules! product {
    ($list:ident $id:literal $of:ident: $product:ident<$($generics:tt)*) => {
        $crate::offdiag::product::$list! { entry [$of symbol!($id $of), $product, |arguments| {
            $product::warp::<Config, $($generics)*(&arguments, $crate::intrinsics::block(), 0)
        }] }
    };
}

/// All, each after the one before it.
pub static ALL: [&MatrixVersion; 6] = [
    &vector::VERSION,
    &m8n8k4::VERSION,
    &m16n8k8::VERSION,
    &ring::VERSION,
    &m16n8k16::VERSION,
    &wide::VERSION,
];

pub mod vector {
    //! Vector: P is made in registers and multiplied by ordinary FMAs.
    //!
    //! A lane holds parts of rows and columns only, as the matrix instruction wants it, so it asks the others for the rest.
    //! These shuffles take four times as long as the arithmetic. It runs on any GPU.

    version! {
        "vector", "P computed in registers, FMAs on CUDA cores", from None, capability (7, 0);
        instruction mma::Vector, pipelined false, splits false;
        tile_u { m: 1, n: 2, k_tiles: 1, warps_m: 2, warps_n: 2 }
        tile_sigma { m: 1, n: 2, k_tiles: 1, warps_m: 1, warps_n: 4 }
    }
}

pub mod m8n8k4 {
    //! m8n8k4: the FP64 matrix instruction of the Ampere generation.
    //!
    //! P is made in the registers where the instruction wants it, so that no lane asks another.
    //! It is the version for compute capability 8.0.

    version! {
        "m8n8k4", "the FP64 matrix instruction of sm_80", from Some("vector"), capability (8, 0);
        instruction mma::M8N8K4, pipelined false, splits true;
        tile_u { m: 2, n: 2, k_tiles: 1, warps_m: 1, warps_n: 4 }
        tile_sigma { m: 1, n: 2, k_tiles: 1, warps_m: 1, warps_n: 4 }
    }
}

pub mod m16n8k8 {
    //! m16n8k8: the FP64 matrix instruction of the Hopper generation, as much in one as in four before.
    //!
    //! Operands come from L1, where each warp reads them on its own and waits for them.

    version! {
        "m16n8k8", "the FP64 matrix instruction of sm_90", from Some("m8n8k4"), capability (9, 0);
        instruction mma::M16N8, pipelined false, splits true;
        tile_u { m: 2, n: 2, k_tiles: 1, warps_m: 1, warps_n: 4 }
        tile_sigma { m: 1, n: 2, k_tiles: 1, warps_m: 1, warps_n: 4 }
    }
}

pub mod ring {
    //! Ring: bulk copies bring a block's operands to shared memory ahead of time, and the tile is 96 l by 64 igp.
    //!
    //! No warp waits for memory, and each element of A is read once a block. A warp whose l are of two bands n makes P
    //! twice.

    version! {
        "ring", "asynchronous copies to shared memory, tiles of 96 bands l", from Some("m16n8k8"), capability (9, 0);
        instruction mma::M16N8, pipelined true, splits true;
        tile_u { m: 3, n: 2, k_tiles: 1, warps_m: 2, warps_n: 4 }
        tile_sigma { m: 1, n: 2, k_tiles: 1, warps_m: 1, warps_n: 4 }
    }
}

pub mod m16n8k16 {
    //! m16n8k16: a matrix instruction twice as deep, which reads and writes the sums half as often.
    //!
    //! A warp makes P of 16 ig before their products. The tile is that of `ring`: of 128 l the sums and twice as many
    //! operands would not fit into the registers. P of two bands n would not either: bands are filled up to a multiple of 48.

    version! {
        "m16n8k16", "a matrix instruction twice as deep", from Some("ring"), capability (9, 0);
        instruction mma::M16N8, pipelined true, splits false;
        tile_u { m: 3, n: 2, k_tiles: 2, warps_m: 2, warps_n: 4 }
        tile_sigma { m: 1, n: 2, k_tiles: 1, warps_m: 1, warps_n: 4 }
    }
}

pub mod wide {
    //! Wide: a tile of 128 l by 64 igp, so that an element of P serves 64 l instead of 48.
    //!
    //! The sums take 192 of 255 registers. A warp's l are of one band n: bands are filled up to a multiple of 64. So it is
    //! for numbers of bands that fill it.

    version! {
        "wide", "tiles of 128 bands l", from Some("ring"), capability (9, 0);
        instruction mma::M16N8, pipelined true, splits false;
        tile_u { m: 4, n: 2, k_tiles: 1, warps_m: 2, warps_n: 4 }
        tile_sigma { m: 2, n: 2, k_tiles: 1, warps_m: 2, warps_n: 4 }
    }
}
