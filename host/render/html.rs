//! The report: one self-contained page. Everything in it comes from stored records.

use gpp_kernels::versions::ALL;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use super::table::rated_by;
use crate::analysis::roofline::FIGURES;
use crate::analysis::table1::{HEADINGS, MARK, Row};
use crate::catalogue::published::{BESIDE_SYSTEM, beside};
use crate::experiments::profile::Profile;
use crate::record::ceilings::{Ceilings, share_of_peak};
use crate::render::chart;

/// Pairs of versions whose source lines stand side by side, as in the paper's Figures 2, 4 and 7.
const LINE_PAIRS: [(&str, &str, &str); 4] = [
    ("v0", "v1", "Figure 2: division and reciprocal"),
    ("v2", "v3", "Figure 4: absolute values"),
    ("v6", "v7", "Figure 7: index order"),
    ("v7", "v8", "Figure 7: threads of a block"),
];

/// Source lines shown of each version.
const LINES: usize = 12;

const STYLE: &str = "
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c232b; margin: 0 auto; padding: 1rem;
       max-width: 64rem }
h1 { font-size: 1.6rem; line-height: 1.2 } h2 { margin-top: 2.5rem; font-size: 1.25rem }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: .85rem }
td, th { padding: .2rem .55rem; text-align: right; border-bottom: 1px solid #dde3ea;
         white-space: nowrap; vertical-align: top }
td:first-child, th:first-child, .left { text-align: left }
.wrap { white-space: normal; min-width: 14rem; text-align: left }
code { font-size: .8rem } pre { background: #f2f5f8; padding: .7rem; overflow-x: auto }
svg { max-width: 100%; height: auto } .note { color: #56616d; font-size: .9rem }
.stack { display: flex; height: 1.1rem; min-width: 16rem } .stack span { display: block }
";

/// Colours of the stall reasons, most frequent first.
const COLORS: [&str; 7] =
    ["#1f5fbf", "#c96a00", "#1f8a4c", "#a01e3c", "#6b4fa0", "#0e8a94", "#8a8f98"];

/// The page of one run and its profiles.
///
/// # Errors
/// What a chart could not draw.
pub fn page(
    run: &Value,
    rows: &[Row],
    profiles: &[Profile],
    ceilings: &Ceilings,
) -> Result<String, String> {
    let system = &run["system"];
    let title = format!(
        "GPP on {}: {}",
        ceilings.device,
        system["name"].as_str().unwrap_or("unknown system")
    );
    let mut figures = Vec::new();
    for figure in FIGURES {
        let shown = figure.of(profiles);
        if !shown.is_empty() {
            let title = figure.title(&shown);
            figures.push((title.clone(), chart::svg(&title, &shown, ceilings)?));
        }
    }
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (title) }
                p {
                    "BerkeleyGW's General Plasmon Pole kernel in Rust, version by version, beside "
                    "the figures that the paper “8 Steps to 3.7 TFLOP/s on NVIDIA V100 GPU” "
                    "(arXiv 2008.11326) published for one V100."
                }
                (device(run, ceilings))
                (times(rows))
                (speed_ups(rows))
                (published_beside(rows))
                (versions(profiles, ceilings))
                (counts(profiles))
                (instructions(profiles))
                h2 { "Rooflines" }
                p .note {
                    "Operations are those that the hardware counted, a fused one being two; "
                    "intensity is operations for each byte moved at a level. Rest the pointer on "
                    "a dot for its figures."
                }
                @for (title, svg) in &figures {
                    figure { figcaption { (title) } (PreEscaped(svg)) }
                }
                (stalls(profiles))
                (source_lines(profiles))
                (reproduce(system))
            }
        }
    };
    Ok(markup.into_string())
}

fn device(run: &Value, ceilings: &Ceilings) -> Markup {
    let device = &run["device"];
    let (system, provenance) = (&run["system"], &run["provenance"]);
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "–".into(),
        other => other.to_string(),
    };
    let tera = |value: f64, unit: &str| format!("{:.2} {unit}", value / 1e12);
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "–".into());
    let theory = &ceilings.theoretical;
    html! {
        h2 { "Device and system" }
        div .scroll { table {
            tr { th { "device" } td .left { (text(&device["name"])) } }
            tr { th { "driver" } td .left { (text(&device["driver"])) } }
            tr { th { "compute capability" } td .left { (text(&device["compute_capability"])) } }
            tr { th { "multiprocessors" } td .left { (text(&device["multiprocessors"])) } }
            tr { th { "kernels by" } td .left { (text(&provenance["kernels_by"])) } }
            tr { th { "program by" } td .left {
                (text(&provenance["program_by"])) ", commit " (text(&provenance["commit"]))
            } }
            tr { th { "measured" } td .left { (text(&provenance["date"])) } }
            tr { th { "system" } td .left {
                (text(&system["name"])) ": " (text(&system["nbands"])) " bands, "
                (text(&system["ngpown"])) " G′, " (text(&system["ncouls"])) " G, energies "
                (text(&system["nstart"])) "–" (text(&system["nend"]))
            } }
        } }
        h3 { "Ceilings" }
        div .scroll { table {
            tr { th { "" } th { "measured" } th { "theoretical" } }
            tr { td { "FP64, all fused" } td { (tera(ceilings.fp64, "TFLOP/s")) }
                 td { (or_dash(theory.fp64.map(|v| tera(v, "TFLOP/s")))) } }
            tr { td { "HBM" } td { (tera(ceilings.hbm, "TB/s")) } td { (tera(theory.hbm, "TB/s")) } }
            tr { td { "L2" } td { (tera(ceilings.l2, "TB/s")) } td { "–" } }
            tr { td { "L1" } td { (tera(ceilings.l1, "TB/s")) } td { (tera(theory.l1, "TB/s")) } }
        } }
        p .note {
            "Shared memory moves " (tera(theory.shared, "TB/s")) " by the rule of thumb "
            "(multiprocessors × 4 B × 32 lanes × clock): with one FP64 access for every 2, 1 and ½ "
            "operations it would allow "
            (shared_limits(ceilings).map(|rate| format!("{:.1}", rate / 1e12)).join(", "))
            " TFLOP/s. v0 to v10 use it to sum a block only, later versions to stage bands too."
        }
    }
}

/// Rates that shared memory allows with one FP64 access for every 2, 1 and ½ operations.
fn shared_limits(ceilings: &Ceilings) -> [f64; 3] {
    [2.0, 1.0, 0.5].map(|operations| ceilings.theoretical.shared / 8.0 * operations)
}

fn times(rows: &[Row]) -> Markup {
    html! {
        h2 { "Table I" }
        div .scroll { table {
            tr { @for heading in HEADINGS { th { (heading) } } }
            @for row in rows { tr { @for cell in row.cells() { td { (cell) } } } }
        } }
        p .note { (MARK) ". Medians by GPU events, data on the device, second stage included." }
        @if let Some(row) = rows.first() {
            p .note { (rated_by(&row.flops_source)) "." }
        }
    }
}

fn published_beside(rows: &[Row]) -> Markup {
    html! {
        @if rows.iter().any(|row| row.system == BESIDE_SYSTEM) {
            h2 { "What else was published" }
            @for table in beside() {
                p { (table.title) }
                div .scroll { table {
                    tr { @for heading in table.headings { th { (heading) } } }
                    @for row in &table.rows {
                        tr { @for (at, cell) in row.iter().enumerate() {
                            td .left[at == 1] { (cell) }
                        } }
                    }
                } }
            }
        }
    }
}

fn speed_ups(rows: &[Row]) -> Markup {
    let most =
        rows.iter().flat_map(|row| [row.over_v0, row.paper_over_v0]).flatten().fold(1.0, f64::max);
    let width = |ratio: f64| format!("{:.1}", 520.0 * ratio / most);
    let bar = |ratio: Option<f64>, y: usize, color: &str, who: &str| {
        html! {
            @if let Some(ratio) = ratio {
                rect x="60" y=(y) width=(width(ratio)) height="11" fill=(color) {
                    title { (who) ": " (format!("{ratio:.2}×")) }
                }
                text x=(format!("{:.1}", 66.0 + 520.0 * ratio / most)) y=(y + 10) font-size="11" {
                    (format!("{ratio:.2}×"))
                }
            }
        }
    };
    html! {
        h2 { "Speed-up over v0" }
        svg xmlns="http://www.w3.org/2000/svg" width="660" height=(rows.len() * 32 + 8)
            viewBox=(format!("0 0 660 {}", rows.len() * 32 + 8)) font-family="sans-serif" {
            @for (at, row) in rows.iter().enumerate() {
                text x="6" y=(at * 32 + 20) font-size="14" { (row.version) }
                (bar(row.over_v0, at * 32 + 4, "#1f5fbf", "here"))
                (bar(row.paper_over_v0, at * 32 + 16, "#b9c4d0", "paper, V100"))
            }
        }
        p .note { "Dark: here. Light: the paper's V100." }
    }
}

/// Shares of the limits that a version uses: the FP64 pipe's and the bandwidths'.
fn uses(profile: &Profile, ceilings: &Ceilings) -> Vec<(&'static str, f64)> {
    let moved = |bytes: f64, ceiling: f64| bytes / profile.duration_s / ceiling;
    let mut uses = vec![
        ("HBM bandwidth", moved(profile.bytes.hbm, ceilings.hbm)),
        ("L2 bandwidth", moved(profile.bytes.l2, ceilings.l2)),
        ("L1 bandwidth", moved(profile.bytes.l1, ceilings.l1)),
    ];
    if let Some(busy) = profile.fp64_pipe_percent {
        uses.push(("FP64 pipe", busy / 100.0));
    }
    uses.sort_by(|a, b| b.1.total_cmp(&a.1));
    uses
}

/// Above this share a limit is called what bounds a version; below, latency is.
const BOUND: f64 = 0.8;

/// What bounds a version, in a sentence.
pub fn bound(profile: &Profile, ceilings: &Ceilings) -> String {
    let uses = uses(profile, ceilings);
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let (first, second) = (&uses[0], &uses[1]);
    let limit = if first.1 >= BOUND {
        format!("bound by the {}, {} used", first.0, percent(first.1))
    } else {
        format!("bound by latency: the {} is {} used", first.0, percent(first.1))
    };
    let stall = profile.main_stall().map_or(String::new(), |(why, share)| {
        format!("; warps wait most for {} ({})", why.replace('_', " "), percent(share))
    });
    format!("{limit}, the {} {}{stall}", second.0, percent(second.1))
}

/// What changed in the counters from one version to the next, in a sentence.
fn changed(before: &Profile, now: &Profile) -> String {
    let ratio = |a: f64, b: f64| b / a - 1.0;
    let mut parts = Vec::new();
    for (what, change) in [
        ("time", ratio(before.seconds(), now.seconds())),
        ("operations", ratio(before.flops(), now.flops())),
        ("HBM bytes", ratio(before.bytes.hbm, now.bytes.hbm)),
        ("L2 bytes", ratio(before.bytes.l2, now.bytes.l2)),
        ("L1 bytes", ratio(before.bytes.l1, now.bytes.l1)),
    ] {
        if change.abs() >= 0.02 {
            parts.push(format!("{what} {:+.0} %", change * 100.0));
        }
    }
    if let (Some(a), Some(b)) = (before.registers, now.registers)
        && a != b
    {
        parts.push(format!("registers {a} → {b}"));
    }
    if let (Some(a), Some(b)) = (before.warps_per_sm, now.warps_per_sm)
        && (a - b).abs() >= 0.5
    {
        parts.push(format!("warps {a:.0} → {b:.0}"));
    }
    if parts.is_empty() { "nothing by 2 % or more".into() } else { parts.join(", ") }
}

fn versions(profiles: &[Profile], ceilings: &Ceilings) -> Markup {
    html! {
        h2 { "Version by version" }
        div .scroll { table {
            tr { th { "version" } th .left { "what it changes" } th { "time [ms]" }
                 th .left { "what bounds it" } th .left { "what changed from the one before" } }
            @for (at, profile) in profiles.iter().enumerate() {
                tr {
                    td { (profile.version) }
                    td .wrap {
                        @for v in ALL.iter().filter(|v| v.id() == profile.version) { (v.version.change) }
                    }
                    td { (format!("{:.1}", profile.seconds() * 1e3)) }
                    td .wrap { (bound(profile, ceilings)) }
                    td .wrap {
                        @if at > 0 { (changed(&profiles[at - 1], profile)) } @else { "–" }
                    }
                }
            }
        } }
        p .note {
            "A limit used to " (format!("{:.0} %", BOUND * 100.0)) " or more is called what bounds "
            "a version. Bandwidths are relative to the measured ceilings."
        }
    }
}

fn counts(profiles: &[Profile]) -> Markup {
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

fn instructions(profiles: &[Profile]) -> Markup {
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

fn stalls(profiles: &[Profile]) -> Markup {
    let named: Vec<&Profile> = profiles.iter().filter(|p| !p.stalls.is_empty()).collect();
    html! {
        @if !named.is_empty() {
            h2 { "Why warps wait" }
            div .scroll { table {
                tr { th { "version" } th .left { "share of the cycles between two instructions" }
                     th .left { "reasons" } }
                @for profile in named {
                    @let reasons = ordered_stalls(profile);
                    tr {
                        td { (profile.version) }
                        td .left { div .stack {
                            @for (at, (reason, share)) in reasons.iter().enumerate() {
                                span title=(format!("{reason}: {:.1} %", share * 100.0))
                                    style=(format!("width:{:.2}%;background:{}", share * 100.0,
                                                   COLORS[at.min(COLORS.len() - 1)])) {}
                            }
                        } }
                        td .wrap {
                            @for (at, (reason, share)) in reasons.iter().take(4).enumerate() {
                                span style=(format!("color:{}", COLORS[at])) {
                                    (reason.replace('_', " "))
                                }
                                (format!(" {:.0} % ", share * 100.0))
                            }
                        }
                    }
                }
            } }
        }
    }
}

fn ordered_stalls(profile: &Profile) -> Vec<(&str, f64)> {
    let mut reasons: Vec<(&str, f64)> =
        profile.stalls.iter().map(|(reason, share)| (reason.as_str(), *share)).collect();
    reasons.sort_by(|a, b| b.1.total_cmp(&a.1));
    reasons
}

fn source_lines(profiles: &[Profile]) -> Markup {
    let find = |id: &str| profiles.iter().find(|p| p.version == id && !p.lines.is_empty());
    let pairs: Vec<_> =
        LINE_PAIRS.iter().filter_map(|(a, b, title)| Some((find(a)?, find(b)?, title))).collect();
    let table = |profile: &Profile| {
        html! {
            h4 { (profile.version) }
            div .scroll { table {
                tr { th .left { "line" } th { "samples" } th { "not issued" } th .left { "source" } }
                @for line in profile.lines.iter().take(LINES) { tr {
                    td { (line.file.rsplit('/').next().unwrap_or(&line.file)) ":" (line.line) }
                    td { (line.samples) } td { (line.not_issued) }
                    td .left { code { (line.text) } }
                } }
            } }
        }
    };
    html! {
        @if !pairs.is_empty() {
            h2 { "Where the samples are" }
            p .note {
                "Warp samples by line of Rust, all and those of warps that did not issue, most "
                "first, over all launches of the version's kernel. Samples in the assembler's own "
                "subroutines, division among them, stand at the end of the entry in mod.rs."
            }
            @for (before, after, title) in pairs {
                h3 { (title) }
                (table(before))
                (table(after))
            }
        }
    }
}

fn reproduce(system: &Value) -> Markup {
    let name = system["name"].as_str().unwrap_or("si214");
    html! {
        h2 { "How to reproduce it" }
        pre { "scripts/setup\ncargo build --release\n"
              "./target/release/gpp profile --version all --system " (name) "\n"
              "./target/release/gpp roofline\n./target/release/gpp report\n" }
        p .note {
            "With an NVIDIA GPU, its driver and Nsight Compute, from the repository's root, so that "
            "the profiler finds the Rust sources."
        }
    }
}
