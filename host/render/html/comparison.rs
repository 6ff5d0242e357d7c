//! Our versions beside the yardstick, in CUDA C++ or in Fortran.

use maud::{Markup, html};

use super::sheet::Sheet;
use crate::analysis::comparison::{Ratios, rated, ratios, systems};
use crate::record::comparison::{Comparison, Side};
use crate::reference::verify::Outcome;
use crate::render::comparison::{best, failure, pairs, racers};

pub(super) fn comparison(found: &Comparison) -> Markup {
    let found = &rated(found);
    let (yardstick, device) = (&found.yardstick, &found.head.device.name);
    let pair = |system| pairs(found, Some(system)).only([1, 2, 3, 4, 9, 10]);
    let best = best(found).only([1, 0, 2, 3, 4, 5]);
    let racers = racers(found).only([2, 0, 1, 3, 4, 6, 7, 8, 9]);
    let wrong = found.heats.iter().flat_map(|heat| {
        let failed = heat.racers.iter().filter(|racer| racer.outcome != Outcome::Passed);
        failed.filter(|racer| racer.side != Side::Fortran).map(move |racer| failure(heat, racer))
    });
    html! {
        @if !systems(found).is_empty() {
            p {
                "The same kernels in CUDA C++ by " (yardstick) ", launched in turn with ours on the "
                "same arrays of " (device) "; below 1 ours are faster."
            }
        }
        @for system in systems(found) {
            h3 { (system) }
            (Sheet::of(&pair(system), version).markup())
            @if let Some(Ratios { mean, least, most }) = ratios(found, system) {
                p .note { "Geometric mean " (format!("{mean:.3}")) ", from "
                          (format!("{least:.3} to {most:.3}")) "." }
            }
        }
        @for failed in wrong { p .wrong { (failed) } }
        @if !best.rows.is_empty() {
            h3 { "The fastest version beside the paper’s last in CUDA C++" }
            (Sheet::of(&best, version).markup())
        }
        @if !racers.rows.is_empty() {
            h3 { "Beside Fortran" }
            (Sheet::of(&racers, ours).markup())
            p .note { (yardstick) ", on " (device) ", in turn on the same arrays." }
        }
    }
}

/// The version that a row is of.
fn version(row: &[String]) -> Option<&str> {
    row.first().map(String::as_str)
}

/// The same, where it is one of ours.
fn ours(row: &[String]) -> Option<&str> {
    version(row).filter(|_| row[2] == Side::Rust.name())
}
