//! The commit that is being built.

use std::path::Path;
use std::process::Command;

/// Its short name, with `-dirty` where `sources` differ from it; none outside of a repository. The
/// build runs again when another is checked out or made.
pub fn short(root: &Path, sources: &[&str]) -> Option<String> {
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
    for file in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        // A path that does not exist would have the build run every time.
        let path = git(&["rev-parse", "--git-path", file]).map(|path| root.join(path));
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let changes = git(&[&["status", "--porcelain", "--"], sources].concat())?;
    Some(if changes.is_empty() { name } else { name + "-dirty" })
}
