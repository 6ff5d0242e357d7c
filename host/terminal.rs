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
    pub headings: Vec<String>,
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

    /// Without the columns in which no row has a value.
    #[must_use]
    pub fn filled(self) -> Cells {
        let has = |at: &usize| self.rows.iter().any(|row| row[*at] != "–");
        let columns: Vec<usize> = (0..self.headings.len()).filter(has).collect();
        let of = |cells: &[String]| columns.iter().map(|&at| cells[at].clone()).collect();
        Cells { headings: of(&self.headings), rows: self.rows.iter().map(|row| of(row)).collect() }
    }

    /// Prints the table as wide as the terminal; nothing where there are no rows.
    pub fn print(self, to: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut shown = table(&self.headings);
        // Words stand at the left, numbers at the right.
        let is_text = |row: &Vec<String>, at: usize| {
            row[at].starts_with(char::is_alphabetic) && row[at].contains(' ')
        };
        for at in 0..self.headings.len() {
            if let (true, Some(column)) =
                (self.rows.iter().any(|row| is_text(row, at)), shown.column_mut(at))
            {
                column.set_cell_alignment(CellAlignment::Left);
            }
        }
        for row in self.rows {
            shown.add_row(row.iter().map(|cell| {
                let known = OUTCOMES.into_iter().find(|of| outcome(*of) == cell);
                known.map_or_else(|| Cell::new(cell), outcome_cell)
            }));
        }
        writeln!(to, "{}", fit(shown, terminal()))
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

const NARROWEST: u16 = 20;

/// The table as text, wrapped between words to `width` where that is possible; columns without any value are left out.
pub fn fit(mut table: Table, width: Option<u16>) -> String {
    for at in 0..table.column_count() {
        let without = |row: &Row| content(row, at).is_none_or(|cell| cell == "–");
        let is_empty = !table.is_empty() && table.row_iter().all(without);
        let least = Width::Fixed(narrowest(&table, at));
        if let Some(column) = table.column_mut(at) {
            column.set_constraint(match is_empty {
                true => ColumnConstraint::Hidden,
                false => ColumnConstraint::LowerBoundary(least),
            });
        }
    }
    match width {
        None => table.force_no_tty(),
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
    };
    table.to_string()
}

fn content(row: &Row, at: usize) -> Option<String> {
    row.cell_iter().nth(at).map(|cell| cell.content().replace('\n', " "))
}

/// The fewest letters of a column in which no word is broken, and no short cell.
fn narrowest(table: &Table, at: usize) -> u16 {
    let letters = |text: &str| text.chars().count();
    let words = |text: &str| text.split_whitespace().map(letters).max().unwrap_or(0);
    let cell = |row: &Row| {
        let text = content(row, at).unwrap_or_default();
        if letters(&text) <= 16 { letters(&text) } else { words(&text) }
    };
    let heading = table.header().and_then(|row| content(row, at)).map_or(0, |text| words(&text));
    // A blank on either side of a cell.
    table.row_iter().map(cell).max().unwrap_or(0).max(heading) as u16 + 2
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

pub fn rated_by(source: &str) -> String {
    match source.split_once(": ") {
        Some(("archived", rest)) => format!("TFLOP/s from stored operation counts ({rest})"),
        Some(("none", why)) => format!("no TFLOP/s: {why}"),
        _ => format!("TFLOP/s from operation counts: {source}"),
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

const fn unit(name: &'static str, size: f64) -> Unit {
    Unit { name, size }
}

const DIGITS: i32 = 4;

impl Unit {
    pub fn of_times(seconds: impl IntoIterator<Item = f64>) -> Unit {
        fitting(&TIMES, seconds)
    }

    pub fn of_rates(rates: impl IntoIterator<Item = f64>) -> Unit {
        fitting(&RATES, rates)
    }

    pub const MILLISECONDS: Unit = unit("ms", 1e-3);

    pub fn show(self, value: f64) -> String {
        digits(value / self.size)
    }
}

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
mod tests;
