//! What is done of some work, and how it is shown whatever becomes of the work.

use std::sync::{Arc, Mutex, PoisonError};

use crate::process::interrupt::{Deferred, Guard, Task, showing};
use crate::process::terminal::note;

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
