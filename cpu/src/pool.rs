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

/// Which part of the cores a process has, where several share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which one, from 0.
    pub at: usize,
    /// Of how many.
    pub of: usize,
}

impl Share {
    /// All of them.
    pub const ALL: Share = Share { at: 0, of: 1 };

    /// Its part of `all`, one at least.
    fn part<T>(self, mut all: Vec<T>) -> Vec<T> {
        if all.is_empty() {
            return all;
        }
        let begin = (self.at * all.len() / self.of).min(all.len() - 1);
        let end = ((self.at + 1) * all.len() / self.of).max(begin + 1);
        all.truncate(end);
        all.split_off(begin)
    }
}

/// Threads that share the work of a version.
pub struct Pool {
    threads: ThreadPool,
    bound: bool,
}

impl Pool {
    /// Threads on a share of the cores that this process may use, each bound to its own.
    ///
    /// # Errors
    /// Where the system gives no threads.
    pub fn new(threads: Threads, share: Share) -> Result<Pool, ThreadPoolBuildError> {
        let all = core_affinity::get_core_ids().unwrap_or_default();
        let is_own = all.len() < processors();
        let ids = match threads {
            Threads::All => all,
            Threads::Cores => first_of_each_core(all),
        };
        Pool::on(if is_own { ids } else { share.part(ids) })
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

/// Processors of the machine. A process that may use fewer has been given its own by someone.
fn processors() -> usize {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let of_range = |range: &str| -> Option<usize> {
        let (first, last) = range.trim().split_once('-').unwrap_or((range.trim(), range.trim()));
        Some(last.parse::<usize>().ok()? + 1 - first.parse::<usize>().ok()?)
    };
    online.split(',').filter_map(of_range).sum()
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
    fn processes_share_the_cores() {
        let part = |at, of| Share { at, of }.part(vec!['a', 'b', 'c', 'd', 'e']);
        assert_eq!(part(0, 1), ['a', 'b', 'c', 'd', 'e']);
        assert_eq!((part(0, 2), part(1, 2)), (vec!['a', 'b'], vec!['c', 'd', 'e']));
        for of in 1..9 {
            assert!((0..of).all(|at| !part(at, of).is_empty()), "{of}");
        }
        assert!(Share::ALL.part(Vec::<u8>::new()).is_empty());
    }

    #[test]
    fn as_many_threads_as_asked_for() {
        for threads in [1, 2, 3] {
            assert_eq!(Pool::with(threads).unwrap().threads(), threads);
        }
        let pool = |threads| Pool::new(threads, Share::ALL).unwrap();
        let (cores, all) = (pool(Threads::Cores), pool(Threads::All));
        assert!(cores.threads() >= 1 && cores.threads() <= all.threads());
        assert_eq!(cores.install(rayon::current_num_threads), cores.threads());
    }
}
