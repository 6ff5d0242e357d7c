//! Signals. While a calculation polls [`STOP`], the first signal ends it, and its finished results are printed and
//! written. Otherwise a signal removes half-written files and ends the program at once, and so does a second one. The
//! exit code is 128 plus the signal's number, as shells expect.
//!
//! The crate ctrlc is not used: it cannot tell signals apart, and listens to SIGHUP even under `nohup`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io, thread};

use gpp_core::Stop;
use gpp_core::os::output::remove_half_written;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::Signals;

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
    let all = [SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ];
    let mut signals = Signals::new(all.into_iter().filter(|n| ignored >> (n - 1) & 1 == 0))?;
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
