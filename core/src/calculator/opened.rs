//! The devices of a calculator.

use std::sync::Arc;
use std::{panic, thread};

use gpp_cpu::level::Level;
use gpp_cpu::pool::{Team, Threads, of_environment};
use gpp_cpu::topology::Room;

use crate::devices::Device;
use crate::devices::choice::Choice;
use crate::devices::gpu::Gpu;
use crate::devices::host::Host;
use crate::error::{Error, Result};

/// At least one device, and the threads of the processor.
pub struct Opened {
    devices: Vec<One>,
    team: Arc<Team>,
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
            let opened = apart(|| indices.iter().map(open).collect())?;
            if let Some(threads) = of_environment() {
                // What is laid out for GPUs is made by rayon's own threads. Who has started these keeps them.
                let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
            }
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
                let count = apart(Gpu::count)?;
                gpus(&(0..count).collect::<Vec<_>>())?
            }
        };
        Ok(Opened { devices, team })
    }

    /// The processor's threads.
    pub fn team(&self) -> &Team {
        &self.team
    }

    /// Does what the processor computes, on its threads.
    pub fn computed<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        let pool = self.team.pool(Threads::All);
        pool.map_err(|error| Error::Threads { reason: error.to_string() })?.install(work)
    }

    /// Does the work of a call: on the processor's threads, or for GPUs apart from the caller's.
    pub fn called<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        if self.is_host() { self.computed(work) } else { apart(work) }
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

    /// The processor, where it is that.
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

    /// Whether it is the processor.
    pub fn is_host(&self) -> bool {
        self.host().is_some()
    }
}

/// What the driver keeps of a thread, its current context above all, is the caller's own.
impl Drop for Opened {
    fn drop(&mut self) {
        let devices = std::mem::take(&mut self.devices);
        // Without a thread they go here.
        let _ = apart(|| {
            drop(devices);
            Ok(())
        });
    }
}

/// Does work on a thread of its own, with as much stack as a program's first one.
pub fn apart<R: Send>(work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("gpp-call".into()).stack_size(8 << 20);
        let working = thread
            .spawn_scoped(scope, work)
            .map_err(|error| Error::Threads { reason: error.to_string() })?;
        working.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked))
    })
}
