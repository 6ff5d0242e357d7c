//! The arguments of kernels. Each list is written once, here or with its kernels, and becomes both the structure that the
//! host fills in and the parameters of the entries.
//!
//! Entries take the fields one by one: in a structure passed by value, the compiler no longer knows
//! that pointers point to global memory.

use crate::arrays::{Arrays, Limits};
use crate::plan::Plan;

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
            pub const COUNT: usize = [$(stringify!($field)),*].len();

            /// The address of each argument, as the driver's launch takes them.
            pub fn pointers(&self) -> [*const core::ffi::c_void; Self::COUNT] {
                [$((&raw const self.$field).cast()),*]
            }
        }

        #[cfg(not(target_arch = "nvptx64"))]
        impl $name {
            /// The inverse of `pointers`.
            pub unsafe fn read(parameters: &[*const core::ffi::c_void]) -> $name {
                let mut parameters = parameters.iter();
                let mut next = || *parameters.next().expect("a pointer to each argument");
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

/// The arguments of a launch.
#[cfg(not(target_arch = "nvptx64"))]
pub trait Arguments {
    /// The address of each, as the driver's launch takes them.
    fn pointers(&self) -> std::vec::Vec<*const core::ffi::c_void>;

    /// The address of the structure, as an entry's body on the host takes it.
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
            // SAFETY: the launch contract.
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

/// Passes what is in brackets to a macro, then the arguments of the paper's kernels or of planned ones.
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
            fallback_mask: *const u32,
            fallback_pairs: *const u32,
            fallback_begins: *const u32,
            fallback_blocks: u32,
            half: f64,
            square: f64,
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
            plan: Plan::NONE,
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
    [plain occupied far_begin fallback_mask fallback_pairs fallback_begins fallback_blocks half square]
}
