use super::*;

#[test]
fn numbers_in_either_style() {
    for (values, style, numbers) in [
        (vec!["1,234", "9.57"], Style::Point, vec![1234.0, 9.57]),
        (vec!["1.234", "9,57"], Style::Comma, vec![1234.0, 9.57]),
        (vec!["1,234,567"], Style::Point, vec![1_234_567.0]),
        (vec!["1.234.567,8"], Style::Comma, vec![1_234_567.8]),
        (vec!["0.125"], Style::Point, vec![0.125]),
        (vec!["n/a", "12"], Style::Point, vec![12.0]),
    ] {
        let found = Style::of(values.iter().copied());
        assert_eq!(found, style, "{values:?}");
        let parsed: Vec<f64> = values.iter().filter_map(|v| found.number(v)).collect();
        assert_eq!(parsed, numbers);
    }
    assert_eq!(Style::Point.number("n/a"), None);
    assert_eq!(Style::Point.number("nan"), None);
    assert_eq!(Style::Point.number("inf"), None);
}

#[test]
fn units_are_brought_to_their_base() {
    assert_eq!(scale("usecond"), Some(1e-6));
    assert_eq!(scale("Gbyte"), Some(1e9));
    assert_eq!(scale("furlong"), None);
}
