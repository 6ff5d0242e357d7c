//! Sources as items: what stands at a file's top level, and which other items it names.
//!
//! The sources are formatted by rustfmt: an item begins at a line's first column.

use crate::catalogue::sources::SourceFile;

/// A line of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its file's path in the repository.
    pub file: &'static str,
    /// Its number there, from 1.
    pub number: u32,
    /// Its text.
    pub text: String,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something with a name.
    Named(String),
    /// What a type does.
    Impl(String),
    /// Names of other modules' items, and the paths that they stand for.
    Imports(Vec<(String, Vec<String>)>),
    /// What no version is made of: tests, the host's stand-ins, macros.
    Other,
}

/// An item of a file, without comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// The items of a file.
pub fn items(source: &SourceFile) -> Vec<Item> {
    let is_code = |text: &str| !text.trim().is_empty() && !text.trim_start().starts_with("//");
    let mut parts: Vec<Vec<Line>> = Vec::new();
    for (at, text) in source.text.lines().enumerate().filter(|(_, text)| is_code(text)) {
        let line = Line { file: source.path, number: at as u32 + 1, text: text.to_string() };
        match parts.last_mut() {
            Some(part) if !begins(text) || part.iter().all(|l| l.text.starts_with('#')) => {
                part.push(line);
            }
            _ => parts.push(vec![line]),
        }
    }
    parts.into_iter().map(|lines| Item { kind: kind(&lines), lines }).collect()
}

/// Whether a line is an item's first: what follows its header, or closes it, begins otherwise.
fn begins(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '#') && line != "where"
}

fn kind(lines: &[Line]) -> Kind {
    let for_others = ["#[cfg(test)]", "#[cfg(not(target_arch"];
    if for_others.iter().any(|attribute| lines[0].text.starts_with(attribute)) {
        return Kind::Other;
    }
    let code = lines.iter().skip_while(|line| line.text.starts_with('#'));
    let text = code.map(|line| line.text.trim()).collect::<Vec<_>>().join(" ");
    let words = paths(&text);
    let mut words = words.iter().map(|path| path[0].as_str()).peekable();
    while let Some(word) = words.next() {
        match word {
            "use" => return Kind::Imports(imports(&text)),
            "impl" => return Kind::Impl(implementing(&text)),
            "const" if words.peek().is_some_and(|next| ["fn", "unsafe"].contains(next)) => {}
            "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" => {
                return words.next().map_or(Kind::Other, |name| Kind::Named(name.into()));
            }
            "pub" | "crate" | "unsafe" | "extern" => {}
            _ => return Kind::Other,
        }
    }
    Kind::Other
}

/// The type of `impl<…> Trait for Type<…> {` or `impl<…> Type<…> {`.
fn implementing(text: &str) -> String {
    let header = text.split(" {").next().unwrap_or_default();
    let of = match header.rsplit_once(" for ") {
        Some((_, of)) => of,
        None => {
            let mut depth = 0;
            let end = header.char_indices().find(|&(_, c)| {
                depth += i32::from(c == '<') - i32::from(c == '>');
                depth == 0 && (c == ' ' || c == '>')
            });
            end.map_or("", |(at, _)| &header[at + 1..])
        }
    };
    paths(of).first().and_then(|path| path.last().cloned()).unwrap_or_default()
}

/// What `use a::{self, b as c};` brings in.
fn imports(text: &str) -> Vec<(String, Vec<String>)> {
    let tree = text.split_once("use ").map_or("", |(_, tree)| tree.trim_end_matches(';'));
    let mut found = Vec::new();
    branch(tree, &[], &mut found);
    found
}

fn branch(tree: &str, above: &[String], found: &mut Vec<(String, Vec<String>)>) {
    let (path, branches) = match tree.split_once('{') {
        Some((path, rest)) => (path, rest.strip_suffix('}')),
        None => (tree, None),
    };
    let (path, name) = path.split_once(" as ").map_or((path, None), |(p, name)| (p, Some(name)));
    let own = path.split("::").map(str::trim).filter(|part| !part.is_empty() && *part != "self");
    let mut whole: Vec<String> = above.to_vec();
    // Only at the beginning does `self` mean anything.
    whole.extend(own.map(str::to_string));
    match branches {
        Some(inner) => parted(inner).into_iter().for_each(|part| branch(part, &whole, found)),
        None => {
            let last = whole.last().cloned().unwrap_or_default();
            found.push((name.map_or(last, |name| name.trim().to_string()), whole));
        }
    }
}

/// What stands between the commas that are in no brackets.
pub fn parted(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(|c| {
        depth += i32::from("{[(".contains(c)) - i32::from("}])".contains(c));
        depth == 0 && c == ','
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// The paths in a line of code, in order; not what follows a dot, and nothing in strings.
pub fn paths(text: &str) -> Vec<Vec<String>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found: Vec<Vec<String>> = Vec::new();
    let unquoted: Vec<&str> = text.split('"').step_by(2).collect();
    let code = unquoted.join(" ");
    let (mut rest, mut before) = (code.as_str(), "");
    while let Some(at) = rest.find(is_part) {
        let between = &rest[..at];
        let end = rest[at..].find(|c| !is_part(c)).map_or(rest.len(), |length| at + length);
        let word = &rest[at..end];
        let joined = between == "::" && !before.is_empty();
        let is_method = between.ends_with('.') && !between.ends_with("..");
        match found.last_mut() {
            Some(path) if joined => path.push(word.into()),
            _ if is_method || word.starts_with(|c: char| c.is_ascii_digit()) => {}
            _ => found.push(vec![word.into()]),
        }
        (before, rest) = (word, &rest[end..]);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
//! A file.

use super::v3::{self, term as old};
use crate::{grid::each, formula::{Pair, Size}};

/// A kernel.
pub const KERNEL: Kernel = Kernel {
    // Why.
    threads: 128,
    ..v3::KERNEL
};

#[inline(always)]
pub const unsafe fn sum<R: Real>(a: &Arrays) -> R
where
    R: Copy,
{
    each(|e| a.wx(\"v9::GPU\", e))
}

impl<E: Fn<R>> Fraction for Parts<E> {}

impl<const T: usize> Band<T> {}

#[cfg(test)]
mod tests {}
";

    #[test]
    fn a_file_falls_into_items() {
        let items = items(&SourceFile { path: "x.rs", text: TEXT, hash: "" });
        let kinds: Vec<&Kind> = items.iter().map(|item| &item.kind).collect();
        let named = |name: &str| Kind::Named(name.into());
        let of = |name: &str| Kind::Impl(name.into());
        assert_eq!(
            kinds[2..],
            [&named("KERNEL"), &named("sum"), &of("Parts"), &of("Band"), &Kind::Other]
        );
        let Kind::Imports(first) = kinds[0] else { panic!("{kinds:?}") };
        let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["v3", "old"]);
        assert_eq!(first[1].1, ["super", "v3", "term"]);
        let Kind::Imports(second) = kinds[1] else { panic!("{kinds:?}") };
        assert_eq!(second[2].1, ["crate", "formula", "Size"]);
        assert_eq!(items[2].lines.len(), 4);
        assert_eq!(items[2].lines[1].number, 9);
        assert_eq!(items[3].lines.len(), 7);
    }

    #[test]
    fn what_a_line_names() {
        let named = paths("    let x = each::<NW>(|e| a.wx(\"no\", v3::term, 1..N_BLK));");
        let joined: Vec<String> = named.iter().map(|path| path.join("::")).collect();
        assert_eq!(joined, ["let", "x", "each", "NW", "e", "a", "v3::term", "N_BLK"]);
    }
}
