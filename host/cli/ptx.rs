//! `gpp ptx`: the PTX of kernels, as it is in the program.

use std::process::ExitCode;

use super::args::PtxArgs;
use crate::catalogue::names::versions;
use crate::catalogue::{BackEnd, Listed};
use crate::devices::gpu;
use crate::error::{Error, Result};
use crate::process::output::print;

pub fn ptx(args: &PtxArgs) -> anyhow::Result<ExitCode> {
    let ptx = gpu::kernels()?;
    let mut symbols: Vec<String> = Vec::new();
    for name in &args.kernels {
        if ptx.symbols().any(|symbol| symbol == name) {
            symbols.push(name.clone());
            continue;
        }
        for version in versions(name, BackEnd::Gpu)? {
            symbols.extend(of_version(&version)?.into_iter().map(str::to_string));
        }
    }
    symbols.dedup();
    print(|to| write!(to, "{}", ptx.of(symbols.iter().map(String::as_str))))?;
    Ok(ExitCode::SUCCESS)
}

/// The symbols of a version's kernels.
fn of_version(version: &Listed) -> Result<Vec<&'static str>> {
    let gpu = version.gpu().ok_or_else(|| Error::Data {
        origin: version.id().into(),
        what: "is made for processors and has no PTX".into(),
    })?;
    let entries = gpu.kernels.iter().flat_map(|kernel| kernel.entries);
    Ok(entries.map(|entry| entry.symbol).collect())
}
