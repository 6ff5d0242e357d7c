//! The kernel in a minute, and the lines of it that a version changes.

use maud::{Markup, html};

use crate::catalogue::sources::{ABOUT, NEST, SUM, WORDS};
use crate::record::system::SystemInfo;
use crate::render::nest::picture;

/// The panel.
pub(super) fn kernel(system: &SystemInfo) -> Markup {
    html! {
        div .minute {
            div {
                p { (ABOUT) }
                pre .sum { (SUM.join("\n")) }
                ol .nest { @for line in &NEST {
                    li style=(format!("--depth:{}", line.depth)) { code { (line.code) } " " span { (line.why) } }
                } }
            }
            figure { (picture(system, false)) }
        }
        dl .words { @for (word, meaning) in WORDS { div { dt { (word) } dd { (meaning) } } } }
    }
}

/// Which lines a version changes, as a strip of all ten.
pub(super) fn strip(lines: &[usize]) -> Markup {
    let said = match lines {
        [] => "changes the launch".to_string(),
        [line] => format!("changes line {line}"),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(ToString::to_string).collect();
            format!("changes lines {} and {last}", most.join(", "))
        }
    };
    html! {
        a .strip href="#kernel" aria-label=(format!("{said} of the kernel")) {
            span { @if lines.is_empty() { "launch" } @else { "lines" } }
            @for line in 1..=NEST.len() { i .on[lines.contains(&line)] { (line) } }
        }
    }
}
