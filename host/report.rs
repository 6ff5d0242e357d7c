//! `gpp report`: one self-contained HTML page of stored records.

use std::io::Write;
use std::process::ExitCode;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Deserialize;

use crate::catalogue::{self, series_of};
use crate::chart::{Chart, Roofline};
use crate::cli::ReportArgs;
use crate::error::Result;
use crate::explain::{Card, Difference, Measured, Row as CardRow, change_of, number};
use crate::offdiag::records::{Folder, by_bands, by_version};
use crate::output::{check_outputs, print, replace};
use crate::profile::Records;
use crate::record::Ceilings;
use crate::record::run::{Run, Sigma};
use crate::roofline::{Figure, Level, figures};
use crate::run::{self, agreement, power};
use crate::table::{Row, Section, cells, notes, sections};
use crate::terminal::{Cells, or_dash};

pub fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    check_outputs([&args.output], None)?;
    let matrices = args.offdiag.as_deref().map(Folder::load).transpose()?;
    let records = Records::load(&args.from)?;
    let run = records.run()?;
    let Records { profiles, ceilings, .. } = records;
    let measured =
        Measured { from: String::new(), run: Some(run), profiles, ceilings: Some(ceilings) };
    let page = page(&measured, matrices.as_ref())?;
    replace(&args.output, |file| file.write_all(page.as_bytes()))?;
    print(|to| writeln!(to, "{}", args.output.display()))?;
    Ok(ExitCode::SUCCESS)
}

const PAPER: &str = "https://arxiv.org/abs/2008.11326";

pub fn page(measured: &Measured, matrices: Option<&Folder>) -> Result<String> {
    let run = measured.run.as_ref().expect("the page shows a run");
    let ceilings = measured.ceilings.as_ref().expect("and its device's ceilings");
    let sections = sections(run, "");
    let steps = steps(measured, run);
    let all = [
        ("rooflines", "Roofline", rooflines(measured, ceilings)),
        ("steps", "Step by step", cards(measured, &steps, &sections)),
        ("results", "All versions", results(&sections)),
        ("kernel", "The kernel", kernel()),
        ("sigma", "Σ(ω)", sigma(run)),
        (
            "matrices",
            "Σ as a matrix",
            matrices.map_or(html! {}, |own| self::matrices(own, ceilings)),
        ),
        ("device", "Device and ceilings", device(run, ceilings)),
    ];
    let parts: Vec<_> = all.into_iter().filter(|(_, _, body)| !body.0.is_empty()).collect();
    let is_folded = |id: &str| ["sigma", "matrices", "device"].contains(&id);
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
                (summary(run, sections.first(), &title))
                div .frame {
                    aside { nav aria-label="Contents" {
                        ul { @for (id, name, _) in &parts { li { a href=(format!("#{id}")) { (name) } } } }
                        ul .steps { @for id in &steps { li { a href=(format!("#{id}")) { (id) } } } }
                    } }
                    main {
                        @for (id, name, body) in &parts {
                            @if is_folded(id) {
                                details .part id=(id) { summary { (name) } (body) }
                            } @else {
                                section id=(id) { h2 { (name) } (body) }
                            }
                        }
                    }
                }
            }
        }
    };
    Ok(markup.into_string())
}

/// The versions that have a card: those of the run and of its profiles, in their order.
fn steps<'a>(measured: &'a Measured, run: &'a Run) -> Vec<&'a str> {
    let of_run = run.results.iter().map(|result| result.version.as_str());
    let mut ids: Vec<&str> = of_run.chain(measured.ids()).collect();
    ids.sort_by_key(|id| catalogue::place(id).unwrap_or(usize::MAX));
    ids.dedup();
    ids
}

fn title(run: &Run) -> String {
    let (system, device) = (&run.system.name, &run.head.device.name);
    let ends = run.results.first().zip(run.fastest()).map(|ends| {
        let [first, last] = [ends.0, ends.1].map(|result| 1e3 * result.times.median);
        format!(", {first:.1} ms to {last:.1} ms")
    });
    format!("BerkeleyGW’s GPP kernel in Rust: {system} on {device}{}", ends.unwrap_or_default())
}

fn summary(run: &Run, section: Option<&Section>, title: &str) -> Markup {
    let repository = env!("CARGO_PKG_REPOSITORY");
    let is_synthetic = run.head.provenance.as_ref().is_some_and(|from| from.seed.is_some());
    html! {
        header {
            h1 { (title) }
            p .lead {
                "In a GW calculation, the GPP kernel sums the self-energy of an electron over bands and pairs of plane "
                "waves. Each version changes the kernel; the page shows how that changes the time, and why."
            }
            @if is_synthetic {
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
                div {
                    h2 { "Findings" }
                    ol { @for text in found(run, section) { li { (text) } } }
                    p .note { (provenance(run)) }
                    @if !run.head.complete { p .wrong { "The run was interrupted: versions are missing." } }
                }
                @if let Some(section) = section { (bars(section)) }
            }
        }
    }
}

pub fn found(run: &Run, section: Option<&Section>) -> Vec<String> {
    let Some(section) = section.filter(|section| !section.rows.is_empty()) else {
        return Vec::new();
    };
    let all = [Some(speed(section)), paper_steps(section), power(&run.results)];
    all.into_iter().flatten().chain(agreement(&run.results)).collect()
}

fn fastest<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    time: impl Fn(&Row) -> Option<f64>,
) -> Option<&'a Row> {
    let timed = rows.into_iter().filter_map(|row| Some((row, time(row)?)));
    timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(row, _)| row)
}

fn speed(section: &Section) -> String {
    let rows = &section.rows;
    let best = fastest(rows, |row| Some(row.result.times.median)).expect("there are rows");
    let ms = |row: &Row| format!("{:.1} ms", row.result.times.median * 1e3);
    let mut text = format!("{} is the fastest version: {}", best.result.version, ms(best));
    let base = rows.iter().find(|row| row.result.version == section.baseline);
    if let Some((base, over)) = base.zip(best.over_baseline) {
        text += &format!(", {over:.1} times as fast as {} ({})", section.baseline, ms(base));
        if let Some((first, own)) = base.result.energy_j.zip(best.result.energy_j) {
            text += &format!(", with {own:.0} J instead of {first:.0} J");
        }
    }
    text + "."
}

/// Which of the paper's steps differ here, and which of its versions is the fastest here and there.
fn paper_steps(section: &Section) -> Option<String> {
    let of_paper =
        |row: &&Row| series_of(&row.result.version).is_some_and(|series| series.id == "paper");
    let rows = || section.rows.iter().filter(of_paper);
    let there = fastest(rows(), |row| row.published.time_s)?;
    let here = fastest(rows(), |row| Some(row.result.times.median))?;
    let ids = |holds: &dyn Fn(&Row) -> bool| {
        let ids: Vec<&str> =
            rows().filter(|row| holds(row)).map(|row| row.result.version.as_str()).collect();
        if ids.is_empty() { "none".into() } else { ids.join(", ") }
    };
    Some(format!(
        "Steps that are faster on the paper’s V100 and slower here, or the other way round: {}. Steps whose \
         time is not significantly different: {}. Of the paper’s versions {} is the fastest here, {} on the V100.",
        ids(&|row| row.order_differs && !row.is_noise()),
        ids(&|row| row.is_noise()),
        here.result.version,
        there.result.version
    ))
}

fn provenance(run: &Run) -> String {
    let from = run.head.provenance.as_ref();
    let date = from.map(|from| format!("measured {}", from.date));
    let commit =
        from.and_then(|from| from.commit.as_ref()).map(|commit| format!("commit {commit}"));
    let all = [Some(run.head.device.name.clone()), Some(run::system(&run.system)), date, commit];
    all.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Bars of the time of each version over its baseline's, here and where it was published.
fn bars(section: &Section) -> Markup {
    let rows = &section.rows;
    let here = |row: &Row| row.over_baseline.map(f64::recip);
    let there = |row: &Row| row.published_over_baseline.map(f64::recip);
    let most = rows.iter().flat_map(|row| [here(row), there(row)]).flatten().fold(1.0, f64::max);
    let bar = |share: Option<f64>, class: &str, label: &str| {
        html! { @if let Some(share) = share {
            span .track {
                span .fill.(class) style=(format!("width:{:.2}%", 100.0 * share / most)) {}
                span { (label) }
            }
        } }
    };
    html! {
        div .bars {
            p .note {
                "Time relative to " (section.baseline) ": " span .key.here {} "here"
                @if rows.iter().any(|row| there(row).is_some()) { " " span .key.there {} "published, V100" }
            }
            @for row in rows { div .bar {
                a href=(format!("#{}", row.result.version)) { (row.result.version) }
                div {
                    (bar(here(row), "here", &format!("{:.1} ms", row.result.times.median * 1e3)))
                    (bar(there(row), "there", ""))
                }
            } }
        }
    }
}

// Tables. On a phone the rows of wide ones become lines of headings and values.

/// A table without the columns in which no row has a value; the first column may link to cards, and texts wrap.
fn sheet(cells: Cells, links: bool) -> Markup {
    let Cells { headings, rows } = cells.filled();
    let is_wide = headings.len() > 4;
    let wraps = |at: usize| headings[at] == "what it changes";
    html! { @if !rows.is_empty() { table .wide[is_wide] {
        thead { tr { @for (at, heading) in headings.iter().enumerate() {
            th scope="col" .wrap[wraps(at)] { (heading) }
        } } }
        tbody { @for row in &rows { tr { @for (at, cell) in row.iter().enumerate() {
            @if at == 0 {
                @let id = cell.split(' ').next().unwrap_or_default();
                th scope="row" { @if links { a href=(format!("#{id}")) { (cell) } } @else { (cell) } }
            } @else {
                td .wrap[wraps(at)] .none[cell == "–"] data-of=(headings[at]) { (cell) }
            }
        } } } }
    } } }
}

fn results(sections: &[Section]) -> Markup {
    html! { @for section in sections {
        @if sections.len() > 1 { h3 { (section.series) } }
        (sheet(cells(section), true))
        p .note {
            "Medians of runs with the data on the device."
            @for note in notes(section) { " " (note) "." }
            @for what in &section.left_out { " Left out: " (what) "." }
        }
    } }
}

/// The rooflines by HBM; by other levels, folded.
fn rooflines(measured: &Measured, ceilings: &Ceilings) -> Markup {
    let (by_hbm, others): (Vec<Figure>, Vec<Figure>) =
        figures(&measured.profiles).into_iter().partition(|figure| figure.level == Level::Hbm);
    let charts = |figures: &[Figure]| {
        html! { div .charts { @for Figure { title, shown, level, .. } in figures {
            figure { (PreEscaped(Roofline::of(title, shown, ceilings, *level).inline())) }
        } } }
    };
    html! { @if !by_hbm.is_empty() {
        (charts(&by_hbm))
        @if !others.is_empty() {
            details .more { summary { "Other levels of memory" } (charts(&others)) }
        }
    } }
}

/// The plot of Σ(ω) by the fastest version, if there are more energies than a run prints.
fn sigma(run: &Run) -> Markup {
    let sigma = Sigma::of(run).ok().filter(|sigma| sigma.result.passed());
    let Some(sigma) = sigma.filter(|sigma| sigma.rows.len() > 3) else { return html! {} };
    html! { figure { (PreEscaped(sigma.inline())) } }
}

/// The kernel in a minute, as docs/kernel.md has it at length.
#[derive(Deserialize)]
struct Kernel {
    about: String,
    sum: Vec<String>,
    /// Depth, code and why.
    nest: Vec<(usize, String, String)>,
    words: Vec<(String, String)>,
}

fn kernel() -> Markup {
    let text = include_str!("../data/kernel.json");
    let kernel: Kernel = serde_json::from_str(text).expect("a test makes the page");
    html! {
        p { (prose(&kernel.about)) }
        pre .sum { (kernel.sum.join("\n")) }
        ol .nest { @for (depth, code, why) in &kernel.nest {
            li style=(format!("--depth:{depth}")) { code { (code) } " " span { (why) } }
        } }
        dl .words { @for (word, meaning) in &kernel.words { div { dt { (word) } dd { (prose(meaning)) } } } }
    }
}

fn cards(measured: &Measured, steps: &[&str], sections: &[Section]) -> Markup {
    let noise = sections.iter().flat_map(|own| &own.rows).filter(|row| row.is_noise());
    let noise: Vec<&str> = noise.map(|row| row.result.version.as_str()).collect();
    html! { @for id in steps {
        @let card = measured.card(id, measured.before(id)).or_else(|_| measured.card(id, None));
        @match card {
            Ok(card) => (one(&card, noise.contains(id))),
            Err(_) => article .card id=(id) { h3 { (id) } p .wrong { "No verified result." } },
        }
    } }
}

/// A card; a step that changes nothing has one line.
fn one(card: &Card, is_noise: bool) -> Markup {
    let (id, diagnosis) = (card.version.as_str(), &card.diagnosis);
    let heading = html! { a href=(format!("#{id}")) { (id) } " " (prose(&card.idea.title)) };
    if is_noise {
        return html! { article .card id=(id) {
            h3 { (heading) " " span .note { "No significant difference." } }
        } };
    }
    html! { article .card id=(id) {
        h3 { (heading) }
        @if let Some(lines) = &card.idea.lines { p .note {
            "Changes " a href="#kernel" { (changed(lines)) } "."
        } }
        div .sides {
            @if let Some(first) = diagnosis.texts().next() { p .verdict { (first) } }
            (factors(card))
        }
        details .more {
            summary { "Counters that changed, and what bounds it" }
            @for text in diagnosis.texts().skip(1) { p { (text) } }
            (counters(card))
        }
        details .more {
            summary { "The change and its code" }
            @for text in &card.idea.text { p { (prose(text)) } }
            p .note { (card.idea.source) " · " (card.idea.file) }
            @if let Some(difference) = &card.difference { (code(card, difference)) }
        }
    } }
}

fn changed(lines: &[usize]) -> String {
    let numbers = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match lines.len() {
        0 => "the launch".into(),
        1 => format!("line {numbers} of the kernel"),
        _ => format!("lines {numbers} of the kernel"),
    }
}

/// Time, cycles, clock and energy as bars, over those of the version before.
fn factors(card: &Card) -> Markup {
    let row = |name: &&str| card.rows.iter().find(|row| row.name == **name);
    html! {
        div .factors { @for row in ["time", "cycles", "clock", "energy"].iter().filter_map(row) {
            @if let Some(now) = row.now {
                @let most = now.max(row.before.unwrap_or(now));
                @let width = |value: f64| format!("width:{:.1}%", 100.0 * value / most);
                div .factor {
                    span { (row.name) }
                    span .both {
                        @if let Some(before) = row.before { span .there style=(width(before)) {} }
                        span .here style=(width(now)) {}
                    }
                    span { (number(Some(now))) " " (row.unit) }
                    b { @if row.change.is_some() { (change_of(row)) } }
                }
            }
        } }
    }
}

/// What changed by 1 % or more.
fn counters(card: &Card) -> Markup {
    let changed = |row: &&CardRow| row.change.is_none_or(|change| change.abs() >= 0.01);
    let cells = Cells::new(
        &[
            ("", &|row: &&CardRow| row.heading()),
            (card.before.as_deref().unwrap_or("before"), &|row: &&CardRow| number(row.before)),
            (&card.version, &|row: &&CardRow| number(row.now)),
            ("change", &|row: &&CardRow| change_of(row)),
        ],
        card.rows.iter().filter(changed),
    );
    sheet(cells, false)
}

const LINES: usize = 24;

fn code(card: &Card, difference: &Difference) -> Markup {
    let more = difference.lines.len().saturating_sub(LINES);
    html! {
        pre .diff { @for (sign, text) in difference.lines.iter().take(LINES) {
            @let class = match sign { '+' => "added", '-' => "removed", '@' => "file", _ => "same" };
            span .(class) { (sign) " " (text) }
        } }
        @if more > 0 { p .note {
            "… " (more) " more lines: " code { "gpp diff " (card.before.as_deref().unwrap_or("")) " " (card.version) }
        } }
    }
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

fn matrices(folder: &Folder, ceilings: &Ceilings) -> Markup {
    let record = folder.of_versions();
    let roofline = Roofline::of_matrices(folder, ceilings);
    html! {
        p {
            "All elements Σ_lm between " (record.count()) " bands, on " (record.head.device.name) ": "
            (run::system(&record.system)) "."
        }
        (sheet(by_version(folder), false))
        @if let Some(roofline) = roofline { figure { (PreEscaped(roofline.inline())) } }
        h3 { "By number of bands" }
        (sheet(by_bands(folder), false))
        p .note {
            "Times are medians of the products; “with input” is the first calculation. TFLOP/s count 8 operations for a complex "
            "multiply-add. Errors are relative to Σ|terms|."
            @if folder.records.iter().flat_map(|own| &own.results).any(|own| own.verification.is_none()) {
                " Not verified: these were run with --no-verify."
            }
        }
    }
}

fn device(run: &Run, ceilings: &Ceilings) -> Markup {
    let (device, from) = (&run.head.device, run.head.provenance.as_ref());
    let facts = [
        ("device", Some(&device.name)),
        ("driver", device.driver.as_ref()),
        ("compute capability", device.compute_capability.as_ref()),
        ("kernels compiled by", from.and_then(|from| from.kernels_by.as_ref())),
        ("program compiled by", from.and_then(|from| from.program_by.as_ref())),
    ];
    let theory = &ceilings.theoretical;
    let peaks = [
        ("FP64, all FMA [TFLOP/s]", Some(ceilings.fp64), theory.fp64),
        ("the same, over a second", ceilings.fp64_sustained, None),
        ("HBM [TB/s]", Some(ceilings.hbm), theory.hbm),
        ("L2", Some(ceilings.l2), None),
        ("L1", Some(ceilings.l1), theory.l1),
        ("shared memory", None, theory.shared),
    ];
    let tera = |value: Option<f64>| or_dash(value.map(|value| format!("{:.2}", value / 1e12)));
    html! {
        table { @for (name, value) in facts {
            @if let Some(value) = value { tr { th { (name) } td .wrap { (value) } } }
        } }
        table {
            thead { tr { th {} th { "measured" } th { "computed" } } }
            @for (name, measured, computed) in peaks {
                tr { th { (name) } td { (tera(measured)) } td { (tera(computed)) } }
            }
        }
        p .note { "To reproduce the page, on a GPU with Nsight Compute:" }
        pre { "cargo build --release\n./target/release/gpp profile --system " (run.system.name)
              "\n./target/release/gpp report" }
    }
}
