//! The devices of a calculator.

use std::{panic, thread};

use crate::devices::Device;
use crate::devices::choice::Choice;
use crate::devices::gpu::Gpu;
use crate::devices::host::Host;
use crate::error::{Error, Result};

/// At least one device.
pub struct Opened(Vec<One>);

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
        let host = || vec![One::Host(Host::new().into())];
        let gpus = |indices: &[usize]| -> Result<Vec<One>> {
            let open = |&index: &usize| Ok(One::Gpu(Gpu::open(index)?.into(), index));
            apart(|| indices.iter().map(open).collect())
        };
        Ok(Opened(match choice {
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
        }))
    }

    /// The first one.
    pub fn first(&self) -> &dyn Device {
        self.0[0].device()
    }

    /// All.
    pub fn all(&self) -> impl Iterator<Item = &dyn Device> {
        self.0.iter().map(One::device)
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The GPU, where it is one alone, with its index.
    pub fn gpu(&self) -> Option<(&Gpu, usize)> {
        match &self.0[..] {
            [One::Gpu(gpu, index)] => Some((gpu, *index)),
            _ => None,
        }
    }

    /// The processor, where it is that.
    pub fn host(&self) -> Option<&Host> {
        match &self.0[..] {
            [One::Host(host)] => Some(host),
            _ => None,
        }
    }

    /// The GPUs.
    pub fn gpus(&self) -> Vec<&Gpu> {
        self.0.iter().filter_map(One::gpu).collect()
    }

    /// Whether it is the processor.
    pub fn is_host(&self) -> bool {
        self.host().is_some()
    }
}

/// What the driver keeps of a thread, its current context above all, is the caller's own.
impl Drop for Opened {
    fn drop(&mut self) {
        let devices = std::mem::take(&mut self.0);
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
