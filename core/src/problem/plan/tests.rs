use super::batches;

#[test]
fn batches_are_pairs_if_a_kernel_does_not_hold_all() {
    let of = |nw, holds| batches(nw, holds).map(|at| (at.start, at.end)).collect::<Vec<_>>();
    assert_eq!(of(1, 3), [(0, 1)]);
    assert_eq!(of(3, 3), [(0, 3)]);
    assert_eq!(of(4, 3), [(0, 2), (2, 4)]);
    assert_eq!(of(7, 3), [(0, 2), (2, 4), (4, 6), (6, 7)]);
    assert_eq!(of(501, 512), [(0, 501)]);
    assert_eq!(of(1025, 512), [(0, 512), (512, 1024), (1024, 1025)]);
    assert_eq!(of(3, 1), [(0, 1), (1, 2), (2, 3)]);
}
