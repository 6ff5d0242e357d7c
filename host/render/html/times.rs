//! Times and speed-ups beside the paper's.

use maud::{Markup, html};

use crate::analysis::table1::{Section, has_published_beside};
use crate::catalogue::published::beside;
use crate::render::table::rated_by;
use crate::render::table1::{MARK, cells, headings};

pub(super) fn times(section: &Section) -> Markup {
    let rows = &section.rows;
    html! {
        h2 { "Table I" }
        div .scroll { table {
            tr { @for heading in headings(section.baseline) { th { (heading) } } }
            @for row in rows { tr { @for cell in cells(row) { td { (cell) } } } }
        } }
        p .note { (MARK) ". Medians by GPU events, data on the device, second stage included." }
        @if let Some(row) = rows.first() {
            p .note { (rated_by(&row.flops_source)) "." }
        }
    }
}

pub(super) fn published_beside(section: &Section) -> Markup {
    html! {
        @if has_published_beside(std::slice::from_ref(section)) {
            h2 { "What else was published" }
            @for table in beside() {
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
    let ratios = rows.iter().flat_map(|row| [row.over_baseline, row.paper_over_baseline]);
    let most = ratios.flatten().fold(1.0, f64::max);
    let width = |ratio: f64| format!("{:.1}", 520.0 * ratio / most);
    let bar = |ratio: Option<f64>, y: usize, color: &str, who: &str| {
        html! {
            @if let Some(ratio) = ratio {
                rect x="60" y=(y) width=(width(ratio)) height="11" fill=(color) {
                    title { (who) ": " (format!("{ratio:.2}×")) }
                }
                text x=(format!("{:.1}", 66.0 + 520.0 * ratio / most)) y=(y + 10) font-size="11" {
                    (format!("{ratio:.2}×"))
                }
            }
        }
    };
    html! {
        h2 { "Speed-up over " (section.baseline) }
        svg xmlns="http://www.w3.org/2000/svg" width="660" height=(rows.len() * 32 + 8)
            viewBox=(format!("0 0 660 {}", rows.len() * 32 + 8)) font-family="sans-serif" {
            @for (at, row) in rows.iter().enumerate() {
                text x="6" y=(at * 32 + 20) font-size="14" { (row.version) }
                (bar(row.over_baseline, at * 32 + 4, "#1f5fbf", "here"))
                (bar(row.paper_over_baseline, at * 32 + 16, "#b9c4d0", "paper, V100"))
            }
        }
        p .note { "Dark: here. Light: the paper's V100." }
    }
}
