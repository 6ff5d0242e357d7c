//! `gpp roofline`: charts from stored profiles; nothing runs.

use std::process::ExitCode;

use super::args::RooflineArgs;
use crate::experiments::profile::folder::Records;
use crate::process::output::{print, require_name};
use crate::render::charts;

pub fn roofline(args: &RooflineArgs) -> anyhow::Result<ExitCode> {
    if let Some(output) = &args.output {
        require_name("--output", output, "folder")?;
    }
    let Records { folder, profiles, ceilings, .. } = Records::load(&args.dir)?;
    let output = args.output.as_ref().unwrap_or(&folder);
    charts::write(output, &profiles, &ceilings)?;
    print(|to| writeln!(to, "rooflines in {}", output.display()))?;
    Ok(ExitCode::SUCCESS)
}
