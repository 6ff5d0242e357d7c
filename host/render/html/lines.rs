//! Where the samples are, by line of source.

use maud::{Markup, html};

use crate::record::profile::Profile;

/// Pairs of versions whose source lines stand side by side, as in the paper's Figures 2, 4 and 7, in the
/// blog's 7 and 8 and on the talk's slides.
const LINE_PAIRS: [(&str, &str, &str); 7] = [
    ("v0", "v1", "Figure 2: division and reciprocal"),
    ("v2", "v3", "Figure 4: absolute values"),
    ("v6", "v7", "Figure 7: index order"),
    ("v7", "v8", "Figure 7: threads of a block"),
    ("blog:step2", "blog:step3", "The blog’s Figures 7 and 8: instructions of high latency"),
    ("talk:V7", "talk:V8", "The talk: absolute values"),
    ("talk:V8", "talk:V9", "The talk: cache blocking"),
];

/// Source lines shown of each version.
const LINES: usize = 12;

pub(super) fn source_lines(profiles: &[Profile]) -> Markup {
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
