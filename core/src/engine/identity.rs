//! The identity of a task: all that its sums depend on, to the bit.

use gpp_kernels::sums::VALUES;
use serde::{Deserialize, Serialize};

use crate::devices::SlabSums;
use crate::error::Difference;
use crate::problem::slabs;

/// All that the sums of a version's slabs depend on. A checkpoint of another identity is not continued,
/// ranks with different identities share no run, and records keep it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Name of the system or file; not compared where the contents are equal.
    pub problem: String,
    /// A digest of the problem: [`crate::problem::digest::Contents`].
    pub contents: String,
    /// A digest of all columns of its slabs; null where the digest of the contents is enough, or where it is
    /// not known.
    pub columns: Option<String>,
    /// Number of `igp`.
    pub ngpown: usize,
    /// Number of energies.
    pub nw: usize,
    /// A digest of the energies.
    pub energies: String,
    /// Id of the version.
    pub version: String,
    /// The version's kernels: their symbols and caps on registers.
    pub kernel: String,
    /// A digest of the kernels' code: of their PTX on a GPU, elsewhere of their sources.
    pub code: String,
    /// The program, its commit and compiler, which also plan what kernels do.
    pub program: String,
    /// The back end that runs the kernels: a processor, or a GPU and its compute capability.
    pub back_end: String,
    /// The processor's vectors, of versions made for processors.
    pub vectors: Option<String>,
    /// Number of `igp` of a slab; the last slab may have fewer.
    pub slab: usize,
}

/// A part of an identity.
struct Part {
    /// Its name in messages.
    what: &'static str,
    value: String,
    /// The flag that sets it, if there is one.
    flag: &'static str,
}

/// The program's name in messages.
const PROGRAM: &str = "program";

/// The name in messages of the size of a slab.
const SLAB: &str = "slab size";

/// The name in messages of the problem's contents.
const PROBLEM: &str = "--system, --input and --seed";

/// Number of parts that are of the problem's data.
const OF_DATA: usize = 3;

impl Identity {
    /// The first part that differs in another identity, if any.
    pub fn difference(&self, found: &Identity) -> Option<Difference> {
        self.first_difference(found, |_| true)
    }

    /// The first part that differs among those known before slabs are: all but their size and the columns.
    pub fn difference_before_slabs(&self, found: &Identity) -> Option<Difference> {
        self.first_difference(found, |what| what != SLAB && what != COLUMNS)
    }

    /// The first part that differs, except for the program that plans, the size of slabs and the columns.
    pub fn difference_of_kernels(&self, found: &Identity) -> Option<Difference> {
        self.first_difference(found, |what| ![PROGRAM, SLAB, COLUMNS].contains(&what))
    }

    fn first_difference(
        &self,
        found: &Identity,
        counts: impl Fn(&'static str) -> bool,
    ) -> Option<Difference> {
        let pairs = self.parts().into_iter().zip(found.parts()).enumerate();
        let mut differing =
            pairs.filter(|(_, (own, other))| own.value != other.value && counts(own.what));
        let (at, (own, other)) = differing.next()?;
        if at < OF_DATA && self.problem != found.problem {
            let (needed, found) = (self.problem.clone(), found.problem.clone());
            return Some(Difference { field: "problem".into(), needed, found, flag: PROBLEM });
        }
        Some(Difference {
            field: own.what.into(),
            needed: own.value,
            found: other.value,
            flag: own.flag,
        })
    }

    /// Its parts, the most telling first, those of the problem's data before all.
    fn parts(&self) -> [Part; 12] {
        // So that no field is forgotten here.
        let Identity {
            problem: _,
            contents,
            columns,
            ngpown,
            nw,
            energies,
            version,
            kernel,
            code,
            program,
            back_end,
            vectors,
            slab,
        } = self;
        let part = |what, value: &str, flag| Part { what, value: value.into(), flag };
        let or_none = |value: &'_ Option<String>| value.clone().unwrap_or("none".into());
        [
            part("ngpown", &ngpown.to_string(), PROBLEM),
            part("contents", contents, PROBLEM),
            part(COLUMNS, &or_none(columns), PROBLEM),
            part("number of energies", &nw.to_string(), ENERGIES),
            part("energies", energies, ENERGIES),
            part("version", version, "--version"),
            part("back end", back_end, "--device"),
            part("vectors", &or_none(vectors), "--simd"),
            part("kernel", kernel, ""),
            part("kernels' code", code, "GPP_PTX"),
            part(PROGRAM, program, ""),
            part(SLAB, &slab.to_string(), "--slab"),
        ]
    }

    /// Why these sums cannot be of slab `at`, if they cannot.
    pub(super) fn misfit(&self, at: usize, sums: &SlabSums) -> Option<String> {
        let Some(slab) = slabs::range(self.ngpown, self.slab, at) else {
            let count = slabs::count(self.ngpown, self.slab);
            return Some(format!("needs slabs below {count}, has slab {at}"));
        };
        let (groups, igp) = (sums.groups, slab.len());
        if !(1..=igp).contains(&groups) {
            return Some(format!("slab {at} needs 1 to {igp} groups, has {groups}"));
        }
        // What a damaged file says of energies may be any number.
        let needed = self.nw.checked_mul(VALUES).and_then(|values| values.checked_mul(groups));
        let found = sums.values.len();
        (needed != Some(found)).then(|| {
            format!("slab {at} needs {} values, has {found}", needed.unwrap_or(usize::MAX))
        })
    }
}

/// The name in messages of the energies.
const ENERGIES: &str = "--energies and --nw";

/// The name in messages of the digest of all columns.
const COLUMNS: &str = "columns";
