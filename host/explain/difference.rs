//! What changed in the source from one version to another.

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::catalogue::sources::{self, SourceFile};

/// Unchanged lines around those that changed.
const CONTEXT: usize = 2;

/// What changed in the source of a version, against that of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub added: usize,
    pub removed: usize,
    pub hunks: Vec<Hunk>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hunk {
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// Whether it is in the version, in the one before, or in both.
    pub sign: Sign,
    /// Its file, in the one before where it is gone.
    pub file: &'static str,
    /// Its number there, from 1.
    pub line: u32,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sign {
    Kept,
    Added,
    Removed,
}

impl Sign {
    pub fn sign(self) -> char {
        match self {
            Sign::Kept => ' ',
            Sign::Added => '+',
            Sign::Removed => '-',
        }
    }
}

/// What changed from one version to another, comments and imports left out; `None` for versions without a source.
pub fn difference(before: &str, now: &str) -> Option<Difference> {
    Some(between(&sources::of(before)?, &sources::of(now)?))
}

/// The same from the version of one file to that of another.
pub fn between(before: &SourceFile, now: &SourceFile) -> Difference {
    let (old, new) = (code(before), code(now));
    let [old_texts, new_texts] =
        [&old, &new].map(|lines| lines.iter().map(|line| line.1.as_str()).collect::<Vec<_>>());
    let diff = TextDiff::from_slices(&old_texts, &new_texts);
    let changed = |change: similar::Change<&str>| {
        let (sign, file, (line, text)) = match change.tag() {
            ChangeTag::Equal => (Sign::Kept, now.path, &new[change.new_index()?]),
            ChangeTag::Insert => (Sign::Added, now.path, &new[change.new_index()?]),
            ChangeTag::Delete => (Sign::Removed, before.path, &old[change.old_index()?]),
        };
        Some(Changed { sign, file, line: *line, text: text.clone() })
    };
    let hunk = |ops: &Vec<similar::DiffOp>| {
        let lines = ops.iter().flat_map(|op| diff.iter_changes(op)).filter_map(changed);
        Hunk { lines: lines.collect() }
    };
    let hunks: Vec<Hunk> = diff.grouped_ops(CONTEXT).iter().map(hunk).collect();
    let count = |sign| hunks.iter().flat_map(|hunk| &hunk.lines).filter(|l| l.sign == sign).count();
    Difference { added: count(Sign::Added), removed: count(Sign::Removed), hunks }
}

/// The lines of code with their numbers, without comments, imports and tests; an entry's symbol as that of any version.
fn code(file: &SourceFile) -> Vec<(u32, String)> {
    let folder = file.path.split_once("/versions/").map_or("", |(_, name)| name);
    let symbol = format!("gpp_{}", folder.trim_end_matches(".rs").replace('/', "_"));
    let mut imports = false;
    let mut lines = Vec::new();
    for (at, text) in file.text.lines().enumerate() {
        if text.starts_with("#[cfg(test)]") {
            break;
        }
        imports |= text.starts_with("use ");
        if !imports && !text.trim().is_empty() && !text.trim_start().starts_with("//") {
            lines.push((at as u32 + 1, text.replace(&symbol, "gpp")));
        }
        imports &= !text.ends_with(';');
    }
    lines
}

#[cfg(test)]
mod tests;
