//! The head of the page: what it is of, and what comes of it.

use maud::{Markup, html};

use super::Page;
use super::sheet::named;
use crate::analysis::parity::means;
use crate::analysis::table1::Row;
use crate::record::run::Measurement;
use crate::reference::verify::Outcome;
use crate::render::results;

/// A figure and what it is of.
struct Tile {
    figure: String,
    of: String,
    version: Option<String>,
}

pub(super) fn summary(page: &Page, title: &str) -> Markup {
    html! {
        header {
            h1 { (title) }
            p .lead {
                "BerkeleyGW’s General Plasmon Pole kernel in Rust, version by version: what each "
                "changes, what that costs and gains, and why. Beside it, what the paper “8 Steps to "
                "3.7 TFLOP/s on NVIDIA V100 GPU” (arXiv 2008.11326) published for one V100."
            }
            div .tiles { @for tile in tiles(page) {
                div .tile data-version=[&tile.version] {
                    strong { (tile.figure) }
                    span { @if let Some(version) = &tile.version { (named(Some(version), version)) " " }
                           (tile.of) }
                }
            } }
            (provenance(page))
        }
    }
}

/// Where the records come from.
fn provenance(page: &Page) -> Markup {
    let (device, from) = (&page.run.head.device, page.run.head.provenance.as_ref());
    let states = page.run.results.iter().filter_map(|result| result.state.as_ref());
    let limit = states.filter_map(|state| state.power_limit_w).reduce(f64::max);
    let clock = device.clock_mhz.map(|clock| format!("up to {clock} MHz"));
    let limit = limit.map(|watts| format!("limited to {watts:.0} W"));
    let driver = device.driver.as_ref().map(|driver| format!("driver {driver}"));
    let repeat = from.and_then(|from| from.repeat).map(|runs| format!("{runs} timed runs each"));
    let device: Vec<String> =
        [Some(device.name.clone()), clock, limit, driver].into_iter().flatten().collect();
    let row = |name: &str, text: Option<&String>| {
        html! { @if let Some(text) = text { dt { (name) } dd { (text) } } }
    };
    html! {
        dl .provenance {
            dt { "device" } dd { (device.join(", ")) }
            dt { "system" } dd { (results::system(&page.run.system)) }
            @if let Some(from) = from {
                dt { "measured" } dd { (from.date) @if let Some(runs) = &repeat { ", " (runs) } }
                (row("commit", from.commit.as_ref()))
                (row("kernels by", from.kernels_by.as_ref().or(from.ptx.as_ref())))
                (row("program by", from.program_by.as_ref()))
            }
        }
        @if !page.run.head.complete { p .wrong { "The run was interrupted: versions are missing." } }
    }
}

/// The figures that tell most.
fn tiles(page: &Page) -> Vec<Tile> {
    let mut tiles = Vec::new();
    let rows = page.sections.iter().flat_map(|section| &section.rows);
    let fastest = rows.min_by(|a, b| a.time_s.total_cmp(&b.time_s));
    if let Some(row) = fastest {
        let ms = row.time_s * 1e3;
        tiles.push(Tile {
            figure: row.over_baseline.map_or(format!("{ms:.1} ms"), |over| format!("{over:.1} ×")),
            of: format!("over {}: {ms:.1} ms", row.baseline),
            version: Some(row.version.clone()),
        });
    }
    if let Some(rate) = fastest.and_then(|row| row.tflops) {
        let share = 1e14 * rate / page.ceilings.fp64;
        tiles.push(Tile {
            figure: format!("{rate:.1} TFLOP/s"),
            of: format!("its rate, {share:.0} % of the measured FP64 peak"),
            version: None,
        });
    }
    if let Some((saved, from, to)) = fastest.and_then(|row| energy(page, row)) {
        tiles.push(Tile {
            figure: format!("{saved:.1} × less energy"),
            of: format!("{from:.0} J for a calculation at first, {to:.1} J by the fastest"),
            version: None,
        });
    }
    if let Some(found) = page.comparison {
        let means = means(&found.parity);
        let mean = means.get(&page.run.system.name).or(means.values().next());
        tiles.extend(mean.map(|mean| Tile {
            figure: format!("{mean:.3}"),
            of: "of the time of the same kernels in CUDA C++, on average".into(),
            version: None,
        }));
    }
    let mut best = page.comparison.iter().flat_map(|found| &found.best);
    let own = best.find(|best| best.system == page.run.system.name);
    tiles.extend(own.map(|best| Tile {
        figure: format!("{:.1} ×", best.cuda_v8_over_best),
        of: "over the paper’s last version in CUDA C++".into(),
        version: Some(best.version.clone()),
    }));
    tiles.extend(verified(&page.run.results));
    tiles
}

/// How many times less energy a version takes than its baseline, and the joules of both.
fn energy(page: &Page, row: &Row) -> Option<(f64, f64, f64)> {
    let of = |id: &str| page.run.passed_result(id)?.energy_j;
    let (first, own) = (of(&row.baseline)?, of(&row.version)?);
    Some((first / own, first, own))
}

/// How many versions passed, and the worst of them.
fn verified(results: &[Measurement]) -> Option<Tile> {
    let passed = results.iter().filter(|result| result.outcome() == Outcome::Passed).count();
    let errors = results.iter().filter_map(|result| result.verification.max_rel_error);
    let worst = errors.reduce(f64::max)?;
    Some(Tile {
        figure: format!("{worst:.1e}"),
        of: format!("the largest relative error; {passed} of {} versions verified", results.len()),
        version: None,
    })
}
