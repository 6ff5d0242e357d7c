//! Standard output, files, lines and progress bars on standard error, and signals.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, thread};

use gpp_core::Stop;
use gpp_core::os::output::remove_half_written;
use gpp_core::progress;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::error::{Error, Result, invalid};

pub use gpp_core::os::output as input;
pub use gpp_core::os::output::{check, replace};

pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Has `write` fill standard output. That its reader closed it early is not an error.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut to = io::BufWriter::new(io::stdout().lock());
    match write(&mut to).and_then(|()| to.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::write(Path::new("standard output"), e))
        }
        _ => Ok(()),
    }
}

pub fn document(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    // The system's error in one of the crate csv.
    let unwrapped = |error: io::Error| match error.downcast().map(csv::Error::into_kind) {
        Ok(csv::ErrorKind::Io(error)) | Err(error) => error,
        Ok(other) => io::Error::other(format!("{other:?}")),
    };
    let write = |to: &mut dyn Write| write(to).map_err(unwrapped);
    if is_stdout(path) { print(write) } else { replace(path, |file| write(file)) }
}

pub fn write_text(path: &Path, text: &str) -> Result<()> {
    document(path, |to| writeln!(to, "{text}"))
}

/// Fails if an output could not be written later, or would replace an input, by whatever path or link.
pub fn check_outputs<'a>(
    outputs: impl IntoIterator<Item = &'a PathBuf>,
    inputs: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<()> {
    let inputs: Vec<_> =
        inputs.into_iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    for path in outputs.into_iter().filter(|path| !is_stdout(path)) {
        check(path)?;
        if fs::canonicalize(path).is_ok_and(|path| inputs.contains(&path)) {
            return Err(invalid(path.display(), "is an input, and cannot be an output too"));
        }
    }
    Ok(())
}

pub static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// A line on standard error, above the progress bars; whether it can be written does not matter. It is written at once,
/// so that lines of other processes do not mix with it.
pub fn note(text: impl Display) {
    let line = format!("{text}\n");
    BARS.suspend(|| drop(io::stderr().write_all(line.as_bytes())));
}

#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// False with `--quiet`.
    pub shown: bool,
}

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

impl From<Progress> for progress::Bars {
    fn from(progress: Progress) -> progress::Bars {
        let shown: fn(&str, u64) -> progress::StepBar = |what, steps| {
            let bar = Progress { shown: true }.bar(what, steps);
            Box::new(move || bar.step())
        };
        progress::Bars(progress.shown.then_some(shown))
    }
}

impl Progress {
    /// A bar on standard error, unless that is no terminal.
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

// Signals: while a calculation polls [`STOP`], the first signal ends it, and its finished results are printed and
// written. Otherwise a signal removes half-written files and ends the program at once, and so does a second one. The
// exit code is 128 plus the signal's number, as shells expect.
//
// The crate ctrlc is not used: it cannot tell signals apart, and listens to SIGHUP even under `nohup`.

/// Requested with the number of the first signal.
pub static STOP: Stop = Stop::new();

static IS_POLLED: AtomicBool = AtomicBool::new(false);

/// As long as this lives, the program polls [`STOP`], or writes results and ends by itself.
#[must_use]
pub struct Polling(());

pub fn polling() -> Polling {
    IS_POLLED.store(true, Ordering::SeqCst);
    Polling(())
}

impl Drop for Polling {
    fn drop(&mut self) {
        IS_POLLED.store(false, Ordering::SeqCst);
    }
}

/// Listens to the signals that end a job, some of which schedulers and Open MPI's `mpirun` pass on, unless the program
/// was started to ignore them. SIGXFSZ is caught so that a write beyond the limit on file sizes fails like any other.
pub fn listen() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let handled = [SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ];
    let mut signals = Signals::new(handled.into_iter().filter(|n| ignored >> (n - 1) & 1 == 0))?;
    thread::Builder::new().spawn(move || {
        for signal in signals.forever().filter(|&signal| signal != SIGXFSZ) {
            let is_first = STOP.ask(signal);
            if !is_first || !IS_POLLED.load(Ordering::SeqCst) {
                remove_half_written();
                signal_hook::low_level::exit(128 + signal);
            }
        }
    })?;
    Ok(())
}

/// The exit code of an error: 2 for bad usage or input, 3 for a missing or failed device, 128 plus a signal's number.
pub fn exit_code(error: &Error) -> u8 {
    match error.cause() {
        Error::NoGpu { .. } | Error::Driver(_) | Error::Memory { on_device: true, .. } => 3,
        Error::Stopped { code, .. } => 128u8.saturating_add(*code as u8),
        _ => 2,
    }
}

/// The text of an error; a program is stopped by a signal.
pub fn message(error: &Error) -> String {
    match error {
        Error::Stopped { code, done, total, unit } => {
            let name = signal_hook::low_level::signal_name(*code).unwrap_or("a signal");
            format!("stopped by {name} after {done} of {total} {unit}")
        }
        Error::Unknown { what: "version", .. } => error.unknown_text("`gpp list` shows all"),
        _ => error.to_string(),
    }
}
