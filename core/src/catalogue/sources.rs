//! The sources of the kernels, as they were when the program was built.

use crate::catalogue::find;

/// A source file, or a module of one of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path in the repository.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
    /// What tells its code and that of all sources it uses from others', by any compiler: 16 hexadecimal digits.
    pub hash: &'static str,
}

const FILES: &[(&str, &str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// All sources of the kernels, for GPUs and for processors, sorted by path.
pub fn all() -> impl Iterator<Item = SourceFile> {
    FILES.iter().map(|&(path, text, hash)| SourceFile { path, text, hash })
}

/// The file of a version: the one that states its id.
pub fn of(version: &str) -> Option<SourceFile> {
    find(version)?;
    let stated = format!("id: \"{version}\"");
    all().find(|file| file.path.contains("/versions") && file.text.contains(&stated))
}

/// [`SourceFile::hash`] of a version's file.
pub fn hash(version: &str) -> Option<String> {
    of(version).map(|source| source.hash.into())
}

/// [`SourceFile::hash`] of the file at a path in the repository.
pub fn hash_at(path: &str) -> Option<String> {
    all().find(|source| source.path == path).map(|source| source.hash.into())
}

impl SourceFile {
    /// The paragraphs at its head, a line each.
    pub fn header(&self) -> Vec<String> {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let lines: Vec<&str> = lines.collect();
        lines.split(|line| line.is_empty()).map(|paragraph| paragraph.join(" ")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::versions;

    #[test]
    fn every_version_has_a_file_with_a_header() {
        let mut paths = Vec::new();
        for listed in versions() {
            let file = of(listed.id()).unwrap_or_else(|| panic!("{}", listed.id()));
            let header = file.header();
            assert!(header[0].contains(": ") && header[0].ends_with('.'), "{header:?}");
            paths.push(file.path);
        }
        let count = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), count);
        assert_eq!(of("none"), None);
    }
}
