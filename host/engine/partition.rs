//! Slabs: ranges of `igp` of the same size, the last one smaller.

use std::ops::Range;

/// The slabs of `igp` numbers each, in their order.
pub fn slabs(ngpown: usize, igp: usize) -> Vec<Range<usize>> {
    let size = igp.max(1);
    (0..ngpown.div_ceil(size)).map(|at| at * size..((at + 1) * size).min(ngpown)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_cover_every_igp_once_and_in_order() {
        for (ngpown, igp) in [(1, 1), (7, 16), (16, 16), (33, 16), (1385, 48), (5, usize::MAX)] {
            let slabs = slabs(ngpown, igp);
            let all: Vec<usize> = slabs.iter().flat_map(Clone::clone).collect();
            assert_eq!(all, (0..ngpown).collect::<Vec<_>>());
            let last = slabs.len() - 1;
            assert!(slabs[..last].iter().all(|slab| slab.len() == igp));
        }
    }
}
