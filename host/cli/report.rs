//! `gpp report`: one page of stored records; nothing runs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::args::{DEFAULT_FOLDER, ReportArgs};
use super::roofline::of_offdiag;
use crate::analysis::table1;
use crate::error::{ChartError, Error, Result};
use crate::experiments::offdiag::folder::Folder;
use crate::experiments::profile::folder::Records;
use crate::process::files::Files;
use crate::process::output::{print, replace};
use crate::render::html::{self, Page};

pub fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    Files::new().writes("--output", &args.output).check()?;
    let matrices = args.offdiag.as_deref().map(offdiag).transpose()?;
    let default = Path::new(DEFAULT_FOLDER);
    if let (Some(matrices), true) = (&matrices, args.is_of_matrices() && !default.exists()) {
        let output = output(args);
        let files = Files::new().reads("--offdiag", matrices.files());
        files.writes("--output", [&output]).check()?;
        return write(&output, html::of_matrices(matrices));
    }
    let records = Records::load(args.from.as_deref().unwrap_or(default))?;
    let run = records.run()?;
    let mut sections = table1::sections(&run, None);
    for section in &mut sections {
        table1::rate_by(&mut section.rows, &records.profiles);
    }
    let output = output(args);
    let files = Files::new().reads("--from", records.files());
    let files = files.reads("--offdiag", matrices.iter().flat_map(Folder::files));
    files.writes("--output", [&output]).check()?;
    let page = Page {
        run: &run,
        sections: &sections,
        profiles: &records.profiles,
        ceilings: &records.ceilings,
        matrices: matrices.as_ref(),
    };
    write(&output, html::page(&page))
}

/// The page's file.
fn output(args: &ReportArgs) -> PathBuf {
    args.output.clone().unwrap_or_else(|| "report.html".into())
}

fn write(output: &Path, page: std::result::Result<String, ChartError>) -> anyhow::Result<ExitCode> {
    let page = page.map_err(|e| Error::Write { path: output.into(), reason: e.to_string() })?;
    replace(output, |file| std::io::Write::write_all(file, page.as_bytes()))?;
    print(|to| writeln!(to, "{}", output.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Σ as a matrix; what is wrong with it is said of its flag.
fn offdiag(path: &Path) -> Result<Folder> {
    Folder::load(path).map_err(of_offdiag)
}
