//! `gpp figures`: the figures of the texts from the archived runs; nothing runs.

use std::path::Path;
use std::process::ExitCode;

use super::args::FiguresArgs;
use crate::error::Error;
use crate::figures::archive::RUNS;
use crate::figures::fill_all;
use crate::process::output::replace;
use crate::process::terminal::note;

pub fn figures(args: &FiguresArgs) -> anyhow::Result<ExitCode> {
    if !Path::new(RUNS).is_dir() {
        let what = "no such folder: run it from the repository's root".into();
        return Err(Error::Data { origin: RUNS.into(), what }.into());
    }
    let mut unsettled = false;
    for filled in fill_all(Path::new("."), &args.files)? {
        for difference in &filled.differences {
            note(format_args!("{}:{difference}", filled.file));
            unsettled |= args.check || difference.computed.is_err();
        }
        if !args.check && !filled.differences.is_empty() {
            replace(Path::new(&filled.file), |file| {
                std::io::Write::write_all(file, filled.text.as_bytes())
            })?;
        }
    }
    Ok(ExitCode::from(u8::from(unsettled)))
}
