//! What a version is made of: its kernels and the items that they name, from all files.

use std::collections::{BTreeMap, BTreeSet};

use super::items::{Item, Kind, Line, items, parted, paths};
use crate::catalogue::sources::{self, SourceFile};

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
