//! `gpp info` and `gpp list`: what there is.

use std::process::ExitCode;

use super::args::{InfoArgs, ListArgs};
use crate::experiments::inventory;
use crate::process::output::{print, write_text};
use crate::process::progress::Progress;
use crate::record::plain;
use crate::render::kernels;
use crate::render::table::terminal;

pub fn info(args: &InfoArgs) -> anyhow::Result<ExitCode> {
    // It says itself why there is no GPU.
    let device = super::device(&args.place, &[], Progress { shown: false })?;
    let info = inventory::info(device.as_ref())?;
    match &args.json {
        Some(path) => write_text(path, &plain(&info))?,
        None => print(|to| kernels::info(to, &info, terminal()))?,
    }
    Ok(ExitCode::SUCCESS)
}

pub fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let listing = inventory::listing();
    match &args.json {
        Some(path) => write_text(path, &plain(&listing))?,
        None => print(|to| kernels::listing(to, &listing, terminal()))?,
    }
    Ok(ExitCode::SUCCESS)
}
