//! Times and speed-ups beside the paper's.

use maud::{Markup, html};

use super::sheet::{Sheet, named};
use crate::analysis::table1::{Row, Section, beside};
use crate::catalogue::published::Published;
use crate::render::columns::{Columns, columns, mark};
use crate::render::table::rated_by;
use crate::render::table1::of_which_system;

/// The heading of a section.
pub(super) fn heading(section: &Section) -> String {
    match section.journey {
        "paper" => "Table I".into(),
        journey => format!("The {journey}’s table"),
    }
}

pub(super) fn times(section: &Section) -> Markup {
    let Columns { headings, rows, words, .. } = columns(section).filled();
    // The system is the page's.
    let skipped = headings.iter().position(|heading| heading == "system");
    let kept = |cells: Vec<String>| -> Vec<String> {
        let cells = cells.into_iter().enumerate();
        cells.filter(|(at, _)| Some(*at) != skipped).map(|(_, cell)| cell).collect()
    };
    let moved = |at: usize| at - usize::from(skipped.is_some_and(|skipped| skipped < at));
    let mut sheet = Sheet::new(&kept(headings)).words(words.map(moved));
    for (row, cells) in section.rows.iter().zip(rows) {
        sheet.push(Some(&row.version), kept(cells));
    }
    html! {
        h2 { (heading(section)) }
        (sheet.markup())
        p .note {
            @if let Some(said) = mark(section) { (said) ". " }
            "Medians by GPU events, data on the device, second stage included."
        }
        @if let Some(said) = of_which_system(section) { p .note { (said) "." } }
        @if let Some(row) = section.rows.first() {
            p .note { (rated_by(&row.flops_source)) "." }
        }
        (speed_ups(section))
    }
}

pub(super) fn published_beside(sections: &[Section]) -> Markup {
    let tables = beside(sections);
    let rows = |table: &Published| {
        let mut sheet = Sheet::new(&table.headings).words([1]);
        for row in &table.rows {
            sheet.push(None, row.to_vec());
        }
        sheet.markup()
    };
    html! {
        @if !tables.is_empty() {
            h2 { "What else was published" }
            @for table in &tables { p { (table.title) } (rows(table)) }
        }
    }
}

/// Bars of how much faster each version is, here and where it was published.
fn speed_ups(section: &Section) -> Markup {
    let rows = &section.rows;
    let there = |row: &Row| row.paper_over_baseline.or(row.published_over_baseline);
    let ratios = rows.iter().flat_map(|row| [row.over_baseline, there(row)]);
    let most = ratios.flatten().fold(1.0, f64::max);
    let bar = |ratio: Option<f64>, class: &str| {
        html! {
            @if let Some(ratio) = ratio {
                span .track {
                    span .fill.(class) style=(format!("width:{:.2}%", 100.0 * ratio / most)) {}
                    span { (format!("{ratio:.2}×")) }
                }
            }
        }
    };
    html! {
        h3 { "Speed-up over " (section.baseline) }
        p .note {
            span .key.here {} "here"
            @if rows.iter().any(|row| there(row).is_some()) {
                " " span .key.there {} "the " (section.journey) "’s V100"
            }
        }
        div .bars { @for row in rows {
            div .bar data-version=(row.version) {
                (named(Some(&row.version), &row.version))
                div { (bar(row.over_baseline, "here")) (bar(there(row), "there")) }
            }
        } }
    }
}
