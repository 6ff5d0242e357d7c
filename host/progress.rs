//! Progress bars for long work.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Whether long work shows its progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// False with `--quiet`.
    pub shown: bool,
}

impl Progress {
    /// A bar of `steps` on standard error, hidden where that is no terminal.
    pub fn bar(self, what: &str, steps: u64) -> ProgressBar {
        let target =
            if self.shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{msg:22} {bar:30} {pos}/{len}, {eta} left")
            .expect("the template is valid");
        ProgressBar::with_draw_target(Some(steps), target)
            .with_style(style)
            .with_message(what.to_string())
    }
}
