//! Sums of groups of `igp`, added up in the order of `igp`.
//!
//! Each output is added by Neumaier's compensated summation (A. Neumaier, ZAMM 54, 39, 1974), one group
//! after the other. So bits do not depend on which worker summed a group, nor on the number of slabs.

use gpp_cpu::compensated::Compensated;
use gpp_kernels::sums::VALUES;

use crate::devices::SlabSums;
use crate::problem::Sums;

/// The sums of `nw` energies over slabs given in the order of `igp`.
pub fn of<'a>(slabs: impl IntoIterator<Item = &'a SlabSums>, nw: usize) -> Sums {
    let mut totals = vec![Compensated::default(); nw * VALUES];
    for slab in slabs {
        for (value, total) in totals.iter_mut().enumerate() {
            slab.of_value(value).iter().for_each(|&group| total.add(group));
        }
    }
    let values: Vec<f64> = totals.into_iter().map(Compensated::value).collect();
    Sums::from_values(&values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::Upload;

    #[test]
    fn slabs_of_any_size_give_the_same_bits() {
        let groups: Vec<f64> = (0..37).map(|g| f64::from(g * g - 300) * 0.1 + 1e9).collect();
        let slabs = |size: usize| -> Sums {
            let slabs: Vec<SlabSums> = groups
                .chunks(size)
                .map(|groups| SlabSums {
                    values: (0..VALUES)
                        .flat_map(|v| groups.iter().map(move |g| g + v as f64))
                        .collect(),
                    groups: groups.len(),
                    seconds: 0.0,
                    blocks: None,
                    upload: Upload::default(),
                })
                .collect();
            of(&slabs, 1)
        };
        for size in [1, 2, 3, 7, 36] {
            assert_eq!(slabs(size), slabs(37), "{size}");
        }
    }
}
