//! The report: one self-contained page. Everything in it comes from stored records.

mod counts;
mod device;
mod lines;
mod scale;
mod stalls;
mod times;
mod versions;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::analysis::roofline::FIGURES;
use crate::analysis::table1::Section;
use crate::error::ChartError;
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::record::run::Run;
use crate::record::scale::Scale;
use crate::render::chart;

const STYLE: &str = "
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c232b; margin: 0 auto; padding: 1rem;
       max-width: 64rem }
h1 { font-size: 1.6rem; line-height: 1.2 } h2 { margin-top: 2.5rem; font-size: 1.25rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: .85rem }
td, th { padding: .2rem .55rem; text-align: right; border-bottom: 1px solid #dde3ea;
         white-space: nowrap; vertical-align: top }
td:first-child, th:first-child, .left { text-align: left }
.wrap { white-space: normal; min-width: 14rem; text-align: left }
code { font-size: .8rem } pre { background: #f2f5f8; padding: .7rem; overflow-x: auto }
svg { max-width: 100%; height: auto } .note { color: #56616d; font-size: .9rem }
.stack { display: flex; height: 1.1rem; min-width: 16rem } .stack span { display: block }
";

/// The page of one run and its profiles, and of a scaling over devices where there is one.
///
/// # Errors
/// What a chart could not draw.
pub fn page(
    run: &Run,
    sections: &[Section],
    profiles: &[Profile],
    ceilings: &Ceilings,
    scale: Option<&Scale>,
) -> Result<String, ChartError> {
    let title = format!("GPP on {}: {}", ceilings.device, run.system.name);
    let mut figures = Vec::new();
    for figure in FIGURES {
        let shown = figure.of(profiles);
        if !shown.is_empty() {
            let title = figure.title(&shown);
            figures.push((title.clone(), chart::svg(&title, &shown, ceilings)?));
        }
    }
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                p {
                    "BerkeleyGW's General Plasmon Pole kernel in Rust, version by version, beside "
                    "the figures that the paper “8 Steps to 3.7 TFLOP/s on NVIDIA V100 GPU” "
                    "(arXiv 2008.11326) published for one V100."
                }
                (device::device(run, ceilings))
                @for section in sections {
                    (times::times(section))
                    (times::speed_ups(section))
                }
                (times::published_beside(sections))
                (versions::versions(profiles, ceilings, run))
                (counts::counts(profiles, ceilings))
                (counts::instructions(profiles))
                h2 { "Rooflines" }
                p .note {
                    "Operations are those that the hardware counted, a fused one being two; "
                    "intensity is operations for each byte moved at a level. Rest the pointer on "
                    "a dot for its figures."
                }
                @for (title, svg) in &figures {
                    figure { figcaption { (title) } (PreEscaped(svg)) }
                }
                (stalls::stalls(profiles))
                (lines::source_lines(profiles))
                @if let Some(scale) = scale { (scale::scale(scale)) }
                (reproduce(&run.system.name))
            }
        }
    };
    Ok(markup.into_string())
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
