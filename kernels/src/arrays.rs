//! The arrays of one problem as a kernel sees them, in the reference program's names, and the orders in which kernels
//! find `wx` and `aqsm_local`.

use num_complex::{Complex, Complex64};

use crate::intrinsics::{load, opt_barrier};
use crate::plan::Plan;
use crate::threads::{Thread, split};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// `gamma²` in eV²: nearer to the pole than this, the first branch does not hold.
    pub limittwo: f64,
    /// `1 / (4 · 1e-6)`: bound on `|delw|²` in the first branch.
    pub limitone: f64,
    /// Bound on `|ssx| / |eps|` if `wx < 0`.
    pub sexcut: f64,
}

/// Pointers to one problem's arrays, column-major with 0-based indices, the first index named fastest. An element's
/// offset is computed in 32 bits, so no array may hold `2³²` elements or more.
#[derive(Clone, Copy)]
pub struct Arrays {
    /// Plasmon-pole modes ω̃ in eV, `(ncouls, ngpown)`.
    pub wtilde: *const Complex64,
    /// `δ − ε⁻¹`, `(ncouls, ngpown)`.
    pub eps: *const Complex64,
    /// Matrix elements of G, `(ncouls, nbands)`.
    pub aqsn: *const Complex64,
    /// Matrix elements of G′, `(ngpown, nbands)` or, [`Swapped`], `(nbands, ngpown)`.
    pub aqsm_local: *const Complex64,
    /// Energies in eV, `(nw, nbands)` or, [`Swapped`], `(nbands, nw)`.
    pub wx: *const f64,
    /// Coulomb interaction of each `igp`, `(ngpown)`.
    pub vcoul_loc: *const f64,
    /// Occupation of each band, 0 to 1, `(nbands)`.
    pub occ: *const f64,
    pub nbands: u32,
    /// `igp` of the slab.
    pub ngpown: u32,
    /// `ig`.
    pub ncouls: u32,
    pub nw: u32,
    pub limits: Limits,
    pub plan: Plan,
}

/// Element reads, for `ig < ncouls`, `igp < ngpown`, `n < nbands` and `iw < nw`.
impl Arrays {
    #[inline(always)]
    pub unsafe fn wtilde(&self, ig: u32, igp: u32) -> Complex64 {
        load(self.wtilde, igp * self.ncouls + ig)
    }

    #[inline(always)]
    pub unsafe fn eps(&self, ig: u32, igp: u32) -> Complex64 {
        load(self.eps, igp * self.ncouls + ig)
    }

    /// `M = conj(aqsm_local(igp, n)) · aqsn(ig, n)`.
    #[inline(always)]
    pub unsafe fn matngmatmgp<L: Order>(&self, ig: u32, igp: u32, n: u32) -> Complex64 {
        let (aqsm, aqsn) = (
            load(self.aqsm_local, L::aqsm_local(self, igp, n)),
            load(self.aqsn, n * self.ncouls + ig),
        );
        let m = aqsm.conj() * aqsn;
        Complex::new(opt_barrier(m.re), opt_barrier(m.im))
    }

    #[inline(always)]
    pub unsafe fn wx<L: Order>(&self, iw: u32, n: u32) -> f64 {
        opt_barrier(*self.wx.add(L::wx(self, iw, n) as usize))
    }

    #[inline(always)]
    pub unsafe fn vcoul_loc(&self, igp: u32) -> f64 {
        *self.vcoul_loc.add(igp as usize)
    }

    #[inline(always)]
    pub unsafe fn occ(&self, n: u32) -> f64 {
        *self.occ.add(n as usize)
    }
}

/// Index order of `wx` and `aqsm_local`, and order of the bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// `wx(iw,n)`, `aqsm_local(igp,n)`.
    Original,
    /// `wx(n,iw)`, `aqsm_local(n,igp)`.
    Swapped,
    /// `wx(iw,n)`, `aqsm_local(igp,n)` padded ([`Planned`]), bands in the order of [`crate::plan`],
    /// whose arguments the entries take.
    Planned,
    /// The same with [lists](crate::lists) of a slab's pairs.
    Listed,
    /// As [`Layout::Planned`], and behind `aqsn` and `aqsm_local` a [copy](crate::single) of each in FP32.
    Single,
    /// Pairs sorted by their poles, bands fastest: see [`crate::sigma`].
    Clusters,
}

/// A [`Layout`] as a type: offsets of elements.
pub trait Order {
    fn wx(a: &Arrays, iw: u32, n: u32) -> u32;
    fn aqsm_local(a: &Arrays, igp: u32, n: u32) -> u32;
}

pub struct Original;

pub struct Swapped;

/// The original order, each band of `aqsm_local` and of `wx` padded with zeros: blocks read whole tiles, and 16 bytes at
/// once.
pub struct Planned;

impl Order for Original {
    #[inline(always)]
    fn wx(a: &Arrays, iw: u32, n: u32) -> u32 {
        n * a.nw + iw
    }

    #[inline(always)]
    fn aqsm_local(a: &Arrays, igp: u32, n: u32) -> u32 {
        n * a.ngpown + igp
    }
}

impl Order for Swapped {
    #[inline(always)]
    fn wx(a: &Arrays, iw: u32, n: u32) -> u32 {
        iw * a.nbands + n
    }

    #[inline(always)]
    fn aqsm_local(a: &Arrays, igp: u32, n: u32) -> u32 {
        igp * a.nbands + n
    }
}

impl Planned {
    /// Energies of a band in `wx`, padding included.
    pub const ENERGIES: u32 = 4;

    /// `igp` of a band in `aqsm_local`, padding included: whole blocks of every shape of tiles.
    #[inline(always)]
    pub const fn rows(ngpown: u32) -> u32 {
        ngpown.next_multiple_of(48)
    }
}

impl Order for Planned {
    #[inline(always)]
    fn wx(_: &Arrays, iw: u32, n: u32) -> u32 {
        n * Planned::ENERGIES + iw
    }

    #[inline(always)]
    fn aqsm_local(a: &Arrays, igp: u32, n: u32) -> u32 {
        n * Planned::rows(a.ngpown) + igp
    }
}

// The arguments of kernels. Each list is written once, here or with its kernels, and becomes both the structure that the
// host fills in and the parameters of the entries. These take the fields one by one: of a structure passed by value the
// compiler no longer knows that its pointers point to global memory.

macro_rules! structure {
    ([$(#[$about:meta])* $name:ident] { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl $name {
            pub const COUNT: usize = [$(stringify!($field)),*].len();

            /// The inverse of `pointers`.
            pub unsafe fn read(parameters: &[*const core::ffi::c_void]) -> $name {
                let mut parameters = parameters.iter();
                let mut next = || *parameters.next().expect("a pointer to each argument");
                $name { $($field: next().cast::<$type>().read_unaligned(),)* }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl $crate::arrays::Arguments for $name {
            fn pointers(&self) -> std::vec::Vec<*const core::ffi::c_void> {
                std::vec![$((&raw const self.$field).cast()),*]
            }
        }
    };
}
pub(crate) use structure;

#[cfg(not(target_arch = "nvptx64"))]
pub trait Arguments {
    /// The address of each, as the driver's launch takes them.
    fn pointers(&self) -> std::vec::Vec<*const core::ffi::c_void>;
}

/// A kernel entry of a list of arguments, which runs an expression of their structure; its symbol is its name, or given.
macro_rules! entry {
    ([$symbol:ident $name:path, |$arguments:ident| $run:expr] $fields:tt) => {
        $crate::arrays::entry! { [$symbol stringify!($symbol), $name, |$arguments| $run] $fields }
    };
    ([$function:ident $symbol:expr, $name:path, |$arguments:ident| $run:expr]
     { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        #[cfg(target_arch = "nvptx64")]
        #[unsafe(export_name = $symbol)]
        pub unsafe extern "ptx-kernel" fn $function($($field: $type),*) {
            use $name as Arguments;
            let $arguments = Arguments { $($field),* };
            // SAFETY: the launch contract.
            unsafe { $run }
        }
    };
}
pub(crate) use entry;

/// A structure of arguments and the entries that take them.
macro_rules! arguments {
    ($(#[$about:meta])* $name:ident $fields:tt $($symbol:ident = |$arguments:ident| $run:expr;)*) => {
        $crate::arrays::structure! { [$(#[$about])* $name] $fields }
        $($crate::arrays::entry! { [$symbol $name, |$arguments| $run] $fields })*
    };
}
pub(crate) use arguments;

/// Passes what is in brackets to a macro, then the arguments of the paper's kernels or of planned ones.
macro_rules! list {
    (paper: $then:ident $with:tt $($more:tt)*) => {
        $crate::arrays::$then! { $with {
            wtilde: *const num_complex::Complex64,
            eps: *const num_complex::Complex64,
            aqsn: *const num_complex::Complex64,
            aqsm_local: *const num_complex::Complex64,
            wx: *const f64,
            vcoul_loc: *const f64,
            occ: *const f64,
            /// The blocks' sums: entry [`Grid::slot`](crate::tiling::Grid::slot) of `(blocks, values)`,
            /// the values of energy `iw` from `iw · VALUES` on.
            partials: *mut f64,
            nbands: u32,
            ngpown: u32,
            ncouls: u32,
            nw: u32,
            /// First energy of the launch.
            iw: u32,
            limittwo: f64,
            limitone: f64,
            sexcut: f64,
            $($more)*
        } }
    };
    (planned: $then:ident $with:tt) => {
        $crate::arrays::list! { paper: $then $with
            plain: u32,
            occupied: u32,
            far_begin: u32,
            fallback_mask: *const u32,
            fallback_pairs: *const u32,
            fallback_begins: *const u32,
            fallback_blocks: u32,
            half: f64,
            square: f64,
            plain_far: u32,
            full: u32,
            small: f64,
        }
    };
}
pub(crate) use list;

list! { paper: structure [
    /// Arguments of v0 to v8, of the original and of the swapped layout.
    PaperArguments
] }

list! { planned: structure [
    /// Arguments of v9 and later, of the planned layout.
    PlannedArguments
] }

impl PaperArguments {
    /// The arrays as the bodies see them. These kernels read no constant memory.
    #[inline(always)]
    pub fn arrays(&self, _: *const f64) -> Arrays {
        let PaperArguments { wtilde, eps, aqsn, aqsm_local, wx, vcoul_loc, occ, .. } = *self;
        let PaperArguments { nbands, ngpown, ncouls, nw, limittwo, limitone, sexcut, .. } = *self;
        Arrays {
            wtilde,
            eps,
            aqsn,
            aqsm_local,
            wx,
            vcoul_loc,
            occ,
            nbands,
            ngpown,
            ncouls,
            nw,
            limits: Limits { limittwo, limitone, sexcut },
            plan: Plan::default(),
        }
    }
}

/// Planned arguments from the paper's and a plan, and back.
macro_rules! conversions {
    ([$($paper:ident)+] [$($plan:ident)+]) => {
        impl PlannedArguments {
            /// Entries do not take the plan's energies.
            pub fn new(paper: PaperArguments, plan: Plan) -> PlannedArguments {
                PlannedArguments { $($paper: paper.$paper,)+ $($plan: plan.$plan,)+ }
            }

            /// The arrays as the bodies see them. The constant memory has the energies; on the GPU it is null here.
            #[inline(always)]
            pub fn arrays(&self, energies: *const f64) -> Arrays {
                let paper = PaperArguments { $($paper: self.$paper),+ };
                let plan = Plan { energies, $($plan: self.$plan),+ };
                Arrays { plan, ..paper.arrays(core::ptr::null()) }
            }
        }
    };
}

conversions! {
    [wtilde eps aqsn aqsm_local wx vcoul_loc occ partials nbands ngpown ncouls nw iw limittwo limitone sexcut]
    [plain occupied far_begin fallback_mask fallback_pairs fallback_begins fallback_blocks half square plain_far full small]
}

// A matrix repacked on the GPU: rows and columns picked, padded, transposed.

pub const REPACK_THREADS: u32 = 256;

pub const REPACK_SYMBOL: &str = "gpp_relaid";

/// In place of a row's or column's number: zeros.
pub const NO_INDEX: u32 = u32::MAX;

arguments! {
    RepackArguments {
        /// The matrix, column-major.
        from: *const Complex64,
        /// Elements from one of its columns to the next.
        ld: u64,
        /// Its row for each row of the result, or [`NO_INDEX`].
        rows: *const u32,
        height: u32,
        /// Its column for each column of the result, or [`NO_INDEX`].
        columns: *const u32,
        /// How many. Elements are fewer than 2³².
        width: u32,
        /// Whether the result is row-major: 1, else 0.
        transposed: u32,
        /// The result.
        to: *mut Complex64,
    }
    gpp_relaid = |arguments| repack(Thread::calling(), &arguments);
}

/// Repacks a thread's share of the elements.
#[inline(always)]
pub unsafe fn repack(thread: Thread, arguments: &RepackArguments) {
    let RepackArguments { from, ld, rows, height, columns, width, transposed, to } = *arguments;
    let inner = if transposed == 0 { height } else { width };
    for at in thread.strided(height * width) {
        let (outer, inner) = split(at, inner);
        let (row, column) = if transposed == 0 { (inner, outer) } else { (outer, inner) };
        let (row, column) = (*rows.add(row as usize), *columns.add(column as usize));
        let is_there = row != NO_INDEX && column != NO_INDEX;
        *to.add(at as usize) = if is_there {
            *from.add((u64::from(column) * ld + u64::from(row)) as usize)
        } else {
            Complex64::new(0.0, 0.0)
        };
    }
}
