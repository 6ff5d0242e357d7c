//! What stands around the sections: contents, and what only the script uses.

use maud::{Markup, html};

use super::{Page, Part};
use crate::catalogue::{journey_of, order};

/// The contents, a link to each section and to each version's card.
pub(super) fn contents(parts: &[Part], steps: &[&str]) -> Markup {
    html! {
        nav aria-label="Contents" {
            details #contents open {
                summary { "Contents" }
                ul { @for part in parts { li { a href=(format!("#{}", part.id)) { (part.title) } } } }
                ul .steps { @for id in steps {
                    li data-version=(id) { a href=(format!("#{id}")) { (id) } }
                } }
            }
        }
    }
}

/// What is shown: hidden where no script makes it work.
pub(super) fn controls(page: &Page) -> Markup {
    let mut journeys: Vec<(&str, Vec<String>)> = Vec::new();
    let ids = page.run.results.iter().map(|result| result.version.as_str());
    for id in ids.chain(page.profiles.iter().map(|profile| profile.version.as_str())) {
        let of = journey_of(id).map_or("others", |journey| journey.id);
        match journeys.iter_mut().find(|(journey, _)| *journey == of) {
            Some((_, ids)) if ids.iter().any(|known| known == id) => {}
            Some((_, ids)) => ids.push(id.into()),
            None => journeys.push((of, vec![id.into()])),
        }
    }
    html! {
        div #controls hidden {
            @if journeys.len() > 1 {
                fieldset { legend { "Journeys" }
                    @for (journey, ids) in &journeys { label {
                        input type="checkbox" checked data-versions=(ids.join(" "));
                        (journey)
                    } }
                }
            }
            p .note { "Point at a version to find it everywhere; click to keep it, Esc to let go." }
        }
    }
}

/// Where the script tells of what is pointed at, and which version is kept.
pub(super) fn kept() -> Markup {
    html! {
        div #kept role="status" hidden {
            b {} " " span {} " " a href="#steps" { "its card" }
            button type="button" aria-label="let go" { "×" }
        }
    }
}

/// The versions that have a card: of the run and of its profiles, in their order.
pub(super) fn steps<'a>(page: &Page<'a>) -> Vec<&'a str> {
    let of_run = page.run.results.iter().map(|result| result.version.as_str());
    let of_profiles = page.profiles.iter().map(|profile| profile.version.as_str());
    let mut ids: Vec<&str> = of_run.chain(of_profiles).collect();
    ids.sort_by_key(|id| order::place(id).unwrap_or(usize::MAX));
    ids.dedup();
    ids
}
