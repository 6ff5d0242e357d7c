//! A version, its kernels, their grids, and what is too large for them.

use crate::arrays::{Layout, Planned};
use crate::formula::VALUES;
use crate::lists;
use crate::plan::{CONSTANT, EnergiesFrom, Plan, Poles};
#[cfg(not(target_arch = "nvptx64"))]
use crate::reduction::BlockBody;
use crate::sigma::BANDS;
use crate::single;
use crate::threads;
use crate::tiling::{Grid, TileShape, per_band};

#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Name on the command line.
    pub id: &'static str,
    /// What it changes from the version before.
    pub change: &'static str,
    pub source: &'static str,
}

pub struct GpuVersion {
    pub version: &'static Label,
    /// Kernels for real poles come before those for any poles.
    pub kernels: &'static [Kernel],
    /// The version that runs instead if the constant memory does not hold the energies.
    pub beyond: Option<&'static GpuVersion>,
    /// The least compute capability, major and minor.
    pub capability: (u32, u32),
}

impl GpuVersion {
    /// A version for any GPU that gpp runs on, without energies in constant memory.
    pub const fn new(version: &'static Label, kernels: &'static [Kernel]) -> GpuVersion {
        GpuVersion { version, kernels, beyond: None, capability: (7, 0) }
    }

    pub const fn id(&self) -> &'static str {
        self.version.id
    }

    /// Itself, or [`GpuVersion::beyond`] if the constant memory does not hold so many energies of all bands.
    pub fn holding(&self, energies: usize) -> &GpuVersion {
        match self.beyond {
            Some(other) if energies > CONSTANT => other,
            _ => self,
        }
    }

    /// The most special kernel for problems of these poles.
    ///
    /// # Panics
    /// Never: every version has a kernel for any poles.
    pub fn kernel(&self, poles: Poles) -> &Kernel {
        let admits = |kernel: &&Kernel| kernel.poles.admits(poles);
        self.kernels.iter().find(admits).expect("every version has a kernel for any poles")
    }
}

/// Loop structure, outer to inner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// `n`, `igp` and `ig` collapsed, `iw` in a thread.
    Collapse3,
    /// `igp` and `ig` collapsed, `n` in a thread.
    Collapse2,
    /// `band_blocks`, `igp` and `ig_blocks` collapsed; strided `ig`, then `n`, in a thread.
    Blocked {
        /// Blocks of bands, the stride of the band loop.
        band_blocks: u32,
        /// Blocks of `ig`, the stride of the loop over `ig`.
        ig_blocks: u32,
    },
    /// One `ig` and several `igp` in a thread, all bands: see [`crate::tiling`].
    Tiled(TileShape),
    /// Pairs of lists, all bands: see [`crate::lists`].
    Listed,
    /// Clusters of pairs, bands in the threads of a block, with so many blocks at most: see [`crate::sigma`].
    Clusters(u32),
    /// Bands in the threads of a block, pairs in a thread: see [`crate::versions::per_band`].
    PerBand,
}

/// Whether one launch sums all energies or each has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Energies {
    /// One launch, all energies in a thread.
    Together,
    OneLaunchEach,
    /// One launch, any number of energies up to this.
    UpTo(u32),
}

/// What the terms of pairs that are not fallback pairs are computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    Double,
    Single {
        /// Whether `w ∓ ω̃` is of two floats each.
        is_exact: bool,
        /// Whether the pairs with the largest share of Σ are fallback pairs.
        has_heavy: bool,
    },
}

/// One entry of a kernel: its body for a number of energies.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Energies that one launch sums.
    pub energies: u32,
    pub symbol: &'static str,
    /// Maximum registers per thread, if different from the kernel's.
    pub max_registers: Option<u32>,
    #[cfg(not(target_arch = "nvptx64"))]
    pub body: BlockBody,
}

/// A kernel: one source, an entry for each number of energies, and how these are launched.
#[derive(Clone, Copy)]
pub struct Kernel {
    pub poles: Poles,
    pub loops: Loops,
    pub energies: Energies,
    pub energies_from: EnergiesFrom,
    pub layout: Layout,
    /// Whether the sums of `ach` are Σ, and those of `asx` zero but for fallback pairs.
    pub is_sigma_alone: bool,
    /// Whether the sums at an energy are followed by their derivatives with respect to it.
    pub has_derivative: bool,
    pub precision: Precision,
    pub threads: u32,
    /// Maximum registers per thread, `.maxnreg` in the PTX.
    pub max_registers: Option<u32>,
    pub entries: &'static [Entry],
}

impl Kernel {
    /// A kernel in double precision for both parts, any poles and all energies together, to fill in.
    pub const fn new(loops: Loops, layout: Layout, threads: u32) -> Kernel {
        Kernel {
            poles: Poles::Any,
            loops,
            energies: Energies::Together,
            energies_from: EnergiesFrom::Arrays,
            layout,
            is_sigma_alone: false,
            has_derivative: false,
            precision: Precision::Double,
            threads,
            max_registers: None,
            entries: &[],
        }
    }

    /// The same of tiles.
    pub const fn tiled(shape: TileShape) -> Kernel {
        let kernel = Kernel::new(Loops::Tiled(shape), Layout::Planned, shape.threads());
        Kernel { max_registers: Some(128), ..kernel }
    }

    pub const fn is_single(&self) -> bool {
        matches!(self.precision, Precision::Single { .. })
    }

    pub fn entry(&self, nw: usize) -> Option<&'static Entry> {
        let energies = match self.energies {
            Energies::Together => nw as u32,
            Energies::OneLaunchEach => 1,
            Energies::UpTo(most) if nw as u64 <= u64::from(most) => most,
            Energies::UpTo(_) => return None,
        };
        self.entries.iter().find(|entry| entry.energies == energies)
    }

    /// Energies that a calculation of it sums at most, in one launch or several.
    pub fn holds(&self) -> usize {
        match self.energies {
            Energies::Together => {
                self.entries.iter().map(|entry| entry.energies as usize).max().unwrap_or(0)
            }
            // As many as the paper's problems have.
            Energies::OneLaunchEach => 3,
            Energies::UpTo(most) => most as usize,
        }
    }

    /// First energy of each launch for a problem of `nw` energies.
    pub fn launches(&self, nw: usize) -> core::ops::Range<u32> {
        match self.energies {
            Energies::Together | Energies::UpTo(_) => 0..1,
            Energies::OneLaunchEach => 0..nw as u32,
        }
    }

    /// `igp` of each group that has a sum of its own; none if the slab has one sum.
    pub fn igp_of_group(&self) -> Option<u32> {
        match self.loops {
            Loops::Tiled(shape) => Some(shape.igp()),
            Loops::PerBand => Some(per_band::IGP),
            _ => None,
        }
    }

    pub fn fallback_blocks(&self, fallback_begins: &[u32]) -> u32 {
        match self.loops {
            Loops::Tiled(shape) => shape.fallback_blocks(fallback_begins),
            Loops::Listed => lists::fallback_blocks(fallback_begins),
            _ => 0,
        }
    }

    /// Values of the sums of `nbands` bands at `nw` energies.
    pub fn values(&self, [nbands, nw]: [u64; 2]) -> u64 {
        let of_energy = if self.has_derivative { 2 * VALUES } else { VALUES };
        if self.loops == Loops::PerBand { 2 * nbands } else { nw * of_energy as u64 }
    }

    /// The grid of each launch, for dimensions in which nothing is [`Kernel::exceeded`].
    pub fn grid(&self, dimensions: &Dimensions) -> Grid {
        let Dimensions { nbands, ngpown, ncouls, fallback_begins, .. } = *dimensions;
        let fallback_blocks = self.fallback_blocks(fallback_begins);
        match self.loops {
            Loops::Tiled(shape) => shape.grid(ngpown, ncouls, fallback_blocks),
            Loops::PerBand => per_band::grid(nbands, ngpown, ncouls),
            Loops::Listed => {
                let most = lists::records(ngpown.into(), ncouls.into());
                let records = u64::from(dimensions.clusters).min(most) as u32;
                lists::grid(records, fallback_blocks)
            }
            Loops::Clusters(blocks) => {
                let clusters = self.items(dimensions) / u64::from(self.threads);
                Grid::ungrouped(clusters.clamp(1, u64::from(blocks)) as u32, self.threads)
            }
            _ => {
                Grid::ungrouped(threads::blocks(self.items(dimensions), self.threads), self.threads)
            }
        }
    }

    /// Iterations of the collapsed loops, or threads of the grid.
    fn items(&self, dimensions: &Dimensions) -> u64 {
        let Dimensions { nbands, ngpown, ncouls, .. } = *dimensions;
        let (bands, igp, ig) = (u64::from(nbands), u64::from(ngpown), u64::from(ncouls));
        match self.loops {
            Loops::Collapse3 => bands * igp * ig,
            Loops::Collapse2 => igp * ig,
            Loops::Blocked { band_blocks, ig_blocks } => {
                u64::from(band_blocks) * u64::from(ig_blocks) * igp
            }
            Loops::Tiled(_) | Loops::Listed | Loops::PerBand => {
                let Grid { groups, ig_blocks, fallback_blocks, threads, band_blocks, .. } =
                    self.grid(dimensions);
                let blocks = u64::from(ig_blocks) + u64::from(fallback_blocks);
                u64::from(groups) * blocks * u64::from(threads) * u64::from(band_blocks)
            }
            Loops::Clusters(_) => {
                bands.next_multiple_of(u64::from(BANDS)) * u64::from(dimensions.clusters)
            }
        }
    }

    /// The first dimension that is too large for offsets, iterations and threads in 32 bits.
    pub fn exceeded(&self, dimensions: &Dimensions) -> Option<Exceeded> {
        let Dimensions { nbands, ngpown, ncouls, nw, .. } = *dimensions;
        let (bands, igp, ig) = (u64::from(nbands), u64::from(ngpown), u64::from(ncouls));
        let sizes = self.layout.sizes([bands, igp, ig, u64::from(nw)]);
        // Collapsed over three loops a position is in digits, not as one number.
        let items = if self.loops == Loops::Collapse3 { 0 } else { self.items(dimensions) };
        let blocks = match self.loops {
            Loops::Tiled(_) | Loops::Listed => items / u64::from(self.threads),
            Loops::PerBand => {
                let Grid { groups, ig_blocks, .. } = self.grid(dimensions);
                u64::from(groups) * u64::from(ig_blocks)
            }
            Loops::Clusters(blocks) => u64::from(blocks),
            _ => u64::from(threads::MAX_BLOCKS),
        };
        let words = u64::from(Plan::words(ncouls)) * igp;
        let listed = if self.loops == Loops::Listed { lists::words(igp, ig) } else { 0 };
        let elements = |[first, second]: [u64; 2]| first * second;
        [
            ("elements of wtilde", ig * igp),
            ("halves of sorted pairs", elements(sizes.pairs)),
            ("elements of aqsn", elements(sizes.aqsn)),
            ("elements of aqsm_local", elements(sizes.aqsm_local)),
            ("elements of wx", elements(sizes.wx)),
            ("words of the mask of fallback pairs", words),
            ("words of the lists of pairs", listed),
            ("iterations of the collapsed loops", items),
            ("partial sums", blocks * self.values([bands, u64::from(nw)])),
        ]
        .into_iter()
        .map(|(what, count)| Exceeded { what, count })
        .find(|dimension| dimension.count >= BELOW)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimensions<'a> {
    pub nbands: u32,
    /// `igp` of the slab.
    pub ngpown: u32,
    /// `ig`.
    pub ncouls: u32,
    pub nw: u32,
    /// As [`Plan::fallback_begins`], for the kernel's kind of poles; unused by kernels without a plan.
    pub fallback_begins: &'a [u32],
    /// Clusters of the slab's pairs, for kernels of [`Loops::Clusters`], or records, for those of [`Loops::Listed`].
    pub clusters: u32,
}

/// No dimension may be as large.
pub const BELOW: u64 = 1 << 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    pub what: &'static str,
    pub count: u64,
}

/// Dimensions of the arrays in a layout, the fastest index first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArraySizes {
    pub aqsn: [u64; 2],
    pub aqsm_local: [u64; 2],
    pub wx: [u64; 2],
    /// Pairs, of clusters in halves of 16 bytes.
    pub pairs: [u64; 2],
}

impl Layout {
    pub fn sizes(self, [bands, igp, ig, nw]: [u64; 4]) -> ArraySizes {
        let original = ArraySizes {
            aqsn: [ig, bands],
            aqsm_local: [igp, bands],
            wx: [nw, bands],
            pairs: [ig, igp],
        };
        match self {
            Layout::Original => original,
            Layout::Swapped => ArraySizes { aqsm_local: [bands, igp], wx: [bands, nw], ..original },
            Layout::Planned | Layout::Listed => ArraySizes {
                aqsm_local: [igp.next_multiple_of(u64::from(Planned::rows(1))), bands],
                wx: [nw.max(u64::from(Planned::ENERGIES)), bands],
                ..original
            },
            Layout::Single => {
                let planned = Layout::Planned.sizes([bands, igp, ig, nw]);
                let with_copy = |[height, bands]: [u64; 2], of: u64| {
                    [height, bands + single::elements(of, bands).div_ceil(height.max(1))]
                };
                ArraySizes {
                    aqsn: with_copy(planned.aqsn, ig),
                    aqsm_local: with_copy(planned.aqsm_local, igp),
                    ..planned
                }
            }
            Layout::Clusters => {
                let rows = bands.next_multiple_of(u64::from(BANDS));
                ArraySizes {
                    aqsn: [rows, ig],
                    aqsm_local: [rows, igp],
                    pairs: [2 * ig, igp],
                    ..original
                }
            }
        }
    }
}

/// The entries of a body: `entries!(body: symbol)` with a function of `(&Arrays, iw, Thread)` generic over the number of
/// energies, for the arguments of the paper's kernels; `entries!(tiled tile, SHAPE, term: symbol)` with a function that sums
/// a thread's tile, for planned arguments, `tile::<NW, …>` if it is generic over more; `entries!(listed pairs: symbol)` for
/// [lists](crate::lists), with a function that sums a thread's pairs. The entries for one, two and three energies are
/// `symbol_nw1`, `symbol_nw2` and `symbol_nw3`; others are listed, `symbol = energies`, with a cap on registers,
/// `registers …`, if it is not the kernel's. `entries!(derivative tile, SHAPE, terms: symbol)` is for one energy and the
/// derivatives in the place of a second one.
/// `entries!(clusters Cluster, values: symbol)` is the one entry of a kernel of [`crate::sigma`], with so many values of
/// each target.
macro_rules! entries {
    (clusters $cluster:ty, $values:path: $symbol:ident) => {{
        $crate::sigma::cluster_arguments! { entry [
            $symbol $crate::sigma::ClusterArguments, |arguments| {
                use $crate::sigma::Cluster;
                let team = $crate::sigma::BlockOnGpu::at(<$cluster>::shared_memory::<{ $values }>());
                let (block, blocks) = ($crate::intrinsics::block(), $crate::intrinsics::blocks());
                $crate::sigma::block::<$cluster, _, { $values }>(&arguments, &team, block, blocks)
            }
        ] }

        &[$crate::kernel::Entry {
            energies: $crate::sigma::max_energies($values),
            symbol: stringify!($symbol),
            max_registers: None,
            #[cfg(not(target_arch = "nvptx64"))]
            body: |arguments, _, block, grid| {
                    use $crate::sigma::{Cluster, Emulated, numbers_of_sums};
                    let team = Emulated::new(<$cluster>::OTHERS + numbers_of_sums($values));
                    // SAFETY: the launch contract.
                    unsafe {
                        let arguments = &*arguments.cast();
                        $crate::sigma::block::<$cluster, _, { $values }>(
                            arguments, &team, block, grid.blocks(),
                        );
                    }
                },
        }]
    }};
    (derivative $tile:expr, $shape:ident, $terms:path: $symbol:ident) => {{
        const BOTH: &[$crate::kernel::Entry] = $crate::kernel::entries!(
            @ tiled $tile, $shape, fallback_derivatives, $terms: $symbol = 2
        );
        &[$crate::kernel::Entry { energies: 1, ..BOTH[0] }]
    }};
    (tiled $tile:expr, $shape:ident, $term:path: $($entries:tt)+) => {
        $crate::kernel::entries!(@ tiled $tile, $shape, fallback_sums, $term: $($entries)+)
    };
    (@ tiled $tile:expr, $shape:ident, $fallback:ident, $term:path: $($entries:tt)+) => {{
        const TILES: $crate::tiling::TileShape = $shape;

        #[inline(always)]
        unsafe fn tiled<const NW: usize>(
            a: &$crate::arrays::Arrays,
            _: u32,
            thread: $crate::threads::Thread,
        ) -> $crate::formula::ThreadSums<NW> {
            // All threads of a block go the same way.
            if TILES.grid_of(a).is_fallback(thread.block) {
                return $crate::tiling::$fallback(a, thread, TILES, $term);
            }
            ($tile)(a, TILES.place(a, thread))
        }

        $crate::kernel::entries!(@ planned(|a, _| TILES.grid_of(a)) PlannedArguments, tiled: $($entries)+)
    }};
    (listed $pairs:ident: $($entries:tt)+) => {{
        #[inline(always)]
        unsafe fn listed<const NW: usize>(
            a: &$crate::arrays::Arrays,
            _: u32,
            thread: $crate::threads::Thread,
        ) -> $crate::formula::ThreadSums<NW> {
            $crate::lists::sums(a, thread, $pairs::<NW>)
        }

        $crate::kernel::entries!(
            @ planned($crate::lists::grid_of) PlannedArguments, listed: $($entries)+
        )
    }};
    (@ $list:ident $shape:tt $arguments:ident, $body:ident: $kernel:ident) => {
        $crate::kernel::entries!(
            @ $list $shape $arguments, $body:
            nw1 [concat!(stringify!($kernel), "_nw1")] = 1,
            nw2 [concat!(stringify!($kernel), "_nw2")] = 2,
            nw3 [concat!(stringify!($kernel), "_nw3")] = 3
        )
    };
    (@ $list:ident $shape:tt $arguments:ident, $body:ident:
     $($symbol:ident = $nw:literal $(registers $registers:literal)?),+ $(,)?) => {
        $crate::kernel::entries!(
            @ $list $shape $arguments, $body:
            $($symbol [stringify!($symbol)] = $nw $(registers $registers)?),+
        )
    };
    (@ $list:ident $shape:tt $arguments:ident, $body:ident:
     $($function:ident [$($symbol:tt)+] = $nw:literal $(registers $registers:literal)?),+) => {{
        $(
            $crate::arrays::list! { $list: entry [
                $function $($symbol)+, $crate::arrays::$arguments, |arguments| {
                    let arrays = arguments.arrays(core::ptr::null());
                    let thread = $crate::threads::Thread::calling();
                    let sums = $body::<$nw>(&arrays, arguments.iw, thread);
                    let slot = $crate::kernel::slot!($shape, arrays, thread);
                    $crate::reduction::store_block_sums(&sums, arguments.iw, slot, arguments.partials)
                }
            ] }
        )+
        &[$($crate::kernel::Entry {
            energies: $nw,
            symbol: $($symbol)+,
            max_registers: [$(Some($registers),)? None][0],
            #[cfg(not(target_arch = "nvptx64"))]
            body: |arguments, constant, block, grid| {
                    // SAFETY: the launch contract.
                    unsafe {
                        let arguments = &*arguments.cast::<$crate::arrays::$arguments>();
                        $crate::reduction::run_block(
                            &arguments.arrays(constant), arguments.iw, arguments.partials, block, grid, $body::<$nw>,
                        );
                    }
                },
        }),+]
    }};
    ($body:ident: $($entries:tt)+) => {
        $crate::kernel::entries!(@ paper() PaperArguments, $body: $($entries)+)
    };
}
pub(crate) use entries;

/// The slot of a block's sum, which is its number unless there are groups.
#[cfg(target_arch = "nvptx64")]
macro_rules! slot {
    ((), $arrays:ident, $thread:ident) => {
        $thread.block
    };
    (($grid_of:expr), $arrays:ident, $thread:ident) => {
        ($grid_of)(&$arrays, $thread).slot($crate::intrinsics::opt_barrier_u32($thread.block))
    };
}
#[cfg(target_arch = "nvptx64")]
pub(crate) use slot;
