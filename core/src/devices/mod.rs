//! Where kernels run: devices, and their workers.

pub mod cpu;
pub mod device;
pub mod gauge;
pub mod gpu;

use std::str::FromStr;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use gpp_cpu::pool::{STACK, starting};

use crate::devices::device::HOST;
pub use crate::devices::device::{
    Advance, ComputeCapability, Control, Device, DeviceInfo, GroupSample, KernelInfo, SlabSums,
    Upload, Worker, entry, grid,
};
use crate::error::{Error, Result, invalid};

/// The devices that a user names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first GPU, or the CPU if there is none.
    Auto,
    /// The first GPU, or of several processes of a host the next one each.
    Gpu,
    /// These GPUs; one at least, each once.
    Gpus(Vec<usize>),
    /// All GPUs that this process sees.
    AllGpus,
    Cpu,
}

impl FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Choice> {
        let unknown = || {
            let known = ["auto", "gpu", "gpu:N", "gpu:N,M", "gpu:all", HOST];
            let mut error = Error::unknown("device", text, known);
            if let Error::Unknown { nearest, .. } = &mut error
                && let Some(index) = text.to_lowercase().strip_prefix("cuda")
            {
                *nearest = Some(format!("gpu{index}"));
            }
            error
        };
        match text.split_once(':') {
            None if text == "auto" => Ok(Choice::Auto),
            None if text == "gpu" => Ok(Choice::Gpu),
            None if text == HOST => Ok(Choice::Cpu),
            Some(("gpu", "all")) => Ok(Choice::AllGpus),
            Some(("gpu", list)) => {
                let mut indices = Vec::new();
                for index in list.split(',') {
                    let index: usize = index.parse().map_err(|_| unknown())?;
                    if indices.contains(&index) {
                        let what = format!("names gpu:{index} twice");
                        return Err(invalid(format!("--device {text}"), what));
                    }
                    indices.push(index);
                }
                Ok(Choice::Gpus(indices))
            }
            _ => Err(unknown()),
        }
    }
}

/// Starts a thread for one of several workers.
pub fn spawned<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    let thread = starting(|| Builder::new().stack_size(STACK).spawn_scoped(scope, work));
    thread.map_err(Error::threads)
}
