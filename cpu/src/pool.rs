//! The threads of a version: as many as the caller sets, or `OMP_NUM_THREADS` says, or there is [room](Room) for.
//!
//! Threads are bound to no core. They have the affinity mask of the thread that starts them, or if OpenMP's runtime has
//! bound that to a place (`OMP_PROC_BIND`), all places, within which the system moves them. So processes on one host never hold each other's cores, whoever started them. They compute in the default
//! floating-point environment, whatever that of the thread that starts them is, and leave signals to the caller's threads.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::yield_now;

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// The default number of threads of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DefaultThreads {
    /// One for each core.
    Cores,
    /// One for each thread that the cores have.
    All,
}

pub const VARIABLE: &str = "OMP_NUM_THREADS";

/// The largest number of threads that can be set.
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

/// The threads of a device's versions, and their number.
pub struct CpuTeam {
    /// What a caller has set; 0 for nothing.
    set: AtomicUsize,
    asked: Option<usize>,
    room: Room,
    /// Those that have started, each with another number of threads.
    pools: Mutex<Vec<Arc<Pool>>>,
}

impl CpuTeam {
    /// A team for this room; `OMP_NUM_THREADS` takes precedence.
    pub fn new(room: Room) -> CpuTeam {
        CpuTeam { set: 0.into(), asked: of_environment(), room, pools: Mutex::default() }
    }

    /// Sets the number of threads of all versions, 1 to [`MOST`]; 0 restores the default.
    pub fn set(&self, threads: usize) {
        self.set.store(threads, Ordering::Relaxed);
        self.started().clear();
    }

    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Relaxed) > 0
    }

    pub fn count(&self, threads: DefaultThreads) -> usize {
        match (self.set.load(Ordering::Relaxed), self.asked, threads) {
            (0, Some(asked), _) => asked,
            (0, None, DefaultThreads::Cores) => self.room.cores,
            (0, None, DefaultThreads::All) => self.room.all,
            (set, ..) => set,
        }
    }

    /// The threads of a version, started at the first use.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn pool(&self, threads: DefaultThreads) -> Result<Arc<Pool>, ThreadPoolBuildError> {
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

/// How often a thread looks for what others do before it sleeps.
const LOOKS: usize = 100;

impl Pool {
    /// Starts `threads` threads, at least one.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn new(threads: usize) -> Result<Pool, ThreadPoolBuildError> {
        let named = ThreadPoolBuilder::new().thread_name(|at| format!("gpp-cpu-{at}"));
        starting(|| named.num_threads(threads.max(1)).stack_size(STACK).build()).map(Pool)
    }

    pub fn threads(&self) -> usize {
        self.0.current_num_threads()
    }

    /// Runs `work` on these threads. A calling thread that is not one of them spins for some
    /// microseconds before it sleeps, since waking it takes longer than a small calculation.
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
        let is_running = |_: &usize| !done.load(Ordering::Acquire);
        self.beside(work, || (0..LOOKS).take_while(is_running).for_each(|_| yield_now()));
        result.expect("a panic goes on here")
    }

    /// Runs `work` on these threads and `meanwhile` on the caller's, and waits for both.
    pub fn beside<R>(&self, work: impl FnOnce() + Send, meanwhile: impl FnOnce() -> R) -> R {
        self.0.in_place_scope(|scope| {
            scope.spawn(|_| work());
            meanwhile()
        })
    }
}

/// Starts rayon's global pool: `threads`, or else `OMP_NUM_THREADS`, or else rayon's choice. One started before stays.
///
/// # Errors
/// The system gives no threads.
pub fn start_rayon(threads: Option<usize>) -> Result<(), String> {
    static STARTED: OnceLock<Result<(), String>> = OnceLock::new();
    let count = threads.or_else(of_environment).unwrap_or(0);
    let start = || starting(|| ThreadPoolBuilder::new().num_threads(count).build_global());
    let started = STARTED.get_or_init(|| {
        // Without a source it says that somebody else has started them.
        start().or_else(|error| error.source().map_or(Ok(()), |why| Err(why.to_string())))
    });
    started.clone()
}

/// The number of threads that a process may run at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// One on each core.
    pub cores: usize,
    /// One on each CPU: cores may have several.
    pub all: usize,
}

impl Room {
    /// The room that the affinity mask and the cgroup of the calling thread leave.
    pub fn here() -> Room {
        let places = places();
        let cpus = std::thread::available_parallelism().map_or(1, usize::from).max(places.len());
        // A core is known by its lowest CPU.
        let core = |id: usize| {
            let path = format!("/sys/devices/system/cpu/cpu{id}/topology/thread_siblings_list");
            let siblings = std::fs::read_to_string(path).unwrap_or_default();
            numbers(&siblings).into_iter().min().unwrap_or(id)
        };
        let allowed = if places.is_empty() { mask() } else { places };
        let cores = allowed.into_iter().map(core).collect::<BTreeSet<usize>>().len();
        Room { cores: cores.clamp(1, cpus), all: cpus }
    }
}

/// The CPUs of OpenMP's places, to one of which its runtime binds each thread; none if it binds no thread.
#[cfg(target_os = "linux")]
fn places() -> Vec<usize> {
    use std::mem::transmute;
    let names = [c"omp_get_num_places", c"omp_get_place_num_procs", c"omp_get_place_proc_ids"];
    // SAFETY: strings with their ends, looked up in what is loaded.
    let found = names.map(|name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) });
    let binds =
        std::env::var("OMP_PROC_BIND").is_ok_and(|bind| !bind.eq_ignore_ascii_case("false"));
    if !binds || found.contains(&std::ptr::null_mut()) {
        return Vec::new();
    }
    // SAFETY: OpenMP 4.5 has these functions, of which the last one writes as many numbers as the second one returns.
    unsafe {
        let count: extern "C" fn() -> i32 = transmute(found[0]);
        let count_of: extern "C" fn(i32) -> i32 = transmute(found[1]);
        let fill: extern "C" fn(i32, *mut i32) = transmute(found[2]);
        let cpus = |place| {
            let mut cpus = vec![0; count_of(place) as usize];
            fill(place, cpus.as_mut_ptr());
            cpus
        };
        (0..count()).flat_map(cpus).map(|cpu| cpu as usize).collect()
    }
}

#[cfg(not(target_os = "linux"))]
fn places() -> Vec<usize> {
    Vec::new()
}

/// The CPUs that the calling thread may use, by their numbers; none if the system is not Linux.
pub fn mask() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    numbers(list.unwrap_or_default())
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
// mode, and a mask of signals. Both are restored for the caller.

#[cfg(not(target_os = "linux"))]
pub fn in_default_environment<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Does work in the default floating-point environment, and restores the thread's own one.
#[cfg(target_os = "linux")]
pub fn in_default_environment<R>(work: impl FnOnce() -> R) -> R {
    /// As long as the C library's `fenv_t` on any architecture.
    #[repr(C, align(16))]
    struct Environment([u8; 256]);
    unsafe extern "C" {
        fn fegetenv(environment: *mut Environment) -> i32;
        fn fesetenv(environment: *const Environment) -> i32;
    }
    /// `FE_DFL_ENV` of glibc and musl.
    const DEFAULT: *const Environment = std::ptr::without_provenance(usize::MAX);

    impl Drop for Environment {
        fn drop(&mut self) {
            // SAFETY: the environment that `fegetenv` has filled in.
            unsafe { fesetenv(self) };
        }
    }
    /// The compiler moves no arithmetic out of a function that it does not see through.
    #[inline(never)]
    fn run<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    let mut caller = Environment([0; 256]);
    // SAFETY: there is room for the environment, and the default is the library's own.
    unsafe {
        fegetenv(&mut caller);
        fesetenv(DEFAULT);
    }
    run(work)
}

/// Does work with the affinity mask of all [`places`], if there are some.
fn in_all_places<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_os = "linux")]
    if let places @ [_, ..] = &places()[..] {
        // SAFETY: sets of CPUs are plain bytes, which the functions fill in and read.
        return unsafe {
            let (mut own, mut all): (libc::cpu_set_t, libc::cpu_set_t) = std::mem::zeroed();
            let in_set = |cpu: &&usize| **cpu < libc::CPU_SETSIZE as usize;
            places.iter().filter(in_set).for_each(|&cpu| libc::CPU_SET(cpu, &mut all));
            libc::sched_getaffinity(0, size_of_val(&own), &mut own);
            libc::sched_setaffinity(0, size_of_val(&all), &all);
            let done = work();
            libc::sched_setaffinity(0, size_of_val(&own), &own);
            done
        };
    }
    work()
}

/// Starts threads, which compute in the default floating-point environment and leave signals to the caller's threads,
/// except those that end the process: its other threads may have ended.
pub fn starting<R>(start: impl FnOnce() -> R) -> R {
    #[cfg(not(unix))]
    return in_default_environment(start);
    #[cfg(unix)]
    in_default_environment(|| {
        use libc::*;
        // Signals that a thread raises by a fault of its own, and that of profilers, which count each thread.
        let of_thread = [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF];
        // SAFETY: masks and actions are plain bytes, which the functions fill in; the signals are the system's.
        let caller_mask = unsafe {
            let (mut blocked, mut caller_mask, mut action): (_, _, sigaction) = std::mem::zeroed();
            let mut ends = |signal: &c_int| {
                sigaction(*signal, std::ptr::null(), &mut action) == 0
                    && action.sa_sigaction == SIG_DFL
            };
            let ends = [SIGHUP, SIGINT, SIGQUIT, SIGTERM].into_iter().filter(|of| ends(of));
            sigfillset(&mut blocked);
            of_thread.into_iter().chain(ends).for_each(|of| _ = sigdelset(&mut blocked, of));
            pthread_sigmask(SIG_BLOCK, &blocked, &mut caller_mask);
            caller_mask
        };
        let started = in_all_places(start);
        // SAFETY: the mask that the system has filled in.
        unsafe { pthread_sigmask(SIG_SETMASK, &caller_mask, std::ptr::null_mut()) };
        started
    })
}

#[cfg(test)]
mod tests;
