//! Operations and instructions.

use maud::{Markup, html};

use crate::analysis::bounds::share_of_peak;
use crate::record::profile::Profile;

pub(super) fn counts(profiles: &[Profile]) -> Markup {
    let per_term = |value: f64, profile: &Profile| format!("{:.2}", value / profile.terms as f64);
    html! {
        h2 { "Operations" }
        div .scroll { table {
            tr { th { "version" } th { "add" } th { "mul" } th { "FMA" } th { "FLOP" }
                 th { "FMA share" } th { "share of peak" }
                 th { "source: add" } th { "mul" } th { "FMA" } th { "div" } th { "rcp" }
                 th { "sqrt" } th { "compare" } th { "FLOP" } }
            @for p in profiles { tr {
                td { (p.version) }
                td { (per_term(p.dadd, p)) } td { (per_term(p.dmul, p)) }
                td { (per_term(p.dfma, p)) } td { (per_term(p.flops(), p)) }
                td { (format!("{:.0} %", p.fma_ratio() * 100.0)) }
                td { (format!("{:.0} %", share_of_peak(p.fma_ratio()) * 100.0)) }
                @if let Some(c) = &p.counted {
                    @for n in [c.add, c.mul, c.fma, c.div, c.rcp, c.sqrt, c.compare, c.flops()] {
                        td { (format!("{n:.2}")) }
                    }
                }
            } }
        } }
        p .note {
            "For each term (n, igp, ig, iw). Left: counted by the hardware ("
            @if let Some(p) = profiles.first() { (p.source) }
            "). Right: counted by running the version's source with a counting number, as it is "
            "written. They differ because the hardware makes a reciprocal of five FMA instructions, a "
            "division of about nine and a square root of about three and some multiplications, "
            "where the right counts one; and because the compilers hoist what the source has "
            "inside the loop over bands or energies, which the right counts every time."
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
