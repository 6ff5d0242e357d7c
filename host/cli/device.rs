//! The devices named on the command line.

use gpp_cpu::topology::Room;

use super::args::{AUTO, DeviceArgs};
use crate::catalogue::{BackEnd, Listed};
use crate::devices::gpu::Gpu;
use crate::devices::gpu::driver::is_there;
use crate::devices::host::Host;
use crate::devices::{Choice, Device};
use crate::error::{Error, Result};
use crate::process::progress::Progress;
use crate::process::terminal::note;
use crate::ranks::{Alone, Ranks};

/// Opens the device that is to run these versions. With none named, that is the processor where all versions
/// are made for it or there is no GPU.
pub fn device(
    args: &DeviceArgs,
    versions: &[Listed],
    progress: Progress,
) -> Result<Box<dyn Device>> {
    require_one(args)?;
    let mut devices = devices(args, None, versions, progress, &Alone)?;
    Ok(devices.swap_remove(0))
}

/// Fails where several devices are asked for.
///
/// # Errors
/// [`Error::Data`].
pub fn require_one(args: &DeviceArgs) -> Result<()> {
    let choice = args.choice()?;
    if choice.is_several() {
        let what = "this command takes one device".into();
        return Err(Error::Data { origin: format!("--device {choice}"), what });
    }
    Ok(())
}

/// What is opened for a process.
pub enum Opened {
    /// The processor.
    Host(Box<Host>),
    /// GPUs, one at least.
    Gpus(Vec<Gpu>),
}

/// Opens the devices to run these versions, one at least. Of a GPU's memory no more than `most` bytes are
/// taken for arrays, by all processes that have it together. Processes of one host take its GPUs in turn, and
/// share its cores.
pub fn devices(
    args: &DeviceArgs,
    most: Option<u64>,
    versions: &[Listed],
    progress: Progress,
    ranks: &dyn Ranks,
) -> Result<Vec<Box<dyn Device>>> {
    let gpus = match opened(args, most, versions, progress, ranks)? {
        Opened::Host(host) => {
            ranks.having(&[]);
            return Ok(vec![host]);
        }
        Opened::Gpus(gpus) => gpus,
    };
    Ok(shared(gpus, ranks)?.into_iter().map(|gpu| Box::new(gpu) as _).collect())
}

/// GPUs of which each process that has one takes an equal part of the memory. Collective.
pub fn shared(gpus: Vec<Gpu>, ranks: &dyn Ranks) -> Result<Vec<Gpu>> {
    let uuids: Vec<String> =
        gpus.iter().map(|gpu| gpu.info().uuid.clone().unwrap_or_default()).collect();
    let shared = gpus.into_iter().zip(ranks.having(&uuids));
    shared.map(|(gpu, processes)| gpu.shared(processes)).collect()
}

pub fn opened(
    args: &DeviceArgs,
    most: Option<u64>,
    versions: &[Listed],
    progress: Progress,
    ranks: &dyn Ranks,
) -> Result<Opened> {
    let choice = args.choice()?;
    args.level()?;
    let host = || Ok(Opened::Host(args.host(Room::here())?.into()));
    let is_for_processors = |listed: &Listed| listed.kernel.back_end() == BackEnd::Cpu;
    match choice {
        Choice::Cpu => host(),
        Choice::Auto if !versions.is_empty() && versions.iter().all(is_for_processors) => host(),
        Choice::Auto => match of_rank(ranks, most) {
            Err(Error::NoGpu { why }) => {
                if ranks.is_root() && is_there() {
                    // Somebody who wants no notes wants to know of a driver that fails.
                    note(format_args!("note: no GPU found: running on the CPU: {why}"));
                } else if ranks.is_root() {
                    progress.say("note: no GPU found: running on the CPU (`gpp info` says why)");
                }
                host()
            }
            gpu => Ok(Opened::Gpus(vec![gpu?])),
        },
        Choice::Gpus(_) | Choice::AllGpus => {
            versions.iter().try_for_each(|listed| listed.kernel.require_on(BackEnd::Gpu))?;
            let indices: Vec<usize> = match choice {
                _ if args.device == "gpu" => return Ok(Opened::Gpus(vec![of_rank(ranks, most)?])),
                Choice::Gpus(indices) => indices,
                _ => (0..Gpu::count()?).collect(),
            };
            let gpus = indices.into_iter().map(|index| Gpu::limited(index, most));
            gpus.collect::<Result<_>>().map(Opened::Gpus)
        }
    }
}

/// The GPU of a process: all on a host count those that they see, and start again where there are more
/// processes than GPUs.
fn of_rank(ranks: &dyn Ranks, most: Option<u64>) -> Result<Gpu> {
    let (at, _) = ranks.local();
    Gpu::limited(at % Gpu::count()?, most)
}

/// Says, with `--quiet` too, which of the versions that somebody named are for GPUs and are emulated, if no device
/// was named.
pub fn say_emulated(args: &DeviceArgs, on: BackEnd, named: &[Listed]) {
    let is_for_gpus = |listed: &&Listed| listed.kernel.back_end() == BackEnd::Gpu;
    let names: Vec<&str> = named.iter().filter(is_for_gpus).map(Listed::id).collect();
    if on == BackEnd::Cpu && args.device == AUTO && !names.is_empty() {
        let names = names.join(", ");
        note(format_args!("note: no GPU for {names}: emulated on the CPU, slowly"));
    }
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
