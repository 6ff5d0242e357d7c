//! Operations and instructions.

use maud::{Markup, html};

use super::sheet::Sheet;
use crate::analysis::peaks::{of_own_ceiling, share_of_peak};
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::render::table::or_dash;

pub(super) fn counts(profiles: &[Profile], ceilings: &Ceilings) -> Markup {
    let per_term = |value: f64, profile: &Profile| format!("{:.2}", value / profile.terms as f64);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut hardware = Sheet::new(&[
        "version",
        "add",
        "mul",
        "FMA",
        "FLOP",
        "FLOP/byte HBM",
        "FMA share",
        "share of peak",
        "of own ceiling",
        "sustained",
    ]);
    for p in profiles {
        let own = of_own_ceiling(p, ceilings);
        let cells = vec![
            p.version.clone(),
            per_term(p.dadd, p),
            per_term(p.dmul, p),
            per_term(p.dfma, p),
            per_term(p.flops(), p),
            format!("{:.1}", p.flops() / p.bytes.hbm),
            percent(p.fma_ratio()),
            percent(share_of_peak(p.fma_ratio())),
            percent(own.burst),
            or_dash(own.sustained.map(percent)),
        ];
        hardware.push(Some(&p.version), cells);
    }
    html! {
        (hardware.markup())
        p .note {
            "For each term (n, igp, ig, iw), counted by "
            "the hardware ("
            @if let Some(p) = profiles.first() { (p.source) }
            "). “Share of peak” is what a kernel of this share of FMA can reach of the FP64 peak; “of "
            "own ceiling” is how much of that it does, by the measured peak of a burst and by the "
            "sustained one (the paper’s v8: 70 % on a V100)."
        }
    }
}
