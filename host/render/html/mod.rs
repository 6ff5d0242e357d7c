//! The report: one self-contained page. Everything in it comes from stored records, and all of it is there
//! without the script, which adds: a version highlighted wherever it stands, what is shown, guesses.

mod cards;
mod counts;
mod device;
mod frame;
mod guess;
mod lines;
mod measured;
mod parity;
mod processor;
mod scale;
mod sheet;
mod sigma;
mod stalls;
mod summary;
mod times;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::analysis::roofline::FIGURES;
use crate::analysis::table1::Section;
use crate::error::ChartError;
use crate::record::ceilings::Ceilings;
use crate::record::comparison::Comparison;
use crate::record::profile::Profile;
use crate::record::race::Race;
use crate::record::run::Run;
use crate::record::scale::Scale;
use crate::render::chart;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The records that a page shows.
pub struct Page<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its tables.
    pub sections: &'a [Section],
    /// The profiles of its versions.
    pub profiles: &'a [Profile],
    /// The device's ceilings.
    pub ceilings: &'a Ceilings,
    /// The same versions against CUDA C++.
    pub comparison: Option<&'a Comparison>,
    /// The processor's journey.
    pub processor: Option<Processor<'a>>,
    /// A scaling over devices, which is rated.
    pub scale: Option<&'a Scale>,
}

/// The records of a processor's journey.
pub struct Processor<'a> {
    /// The run.
    pub run: &'a Run,
    /// The profiles of its versions.
    pub profiles: &'a [Profile],
    /// The processor's ceilings.
    pub ceilings: &'a Ceilings,
    /// The best of them against Fortran.
    pub race: Option<&'a Race>,
}

/// A section and its line in the contents; one without a body vanishes.
struct Part {
    id: &'static str,
    title: String,
    body: Markup,
}

/// The page.
///
/// # Errors
/// What a chart could not draw.
pub fn page(page: &Page) -> Result<String, ChartError> {
    let title = format!("GPP on {}: {}", page.ceilings.device, page.run.system.name);
    let steps = frame::steps(page);
    let parts = parts(page, &steps)?;
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
                a .skip href="#main" { "To the figures" }
                (summary::summary(page, &title))
                div .frame {
                    aside { (frame::contents(&parts, &steps)) (frame::controls(page)) }
                    main #main {
                        @for part in &parts { section id=(part.id) { (part.body) } }
                    }
                }
                (frame::kept())
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(markup.into_string())
}

/// All sections that have something to show.
fn parts(page: &Page, steps: &[&str]) -> Result<Vec<Part>, ChartError> {
    let Page { run, sections, profiles, ceilings, .. } = *page;
    let none = || html! {};
    let part = |id, title: &str, body| Part { id, title: title.into(), body };
    let mut parts = vec![part("steps", "Step by step", cards::cards(page, steps))];
    for (id, section) in
        ["times", "times-2", "times-3", "times-4", "times-5"].into_iter().zip(sections)
    {
        parts.push(part(id, &times::heading(section), times::times(section)));
    }
    let processor = page.processor.as_ref().map(processor::processor).transpose()?;
    parts.extend([
        part("published", "What else was published", times::published_beside(sections)),
        part("measured", "Clock, power, error", measured::measured(run)),
        part("sigma", "Σ(ω)", sigma::sigma(run)),
        part("rooflines", "Rooflines", rooflines(profiles, ceilings)?),
        part(
            "operations",
            "Operations",
            html! {
                (counts::counts(profiles, ceilings)) (counts::instructions(profiles))
            },
        ),
        part("stalls", "Why warps wait", stalls::Stalls::of(profiles).all()),
        part("lines", "Source lines", lines::source_lines(profiles)),
        part("parity", "Beside CUDA C++", page.comparison.map_or_else(none, parity::parity)),
        part("processor", "On a processor", processor.unwrap_or_else(none)),
        part("scaling", "Scaling", page.scale.map_or_else(none, scale::scale)),
        part("device", "Device and ceilings", device::device(run, ceilings)),
        part("reproduce", "How to reproduce it", reproduce(&run.system.name)),
    ]);
    parts.retain(|part| !part.body.0.is_empty());
    Ok(parts)
}

fn rooflines(profiles: &[Profile], ceilings: &Ceilings) -> Result<Markup, ChartError> {
    Ok(html! {
        h2 { "Rooflines" }
        p .note {
            "Operations are those that the hardware counted, a fused one being two; intensity is "
            "operations for each byte moved at a level. Rest the pointer on a dot, or come to it by "
            "keyboard, for its figures."
        }
        (figures(profiles, ceilings)?)
    })
}

/// The charts of all figures that have profiles here; narrow screens scroll them.
fn figures(profiles: &[Profile], ceilings: &Ceilings) -> Result<Markup, ChartError> {
    let shown = FIGURES.iter().map(|figure| (figure, figure.of(profiles)));
    let drawn = shown
        .filter(|(_, shown)| !shown.is_empty())
        .map(|(figure, shown)| chart::svg(&figure.title(&shown), &shown, ceilings));
    let drawn: Vec<String> = drawn.collect::<Result<_, ChartError>>()?;
    Ok(html! { @for svg in &drawn { figure { div .scroll { (PreEscaped(svg)) } } } })
}

fn reproduce(name: &str) -> Markup {
    html! {
        h2 { "How to reproduce it" }
        pre { "scripts/setup\ncargo build --release\n"
              "./target/release/gpp profile --system " (name) "\n"
              "./target/release/gpp roofline\n./target/release/gpp report\n" }
        p .note {
            "With an NVIDIA GPU, its driver and Nsight Compute, from the repository's root, so that "
            "the profiler finds the Rust sources."
        }
    }
}
