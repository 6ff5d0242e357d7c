//! What launches are given. Each list stands here or beside its kernels once and becomes the structure
//! that the host fills in and the parameters of the entries, in the same order.
//!
//! Entries take the fields one by one: through a structure passed by value the compiler no longer
//! knows that pointers point to global memory.

use crate::arrays::{Arrays, Limits};
use crate::plan::{Plan, Table};

/// The structure of a list of arguments.
macro_rules! structure {
    ([$(#[$about:meta])* $name:ident] { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name {
            /// How many there are.
            pub const COUNT: usize = [$(stringify!($field)),*].len();

            /// Where each of them stands, in the order of the entries' parameters: what a driver's
            /// launch takes. Valid as long as `self` is where it is.
            pub fn pointers(&self) -> [*const core::ffi::c_void; Self::COUNT] {
                [$((&raw const self.$field).cast()),*]
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl $name {
            /// Those that stand where a launch was told: the other way round than `pointers`.
            ///
            /// # Panics
            /// Where there are fewer.
            ///
            /// # Safety
            /// Each points to one of them, in their order.
            pub unsafe fn read(parameters: &[*const core::ffi::c_void]) -> $name {
                let mut parameters = parameters.iter();
                let mut next = || *parameters.next().expect("as many as there are");
                $name { $($field: next().cast::<$type>().read_unaligned(),)* }
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl $crate::arguments::Arguments for $name {
            fn pointers(&self) -> std::vec::Vec<*const core::ffi::c_void> {
                $name::pointers(self).into()
            }

            fn address(&self) -> *const () {
                (&raw const *self).cast()
            }
        }
    };
}
pub(crate) use structure;

/// What a launch of some kernel is given.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Arguments {
    /// Where each of them stands: what a driver's launch takes, as long as `self` is where it is.
    fn pointers(&self) -> std::vec::Vec<*const core::ffi::c_void>;

    /// Where the structure of them stands: what an entry's body on the host takes.
    fn address(&self) -> *const ();
}

/// A kernel entry of a list of arguments, which runs an expression of their structure.
macro_rules! entry {
    ([$symbol:ident $name:path, |$arguments:ident| $run:expr]
     { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        #[cfg(target_arch = "nvptx64")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $symbol($($field: $type),*) {
            use $name as Arguments;
            let $arguments = Arguments { $($field),* };
            // SAFETY: the launch contract is the entry's.
            unsafe { $run }
        }
    };
}
pub(crate) use entry;

/// A structure of arguments and the entries that take them.
macro_rules! arguments {
    ($(#[$about:meta])* $name:ident $fields:tt $($symbol:ident = |$arguments:ident| $run:expr;)*) => {
        $crate::arguments::structure! { [$(#[$about])* $name] $fields }
        $($crate::arguments::entry! { [$symbol $name, |$arguments| $run] $fields })*
    };
}
pub(crate) use arguments;

/// Gives a macro the arguments of the paper's kernels, of planned ones or of those of sorted pairs, after what
/// is in brackets.
macro_rules! list {
    (paper: $then:ident $with:tt $($more:tt)*) => {
        $crate::arguments::$then! { $with {
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
        $crate::arguments::list! { paper: $then $with
            plain: u32,
            occupied: u32,
            far_begin: u32,
            odd_mask: *const u32,
            odd_pairs: *const u32,
            odd_begins: *const u32,
            odd_blocks: u32,
            half: f64,
            square: f64,
        }
    };
    (cells: $then:ident $with:tt) => {
        $crate::arguments::$then! { $with {
            /// The pairs, those of a part next to each other; of any poles where the kernel is for such.
            poles: *const $crate::pairs::Pole,
            parts: *const $crate::pairs::Part,
            /// Matrix elements of G, `(rows, ncouls)`, zeros behind the last band.
            aqsn: *const num_complex::Complex64,
            /// Matrix elements of G′, `(rows, ngpown)`, as those of G.
            aqsm_local: *const num_complex::Complex64,
            /// Energies `ω(iw) − e(n)` in eV, `(nw, nbands)`.
            wx: *const f64,
            /// Coulomb interaction of each `igp`, `(ngpown)`.
            vcoul_loc: *const f64,
            /// Occupation of each band: 0 to 1, `(nbands)`.
            occ: *const f64,
            /// The blocks' sums, `(blocks, values)`, the values of energy `iw` from `iw · VALUES` on.
            partials: *mut f64,
            /// How many parts.
            count: u32,
            nbands: u32,
            /// Bands that the arrays have room for, a multiple of [`BANDS`](crate::cells::BANDS).
            rows: u32,
            nw: u32,
            limittwo: f64,
            limitone: f64,
            sexcut: f64,
        } }
    };
}
pub(crate) use list;

list! { paper: structure [
    /// What kernels of the original and of the swapped layout take, v0 to v8, and the yardstick's: the arrays of
    /// [`Arrays`] and more.
    PaperArguments
] }

list! { planned: structure [
    /// What kernels of the planned layout take: v9 and later.
    PlannedArguments
] }

list! { cells: structure [
    /// What kernels of pairs sorted by their poles take: see [`crate::cells`].
    CellsArguments
] }

impl PaperArguments {
    /// The arrays as the bodies see them.
    #[inline(always)]
    pub fn arrays(&self) -> Arrays {
        let PaperArguments { wtilde, eps, aqsn, aqsm_local, wx, vcoul_loc, occ, .. } = *self;
        let PaperArguments { nbands, ngpown, ncouls, nw, limittwo, limitone, sexcut, .. } = *self;
        let limits = Limits { limittwo, limitone, sexcut };
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
            limits,
            plan: Plan::NONE,
        }
    }
}

/// What the planned arguments have in common with the paper's.
macro_rules! part {
    ([$name:ident] { $($(#[$doc:meta])* $field:ident: $type:ty,)* }) => {
        impl $name {
            /// The paper's arguments with a plan, whose table's `wx` entries do not take.
            pub fn new(paper: PaperArguments, plan: Plan) -> $name {
                let Plan { plain, occupied, far_begin, table, .. } = plan;
                let Plan { odd_mask, odd_pairs, odd_begins, odd_blocks, .. } = plan;
                let Table { half, square, .. } = table;
                $name {
                    $($field: paper.$field,)*
                    plain,
                    occupied,
                    far_begin,
                    odd_mask,
                    odd_pairs,
                    odd_begins,
                    odd_blocks,
                    half,
                    square,
                }
            }

            /// The paper's arguments among them.
            #[inline(always)]
            pub fn paper(&self) -> PaperArguments {
                PaperArguments { $($field: self.$field),* }
            }
        }
    };
}
use part;

list! { paper: part [PlannedArguments] }

impl PlannedArguments {
    /// The arrays as the bodies see them, with the table of energies, which is null on the GPU.
    #[inline(always)]
    pub fn arrays(&self, table: *const f64) -> Arrays {
        let PlannedArguments { plain, occupied, far_begin, half, square, .. } = *self;
        let PlannedArguments { odd_mask, odd_pairs, odd_begins, odd_blocks, .. } = *self;
        let table = Table { wx: table, half, square };
        let plan =
            Plan { plain, occupied, far_begin, odd_mask, odd_pairs, odd_begins, odd_blocks, table };
        Arrays { plan, ..self.paper().arrays() }
    }
}
