//! What changed in the source from one version to another.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::catalogue::sources::{self, SourceFile};

/// Unchanged lines around those that changed.
const CONTEXT: usize = 2;

/// What changed in the source: the items that a version's kernels are made of, against those of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Lines that are new.
    pub added: usize,
    /// Lines that are gone.
    pub removed: usize,
    /// The places of change.
    pub hunks: Vec<Hunk>,
}

/// Lines that belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// In their order.
    pub lines: Vec<Changed>,
}

impl Hunk {
    /// The file and line of the first that changed, of the version where it is new.
    pub fn place(&self) -> String {
        let of = |sign| self.lines.iter().find(|line| line.sign == sign);
        let first = of(Sign::Added).or(of(Sign::Removed));
        first.map_or(String::new(), |line| format!("{}:{}", line.file, line.line))
    }
}

/// A line and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Whether it is in the version, in the one before, or in both.
    pub sign: Sign,
    /// Its file, in the one before where it is gone.
    pub file: &'static str,
    /// Its number there, from 1.
    pub line: u32,
    /// Its text.
    pub text: String,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sign {
    /// It is in both.
    Kept,
    /// It is new.
    Added,
    /// It is gone.
    Removed,
}

impl Sign {
    /// As differences are written.
    pub fn sign(self) -> char {
        match self {
            Sign::Kept => ' ',
            Sign::Added => '+',
            Sign::Removed => '-',
        }
    }
}

/// What changed from one version to another, comments and counts left out; `None` for versions without
/// a source.
pub fn difference(before: &str, now: &str) -> Option<Difference> {
    Some(between(&sources::of(before)?, &sources::of(now)?))
}

/// The same from the version of one file to that of another.
pub fn between(before: &SourceFile, now: &SourceFile) -> Difference {
    let modules = Modules::embedded();
    let [old, new] = [before, now].map(|file| modules.parts(file));
    compare(&only(&old, &new), &only(&new, &old))
}

/// The lines of parts that others have not got.
fn only(parts: &[Part], others: &[Part]) -> Vec<Line> {
    let own = parts.iter().filter(|part| !others.contains(part));
    own.flat_map(|part| part.lines.iter().map(told)).collect()
}

/// A line with an entry's symbol as that of any version, whoever may use what it declares.
fn told(line: &Line) -> Line {
    let folder = line.file.split_once("/versions/").map_or("", |(_, name)| name);
    let name = folder.trim_end_matches(".rs").replace('/', "_");
    let text = line.text.replace(&format!("gpp_{name}"), "gpp");
    Line { text: text.strip_prefix("pub ").map_or(text.clone(), str::to_string), ..line.clone() }
}

fn texts(lines: &[Line]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_str()).collect()
}

fn compare(old: &[Line], new: &[Line]) -> Difference {
    let (before, now) = (texts(old), texts(new));
    let diff = TextDiff::from_slices(&before, &now);
    let changed = |change: similar::Change<&str>| {
        let (sign, line) = match change.tag() {
            ChangeTag::Equal => (Sign::Kept, &new[change.new_index()?]),
            ChangeTag::Insert => (Sign::Added, &new[change.new_index()?]),
            ChangeTag::Delete => (Sign::Removed, &old[change.old_index()?]),
        };
        Some(Changed { sign, file: line.file, line: line.number, text: line.text.clone() })
    };
    let hunk = |ops: &Vec<similar::DiffOp>| {
        let lines = ops.iter().flat_map(|op| diff.iter_changes(op)).filter_map(changed);
        Hunk { lines: lines.collect() }
    };
    let hunks: Vec<Hunk> = diff.grouped_ops(CONTEXT).iter().map(hunk).collect();
    let count = |sign| hunks.iter().flat_map(|hunk| &hunk.lines).filter(|l| l.sign == sign).count();
    Difference { added: count(Sign::Added), removed: count(Sign::Removed), hunks }
}

// Sources as items: what stands at a file's top level, and which other items it names.
//
// The sources are formatted by rustfmt: an item begins at a line's first column.

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

// What a version is made of: its kernels and the items that they name, from all files.

/// Fields of a kernel that say nothing of what it does: its name, a count, and what runs elsewhere.
const UNTOLD: [&str; 4] = ["version", "flops_per_term", "beyond", "source"];

/// Where an item is: its module, and its place there.
type At = (Vec<String>, usize);

/// All modules of the kernels.
pub struct Modules(BTreeMap<Vec<String>, Vec<Item>>);

/// An item as a version has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its lines, without comments; a kernel's with the fields that it takes over.
    pub lines: Vec<Line>,
}

impl Modules {
    /// Of the sources that the program was built from.
    pub fn embedded() -> Modules {
        Modules(sources::all().map(|source| (module(source.path), items(&source))).collect())
    }

    /// The parts of the version in that file, its kernels first.
    pub fn parts(&self, file: &SourceFile) -> Vec<Part> {
        let own = module(file.path);
        let mut seen = BTreeSet::new();
        let mut parts = Vec::new();
        for root in self.roots(&own) {
            self.visit(&own, &[root], &mut seen, &mut parts);
        }
        parts
    }

    /// The kernels of a version for GPUs, how a processor does it, or the type that says how matrices are summed.
    fn roots(&self, own: &[String]) -> Vec<String> {
        let of_type = |item: &Item| match &item.kind {
            Kind::Impl(name) => Some(name.clone()),
            _ => None,
        };
        let named = |name: &str| self.0.get(own)?.iter().find(|item| item.is_named(name));
        if named("CPU").is_some() {
            return vec!["CPU".into()];
        }
        let Some(text) = named("GPU").map(Item::text) else {
            return self.0.get(own).into_iter().flatten().filter_map(of_type).collect();
        };
        let list = text.split_once("kernels: &[").and_then(|(_, rest)| rest.split_once(']'));
        let kernels = list.map_or(Vec::new(), |(list, _)| paths(list));
        kernels.into_iter().flatten().collect()
    }

    /// Takes the item that a path leads to and, after it, what it names.
    fn visit(
        &self,
        from: &[String],
        path: &[String],
        seen: &mut BTreeSet<At>,
        parts: &mut Vec<Part>,
    ) {
        let Some(at) = self.find(from, path, 0) else { return };
        if !seen.insert(at.clone()) {
            return;
        }
        let items = &self.0[&at.0];
        let lines = self.whole(&at);
        parts.push(Part { lines: lines.clone() });
        self.visit_all(&lines, seen, parts);
        let Kind::Named(name) = &items[at.1].kind else { return };
        for (place, item) in items.iter().enumerate() {
            if item.kind == Kind::Impl(name.clone()) && seen.insert((at.0.clone(), place)) {
                parts.push(Part { lines: item.lines.clone() });
                self.visit_all(&item.lines, seen, parts);
            }
        }
    }

    /// Takes what the lines of an item name, but for what they bind themselves.
    fn visit_all(&self, lines: &[Line], seen: &mut BTreeSet<At>, parts: &mut Vec<Part>) {
        let bound = bound(lines);
        for line in lines {
            let from = module(line.file);
            let named = paths(&line.text).into_iter();
            for path in named.filter(|path| path.len() > 1 || !bound.contains(&path[0])) {
                self.visit(&from, &path, seen, parts);
            }
        }
    }

    /// An item's lines, a field on each, with those of the fields that it takes over from another.
    fn whole(&self, at: &At) -> Vec<Line> {
        let lines = fields_apart(&self.0[&at.0][at.1].lines);
        let base = lines.iter().position(|line| base(&line.text).is_some());
        let Some(place) = base else { return without(&lines, &UNTOLD) };
        let path = base_path(&lines[place].text);
        let Some(taken) = self.find(&at.0, &path, 0).filter(|taken| taken != at) else {
            return without(&lines, &UNTOLD);
        };
        let (head, own) =
            fields(&without(&[&lines[..place], &lines[place + 1..]].concat(), &UNTOLD));
        let (_, taken) = fields(&self.whole(&taken));
        // Fields stand in the order of the kernel that they are taken from, so that one that changes keeps
        // its line.
        let is_new = |own: &&Vec<Line>| same(&taken, own).is_none();
        let merged = taken.iter().map(|old| same(&own, old).unwrap_or(old).clone());
        let added = own.iter().filter(is_new).cloned();
        let end = lines[lines.len() - 1..].to_vec();
        [head].into_iter().chain(added).chain(merged).chain([end]).flatten().collect()
    }

    /// The item that a path in a module leads to, through imports.
    fn find(&self, from: &[String], path: &[String], depth: usize) -> Option<At> {
        let (first, rest) = path.split_first()?;
        let mut from = from.to_vec();
        match first.as_str() {
            // Imports that go around in circles do not compile.
            _ if depth > 20 => return None,
            "crate" => from.truncate(1),
            "super" => drop(from.pop()),
            "self" => {}
            "gpp_kernels" => from = vec!["kernels".into()],
            name => {
                // A folder need not have a file.
                let items = self.0.get(&from).map_or(&[][..], Vec::as_slice);
                // `Type::function` leads to the type.
                if rest.len() < 2
                    && let Some(place) = items.iter().position(|item| item.is_named(name))
                {
                    return Some((from, place));
                }
                let imports = items.iter().filter_map(|item| match &item.kind {
                    Kind::Imports(names) => Some(names),
                    _ => None,
                });
                if let Some((_, to)) = imports.flatten().find(|(alias, _)| alias == name) {
                    let path = [to.as_slice(), rest].concat();
                    return self.find(&from, &path, depth + 1);
                }
                from.push(name.into());
                if !self.0.contains_key(&from) {
                    return None;
                }
            }
        }
        self.find(&from, rest, depth + 1)
    }
}

impl Item {
    fn is_named(&self, name: &str) -> bool {
        matches!(&self.kind, Kind::Named(own) if own == name)
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| line.text.trim()).collect::<Vec<_>>().join(" ")
    }
}

/// `kernels/src/tiles/mod.rs` is `kernels::tiles`.
fn module(path: &str) -> Vec<String> {
    let parts = path.trim_end_matches(".rs").split('/').filter(|part| *part != "src");
    let mut module: Vec<String> = parts.map(str::to_string).collect();
    if module.last().is_some_and(|last| last == "mod" || last == "lib") {
        module.pop();
    }
    module
}

/// A constant whose fields are on one line, as if they were on many.
fn fields_apart(lines: &[Line]) -> Vec<Line> {
    let text = lines.iter().map(|line| line.text.trim()).collect::<Vec<_>>().join(" ");
    let inside =
        text.split_once("{ ").and_then(|(head, rest)| Some((head, rest.strip_suffix(" };")?)));
    let Some((head, fields)) = inside.filter(|_| lines.len() < 3) else { return lines.to_vec() };
    let last = lines[lines.len() - 1].clone();
    let line = |text: String| Line { text, ..last.clone() };
    let fields = parted(fields).into_iter().map(|field| line(format!("    {field},")));
    let first = Line { text: format!("{head}{{"), ..lines[0].clone() };
    std::iter::once(first).chain(fields).chain([line("};".into())]).collect()
}

/// The name of the field that a line begins.
fn field(line: &str) -> Option<&str> {
    let text = line.strip_prefix("    ")?;
    let (name, _) = text.split_once(':')?;
    name.chars().all(|c| c.is_ascii_lowercase() || c == '_').then_some(name)
}

/// Whether a field begins there, or what others are taken from.
fn begins_field(line: &str) -> bool {
    field(line).is_some() || line.starts_with("    ..")
}

/// `..v3::KERNEL,` takes fields over; a call does not name whose.
fn base(line: &str) -> Option<&str> {
    let path = line.strip_prefix("    ..")?.trim_end_matches(',');
    path.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c)).then_some(path)
}

/// The line before the fields of a constant, and the lines of each field.
fn fields(lines: &[Line]) -> (Vec<Line>, Vec<Vec<Line>>) {
    let end = lines.len().saturating_sub(1);
    let first = lines.iter().position(|line| begins_field(&line.text)).unwrap_or(end);
    let mut fields: Vec<Vec<Line>> = Vec::new();
    for line in &lines[first..end] {
        match fields.last_mut() {
            Some(last) if !begins_field(&line.text) => last.push(line.clone()),
            _ => fields.push(vec![line.clone()]),
        }
    }
    (lines[..first].to_vec(), fields)
}

/// The field of that name among others; the one without a name is what others are taken from.
fn same<'a>(fields: &'a [Vec<Line>], of: &[Line]) -> Option<&'a Vec<Line>> {
    fields.iter().find(|other| field(&other[0].text) == field(&of[0].text))
}

/// The names that functions bind: their parameters, and what `let` says.
fn bound(lines: &[Line]) -> BTreeSet<String> {
    let is_function = lines.iter().any(|line| line.text.contains("fn "));
    let mut names = BTreeSet::new();
    for line in lines.iter().filter(|_| is_function) {
        for (at, _) in line.text.match_indices(": ") {
            names.extend(paths(&line.text[..at]).pop().and_then(|path| path.last().cloned()));
        }
        let Some((_, rest)) = line.text.split_once("let ") else { continue };
        let first = paths(rest.trim_start_matches("mut ")).first().map(|path| path[0].clone());
        // `let d = d(w)` calls what it hides from then on.
        names.extend(first.filter(|name| !rest.contains(&format!("= {name}("))));
    }
    names
}

fn base_path(line: &str) -> Vec<String> {
    base(line).map_or(Vec::new(), |path| path.split("::").map(str::to_string).collect())
}

/// Lines without those of some fields, which go on to where the next one begins.
fn without(lines: &[Line], fields: &[&str]) -> Vec<Line> {
    let mut dropped = false;
    let mut kept = Vec::new();
    for line in lines {
        let is_next = field(&line.text).is_some() || !line.text.starts_with("     ");
        let closes =
            line.text.trim_start().starts_with([')', '}', ']']) && line.text.starts_with("    ");
        if is_next && !(dropped && closes) {
            dropped = field(&line.text).is_some_and(|name| fields.contains(&name));
        }
        if !dropped {
            kept.push(line.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{order, versions};

    fn lines(difference: &Difference, sign: Sign) -> Vec<&str> {
        let all = difference.hunks.iter().flat_map(|hunk| &hunk.lines);
        all.filter(|line| line.sign == sign).map(|line| line.text.trim()).collect()
    }

    #[test]
    fn what_a_version_takes_over_is_no_change() {
        let found = difference("v3", "v4").unwrap();
        let (added, removed) = (lines(&found, Sign::Added), lines(&found, Sign::Removed));
        assert!(added.contains(&"loops: Loops::Collapse2,"), "{added:?}");
        assert!(removed.contains(&"loops: Loops::Collapse3,"), "{removed:?}");
        assert!(
            added.contains(&"for n in 0..nbands {") && added.contains(&"max_registers: Some(80),")
        );
        // Both have v3's term, 128 threads, and the same reciprocals.
        let all = [added, removed].concat();
        for kept in [
            "fn term<",
            "fn three_ways",
            "Divisions",
            "threads:",
            "fn reciprocal",
            "flops_per_term",
            "VERSION",
            "gpp_v",
        ] {
            assert!(!all.iter().any(|line| line.contains(kept)), "{kept}: {all:?}");
        }
        assert!(found.hunks.iter().any(|hunk| hunk.place().contains("/v4.rs:")));
    }

    #[test]
    fn small_steps_are_small() {
        for (before, now, text) in [
            ("v7", "v8", "threads: 512,"),
            ("v10", "v11", "struct Staged;"),
            ("cpu:blocked", "cpu:reciprocal", "kernels: &[Kernel::of::<Blocks<true>>()],"),
            ("cpu:reciprocal", "cpu:smt", "threads: Threads::All,"),
        ] {
            let found = difference(before, now).unwrap();
            assert!(lines(&found, Sign::Added).contains(&text), "{now}: {found:?}");
        }
        let smt = difference("cpu:reciprocal", "cpu:smt").unwrap();
        assert_eq!((smt.added, smt.removed), (1, 1), "{smt:?}");
    }

    #[test]
    fn every_step_has_a_change() {
        for listed in versions() {
            let Some(before) = order::before(listed.id()) else { continue };
            let found = difference(before, listed.id()).unwrap();
            assert!(found.added > 0, "{}", listed.id());
            let back = difference(listed.id(), before).unwrap();
            // Two ways to the same text may differ in how much they keep, but not in what is left over.
            let (there, again) = (found.added + back.added, found.removed + back.removed);
            assert_eq!(there, again, "{}", listed.id());
        }
        assert_eq!(difference("v0", "none"), None);
        assert_eq!(difference("v3", "v3").unwrap().hunks, []);
    }

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
