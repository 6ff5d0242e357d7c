//! A version of the products: its kernels, and what launches have to know of them.

use crate::intrinsics::WARP;
use crate::offdiag::fragment::{self, Instruction, M16N8, ROWS};
#[cfg(target_arch = "nvptx64")]
use crate::offdiag::image::Rows;
use crate::offdiag::stages::Extent;
#[cfg(target_arch = "nvptx64")]
use crate::offdiag::stages::{InPlace, Stages};

#[derive(Debug)]
pub struct Version {
    pub id: &'static str,
    pub change: &'static str,
    /// The version that it is made from.
    pub from: Option<&'static str>,
    /// The least compute capability.
    pub capability: f64,
    /// Whether operands come through a ring in shared memory.
    pub has_ring: bool,
    /// Whether an item may end within a warp's tile.
    pub splits: bool,
    pub first: Tile,
    pub second: Tile,
    /// Symbols of the first product: of real poles and of complex ones, for `sch` and for `ssx`.
    pub symbols: [[&'static str; 2]; 2],
    pub second_symbol: &'static str,
    /// The kernels on the host, in the order of the symbols: see [`First`](crate::offdiag::first::First).
    #[cfg(not(target_arch = "nvptx64"))]
    pub run: [[unsafe fn(&crate::offdiag::first::First); 2]; 2],
    #[cfg(not(target_arch = "nvptx64"))]
    pub run_second: unsafe fn(&crate::offdiag::second::Second),
}

impl Version {
    /// Left fragments that a band n takes where there are so many bands l.
    pub fn fragments(&self, bands: usize) -> usize {
        let (needed, tile) = (bands.div_ceil(ROWS as usize), self.first.m as usize);
        // A warp's tile holds an item or two.
        if self.splits { needed.max(tile - 1) } else { needed.next_multiple_of(tile) }
    }

    /// Bytes of shared memory of a block of a tile, of right images of so many words.
    pub const fn shared(&self, tile: Tile, words: u32) -> u32 {
        if self.has_ring { tile.extent(words).bytes() } else { 0 }
    }

    /// Symbols with the threads of a block.
    pub fn kernels(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let first = self.symbols.into_iter().flatten().map(|symbol| (symbol, self.first.threads()));
        first.chain([(self.second_symbol, self.second.threads())])
    }
}

/// A version, its entries, and its kernels on the host.
macro_rules! version {
    (
        $way:ident, $id:literal, $change:literal, from $from:expr, capability $capability:literal,
        ring $ring:literal;
        $hole:ident $exchange:ident $complex_hole:ident $complex_exchange:ident $second:ident
    ) => {
        const _: () = {
            use $crate::offdiag::versions::Way;
            // What a version's fragments of l are a multiple of: see `Version::fragments`.
            let multiple = if $way::SPLITS { 1 } else { $way::FIRST.m };
            assert!(multiple.is_multiple_of($way::SECOND.left()));
            // Steps of U are whole tiles of the first product.
            assert!($way::FIRST.right().is_multiple_of($way::SECOND.deep));
            // Of a ring's stages one is read, one let go, and others are on their way.
            let stages = [$way::FIRST.extent(3), $way::FIRST.extent(4), $way::SECOND.extent(2)];
            assert!(!$ring || stages[0].stages > 2 && stages[1].stages > 2 && stages[2].stages > 2);
        };

        pub static VERSION: $crate::offdiag::versions::Version = {
            use $crate::offdiag::versions::{Version, Way};
            Version {
                id: $id,
                change: $change,
                from: $from,
                capability: $capability,
                has_ring: $ring,
                splits: $way::SPLITS,
                first: $way::FIRST,
                second: $way::SECOND,
                symbols: [
                    [stringify!($hole), stringify!($exchange)],
                    [stringify!($complex_hole), stringify!($complex_exchange)],
                ],
                second_symbol: stringify!($second),
                #[cfg(not(target_arch = "nvptx64"))]
                run: {
                    use $crate::offdiag::first::First;
                    use $crate::offdiag::poles::{ComplexExchange, ComplexHole, Exchange, Hole};
                    const M: usize = $way::FIRST.m as usize;
                    const N: usize = $way::FIRST.n as usize;
                    const K: usize = $way::FIRST.deep as usize;
                    [
                        [
                            First::run::<$way, Hole, 3, M, N, K>,
                            First::run::<$way, Exchange<true>, 3, M, N, K>,
                        ],
                        [
                            First::run::<$way, ComplexHole, 4, M, N, K>,
                            First::run::<$way, ComplexExchange<true>, 4, M, N, K>,
                        ],
                    ]
                },
                #[cfg(not(target_arch = "nvptx64"))]
                run_second: $crate::offdiag::second::Second::run::<
                    $way,
                    { $way::SECOND.m as usize },
                    { $way::SECOND.n as usize },
                    { $way::SECOND.deep as usize },
                >,
            }
        };

        first! { $way $hole Hole, 3 }
        first! { $way $exchange Exchange<true>, 3 }
        first! { $way $complex_hole ComplexHole, 4 }
        first! { $way $complex_exchange ComplexExchange<true>, 4 }
        $crate::offdiag::second::list! { entry [$second $crate::offdiag::second::Second, |arguments| {
            use $crate::offdiag::versions::Way;
            const M: usize = $way::SECOND.m as usize;
            const N: usize = $way::SECOND.n as usize;
            const K: usize = $way::SECOND.deep as usize;
            arguments.block::<$way, M, N, K>()
        }] }
    };
}

/// An entry of the first product.
macro_rules! first {
    ($way:ident $symbol:ident $make:ty, $words:literal) => {
        $crate::offdiag::first::list! { entry [$symbol $crate::offdiag::first::First, |arguments| {
            use $crate::offdiag::poles::*;
            use $crate::offdiag::versions::Way;
            const M: usize = $way::FIRST.m as usize;
            const N: usize = $way::FIRST.n as usize;
            const K: usize = $way::FIRST.deep as usize;
            arguments.block::<$way, $make, $words, M, N, K>()
        }] }
    };
}

/// How a version multiplies: what its kernels are compiled with.
pub trait Way {
    /// How fragments are multiplied.
    type Instruction: Instruction;
    const FIRST: Tile;
    const SECOND: Tile;
    /// Whether an item may end within a warp's tile.
    const SPLITS: bool;

    /// How a block's operands come: read in place, if a version says nothing else.
    ///
    /// # Safety
    /// All threads of the block come here, once. The images of `rows` hold all steps, aligned to 16 bytes, in device
    /// memory; the block has the shared memory of [`Tile::extent`], if it has any.
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    unsafe fn stages(rows: Rows, tile: Tile, words: u32, steps: u32) -> impl Stages {
        let _ = (words, steps);
        InPlace::reading(rows, tile.deep)
    }
}

/// The tile of a block: fragments of a warp, and warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Fragments of 16 l of a warp.
    pub m: u32,
    /// Fragments of 8 igp of a warp.
    pub n: u32,
    /// Warps along l.
    pub across: u32,
    /// Warps along igp.
    pub along: u32,
    /// Steps of the images that a product takes at a time.
    pub deep: u32,
}

impl Tile {
    pub const fn warps(self) -> u32 {
        self.across * self.along
    }

    pub const fn threads(self) -> u32 {
        self.warps() * WARP
    }

    /// Where a warp is along l and along igp: a scheduler, which has every fourth warp, has all along l.
    #[inline(always)]
    pub const fn of_warp(self, warp: u32) -> (u32, u32) {
        (warp / self.along, warp % self.along)
    }

    pub const fn left(self) -> u32 {
        self.m * self.across
    }

    pub const fn right(self) -> u32 {
        self.n * self.along
    }

    /// What a stage holds, of right images of so many words.
    pub const fn extent(self, words: u32) -> Extent {
        Extent::filling(self.left(), self.right(), words, self.deep)
    }
}

// The versions of the products, one idea each. All give the same bits.

/// All, each after the one that it is made from.
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
}

pub mod m8n8k4 {
    //! m8n8k4: the FP64 matrix instruction of the Ampere generation.
    //!
    //! P is made in the registers where the instruction wants it, so that no lane asks another.
    //! It is the version for compute capability 8.0.

    use super::*;

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
}

pub mod m16n8k8 {
    //! m16n8k8: the FP64 matrix instruction of the Hopper generation, as much in one as in four before.
    //!
    //! Operands come from L1, where each warp reads them on its own and waits for them.

    use super::*;

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
}

pub mod ring {
    //! Ring: bulk copies bring a block's operands to shared memory ahead of time, and the tile is 96 l by 64 igp.
    //!
    //! No warp waits for memory, and each element of A is read once a block. A warp whose l are of two bands n makes P
    //! twice.

    use super::*;

    pub struct Ring;

    impl Way for Ring {
        type Instruction = M16N8;
        const FIRST: Tile = Tile { m: 3, n: 2, across: 2, along: 4, deep: 1 };
        const SECOND: Tile = Tile { m: 1, n: 2, across: 1, along: 4, deep: 1 };
        const SPLITS: bool = true;

        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        unsafe fn stages(rows: Rows, tile: Tile, words: u32, steps: u32) -> impl Stages {
            crate::offdiag::stages::ring::Ring::begun(rows, tile.extent(words), steps, tile.warps())
        }
    }

    version! {
        Ring, "ring", "bulk copies ahead of time, tiles of 96 l", from Some("m16n8k8"), capability 9.0, ring true;
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

    impl Way for M16N8K16 {
        type Instruction = M16N8;
        const FIRST: Tile = Tile { m: 3, n: 2, across: 2, along: 4, deep: 2 };
        const SECOND: Tile = Tile { m: 1, n: 2, across: 1, along: 4, deep: 1 };
        const SPLITS: bool = false;

        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        unsafe fn stages(rows: Rows, tile: Tile, words: u32, steps: u32) -> impl Stages {
            crate::offdiag::stages::ring::Ring::begun(rows, tile.extent(words), steps, tile.warps())
        }
    }

    version! {
        M16N8K16, "m16n8k16", "a matrix instruction twice as deep", from Some("ring"), capability 9.0, ring true;
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

    impl Way for Wide {
        type Instruction = M16N8;
        const FIRST: Tile = Tile { m: 4, n: 2, across: 2, along: 4, deep: 1 };
        const SECOND: Tile = Tile { m: 2, n: 2, across: 2, along: 4, deep: 1 };
        const SPLITS: bool = false;

        #[cfg(target_arch = "nvptx64")]
        #[inline(always)]
        unsafe fn stages(rows: Rows, tile: Tile, words: u32, steps: u32) -> impl Stages {
            crate::offdiag::stages::ring::Ring::begun(rows, tile.extent(words), steps, tile.warps())
        }
    }

    version! {
        Wide, "wide", "tiles of 128 l", from Some("ring"), capability 9.0, ring true;
        gpp_offdiag_wide_hole gpp_offdiag_wide_exchange
        gpp_offdiag_wide_complex_hole gpp_offdiag_wide_complex_exchange
        gpp_offdiag_wide_second
    }
}
