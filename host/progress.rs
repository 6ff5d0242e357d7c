//! Progress bars of long work, and lines above them.

use std::fmt::Display;

use gpp_core::progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::{BARS, note};

/// Whether long work shows its progress.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// False with `--quiet`.
    pub shown: bool,
}

/// Positions of a bar in a step.
const MARKS: u64 = 1000;

/// A bar of some steps, on the terminal until it is dropped.
pub struct Bar(ProgressBar);

impl Bar {
    /// So many steps are done, with the fraction of the next one; never fewer than before.
    pub fn set(&self, steps: f64) {
        let marks = (steps * MARKS as f64) as u64;
        if marks > self.0.position() {
            self.0.set_position(marks);
        }
    }

    pub fn step(&self) {
        self.0.inc(MARKS);
    }

    pub fn set_message(&self, what: String) {
        self.0.set_message(what);
    }
}

impl progress::Bar for Bar {
    fn step(&self) {
        self.step();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl From<Progress> for progress::Progress {
    fn from(progress: Progress) -> progress::Progress {
        match progress.shown {
            true => progress::Progress(Some(|what, steps| {
                Box::new(Progress { shown: true }.bar(what, steps))
            })),
            false => progress::Progress::NONE,
        }
    }
}

impl Progress {
    /// A bar on standard error, hidden if that is no terminal.
    pub fn bar(self, what: &str, steps: u64) -> Bar {
        let style = ProgressStyle::with_template("{msg:22} {wide_bar} {percent:>3} %, {eta} left")
            .expect("the template is valid");
        let hidden = ProgressDrawTarget::hidden();
        let bar = ProgressBar::with_draw_target(Some(steps * MARKS), hidden)
            .with_style(style)
            .with_message(what.to_string());
        Bar(if self.shown { BARS.add(bar) } else { bar })
    }

    /// A line on standard error, unless the user wants none.
    pub fn say(self, text: impl Display) {
        if self.shown {
            note(text);
        }
    }
}
