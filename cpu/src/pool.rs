//! Threads that share the work of a version, and how many they are: as many as the caller sets, else as
//! `OMP_NUM_THREADS` says, else as there is [room](Room) for.
//!
//! Threads are bound to no core. They have the affinity mask of the thread that starts them, within which the system
//! moves them. So processes on one host never hold each other's cores, whoever started them. They compute in the default
//! floating-point environment, whatever that of the thread that starts them is, and leave signals to the caller's threads.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::yield_now;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// How many threads a version runs, where nobody sets their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Threads {
    /// One for each core.
    Cores,
    /// One for each thread that the cores have.
    All,
}

/// The variable of the environment that OpenMP has the number of threads from.
pub const VARIABLE: &str = "OMP_NUM_THREADS";

/// Most threads that a number may ask for.
pub const MOST: usize = 65_535;

/// Threads that `OMP_NUM_THREADS` asks for: its first number, that of the outermost level. What does not begin
/// with a number from 1 to [`MOST`] counts as not set, as OpenMP's runtimes have it.
pub fn of_environment() -> Option<usize> {
    first(&std::env::var(VARIABLE).ok()?)
}

fn first(list: &str) -> Option<usize> {
    let number = list.split(',').next()?.trim().parse().ok()?;
    (1..=MOST).contains(&number).then_some(number)
}

/// How many threads a device's versions run, and these threads.
pub struct Team {
    /// What a caller has set; 0 for nothing.
    set: AtomicUsize,
    /// What the environment asks for.
    asked: Option<usize>,
    room: Room,
    /// Those that have started, each of another number of threads.
    pools: Mutex<Vec<Arc<Pool>>>,
}

impl Team {
    /// Of a process with this room; the environment comes first.
    pub fn new(room: Room) -> Team {
        Team { set: 0.into(), asked: of_environment(), room, pools: Mutex::default() }
    }

    /// Has all versions run so many threads from now on, 1 to [`MOST`]; 0 takes that back.
    pub fn set(&self, threads: usize) {
        self.set.store(threads, Ordering::Relaxed);
        self.started().clear();
    }

    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Relaxed) > 0
    }

    pub fn count(&self, threads: Threads) -> usize {
        let by_room = match threads {
            Threads::Cores => self.room.cores,
            Threads::All => self.room.all,
        };
        match self.set.load(Ordering::Relaxed) {
            0 => self.asked.unwrap_or(by_room),
            set => set,
        }
    }

    /// Those threads, started when they are first asked for.
    ///
    /// # Errors
    /// Where the system gives no threads.
    pub fn pool(&self, threads: Threads) -> Result<Arc<Pool>, ThreadPoolBuildError> {
        let (count, mut pools) = (self.count(threads), self.started());
        if let Some(pool) = pools.iter().find(|pool| pool.threads() == count) {
            return Ok(pool.clone());
        }
        let pool = Arc::new(Pool::new(count)?);
        pools.push(pool.clone());
        Ok(pool)
    }

    /// A panic leaves the list whole.
    fn started(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Pool>>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Threads that share the work of a version.
pub struct Pool(ThreadPool);

/// Bytes of a thread's stack: as many as a program's first thread has, if nothing limits it.
pub const STACK: usize = 8 << 20;

/// Starts rayon's own threads, which whatever runs on no other pool computes on: so many, else as many as
/// `OMP_NUM_THREADS` says, else as there is room for. If they have been started, they stay.
///
/// # Errors
/// The system gives no threads.
pub fn start_rayon(threads: Option<usize>) -> Result<(), String> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    let start = || {
        let named =
            ThreadPoolBuilder::new().num_threads(threads.or_else(of_environment).unwrap_or(0));
        let started = starting(|| named.build_global());
        // Without a source it says that somebody else has started them.
        started.or_else(|error| error.source().map_or(Ok(()), |why| Err(why.to_string())))
    };
    STARTED.get_or_init(start).clone()
}

/// How often a thread looks for what others do before it sleeps.
const LOOKS: usize = 100;

impl Pool {
    /// So many threads, one at least.
    ///
    /// # Errors
    /// Where the system gives no threads.
    pub fn new(threads: usize) -> Result<Pool, ThreadPoolBuildError> {
        let named = ThreadPoolBuilder::new().thread_name(|at| format!("gpp-cpu-{at}"));
        starting(|| named.num_threads(threads.max(1)).stack_size(STACK).build()).map(Pool)
    }

    pub fn threads(&self) -> usize {
        self.0.current_num_threads()
    }

    /// Runs something on them. A thread of another's looks whether it is done, some microseconds long: to sleep and to
    /// be woken takes longer than a small calculation.
    ///
    /// # Panics
    /// If the work does.
    pub fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        if self.0.current_thread_index().is_some() {
            return work();
        }
        let (done, mut result) = (AtomicBool::new(false), None);
        let work = || {
            result = Some(work());
            done.store(true, Ordering::Release);
        };
        self.beside(work, || {
            let mut looks = 0..LOOKS;
            while looks.next().is_some() && !done.load(Ordering::Acquire) {
                yield_now();
            }
        });
        result.expect("a panic goes on here")
    }

    /// Runs something on them while the calling thread does something else, and waits for both.
    pub fn beside<R>(&self, work: impl FnOnce() + Send, meanwhile: impl FnOnce() -> R) -> R {
        self.0.in_place_scope(|scope| {
            scope.spawn(|_| work());
            meanwhile()
        })
    }
}

// How many threads a process has room for: CPUs and their cores, as far as its mask and its cgroup leave
// it any, and its share of them where other processes of the host have the same mask.

/// How many threads a process may run at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// One on each core.
    pub cores: usize,
    /// One on each CPU: cores may have several.
    pub all: usize,
}

impl Room {
    /// What the calling thread's mask and its cgroup leave a process that is alone on its host.
    pub fn here() -> Room {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        Room { cores: cores(&mask(), sibling).clamp(1, all), all }
    }
}

/// The CPUs that the calling thread may use, by their numbers; none where the system is not Linux.
pub fn mask() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    numbers(list.unwrap_or_default())
}

/// How many cores these CPUs are of, each known by its lowest CPU.
fn cores(mask: &[usize], lowest: impl Fn(usize) -> Option<usize>) -> usize {
    let core = |&id: &usize| lowest(id).unwrap_or(id);
    mask.iter().map(core).collect::<BTreeSet<usize>>().len()
}

/// The lowest CPU of a CPU's core, where the system tells it.
fn sibling(id: usize) -> Option<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{id}/topology/thread_siblings_list");
    numbers(&std::fs::read_to_string(path).ok()?).into_iter().min()
}

/// The numbers of a list as Linux writes it, `0-3,8`.
fn numbers(list: &str) -> Vec<usize> {
    let of_range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(of_range).flatten().collect()
}

// What POSIX has a thread inherit from the one that starts it: a floating-point environment, with traps and a rounding
// mode, and a mask of signals.

/// Does work in the default floating-point environment, and restores the thread's own one.
pub fn in_default_environment<R>(work: impl FnOnce() -> R) -> R {
    struct Restored(control::Word);
    impl Drop for Restored {
        fn drop(&mut self) {
            control::set(&self.0);
        }
    }
    /// The compiler moves no arithmetic out of a function that it does not see through.
    #[inline(never)]
    fn run<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    let _restored = Restored(control::get());
    control::set(&control::DEFAULT);
    run(work)
}

/// Starts threads, which compute in the default floating-point environment and leave signals to the caller's threads.
pub fn starting<R>(start: impl FnOnce() -> R) -> R {
    in_default_environment(|| {
        #[cfg(unix)]
        let _restored = signals::blocked();
        start()
    })
}

#[cfg(unix)]
mod signals {
    use std::mem::zeroed;
    use std::ptr::null_mut;

    /// Signals that a thread raises by a fault of its own, and that of profilers, which count each thread.
    const OWN: [i32; 8] = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGABRT,
        libc::SIGSYS,
        libc::SIGPROF,
    ];

    /// Restores a mask when it is dropped.
    pub struct Restored(libc::sigset_t);

    impl Drop for Restored {
        fn drop(&mut self) {
            // SAFETY: a mask that the system has filled in.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, null_mut()) };
        }
    }

    /// Blocks all others on this thread.
    pub fn blocked() -> Restored {
        // SAFETY: a mask is plain bytes, which `sigfillset` and `pthread_sigmask` fill in; the signals are the
        // system's own.
        unsafe {
            let (mut mask, mut own) = (zeroed(), zeroed());
            libc::sigfillset(&mut mask);
            OWN.iter().for_each(|&signal| _ = libc::sigdelset(&mut mask, signal));
            libc::pthread_sigmask(libc::SIG_BLOCK, &mask, &mut own);
            Restored(own)
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod control {
    use std::arch::asm;

    /// MXCSR.
    pub type Word = u32;

    pub const DEFAULT: Word = 0x1f80;

    pub fn get() -> Word {
        let mut word = 0;
        // SAFETY: stores four bytes in a variable of four.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut word, options(nostack, preserves_flags)) };
        word
    }

    pub fn set(word: &Word) {
        // SAFETY: loads what the CPU has stored, or its default: neither has a reserved bit.
        unsafe { asm!("ldmxcsr [{}]", in(reg) word, options(nostack, preserves_flags)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod control {
    use std::arch::asm;

    /// FPCR and FPSR.
    pub type Word = [u64; 2];

    pub const DEFAULT: Word = [0, 0];

    pub fn get() -> Word {
        let (control, status);
        // SAFETY: reads two registers.
        unsafe {
            asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags));
            asm!("mrs {}, fpsr", out(reg) status, options(nomem, nostack, preserves_flags));
        }
        [control, status]
    }

    pub fn set([control, status]: &Word) {
        // SAFETY: writes what was read, or the defaults.
        unsafe {
            asm!("msr fpcr, {}", in(reg) *control, options(nostack, preserves_flags));
            asm!("msr fpsr, {}", in(reg) *status, options(nostack, preserves_flags));
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod control {
    pub type Word = ();

    pub const DEFAULT: Word = ();

    pub fn get() -> Word {}

    pub fn set(_: &Word) {}
}

#[cfg(test)]
mod tests;
