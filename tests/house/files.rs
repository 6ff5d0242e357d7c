//! The project's own files.

use std::fs;
use std::path::{Path, PathBuf};

/// Every file that is kept by hand, in order: no archive, no build, no recorded input of a test.
///
/// # Panics
/// Where a folder cannot be read.
pub fn all(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(root, Path::new(""), &mut found);
    found.sort();
    found
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().expect("names are UTF-8");
        let path = folder.join(&name);
        let left_out = ["target", "data", "tests/data"].map(Path::new).contains(&path.as_path())
            || name.starts_with('.') && ![".ci", ".github"].contains(&name.as_str());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && !left_out {
            walk(root, &path, found);
        } else if kind.is_file() && !left_out {
            found.push(path);
        }
    }
}
