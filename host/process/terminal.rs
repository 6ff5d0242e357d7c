//! Standard error: lines for people, beside the bar that may be there.

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use indicatif::{ProgressBar, WeakProgressBar};

/// The bar on the terminal, for what else is written there.
static CURRENT: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

fn current() -> Option<ProgressBar> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.upgrade()
}

/// A bar is on the terminal as long as it lives.
pub fn shows(bar: &ProgressBar) {
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.downgrade());
}

/// Takes the bar off the terminal.
pub fn clear() {
    if let Some(bar) = current() {
        bar.finish_and_clear();
    }
}

/// A line on standard error, past a progress bar; whether it can be written does not matter. It is written at once, so
/// that another process's lines do not come between its parts.
pub fn note(text: impl Display) {
    let line = format!("{text}\n");
    let write = || drop(io::stderr().write_all(line.as_bytes()));
    match current() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}
