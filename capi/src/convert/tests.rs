use super::*;

#[test]
fn what_lies_between_columns_overlaps_nothing() {
    // Columns of 4 bytes, 10 apart, from 100 on.
    let span = Span { all: 100..124, column: 4, step: 10 };
    for (other, meets) in [
        (90..100, false),
        (90..101, true),
        (103..104, true),
        (104..110, false),
        (104..111, true),
        (109..110, false),
        (113..114, true),
        (114..120, false),
        (123..130, true),
        (124..130, false),
        (0..200, true),
    ] {
        assert_eq!(span.meets(&other), meets, "{other:?}");
    }
    assert!(Span::of(5..6).meets(&(5..6)) && !Span::of(5..6).meets(&(6..7)));
}
