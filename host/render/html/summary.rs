//! The head of the page: what it is of, and what was found.

use maud::{Markup, html};

use super::{Page, times};
use crate::analysis::found::found;
use crate::reference::verify::Outcome;
use crate::render::results;

pub(super) fn summary(page: &Page, title: &str) -> Markup {
    let section = page.sections.first();
    let said = section.map(|section| found(page.run, section));
    html! {
        header {
            h1 { (title) }
            p .lead {
                "BerkeleyGW’s General Plasmon Pole kernel in Rust, version by version: what each "
                "changes, what that costs and gains, and why."
            }
            div .found {
                div {
                    h2 { "What was found" }
                    ol { @for text in said.iter().flatten() { li { (text) } } }
                    p .note { (verified(page)) }
                    p .note { (provenance(page)) }
                    @if !page.run.head.complete { p .wrong { "The run was interrupted: versions are missing." } }
                }
                @if let Some(section) = section { (times::bars(section)) }
            }
        }
    }
}

/// Where the records come from, in a line.
fn provenance(page: &Page) -> String {
    let (device, from) = (&page.run.head.device, page.run.head.provenance.as_ref());
    let clock = device.clock_mhz.map(|clock| format!("up to {clock} MHz"));
    let repeat =
        from.and_then(|from| from.repeat).map(|runs| format!("{runs} timed runs or more each"));
    let date = from.map(|from| format!("measured {}", from.date));
    let commit =
        from.and_then(|from| from.commit.as_ref()).map(|commit| format!("commit {commit}"));
    let system = Some(results::system(&page.run.system));
    let all = [Some(device.name.clone()), clock, system, date, repeat, commit];
    all.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// How many versions passed, and the worst of them.
fn verified(page: &Page) -> String {
    let results = &page.run.results;
    let passed = results.iter().filter(|result| result.outcome() == Outcome::Passed).count();
    let errors = results.iter().filter_map(|result| result.verification.max_rel_error);
    let worst = errors.reduce(f64::max);
    let worst =
        worst.map_or(String::new(), |worst| format!("; largest relative error {worst:.1e}"));
    format!("{passed} of {} versions agree with the reference sums{worst}.", results.len())
}
