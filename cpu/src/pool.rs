//! Threads, bound to cores where the system allows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use core_affinity::CoreId;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::topology::{Core, Machine, in_turns};

/// How many threads a version runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threads {
    /// One for each core.
    Cores,
    /// One for each thread that the cores have.
    All,
}

/// The processors that this process may use now. A thread that is bound sees its own one only.
pub fn mask() -> Vec<usize> {
    core_affinity::get_core_ids().unwrap_or_default().into_iter().map(|id| id.id).collect()
}

/// The cores that this process may use, as one that is alone on its host.
pub fn cores() -> Vec<Core> {
    Machine::here().within(&mask())
}

/// Threads that share the work of a version.
pub struct Pool {
    threads: ThreadPool,
    bound: bool,
}

impl Pool {
    /// Threads on these cores, each bound to its own.
    ///
    /// # Errors
    /// Where the system gives no threads.
    pub fn new(threads: Threads, cores: &[Core]) -> Result<Pool, ThreadPoolBuildError> {
        let mut ids = in_turns(cores);
        if threads == Threads::Cores {
            ids.truncate(cores.len());
        }
        Pool::on(ids)
    }

    /// So many threads, bound as far as these cores have processors: to one of each core first.
    ///
    /// # Errors
    /// Where the system gives no threads.
    pub fn with(threads: usize, cores: &[Core]) -> Result<Pool, ThreadPoolBuildError> {
        let mut ids = in_turns(cores);
        if threads > ids.len() {
            return Ok(Pool { threads: builder(threads).build()?, bound: false });
        }
        ids.truncate(threads);
        Pool::on(ids)
    }

    fn on(ids: Vec<usize>) -> Result<Pool, ThreadPoolBuildError> {
        if ids.is_empty() {
            return Ok(Pool { threads: builder(0).build()?, bound: false });
        }
        let bound = Arc::new(AtomicBool::new(true));
        let seen = Arc::clone(&bound);
        let count = ids.len();
        let start = move |thread: usize| {
            if !core_affinity::set_for_current(CoreId { id: ids[thread] }) {
                seen.store(false, Ordering::Relaxed);
            }
        };
        let threads = builder(count).start_handler(start).build()?;
        // All of them have started once each has done something.
        threads.broadcast(|_| ());
        Ok(Pool { threads, bound: bound.load(Ordering::Relaxed) })
    }

    /// How many.
    pub fn threads(&self) -> usize {
        self.threads.current_num_threads()
    }

    /// Whether each is bound to a core.
    pub fn bound(&self) -> bool {
        self.bound
    }

    /// Runs something on them.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.threads.install(work)
    }
}

fn builder(threads: usize) -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(threads).thread_name(|at| format!("gpp-cpu-{at}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_threads_as_asked_for() {
        for threads in [1, 2, 3] {
            assert_eq!(Pool::with(threads, &cores()).unwrap().threads(), threads);
        }
        let own = super::cores();
        let pool = |threads| Pool::new(threads, &own).unwrap();
        let (cores, all) = (pool(Threads::Cores), pool(Threads::All));
        assert!(cores.threads() >= 1 && cores.threads() <= all.threads());
        assert_eq!(cores.install(rayon::current_num_threads), cores.threads());
    }
}
