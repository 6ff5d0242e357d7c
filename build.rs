//! Tells the program its commit, in `GPP_COMMIT`. `core/build.rs` builds the kernels.

use std::env;
use std::path::PathBuf;

#[path = "build/commit.rs"]
mod commit;

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
    if let Some(commit) = commit::of(&root, &SOURCES) {
        println!("cargo::rustc-env=GPP_COMMIT={}", commit.name);
        for file in commit.depends_on {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
}
