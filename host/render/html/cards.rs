//! One card a step: the idea, the lines that changed, what it cost and gained, and why.

use maud::{Markup, html};

use super::lines::link;
use super::stalls::Stalls;
use super::{Page, guess};
use crate::analysis::explain::difference::{Difference, Hunk, Sign};
use crate::analysis::explain::rows::{Group, Row};
use crate::analysis::explain::{Card, Evidence, card};
use crate::catalogue::{journey, order};
use crate::render::explain::{change, number};

/// Lines that a difference may have to stand open in a page with its script.
const SHORT: usize = 24;

/// A counter that changed by this share or more is shown so.
const MOVED: f64 = 0.1;

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
        h2 { "Step by step" }
        p .note {
            "A card for each version, beside the one that it builds on: the idea, the lines that change, "
            "what that does here and did on the V100 of whom it is from, and why."
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
        (guess::end())
    }
}

fn one(page: &Page, card: &Card, stalls: &Stalls) -> Markup {
    let (id, before) = (card.version.as_str(), card.before.as_deref());
    let seconds = |id: &str| page.run.passed_result(id).map(|result| result.times.median);
    let ratio = before.and_then(|before| Some(seconds(id)? / seconds(before)?));
    let profile = page.profiles.iter().find(|profile| profile.version == id);
    html! {
        article .card id=(id) data-version=(id) data-ratio=[ratio] {
            h3 { a href=(format!("#{id}")) { (id) } " " (card.idea.title.trim_end_matches('.')) }
            p .note {
                (card.idea.source)
                @if let Some(told) = journey(&card.journey) { " · " (told.title) }
            }
            @for text in &card.idea.text { p { (prose(text)) } }
            @if let Some(difference) = &card.difference { (changed_lines(difference)) }
            @if let (Some(before), Some(_)) = (before, ratio) { (guess::ask(id, before)) }
            div .figures {
                @if !card.verdict.is_empty() {
                    ul .verdict { @for said in &card.verdict { li { (said.text) } } }
                }
                (counters(card, &[Group::Time]))
                details .more open {
                    summary { "Counters and stalls" }
                    (counters(card, &[Group::Kernel, Group::Operations, Group::Bytes, Group::Waits]))
                    (stalls.beside(before.into_iter().chain([id])))
                    @if let Some(profile) = profile { p { (link(profile)) } }
                }
            }
        }
    }
}

/// The rows of some groups, beside the version before and what was published.
fn counters(card: &Card, groups: &[Group]) -> Markup {
    let rows: Vec<&Row> = card.rows.iter().filter(|row| groups.contains(&row.group)).collect();
    let has_published = rows.iter().any(|row| row.published.is_some());
    let by = card.published_by.as_deref().unwrap_or("published");
    let columns = if card.before.is_some() { 3 } else { 1 };
    html! {
        @if !rows.is_empty() { div .scroll { table .counters {
            thead { tr {
                th scope="col" {}
                @if let Some(before) = &card.before { th scope="col" { (before) } }
                th scope="col" { (card.version) }
                @if card.before.is_some() { th scope="col" { "change" } }
                @if has_published { th scope="colgroup" colspan=(columns) .published { (by) } }
            } }
            tbody { @for row in &rows {
                tr .moved[row.change.is_some_and(|change| change.abs() >= MOVED)] {
                    th scope="row" { (row.name) @if !row.unit.is_empty() { " [" (row.unit) "]" } }
                    @if card.before.is_some() { td { (number(row.before)) } }
                    td { (number(row.now)) }
                    @if card.before.is_some() { td .change { (change(row.change)) } }
                    @if has_published {
                        @match &row.published {
                            Some(pair) if card.before.is_some() => {
                                td .published { (number(pair.before)) } td { (number(Some(pair.now))) }
                                td { (change(pair.change)) }
                            }
                            Some(pair) => { td .published { (number(Some(pair.now))) } }
                            None => { td .published colspan=(columns) {} }
                        }
                    }
                }
            } }
        } } }
    }
}

fn changed_lines(difference: &Difference) -> Markup {
    let Difference { added, removed, hunks } = difference;
    let long = added + removed > SHORT;
    html! {
        @if !hunks.is_empty() {
            details .more[long] open {
                summary { "What changes: " (added) " lines more, " (removed) " less" }
                @for hunk in hunks { (lines(hunk)) }
            }
        }
    }
}

fn lines(hunk: &Hunk) -> Markup {
    html! {
        pre .diff tabindex="0" { span .file { (hunk.place()) } @for line in &hunk.lines {
            @let class = match line.sign {
                Sign::Added => "added", Sign::Removed => "removed", Sign::Kept => "same",
            };
            span .(class) { (line.sign.sign()) " " (line.text) }
        } }
    }
}

/// A comment's text: what stands between backticks is code, a link's brackets are left out.
fn prose(text: &str) -> Markup {
    let plain = text.replace("[`", "`").replace("`]", "`");
    html! {
        @for (at, part) in plain.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
