//! Threads, bound to cores where the system allows.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use core_affinity::CoreId;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// How many threads a version runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threads {
    /// One for each core.
    Cores,
    /// One for each thread that the cores have.
    All,
}

/// Threads that share the work of a version.
pub struct Pool {
    threads: ThreadPool,
    bound: bool,
}

impl Pool {
    /// Threads on the cores that this process may use, each bound to its own.
    ///
    /// # Errors
    /// Where the system gives no threads.
    pub fn new(threads: Threads) -> Result<Pool, ThreadPoolBuildError> {
        let all = core_affinity::get_core_ids().unwrap_or_default();
        let ids = match threads {
            Threads::All => all,
            Threads::Cores => first_of_each_core(all),
        };
        Pool::on(ids)
    }

    /// So many threads, bound as far as there are cores.
    ///
    /// # Errors
    /// Where the system gives no threads.
    pub fn with(threads: usize) -> Result<Pool, ThreadPoolBuildError> {
        let mut ids = core_affinity::get_core_ids().unwrap_or_default();
        if threads > ids.len() {
            return Ok(Pool { threads: builder(threads).build()?, bound: false });
        }
        ids.truncate(threads);
        Pool::on(ids)
    }

    fn on(ids: Vec<CoreId>) -> Result<Pool, ThreadPoolBuildError> {
        if ids.is_empty() {
            return Ok(Pool { threads: builder(0).build()?, bound: false });
        }
        let bound = Arc::new(AtomicBool::new(true));
        let seen = Arc::clone(&bound);
        let count = ids.len();
        let start = move |thread: usize| {
            if !core_affinity::set_for_current(ids[thread]) {
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

/// One processor of each core; all where the system does not say which share one.
fn first_of_each_core(all: Vec<CoreId>) -> Vec<CoreId> {
    let mut cores = BTreeSet::new();
    let is_first = |id: &CoreId| match siblings(id.id) {
        Some(siblings) => cores.insert(siblings),
        None => true,
    };
    all.into_iter().filter(is_first).collect()
}

/// The processors of the same core, as Linux writes them.
fn siblings(processor: usize) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list");
    std::fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_threads_as_asked_for() {
        for threads in [1, 2, 3] {
            assert_eq!(Pool::with(threads).unwrap().threads(), threads);
        }
        let (cores, all) = (Pool::new(Threads::Cores).unwrap(), Pool::new(Threads::All).unwrap());
        assert!(cores.threads() >= 1 && cores.threads() <= all.threads());
        assert_eq!(cores.install(rayon::current_num_threads), cores.threads());
    }
}
