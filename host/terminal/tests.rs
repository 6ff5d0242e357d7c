use super::*;

#[test]
fn numbers_have_four_digits_and_columns_one_unit() {
    for (seconds, text) in [
        (0.0146, "14.60 ms"),
        (0.23861, "238.6 ms"),
        (3602.083127, "3602 s"),
        (12_345.6, "12346 s"),
        (3.7e-6, "3.700 µs"),
        (2.1e-8, "21.00 ns"),
        (0.0, "0 s"),
        (f64::NAN, "NaN s"),
    ] {
        assert_eq!(time(seconds), text);
    }
    let column = |values: &[f64]| {
        let unit = Unit::of_times(values.iter().copied());
        let cells: Vec<String> = values.iter().map(|value| unit.show(*value)).collect();
        format!("{} {}", cells.join(" "), unit.name)
    };
    assert_eq!(column(&[0.0146, 0.0383]), "14.60 38.30 ms");
    assert_eq!(column(&[0.0146, 14.6]), "14.60 14600 ms");
    assert_eq!(column(&[0.0146, 3602.0]), "0.01460 3602 s");
    assert_eq!(Unit::of_rates([3.4e10, 5.0e11]).show(3.4e10), "34.00");
}
