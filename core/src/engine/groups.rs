//! Tells whether a kernel's sums depend on the size of slabs.

use crate::catalogue::Kernel;
use crate::error::{Error, Result};
use crate::problem::{Batch, Batches, Slabs};

/// Fails where a slab other than the last ends within a group of igp, or where groups have not the same size
/// at all energies.
///
/// # Errors
/// [`Error::Data`].
pub fn require_whole(slabs: Slabs, kernel: Kernel, batches: &Batches) -> Result<()> {
    let wrong = |what: String| {
        let (origin, what) = (slabs.frame().name().into(), format!("{} {what}", kernel.id()));
        Err(Error::Data { origin, what })
    };
    let of_batch = |batch: &Batch| batch.plan().igp_of_group(kernel);
    let group = of_batch(&batches.first());
    if batches.kinds().any(|batch| of_batch(&batch) != group) {
        return wrong(
            "has groups of one size where the constant memory holds the energies, of another where it does \
             not, and this problem has both: it needs the shape of tiles that it has by default"
                .into(),
        );
    }
    match group {
        Some(group) if slabs.count() > 1 && !slabs.igp().is_multiple_of(group) => {
            let found = slabs.igp();
            wrong(format!("needs slabs of whole groups, {group} igp each; they have {found} igp"))
        }
        _ => Ok(()),
    }
}
