//! Rules of the house that no compiler checks: which module may name which, and what several files say
//! alike.

mod arrows;
mod files;
mod modules;
mod tokens;

use std::path::PathBuf;

use modules::Modules;

/// The folders and files of `core/src/` from the bottom up: each uses only those before it. The library's root
/// stands above all.
const CORE: [&str; 11] = [
    "error",
    "progress",
    "system",
    "ranks",
    "catalogue",
    "problem",
    "devices",
    "engine",
    "offdiag",
    "reference",
    "calculator",
];

/// Those of `host/`. The library's root and the command's `main` stand above all.
const LAYERS: [&str; 10] = [
    "error",
    "process",
    "ranks",
    "reference",
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
fn folders_use_only_those_below() {
    none(arrows::upward(&Modules::read(&root(), "core/src"), &CORE));
    none(arrows::upward(&Modules::read(&root(), "host"), &LAYERS));
}

#[test]
fn modules_form_no_circle() {
    none(arrows::circles_of_siblings(&Modules::read(&root(), "core/src")));
    none(arrows::circles_of_siblings(&Modules::read(&root(), "host")));
}

/// Flags, bars, signals, output and the end of the process are the program's.
#[test]
fn the_core_leaves_to_the_program_what_is_the_program_s() {
    let of_core = |file: &PathBuf| file.starts_with("core/src");
    let core: Vec<PathBuf> = files::all(&root()).into_iter().filter(of_core).collect();
    assert!(core.len() > 80, "{} files", core.len());
    let mut found = Vec::new();
    for file in core {
        let file = file.display().to_string();
        let text = read(&file);
        for word in [
            "println!",
            "print!",
            "eprintln!",
            "clap",
            "indicatif",
            "signal_hook",
            "process::exit(",
        ] {
            let lines = text
                .lines()
                .enumerate()
                .filter(|(_, line)| line.contains(word) && !line.trim_start().starts_with("//"));
            found.extend(lines.map(|(at, _)| format!("{file}:{}: {word}", at + 1)));
        }
    }
    none(found);
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
