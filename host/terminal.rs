//! Tables and numbers for people.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use crate::reference::Outcome;

pub struct TextTable {
    pub headings: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

pub type Column<'a, R> = (&'a str, &'a dyn Fn(&R) -> String);

impl TextTable {
    /// Without the columns in which no row has a value.
    pub fn new<R>(columns: &[Column<R>], rows: impl IntoIterator<Item = R>) -> TextTable {
        let rows: Vec<R> = rows.into_iter().collect();
        let mut columns = columns.to_vec();
        columns.retain(|(_, cell)| rows.iter().any(|row| cell(row) != "–"));
        let headings = columns.iter().map(|(heading, _)| heading.to_string()).collect();
        let cells = |row: &R| columns.iter().map(|(_, cell)| cell(row)).collect();
        TextTable { headings, rows: rows.iter().map(cells).collect() }
    }

    /// Prints the table, sentences wrapped to the width of a terminal; nothing if there are no rows.
    pub fn print(self, to: &mut dyn Write) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED).set_header(self.headings);
        // MPI launchers make terminals of no width.
        if table.width().is_some_and(|width| width >= 20) {
            table.set_content_arrangement(ContentArrangement::Dynamic);
        }
        // Sentences stand at the left, and numbers at the right and on one line.
        for (index, column) in table.column_iter_mut().enumerate() {
            let is_text = |row: &Vec<String>| {
                row[index].starts_with(char::is_alphabetic) && row[index].matches(' ').count() > 1
            };
            if !self.rows.iter().any(is_text) {
                column.set_constraint(ColumnConstraint::ContentWidth);
                let is_name = |row: &Vec<String>| row[index].starts_with(char::is_alphabetic);
                if index > 0 || !self.rows.iter().any(is_name) {
                    column.set_cell_alignment(CellAlignment::Right);
                }
            }
        }
        writeln!(to, "{}", table.add_rows(self.rows))
    }
}

pub fn or_dash(number: Option<impl ToString>) -> String {
    number.map_or("–".into(), |number| number.to_string())
}

/// A number with so many decimals.
pub fn fixed(number: Option<f64>, decimals: usize) -> String {
    or_dash(number.map(|number| format!("{number:.decimals$}")))
}

/// A number with two digits and an exponent.
pub fn rough(number: Option<f64>) -> String {
    or_dash(number.map(|number| format!("{number:.1e}")))
}

pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Passed => "passed",
        Outcome::Incorrect => "INCORRECT",
        Outcome::NotVerified => "not verified",
        Outcome::Nondeterministic => "BITS DIFFER",
    }
}

/// Milliseconds with four digits.
pub fn ms(seconds: f64) -> String {
    digits(1e3 * seconds)
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
