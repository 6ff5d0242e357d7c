//! Our kernels against the same ones in CUDA C++.

use maud::{Markup, html};

use super::sheet::Sheet;
use crate::analysis::parity::{Ratios, rated};
use crate::record::comparison::{By, Comparison};
use crate::render::table::{or_dash, outcome};

pub(super) fn parity(found: &Comparison) -> Markup {
    let found = &rated(found);
    let error = |error: Option<f64>| or_dash(error.map(|error| format!("{error:.1e}")));
    let mut systems: Vec<&str> = found.parity.iter().map(|row| row.system.as_str()).collect();
    systems.dedup();
    let sides = |system: &str| {
        let headings = [
            "version",
            "Rust [ms]",
            "CUDA [ms]",
            "Rust/CUDA",
            "Rust rel. error",
            "CUDA rel. error",
        ];
        let mut sheet = Sheet::new(&headings);
        for row in found.parity.iter().filter(|row| row.system == system) {
            let (rust, cuda) = (format!("{:.2}", row.rust_ms), format!("{:.2}", row.cuda_ms));
            let cells = vec![
                row.version.clone(),
                rust,
                cuda,
                format!("{:.3}", row.ratio),
                error(row.rust_error),
                error(row.cuda_error),
            ];
            sheet.push(Some(&row.version), cells);
        }
        sheet.markup()
    };
    let ratios = |system: &str| {
        let of: Vec<f64> =
            found.parity.iter().filter(|r| r.system == system).map(|r| r.ratio).collect();
        Ratios::of(&of)
    };
    html! {
        p {
            "The same kernels in CUDA C++ by " (found.yardstick) ", launched in turn with ours on the "
            "same arrays of " (found.head.device.name) "; below 1 ours are faster."
        }
        @for system in systems {
            h3 { (system) }
            (sides(system))
            @if let Some(Ratios { mean, least, most }) = ratios(system) {
                p .note { "Geometric mean " (format!("{mean:.3}")) ", from "
                          (format!("{least:.3} to {most:.3}")) "." }
            }
        }
        @for failed in &found.failures {
            p .wrong { (failed.version) " by " @match failed.by { By::Rust => "Rust", By::Cuda => "CUDA" }
                       " on " (failed.system) ": " (outcome(failed.outcome)) }
        }
        (best(found))
    }
}

/// The best version against the v8 of CUDA C++.
fn best(found: &Comparison) -> Markup {
    let headings = ["version", "system", "poles", "time [ms]", "CUDA v8 [ms]", "CUDA v8/best"];
    let mut sheet = Sheet::new(&headings);
    for row in &found.best {
        let cells = vec![
            row.version.clone(),
            row.system.clone(),
            row.poles.name().into(),
            format!("{:.2}", row.best_ms),
            format!("{:.2}", row.cuda_v8_ms),
            format!("{:.2}×", row.cuda_v8_over_best),
        ];
        sheet.push(Some(&row.version), cells);
    }
    html! {
        @if !found.best.is_empty() {
            h3 { "The fastest version beside the paper’s last in CUDA C++" }
            (sheet.markup())
        }
    }
}
