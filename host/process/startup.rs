//! How the program was started, and how long it takes from there to the first calculation on a GPU.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use gpp_core::devices::gpu::first_launch;

static BEGAN: OnceLock<Instant> = OnceLock::new();

/// The process starts: the first thing that `main` does.
pub fn began() {
    BEGAN.get_or_init(Instant::now);
}

/// Seconds from the start to the first launch, kernels compiled and data in place.
pub fn seconds() -> Option<f64> {
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
