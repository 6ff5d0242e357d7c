//! What happens when someone asks the program to stop: tasks registered for that moment run, and it exits with 128 and
//! the signal's number, as shells expect. While work is [`Deferred`] it is for the work to look whether it was asked
//! ([`ASKED`]), and to end by itself. Asked again, the program removes what is half-written and exits at once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use gpp_core::stop::Stop;
use gpp_core::system::output::remove_half_written;

use crate::output::{self, note};

pub type Task = Box<dyn FnOnce() + Send>;

struct State {
    next: u64,
    tasks: Vec<(u64, Task)>,
    stopping: Option<ThreadId>,
    /// Works that end by themselves: after what.
    deferred: Vec<&'static str>,
}

static STATE: Mutex<State> =
    Mutex::new(State { next: 0, tasks: Vec::new(), stopping: None, deferred: Vec::new() });

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state; a thread that comes for it while the program stops waits for the end.
fn state() -> MutexGuard<'static, State> {
    let state = lock();
    if state.stopping.is_some_and(|by| by != thread::current().id()) {
        drop(state);
        loop {
            thread::park();
        }
    }
    state
}

/// A task stays registered as long as this lives.
#[must_use]
#[derive(Debug)]
pub struct Guard(u64);

impl Drop for Guard {
    fn drop(&mut self) {
        state().tasks.retain(|(id, ..)| *id != self.0);
    }
}

/// Registers a task that shows what is done; that may take its time.
pub(crate) fn showing(task: Task) -> Guard {
    let mut state = state();
    state.next += 1;
    let id = state.next;
    state.tasks.push((id, task));
    Guard(id)
}

/// Asked for the signal by which the program is to stop: what work that is [`Deferred`] looks at.
pub static ASKED: Stop = Stop::new();

/// As long as this lives, the program goes on when it is asked to stop for the first time.
#[must_use]
#[derive(Debug)]
pub struct Deferred(());

impl Deferred {
    /// For work that ends by itself soon, `after` this.
    pub fn new(after: &'static str) -> Deferred {
        state().deferred.push(after);
        Deferred(())
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        state().deferred.pop();
    }
}

/// Starts to listen for SIGHUP, SIGINT, SIGTERM, SIGUSR1 and SIGUSR2, of which schedulers send one before they end
/// a job, unless the program was started to ignore them, as by nohup. SIGXFSZ is caught so that a write beyond the limit
/// of a file's size fails like any other. `speaks` is whether it says what happens: not where a launcher of
/// MPI sends the same signal to many processes, for its own reasons too.
#[cfg(unix)]
pub fn watch(speaks: bool) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};

    let all = [SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2].into_iter();
    let ends = all.filter(|&signal| !ignores(signal));
    let mut signals = signal_hook::iterator::Signals::new(ends.chain([SIGXFSZ]))?;
    thread::Builder::new().spawn(move || {
        for signal in signals.forever().filter(|&signal| signal != SIGXFSZ) {
            if !ASKED.ask(signal) {
                end(signal);
            }
            // On a thread of its own: who asks again does not wait for what is shown.
            if thread::Builder::new().spawn(move || stop(signal, speaks)).is_err() {
                stop(signal, speaks);
            }
        }
    })?;
    Ok(())
}

/// Whether the program was started with a signal ignored, where the system tells.
#[cfg(unix)]
fn ignores(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Elsewhere the system's own way of stopping a program is left as it is.
#[cfg(not(unix))]
pub fn watch(_: bool) -> std::io::Result<()> {
    let _ = (stop, end);
    Ok(())
}

/// Runs all tasks, the last one first, and ends the program, unless work that ends by itself is under way.
fn stop(signal: i32, speaks: bool) {
    let mut state = lock();
    if let Some(after) = state.deferred.last().copied() {
        drop(state);
        if speaks {
            note(format_args!("stopping after {after}; asked again, at once"));
        }
        return;
    }
    // From here on nobody registers anything, or takes anything back.
    state.stopping = Some(thread::current().id());
    drop(state);
    output::clear_bar();
    if speaks {
        note("interrupted");
    }
    // Whoever asks again finds those that are left.
    while let Some((_, task)) = { lock().tasks.pop() } {
        // One that panics has said so, and the program still has to end.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
    }
    exit(signal)
}

/// Ends the program once what is half-written is removed.
fn end(signal: i32) -> ! {
    lock().stopping = Some(thread::current().id());
    exit(signal)
}

fn exit(signal: i32) -> ! {
    remove_half_written();
    #[cfg(unix)]
    signal_hook::low_level::exit(128 + signal);
    #[cfg(not(unix))]
    std::process::exit(128 + signal);
}
