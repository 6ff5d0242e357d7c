//! Operations and instructions.

use maud::{Markup, html};

use crate::analysis::peaks::{of_own_ceiling, share_of_peak};
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;
use crate::render::table::or_dash;

pub(super) fn counts(profiles: &[Profile], ceilings: &Ceilings) -> Markup {
    let per_term = |value: f64, profile: &Profile| format!("{:.2}", value / profile.terms as f64);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    html! {
        h2 { "Operations" }
        div .scroll { table {
            tr { th { "version" } th { "add" } th { "mul" } th { "FMA" } th { "FLOP" }
                 th { "FMA share" } th { "share of peak" } th { "of own ceiling" } th { "sustained" }
                 th { "source: add" } th { "mul" } th { "FMA" } th { "div" } th { "rcp" }
                 th { "sqrt" } th { "compare" } th { "FLOP" } }
            @for p in profiles {
                @let own = of_own_ceiling(p, ceilings);
                tr {
                    td { (p.version) }
                    td { (per_term(p.dadd, p)) } td { (per_term(p.dmul, p)) }
                    td { (per_term(p.dfma, p)) } td { (per_term(p.flops(), p)) }
                    td { (percent(p.fma_ratio())) }
                    td { (percent(share_of_peak(p.fma_ratio()))) }
                    td { (percent(own.burst)) }
                    td { (or_dash(own.sustained.map(percent))) }
                    @if let Some(c) = &p.counted {
                        @for n in [c.add, c.mul, c.fma, c.div, c.rcp, c.sqrt, c.compare, c.flops()] {
                            td { (format!("{n:.2}")) }
                        }
                    }
                }
            }
        } }
        p .note {
            "For each term (n, igp, ig, iw). Left: counted by "
            @if ceilings.of_processor() { "the profile" } @else { "the hardware" } " ("
            @if let Some(p) = profiles.first() { (p.source) }
            "). “Share of peak” is what a kernel of this share of FMA can reach of the FP64 peak; “of "
            "own ceiling” is how much of that it does, by the measured peak of a burst and by the "
            "sustained one (the paper’s v8: 70 % on a V100)."
        }
        @if !ceilings.of_processor() {
            p .note {
                "Right: counted by running the version’s source with a counting number, as it is "
                "written. The hardware counts more where it makes a reciprocal of five FMA "
                "instructions, a division of about nine and a square root of about three and some "
                "multiplications, each of them one operation of the source. It counts less where the "
                "compilers hoist what the source has inside the loop over bands or energies, which the "
                "source counts every time; and in v10 to v13, whose source writes a reciprocal as an "
                "approximation and the FMA that refine it: the source counts the approximation as one "
                "operation (rcp), the MUFU pipe that makes it counts as no FLOP."
            }
        }
    }
}

pub(super) fn instructions(profiles: &[Profile]) -> Markup {
    let known: Vec<_> =
        profiles.iter().filter_map(|p| Some((p, p.disassembly.as_ref()?))).collect();
    html! {
        @if let Some((_, first)) = known.first() {
            h3 { "Instructions in the code" }
            div .scroll { table {
                tr { th { "version" } th { "DFMA" } th { "DMUL" } th { "DADD" } th { "DSETP" }
                     th { "MUFU" } th { "all" } }
                @for (profile, disassembled) in &known {
                    @let i = &disassembled.instructions;
                    tr {
                        td { (profile.version) }
                        @for n in [i.fma, i.mul, i.add, i.compare, i.mufu, i.all] { td { (n) } }
                    }
                }
            } }
            p .note {
                "From the disassembly by " (first.source) ": each instruction of the kernel once, "
                "subroutines and second stage of the sum within the block included, however often "
                "it runs."
            }
        }
    }
}
