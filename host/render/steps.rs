//! The steps between two versions, a line each.

use std::io::{self, Write};

use comfy_table::CellAlignment;

use super::table::{fit, or_dash, table};
use super::units::{Unit, percent};
use crate::analysis::steps::Step;

/// The steps between two versions as a table; nothing where there are none.
///
/// # Errors
/// Those of `to`.
pub fn text(to: &mut dyn Write, steps: &[Step], width: Option<u16>) -> io::Result<()> {
    if steps.is_empty() {
        return Ok(());
    }
    let (headings, rows) = cells(steps);
    let mut shown = table(&headings);
    for at in [1, 4] {
        if let Some(column) = shown.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    shown.add_rows(rows);
    writeln!(to, "\nstep by step:\n{}", fit(shown, &[1], width))
}

/// The same for a page.
pub fn markdown(steps: &[Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let (headings, rows) = cells(steps);
    let rule = vec!["---".to_string(); headings.len()];
    let all = [vec![headings, rule], rows].concat();
    let lines = all.iter().map(|cells| format!("| {} |\n", cells.join(" | ")));
    format!("\nStep by step:\n\n{}", lines.collect::<String>())
}

fn cells(steps: &[Step]) -> (Vec<String>, Vec<Vec<String>>) {
    let times = steps.iter().filter_map(|step| step.time);
    let unit = Unit::of_times(times.map(|time| time.now_s));
    let time = format!("time [{}]", unit.name);
    let headings = ["version", "what it changes", &time, "change", "by the ranks of the times"];
    let row = |step: &Step| {
        vec![
            step.version.into(),
            step.what.into(),
            or_dash(step.time.map(|time| unit.show(time.now_s))),
            or_dash(step.time.map(|time| percent(time.change))),
            or_dash(step.time.map(|time| time.words())),
        ]
    };
    (headings.map(str::to_string).into(), steps.iter().map(row).collect())
}
