//! One card a step: why its time changed, in a sentence and in cycles and clock; the rest is folded.

use maud::{Markup, html};

use super::stalls::Stalls;
use super::{Page, guess, kernel};
use crate::analysis::explain::difference::{Difference, Hunk, Sign};
use crate::analysis::explain::rows::{Group, Row};
use crate::analysis::explain::verdict::Rule;
use crate::analysis::explain::{Card, Evidence, card};
use crate::catalogue::{journey, order};
use crate::render::explain::{change, number};

/// A counter that changed by this share or more is shown so.
const MOVED: f64 = 0.1;

/// The quantities of a card's bars: time is cycles over clock.
const FACTORS: [&str; 4] = ["time", "cycles", "clock", "energy"];

/// The cards of these versions, each beside the nearest before it.
pub(super) fn cards(page: &Page, steps: &[&str]) -> Markup {
    let stalls = Stalls::of(page.profiles);
    let evidence = Evidence {
        from: "",
        run: Some(page.run),
        profiles: page.profiles,
        ceilings: Some(page.ceilings),
    };
    let of = |id: &str| {
        let before = order::nearest_before(id, steps.iter().copied());
        card(id, before, evidence).or_else(|| card(id, None, evidence))
    };
    html! {
        p .note {
            "A card for each version, beside the one that it builds on: the lines of the nest that it "
            "changes, and why its time is what it is."
        }
        (guess::begin())
        @for id in steps {
            @match of(id) {
                Some(card) => (one(page, &card, &stalls)),
                None => article .card id=(id) data-version=(id) {
                    h3 { (id) }
                    p .wrong { "It did not pass, or nothing is known of it: see the tables below." }
                },
            }
        }
    }
}

fn one(page: &Page, card: &Card, stalls: &Stalls) -> Markup {
    let (id, before) = (card.version.as_str(), card.before.as_deref());
    let seconds = |id: &str| page.run.passed_result(id).map(|result| result.times.median);
    let ratio = before.and_then(|before| Some(seconds(id)? / seconds(before)?));
    let told =
        |rule: Rule| card.verdict.iter().find(|said| said.rule == rule).map(|said| &said.text);
    let first = told(Rule::Why).or(told(Rule::Bound));
    html! {
        article .card id=(id) data-version=(id) data-ratio=[ratio] {
            h3 { a href=(format!("#{id}")) { (id) } " " (prose(card.idea.title.trim_end_matches('.'))) }
            @if let Some(lines) = &card.idea.lines { (kernel::strip(lines)) }
            @if let (Some(before), Some(_)) = (before, ratio) { (guess::ask(id, before)) }
            div .figures {
                div .sides {
                    @if let Some(first) = first { p .verdict { (first) } }
                    (factors(card))
                }
                details .more {
                    summary { "Counters, stalls and what bounds it" }
                    @if told(Rule::Why).is_some() { @if let Some(text) = told(Rule::Bound) { p { (text) } } }
                    @if let Some(text) = told(Rule::Published) { p { (text) } }
                    (counters(card))
                    (stalls.beside(before.into_iter().chain([id])))
                }
            }
            details .more {
                summary { "The idea" @if let Some(changed) = &card.difference { (count(changed)) } }
                @for text in &card.idea.text { p { (prose(text)) } }
                p .note {
                    (card.idea.source)
                    @if let Some(told) = journey(&card.journey) { " · " (told.title) }
                    " · " (card.idea.file)
                }
                @for hunk in card.difference.iter().flat_map(|changed| &changed.hunks) { (lines(hunk)) }
            }
        }
    }
}

fn count(changed: &Difference) -> String {
    let lines = |count: usize| if count == 1 { "line" } else { "lines" };
    format!(
        " and its code: {} {} new, {} gone",
        changed.added,
        lines(changed.added),
        changed.removed
    )
}

/// Time, cycles, clock and energy as bars, over those of the version before.
fn factors(card: &Card) -> Markup {
    let row = |name: &&str| card.rows.iter().find(|row| row.name == **name);
    html! {
        div .factors { @for row in FACTORS.iter().filter_map(row) {
            @if let Some(now) = row.now {
                @let most = now.max(row.before.unwrap_or(now));
                @let width = |value: f64| format!("width:{:.1}%", 100.0 * value / most);
                div .factor {
                    span { (row.name) }
                    span .both {
                        @if let Some(before) = row.before { span .there style=(width(before)) {} }
                        span .here style=(width(now)) {}
                    }
                    span { (number(Some(now))) @if row.unit.starts_with("10") { " ·" } @else { " " } (row.unit) }
                    b { @if row.change.is_some() { (change(row.change)) } }
                }
            }
        } }
    }
}

/// All rows, beside the version before and what was published.
fn counters(card: &Card) -> Markup {
    let groups = [Group::Time, Group::Kernel, Group::Operations, Group::Bytes, Group::Waits];
    let rows: Vec<&Row> = card.rows.iter().filter(|row| groups.contains(&row.group)).collect();
    let has_published = rows.iter().any(|row| row.published.is_some());
    let by = card.published_by.as_deref().unwrap_or("published");
    html! {
        @if !rows.is_empty() { div .scroll { table .counters {
            thead { tr {
                th scope="col" {}
                @if let Some(before) = &card.before { th scope="col" { (before) } }
                th scope="col" { (card.version) }
                @if card.before.is_some() { th scope="col" { "change" } }
                @if has_published { th scope="col" { (by) } }
            } }
            tbody { @for row in &rows {
                tr .moved[row.change.is_some_and(|change| change.abs() >= MOVED)] {
                    th scope="row" { (row.name) @if !row.unit.is_empty() { " [" (row.unit) "]" } }
                    @if card.before.is_some() { td { (number(row.before)) } }
                    td { (number(row.now)) }
                    @if card.before.is_some() { td .change { (change(row.change)) } }
                    @if has_published { td .published { @if let Some(pair) = &row.published {
                        @if let Some(before) = pair.before { (number(Some(before))) " → " }
                        (number(Some(pair.now)))
                    } } }
                }
            } }
        } } }
    }
}

fn lines(hunk: &Hunk) -> Markup {
    html! {
        pre .diff { span .file { (hunk.place()) } @for line in &hunk.lines {
            @let class = match line.sign {
                Sign::Added => "added", Sign::Removed => "removed", Sign::Kept => "same",
            };
            span .(class) { (line.sign.sign()) " " (line.text) }
        } }
    }
}

/// A comment's text: what stands between backticks is code, of a link its last name, between stars it is
/// stressed.
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
