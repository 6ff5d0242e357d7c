//! Quantities in units of their size: one unit for a column, four digits for a number.

/// A unit, and how much of the base unit it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// As it stands behind a number and in a heading.
    pub name: &'static str,
    size: f64,
}

const TIMES: [Unit; 4] = [unit("ns", 1e-9), unit("µs", 1e-6), unit("ms", 1e-3), unit("s", 1.0)];

const RATES: [Unit; 4] =
    [unit("MFLOP/s", 1e6), unit("GFLOP/s", 1e9), unit("TFLOP/s", 1e12), unit("PFLOP/s", 1e15)];

const OPERATIONS: [Unit; 4] =
    [unit("MFLOP", 1e6), unit("GFLOP", 1e9), unit("TFLOP", 1e12), unit("PFLOP", 1e15)];

const fn unit(name: &'static str, size: f64) -> Unit {
    Unit { name, size }
}

/// Digits of a number.
const DIGITS: i32 = 4;

impl Unit {
    /// For times in seconds.
    pub fn of_times(seconds: impl IntoIterator<Item = f64>) -> Unit {
        fitting(&TIMES, seconds)
    }

    /// For operations a second.
    pub fn of_rates(rates: impl IntoIterator<Item = f64>) -> Unit {
        fitting(&RATES, rates)
    }

    /// For numbers of operations.
    pub fn of_operations(counts: impl IntoIterator<Item = f64>) -> Unit {
        fitting(&OPERATIONS, counts)
    }

    /// Milliseconds, where others beside them are.
    pub const MILLISECONDS: Unit = unit("ms", 1e-3);

    /// A number in this unit.
    pub fn show(self, value: f64) -> String {
        digits(value / self.size)
    }
}

/// A time with its unit.
pub fn time(seconds: f64) -> String {
    let unit = Unit::of_times([seconds]);
    format!("{} {}", unit.show(seconds), unit.name)
}

/// A number of four digits, or of all those before the point.
pub fn digits(value: f64) -> String {
    let first = value.abs().log10().floor();
    let decimals =
        if first.is_finite() { (DIGITS - 1 - first as i32).clamp(0, 12) as usize } else { 0 };
    format!("{value:.decimals$}")
}

/// A share as a change in percent: +1.2 %.
pub fn percent(change: f64) -> String {
    // Nothing has no sign.
    let percent = (1000.0 * change).round() / 10.0 + 0.0;
    format!("{percent:+.1} %").replace('-', "−")
}

/// The largest unit that leaves a digit before the point of each, or the largest of all where they are so far
/// apart that others would have more than five.
fn fitting(units: &[Unit], values: impl IntoIterator<Item = f64>) -> Unit {
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for value in values.into_iter().map(f64::abs).filter(|value| *value > 0.0 && value.is_finite())
    {
        (least, most) = (least.min(value), most.max(value));
    }
    let by_least = units.iter().rev().find(|unit| least >= unit.size).unwrap_or(&units[0]);
    let by_most = units.iter().find(|unit| most / unit.size < 1e5).unwrap_or(by_least);
    if by_most.size > by_least.size { *by_most } else { *by_least }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(Unit::of_operations([3.77e6]).name, "MFLOP");
    }
}
