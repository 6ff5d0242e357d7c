//! `gpp report`: one self-contained HTML page of stored records.

use std::io::Write;
use std::process::ExitCode;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::catalogue::sources::{ABOUT, NEST, SUM, WORDS};
use crate::catalogue::{find, journey_of, order};
use crate::chart::{Chart, Roofline};
use crate::cli::ReportArgs;
use crate::error::Result;
use crate::explain::verdict::Rule;
use crate::explain::{Card, Difference, Found, Row as CardRow, change, number};
use crate::offdiag::records::{Folder, Matrices, by_bands, by_version, counters_table};
use crate::outcomes::{agreement, power};
use crate::output::{Files, print, replace};
use crate::profile::Records;
use crate::record::profile::{Ceilings, Profile};
use crate::record::run::{Measurement, Run, Sigma, Span, State};
use crate::roofline::{Figure, Level, figures, of_own_ceiling, share_of_peak};
use crate::run;
use crate::table::{Row, Section, notes, sections};
use crate::terminal::{Cells, or_dash, outcome};

pub fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    Files::new().writes("--output", [&args.output]).check()?;
    let matrices = args.offdiag.as_deref().map(Folder::load).transpose()?;
    let records = Records::load(&args.from)?;
    let run = records.run()?;
    let files = Files::new().reads("--from", records.files());
    let files = files.reads("--offdiag", matrices.iter().flat_map(Folder::files));
    files.writes("--output", [&args.output]).check()?;
    let page = page(run, records.profiles, records.ceilings, matrices.as_ref())?;
    replace(&args.output, |file| file.write_all(page.as_bytes()))?;
    print(|to| writeln!(to, "{}", args.output.display()))?;
    Ok(ExitCode::SUCCESS)
}

const STYLE: &str = include_str!("report/page.css");

const PAPER: &str = "https://arxiv.org/abs/2008.11326";

/// The page of a run, its profiles, and the records of Σ as a matrix.
pub fn page(
    run: Run,
    profiles: Vec<Profile>,
    ceilings: Ceilings,
    matrices: Option<&Folder>,
) -> Result<String> {
    let sections = sections(&run, "");
    let found = Found::of(run, profiles, ceilings);
    let run = found.run.as_ref().expect("the page is of a run");
    let ceilings = found.ceilings.as_ref().expect("and of ceilings");
    let profiles = &found.profiles;
    let steps = steps(run, profiles);
    let all = [
        ("rooflines", "Roofline", rooflines(profiles, ceilings)),
        ("steps", "Step by step", cards(&found, &steps, &sections)?),
        ("results", "All versions", results(&sections)),
        ("kernel", "The kernel", kernel()),
        ("sigma", "Σ(ω)", sigma(run)),
        ("measured", "Clock, power and errors", measured(run)),
        ("operations", "Operations", counts(profiles, ceilings)),
        (
            "matrices",
            "Σ as a matrix",
            matrices.map_or(html! {}, |folder| self::matrices(folder, ceilings)),
        ),
        ("device", "Device and ceilings", device(run, ceilings)),
    ];
    let parts: Vec<_> = all.into_iter().filter(|(_, _, body)| !body.0.is_empty()).collect();
    let folded = |id: &str| !["rooflines", "steps", "results", "kernel"].contains(&id);
    let title = title(run);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
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
                            @if folded(id) {
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

/// The versions that have a card: of the run and of its profiles, in their order.
fn steps<'a>(run: &'a Run, profiles: &'a [Profile]) -> Vec<&'a str> {
    let of_run = run.results.iter().map(|result| result.version.as_str());
    let mut ids: Vec<&str> =
        of_run.chain(profiles.iter().map(|own| own.version.as_str())).collect();
    ids.sort_by_key(|id| order::place(id).unwrap_or(usize::MAX));
    ids.dedup();
    ids
}

// The head of the page: what it is of, and what was found.

fn title(run: &Run) -> String {
    let (system, device) = (&run.system.name, &run.head.device.name);
    let ms = |result: &Measurement| format!("{:.1} ms", 1e3 * result.times.median);
    let ends = run.results.first().zip(run.fastest());
    let ends = ends.map(|(first, last)| format!(", {} to {}", ms(first), ms(last)));
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
                "waves. Each version here makes it faster; the page shows by how much, and why."
            }
            @if is_synthetic {
                p .lead {
                    (run.system.name) " is synthetic: it has the dimensions of a real system and random values, which "
                    "take the same time."
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
                    h2 { "What was found" }
                    ol { @for text in found(run, section) { li { (text) } } }
                    p .note { (provenance(run)) }
                    @if !run.head.complete { p .wrong { "The run was interrupted: versions are missing." } }
                }
                @if let Some(section) = section { (bars(section)) }
            }
        }
    }
}

/// What a run comes down to, a sentence or two each.
pub fn found(run: &Run, section: Option<&Section>) -> Vec<String> {
    let fastest = section.and_then(|section| Some((section, fastest(&section.rows)?)));
    let Some((section, row)) = fastest else { return Vec::new() };
    let all = [Some(speed(section, row)), paper_steps(section), power(&run.results)];
    all.into_iter().flatten().chain(agreement(&run.results)).collect()
}

fn fastest<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Option<&'a Row> {
    rows.into_iter().min_by(|a, b| a.time_s.total_cmp(&b.time_s))
}

/// The fastest version, and the energy that it takes.
fn speed(section: &Section, fastest: &Row) -> String {
    let ms = |row: &Row| format!("{:.1} ms", row.time_s * 1e3);
    let base = section.rows.iter().find(|row| row.version == section.baseline);
    let mut text = format!("{} is the fastest version: {}", fastest.version, ms(fastest));
    if let (Some(base), Some(over)) = (base, fastest.over_baseline) {
        text += &format!(", {over:.1} times as fast as {} ({})", base.version, ms(base));
        if let Some((first, own)) = base.energy_j.zip(fastest.energy_j) {
            text += &format!(", with {own:.0} J instead of {first:.0} J");
        }
    }
    text + "."
}

/// Which of the paper's steps differ here, and which of its versions is the fastest here and there.
fn paper_steps(section: &Section) -> Option<String> {
    let of_paper = |row: &&Row| journey_of(&row.version).is_some_and(|series| series.id == "paper");
    let rows: Vec<&Row> = section.rows.iter().filter(of_paper).collect();
    let there = rows.iter().filter(|row| row.published_time_s.is_some());
    let there = there
        .min_by(|a, b| a.published_time_s.partial_cmp(&b.published_time_s).expect("numbers"))?;
    let here = fastest(rows.iter().copied())?;
    let (mut noise, mut slower, mut faster) = (Vec::new(), Vec::new(), Vec::new());
    for pair in rows.windows(2) {
        let id = pair[1].version.as_str();
        match pair[1] {
            row if row.is_noise() => noise.push(id),
            row if row.order_differs && row.time_s > pair[0].time_s => slower.push(id),
            row if row.order_differs => faster.push(id),
            _ => {}
        }
    }
    let clauses = [
        (
            slower,
            "gained on the paper’s V100 but is slower here",
            "gained on the paper’s V100 but are slower here",
        ),
        (faster, "is faster here but was not there", "are faster here but were not there"),
        (noise, "makes no significant difference", "make no significant difference"),
    ];
    let clause = |(ids, one, many): &(Vec<&str>, &str, &str)| match &ids[..] {
        [] => None,
        [id] => Some(format!("{id} {one}. ")),
        [most @ .., last] => Some(format!("{} and {last} {many}. ", most.join(", "))),
    };
    let steps: String = clauses.iter().filter_map(clause).collect();
    let (here, there) = (&here.version, &there.version);
    Some(format!("{steps}Of the paper’s versions {here} is the fastest here, {there} on the V100."))
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
                a href=(format!("#{}", row.version)) { (row.version) }
                div {
                    (bar(here(row), "here", &format!("{:.1} ms", row.time_s * 1e3)))
                    (bar(there(row), "there", ""))
                }
            } }
        }
    }
}

// Tables. On a phone the rows of wide ones become lines of headings and values.

/// A table without the columns in which no row has a value; the first column may link to cards, and `words` wraps.
fn sheet(cells: Cells, links: bool, words: Option<&str>) -> Markup {
    let Cells { headings, rows } = cells.filled();
    let width = match headings.len() {
        0..=4 => "narrow",
        5..=8 => "wide",
        _ => "widest",
    };
    let wraps = |at: usize| words == Some(headings[at].as_str());
    html! { @if !rows.is_empty() { div .scroll { table .(width) {
        thead { tr { @for (at, heading) in headings.iter().enumerate() {
            th scope="col" .left[wraps(at)] { (heading) }
        } } }
        tbody { @for row in &rows { tr { @for (at, cell) in row.iter().enumerate() {
            @if at == 0 {
                th scope="row" { @if links { a href=(format!("#{cell}")) { (cell) } } @else { (cell) } }
            } @else {
                td .wrap[wraps(at)] data-of=(headings[at]) { (cell) }
            }
        } } } }
    } } } }
}

fn results(sections: &[Section]) -> Markup {
    let table = |section: &Section| {
        let over = format!("over {}", section.baseline);
        let cells = Cells::new(
            &[
                ("version", &|row: &&Row| row.version.clone()),
                ("change", &|row: &&Row| or_dash(find(&row.version).map(|own| own.version.change))),
                ("time [ms]", &|row: &&Row| {
                    format!("{:.1}{}", row.time_s * 1e3, if row.is_noise() { " ≈" } else { "" })
                }),
                (&over, &|row: &&Row| or_dash(row.over_baseline.map(|over| format!("{over:.2}")))),
                ("clock [MHz]", &|row: &&Row| or_dash(row.sm_mhz.map(|mhz| format!("{mhz:.0}")))),
                ("energy [J]", &|row: &&Row| or_dash(row.energy_j.map(|own| format!("{own:.0}")))),
                ("V100", &|row: &&Row| {
                    let mark = if row.order_differs && !row.is_noise() { " *" } else { "" };
                    or_dash(row.published_over_baseline.map(|over| format!("{over:.2}{mark}")))
                }),
            ],
            &section.rows,
        );
        sheet(cells, true, Some("change"))
    };
    html! { @for section in sections {
        @if sections.len() > 1 { h3 { (section.series) } }
        (table(section))
        p .note {
            "Medians of runs with the data on the device. V100: the published speed-up."
            @for note in notes(section) { " " (note) "." }
        }
    } }
}

fn measured(run: &Run) -> Markup {
    let range = |Span { median, min, max }: Span| match max - min < 1.0 {
        true => format!("{median:.0}"),
        false => format!("{median:.0} ({min:.0}–{max:.0})"),
    };
    let of = |result: &Measurement, field: fn(&State) -> Option<Span>| {
        or_dash(result.state.as_ref().and_then(field).map(range))
    };
    let cells = Cells::new(
        &[
            ("version", &|result: &&Measurement| result.version.clone()),
            ("σ", &|r: &&Measurement| {
                or_dash(r.times.relative_sigma().map(|sigma| format!("{:.1} %", sigma * 100.0)))
            }),
            ("clock [MHz]", &|r: &&Measurement| of(r, |state| state.sm_mhz)),
            ("clock lost", &|r: &&Measurement| {
                let lost = r.state.as_ref().and_then(State::clock_lost);
                or_dash(lost.map(|share| format!("{:.1} %", 100.0 * share)))
            }),
            ("power [W]", &|r: &&Measurement| of(r, |state| state.power_w)),
            ("temperature [°C]", &|r: &&Measurement| of(r, |state| state.temperature_c)),
            ("max. error", &|r: &&Measurement| {
                or_dash(r.verification.max_rel_error.map(|error| format!("{error:.1e}")))
            }),
            ("result", &|r: &&Measurement| match run.passed() {
                true => "–".into(),
                false => outcome(r.outcome()).into(),
            }),
        ],
        &run.results,
    );
    html! {
        (sheet(cells, true, None))
        p .note {
            "Median (lowest–highest) during the timed runs. Clock lost: relative to the highest clock at which the "
            "version ran."
        }
    }
}

fn counts(profiles: &[Profile], ceilings: &Ceilings) -> Markup {
    let per_term = |value: f64, own: &Profile| format!("{:.2}", value / own.terms as f64);
    let share = |share: f64| format!("{:.0} %", share * 100.0);
    let cells = Cells::new(
        &[
            ("version", &|own: &&Profile| own.version.clone()),
            ("add", &|own: &&Profile| per_term(own.dadd, own)),
            ("mul", &|own: &&Profile| per_term(own.dmul, own)),
            ("FMA", &|own: &&Profile| per_term(own.dfma, own)),
            ("FLOP", &|own: &&Profile| per_term(own.flops(), own)),
            ("FLOP/byte HBM", &|own: &&Profile| format!("{:.1}", own.flops() / own.bytes.hbm)),
            ("share of peak", &|own: &&Profile| share(share_of_peak(own.fma_ratio()))),
            ("of own ceiling", &|own: &&Profile| share(of_own_ceiling(own, ceilings).burst)),
            ("sustained", &|own: &&Profile| {
                or_dash(of_own_ceiling(own, ceilings).sustained.map(share))
            }),
        ],
        profiles,
    );
    html! {
        (sheet(cells, true, None))
        @if let Some(first) = profiles.first() { p .note {
            "FP64 operations per term (n, igp, ig, iw), by " (first.source) ". Share of peak: what the share of FMA "
            "allows. Of own ceiling: how much of that is reached, by the measured peak at the highest clock, and by "
            "the one that is sustained."
        } }
    }
}

// Charts.

/// The rooflines of whole series by HBM; by other levels, folded.
fn rooflines(profiles: &[Profile], ceilings: &Ceilings) -> Markup {
    let (by_hbm, others): (Vec<Figure>, Vec<Figure>) =
        figures(profiles).into_iter().partition(|figure| figure.level == Level::Hbm);
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

// The kernel, and a card for each step.

fn kernel() -> Markup {
    html! {
        p { (prose(ABOUT)) }
        pre .sum { (SUM.join("\n")) }
        ol .nest { @for (depth, code, why) in NEST {
            li style=(format!("--depth:{depth}")) { code { (code) } " " span { (why) } }
        } }
        dl .words { @for (word, meaning) in WORDS { div { dt { (word) } dd { (prose(meaning)) } } } }
    }
}

fn cards(found: &Found, steps: &[&str], sections: &[Section]) -> Result<Markup> {
    let rows: Vec<&Row> = sections.iter().flat_map(|section| &section.rows).collect();
    let mut cards = Vec::new();
    for id in steps {
        let row = rows.iter().find(|row| row.version == *id);
        let is_noise = row.is_some_and(|row| row.is_noise());
        let card = found.card(id, found.before(id)).or_else(|_| found.card(id, None));
        cards.push(match card {
            Ok(card) => one(&card, is_noise),
            Err(_) => html! { article .card id=(id) { h3 { (id) } p .wrong { "No result that passed." } } },
        });
    }
    Ok(html! { @for card in cards { (card) } })
}

/// A card; of a step that changes nothing all but a line is folded.
fn one(card: &Card, is_noise: bool) -> Markup {
    let id = card.version.as_str();
    let statement =
        |rule: Rule| card.verdict.iter().find(|own| own.rule == rule).map(|own| &own.text);
    let first = statement(Rule::Why).or(statement(Rule::Bound));
    let details = html! {
        details .more {
            summary { "Counters and what bounds it" }
            @for rule in [Rule::Bound, Rule::Published] {
                @if let Some(text) = statement(rule).filter(|text| Some(*text) != first) { p { (text) } }
            }
            (counters(card))
        }
        details .more {
            summary { "The idea and its code" }
            @for text in &card.idea.text { p { (prose(text)) } }
            p .note { (card.idea.source) " · " (card.idea.file) }
            @if let Some(difference) = &card.difference { (code(difference)) }
        }
    };
    html! { article .card id=(id) {
        h3 { a href=(format!("#{id}")) { (id) } " " (prose(&card.idea.title)) }
        @if is_noise {
            details .more { summary { "No significant difference" } (details) }
        } @else {
            @if let Some(lines) = &card.idea.lines { p .note { (changed_lines(lines)) } }
            div .sides {
                @if let Some(first) = first { p .verdict { (first) } }
                (factors(card))
            }
            (details)
        }
    } }
}

/// Which lines of the loop nest a version changes.
fn changed_lines(lines: &[usize]) -> Markup {
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    html! {
        "Changes " a href="#kernel" {
            @if lines.is_empty() { "the launch" } @else { "line " (lines.join(", ")) " of the kernel" }
        } "."
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
                    b { @if row.change.is_some() { (change(row.change)) } }
                }
            }
        } }
    }
}

fn counters(card: &Card) -> Markup {
    let before = card.before.as_deref().unwrap_or("before");
    let unit = |row: &CardRow| {
        if row.unit.is_empty() { String::new() } else { format!(" [{}]", row.unit) }
    };
    let cells = Cells::new(
        &[
            ("", &|row: &&CardRow| format!("{}{}", row.name, unit(row))),
            (before, &|row: &&CardRow| number(row.before)),
            (&card.version, &|row: &&CardRow| number(row.now)),
            ("change", &|row: &&CardRow| change(row.change)),
            ("V100", &|row: &&CardRow| number(row.published.map(|pair| pair.1))),
        ],
        &card.rows,
    );
    sheet(cells, false, None)
}

fn code(difference: &Difference) -> Markup {
    html! { @for hunk in &difference.hunks { pre .diff {
        span .file { (hunk.place) }
        @for (sign, text) in &hunk.lines {
            @let class = match sign { '+' => "added", '-' => "removed", _ => "same" };
            span .(class) { (sign) " " (text) }
        }
    } } }
}

/// A comment's text: what is between backticks is code, of a link its last name, what is between stars is stressed.
fn prose(text: &str) -> Markup {
    let plain = text.replace("[`", "`").replace("`]", "`");
    html! {
        @for (at, part) in plain.split('`').enumerate() {
            @if at % 2 == 1 {
                code { (part.rsplit("::").next().unwrap_or(part)) }
            } @else {
                @for (at, part) in part.split('*').enumerate() {
                    @if at % 2 == 1 { em { (part) } } @else { (part) }
                }
            }
        }
    }
}

// Σ as a matrix, and the device.

fn matrices(folder: &Folder, ceilings: &Ceilings) -> Markup {
    let record = folder.of_versions();
    let counters = counters_table(folder);
    let points = Matrices::of(folder, ceilings).ok();
    html! {
        p {
            "All elements Σ_lm between " (record.count()) " bands, on " (record.head.device.name) ": "
            (run::system(&record.system)) "."
        }
        (sheet(by_version(folder, &record.system.name, record.count()), false, Some("what it changes")))
        @if counters.rows.iter().any(|row| row[1..].iter().any(|cell| cell != "–")) {
            h3 { "Counters of the first product of CH" }
            (sheet(counters, false, None))
        }
        @if let Some(points) = points { figure { (PreEscaped(Roofline::of_matrices(&points).inline())) } }
        h3 { "Over numbers of bands" }
        (sheet(by_bands(folder), false, None))
        p .note {
            "Medians of the time of the products, 8 operations for a complex one. Errors are relative to Σ|terms|."
        }
    }
}

fn device(run: &Run, ceilings: &Ceilings) -> Markup {
    let (device, from) = (&run.head.device, run.head.provenance.as_ref());
    let tera = |value: Option<f64>, unit: &str| {
        or_dash(value.map(|value| format!("{:.2} {unit}", value / 1e12)))
    };
    let theory = &ceilings.theoretical;
    let facts = [
        ("device", Some(device.name.clone())),
        ("driver", device.driver.clone()),
        ("compute capability", device.compute_capability.clone()),
        ("multiprocessors", Some(device.multiprocessors.to_string())),
        ("kernels compiled by", from.and_then(|from| from.kernels_by.clone())),
        ("program compiled by", from.and_then(|from| from.program_by.clone())),
    ];
    let peaks = [
        ("FP64, all FMA", Some(ceilings.fp64), theory.fp64, "TFLOP/s"),
        ("FP64, sustained at the power limit", ceilings.fp64_sustained, None, "TFLOP/s"),
        ("HBM", Some(ceilings.hbm), theory.hbm, "TB/s"),
        ("L2", Some(ceilings.l2), None, "TB/s"),
        ("L1", Some(ceilings.l1), theory.l1, "TB/s"),
        ("shared memory", None, theory.shared, "TB/s"),
    ];
    html! {
        div .scroll { table { @for (name, value) in facts {
            @if let Some(value) = value { tr { th { (name) } td .left { (value) } } }
        } } }
        div .scroll { table {
            thead { tr { th {} th { "measured" } th { "by clock and width" } } }
            @for (name, measured, promised, unit) in peaks {
                tr { th { (name) } td { (tera(measured, unit)) } td { (tera(promised, unit)) } }
            }
        } }
        p .note { "To reproduce the page, on a GPU with Nsight Compute:" }
        pre { "cargo build --release\n./target/release/gpp profile --system " (run.system.name)
              "\n./target/release/gpp report" }
    }
}
