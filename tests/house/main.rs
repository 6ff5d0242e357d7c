//! Rules of the house that no compiler checks: how long a file may be, which module may name which,
//! and what several files say alike.

mod arrows;
mod files;
mod modules;
mod tokens;

use std::path::PathBuf;

use modules::Modules;

/// The folders and files of `host/` from the bottom up: each uses only those before it. The
/// library's root and the command's `main` stand above all.
const LAYERS: [&str; 14] = [
    "error",
    "process",
    "ranks",
    "catalogue",
    "problem",
    "reference",
    "devices",
    "engine",
    "record",
    "experiments",
    "analysis",
    "render",
    "figures",
    "cli",
];

fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn none(found: Vec<String>) {
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn no_file_is_long_without_a_reason() {
    let files = files::all(&root());
    for known in ["host/lib.rs", "kernels/src/lib.rs", "scripts/run", ".ci/run", "README.md"] {
        assert!(files.contains(&known.into()), "{known} was not read");
    }
    none(files::too_long(&root()));
}

#[test]
fn folders_of_the_host_use_only_those_below() {
    none(arrows::upward(&Modules::read(&root(), "host"), &LAYERS));
}

#[test]
fn modules_of_the_host_form_no_circle() {
    none(arrows::circles_of_siblings(&Modules::read(&root(), "host")));
}

#[test]
fn modules_of_the_kernels_form_no_circle() {
    none(arrows::circles(&Modules::read(&root(), "kernels/src")));
}

/// One minimum: where it is declared, where it is written for people, where the forge installs it.
#[test]
fn the_oldest_compiler_is_the_same_everywhere() {
    let manifest = read("Cargo.toml");
    let declared = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let declared = declared.expect("Cargo.toml has a rust-version").trim_matches('"');
    for path in ["CONTRIBUTING.md", ".github/workflows/ci.yml"] {
        let text = read(path);
        let words = text.split(|sign: char| !sign.is_ascii_digit() && sign != '.');
        let releases: Vec<&str> =
            words.map(|word| word.trim_matches('.')).filter(|word| is_release(word)).collect();
        assert!(!releases.is_empty(), "{path} names no release of rustc");
        for release in releases {
            assert_eq!(release, declared, "{path} and Cargo.toml");
        }
    }
}

/// Whether it looks like a release of rustc: 1 and two digits.
fn is_release(word: &str) -> bool {
    word.strip_prefix("1.").is_some_and(|minor| minor.len() == 2 && !minor.contains('.'))
}
