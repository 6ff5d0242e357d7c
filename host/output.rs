//! Standard output, files, and lines on standard error.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use gpp_core::devices::gpu::first_launch;
use indicatif::{ProgressBar, WeakProgressBar};

use crate::error::{Error, Result};
use crate::interrupt::{self, Deferred, Guard, Task, showing};

pub use gpp_core::system::output::{check, folder, target};
pub use gpp_core::system::{format, input, memory};

// What the program writes: files that appear whole or not at all, and standard output.

/// Has `write` fill a file that takes the place of `path` once it is complete: see
/// [`gpp_core::system::output::replace`]. Where the program is stopping it does not come back.
///
/// # Errors
/// [`Error::Write`].
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let _waits = interrupt::showing(Box::new(|| ()));
    gpp_core::system::output::replace(path, write)
}

/// Whether a file's name means standard output.
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Fails where `path` is standard output and `flag` needs a file or a folder.
///
/// # Errors
/// [`Error::Write`].
pub fn require_name(flag: &str, path: &Path, what: &str) -> Result<()> {
    if !is_stdout(path) {
        return Ok(());
    }
    let other = if what == "file" { "; /dev/stdout is one for a pipe" } else { "" };
    Err(Error::Write { path: path.into(), reason: format!("{flag} needs a {what}{other}") })
}

/// Fails where the program was started without standard output.
///
/// # Errors
/// [`Error::Write`].
pub fn require_stdout() -> Result<()> {
    if is_without_stdout() {
        let reason = "it was closed when the program was started".into();
        return Err(Error::Write { path: STDOUT.into(), reason });
    }
    Ok(())
}

/// How messages call it.
const STDOUT: &str = "standard output";

/// Has `write` fill standard output. A reader that has seen enough is no failure.
///
/// # Errors
/// [`Error::Write`].
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    require_stdout()?;
    let mut to = io::BufWriter::new(io::stdout().lock());
    match write(&mut to).and_then(|()| to.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::Write { path: STDOUT.into(), reason: e.to_string() })
        }
        _ => Ok(()),
    }
}

/// Has `write` fill a file, or standard output for `-`.
///
/// # Errors
/// [`Error::Write`].
pub fn document(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    if is_stdout(path) { print(write) } else { replace(path, |file| write(file)) }
}

/// Writes text and a line's end to a file, or to standard output for `-`.
///
/// # Errors
/// [`Error::Write`].
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    document(path, |to| writeln!(to, "{text}"))
}

// Standard error: lines for people, beside the bar that may be there.

/// The bar on the terminal, for what else is written there.
static CURRENT: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

fn current() -> Option<ProgressBar> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.upgrade()
}

/// A bar is on the terminal as long as it lives.
pub fn show_bar(bar: &ProgressBar) {
    *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.downgrade());
}

/// Takes the bar off the terminal.
pub fn clear_bar() {
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

// What is done of some work, and how it is shown whatever becomes of the work.

type Show<T> = dyn Fn(&T) -> anyhow::Result<()> + Send + Sync;

/// What is done so far, and how it is shown: at the end, or on an interrupt.
pub struct Kept<T> {
    state: Arc<Mutex<T>>,
    show: Arc<Show<T>>,
    guard: Guard,
}

impl<T: Send + 'static> Kept<T> {
    /// What is kept, and how it is shown.
    pub fn new(
        kept: T,
        show: impl Fn(&T) -> anyhow::Result<()> + Send + Sync + 'static,
    ) -> Kept<T> {
        let kept = Arc::new(Mutex::new(kept));
        let show: Arc<Show<T>> = Arc::new(show);
        let (own, by) = (kept.clone(), show.clone());
        let task: Task = Box::new(move || {
            let kept = own.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = by(&kept) {
                note(format_args!("error: {error:#}"));
            }
        });
        let guard = showing(task);
        Kept { state: kept, show, guard }
    }

    /// Changes what is done so far.
    pub fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows it and what `done` says of the work; what was done before an error is shown as well. Whoever
    /// asks the program to stop meanwhile has it shown all the same.
    ///
    /// # Errors
    /// That of the work, else that of showing.
    pub fn finish<R, E: Into<anyhow::Error>>(self, done: Result<R, E>) -> anyhow::Result<R> {
        let _deferred = Deferred::new("what is shown and written");
        drop(self.guard);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = (self.show)(&state);
        let done = done.map_err(Into::into)?;
        shown.map(|()| done)
    }
}

// How the program was started, and how long it takes from there to the first calculation on a GPU.

static BEGAN: OnceLock<Instant> = OnceLock::new();

/// The process starts: the first thing that `main` does.
pub fn program_began() {
    BEGAN.get_or_init(Instant::now);
}

/// Seconds from the start to the first launch, kernels compiled and data in place.
pub fn startup_seconds() -> Option<f64> {
    Some(first_launch()?.duration_since(*BEGAN.get()?).as_secs_f64())
}

static WITHOUT_STDOUT: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the program was started. Rust's runtime opens /dev/null in its
/// place, so that whatever is printed seems to be written.
pub fn is_without_stdout() -> bool {
    WITHOUT_STDOUT.load(Ordering::Relaxed)
}

/// What runs before Rust's runtime.
#[cfg(target_os = "linux")]
mod before {
    use std::os::fd::AsFd;
    use std::sync::atomic::Ordering;

    /// Linux's number for a file that is not open.
    const EBADF: i32 = 9;

    extern "C" fn look() {
        let error = std::io::stdout().as_fd().try_clone_to_owned().err();
        let is_closed = error.and_then(|error| error.raw_os_error()) == Some(EBADF);
        super::WITHOUT_STDOUT.store(is_closed, Ordering::Relaxed);
    }

    // SAFETY: the section holds functions without arguments that the C library calls before `main`; this one
    // needs nothing that is set up there.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;
}

// The files that a command names, held against each other before anything runs.
//
// An output takes the place of the file that its name leads to. So no two flags may lead to one file, by whatever path or link, but those that only read.

/// The files of a command.
#[derive(Debug)]
pub struct Files(Vec<Named>);

/// A file and what is done with it.
#[derive(Debug)]
struct Named {
    flag: &'static str,
    path: PathBuf,
    to: Use,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// It is read.
    Read,
    /// It is replaced.
    Write,
    /// The same; `-` is standard output.
    WriteOrPrint,
}

/// The variable that names a file of kernels.
const PTX: &str = "GPP_PTX";

impl Files {
    /// None but the kernels' file, where one is named.
    #[expect(clippy::new_without_default, reason = "it depends on the environment")]
    pub fn new() -> Files {
        Files(Vec::new()).reads(PTX, std::env::var_os(PTX))
    }

    /// Files that are read.
    #[must_use]
    pub fn reads<P: AsRef<Path>>(
        self,
        flag: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.with(flag, paths, Use::Read)
    }

    /// Files that are written.
    #[must_use]
    pub fn writes<P: AsRef<Path>>(
        self,
        flag: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.with(flag, paths, Use::Write)
    }

    /// Files that are written, or printed where they are called `-`.
    #[must_use]
    pub fn writes_or_prints<P: AsRef<Path>>(
        self,
        flag: &'static str,
        paths: impl IntoIterator<Item = P>,
    ) -> Self {
        self.with(flag, paths, Use::WriteOrPrint)
    }

    fn with<P: AsRef<Path>>(
        mut self,
        flag: &'static str,
        paths: impl IntoIterator<Item = P>,
        to: Use,
    ) -> Self {
        let named = |path: P| Named { flag, path: path.as_ref().into(), to };
        self.0.extend(paths.into_iter().map(named));
        self
    }

    /// Fails where one could not be written later, or would take the place of another.
    ///
    /// # Errors
    /// [`Error::Data`] that names both flags; [`Error::Write`].
    pub fn check(&self) -> Result<()> {
        for (at, named) in self.0.iter().enumerate() {
            if let Some((this, other)) = self.0[..at].iter().find_map(|other| named.clash(other)) {
                let origin = format!("{} {}", this.flag, this.path.display());
                let kind = if other.to == Use::Read { "the input" } else { "also the file of" };
                let what = format!("it is {kind} {} {}", other.flag, other.path.display());
                return Err(Error::Data { origin, what });
            }
        }
        self.0.iter().try_for_each(Named::check)
    }
}

impl Named {
    /// This file and the other one, in the order to name them, where they cannot serve both purposes.
    fn clash<'a>(&'a self, other: &'a Named) -> Option<(&'a Named, &'a Named)> {
        if self.to == Use::Read && other.to == Use::Read || !self.meets(other) {
            return None;
        }
        Some(if self.to == Use::Read { (other, self) } else { (self, other) })
    }

    /// Whether both lead to one file.
    fn meets(&self, other: &Named) -> bool {
        if self.prints() || other.prints() {
            return self.prints() && other.prints();
        }
        place(&self.path) == place(&other.path)
    }

    fn prints(&self) -> bool {
        self.to == Use::WriteOrPrint && is_stdout(&self.path)
    }

    fn check(&self) -> Result<()> {
        match self.to {
            Use::Read => Ok(()),
            Use::WriteOrPrint if is_stdout(&self.path) => require_stdout(),
            _ => {
                require_name(self.flag, &self.path, "file")?;
                check(&self.path)
            }
        }
    }
}

/// Where a path leads through links, also to a file that does not exist yet.
fn place(path: &Path) -> PathBuf {
    let target = target(path);
    let below = || Some(fs::canonicalize(folder(&target)).ok()?.join(target.file_name()?));
    fs::canonicalize(&target).ok().or_else(below).unwrap_or(target)
}
