//! Times, speed-ups and what is behind them, beside what was published.

use maud::{Markup, html};

use super::sheet::{Sheet, named};
use crate::analysis::published::Published;
use crate::analysis::table1::{Row, Section, beside};
use crate::catalogue;
use crate::render::columns::{is_noise, mark};
use crate::render::table::or_dash;
use crate::render::table1::of_which_system;

/// A table for each section: what a version takes, and over its journey's first.
pub(super) fn results(sections: &[Section]) -> Markup {
    html! { @for section in sections {
        @if sections.len() > 1 { h3 { "The " (section.journey) "’s versions" } }
        (table(section))
        p .note {
            "Medians of runs on data in place, second stage included. Cycles are time × SM clock. "
            @if let Some(said) = mark(section) { (said) ". " }
            @if let Some(said) = of_which_system(section) { (said) "." }
        }
    } }
}

fn table(section: &Section) -> Markup {
    let over = section.by.over(section.baseline);
    let there = format!("V100, {over}");
    let headings = [
        "version",
        "what it changes",
        "time [ms]",
        &over,
        "cycles [10⁶]",
        "SM clock [MHz]",
        "energy [J]",
        &there,
    ];
    let mut sheet = Sheet::new(&headings).words([1]);
    for row in &section.rows {
        let change = catalogue::find(&row.version).map(|listed| listed.version.change);
        let differs = if row.order_differs && !is_noise(row) { " *" } else { "" };
        let cells = vec![
            row.version.clone(),
            or_dash(change),
            format!("{:.1}{}", row.time_s * 1e3, if is_noise(row) { " ≈" } else { "" }),
            or_dash(row.over_baseline.map(|over| format!("{over:.2}"))),
            or_dash(row.cycles.map(|cycles| format!("{:.0}", cycles / 1e6))),
            or_dash(row.sm_mhz.map(|clock| format!("{clock:.0}"))),
            or_dash(row.energy_j.map(|joules| format!("{joules:.0}"))),
            or_dash(published(row).map(|over| format!("{over:.2}{differs}"))),
        ];
        sheet.push(Some(&row.version), cells);
    }
    sheet.markup()
}

/// The speed-up where it was published.
fn published(row: &Row) -> Option<f64> {
    row.paper_over_baseline.or(row.published_over_baseline)
}

/// Tables of others that belong beside these sections.
pub(super) fn published_beside(sections: &[Section]) -> Markup {
    let tables = beside(sections);
    let rows = |table: &Published| {
        let mut sheet = Sheet::new(&table.headings).words([1]);
        for row in &table.rows {
            sheet.push(None, row.to_vec());
        }
        sheet.markup()
    };
    html! { @for table in &tables { p { (table.title) } (rows(table)) } }
}

/// Bars of the time of each version over its baseline's, here and where it was published.
pub(super) fn bars(section: &Section) -> Markup {
    let rows = &section.rows;
    let there = |row: &Row| published(row).map(f64::recip);
    let shares = rows.iter().flat_map(|row| [row.over_baseline.map(f64::recip), there(row)]);
    let most = shares.flatten().fold(1.0, f64::max);
    let bar = |share: Option<f64>, class: &str, told: String| {
        html! {
            @if let Some(share) = share {
                span .track {
                    span .fill.(class) style=(format!("width:{:.2}%", 100.0 * share / most)) {}
                    span { (told) }
                }
            }
        }
    };
    let here = |row: &Row| format!("{:.1} ms", row.time_s * 1e3);
    html! {
        div .bars {
            p .note {
                "Time, as a part of that of " (section.baseline) ": " span .key.here {} "here"
                @if rows.iter().any(|row| there(row).is_some()) {
                    " " span .key.there {} "the " (section.journey) "’s V100"
                }
            }
            @for row in rows {
                div .bar data-version=(row.version) {
                    (named(Some(&row.version), &row.version))
                    div {
                        (bar(row.over_baseline.map(f64::recip), "here", here(row)))
                        (bar(there(row), "there", or_dash(published(row).map(|over| format!("{over:.2} ×")))))
                    }
                }
            }
        }
    }
}
