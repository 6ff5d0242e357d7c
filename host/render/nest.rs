//! The kernel in a minute, as Markdown and as a picture of its arrays.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::catalogue::sources::{ABOUT, NEST, SUM, WORDS, changed};
use crate::record::system::SystemInfo;

/// The loops with their numbers, as they stand in a block of code.
pub fn loops() -> Vec<String> {
    let code = |line: &crate::catalogue::sources::Line| {
        format!("{}{}", "  ".repeat(line.depth), line.code)
    };
    let widest = NEST.iter().map(|line| code(line).chars().count()).max().unwrap_or(0);
    let numbered = NEST.iter().enumerate();
    numbered
        .map(|(at, line)| format!("{:2}  {:<widest$}  // {}", at + 1, code(line), line.why))
        .collect()
}

/// Sum, loops, picture and words, as Markdown; the picture is a file at that path.
pub fn markdown(picture: &str) -> String {
    let mut text = format!("{ABOUT}\n\n```text\n{}\n```\n\n", SUM.join("\n"));
    let _ = write!(text, "```text\n{}\n```\n\n", loops().join("\n"));
    let _ = write!(
        text,
        "![The arrays and one term]({picture})\n\n| word | what it is |\n| --- | --- |\n"
    );
    for (word, meaning) in WORDS {
        let _ = writeln!(text, "| {word} | {meaning} |");
    }
    text
}

/// Which lines these versions change, as a Markdown table.
pub fn marks(versions: &[&str]) -> String {
    let numbers: Vec<String> = (1..=NEST.len()).map(|line| line.to_string()).collect();
    let mut text = format!("| version | {} |\n", numbers.join(" | "));
    let _ = writeln!(text, "| --- |{}", " :-: |".repeat(NEST.len()));
    for id in versions {
        let lines = changed(id).unwrap_or_default();
        let mark = |line| if lines.contains(&line) { "●" } else { "" };
        let marks: Vec<&str> = (1..=NEST.len()).map(mark).collect();
        let _ = writeln!(text, "| {id} | {} |", marks.join(" | "));
    }
    text
}

/// The colours of a picture that stands alone, by the reader's taste.
const ALONE: &str = "svg{--paper:#fff;--ink:#1a2129;--soft:#525d69;--rule:#c4ccd6;--raised:#eef1f5;--accent:#1857b0}\
    @media(prefers-color-scheme:dark){svg{--paper:#12161b;--ink:#e4e9ef;--soft:#a3aeba;--rule:#4a5562;\
    --raised:#232b34;--accent:#86b6ff}}";

/// A box: left, top, width, height.
type Area = [u32; 4];

const AQSN: Area = [24, 176, 110, 190];
const AQSM: Area = [200, 44, 150, 84];
const POLES: Area = [200, 176, 150, 190];
const WX: Area = [24, 100, 110, 28];
const VCOUL: Area = [200, 396, 150, 10];

/// Where the one term's band, G and G′ are.
const BAND: [u32; 2] = [70, 80];
const G: u32 = 262;
const G_PRIME: u32 = 292;

/// The arrays as areas whose sides are bands, G and G′, and what one term reads of each. Alone it brings its
/// colours, in a page it takes the page's.
pub fn picture(system: &SystemInfo, alone: bool) -> Markup {
    let said = format!(
        "Arrays of {}: aqsn is {} G by {} bands, aqsm {} G′ by the bands, the poles and eps are G by G′. A \
         term reads one element of each.",
        system.name, system.ncouls, system.nbands, system.ngpown
    );
    html! {
        svg .arrays xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 440" width="400" height="440"
            font-family="system-ui, sans-serif" font-size="14" role="img" aria-label=(said) {
            @if alone {
                style { (maud::PreEscaped(ALONE)) }
                rect width="400" height="440" fill="var(--paper)" {}
            }
            (area([POLES[0] + 10, POLES[1] - 10, POLES[2], POLES[3]]))
            @for array in [AQSN, AQSM, POLES, WX, VCOUL] { (area(array)) }
            // What one term reads: a band, a G and a G′ through all arrays.
            (strip([BAND[0], WX[1], 8, WX[3]])) (strip([BAND[0], AQSN[1], 8, AQSN[3]]))
            (strip([AQSM[0], BAND[1], AQSM[2], 8]))
            (strip([AQSN[0], G, AQSN[2], 8])) (strip([POLES[0], G, POLES[2], 8]))
            (strip([G_PRIME, AQSM[1], 8, AQSM[3]])) (strip([G_PRIME, POLES[1], 8, POLES[3]]))
            @for (x, y) in [(BAND[0], G), (G_PRIME, BAND[1]), (G_PRIME, G), (BAND[0], WX[1] + 10), (G_PRIME, VCOUL[1] + 1)] {
                rect x=(x) y=(y) width="8" height="8" fill="var(--accent)" {}
            }
            polyline points=(format!("{},{} {},{}", BAND[0] + 8, G + 4, G_PRIME, G + 4)) stroke="var(--accent)"
                stroke-width="1.5" fill="none" {}
            polyline points=(format!("{},{} {},{}", G_PRIME + 4, BAND[1] + 8, G_PRIME + 4, G)) stroke="var(--accent)"
                stroke-width="1.5" fill="none" {}
            (text(24, 24, "a term reads one", true)) (text(24, 42, "element of each", true))
            (text(24, 92, "wx(iw,n)", true))
            (text(200, 34, "aqsm(igp,n)", true))
            (text(24, 168, "aqsn(ig,n)", true))
            (text(200, 158, "ω̃, eps(ig,igp)", true))
            (text(200, 424, "vcoul(igp)", true))
            (text(24, 384, &format!("n: {} bands →", system.nbands), false))
            (text(24, 402, &format!("ig: {} G ↓", system.ncouls), false))
            (text(24, 420, &format!("igp: {} G′ →", system.ngpown), false))
        }
    }
}

fn area([x, y, width, height]: Area) -> Markup {
    html! {
        rect x=(x) y=(y) width=(width) height=(height) fill="var(--raised)" stroke="var(--soft)" {}
    }
}

fn strip([x, y, width, height]: Area) -> Markup {
    html! { rect x=(x) y=(y) width=(width) height=(height) fill="var(--rule)" {} }
}

fn text(x: u32, y: u32, text: &str, is_name: bool) -> Markup {
    let fill = if is_name { "var(--ink)" } else { "var(--soft)" };
    html! { text x=(x) y=(y) fill=(fill) { (text) } }
}
