//! The devices of a calculator.

use std::sync::{Arc, mpsc};
use std::{mem, panic, process, thread};

use gpp_cpu::caller::in_default_environment;
use gpp_cpu::level::Level;
use gpp_cpu::pool::{Pool, Team, Threads, start_rayon};
use gpp_cpu::topology::Room;

use super::progress::{Progress, Tell};
use crate::devices::choice::Choice;
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::Visit;
use crate::devices::host::Host;
use crate::devices::{Device, Watch, spawned};
use crate::error::{Error, Result};

/// At least one device, and the threads of the CPU.
pub struct Opened {
    devices: Vec<One>,
    team: Arc<Team>,
    /// The process that has opened them.
    process: u32,
}

enum One {
    Host(Box<Host>),
    /// By its index.
    Gpu(Box<Gpu>, usize),
}

impl One {
    fn device(&self) -> &dyn Device {
        match self {
            One::Host(host) => host.as_ref(),
            One::Gpu(gpu, _) => gpu.as_ref(),
        }
    }

    fn gpu(&self) -> Option<&Gpu> {
        match self {
            One::Host(_) => None,
            One::Gpu(gpu, _) => Some(gpu),
        }
    }
}

impl Opened {
    /// Opens what was asked for.
    ///
    /// # Errors
    /// [`Error::NoGpu`], [`Error::Driver`].
    pub fn new(choice: &Choice) -> Result<Opened> {
        let team = Arc::new(Team::new(Room::here()));
        let host = || vec![One::Host(Host::with_team(Level::best(), team.clone()).into())];
        let gpus = |indices: &[usize]| -> Result<Vec<One>> {
            let open = |&index: &usize| Ok(One::Gpu(Gpu::open(index)?.into(), index));
            let opened = apart(|| indices.iter().map(open).collect::<Result<_>>(), || ())?.0?;
            // They make what is laid out for GPUs.
            start_rayon(None).map_err(threads)?;
            Ok(opened)
        };
        let devices = match choice {
            Choice::Cpu => host(),
            Choice::Auto => match gpus(&[0]) {
                Err(Error::NoGpu { .. }) => host(),
                gpu => gpu?,
            },
            Choice::Gpus(indices) => gpus(indices)?,
            Choice::AllGpus => {
                let count = apart(Gpu::count, || ())?.0?;
                gpus(&(0..count).collect::<Vec<_>>())?
            }
        };
        Ok(Opened { devices, team, process: process::id() })
    }

    /// The CPU's threads.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// Does what the CPU computes, on its threads.
    pub fn computed<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        self.require_process()?;
        self.pool()?.install(work)
    }

    /// Does the work of a call: on the CPU's threads, or for GPUs on one of its own. The caller's thread tells
    /// how far it is meanwhile.
    pub fn called<R: Send>(
        &self,
        tell: Option<&Tell>,
        work: impl FnOnce(Watch) -> Result<R> + Send,
    ) -> Result<R> {
        self.require_process()?;
        let progress = &Progress::default();
        let watch = Watch { done: &|part| progress.done(part), stop: &progress.stop };
        let Some(tell) = tell else {
            let work = || work(watch);
            return if self.is_host() { self.computed(work) } else { apart(work, || ())?.0 };
        };
        progress.tell(tell);
        watch.check()?;
        let (ended, end) = mpsc::channel();
        // What it owns goes in a panic, and nobody waits for it.
        let work = move || _ = ended.send(work(watch));
        let wait = || progress.wait(tell, &end);
        let result =
            if self.is_host() { self.pool()?.beside(work, wait) } else { apart(work, wait)?.1 };
        result.expect("a panic goes on here")
    }

    /// Does work for a GPU on the caller's thread, whose context and floating-point environment stay his.
    pub fn here<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        self.require_process()?;
        let _visit = Visit::begin();
        in_default_environment(work)
    }

    fn pool(&self) -> Result<Arc<Pool>> {
        self.team.pool(Threads::All).map_err(threads)
    }

    /// Fails in a process that was forked from that which has opened this: it has none of its threads.
    pub fn require_process(&self) -> Result<()> {
        let (opened, here) = (self.process, process::id());
        if opened == here { Ok(()) } else { Err(Error::Forked { opened, here }) }
    }

    /// The first one.
    pub fn first(&self) -> &dyn Device {
        self.devices[0].device()
    }

    /// All.
    pub fn all(&self) -> impl Iterator<Item = &dyn Device> {
        self.devices.iter().map(One::device)
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.devices.len()
    }

    /// The GPU, where it is one alone, with its index.
    pub fn gpu(&self) -> Option<(&Gpu, usize)> {
        match &self.devices[..] {
            [One::Gpu(gpu, index)] => Some((gpu, *index)),
            _ => None,
        }
    }

    /// The CPU, where it is that.
    pub fn host(&self) -> Option<&Host> {
        match &self.devices[..] {
            [One::Host(host)] => Some(host),
            _ => None,
        }
    }

    /// The GPUs.
    pub fn gpus(&self) -> Vec<&Gpu> {
        self.devices.iter().filter_map(One::gpu).collect()
    }

    /// Whether it is the CPU.
    pub fn is_host(&self) -> bool {
        self.host().is_some()
    }
}

/// What the driver keeps of a thread, its current context above all, is the caller's own.
impl Drop for Opened {
    fn drop(&mut self) {
        let devices = mem::take(&mut self.devices);
        if self.require_process().is_err() {
            // Whoever holds a lock of theirs is not there to let it go.
            mem::forget((devices, self.team.clone()));
        } else if !matches!(devices[..], [One::Host(_)]) {
            // Without a thread they go here.
            let _ = apart(|| drop(devices), || ());
        }
    }
}

/// Does work on a thread of its own, and something else meanwhile.
fn apart<R: Send, M>(
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

fn threads(reason: impl ToString) -> Error {
    Error::Threads { reason: reason.to_string() }
}
