//! `gpp report`: one page of stored profiles; nothing runs.

use std::path::PathBuf;
use std::process::ExitCode;

use super::args::ReportArgs;
use crate::analysis::table1;
use crate::error::Error;
use crate::experiments::profile::folder::Records;
use crate::process::output::{check, print, replace, require_name};
use crate::render::html;

pub fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    if let Some(output) = &args.output {
        require_name("--output", output, "file")?;
    }
    let records = Records::load(&args.dir)?;
    let run = records.run()?;
    let mut sections = table1::sections(&run, None);
    for section in &mut sections {
        table1::rate_by(&mut section.rows, &records.profiles);
    }

    let output = args.output.clone().unwrap_or_else(|| records.folder.join("report.html"));
    let inputs = records.files();
    check(&output, &inputs.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let scale = records.scale()?;
    let page = html::page(&run, &sections, &records.profiles, &records.ceilings, scale.as_ref())
        .map_err(|e| Error::Write { path: output.clone(), reason: e.to_string() })?;
    replace(&output, |file| std::io::Write::write_all(file, page.as_bytes()))?;
    print(|to| writeln!(to, "{}", output.display()))?;
    Ok(ExitCode::SUCCESS)
}
