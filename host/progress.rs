//! Progress bars for long work, and lines beside them.

use std::fmt::Display;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::output::{self, note};

/// Whether long work shows its progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// False with `--quiet`.
    pub shown: bool,
}

/// Marks of a step of a [`FineBar`].
const MARKS: f64 = 1000.0;

/// A bar that moves within its steps, from any thread.
pub struct FineBar(ProgressBar);

impl FineBar {
    /// So many steps are done, and a part of the next one; never fewer than before.
    pub fn set(&self, steps: f64) {
        let marks = (steps * MARKS) as u64;
        if marks > self.0.position() {
            self.0.set_position(marks);
        }
    }

    pub fn set_message(&self, what: String) {
        self.0.set_message(what);
    }

    pub fn finish_and_clear(&self) {
        self.0.finish_and_clear();
    }
}

impl From<Progress> for gpp_core::progress::Progress {
    fn from(progress: Progress) -> gpp_core::progress::Progress {
        use gpp_core::progress::{Bar, Progress};
        /// Goes off the terminal with the work.
        struct Shown(ProgressBar);
        impl Bar for Shown {
            fn step(&self) {
                self.0.inc(1);
            }
        }
        impl Drop for Shown {
            fn drop(&mut self) {
                self.0.finish_and_clear();
            }
        }
        match progress.shown {
            true => Progress(Some(|what, steps| {
                Box::new(Shown(super::progress::Progress { shown: true }.bar(what, steps)))
            })),
            false => Progress::NONE,
        }
    }
}

impl Progress {
    /// A bar of `steps` on standard error, hidden where that is no terminal.
    pub fn bar(self, what: &str, steps: u64) -> ProgressBar {
        self.with_marks(what, steps, 1)
    }

    /// A bar as [`Progress::bar`] makes, which also moves within a step.
    pub fn fine_bar(self, what: &str, steps: u64) -> FineBar {
        FineBar(self.with_marks(what, steps, MARKS as u64))
    }

    fn with_marks(self, what: &str, steps: u64, marks: u64) -> ProgressBar {
        let target =
            if self.shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        // Before the first mark nothing is known of the time left.
        let left = |state: &ProgressState, to: &mut dyn std::fmt::Write| {
            if state.pos() > 0 {
                let _ = write!(to, ", {:#} left", HumanDuration(state.eta()));
            }
        };
        let of_steps = move |state: &ProgressState, to: &mut dyn std::fmt::Write| {
            let _ = write!(to, "{}/{steps}", state.pos() / marks);
        };
        let style = ProgressStyle::with_template("{msg:22} {wide_bar} {steps}{left}")
            .expect("the template is valid")
            .with_key("left", left)
            .with_key("steps", of_steps);
        let bar = ProgressBar::with_draw_target(Some(steps * marks), target)
            .with_style(style)
            .with_message(what.to_string());
        if self.shown {
            output::show_bar(&bar);
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
