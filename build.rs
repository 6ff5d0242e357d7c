//! Tells the program its commit, in `GPP_COMMIT`, and lists the sources of `kernels/` and `cpu/` in
//! `$OUT_DIR/sources.rs`, and archived profiles in `$OUT_DIR/archive.rs`. `core/build.rs` builds the kernels.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program is made of.
const SOURCES: [&str; 10] = [
    "Cargo.toml",
    "Cargo.lock",
    "build.rs",
    "build",
    "kernels",
    "cpu",
    "core",
    "host",
    "data",
    "benches",
];

fn main() {
    for path in SOURCES {
        println!("cargo::rerun-if-changed={path}");
    }
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let listed = sources(&root, &["kernels/src", "cpu/src"]);
    fs::write(out.join("sources.rs"), listed).expect("OUT_DIR can be written");
    fs::write(out.join("archive.rs"), archive(&root)).expect("OUT_DIR can be written");
    if let Some((name, log)) = commit_of(&root, &SOURCES) {
        println!("cargo::rustc-env=GPP_COMMIT={name}");
        // A path that does not exist would have the build run every time.
        if log.exists() {
            println!("cargo::rerun-if-changed={}", log.display());
        }
    }
}

/// Folders of profiles that `gpp explain` quotes where it is given no others.
const ARCHIVE: [&str; 4] = [
    "data/runs/h200-2026-11-28/si214",
    "data/runs/h200-2026-11-28/si214-single",
    "data/runs/h100-2026-11-27/si214-blog",
    "data/runs/h100-2026-11-27/si214-talk",
];

/// Rust that lists these folders, each with the names and texts of its JSON records.
fn archive(root: &Path) -> String {
    let folder = |folder: &str| {
        let mut files: Vec<PathBuf> = fs::read_dir(root.join(folder))
            .expect("the archive is there")
            .map(|entry| entry.expect("the archive is there").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        files.sort();
        let files = files.iter().map(|path| {
            let name = path.file_name().expect("a file has a name");
            format!("({name:?}, include_str!({path:?})),\n")
        });
        format!("({folder:?}, &[\n{}]),\n", files.collect::<String>())
    };
    format!("&[\n{}]\n", ARCHIVE.map(folder).concat())
}

/// Rust that lists the sources of `folders` in `root` as `SourceFile`s, sorted by path. A module
/// within a file is a source of its own: see [`sections`].
fn sources(root: &Path, folders: &[&str]) -> String {
    let mut text = String::new();
    for folder in folders {
        let mut files = rust_files(&root.join(folder));
        files.sort();
        let sections = files.iter().flat_map(|file| {
            let parts = file.strip_prefix(root).expect("walked from there").iter();
            let path = parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
            sections(&path, &fs::read_to_string(file).expect("the sources can be read"))
        });
        for (path, source) in sections {
            text += &format!("SourceFile {{ path: {path:?}, text: {source:?} }},\n");
        }
    }
    format!("&[\n{text}]\n")
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the sources are there");
    let paths = entries.map(|entry| entry.expect("the sources are there").path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    files.chain(folders.iter().flat_map(|folder| rust_files(folder))).collect()
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

/// The short name of the commit of `sources` in `root`, with `-dirty` if they differ from it, and the file that changes
/// when another is checked out or made; none outside of a repository.
pub fn commit_of(root: &Path, sources: &[&str]) -> Option<(String, PathBuf)> {
    let git = |arguments: &[&str]| -> Option<String> {
        // Locks would change the index, and so the state looked at.
        let mut git = Command::new("git");
        git.arg("--no-optional-locks").arg("-C").arg(root).args(arguments);
        let output = git.output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_string())
    };
    let name = git(&["rev-parse", "--short=12", "HEAD"])?;
    let log = root.join(git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    let changes = git(&[&["status", "--porcelain", "--"], sources].concat())?;
    Some((if changes.is_empty() { name } else { name + "-dirty" }, log))
}
