//! Tables and units for people.

use std::io::{self, Write};

use comfy_table::{
    Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Row, Table, Width, presets,
};

use crate::record::run::Times;
use crate::reference::verify::Outcome;

/// A table with these headings, the first column to the left and the others to the right.
pub fn table(headings: &[impl AsRef<str>]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header(headings.iter().map(AsRef::as_ref));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A table, for the terminal and for the page.
pub struct Cells {
    /// Of the columns.
    pub headings: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// A column: its heading, and the cell of a row.
pub type Column<'a, R> = (&'a str, &'a dyn Fn(&R) -> String);

impl Cells {
    /// Of these columns, a row of each of `of`.
    pub fn new<R>(columns: &[Column<R>], of: impl IntoIterator<Item = R>) -> Cells {
        let row = |of: R| columns.iter().map(|(_, cell)| cell(&of)).collect();
        let headings = columns.iter().map(|(heading, _)| heading.to_string()).collect();
        Cells { headings, rows: of.into_iter().map(row).collect() }
    }

    /// These columns alone, in this order.
    #[must_use]
    pub fn only<const N: usize>(self, columns: [usize; N]) -> Cells {
        let of = |cells: &[String]| columns.iter().map(|&at| cells[at].clone()).collect();
        Cells { headings: of(&self.headings), rows: self.rows.iter().map(|row| of(row)).collect() }
    }

    /// Prints the table as wide as the terminal, without those of `drops` that find no room: see [`fit`].
    /// Nothing where there are no rows.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn print(self, to: &mut dyn Write, drops: &[usize]) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut shown = table(&self.headings);
        for row in self.rows {
            shown.add_row(row.iter().map(|cell| {
                let known = OUTCOMES.into_iter().find(|of| outcome(*of) == cell);
                known.map_or_else(|| Cell::new(cell), outcome_cell)
            }));
        }
        writeln!(to, "{}", fit(shown, drops, terminal()))
    }
}

/// Text of a number that may not apply.
pub fn or_dash(number: Option<impl ToString>) -> String {
    number.map_or("–".into(), |number| number.to_string())
}

/// Width of the terminal that standard output is, if it is one. Launchers of MPI give processes terminals of
/// no width.
pub fn terminal() -> Option<u16> {
    Table::new().width().filter(|&width| width >= NARROWEST)
}

/// No terminal is narrower.
const NARROWEST: u16 = 20;

/// The table as text, at most `width` wide: columns without any value are left out, then those of
/// `drops` in turn until it fits. What is left wraps between words; where even that is too wide, columns go
/// from the last to the second, so that no number is broken.
pub fn fit(mut table: Table, drops: &[usize], width: Option<u16>) -> String {
    for at in 0..table.column_count() {
        let without = |row: &Row| content(row, at).is_none_or(|cell| cell == "–");
        if !table.is_empty() && table.row_iter().all(without) {
            hide(&mut table, at);
        }
    }
    let mut left_out = Vec::new();
    if width.is_none() {
        table.force_no_tty();
    }
    if let Some(width) = width {
        for &at in drops {
            if natural_width(&table) <= usize::from(width) {
                break;
            }
            if hide(&mut table, at) {
                left_out.extend(table.header().and_then(|row| content(row, at)));
            }
        }
        while narrowest_width(&table) > usize::from(width) {
            let shown = (1..table.column_count()).rev().find(|&at| !is_hidden(&table, at));
            let Some(at) = shown else { break };
            hide(&mut table, at);
            left_out.extend(table.header().and_then(|row| content(row, at)));
        }
        for at in 0..table.column_count() {
            let least = u16::try_from(narrowest(&table, at)).unwrap_or(u16::MAX);
            if let Some(column) = table.column_mut(at).filter(|column| !column.is_hidden()) {
                let least = Width::Fixed(least.saturating_add(column.padding_width()));
                column.set_constraint(ColumnConstraint::LowerBoundary(least));
            }
        }
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    let mut text = table.to_string();
    if !left_out.is_empty() {
        let named = format!("not shown in this width: {}", left_out.join(", "));
        text.push('\n');
        text.push_str(&wrapped(&named, usize::from(width.unwrap_or(u16::MAX))));
    }
    text
}

/// Words in lines of at most `width` letters, where they are not longer themselves.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is one");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.into());
        }
    }
    lines.join("\n")
}

fn content(row: &Row, at: usize) -> Option<String> {
    row.cell_iter().nth(at).map(|cell| cell.content().replace('\n', " "))
}

/// Hides a column; false where it was hidden already.
fn hide(table: &mut Table, at: usize) -> bool {
    let Some(column) = table.column_mut(at) else { return false };
    let shown = !column.is_hidden();
    column.set_constraint(ColumnConstraint::Hidden);
    shown
}

fn is_hidden(table: &Table, at: usize) -> bool {
    table.column(at).is_none_or(|column| column.is_hidden())
}

/// Letters of the longest cell that is not broken: what is longer is a text.
const WHOLE: usize = 16;

/// The fewest letters that a column needs: its words, and short cells as they are.
fn narrowest(table: &Table, at: usize) -> usize {
    let letters = |text: &str| text.chars().count();
    let words = |text: &str| text.split_whitespace().map(letters).max().unwrap_or(0);
    let cell = |row: &Row| {
        let text = content(row, at).unwrap_or_default();
        if letters(&text) <= WHOLE { letters(&text) } else { words(&text) }
    };
    let heading = table.header().and_then(|row| content(row, at));
    let heading = heading.map_or(0, |text| words(&text));
    table.row_iter().map(cell).max().unwrap_or(0).max(heading)
}

/// The fewest columns of a terminal that the table needs.
fn narrowest_width(table: &Table) -> usize {
    let shown = table.column_iter().enumerate().filter(|(_, column)| !column.is_hidden());
    // A blank on either side of a cell, a line behind it.
    1 + shown.map(|(at, _)| narrowest(table, at) + 3).sum::<usize>()
}

fn natural_width(table: &Table) -> usize {
    let mut table = table.clone();
    table.force_no_tty().set_content_arrangement(ContentArrangement::Disabled);
    table.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

const OUTCOMES: [Outcome; 4] =
    [Outcome::Passed, Outcome::Incorrect, Outcome::NotVerified, Outcome::Nondeterministic];

/// An outcome as it stands in every table.
pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Incorrect => "INCORRECT",
        Outcome::NotVerified => "not verified",
        Outcome::Nondeterministic => "BITS DIFFER",
    }
}

/// An outcome as a cell.
pub fn outcome_cell(of: Outcome) -> Cell {
    Cell::new(outcome(of)).fg(match of {
        Outcome::Passed => Color::Green,
        Outcome::NotVerified => Color::Yellow,
        Outcome::Incorrect | Outcome::Nondeterministic => Color::Red,
    })
}

/// The standard deviation of times in percent of their median; where it is more than half of that, the
/// shortest and the longest time.
pub fn sigma(times: &Times) -> String {
    or_dash(times.relative_sigma().map(|share| {
        if share <= 0.5 {
            return format!("{:.1} %", 100.0 * share);
        }
        let unit = Unit::of_times([times.min, times.max]);
        format!("{}–{} {}", unit.show(times.min), unit.show(times.max), unit.name)
    }))
}

/// Which operation counts rates are by.
pub fn rated_by(source: &str) -> String {
    match source.split_once(": ") {
        Some(("archived", rest)) => format!("TFLOP/s by archived operation counts ({rest})"),
        Some(("none", why)) => format!("no TFLOP/s: {why}"),
        _ => format!("TFLOP/s by operation counts: {source}"),
    }
}

// Quantities in units of their size: one unit for a column, four digits for a number.

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
