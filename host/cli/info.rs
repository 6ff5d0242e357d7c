//! `gpp info`: the device and the kernels.

use std::io::Write;
use std::process::ExitCode;

use gpp_kernels::registry::VERSIONS;

use super::InfoArgs;
use crate::devices::gpu::{self, NO_KERNELS};
use crate::report::table;

pub fn info(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    let device = super::device(&args.device)?;
    let mut kernels = Vec::new();
    for version in VERSIONS {
        for body in version.all_bodies() {
            kernels.push((version, body, device.kernel(version, body)?));
        }
    }

    let info = device.info();
    let mut to = std::io::stdout().lock();
    writeln!(to, "device              {}: {}", info.id, info.name)?;
    if let Some(driver) = &info.driver {
        writeln!(to, "driver              {driver}")?;
    }
    if let Some(capability) = &info.compute_capability {
        writeln!(to, "compute capability  {capability}")?;
    }
    let units = if info.id == "cpu" { "threads" } else { "multiprocessors" };
    writeln!(to, "{units:<20}{}", info.multiprocessors)?;
    if let Some(clock) = info.clock_mhz {
        writeln!(to, "highest clock       {clock} MHz")?;
    }
    writeln!(to, "memory              {:.1} GiB", info.memory_bytes as f64 / (1u64 << 30) as f64)?;
    match NO_KERNELS {
        Some(why) => writeln!(to, "GPU kernels         none: {why}")?,
        None => {
            let kernels = gpu::kernels()?;
            let by = kernels.compiler().unwrap_or("an unknown compiler");
            writeln!(to, "GPU kernels         PTX for sm_70 and later by {by}")?;
        }
    }
    writeln!(to, "{}", table::kernels(&kernels))?;
    Ok(ExitCode::SUCCESS)
}
