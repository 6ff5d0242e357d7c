//! Where the samples are, by line of source.

use maud::{Markup, html};

use super::sheet::named;
use crate::record::profile::{Profile, SourceLine};

/// Pairs of versions whose lines the paper's Figures 2, 4 and 7, the blog's 7 and 8 and the talk's slides
/// show side by side.
const PAIRS: [(&str, &str, &str); 7] = [
    ("v0", "v1", "Figure 2: division and reciprocal"),
    ("v2", "v3", "Figure 4: absolute values"),
    ("v6", "v7", "Figure 7: index order"),
    ("v7", "v8", "Figure 7: threads of a block"),
    ("blog:step2", "blog:step3", "the blog’s Figures 7 and 8: instructions of high latency"),
    ("talk:V7", "talk:V8", "the talk: absolute values"),
    ("talk:V8", "talk:V9", "the talk: cache blocking"),
];

/// Lines shown of each version.
const LINES: usize = 12;

pub(super) fn source_lines(profiles: &[Profile]) -> Markup {
    let sampled: Vec<&Profile> = profiles.iter().filter(|p| !p.lines.is_empty()).collect();
    html! {
        @if !sampled.is_empty() {
            p .note {
                "Warp samples by line of Rust, most first: "
                span .key.waiting {} "the warp did not issue " span .key.issued {} "it issued. "
                "Samples in the assembler’s own subroutines, division among them, stand at the line that "
                "calls them or at the end of the entry."
            }
            @for profile in &sampled { (of(profile, &sampled)) }
        }
    }
}

/// The lines of one version, with the figures that show them beside another's.
fn of(profile: &Profile, sampled: &[&Profile]) -> Markup {
    let all: u64 = profile.lines.iter().map(|line| line.samples).sum();
    let share = |samples: u64| 100.0 * samples as f64 / all.max(1) as f64;
    let shown = &profile.lines[..profile.lines.len().min(LINES)];
    let covered = share(shown.iter().map(|line| line.samples).sum());
    let most = share(profile.lines[0].samples).max(1.0);
    let has = |id: &str| sampled.iter().any(|other| other.version == id);
    let pairs = PAIRS.iter().filter(|(a, b, _)| *b == profile.version && has(a));
    html! {
        details .lines open id=(format!("lines-{}", profile.version)) data-version=(profile.version) {
            summary {
                b { (profile.version) } ": " (shown.len()) " lines with "
                (format!("{covered:.0} %")) " of the samples"
            }
            @for (before, _, title) in pairs {
                p .note { "Beside " a href=(format!("#lines-{before}")) { (before) } ", " (title) "." }
            }
            div .scroll { table .code {
                thead { tr { th scope="col" { "samples" } th scope="col" .left { "source" }
                     th scope="col" .left { "where" } } }
                tbody { @for line in shown { (row(line, &share, most)) } }
            } }
        }
    }
}

fn row(line: &SourceLine, share: &dyn Fn(u64) -> f64, most: f64) -> Markup {
    let waiting = share(line.not_issued.min(line.samples));
    let issued = share(line.samples) - waiting;
    let width = |percent: f64| format!("width:{:.2}%", 100.0 * percent / most);
    let name = line.file.rsplit('/').next().unwrap_or(&line.file);
    html! {
        tr {
            td { (format!("{:.1} %", share(line.samples)))
                 span .share { span .waiting style=(width(waiting)) {}
                               span .issued style=(width(issued)) {} } }
            td .left { code { (line.text) } }
            td .left.place title=(line.file) { (name) ":" (line.line) }
        }
    }
}

/// A link to the lines of a version.
pub(super) fn link(profile: &Profile) -> Markup {
    html! {
        @if !profile.lines.is_empty() {
            (named(Some(&format!("lines-{}", profile.version)), "its lines"))
        }
    }
}
