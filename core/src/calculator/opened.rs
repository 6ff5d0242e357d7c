//! The devices of a calculator, and the progress of what runs there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use std::{mem, panic, process, thread};

use gpp_cpu::pool::{Pool, Room, Team, Threads, in_default_environment, start_rayon};
use gpp_cpu::simd::Level;
use gpp_cpu::work::Stop;

use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::Visit;
use crate::devices::host::Host;
use crate::devices::{Choice, Device, Watch, spawned};
use crate::error::{Error, Result};

/// The CPU, or GPUs by their indices, and the threads of the CPU.
pub struct Opened {
    host: Option<Host>,
    gpus: Vec<(Gpu, usize)>,
    pub team: Arc<Team>,
    /// The process that has opened them.
    process: u32,
}

impl Opened {
    pub fn new(choice: &Choice) -> Result<Opened> {
        let team = Arc::new(Team::new(Room::here()));
        let open = |index: usize| -> Result<_> { Ok((Gpu::open(index)?, index)) };
        let open_gpus = || match choice {
            Choice::Cpu => Ok(Vec::new()),
            Choice::Auto => match open(0) {
                Err(Error::NoGpu { .. }) => Ok(Vec::new()),
                gpu => gpu.map(|gpu| vec![gpu]),
            },
            Choice::Gpus(indices) => indices.iter().copied().map(open).collect(),
            Choice::AllGpus => Gpu::count().and_then(|count| (0..count).map(open).collect()),
        };
        let gpus: Vec<(Gpu, usize)> = match choice {
            Choice::Cpu => Vec::new(),
            _ => on_own_thread(open_gpus, || ())?.0?,
        };
        if !gpus.is_empty() {
            // They make what is laid out for GPUs.
            start_rayon(None).map_err(Error::threads)?;
        }
        let host = gpus.is_empty().then(|| Host::with_team(Level::best(), team.clone()));
        Ok(Opened { host, gpus, team, process: process::id() })
    }

    /// Does what the CPU computes, on its threads.
    pub fn computed<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        self.require_process()?;
        self.pool()?.install(work)
    }

    /// Does the work of a call: on the CPU's threads, or for GPUs on one of its own. Meanwhile the caller's thread
    /// reports progress.
    pub fn called<R: Send>(
        &self,
        tell: Option<&Tell>,
        work: impl FnOnce(Watch) -> Result<R> + Send,
    ) -> Result<R> {
        self.require_process()?;
        let progress = &Progress::default();
        let done = &|part: f64| _ = progress.part.fetch_max(part.to_bits(), Ordering::Relaxed);
        let watch = Watch { done, stop: &progress.stop };
        let Some(tell) = tell else {
            let work = || work(watch);
            return match &self.host {
                Some(_) => self.computed(work),
                None => on_own_thread(work, || ())?.0,
            };
        };
        progress.report(tell);
        watch.check()?;
        let (ended, end) = mpsc::channel();
        // A panic drops the sender, which ends the wait.
        let work = move || _ = ended.send(work(watch));
        let wait = || progress.wait(tell, &end);
        let result = match &self.host {
            Some(_) => self.pool()?.beside(work, wait),
            None => on_own_thread(work, wait)?.1,
        };
        result.expect("a panic goes on here")
    }

    /// Does work for a GPU on the caller's thread, which has its context and floating-point environment afterwards.
    pub fn here<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.require_process()?;
        let _visit = Visit::begin();
        in_default_environment(work)
    }

    fn pool(&self) -> Result<Arc<Pool>> {
        self.team.pool(Threads::All).map_err(Error::threads)
    }

    /// Fails in a process that was forked from that which has opened this: it has none of its threads.
    pub fn require_process(&self) -> Result<()> {
        let (opened, here) = (self.process, process::id());
        if opened == here {
            return Ok(());
        }
        Err(Error::Driver(format!(
            "the calculator was opened by process {opened}, and its threads are not in process {here}, which was \
             forked from it; open one here"
        )))
    }

    pub fn all(&self) -> impl Iterator<Item = &dyn Device> {
        let host = self.host.iter().map(|host| host as &dyn Device);
        host.chain(self.gpus.iter().map(|(gpu, _)| gpu as &dyn Device))
    }

    pub fn first(&self) -> &dyn Device {
        self.all().next().expect("one is open")
    }

    pub fn count(&self) -> usize {
        self.all().count()
    }

    /// The only GPU, with its index.
    pub fn gpu(&self) -> Option<(&Gpu, usize)> {
        match &self.gpus[..] {
            [(gpu, index)] => Some((gpu, *index)),
            _ => None,
        }
    }

    pub fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    pub fn gpus(&self) -> Vec<&Gpu> {
        self.gpus.iter().map(|(gpu, _)| gpu).collect()
    }
}

/// What the driver keeps of a thread, its current context above all, is the caller's own.
impl Drop for Opened {
    fn drop(&mut self) {
        let gpus = mem::take(&mut self.gpus);
        if self.require_process().is_err() {
            // Whoever holds a lock of theirs is not there to let it go.
            mem::forget((gpus, self.host.take(), self.team.clone()));
        } else if !gpus.is_empty() {
            // Without a thread they go here.
            let _ = on_own_thread(|| drop(gpus), || ());
        }
    }
}

/// Does work on a thread of its own, and something else meanwhile.
fn on_own_thread<R: Send, M>(
    work: impl FnOnce() -> R + Send,
    meanwhile: impl FnOnce() -> M,
) -> Result<(R, M)> {
    thread::scope(|scope| {
        let working = spawned(scope, work)?;
        let meanwhile = meanwhile();
        let done = working.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked));
        Ok((done, meanwhile))
    })
}

/// A caller's function: see [`Calculator::with_progress`](crate::Calculator::with_progress).
pub type Tell = Arc<dyn Fn(f64) -> Option<i32> + Send + Sync>;

/// How often it is called.
const EVERY: Duration = Duration::from_millis(10);

/// How far a call is.
#[derive(Default)]
struct Progress {
    /// The bits of the largest part that is done: those of positive numbers have their order.
    part: AtomicU64,
    stop: Stop,
}

impl Progress {
    /// Calls the caller's function, unless it has asked to stop.
    fn report(&self, tell: &Tell) {
        if !self.stop.is_asked()
            && let Some(code) = tell(f64::from_bits(self.part.load(Ordering::Relaxed)))
        {
            self.stop.ask(code);
        }
    }

    /// Waits for a result, and reports; none comes of a thread that panicked.
    fn wait<R>(&self, tell: &Tell, result: &Receiver<Result<R>>) -> Option<Result<R>> {
        loop {
            match result.recv_timeout(EVERY) {
                Err(RecvTimeoutError::Timeout) => self.report(tell),
                Ok(result) => {
                    if result.is_ok() {
                        tell(1.0);
                    }
                    return Some(result);
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}
