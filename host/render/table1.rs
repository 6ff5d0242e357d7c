//! Table I for the terminal, a page, a spreadsheet and a program.

use std::collections::BTreeSet;
use std::io::{self, Write};

use comfy_table::CellAlignment;
use serde::Serialize;

use super::table::{fit, or_dash, rated_by, table, terminal};
use crate::analysis::table1::{Row, Section, has_published_beside};
use crate::catalogue::published::{self, BlogRow, Published, TalkRow, beside};
use crate::record::provenance::Provenance;

/// Layout of the JSON.
const SCHEMA: u32 = 2;

/// What the mark means.
pub const MARK: &str =
    "* against the version before: faster here and slower in the paper, or the other way round";

/// Headings of the table, the same in every form; speed-ups are over `baseline`.
pub fn headings(baseline: &str) -> [String; 13] {
    let over = format!("over {baseline}");
    let v100_over = format!("V100 over {baseline}");
    [
        "system",
        "version",
        "median [ms]",
        "σ",
        "TFLOP/s",
        &over,
        "warps/SM",
        "registers",
        "V100 time [ms]",
        "V100 TFLOP/s",
        &v100_over,
        "V100 warps/SM",
        "V100 registers",
    ]
    .map(str::to_string)
}

/// Cells of a row under [`headings`]; a version whose step goes the other way than in the paper has a
/// mark.
pub fn cells(row: &Row) -> [String; 13] {
    let mark = if row.order_differs { "*" } else { "" };
    let times = |ratio: f64| format!("{ratio:.2}×");
    [
        row.system.clone(),
        format!("{}{mark}", row.version),
        digits(row.time_s * 1e3, 1),
        or_dash(row.sigma_s.map(|sigma| format!("{:.1} %", 100.0 * sigma / row.time_s))),
        or_dash(row.tflops.map(|rate| digits(rate, 2))),
        or_dash(row.over_baseline.map(times)),
        or_dash(row.warps_per_sm),
        or_dash(row.registers),
        or_dash(row.paper_time_s.map(|time| format!("{:.0}", time * 1e3))),
        or_dash(row.paper_tflops.map(|rate| format!("{rate:.2}"))),
        or_dash(row.paper_over_baseline.map(times)),
        or_dash(row.paper_warps_per_sm),
        or_dash(row.paper_registers),
    ]
}

/// A number with so many decimals, or with those that three digits take.
fn digits(value: f64, decimals: usize) -> String {
    let first = value.abs().log10().floor();
    let needed = if first.is_finite() { (2.0 - first).clamp(0.0, 15.0) as usize } else { 0 };
    format!("{value:.*}", needed.max(decimals))
}

/// The tables for the terminal, with the talk's table and the blog's steps below where they apply.
///
/// # Errors
/// Those of `to`.
pub fn text(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    let width = terminal();
    for section in sections {
        writeln!(to, "{}\n{}", section.title, section_table(section, width))?;
        for what in &section.left_out {
            writeln!(to, "left out: {what}")?;
        }
    }
    let rows = || sections.iter().flat_map(|section| &section.rows);
    if rows().any(|row| row.order_differs) {
        writeln!(to, "{MARK}")?;
    }
    let sources: BTreeSet<&str> = rows().map(|row| row.flops_source.as_str()).collect();
    for source in sources {
        writeln!(to, "{}", rated_by(source))?;
    }
    if has_published_beside(sections) {
        for table in beside() {
            writeln!(to, "\n{}:\n{}", table.title, published_table(&table, width))?;
        }
    }
    Ok(())
}

fn section_table(section: &Section, width: Option<u16>) -> String {
    // The system stands above the table.
    let headings = headings(section.baseline).map(|heading| heading.replace("V100 ", "V100\n"));
    let mut table = table(&headings[1..]);
    for row in &section.rows {
        table.add_row(&cells(row)[1..]);
    }
    fit(table, &[2, 11, 10, 6, 5, 8], width)
}

/// A published table.
fn published_table(published: &Published, width: Option<u16>) -> String {
    let mut table = table(&published.headings);
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for row in &published.rows {
        table.add_row(row);
    }
    fit(table, &[], width)
}

/// The tables in Markdown, with the talk's table and the blog's steps below where they apply.
pub fn markdown(sections: &[Section]) -> String {
    fn line(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
        let cells: Vec<_> = cells.into_iter().collect();
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        format!("| {} |\n", cells.join(" | "))
    }
    let rule = |columns: usize| line(vec!["---"; columns]);
    let mut text = String::new();
    for section in sections {
        let headings = headings(section.baseline);
        let own: String = section.rows.iter().map(|row| line(cells(row))).collect();
        let left_out: String =
            section.left_out.iter().map(|what| format!("- left out: {what}\n")).collect();
        let table = format!("{}{}{own}", line(&headings), rule(headings.len()));
        text += &format!("{}:\n\n{table}\n", section.title);
        if !left_out.is_empty() {
            text += &format!("{left_out}\n");
        }
    }
    text += &format!("{MARK}\n");
    if has_published_beside(sections) {
        for table in beside() {
            let published: String = table.rows.iter().map(line).collect();
            let (title, columns) = (table.title, table.headings.len());
            text += &format!("\n{title}:\n\n{}{}{published}", line(table.headings), rule(columns));
        }
    }
    text
}

/// The rows as CSV.
///
/// # Errors
/// Those of `to`.
pub fn csv(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    for row in sections.iter().flat_map(|section| &section.rows) {
        csv.serialize(row)?;
    }
    csv.flush()
}

/// Rows and what stands beside them.
#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    complete: bool,
    runs: Vec<Titled<'a>>,
    rows: Vec<&'a Row>,
    left_out: Vec<String>,
    talk: Vec<TalkRow>,
    blog: Vec<BlogRow>,
}

/// A run in a few words.
#[derive(Serialize)]
struct Titled<'a> {
    title: &'a str,
    provenance: Option<&'a Provenance>,
}

/// The tables as JSON.
///
/// # Errors
/// Those of `to`.
pub fn json(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    let of = |s: &'_ Section| -> Vec<String> {
        s.left_out.iter().map(|what| format!("{}: {what}", s.title)).collect()
    };
    let document = Document {
        schema: SCHEMA,
        complete: sections.iter().all(|section| section.complete),
        runs: sections
            .iter()
            .map(|s| Titled { title: &s.title, provenance: s.provenance.as_ref() })
            .collect(),
        rows: sections.iter().flat_map(|section| &section.rows).collect(),
        left_out: sections.iter().flat_map(of).collect(),
        talk: published::talk(),
        blog: published::blog(),
    };
    writeln!(to, "{}", serde_json::to_string_pretty(&document)?)
}
