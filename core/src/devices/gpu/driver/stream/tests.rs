use super::*;

#[test]
fn no_more_is_taken_than_there_is() {
    let budget = Budget::of(100);
    let first = budget.take("one", 60).unwrap();
    let error = budget.take("two", 41).unwrap_err().to_string();
    assert!(error.contains("device memory for two"), "{error}");
    assert!(budget.take("all there is", u64::MAX).is_err());
    let second = budget.take("two", 40).unwrap();
    assert_eq!(budget.left(), 0);
    drop(first);
    assert_eq!(budget.left(), 60);
    drop(second);
    assert_eq!(budget.left(), 100);
}
