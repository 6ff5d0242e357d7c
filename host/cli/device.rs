//! The devices named on the command line.

use super::args::DeviceArgs;
use crate::catalogue::{BackEnd, Listed};
use crate::devices::Device;
use crate::devices::choice::Choice;
use crate::devices::gpu::Gpu;
use crate::devices::host::Host;
use crate::error::{Error, Result};
use crate::process::progress::Progress;
use crate::ranks::{Alone, Ranks};

/// Opens the device to run these versions, for commands that take one: where it is left open which, the
/// processor for versions that are all made for it, and where there is no GPU.
pub fn device(
    args: &DeviceArgs,
    versions: &[Listed],
    progress: Progress,
) -> Result<Box<dyn Device>> {
    let choice = args.choice()?;
    if choice.is_several() {
        let what = "this command takes one device".into();
        return Err(Error::Data { origin: format!("--device {choice}"), what });
    }
    let mut devices = devices(args, None, versions, progress, &Alone)?;
    Ok(devices.swap_remove(0))
}

/// Opens the devices to run these versions, one at least. Of a GPU's memory no more than `most` bytes are
/// taken for arrays. Processes of one host take its GPUs in turn, and share its cores.
pub fn devices(
    args: &DeviceArgs,
    most: Option<u64>,
    versions: &[Listed],
    progress: Progress,
    ranks: &dyn Ranks,
) -> Result<Vec<Box<dyn Device>>> {
    let (choice, level) = (args.choice()?, args.level()?);
    let host = || -> Vec<Box<dyn Device>> {
        let host = level.map_or_else(Host::new, Host::at);
        let (at, of) = ranks.local();
        vec![Box::new(host.sharing(at, of))]
    };
    let is_for_processors = |listed: &Listed| listed.kernel.back_end() == BackEnd::Cpu;
    match choice {
        Choice::Cpu => Ok(host()),
        Choice::Auto if !versions.is_empty() && versions.iter().all(is_for_processors) => {
            Ok(host())
        }
        Choice::Auto => match of_rank(ranks, most) {
            Err(Error::NoGpu { why }) => {
                if ranks.is_root() {
                    progress.say(format_args!("note: running on the CPU, no GPU to use: {why}"));
                }
                Ok(host())
            }
            opened => Ok(vec![opened?]),
        },
        Choice::Gpus(_) | Choice::AllGpus => {
            versions.iter().try_for_each(|listed| listed.kernel.require_on(BackEnd::Gpu))?;
            let indices: Vec<usize> = match choice {
                _ if args.device == "gpu" => return Ok(vec![of_rank(ranks, most)?]),
                Choice::Gpus(indices) => indices,
                _ => (0..Gpu::count()?).collect(),
            };
            let gpu = |index| Ok(Box::new(Gpu::limited(index, most)?) as Box<dyn Device>);
            indices.into_iter().map(gpu).collect()
        }
    }
}

/// The GPU of a process: all on a host count those that they see, and start again where there are more
/// processes than GPUs.
fn of_rank(ranks: &dyn Ranks, most: Option<u64>) -> Result<Box<dyn Device>> {
    let (at, _) = ranks.local();
    Ok(Box::new(Gpu::limited(at % Gpu::count()?, most)?))
}

/// Fails where the vectors of a level are asked for and no version uses them.
///
/// # Errors
/// [`Error::Data`] that names the flag.
pub fn require_vectors(args: &DeviceArgs, versions: &[Listed]) -> Result<()> {
    let uses = |listed: &Listed| listed.kernel.back_end() == BackEnd::Cpu;
    match &args.simd {
        Some(level) if !versions.iter().any(uses) => Err(Error::Data {
            origin: format!("--simd {level}"),
            what: "has no effect without a version made for processors: --version cpu has them"
                .into(),
        }),
        _ => Ok(()),
    }
}
