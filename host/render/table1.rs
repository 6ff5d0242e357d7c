//! Table I and the tables of other journeys for the terminal, a page, a spreadsheet and a program.

use std::collections::BTreeSet;
use std::io::{self, Write};

use comfy_table::CellAlignment;
use serde::Serialize;

use super::columns::{Columns, columns, is_noise, mark};
use super::table::{fit, rated_by, table, terminal};
use super::units::percent;
use crate::analysis::published::{self, BlogRow, Published, TalkRow};
use crate::analysis::table1::{Row, Section, against, beside};
use crate::record::provenance::Provenance;

/// Layout of the JSON.
const SCHEMA: u32 = 3;

/// What stands above a section: the system, the device, and which journey where it is not the paper's.
pub fn title(section: &Section) -> String {
    match section.journey {
        "paper" => section.title.clone(),
        journey => format!("{journey}: {}", section.title),
    }
}

/// Which system the published columns of a section are of, where its source names none.
pub fn of_which_system(section: &Section) -> Option<String> {
    let told =
        section.rows.iter().any(|row| row.published_time_s.or(row.published_tflops).is_some());
    let journey = section.journey;
    told.then(|| format!("V100: as the {journey} publishes it, of a system that it does not name"))
}

/// The tables for the terminal, with the talk's table and the blog's steps below where they apply.
///
/// # Errors
/// Those of `to`.
pub fn text(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    let width = terminal();
    for section in sections {
        writeln!(to, "{}\n{}", title(section), section_table(section, width))?;
        for what in &section.left_out {
            writeln!(to, "left out: {what}")?;
        }
        let differs = section.rows.iter().any(|row| row.order_differs || is_noise(row));
        if let Some(said) = mark(section).filter(|_| differs) {
            writeln!(to, "{said}")?;
        }
        if let Some(said) = of_which_system(section) {
            writeln!(to, "{said}")?;
        }
    }
    for (at, section) in sections.iter().enumerate() {
        let first = sections[..at].iter().find(|before| !against(section, before).is_empty());
        let Some(before) = first else { continue };
        writeln!(to, "{} against {}:", title(section), title(before))?;
        for (version, change) in against(section, before) {
            writeln!(to, "  {version} {}: {}", percent(change.change), change.words())?;
        }
    }
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let sources: BTreeSet<&str> = rows().map(|row| row.flops_source.as_str()).collect();
    for source in sources {
        writeln!(to, "{}", rated_by(source))?;
    }
    for table in beside(sections) {
        writeln!(to, "\n{}:\n{}", table.title, published_table(&table, width))?;
    }
    Ok(())
}

fn section_table(section: &Section, width: Option<u16>) -> String {
    let Columns { headings, rows, spare, words, .. } = columns(section);
    let headings: Vec<String> =
        headings.iter().map(|heading| heading.replace("V100 ", "V100\n")).collect();
    // The system stands above the table.
    let mut table = table(&headings[1..]);
    if let Some(column) = words.and_then(|at| table.column_mut(at - 1)) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for row in &rows {
        table.add_row(&row[1..]);
    }
    let spare: Vec<usize> = spare.iter().map(|at| at - 1).collect();
    fit(table, &spare, width)
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
        let Columns { headings, rows, .. } = columns(section).filled();
        let own: String = rows.iter().map(line).collect();
        let left_out: String =
            section.left_out.iter().map(|what| format!("- left out: {what}\n")).collect();
        let table = format!("{}{}{own}", line(&headings), rule(headings.len()));
        text += &format!("{}:\n\n{table}\n", title(section));
        if !left_out.is_empty() {
            text += &format!("{left_out}\n");
        }
    }
    let mut notes: Vec<String> = Vec::new();
    for note in sections.iter().filter_map(mark).chain(sections.iter().filter_map(of_which_system))
    {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    text += &format!("{}\n", notes.join("\n\n"));
    for table in beside(sections) {
        let published: String = table.rows.iter().map(line).collect();
        let (title, columns) = (table.title, table.headings.len());
        text += &format!("\n{title}:\n\n{}{}{published}", line(table.headings), rule(columns));
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
