//! The versions for CPUs.

use maud::{Markup, html};

use super::sheet::Sheet;
use super::{Processor, rooflines};
use crate::analysis::bounds::verdict;
use crate::analysis::speed_ups::over_baseline;
use crate::catalogue;
use crate::error::ChartError;
use crate::render::results;
use crate::render::table::or_dash;

pub(super) fn processor(of: &Processor) -> Result<Markup, ChartError> {
    let Processor { run, profiles, ceilings } = of;
    let (baseline, over) = over_baseline(&run.results);
    let headings = [
        "version",
        "what it changes",
        "median [ms]",
        "σ",
        "",
        "threads",
        "vectors",
        "rel. error",
        "what bounds it",
    ];
    let mut headings = headings.map(str::to_string);
    headings[4] = format!("over {baseline}");
    let mut sheet = Sheet::new(&headings).words([1, 8]).anchors();
    for (result, over) in run.results.iter().zip(over) {
        let profile = profiles.iter().find(|profile| profile.version == result.version);
        let listed = catalogue::find(&result.version);
        let cells = vec![
            result.version.clone(),
            or_dash(listed.map(|listed| listed.version.change)),
            format!("{:.2}", result.times.median * 1e3),
            or_dash(result.times.relative_sigma().map(|sigma| format!("{:.1} %", sigma * 100.0))),
            or_dash(over.map(|ratio| format!("{ratio:.2}×"))),
            or_dash(result.threads.map(|threads| threads.count)),
            or_dash(result.simd.clone()),
            or_dash(result.verification.max_rel_error.map(|error| format!("{error:.1e}"))),
            or_dash(profile.map(|own| verdict(own, ceilings, Some(result), None).to_string())),
        ];
        sheet.push(Some(&result.version), cells);
    }
    let figures = rooflines(profiles, ceilings)?;
    Ok(html! {
        p { (results::system(&run.system)) ", on " (run.head.device.name) "." }
        (sheet.markup())
        (figures)
    })
}
