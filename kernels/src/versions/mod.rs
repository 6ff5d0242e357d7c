//! The versions, one file each. A new version is a file here and a line in [`crate::registry::VERSIONS`].

pub mod v0;
pub mod v1;
pub mod v10;
pub mod v11;
pub mod v12;
pub mod v13;
pub mod v2;
pub mod v3;
pub mod v4;
pub mod v5;
pub mod v6;
pub mod v7;
pub mod v8;
pub mod v9;

/// Names the kernels of `$body`, a function of `(&Arrays, iw, Thread)` generic over the number type
/// and the number of energies: the entries on nvptx64, and the table `BODIES` that the registry
/// and the host use. `planned NAME = …` makes entries that take a plan, and a table of that name. A
/// kernel has its version's cap on registers unless it says `registers …`, and spills in no loop unless it
/// says `spills { in_loop: …, bytes: … }`.
macro_rules! kernels {
    ($body:ident: $($symbol:ident = $nw:literal $(registers $registers:literal)? $(spills $spills:tt)?),+) => {
        $crate::versions::kernels!(
            @ BODIES, $body, (), $crate::plan::Plan::NONE, $($symbol = $nw $(registers $registers)? $(spills $spills)?),+
        );
    };
    (planned $bodies:ident = $body:ident: $($symbol:ident = $nw:literal $(registers $registers:literal)? $(spills $spills:tt)?),+) => {
        $crate::versions::kernels!(
            @ $bodies, $body,
            (
                plain: u32,
                occupied: u32,
                far: u32,
                odd_mask: *const u32,
                odd_pairs: *const u32,
                odd_count: u32,
                half: f64,
                square: f64
            ),
            $crate::plan::Plan {
                plain, occupied, far, odd_mask, odd_pairs, odd_count,
                table: $crate::plan::Table { wx: core::ptr::null(), half, square },
            },
            $($symbol = $nw $(registers $registers)? $(spills $spills)?),+
        );
    };
    (@ $bodies:ident, $body:ident, ($($extra:ident: $type:ty),*), $plan:expr,
     $($symbol:ident = $nw:literal $(registers $registers:literal)? $(spills $spills:tt)?),+) => {
        $crate::versions::kernels!(
            # $body, ($($extra: $type),*), $plan, $($symbol = $nw),+
        );

        /// This version's kernels.
        pub const $bodies: &[$crate::registry::Body] = &[$(
            $crate::registry::Body {
                energies: $nw,
                symbol: stringify!($symbol),
                max_registers: $crate::versions::optional!($($registers)?),
                spills: $crate::versions::spills!($($spills)?),
                #[cfg(not(target_arch = "nvptx64"))]
                host: |arrays, iw, thread| {
                    // SAFETY: `HostBody` has the body's contract.
                    $crate::target::values(&unsafe { $body::<f64, $nw>(arrays, iw, thread) })
                },
                #[cfg(not(target_arch = "nvptx64"))]
                counted: |arrays, iw, thread| {
                    // SAFETY: `CountedBody` has the body's contract.
                    unsafe { $body::<$crate::counted::Counted, $nw>(arrays, iw, thread) };
                },
            },
        )+];
    };
    (# $body:ident, $extra:tt, $plan:expr, $symbol:ident = $nw:literal
     $(, $symbols:ident = $nws:literal)*) => {
        $crate::versions::entry!($body, $extra, $plan, $symbol = $nw);
        $($crate::versions::entry!($body, $extra, $plan, $symbols = $nws);)*
    };
}
pub(crate) use kernels;

/// A value that may be left out; `kernels!` uses it.
macro_rules! optional {
    () => {
        None
    };
    ($value:literal) => {
        Some($value)
    };
}
pub(crate) use optional;

/// What a kernel may spill; `kernels!` uses it.
macro_rules! spills {
    () => {
        $crate::registry::Spills::OUTSIDE
    };
    ({ $($limits:tt)+ }) => {
        $crate::registry::Spills { $($limits)+ }
    };
}
pub(crate) use spills;

/// One kernel entry; `kernels!` writes them.
macro_rules! entry {
    ($body:ident, ($($extra:ident: $type:ty),*), $plan:expr, $symbol:ident = $nw:literal) => {
        /// Kernel entry; one block stores its sums as its entries of `partials`.
        ///
        /// # Safety
        /// The arrays are valid for their extents and 16-byte aligned, `iw` and the entry's
        /// energies are within `nw`, `partials` is `(blocks, nw · VALUES)`, the grid is the
        /// registry's.
        #[cfg(target_arch = "nvptx64")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $symbol(
            wtilde: *const num_complex::Complex64,
            eps: *const num_complex::Complex64,
            aqsn: *const num_complex::Complex64,
            aqsm_local: *const num_complex::Complex64,
            wx: *const f64,
            vcoul_loc: *const f64,
            occ: *const f64,
            partials: *mut f64,
            nbands: u32,
            ngpown: u32,
            ncouls: u32,
            nw: u32,
            iw: u32,
            limittwo: f64,
            limitone: f64,
            sexcut: f64,
            $($extra: $type,)*
        ) {
            let limits = $crate::arrays::Limits { limittwo, limitone, sexcut };
            let arrays = $crate::arrays::Arrays {
                wtilde, eps, aqsn, aqsm_local, wx, vcoul_loc, occ,
                nbands, ngpown, ncouls, nw, limits, plan: $plan,
            };
            // SAFETY: the entry's contract is the body's and the store's.
            unsafe {
                let sums = $body::<f64, $nw>(&arrays, iw, $crate::target::thread());
                $crate::target::store_block_sums(&sums, iw, partials);
            }
        }
    };
}
pub(crate) use entry;
