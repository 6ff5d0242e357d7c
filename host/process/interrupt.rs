//! What happens when someone asks the program to stop: tasks registered for that moment run, and it
//! exits with 128 and the signal's number, as shells expect. Asked again, it exits at once. While work is
//! [`Deferred`] it is for the work to look whether it was asked ([`asked`]), and to end by itself.

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crate::process::terminal::{self, note};

type Task = Box<dyn FnOnce() + Send>;

struct State {
    next: u64,
    tasks: Vec<(u64, Task)>,
    stopping: Option<ThreadId>,
}

static STATE: Mutex<State> = Mutex::new(State { next: 0, tasks: Vec::new(), stopping: None });

/// The state; a thread that comes for it while the program stops waits for the end.
fn state() -> MutexGuard<'static, State> {
    let state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
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
        state().tasks.retain(|(id, _)| *id != self.0);
    }
}

/// Makes something and registers what is to be done about it on an interrupt; none comes between.
/// The guard comes first so that it is dropped last.
///
/// # Errors
/// Those of `make`.
pub fn guarded<T, E>(
    make: impl FnOnce() -> Result<T, E>,
    task: impl FnOnce(&T) -> Task,
) -> Result<(Guard, T), E> {
    let mut state = state();
    let made = make()?;
    let id = state.next;
    state.next += 1;
    state.tasks.push((id, task(&made)));
    Ok((Guard(id), made))
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

type Show<T> = dyn Fn(&T) -> anyhow::Result<()> + Send + Sync;

/// The signal by which the program was asked to stop; 0 for none.
static ASKED: AtomicI32 = AtomicI32::new(0);

/// Works that end by themselves.
static DEFERRED: AtomicUsize = AtomicUsize::new(0);

/// The signal by which the program was asked to stop, which work that is [`Deferred`] looks for.
pub fn asked() -> Option<i32> {
    Some(ASKED.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
}

/// As long as this lives, the program goes on when it is asked to stop for the first time.
#[must_use]
#[derive(Debug)]
pub struct Deferred(());

impl Deferred {
    /// For work that ends by itself soon after.
    #[expect(clippy::new_without_default, reason = "it is made for what its end does")]
    pub fn new() -> Deferred {
        DEFERRED.fetch_add(1, Ordering::SeqCst);
        Deferred(())
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        DEFERRED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What is done so far, and how it is shown: at the end, or on an interrupt.
pub struct Kept<T> {
    state: Arc<Mutex<T>>,
    show: Arc<Show<T>>,
    guard: Guard,
}

impl<T: Send + 'static> Kept<T> {
    /// What is kept, and how it is shown.
    pub fn new(
        state: T,
        show: impl Fn(&T) -> anyhow::Result<()> + Send + Sync + 'static,
    ) -> Kept<T> {
        let state = Arc::new(Mutex::new(state));
        let show: Arc<Show<T>> = Arc::new(show);
        let task = |_: &()| -> Task {
            let (state, show) = (state.clone(), show.clone());
            Box::new(move || {
                let state = state.lock().unwrap_or_else(PoisonError::into_inner);
                if let Err(error) = show(&state) {
                    note(format_args!("error: {error:#}"));
                }
            })
        };
        let made: Result<_, std::convert::Infallible> = guarded(|| Ok(()), task);
        let Ok((guard, ())) = made;
        Kept { state, show, guard }
    }

    /// Changes what is done so far.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows it and what `done` says of the work; what was done before an error is shown as well.
    ///
    /// # Errors
    /// That of the work, else that of showing.
    pub fn finish<R, E: Into<anyhow::Error>>(self, done: Result<R, E>) -> anyhow::Result<R> {
        drop(self.guard);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = (self.show)(&state);
        let done = done.map_err(Into::into)?;
        shown.map(|()| done)
    }
}

/// Starts to listen for SIGINT, SIGTERM, SIGUSR1 and SIGUSR2, of which schedulers send one before they end a
/// job, and, unless it is ignored as under nohup, SIGHUP. SIGXFSZ is caught so that a write beyond the limit
/// of a file's size fails like any other. `speaks` is whether it says what happens: not where a launcher of
/// MPI sends the same signal to many processes, for its own reasons too.
///
/// # Errors
/// The system's.
#[cfg(unix)]
pub fn watch(speaks: bool) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
    use std::sync::atomic::AtomicBool;

    let asked = Arc::new(AtomicBool::new(false));
    let ends =
        [SIGINT, SIGTERM, SIGUSR1, SIGUSR2].into_iter().chain((!ignores(SIGHUP)).then_some(SIGHUP));
    for signal in ends.clone() {
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, asked.clone())?;
    }
    let mut signals = signal_hook::iterator::Signals::new(ends.chain([SIGXFSZ]))?;
    thread::spawn(move || {
        let Some(signal) = signals.forever().find(|&signal| signal != SIGXFSZ) else { return };
        asked.store(true, Ordering::SeqCst);
        ASKED.store(signal, Ordering::SeqCst);
        if DEFERRED.load(Ordering::SeqCst) > 0 {
            if speaks {
                note("stopping after the slabs at hand; asked again, at once");
            }
            return;
        }
        stop(speaks);
        signal_hook::low_level::exit(128 + signal);
    });
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
    let _ = stop;
    Ok(())
}

fn stop(speaks: bool) {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    state.stopping = Some(thread::current().id());
    let tasks = std::mem::take(&mut state.tasks);
    drop(state);
    terminal::clear();
    if speaks {
        note("interrupted");
    }
    for (_, task) in tasks.into_iter().rev() {
        // One that panics has said so; the program still has to end.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task));
    }
}
