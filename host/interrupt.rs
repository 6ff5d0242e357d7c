//! What happens when someone asks the program to stop: tasks registered for that moment run, and it
//! exits with 128 and the signal's number, as shells expect. Asked again, it removes what is half-written
//! and exits at once. While work is [`Deferred`] it is for the work to look whether it was asked
//! ([`ASKED`]), and to end by itself.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
#[cfg(unix)]
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use gpp_core::stop::Stop;
use gpp_core::system::output::remove_half_written;

use crate::output::{self, note};

/// What is to be done when the program stops.
pub type Task = Box<dyn FnOnce() + Send>;

/// What a task is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// It shows what is done; that may take its time.
    Showing,
    /// It removes what is half-written.
    Removing,
}

struct State {
    next: u64,
    tasks: Vec<(u64, For, Task)>,
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

/// Makes something that is to be removed on an interrupt, by this task; none comes between. The guard
/// comes first so that it is dropped last.
///
/// # Errors
/// Those of `make`.
pub fn guarded<T, E>(
    make: impl FnOnce() -> Result<T, E>,
    task: impl FnOnce(&T) -> Task,
) -> Result<(Guard, T), E> {
    let mut state = state();
    let made = make()?;
    let guard = state.register(For::Removing, task(&made));
    Ok((guard, made))
}

/// Registers a task that shows what is done.
pub(crate) fn showing(task: Task) -> Guard {
    state().register(For::Showing, task)
}

impl State {
    fn register(&mut self, what: For, task: Task) -> Guard {
        let id = self.next;
        self.next += 1;
        self.tasks.push((id, what, task));
        Guard(id)
    }
}

/// A folder for passing files that goes when the program does.
///
/// # Errors
/// The system's.
pub fn scratch() -> std::io::Result<(Guard, tempfile::TempDir)> {
    guarded(tempfile::tempdir, |folder| {
        let path = folder.path().to_path_buf();
        Box::new(move || drop(std::fs::remove_dir_all(path)))
    })
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
///
/// # Errors
/// The system's.
#[cfg(unix)]
pub fn watch(speaks: bool) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
    use std::sync::Arc;

    // Whoever asks for the third time does not wait for what is removed either.
    let at_once = Arc::new(AtomicBool::new(false));
    let all = [SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2].into_iter();
    let ends = all.filter(|&signal| !ignores(signal));
    for signal in ends.clone() {
        let code = 128 + signal;
        signal_hook::flag::register_conditional_shutdown(signal, code, at_once.clone())?;
    }
    let mut signals = signal_hook::iterator::Signals::new(ends.chain([SIGXFSZ]))?;
    let (stop, stops) = mpsc::channel();
    let stopper = thread::Builder::new().spawn(move || {
        LISTENS.set(true);
        if let Ok(code) = stops.recv() {
            self::stop(speaks);
            exit(code);
        }
    })?;
    thread::Builder::new().spawn(move || {
        LISTENS.set(true);
        for signal in signals.forever() {
            let failed = FAILED.load(Ordering::SeqCst);
            if signal == SIGXFSZ && failed == 0 {
                continue;
            }
            let is_first = ASKED.ask(signal);
            if !is_first && failed == 0 {
                at_once.store(true, Ordering::SeqCst);
                end(128 + signal);
            }
            let mut state = lock();
            match state.deferred.last() {
                Some(after) if failed == 0 => {
                    let after = format!("stopping after {after}; asked again, at once");
                    drop(state);
                    if speaks {
                        note(after);
                    }
                }
                _ => {
                    // From here on nobody registers anything, or takes anything back.
                    state.stopping = Some(stopper.thread().id());
                    drop(state);
                    let _ = stop.send(if failed == 0 { 128 + signal } else { failed });
                }
            }
            if failed != 0 {
                thread::sleep(PATIENCE);
                end(failed);
            }
        }
    })?;
    WATCHES.store(true, Ordering::SeqCst);
    Ok(())
}

/// Whether signals are listened for.
static WATCHES: AtomicBool = AtomicBool::new(false);

/// The exit code of a program that [gives up](give_up); 0 for one that does not.
static FAILED: AtomicI32 = AtomicI32::new(0);

/// How long what is done may take to be shown when the program gives up: it may wait for what is held where
/// it failed.
const PATIENCE: Duration = Duration::from_secs(3);

thread_local! {
    /// Whether this is one of the threads that listen and stop.
    static LISTENS: Cell<bool> = const { Cell::new(false) };
}

/// Ends the program with this code, after what is done is shown: for what can be told to no caller. Takes no
/// memory.
pub fn give_up(code: u8) -> ! {
    let is_first = FAILED.swap(code.into(), Ordering::SeqCst) == 0;
    if !WATCHES.load(Ordering::SeqCst) || LISTENS.get() {
        exit(code.into());
    }
    #[cfg(unix)]
    if is_first && signal_hook::low_level::raise(signal_hook::consts::SIGXFSZ).is_err() {
        exit(code.into());
    }
    loop {
        thread::sleep(PATIENCE);
    }
}

/// Ends the program at once.
fn exit(code: i32) -> ! {
    #[cfg(unix)]
    signal_hook::low_level::exit(code);
    #[cfg(not(unix))]
    std::process::exit(code);
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

/// Runs all tasks, the last one first.
fn stop(speaks: bool) {
    output::clear_bar();
    if speaks && FAILED.load(Ordering::SeqCst) == 0 {
        note("interrupted");
    }
    // Whoever asks again finds those that are left.
    while let Some((.., task)) = { lock().tasks.pop() } {
        done(task);
    }
    remove_half_written();
}

/// Ends the program once what is half-written is removed.
fn end(code: i32) -> ! {
    let mut state = lock();
    state.stopping = Some(thread::current().id());
    let tasks = std::mem::take(&mut state.tasks);
    drop(state);
    tasks
        .into_iter()
        .filter(|(_, what, _)| *what == For::Removing)
        .for_each(|(.., task)| done(task));
    remove_half_written();
    exit(code)
}

/// Runs a task; one that panics has said so, and the program still has to end.
fn done(task: Task) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
}
