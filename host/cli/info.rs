//! `gpp info` and `gpp list`: what there is.

use std::process::ExitCode;

use super::args::{InfoArgs, ListArgs};
use crate::experiments::inventory;
use crate::process::output::print;
use crate::process::progress::Progress;
use crate::record::text;
use crate::render::kernels;

pub fn info(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    let device = super::device(&args.place, &[], Progress { shown: true })?;
    let info = inventory::info(device.as_ref())?;
    if args.json {
        print(|to| writeln!(to, "{}", text(&info)))?;
    } else {
        print(|to| kernels::info(to, &info))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let listing = inventory::listing();
    if args.json {
        print(|to| writeln!(to, "{}", text(&listing)))?;
    } else {
        print(|to| kernels::listing(to, &listing))?;
    }
    Ok(ExitCode::SUCCESS)
}
