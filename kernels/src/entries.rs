//! Kernel entries: each made of a body for the GPU and for the host, and described.

/// The entries of a body: `entries!(body: symbol = energies, …)` with a function of `(&Arrays, iw, Thread)`
/// generic over the number of energies, for the arguments of the paper's kernels;
/// `entries!(tiled tile, SHAPE, term: symbol = energies, …)` with a function that sums a thread's tile, for planned
/// arguments, without `term` if there are no fallback pairs; `entries!(listed pairs, term: symbol = energies, …)` for
/// [lists](crate::lists), with a function that sums a thread's pairs. An entry has its kernel's cap on registers unless it
/// says `registers …`,
/// and spills in no loop unless it says `spills { in_loop: …, bytes: … }`.
/// `entries!(clusters Cluster: symbol)` is the one entry of a kernel of [`crate::sigma`].
macro_rules! entries {
    (clusters $cluster:ty: $symbol:ident) => {{
        $crate::sigma::cluster_arguments! { entry [
            $symbol $crate::sigma::ClusterArguments, |arguments| {
                use $crate::sigma::Cluster;
                let team = $crate::sigma::Block::at(<$cluster>::shared_memory());
                let (block, blocks) = ($crate::intrinsics::block(), $crate::intrinsics::blocks());
                $crate::sigma::block::<$cluster, _>(&arguments, &team, block, blocks, $crate::formula::term)
            }
        ] }

        &[$crate::kernel::Entry {
            energies: $crate::sigma::MAX_ENERGIES,
            symbol: stringify!($symbol),
            max_registers: None,
            spills: $crate::kernel::Spills::OUTSIDE,
            #[cfg(not(target_arch = "nvptx64"))]
            body: |arguments, _, block, grid| {
                    use $crate::sigma::Cluster;
                    let team = $crate::sigma::Emulated::new(<$cluster>::NUMBERS);
                    // SAFETY: the launch contract.
                    unsafe {
                        let arguments = &*arguments.cast();
                        $crate::sigma::block::<$cluster, _>(arguments, &team, block, grid.blocks(), $crate::formula::term);
                    }
                },
        }]
    }};
    (tiled $tile:ident, $shape:ident $(, $term:path)?: $($entries:tt)+) => {{
        const TILES: $crate::tiling::Shape = $shape;

        #[inline(always)]
        unsafe fn tiled<const NW: usize>(
            a: &$crate::arrays::Arrays,
            _: u32,
            thread: $crate::grid::Thread,
        ) -> $crate::formula::Sums<NW> {
            // All threads of a block go the same way.
            $(if TILES.grid_of(a).is_fallback(thread.block) {
                return $crate::tiling::fallback_sums(a, thread, TILES, $term);
            })?
            $tile(a, TILES.place(a, thread))
        }

        $crate::entries::entries!(@ planned(TILES) PlannedArguments, tiled: $($entries)+)
    }};
    (listed $pairs:ident, $term:path: $($entries:tt)+) => {{
        #[inline(always)]
        unsafe fn listed<const NW: usize>(
            a: &$crate::arrays::Arrays,
            _: u32,
            thread: $crate::grid::Thread,
        ) -> $crate::formula::Sums<NW> {
            $crate::lists::sums(a, thread, $term, $pairs::<NW>)
        }

        $crate::entries::entries!(
            @ planned($crate::lists::Blocks) PlannedArguments, listed: $($entries)+
        )
    }};
    (@ $list:ident $slot:tt $arguments:ident, $body:ident:
     $($symbol:ident = $nw:literal $(registers $registers:literal)? $(spills $spills:tt)?),+ $(,)?) => {{
        $(
            $crate::arguments::list! { $list: entry [
                $symbol $crate::arguments::$arguments, |arguments| {
                    $crate::entries::$list!($slot, $body, $nw, arguments)
                }
            ] }
        )+
        &[$($crate::kernel::Entry {
            energies: $nw,
            symbol: stringify!($symbol),
            max_registers: $crate::entries::optional!($($registers)?),
            spills: $crate::entries::spills!($($spills)?),
            #[cfg(not(target_arch = "nvptx64"))]
            body: |arguments, constant, block, grid| {
                    // SAFETY: the launch contract.
                    unsafe {
                        let arguments = &*arguments.cast::<$crate::arguments::$arguments>();
                        $crate::emulator::run_block(
                            &arguments.arrays(constant), arguments.iw, arguments.partials, block, grid, $body::<$nw>,
                        );
                    }
                },
        }),+]
    }};
    ($body:ident: $($entries:tt)+) => {
        $crate::entries::entries!(@ paper() PaperArguments, $body: $($entries)+)
    };
}
pub(crate) use entries;

/// What an entry of the paper's arguments runs; each block has its own slot.
#[cfg(target_arch = "nvptx64")]
macro_rules! paper {
    ((), $body:ident, $nw:literal, $arguments:ident) => {{
        let thread = $crate::grid::Thread::calling();
        let sums = $body::<$nw>(&$arguments.arrays(core::ptr::null()), $arguments.iw, thread);
        let (iw, partials) = ($arguments.iw, $arguments.partials);
        $crate::reduction::store_block_sums(&sums, iw, thread.block, partials);
    }};
}
#[cfg(target_arch = "nvptx64")]
pub(crate) use paper;

/// What an entry of planned arguments runs.
#[cfg(target_arch = "nvptx64")]
macro_rules! planned {
    (($shape:expr), $body:ident, $nw:literal, $arguments:ident) => {{
        let arrays = $arguments.arrays(core::ptr::null());
        let thread = $crate::grid::Thread::calling();
        let sums = $body::<$nw>(&arrays, $arguments.iw, thread);
        let slot = $shape.grid_of(&arrays).slot($crate::intrinsics::opt_barrier_u32(thread.block));
        $crate::reduction::store_block_sums(&sums, $arguments.iw, slot, $arguments.partials);
    }};
}
#[cfg(target_arch = "nvptx64")]
pub(crate) use planned;

/// A value that may be left out; `entries!` uses it.
macro_rules! optional {
    () => {
        None
    };
    ($value:literal) => {
        Some($value)
    };
}
pub(crate) use optional;

/// The spills that an entry may have; `entries!` uses it.
macro_rules! spills {
    () => {
        $crate::kernel::Spills::OUTSIDE
    };
    ({ $($limits:tt)+ }) => {
        $crate::kernel::Spills { $($limits)+ }
    };
}
pub(crate) use spills;
