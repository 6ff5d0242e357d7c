//! Σ as a matrix: its versions, the time of more and more bands, and a picture.

use maud::{Markup, PreEscaped, html};

use super::sheet::Sheet;
use crate::analysis::matrices::Matrices;
use crate::error::ChartError;
use crate::experiments::offdiag::folder::Folder;
use crate::record::ceilings::Ceilings;
use crate::render::chart;
use crate::render::chart::matrix::Sizes;
use crate::render::matrices::{by_bands, by_version, counters};
use crate::render::results;
use crate::render::table::Cells;

/// With the roofline where the device's ceilings are known and the folder's counters tell of it.
pub(super) fn matrices(folder: &Folder, ceilings: Option<&Ceilings>) -> Result<Markup, ChartError> {
    let record = folder.of_versions();
    let sheet = |cells: &Cells| Sheet::of(cells, |_| None).words([2]).markup();
    let counters = counters(folder);
    let is_counted = counters.rows.iter().any(|row| row[1..].iter().any(|cell| cell != "–"));
    let points = ceilings.and_then(|ceilings| Matrices::of(folder, ceilings).ok());
    let roofline = points.map(|of| chart::matrices(&of)).transpose()?;
    Ok(html! {
        p {
            "All elements Σ_lm between " (record.count()) " bands, on " (record.head.device.name) ": "
            (results::system(&record.system)) "."
        }
        @if record.results.len() > 1 {
            (sheet(&by_version(folder, &record.system.name, record.count())))
        }
        @if is_counted {
            h3 {
                "Counters of the first product of CH: " (record.system.name) ", " (record.count()) " bands"
            }
            (Sheet::of(&counters, |_| None).markup())
        }
        @if let Some(roofline) = roofline {
            figure { (PreEscaped(roofline.inline())) }
        }
        h3 { "Over numbers of bands" }
        (sheet(&by_bands(folder)))
        p .note {
            "Medians of the products’ time; 8 operations a complex product. Each row is of the fastest version in its "
            "record; errors are relative to Σ|terms|."
        }
        @if let Some(sizes) = picture(folder) {
            figure { (PreEscaped(sizes.inline())) }
        }
    })
}

/// That of the record with most versions or, where it has none, of another.
fn picture(folder: &Folder) -> Option<Sizes<'_>> {
    let first = std::iter::once(folder.of_versions());
    first.chain(&folder.records).find_map(Sizes::recorded)
}
