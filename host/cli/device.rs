//! The device named on the command line.

use super::args::DeviceArgs;
use crate::catalogue::{BackEnd, Listed};
use crate::devices::host::Host;
use crate::devices::{Choice, Device, open};
use crate::error::{Error, Result};
use crate::process::progress::Progress;

/// Opens it to run these versions: where it is left open which one, the processor for versions that are
/// all made for it, and where there is no GPU.
pub fn device(
    args: &DeviceArgs,
    versions: &[Listed],
    progress: Progress,
) -> Result<Box<dyn Device>> {
    let (choice, level) = (args.choice()?, args.level()?);
    let host = || Box::new(level.map_or_else(Host::new, Host::at));
    let is_for_processors = |listed: &Listed| listed.kernel.back_end() == BackEnd::Cpu;
    match choice {
        Choice::Cpu => Ok(host()),
        Choice::Auto if !versions.is_empty() && versions.iter().all(is_for_processors) => {
            Ok(host())
        }
        Choice::Auto => match open(Choice::Gpu(0)) {
            Err(Error::NoGpu { why }) => {
                progress.say(format_args!("note: running on the CPU, no GPU to use: {why}"));
                Ok(host())
            }
            opened => opened,
        },
        Choice::Gpu(_) => {
            versions.iter().try_for_each(|listed| listed.kernel.require_on(BackEnd::Gpu))?;
            open(choice)
        }
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
