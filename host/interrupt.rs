//! A signal asks the program to stop: what is done is shown, and it exits with 128 and the signal's number, as shells
//! expect. While work is [`Deferred`] it is for the work to look at [`ASKED`], and to end by itself. A second signal
//! removes what is half-written and exits at once.
//!
//! The crate ctrlc is not used: it cannot tell signals apart, and takes back that `nohup` ignores SIGHUP.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use gpp_core::os::output::remove_half_written;
use gpp_core::stop::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};

use crate::output::{self, note};

/// Shows what is done; that may take its time.
type Task = Box<dyn FnOnce() -> anyhow::Result<()> + Send>;

/// Asked for the signal by which the program is to stop.
pub static ASKED: Stop = Stop::new();

/// The task of a signal, none once it is not needed. Whoever comes while the program stops does not come back.
static TASK: Mutex<Option<Task>> = Mutex::new(None);

/// The work at the end of which the program stops by itself.
static DEFERRED: Mutex<Option<&'static str>> = Mutex::new(None);

pub fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As long as this lives, the program goes on after the first signal.
#[must_use]
#[derive(Debug)]
pub struct Deferred(());

impl Deferred {
    /// For work that ends by itself soon, `after` this.
    pub fn new(after: &'static str) -> Deferred {
        let _not_stopping = lock(&TASK);
        *lock(&DEFERRED) = Some(after);
        Deferred(())
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        *lock(&DEFERRED) = None;
    }
}

/// Listens for the signals that end a job, of which schedulers and Open MPI's `mpirun` pass some on, unless the program
/// was started to ignore them. SIGXFSZ is caught so that a write beyond the limit of a file's size fails like any other.
/// `speaks` is false if a launcher of MPI sends a signal to many processes.
pub fn watch(speaks: bool) -> std::io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let all = [SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ];
    let heard = all.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = signal_hook::iterator::Signals::new(heard)?;
    thread::Builder::new().spawn(move || {
        for signal in signals.forever().filter(|&signal| signal != SIGXFSZ) {
            let is_first = ASKED.ask(signal);
            // A second signal does not wait for what is shown.
            let shows = || thread::Builder::new().spawn(move || stop(signal, speaks)).is_ok();
            if !is_first || !shows() {
                exit(signal);
            }
        }
    })?;
    Ok(())
}

/// Shows what is done and ends the program, unless work that ends by itself is under way.
fn stop(signal: i32, speaks: bool) {
    // With this lock nobody takes the task back, or begins to show it.
    let mut task = lock(&TASK);
    if let Some(after) = *lock(&DEFERRED) {
        if speaks {
            note(format_args!("stopping after {after}; asked again, at once"));
        }
        return;
    }
    output::clear_bar();
    if speaks {
        note("interrupted");
    }
    if let Some(task) = task.take() {
        // One that panics has said so, and the program still has to end.
        let shown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
        if let Ok(Err(error)) = shown {
            note(format_args!("error: {error:#}"));
        }
    }
    exit(signal)
}

fn exit(signal: i32) -> ! {
    remove_half_written();
    signal_hook::low_level::exit(128 + signal)
}

/// If a signal asks the program to stop, `show` shows what is done.
pub fn shows_by(show: impl FnOnce() -> anyhow::Result<()> + Send + 'static) {
    *lock(&TASK) = Some(Box::new(show));
}

/// Shows at the end of the work what is done. Whoever asks the program to stop meanwhile has it shown all the same.
pub fn show_at_end(show: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let _deferred = Deferred::new("what is shown and written");
    *lock(&TASK) = None;
    show()
}
