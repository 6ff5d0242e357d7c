//! Tables and units for people.

use std::io::{self, Write};

use comfy_table::{
    Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Row, Table, Width, presets,
};

use crate::reference::Outcome;

/// A table with these headings, the first column to the left and the others to the right.
pub fn table(headings: &[impl AsRef<str>]) -> Table {
    let mut table = Table::new();
    let style =
        if is_utf8() { presets::UTF8_FULL_CONDENSED } else { presets::ASCII_FULL_CONDENSED };
    table.load_style(style).set_header(headings.iter().map(AsRef::as_ref));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Whether the locale, if one is set, has the characters of boxes.
fn is_utf8() -> bool {
    let set = |name| std::env::var(name).ok().filter(|locale| !locale.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    locale.is_none_or(|locale| locale.to_lowercase().contains("utf"))
}

/// A table of texts, for the terminal, Markdown and the page.
pub struct Cells {
    pub headings: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

pub type Column<'a, R> = (&'a str, &'a dyn Fn(&R) -> String);

impl Cells {
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

    /// Prints the table as wide as the terminal; nothing if there are no rows.
    pub fn print(self, to: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut shown = table(&self.headings);
        // Sentences stand at the left, numbers at the right.
        for (at, column) in shown.column_iter_mut().enumerate() {
            let is_text = |row: &Vec<String>| {
                row[at].starts_with(char::is_alphabetic) && row[at].contains(' ')
            };
            if self.rows.iter().any(is_text) {
                column.set_cell_alignment(CellAlignment::Left);
            }
        }
        shown.add_rows(self.rows);
        writeln!(to, "{}", fit(shown, terminal()))
    }
}

pub fn or_dash(number: Option<impl ToString>) -> String {
    number.map_or("–".into(), |number| number.to_string())
}

/// Width of the terminal if standard output is one. MPI launchers make terminals of no width.
pub fn terminal() -> Option<u16> {
    Table::new().width().filter(|&width| width >= 20)
}

/// The table as text, wrapped between words to `width`; columns without any value are left out, and the last ones that
/// do not fit.
pub fn fit(mut table: Table, width: Option<u16>) -> String {
    let (mut taken, mut left_out) = (1, 0);
    for at in 0..table.column_count() {
        let content = |row: &Row| row.cell_iter().nth(at).map(Cell::content);
        let is_empty = table.row_iter().all(|row| content(row).is_none_or(|cell| cell == "–"));
        let letters = |text: &str| text.chars().count();
        let longest_word = |text: &str| text.split_whitespace().map(letters).max().unwrap_or(0);
        // Neither words nor short cells are broken.
        let least =
            |text: String| if letters(&text) <= 16 { letters(&text) } else { longest_word(&text) };
        let cells = table.row_iter().filter_map(content).map(least);
        let heading = table.header().and_then(content).map_or(0, |text| longest_word(&text));
        let wide = cells.max().unwrap_or(0).max(heading) as u16 + 2;
        let mut is_hidden = is_empty && !table.is_empty();
        if !is_hidden && width.is_some_and(|most| at > 0 && taken + wide + 1 > most) {
            (is_hidden, left_out) = (true, left_out + 1);
        }
        taken += if is_hidden { 0 } else { wide + 1 };
        table.column_mut(at).expect("it is counted").set_constraint(match is_hidden {
            true => ColumnConstraint::Hidden,
            false => ColumnConstraint::LowerBoundary(Width::Fixed(wide)),
        });
    }
    match width {
        None => table.force_no_tty(),
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
    };
    match left_out {
        0 => table.to_string(),
        n => format!("{table}\ncolumns left out, for which the terminal is too narrow: {n}"),
    }
}

/// An outcome as all tables have it.
pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Sampled => "sampled",
        Outcome::Incorrect => "INCORRECT",
        Outcome::NotVerified => "not verified",
        Outcome::Nondeterministic => "BITS DIFFER",
    }
}

pub fn outcome_cell(of: Outcome) -> Cell {
    Cell::new(outcome(of)).fg(match of {
        Outcome::Passed | Outcome::Sampled => Color::Green,
        Outcome::NotVerified => Color::Yellow,
        Outcome::Incorrect | Outcome::Nondeterministic => Color::Red,
    })
}

// Quantities: one unit for a column, four digits for a number.

/// A unit, and how much of the base unit it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    pub name: &'static str,
    size: f64,
}

const TIMES: [Unit; 4] = [unit("ns", 1e-9), unit("µs", 1e-6), unit("ms", 1e-3), unit("s", 1.0)];

const RATES: [Unit; 4] =
    [unit("MFLOP/s", 1e6), unit("GFLOP/s", 1e9), unit("TFLOP/s", 1e12), unit("PFLOP/s", 1e15)];

const fn unit(name: &'static str, size: f64) -> Unit {
    Unit { name, size }
}

impl Unit {
    pub fn of_times(seconds: impl IntoIterator<Item = f64>) -> Unit {
        fitting(&TIMES, seconds)
    }

    pub fn of_rates(rates: impl IntoIterator<Item = f64>) -> Unit {
        fitting(&RATES, rates)
    }

    pub fn show(self, value: f64) -> String {
        digits(value / self.size)
    }
}

pub fn time(seconds: f64) -> String {
    let unit = Unit::of_times([seconds]);
    format!("{} {}", unit.show(seconds), unit.name)
}

/// A number with four digits, or with all those before the point.
pub fn digits(value: f64) -> String {
    let first = value.abs().log10().floor();
    let decimals = if first.is_finite() { (3.0 - first).clamp(0.0, 12.0) as usize } else { 0 };
    format!("{value:.decimals$}")
}

/// A share as a change in percent: +1.2 %.
pub fn percent(change: f64) -> String {
    // Adding zero removes the sign of −0.
    let percent = (1000.0 * change).round() / 10.0 + 0.0;
    format!("{percent:+.1} %").replace('-', "−")
}

/// The largest unit that leaves a digit before the point of each value; if others would then have more than five, the
/// unit of the largest.
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
