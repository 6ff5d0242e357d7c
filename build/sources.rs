//! The sources of the kernels, for the program to show.

use std::fs;
use std::path::{Path, PathBuf};

/// Rust that lists the sources of `folders` in `root` as `(path, text)`, sorted by path. A module
/// within a file is a source of its own: see [`sections`].
pub fn list(root: &Path, folders: &[&str]) -> String {
    let mut text = String::new();
    for folder in folders {
        let mut files = files(&root.join(folder));
        files.sort();
        for (path, source) in files.iter().flat_map(|file| read(root, file)) {
            text += &format!("({path:?}, {source:?}),\n");
        }
    }
    format!("&[\n{text}]\n")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the sources are there");
    let paths = entries.map(|entry| entry.expect("the sources are there").path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    files.chain(folders.iter().flat_map(|folder| self::files(folder))).collect()
}

fn read(root: &Path, file: &Path) -> Vec<(String, String)> {
    let parts = file.strip_prefix(root).expect("walked from there").iter();
    let path = parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
    let text = fs::read_to_string(file).expect("the sources can be read");
    sections(&path, &text)
}

/// What is outside of a file's modules, and each module as `path#name`, without its indentation.
pub fn sections(path: &str, text: &str) -> Vec<(String, String)> {
    let mut found = vec![(path.to_string(), String::new())];
    let mut is_inside = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(" {")) {
            found.push((format!("{path}#{name}"), String::new()));
            is_inside = true;
        } else if is_inside && line == "}" {
            is_inside = false;
        } else {
            let index = if is_inside { found.len() - 1 } else { 0 };
            found[index].1 +=
                if is_inside { line.strip_prefix("    ").unwrap_or(line) } else { line };
            found[index].1.push('\n');
        }
    }
    found
}
