//! Tells the program its commit, in `GPP_COMMIT`. `core/build.rs` builds the kernels.

use std::env;
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
    if let Some(commit) = commit_of(&root, &SOURCES) {
        println!("cargo::rustc-env=GPP_COMMIT={}", commit.name);
        for file in commit.depends_on {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
}

/// A commit, and what changes when another is checked out or made.
pub struct Commit {
    /// Its short name, with `-dirty` if the sources differ from it.
    pub name: String,
    /// Files of the repository that say which it is.
    pub depends_on: Vec<PathBuf>,
}

/// The commit of `sources` in `root`; none outside of a repository.
pub fn commit_of(root: &Path, sources: &[&str]) -> Option<Commit> {
    let git = |arguments: &[&str]| -> Option<String> {
        // Locks would change the index, and so the state looked at.
        let mut git = Command::new("git");
        git.arg("--no-optional-locks").arg("-C").arg(root).args(arguments);
        let output = git.output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_string())
    };
    let name = git(&["rev-parse", "--short=12", "HEAD"])?;
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    let files = ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref());
    let paths = files.filter_map(|file| Some(root.join(git(&["rev-parse", "--git-path", file])?)));
    // A path that does not exist would have the build run every time.
    let depends_on = paths.filter(|path| path.exists()).collect();
    let changes = git(&[&["status", "--porcelain", "--"], sources].concat())?;
    let name = if changes.is_empty() { name } else { name + "-dirty" };
    Some(Commit { name, depends_on })
}
