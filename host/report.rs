//! `gpp report`: one self-contained HTML page of stored records.

use std::io::Write;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::catalogue;
use crate::chart::{Chart, Roofline, rooflines};
use crate::cli::ReportArgs;
use crate::error::{Result, invalid};
use crate::explain::{Card, CardRow, rows_table};
use crate::output::{check_outputs, print, replace};
use crate::profile::{Measured, RUN};
use crate::record::run::{Measurement, RunRecord, by_series, differ};
use crate::record::{MemoryLevel, Provenance};
use crate::summary::{NOISE, agreement, fastest_line, results_table, system};
use crate::table::bars;
use crate::terminal::TextTable;

pub fn report(args: &ReportArgs) -> anyhow::Result<bool> {
    check_outputs([&args.output], None)?;
    let measured = Measured::in_folder(&args.from)?;
    if measured.run.is_none() {
        return Err(
            invalid(args.from.join(RUN).display(), "is not there; `gpp profile` makes it").into()
        );
    }
    let page = page(&measured)?;
    replace(&args.output, |file| file.write_all(page.as_bytes()))?;
    print(|to| writeln!(to, "{}", args.output.display()))?;
    Ok(true)
}

const PAPER: &str = "https://arxiv.org/abs/2008.11326";

pub fn page(measured: &Measured) -> Result<String> {
    let run = measured.run.as_ref().expect("the page shows a run");
    let ceilings = measured.ceilings.as_ref().expect("and its device's ceilings");
    let steps = steps(measured, run);
    let parts = [
        ("rooflines", "Roofline", charts(rooflines(&measured.profiles, ceilings))),
        ("steps", "Step by step", cards(measured, &steps, run)),
        ("results", "All versions", results(run)),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|(_, _, body)| !body.0.is_empty()).collect();
    let title = title(run);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(include_str!("report/page.css"))) }
            }
            body {
                (summary(run, &title))
                div .frame {
                    aside { nav aria-label="Contents" {
                        ul { @for (id, name, _) in &parts { li { a href=(format!("#{id}")) { (name) } } } }
                        ul .steps { @for id in &steps { li { a href=(format!("#{id}")) { (id) } } } }
                    } }
                    main {
                        @for (id, name, body) in &parts {
                            section id=(id) { h2 { (name) } (body) }
                        }
                    }
                }
            }
        }
    };
    Ok(markup.into_string())
}

/// The versions that have a card: those of the run and of its profiles, in their order.
fn steps<'a>(measured: &'a Measured, run: &'a RunRecord) -> Vec<&'a str> {
    let of_run = run.results.iter().map(|result| result.version.as_str());
    let mut ids: Vec<&str> = of_run.chain(measured.ids()).collect();
    ids.sort_by_key(|id| catalogue::place(id).unwrap_or(usize::MAX));
    ids.dedup();
    ids
}

fn title(run: &RunRecord) -> String {
    let (system, device) = (&run.system.name, &run.head.device.name);
    let ends = run.results.first().zip(run.fastest()).map(|ends| {
        let [first, last] = [ends.0, ends.1].map(|result| 1e3 * result.times.median);
        format!(", {first:.1} ms to {last:.1} ms")
    });
    format!("BerkeleyGW’s GPP kernel in Rust: {system} on {device}{}", ends.unwrap_or_default())
}

fn summary(run: &RunRecord, title: &str) -> Markup {
    let repository = env!("CARGO_PKG_REPOSITORY");
    let Provenance { date, commit, seed, .. } = &run.head.provenance;
    let commit = commit.as_ref().map_or(String::new(), |commit| format!(", commit {commit}"));
    html! {
        header {
            h1 { (title) }
            p .lead {
                "In a GW calculation, the GPP kernel sums the self-energy of an electron over bands and pairs of plane "
                "waves. Each version changes the kernel; the page shows how that changes the time, and why."
            }
            @if seed.is_some() {
                p .lead {
                    (run.system.name) " is synthetic: it has the dimensions of a real system, but random matrix elements, "
                    "which does not change the time."
                }
            }
            p .lead {
                @if !repository.is_empty() {
                    a href=(repository) { "Repository" } " · "
                    a href=(format!("{repository}/docs/kernel.md")) { "Documentation" } " · "
                }
                a href=(PAPER) { "Paper" } " · " a href="https://berkeleygw.org" { "BerkeleyGW" }
                " · Try it: " code { "scripts/run" }
            }
            div .found {
                h2 { "Findings" }
                ol { @for text in found(run) { li { (text) } } }
                p .note { (run.head.device.name) " · " (system(&run.system)) " · measured " (date) (commit) }
                @if !run.head.complete { p .wrong { "The run was interrupted: versions are missing." } }
            }
        }
    }
}

pub fn found(run: &RunRecord) -> Vec<String> {
    let fastest = run.fastest().map(|fastest| fastest_line(fastest, &run.results));
    fastest.into_iter().chain(agreement(&run.results)).collect()
}

// Tables. On a phone the rows of wide ones become lines of headings and values.

/// A table whose first column may link to cards, and whose texts wrap.
fn sheet(cells: TextTable, links: bool) -> Markup {
    let TextTable { headings, rows } = cells;
    let is_wide = headings.len() > 4;
    let wraps = |column: usize| headings[column] == "what it changes";
    html! { @if !rows.is_empty() { table .wide[is_wide] {
        thead { tr { @for (at, heading) in headings.iter().enumerate() {
            th scope="col" .wrap[wraps(at)] { (heading) }
        } } }
        tbody { @for row in &rows { tr { @for (at, cell) in row.iter().enumerate() {
            @if at == 0 {
                @let id = cell.split([' ', ',']).next().unwrap_or_default();
                th scope="row" { @if links { a href=(format!("#{id}")) { (cell) } } @else { (cell) } }
            } @else {
                td .wrap[wraps(at)] .none[cell == "–"] data-of=(headings[at]) { (cell) }
            }
        } } } }
    } } }
}

fn results(run: &RunRecord) -> Markup {
    let series = by_series(&run.results);
    html! { @for (name, results) in &series {
        @if series.len() > 1 { h3 { (name) } }
        @if results.iter().any(Measurement::passed) {
            figure { (PreEscaped(bars(run, results).inline())) }
        }
        (sheet(results_table(results, Some(&run.system.name)), true))
        p .note { "Medians of runs with the data on the device. " (NOISE) "." }
    } }
}

/// The rooflines by HBM; by other levels, folded.
fn charts(rooflines: Vec<Roofline>) -> Markup {
    let (by_hbm, others): (Vec<Roofline>, Vec<Roofline>) =
        rooflines.into_iter().partition(|chart| chart.level == MemoryLevel::Hbm);
    let charts = |charts: &[Roofline]| {
        html! { div .charts { @for chart in charts { figure { (PreEscaped(chart.inline())) } } } }
    };
    html! { @if !by_hbm.is_empty() {
        (charts(&by_hbm))
        @if !others.is_empty() {
            details .more { summary { "Other levels of memory" } (charts(&others)) }
        }
    } }
}

fn cards(measured: &Measured, steps: &[&str], run: &RunRecord) -> Markup {
    let times = |id: &str| run.passed_result(id).map(|result| &result.times);
    let is_noise = |id: &str| {
        let both = measured.before(id).and_then(times).zip(times(id));
        both.is_some_and(|(before, own)| differ(before, own) == Some(false))
    };
    html! { @for id in steps {
        @let card = measured.card(id, measured.before(id)).or_else(|_| measured.card(id, None));
        @match card {
            Ok(card) => (one(&card, is_noise(id))),
            Err(_) => article .card id=(id) { h3 { (id) } p .wrong { "No verified result." } },
        }
    } }
}

/// A card; a step that changes nothing has one line.
fn one(card: &Card, is_noise: bool) -> Markup {
    let id = card.version.as_str();
    let heading = html! { a href=(format!("#{id}")) { (id) } " " (prose(card.change)) };
    if is_noise {
        return html! { article .card id=(id) {
            h3 { (heading) " " span .note { "No significant difference." } }
        } };
    }
    // By 1 % or more.
    let changed = |row: &&CardRow| row.change.is_none_or(|change| change.abs() >= 0.01);
    html! { article .card id=(id) {
        h3 { (heading) }
        @for text in &card.verdict { p .verdict { (text) } }
        @for text in &card.text { p { (prose(text)) } }
        details .more {
            summary { "Counters that changed" }
            (sheet(rows_table(card, card.rows.iter().filter(changed)), false))
        }
    } }
}

/// A comment's text: what is between backticks is code, what is between stars is stressed.
fn prose(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 {
                code { (part) }
            } @else {
                @for (at, part) in part.split('*').enumerate() {
                    @if at % 2 == 1 { em { (part) } } @else { (part) }
                }
            }
        }
    }
}
