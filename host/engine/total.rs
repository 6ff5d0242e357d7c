//! Sums of groups of `igp`, added up in the order of `igp`.
//!
//! Each output is added by Neumaier's compensated summation (A. Neumaier, ZAMM 54, 39, 1974), one group
//! after the other, whoever summed the groups and in how many slabs: the same groups give the same bits.

use gpp_kernels::sums::VALUES;

use crate::devices::SlabSums;
use crate::problem::Sums;

/// A sum and what its additions have rounded off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Compensated {
    sum: f64,
    lost: f64,
}

impl Compensated {
    fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        self.lost += if self.sum.abs() >= term.abs() {
            (self.sum - sum) + term
        } else {
            (term - sum) + self.sum
        };
        self.sum = sum;
    }

    /// The sum; where it is not finite, as it stands: nothing is known of what it lost.
    fn value(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

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

    fn total(terms: &[f64]) -> f64 {
        let mut total = Compensated::default();
        terms.iter().for_each(|&term| total.add(term));
        total.value()
    }

    #[test]
    fn what_additions_round_off_comes_back() {
        assert_eq!(total(&[1e16, 1.0, -1e16]), 1.0);
        assert_eq!(total(&[1.0, 1e100, 1.0, -1e100]), 2.0);
        assert_eq!(total(&[]), 0.0);
        assert_eq!(total(&[0.1]).to_bits(), 0.1f64.to_bits());
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        assert!(total(&[1.0, f64::NAN, 2.0]).is_nan());
        assert_eq!(total(&[1.0, f64::INFINITY]), f64::INFINITY);
    }

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
                    blocks: 1,
                })
                .collect();
            of(&slabs, 1)
        };
        for size in [1, 2, 3, 7, 36] {
            assert_eq!(slabs(size), slabs(37), "{size}");
        }
    }
}
