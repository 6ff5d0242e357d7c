//! The report: one self-contained page. Everything in it comes from stored records, and all of it is there
//! without the script, which adds: a version highlighted wherever it stands, journeys that hide, guesses.

mod cards;
mod counts;
mod device;
mod frame;
mod guess;
mod kernel;
mod matrices;
mod measured;
mod sheet;
mod sigma;
mod stalls;
mod summary;
mod times;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::analysis::levels::{LEVELS, Level};
use crate::analysis::roofline::{FIGURES, Figure};
use crate::analysis::table1::Section;
use crate::error::ChartError;
use crate::experiments::offdiag::folder::Folder;
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::record::run::Run;
use crate::render::chart::Roofline;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The title of Σ as a matrix.
const MATRICES: &str = "Σ as a matrix";

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
    /// Σ as a matrix.
    pub matrices: Option<&'a Folder>,
}

/// A section and its line in the contents; one without a body vanishes.
struct Part {
    id: &'static str,
    title: &'static str,
    body: Markup,
    /// Whether it is folded, behind the others.
    folded: bool,
}

/// The page.
///
/// # Errors
/// What a chart could not draw.
pub fn page(page: &Page) -> Result<String, ChartError> {
    let title = format!("GPP on {}: {}", page.ceilings.device, page.run.system.name);
    let steps = frame::steps(page);
    let parts = parts(page, &steps)?;
    let body = html! {
        a .skip href="#main" { "To the figures" }
        (summary::summary(page, &title))
        div .frame {
            aside { (frame::contents(&parts, &steps)) (frame::controls(page)) }
            main #main {
                @for part in parts.iter().filter(|part| !part.folded) {
                    section id=(part.id) { h2 { (part.title) } (part.body) }
                }
                section #more {
                    h2 { "More" }
                    @for part in parts.iter().filter(|part| part.folded) {
                        details .part id=(part.id) { summary { (part.title) } (part.body) }
                    }
                }
            }
        }
        (frame::kept())
        script { (PreEscaped(SCRIPT)) }
    };
    Ok(document(&title, &body))
}

/// The page of Σ as a matrix alone.
///
/// # Errors
/// As [`page`].
pub fn of_matrices(folder: &Folder) -> Result<String, ChartError> {
    let record = folder.of_versions();
    let title = format!("{MATRICES} on {}: {}", record.head.device.name, record.system.name);
    let body = html! {
        header { h1 { (title) } }
        main #matrices { (matrices::matrices(folder, None)?) }
    };
    Ok(document(&title, &body))
}

fn document(title: &str, body: &Markup) -> String {
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
            body { (body) }
        }
    };
    markup.into_string()
}

/// All sections that have something to show.
fn parts(page: &Page, steps: &[&str]) -> Result<Vec<Part>, ChartError> {
    let Page { run, sections, profiles, ceilings, .. } = *page;
    let none = || html! {};
    let part = |id, title, body| Part { id, title, body, folded: false };
    let folded = |id, title, body| Part { id, title, body, folded: true };
    let matrices =
        page.matrices.map(|folder| matrices::matrices(folder, Some(ceilings))).transpose()?;
    let mut parts = vec![
        part("results", "All versions", times::results(sections)),
        part("kernel", "The kernel in a minute", kernel::kernel(&run.system)),
        part("steps", "Step by step", cards::cards(page, steps)),
        part("sigma", "Σ(ω)", sigma::sigma(run)),
        part("rooflines", "Roofline", rooflines(profiles, ceilings)?),
        part("stalls", "Why warps wait", stalls::Stalls::of(profiles).all()),
        folded("measured", "Clock, power and error of the runs", measured::measured(run)),
        folded(
            "operations",
            "Operations and instructions",
            html! {
                (counts::counts(profiles, ceilings))
            },
        ),
        folded("matrices", MATRICES, matrices.unwrap_or_else(none)),
        folded("published", "What else was published", times::published_beside(sections)),
        folded("device", "Device, system and ceilings", device::device(run, ceilings)),
        folded("reproduce", "How to reproduce it", reproduce(&run.system.name)),
    ];
    parts.retain(|part| !part.body.0.is_empty());
    Ok(parts)
}

/// The rooflines of whole journeys by HBM; by other levels, and as the paper has them, folded.
fn rooflines(profiles: &[Profile], ceilings: &Ceilings) -> Result<Markup, ChartError> {
    let whole = |figure: &&Figure| figure.is_whole();
    let (stories, papers): (Vec<&Figure>, Vec<&Figure>) =
        FIGURES.iter().filter(|figure| figure.paper.is_some() || whole(figure)).partition(whole);
    let drawn = |figures: &[&Figure], levels: &dyn Fn(&Figure) -> Vec<Level>| {
        let mut all = Vec::new();
        for figure in figures {
            let shown = figure.of(profiles);
            for level in levels(figure) {
                let (title, levels) = (figure.title(&shown), &[level]);
                let of_level = shown.iter().any(|own| level.bytes(own).is_some());
                let chart = Roofline { title: &title, profiles: &shown, ceilings, levels };
                if of_level {
                    all.push((level, chart.inline()?));
                }
            }
        }
        Ok::<_, ChartError>(all)
    };
    let by_hbm = drawn(&stories, &|_| vec![Level::Hbm])?;
    let others = drawn(&stories, &|_| LEVELS.into_iter().skip(1).collect())?;
    let papers = drawn(&papers, &|_| vec![Level::Hbm])?;
    let charts = |charts: &[(Level, String)]| {
        html! { div .charts { @for (level, svg) in charts {
            figure { figcaption { "by " (level.name()) } (PreEscaped(svg)) }
        } } }
    };
    Ok(html! {
        @if !by_hbm.is_empty() {
            p .note {
                "Rate against operations for each byte moved. Operations are those that were counted, a "
                "fused one being two. Point at a dot, tap it or come to it by keyboard for its figures."
            }
            (charts(&by_hbm))
            @if !others.is_empty() {
                details .more { summary { "By the other levels of memory" } (charts(&others)) }
            }
            @if !papers.is_empty() {
                details .more { summary { "The steps of the paper’s Figures 1, 3, 5 and 6" } (charts(&papers)) }
            }
        }
    })
}

fn reproduce(name: &str) -> Markup {
    html! {
        pre { "scripts/setup\ncargo build --release\n"
              "./target/release/gpp profile --system " (name) "\n"
              "./target/release/gpp roofline\n./target/release/gpp report\n" }
        p .note {
            "With an NVIDIA GPU, its driver and Nsight Compute, from the repository’s root, so that "
            "the profiler finds the Rust sources."
        }
    }
}
