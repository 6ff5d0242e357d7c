//! What a text says of measurements without saying where from: numbers that are typed by hand, and statements that
//! change with the records.
//!
//! A number with the unit of something measured stands in a figure or a table, or between
//! `<!-- typed: why -->` and `<!-- /typed -->`, in a line `<!--t:why-->20 ms<!--/t-->`: that says where it is from.
//! Code, links and headings have none.

use super::Difference;
use crate::error::FigureError;

/// Units of what is measured.
const UNITS: [&str; 17] = [
    "ms", "s", "µs", "%", "×", "times", "W", "J", "MHz", "GHz", "GB", "MB", "GB/s", "TB/s",
    "GFLOP/s", "TFLOP/s", "cycles",
];

/// Words that state what records decide, and the figures one of which has to stand in the same sentence.
const STATEMENTS: [(&[&str], &[&str]); 5] = [
    (&["power cap", "at the cap", "limit of power", "bound by power"], &POWER),
    (&["power hold", "power limit", "whenever one looks"], &POWER),
    (&["is the fastest", "the fastest of", "is the slowest"], &["fastest", "slowest"]),
    (&["within noise", "within the noise", "beyond the noise"], &["step"]),
    (&["settled"], &["regime"]),
];

const POWER: [&str; 6] = ["capped", "uncapped", "by-power", "lost", "cap", "mhz"];

/// A figure's name begins so, and its sentence has to name the version that it is of.
const OF_BEST: (&str, &str) = ("best ", "best version");

/// What is left out of a text, by how it begins and ends.
const LEFT_OUT: [(&str, &str); 5] = [
    ("```", "```"),
    ("<!-- typed:", "<!-- /typed -->"),
    ("<!-- figures:", "<!-- /figures -->"),
    ("<!--t:", "<!--/t-->"),
    ("`", "`"),
];

/// A mark in place of a figure, before and after its name.
const MARK: [char; 2] = ['\u{1}', '\u{2}'];

/// What is typed in a text, each with its line.
pub fn typed(text: &str) -> Vec<Difference> {
    let masked = masked(text);
    let mut found = Vec::new();
    let mut line = 1;
    for paragraph in paragraphs(&masked) {
        let is_heading = paragraph.trim_start().starts_with('#');
        for sentence in sentences(paragraph).filter(|_| !is_heading) {
            let at = |offset: usize| {
                let offset = sentence.as_ptr() as usize - paragraph.as_ptr() as usize + offset;
                line + paragraph[..offset].matches('\n').count()
            };
            let differs = |offset: usize, written: &str, why: FigureError| Difference {
                line: at(offset),
                name: "typed".into(),
                written: written.trim().into(),
                computed: Err(why),
            };
            for (offset, number) in numbers(sentence) {
                let why = FigureError::Typed(number.trim().into());
                found.push(differs(offset, number, why));
            }
            for (offset, words, figures) in stated(sentence) {
                let why = FigureError::Stated { words, figures: figures.join(", ") };
                found.push(differs(offset, words, why));
            }
        }
        line += paragraph.matches('\n').count();
    }
    found
}

/// The text with nothing but line breaks in place of what is left out, and a mark in place of each figure.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("<!--f:")
            && let Some((name, after)) = after.split_once("-->")
            && let Some((_, after)) = after.split_once("<!--/f-->")
        {
            masked.extend([MARK[0]].iter());
            masked += name;
            masked.push(MARK[1]);
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("](")
            && let Some((_, after)) = after.split_once(')')
        {
            masked += "] ";
            rest = after;
            continue;
        }
        let form = LEFT_OUT.iter().find_map(|(open, close)| {
            let after = rest.strip_prefix(open)?;
            let end = after.find(close)? + open.len() + close.len();
            Some(rest.split_at(end))
        });
        if let Some((left_out, after)) = form {
            masked.extend(left_out.chars().filter(|c| *c == '\n'));
            masked.push(' ');
            rest = after;
            continue;
        }
        let next = rest.chars().next().expect("there is more");
        masked.push(next);
        rest = &rest[next.len_utf8()..];
    }
    masked
}

/// Parts of a text that blank lines, items of lists and rows of tables end.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next().map(|_| rest)?;
        let ends = |(at, _): &(usize, &str)| {
            let after = &first[at + 1..];
            ["\n", "- ", "* ", "|", "#"].iter().any(|begin| after.starts_with(begin))
        };
        let end = first.match_indices('\n').find(ends).map_or(first.len(), |(at, _)| at + 1);
        let (paragraph, after) = first.split_at(end);
        rest = after;
        Some(paragraph)
    })
}

/// Parts that end with a full stop, a question mark or a colon before a space.
fn sentences(paragraph: &str) -> impl Iterator<Item = &str> {
    paragraph
        .split_inclusive(['.', '?', '!'])
        .scan((paragraph, 0), |(all, begin), part| {
            let end = part.as_ptr() as usize - all.as_ptr() as usize + part.len();
            let is_end = all[end..].starts_with([' ', '\n']) || end == all.len();
            let sentence = is_end.then(|| &all[*begin..end]);
            if is_end {
                *begin = end;
            }
            Some(sentence)
        })
        .flatten()
}

/// Numbers with a unit of what is measured, outside of marks, each with its place.
fn numbers(sentence: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut within = false;
    let mut before = ' ';
    let mut characters = sentence.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        within = (within || c == MARK[0]) && c != MARK[1];
        let begins = c.is_ascii_digit() && !before.is_alphanumeric() && !"._/·^".contains(before);
        before = c;
        if within || !begins {
            continue;
        }
        let is_part = |c: &char| c.is_ascii_digit() || ".,".contains(*c);
        let number: usize = sentence[at..].chars().take_while(is_part).map(char::len_utf8).sum();
        let unit = sentence[at + number..].trim_start_matches([' ', '\u{a0}']);
        let is = |own: &str| {
            let Some(after) = unit.strip_prefix(own) else { return false };
            let ends =
                after.chars().next().is_none_or(|c| !(c.is_alphanumeric() || "/·".contains(c)));
            // `32768 × 1638` is no ratio.
            let is_extents =
                own == "×" && after.trim_start().starts_with(|c: char| c.is_ascii_digit());
            ends && !is_extents
        };
        if let Some(own) = UNITS.iter().find(|own| is(own)) {
            let end = unit.as_ptr() as usize - sentence.as_ptr() as usize + own.len();
            found.push((at, &sentence[at..end]));
        }
        while characters.next_if(|(next, _)| *next < at + number).is_some() {}
        before = '0';
    }
    found
}

/// Statements without a figure that says so.
fn stated(sentence: &str) -> Vec<(usize, &'static str, &'static [&'static str])> {
    let names: Vec<&str> =
        sentence.split(MARK[0]).skip(1).filter_map(|after| after.split(MARK[1]).next()).collect();
    let has = |figures: &[&str]| {
        names.iter().any(|name| name.split_whitespace().any(|word| figures.contains(&word)))
    };
    let mut found = Vec::new();
    for (all, figures) in STATEMENTS {
        let said = all.iter().find_map(|words| Some((sentence.find(words)?, *words)));
        if let Some((at, words)) = said.filter(|_| !has(figures)) {
            found.push((at, words, figures));
        }
    }
    let (of, version) = OF_BEST;
    let is_of = |name: &&&str| name.starts_with(of) && !name.starts_with(version);
    let names_it = names.iter().any(|name| name.starts_with(version));
    if names.iter().any(|name| is_of(&name)) && !names_it {
        let begin = sentence.len() - sentence.trim_start().len();
        found.push((begin, of, &[OF_BEST.1]));
    }
    found
}
