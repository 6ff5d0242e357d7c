//! What a checkpoint is of.

use gpp_kernels::sums::VALUES;
use serde::{Deserialize, Serialize};

use crate::devices::SlabSums;
use crate::error::Difference;
use crate::problem::slabs;

/// All that a slab's sums depend on, to the bit: a run whose identity is another does not continue
/// a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Name of the system or file.
    pub problem: String,
    /// A digest of the problem's data.
    pub contents: String,
    /// Id of the version.
    pub version: String,
    /// The version's kernel: its symbol or shape.
    pub kernel: String,
    /// The compiler of the kernels.
    pub compiler: String,
    /// What runs them: a processor, or a GPU and its compute capability.
    pub back_end: String,
    /// Number of `igp`.
    pub ngpown: usize,
    /// Number of energies.
    pub nw: usize,
    /// Number of `igp` of a slab, the last excepted.
    pub slab: usize,
}

/// What the size of a slab is called in messages.
const SLAB: &str = "slab size";

impl Identity {
    /// What is different in that of a checkpoint, if anything.
    pub(super) fn difference(&self, found: &Identity) -> Option<Difference> {
        let mut pairs = self.fields().into_iter().zip(found.fields());
        let ((field, needed), (_, found)) = pairs.find(|(needed, found)| needed != found)?;
        let remedy = match field {
            SLAB => format!("; --slab {found} continues it"),
            _ => String::new(),
        };
        Some(Difference { field, needed, found, remedy })
    }

    /// Each field with what it is called, the most telling first.
    fn fields(&self) -> [(&'static str, String); 9] {
        // So that no field is forgotten here.
        let Identity { problem, contents, version, kernel, compiler, back_end, ngpown, nw, slab } =
            self;
        [
            ("problem", problem.clone()),
            ("ngpown", ngpown.to_string()),
            ("number of energies", nw.to_string()),
            ("contents", contents.clone()),
            ("version", version.clone()),
            ("back end", back_end.clone()),
            ("kernel", kernel.clone()),
            ("compiler", compiler.clone()),
            (SLAB, slab.to_string()),
        ]
    }

    /// Why these cannot be the sums of the slab `at`, if they cannot.
    pub(super) fn misfit(&self, at: usize, sums: &SlabSums) -> Option<String> {
        let Some(slab) = slabs::range(self.ngpown, self.slab, at) else {
            let count = slabs::count(self.ngpown, self.slab);
            return Some(format!("needs slabs below {count}, has slab {at}"));
        };
        let (groups, igp) = (sums.groups, slab.len());
        if !(1..=igp).contains(&groups) {
            return Some(format!("slab {at} needs 1 to {igp} groups, has {groups}"));
        }
        let (needed, found) = (groups * self.nw * VALUES, sums.values.len());
        (needed != found).then(|| format!("slab {at} needs {needed} values, has {found}"))
    }
}
