//! The commit that is being built.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A commit, and what changes when another is checked out or made.
pub struct Commit {
    /// Its short name, with `-dirty` if the sources differ from it.
    pub name: String,
    /// Files of the repository that say which it is.
    pub depends_on: Vec<PathBuf>,
}

/// The commit of `sources` in `root`; none outside of a repository.
pub fn of(root: &Path, sources: &[&str]) -> Option<Commit> {
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
