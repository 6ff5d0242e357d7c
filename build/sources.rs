//! The sources of the kernels, for the program to show.

use std::fs;
use std::path::{Path, PathBuf};

/// Rust that lists every source of `folders` in `root` as `(path, text)`, sorted by path.
///
/// # Panics
/// Where a folder cannot be read.
pub fn list(root: &Path, folders: &[&str]) -> String {
    let mut files = Vec::new();
    folders.iter().for_each(|folder| walk(&root.join(folder), &mut files));
    files.sort();
    let entry = |file: &PathBuf| {
        let parts = file.strip_prefix(root).expect("walked from there").iter();
        let name = parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
        format!("({name:?}, include_str!({:?})),\n", file.display().to_string())
    };
    format!("&[\n{}]\n", files.iter().map(entry).collect::<String>())
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("the sources are there");
    for path in entries.map(|entry| entry.expect("the sources are there").path()) {
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
