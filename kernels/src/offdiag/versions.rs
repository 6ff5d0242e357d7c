//! The versions of the products, one idea each. All give the same bits.

use crate::offdiag::mma::{self, M16N8, ROWS};
use crate::offdiag::pipeline::{Tile, TileConfig};

#[derive(Debug)]
pub struct Version {
    pub id: &'static str,
    pub change: &'static str,
    /// The version before it.
    pub from: Option<&'static str>,
    /// Minimum compute capability.
    pub capability: f64,
    /// Whether operands are staged in shared memory.
    pub is_pipelined: bool,
    /// Whether an item may end within a warp's tile.
    pub splits: bool,
    pub tile_u: Tile,
    pub tile_sigma: Tile,
    /// Symbols of U: of real poles and of complex ones, for `sch` and for `ssx`.
    pub symbols_u: [[&'static str; 2]; 2],
    pub symbol_sigma: &'static str,
    /// The kernels on the host, in the order of the symbols.
    #[cfg(not(target_arch = "nvptx64"))]
    pub run_u: [[unsafe fn(&crate::offdiag::product::ProductU); 2]; 2],
    #[cfg(not(target_arch = "nvptx64"))]
    pub run_sigma: unsafe fn(&crate::offdiag::product::ProductSigma),
}

impl Version {
    /// Fragments of l that a band n takes for so many bands l.
    pub fn fragments(&self, bands: usize) -> usize {
        let (needed, tile) = (bands.div_ceil(ROWS as usize), self.tile_u.m as usize);
        // A warp's tile holds an item or two.
        if self.splits { needed.max(tile - 1) } else { needed.next_multiple_of(tile) }
    }

    /// Bytes of shared memory of a block of a tile, with so many words in an element of B.
    pub const fn shared(&self, tile: Tile, words: u32) -> u32 {
        if self.is_pipelined { tile.stages(words).bytes() } else { 0 }
    }

    /// Symbols with the threads of a block.
    pub fn kernels(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let first =
            self.symbols_u.into_iter().flatten().map(|symbol| (symbol, self.tile_u.threads()));
        first.chain([(self.symbol_sigma, self.tile_sigma.threads())])
    }
}

/// A version, its entries, and its kernels on the host.
macro_rules! version {
    (
        $config:ident, $id:literal, $change:literal, from $from:expr, capability $capability:literal;
        $hole:ident $exchange:ident $complex_hole:ident $complex_exchange:ident $second:ident
    ) => {
        const _: () = {
            use $crate::offdiag::pipeline::TileConfig;
            // What a version's fragments of l are a multiple of: see `Version::fragments`.
            let multiple = if $config::SPLITS { 1 } else { $config::TILE_U.m };
            assert!(multiple.is_multiple_of($config::TILE_SIGMA.a_fragments()));
            // k-tiles of U are whole tiles of the first product.
            assert!($config::TILE_U.b_fragments().is_multiple_of($config::TILE_SIGMA.k_tiles));
            // Of the stages one is consumed, one is released, and others are produced.
            let (u, sigma) = ($config::TILE_U, $config::TILE_SIGMA);
            let few = u.stages(3).count < 3 || u.stages(4).count < 3 || sigma.stages(2).count < 3;
            assert!(!$config::PIPELINED || !few);
        };

        pub static VERSION: $crate::offdiag::versions::Version = {
            use $crate::offdiag::pipeline::TileConfig;
            use $crate::offdiag::versions::Version;
            Version {
                id: $id,
                change: $change,
                from: $from,
                capability: $capability,
                is_pipelined: $config::PIPELINED,
                splits: $config::SPLITS,
                tile_u: $config::TILE_U,
                tile_sigma: $config::TILE_SIGMA,
                symbols_u: [
                    [stringify!($hole), stringify!($exchange)],
                    [stringify!($complex_hole), stringify!($complex_exchange)],
                ],
                symbol_sigma: stringify!($second),
                #[cfg(not(target_arch = "nvptx64"))]
                run_u: {
                    use $crate::offdiag::product::ProductU;
                    use $crate::offdiag::poles::{ComplexSsx, ComplexSch, Ssx, Sch};
                    const M: usize = $config::TILE_U.m as usize;
                    const N: usize = $config::TILE_U.n as usize;
                    const K: usize = $config::TILE_U.k_tiles as usize;
                    [
                        [
                            ProductU::run::<$config, Sch, 3, M, N, K>,
                            ProductU::run::<$config, Ssx<true>, 3, M, N, K>,
                        ],
                        [
                            ProductU::run::<$config, ComplexSch, 4, M, N, K>,
                            ProductU::run::<$config, ComplexSsx<true>, 4, M, N, K>,
                        ],
                    ]
                },
                #[cfg(not(target_arch = "nvptx64"))]
                run_sigma: $crate::offdiag::product::ProductSigma::run::<
                    $config,
                    { $config::TILE_SIGMA.m as usize },
                    { $config::TILE_SIGMA.n as usize },
                    { $config::TILE_SIGMA.k_tiles as usize },
                >,
            }
        };

        entry_u! { $config $hole Sch, 3 }
        entry_u! { $config $exchange Ssx<true>, 3 }
        entry_u! { $config $complex_hole ComplexSch, 4 }
        entry_u! { $config $complex_exchange ComplexSsx<true>, 4 }
        $crate::offdiag::product::arguments_sigma! { entry [$second $crate::offdiag::product::ProductSigma, |arguments| {
            use $crate::offdiag::pipeline::TileConfig;
            const M: usize = $config::TILE_SIGMA.m as usize;
            const N: usize = $config::TILE_SIGMA.n as usize;
            const K: usize = $config::TILE_SIGMA.k_tiles as usize;
            arguments.block::<$config, M, N, K>()
        }] }
    };
}

/// An entry of U.
macro_rules! entry_u {
    ($config:ident $symbol:ident $make:ty, $words:literal) => {
        $crate::offdiag::product::arguments_u! { entry [$symbol $crate::offdiag::product::ProductU, |arguments| {
            use $crate::offdiag::poles::*;
            use $crate::offdiag::pipeline::TileConfig;
            const M: usize = $config::TILE_U.m as usize;
            const N: usize = $config::TILE_U.n as usize;
            const K: usize = $config::TILE_U.k_tiles as usize;
            arguments.block::<$config, $make, $words, M, N, K>()
        }] }
    };
}

/// All, each after the one before it.
pub static ALL: [&Version; 6] = [
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

    use super::*;

    pub struct Vector;

    impl TileConfig for Vector {
        type Instruction = mma::Vector;
        const TILE_U: Tile = Tile { m: 1, n: 2, warps_m: 2, warps_n: 2, k_tiles: 1 };
        const TILE_SIGMA: Tile = Tile { m: 1, n: 2, warps_m: 1, warps_n: 4, k_tiles: 1 };
        const SPLITS: bool = false;
        const PIPELINED: bool = false;
    }

    version! {
        Vector, "vector", "P made in registers, FMAs of vectors", from None, capability 7.0;
        gpp_offdiag_vector_hole gpp_offdiag_vector_exchange
        gpp_offdiag_vector_complex_hole gpp_offdiag_vector_complex_exchange
        gpp_offdiag_vector_second
    }
}

pub mod m8n8k4 {
    //! m8n8k4: the FP64 matrix instruction of the Ampere generation.
    //!
    //! P is made in the registers where the instruction wants it, so that no lane asks another.
    //! It is the version for compute capability 8.0.

    use super::*;

    pub struct M8N8K4;

    impl TileConfig for M8N8K4 {
        type Instruction = mma::M8N8K4;
        const TILE_U: Tile = Tile { m: 2, n: 2, warps_m: 1, warps_n: 4, k_tiles: 1 };
        const TILE_SIGMA: Tile = Tile { m: 1, n: 2, warps_m: 1, warps_n: 4, k_tiles: 1 };
        const SPLITS: bool = true;
        const PIPELINED: bool = false;
    }

    version! {
        M8N8K4, "m8n8k4", "the matrix instruction of sm_80", from Some("vector"), capability 8.0;
        gpp_offdiag_m8n8k4_hole gpp_offdiag_m8n8k4_exchange
        gpp_offdiag_m8n8k4_complex_hole gpp_offdiag_m8n8k4_complex_exchange
        gpp_offdiag_m8n8k4_second
    }
}

pub mod m16n8k8 {
    //! m16n8k8: the FP64 matrix instruction of the Hopper generation, as much in one as in four before.
    //!
    //! Operands come from L1, where each warp reads them on its own and waits for them.

    use super::*;

    pub struct M16N8K8;

    impl TileConfig for M16N8K8 {
        type Instruction = mma::M16N8;
        const TILE_U: Tile = Tile { m: 2, n: 2, warps_m: 1, warps_n: 4, k_tiles: 1 };
        const TILE_SIGMA: Tile = Tile { m: 1, n: 2, warps_m: 1, warps_n: 4, k_tiles: 1 };
        const SPLITS: bool = true;
        const PIPELINED: bool = false;
    }

    version! {
        M16N8K8, "m16n8k8", "the matrix instruction of sm_90", from Some("m8n8k4"), capability 9.0;
        gpp_offdiag_m16n8k8_hole gpp_offdiag_m16n8k8_exchange
        gpp_offdiag_m16n8k8_complex_hole gpp_offdiag_m16n8k8_complex_exchange
        gpp_offdiag_m16n8k8_second
    }
}

pub mod ring {
    //! Ring: bulk copies bring a block's operands to shared memory ahead of time, and the tile is 96 l by 64 igp.
    //!
    //! No warp waits for memory, and each element of A is read once a block. A warp whose l are of two bands n makes P
    //! twice.

    use super::*;

    pub struct Ring;

    impl TileConfig for Ring {
        type Instruction = M16N8;
        const TILE_U: Tile = Tile { m: 3, n: 2, warps_m: 2, warps_n: 4, k_tiles: 1 };
        const TILE_SIGMA: Tile = Tile { m: 1, n: 2, warps_m: 1, warps_n: 4, k_tiles: 1 };
        const SPLITS: bool = true;
        const PIPELINED: bool = true;
    }

    version! {
        Ring, "ring", "bulk copies ahead of time, tiles of 96 l", from Some("m16n8k8"), capability 9.0;
        gpp_offdiag_ring_hole gpp_offdiag_ring_exchange
        gpp_offdiag_ring_complex_hole gpp_offdiag_ring_complex_exchange
        gpp_offdiag_ring_second
    }
}

pub mod m16n8k16 {
    //! m16n8k16: a matrix instruction twice as deep, which reads and writes the sums half as often.
    //!
    //! A warp makes P of 16 ig before their products. The tile is that of `ring`: of 128 l the sums and twice as many
    //! operands would not fit into the registers. P of two bands n would not either: bands are filled up to a multiple of 48.

    use super::*;

    pub struct M16N8K16;

    impl TileConfig for M16N8K16 {
        type Instruction = M16N8;
        const TILE_U: Tile = Tile { m: 3, n: 2, warps_m: 2, warps_n: 4, k_tiles: 2 };
        const TILE_SIGMA: Tile = Tile { m: 1, n: 2, warps_m: 1, warps_n: 4, k_tiles: 1 };
        const SPLITS: bool = false;
        const PIPELINED: bool = true;
    }

    version! {
        M16N8K16, "m16n8k16", "a matrix instruction twice as deep", from Some("ring"), capability 9.0;
        gpp_offdiag_m16n8k16_hole gpp_offdiag_m16n8k16_exchange
        gpp_offdiag_m16n8k16_complex_hole gpp_offdiag_m16n8k16_complex_exchange
        gpp_offdiag_m16n8k16_second
    }
}

pub mod wide {
    //! Wide: a tile of 128 l by 64 igp, so that an element of P serves 64 l instead of 48.
    //!
    //! The sums take 192 of 255 registers. A warp's l are of one band n: bands are filled up to a multiple of 64. So it is
    //! for numbers of bands that fill it.

    use super::*;

    pub struct Wide;

    impl TileConfig for Wide {
        type Instruction = M16N8;
        const TILE_U: Tile = Tile { m: 4, n: 2, warps_m: 2, warps_n: 4, k_tiles: 1 };
        const TILE_SIGMA: Tile = Tile { m: 2, n: 2, warps_m: 2, warps_n: 4, k_tiles: 1 };
        const SPLITS: bool = false;
        const PIPELINED: bool = true;
    }

    version! {
        Wide, "wide", "tiles of 128 l", from Some("ring"), capability 9.0;
        gpp_offdiag_wide_hole gpp_offdiag_wide_exchange
        gpp_offdiag_wide_complex_hole gpp_offdiag_wide_complex_exchange
        gpp_offdiag_wide_second
    }
}
