//! Who watches a calculation, and the threads of its workers.

use std::thread::{Builder, Scope, ScopedJoinHandle};

use gpp_cpu::caller::starting;
use gpp_cpu::pool::STACK;
use gpp_cpu::stop::{NEVER, Stop};

use crate::error::{Error, Result};

/// Told of the part of a calculation that is done, from any thread and in any order.
pub type Done<'a> = &'a (dyn Fn(f64) + Sync);

/// Who watches a calculation.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Told how far it is.
    pub done: Done<'a>,
    /// Ends it, within a slab too.
    pub stop: &'a Stop,
}

impl<'a> Watch<'a> {
    /// Nobody.
    pub fn none() -> Watch<'static> {
        Watch::of(&|_| ())
    }

    /// Who does not stop it.
    pub fn of(done: Done<'a>) -> Watch<'a> {
        Watch { done, stop: &NEVER }
    }

    /// Fails once it is to stop.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn check(&self) -> Result<()> {
        let stopped = |code| Error::Stopped { code, done: 0, all: 1, of: "parts" };
        self.stop.asked().map_or(Ok(()), |code| Err(stopped(code)))
    }
}

/// Starts a thread for one of several workers.
///
/// # Errors
/// [`Error::Threads`].
pub fn spawned<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    let thread = starting(|| Builder::new().stack_size(STACK).spawn_scoped(scope, work));
    thread.map_err(|error| Error::Threads { reason: error.to_string() })
}
