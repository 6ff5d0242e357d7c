use super::*;
use crate::offdiag::mma;

#[test]
fn packed_operands_are_what_lanes_load() {
    // A lane loads the pairs of elements 0 and 1, and of 2 and 3.
    for lane in 0..32 {
        for element in 0..4 {
            let (row, k) = mma::position_a(lane, element);
            let at = (element / 2 * 64 + lane * 2 + element % 2) as usize;
            assert_eq!(packed_a(row as usize, k as usize, 1), at);
            let behind = 5 * 3 * A_FRAGMENT as usize + 2 * A_FRAGMENT as usize + at;
            assert_eq!(packed_a(32 + row as usize, 40 + k as usize, 3), behind);
        }
        for element in 0..2 {
            let (k, column) = mma::position_b(lane, element);
            let at = (lane * 2 + element) as usize;
            assert_eq!(packed_b(k as usize, column as usize, 1, 3), at);
            let fragment = 3 * B_FRAGMENT as usize;
            assert_eq!(packed_b(16 + k as usize, 8 + column as usize, 4, 3), 9 * fragment + at);
        }
    }
}
