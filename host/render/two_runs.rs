//! Two runs side by side, in every form.

use std::io::{self, Write};

use comfy_table::CellAlignment;
use serde::Serialize;

use super::table::{fit, or_dash, table};
use super::units::{Unit, percent};
use crate::analysis::two_runs::{Difference, End, Row};

/// Layout of the JSON.
const SCHEMA: u32 = 1;

/// For the terminal.
///
/// # Errors
/// Those of `to`.
pub fn text(to: &mut dyn Write, of: &Difference, width: Option<u16>) -> io::Result<()> {
    head(of).iter().try_for_each(|line| writeln!(to, "{line}"))?;
    let (headings, rows) = cells(of);
    let mut shown = table(&headings);
    if let Some(column) = shown.column_mut(VERDICT) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    shown.add_rows(rows);
    writeln!(to, "{}", fit(shown, &[7, 5, 6], width))?;
    of.left_out.iter().try_for_each(|what| writeln!(to, "left out: {what}"))
}

/// For a page.
pub fn markdown(of: &Difference) -> String {
    let (headings, rows) = cells(of);
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = vec!["---".to_string(); headings.len()];
    let list =
        |lines: &[String]| lines.iter().map(|text| format!("- {text}\n")).collect::<String>();
    let left_out: Vec<String> =
        of.left_out.iter().map(|what| format!("left out: {what}")).collect();
    let rows: String = rows.iter().map(|row| line(row)).collect();
    let table = format!("{}{}{rows}", line(&headings), line(&rule));
    format!("{}\n{table}\n{}", list(&head(of)), list(&left_out))
}

/// For a program.
///
/// # Errors
/// Those of `to`.
pub fn json(to: &mut dyn Write, of: &Difference) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: u32,
        #[serde(flatten)]
        of: &'a Difference,
    }
    writeln!(to, "{}", crate::record::plain(&Document { schema: SCHEMA, of }))
}

/// What is compared.
fn head(of: &Difference) -> Vec<String> {
    let line = |which: &str, end: &End| {
        let End { file, device, date, commit } = end;
        let more = [date, commit].into_iter().flatten().map(|text| format!(", {text}"));
        format!("{which}: {file}, {} on {device}{}", of.system, more.collect::<String>())
    };
    vec![line("before", &of.before), line("now", &of.now)]
}

/// The column of the verdict.
const VERDICT: usize = 4;

fn cells(of: &Difference) -> (Vec<String>, Vec<Vec<String>>) {
    let unit = Unit::of_times(of.rows.iter().flat_map(|row| [row.time.before_s, row.time.now_s]));
    let headings = [
        "version",
        &format!("before [{}]", unit.name),
        &format!("now [{}]", unit.name),
        "change",
        "by the ranks of the times",
        "SM before [MHz]",
        "now [MHz]",
        "kernel",
    ];
    let cells = |row: &Row| {
        let clock = |at: usize| or_dash(row.sm_mhz.map(|clocks| format!("{:.0}", clocks[at])));
        let code = row.other_code.map(|other| if other { "of other code" } else { "as before" });
        vec![
            row.version.clone(),
            unit.show(row.time.before_s),
            unit.show(row.time.now_s),
            percent(row.time.change),
            row.time.words().into(),
            clock(0),
            clock(1),
            or_dash(code),
        ]
    };
    (headings.map(str::to_string).into(), of.rows.iter().map(cells).collect())
}
