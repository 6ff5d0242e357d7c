//! What changed in the source from one version to another.

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use super::composed::{Modules, Part};
use super::items::Line;
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
}
