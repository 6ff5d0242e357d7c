#[test]
fn spans_that_overlap_are_counted_once() {
    let spans = vec![[4.0, 5.0], [0.0, 2.0], [1.0, 3.0], [4.25, 4.5]];
    assert_eq!(super::covered(spans), 4.0);
}
