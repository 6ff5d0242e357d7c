//! Progress bars for long work, and lines beside them.

use std::fmt::Display;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::process::terminal::{self, note};

/// Whether long work shows its progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// False with `--quiet`.
    pub shown: bool,
}

impl Progress {
    /// A bar of `steps` on standard error, hidden where that is no terminal.
    ///
    /// # Panics
    /// Never: its template is valid.
    pub fn bar(self, what: &str, steps: u64) -> ProgressBar {
        let target =
            if self.shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        // Before the first step nothing is known of the time left.
        let left = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
            if state.pos() > 0 {
                let _ = write!(to, ", {:#} left", HumanDuration(state.eta()));
            }
        };
        let style = ProgressStyle::with_template("{msg:22} {wide_bar} {pos}/{len}{left}")
            .expect("the template is valid")
            .with_key("left", left);
        let bar = ProgressBar::with_draw_target(Some(steps), target)
            .with_style(style)
            .with_message(what.to_string());
        if self.shown {
            terminal::shows(&bar);
        }
        bar
    }

    /// A line on standard error, unless the user wants none.
    pub fn say(self, text: impl Display) {
        if self.shown {
            note(text);
        }
    }
}
