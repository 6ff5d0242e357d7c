//! A version of the products: its kernels, and what launches have to know of them.

use super::fragment::ROWS;
use super::tile::Tile;

/// A version.
#[derive(Debug)]
pub struct Version {
    /// What it is called.
    pub id: &'static str,
    /// What it changes.
    pub change: &'static str,
    /// The version that it is made from.
    pub from: Option<&'static str>,
    /// The least compute capability.
    pub capability: f64,
    /// Whether operands come through a ring in shared memory.
    pub has_ring: bool,
    /// Whether an item may end within a warp's tile.
    pub splits: bool,
    /// Tile of the first product.
    pub first: Tile,
    /// Tile of the second.
    pub second: Tile,
    /// Symbols of the first product: of real poles and of complex ones, for `sch` and for `ssx`.
    pub symbols: [[&'static str; 2]; 2],
    /// Symbol of the second.
    pub second_symbol: &'static str,
    /// The kernels on the host, in the order of the symbols: see [`First`](super::first::First).
    #[cfg(not(target_arch = "nvptx64"))]
    pub run: [[unsafe fn(&super::first::First); 2]; 2],
    /// The second's.
    #[cfg(not(target_arch = "nvptx64"))]
    pub run_second: unsafe fn(&super::second::Second),
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
            use $crate::offdiag::way::Way;
            // What a version's fragments of l are a multiple of: see `Version::fragments`.
            let multiple = if $way::SPLITS { 1 } else { $way::FIRST.m };
            assert!(multiple.is_multiple_of($way::SECOND.left()));
            // Steps of U are whole tiles of the first product.
            assert!($way::FIRST.right().is_multiple_of($way::SECOND.deep));
            // Of a ring's stages one is read, one let go, and others are on their way.
            let stages = [$way::FIRST.extent(3), $way::FIRST.extent(4), $way::SECOND.extent(2)];
            assert!(!$ring || stages[0].stages > 2 && stages[1].stages > 2 && stages[2].stages > 2);
        };

        /// What it is.
        pub static VERSION: $crate::offdiag::version::Version = {
            use $crate::offdiag::{version::Version, way::Way};
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

        $crate::offdiag::version::first! { $way $hole Hole, 3 }
        $crate::offdiag::version::first! { $way $exchange Exchange<true>, 3 }
        $crate::offdiag::version::first! { $way $complex_hole ComplexHole, 4 }
        $crate::offdiag::version::first! { $way $complex_exchange ComplexExchange<true>, 4 }
        $crate::offdiag::second::list! { entry [$second $crate::offdiag::second::Second, |arguments| {
            use $crate::offdiag::way::Way;
            const M: usize = $way::SECOND.m as usize;
            const N: usize = $way::SECOND.n as usize;
            const K: usize = $way::SECOND.deep as usize;
            arguments.block::<$way, M, N, K>()
        }] }
    };
}
pub(super) use version;

/// An entry of the first product.
macro_rules! first {
    ($way:ident $symbol:ident $make:ty, $words:literal) => {
        $crate::offdiag::first::list! { entry [$symbol $crate::offdiag::first::First, |arguments| {
            use $crate::offdiag::poles::*;
            use $crate::offdiag::way::Way;
            const M: usize = $way::FIRST.m as usize;
            const N: usize = $way::FIRST.n as usize;
            const K: usize = $way::FIRST.deep as usize;
            arguments.block::<$way, $make, $words, M, N, K>()
        }] }
    };
}
pub(super) use first;
