//! The project's own files, and how long one may be without saying why.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines that a file may have.
const LINES: usize = 300;

/// How a reason begins, in the comment at a file's head.
const REASON: &str = "Long because ";

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

/// Which of them are too long, each with what was found.
pub fn too_long(root: &Path) -> Vec<String> {
    let written = all(root).into_iter().filter_map(|path| {
        let text = fs::read(root.join(&path)).unwrap();
        let comment = comment_marks(&path, &text)?;
        let text = String::from_utf8(text).expect("sources are UTF-8");
        let lines = text.lines().count();
        let excused = lines <= LINES || has_reason(&text, comment);
        (!excused).then(|| {
            let path = path.display();
            format!("{path}: {lines} lines, {LINES} at most or `{REASON}…` in its first comment")
        })
    });
    written.collect()
}

/// How comments begin in files that have to be short: sources, texts and scripts.
fn comment_marks(path: &Path, text: &[u8]) -> Option<&'static [&'static str]> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs" | "cu" | "c" | "h") => Some(&["//!", "//"]),
        Some("f90" | "F90") => Some(&["!"]),
        Some("md") => Some(&["<!--"]),
        Some("sh" | "py" | "yml" | "toml") => Some(&["#"]),
        None if text.starts_with(b"#!") => Some(&["#"]),
        _ => None,
    }
}

/// Whether the comment at the head gives a reason.
fn has_reason(text: &str, marks: &[&str]) -> bool {
    text.lines()
        .map_while(|line| marks.iter().find_map(|mark| line.strip_prefix(mark)))
        .filter_map(|line| line.trim_start().strip_prefix(REASON))
        .any(|reason| reason.chars().any(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_without_a_reason_is_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, head: &str, lines: usize| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, head.to_string() + &"x\n".repeat(lines)).unwrap();
        };
        write("host/long.rs", "//! A module.\n", 300);
        write("host/short.rs", "//! A module.\n", 299);
        write("host/excused.rs", "//! A module.\n//!\n//! Long because it is a table.\n", 300);
        write("host/empty.rs", "//! Long because …\n", 300);
        write("host/late.rs", "//! A module.\nx\n//! Long because it is late.\n", 300);
        write("kernel.cu", "// A kernel.\n// Long because it is one.\n", 300);
        write("scripts/run", "#!/bin/sh\n", 300);
        write("docs/page.md", "# A page\n", 300);
        write("docs/long.md", "<!-- Long because it is a list. -->\n# A page\n", 300);
        write(".ci/run", "#!/bin/sh\n# Long because it is a list.\n", 300);
        for unread in ["data/x.rs", "target/x.rs", "tests/data/x.rs", ".git/x.rs", "LICENSE"] {
            write(unread, "", 301);
        }
        let found = too_long(root.path());
        let names: Vec<&str> = found.iter().map(|text| text.split(": ").next().unwrap()).collect();
        assert_eq!(
            names,
            ["docs/page.md", "host/empty.rs", "host/late.rs", "host/long.rs", "scripts/run"]
        );
        assert!(found[3].starts_with("host/long.rs: 301 lines, 300 at most"), "{}", found[3]);
    }
}
