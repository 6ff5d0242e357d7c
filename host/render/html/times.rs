//! Times and speed-ups beside the paper's.

use maud::{Markup, html};

use crate::analysis::table1::{Row, Section, beside};
use crate::render::columns::{Columns, columns, mark};
use crate::render::table::rated_by;
use crate::render::table1::of_which_system;

/// The heading of a section.
fn heading(section: &Section) -> String {
    match section.journey {
        "paper" => "Table I".into(),
        journey => format!("The {journey}’s table"),
    }
}

pub(super) fn times(section: &Section) -> Markup {
    let Columns { headings, rows, words, .. } = columns(section).filled();
    html! {
        h2 { (heading(section)) }
        div .scroll { table {
            tr { @for heading in &headings { th { (heading) } } }
            @for row in &rows { tr { @for (at, cell) in row.iter().enumerate() {
                td .left[words == Some(at)] { (cell) }
            } } }
        } }
        p .note {
            @if let Some(said) = mark(section) { (said) ". " }
            "Medians by GPU events, data on the device, second stage included."
        }
        @if let Some(said) = of_which_system(section) { p .note { (said) "." } }
        @if let Some(row) = section.rows.first() {
            p .note { (rated_by(&row.flops_source)) "." }
        }
    }
}

pub(super) fn published_beside(sections: &[Section]) -> Markup {
    let tables = beside(sections);
    html! {
        @if !tables.is_empty() {
            h2 { "What else was published" }
            @for table in &tables {
                p { (table.title) }
                div .scroll { table {
                    tr { @for heading in table.headings { th { (heading) } } }
                    @for row in &table.rows {
                        tr { @for (at, cell) in row.iter().enumerate() {
                            td .left[at == 1] { (cell) }
                        } }
                    }
                } }
            }
        }
    }
}

pub(super) fn speed_ups(section: &Section) -> Markup {
    let rows = &section.rows;
    let there = |row: &Row| row.paper_over_baseline.or(row.published_over_baseline);
    let ratios = rows.iter().flat_map(|row| [row.over_baseline, there(row)]);
    let most = ratios.flatten().fold(1.0, f64::max);
    let width = |ratio: f64| format!("{:.1}", 520.0 * ratio / most);
    let who = format!("{}, V100", section.journey);
    // Room for the names.
    let letters = rows.iter().map(|row| row.version.len()).max().unwrap_or(0);
    let left = (10 + 8 * letters).max(60);
    let bar = |ratio: Option<f64>, y: usize, color: &str, who: &str| {
        html! {
            @if let Some(ratio) = ratio {
                rect x=(left) y=(y) width=(width(ratio)) height="11" fill=(color) {
                    title { (who) ": " (format!("{ratio:.2}×")) }
                }
                text x=(format!("{:.1}", left as f64 + 6.0 + 520.0 * ratio / most)) y=(y + 10) font-size="11" {
                    (format!("{ratio:.2}×"))
                }
            }
        }
    };
    html! {
        h2 { "Speed-up over " (section.baseline) }
        svg xmlns="http://www.w3.org/2000/svg" width=(left + 600) height=(rows.len() * 32 + 8)
            viewBox=(format!("0 0 {} {}", left + 600, rows.len() * 32 + 8))
            font-family="sans-serif" {
            @for (at, row) in rows.iter().enumerate() {
                text x="6" y=(at * 32 + 20) font-size="14" { (row.version) }
                (bar(row.over_baseline, at * 32 + 4, "#1f5fbf", "here"))
                (bar(there(row), at * 32 + 16, "#b9c4d0", &who))
            }
        }
        p .note { "Dark: here. Light: the " (section.journey) "'s V100." }
    }
}
