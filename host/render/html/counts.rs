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
    let mut source =
        Sheet::new(&["version", "add", "mul", "FMA", "div", "rcp", "sqrt", "compare", "FLOP"]);
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
        if let Some(c) = &p.counted {
            let numbers = [c.add, c.mul, c.fma, c.div, c.rcp, c.sqrt, c.compare, c.flops()];
            let cells = numbers.iter().map(|n| format!("{n:.2}"));
            source.push(Some(&p.version), [p.version.clone()].into_iter().chain(cells).collect());
        }
    }
    html! {
        (hardware.markup())
        p .note {
            "For each term (n, igp, ig, iw), counted by "
            @if ceilings.of_processor() { "the profile" } @else { "the hardware" } " ("
            @if let Some(p) = profiles.first() { (p.source) }
            "). “Share of peak” is what a kernel of this share of FMA can reach of the FP64 peak; “of "
            "own ceiling” is how much of that it does, by the measured peak of a burst and by the "
            "sustained one (the paper’s v8: 70 % on a V100)."
        }
        @if !ceilings.of_processor() {
            h3 { "As the source is written" }
            (source.markup())
            p .note {
                "Counted by running the version’s source with a counting number. The hardware counts more "
                "where it makes a reciprocal of five FMA, a division of about nine, and a square root of "
                "about three and some multiplications. It counts less where the compilers hoist what the "
                "source has inside a loop. In v10 to v13 the source counts the approximate reciprocal as "
                "one operation (rcp); the MUFU pipe that makes it counts as no FLOP."
            }
        }
    }
}

pub(super) fn instructions(profiles: &[Profile]) -> Markup {
    let known: Vec<_> =
        profiles.iter().filter_map(|p| Some((p, p.disassembly.as_ref()?))).collect();
    let mut sheet = Sheet::new(&["version", "DFMA", "DMUL", "DADD", "DSETP", "MUFU", "all"]);
    for (profile, disassembled) in &known {
        let i = &disassembled.instructions;
        let counts = [i.fma, i.mul, i.add, i.compare, i.mufu, i.all].map(|n| n.to_string());
        let cells = [profile.version.clone()].into_iter().chain(counts).collect();
        sheet.push(Some(&profile.version), cells);
    }
    html! {
        @if let Some((_, first)) = known.first() {
            h3 { "Instructions in the code" }
            (sheet.markup())
            p .note {
                "From the disassembly by " (first.source) ": each instruction of the kernel once, "
                "subroutines and second stage of the sum within the block included, however often "
                "it runs."
            }
        }
    }
}
