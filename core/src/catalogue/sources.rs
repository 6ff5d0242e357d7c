//! The sources of the kernels, as they were when the program was built.

use crate::catalogue::find;

/// A source file, or a module of one of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile {
    pub path: &'static str,
    pub text: &'static str,
    /// Hash of all code of its crate without comments, 16 hexadecimal digits.
    pub hash: &'static str,
}

const FILES: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// All sources of the kernels, for GPUs and for CPUs, sorted by path.
pub fn all() -> impl Iterator<Item = SourceFile> {
    FILES.iter().map(|&(path, text, hash)| SourceFile { path, text, hash })
}

/// The file of a version: the one that states its id.
pub fn of(version: &str) -> Option<SourceFile> {
    find(version)?;
    let stated = format!("id: \"{version}\"");
    all().find(|file| file.path.contains("/versions") && file.text.contains(&stated))
}

impl SourceFile {
    /// The paragraphs at its head, a line each.
    pub fn header(&self) -> Vec<String> {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let lines: Vec<&str> = lines.collect();
        lines.split(|line| line.is_empty()).map(|paragraph| paragraph.join(" ")).collect()
    }
}

const MARK: &str = "Lines of the nest: ";

/// The lines of the loop nest (`data/kernel.json`) that a version changes, from 1 and rising; empty for the launch alone, `None` if none are named.
pub fn changed(version: &str) -> Option<Vec<usize>> {
    let header = of(version)?.header();
    let named = header.iter().find_map(|paragraph| paragraph.strip_prefix(MARK))?;
    let numbers = named.split(|sign: char| !sign.is_ascii_digit());
    Some(numbers.filter_map(|number| number.parse().ok()).collect())
}

/// Whether a paragraph of a header names lines.
pub fn names_lines(paragraph: &str) -> bool {
    paragraph.starts_with(MARK)
}
