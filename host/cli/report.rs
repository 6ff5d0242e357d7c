//! `gpp report`: one page of stored profiles; nothing runs.

use std::path::PathBuf;
use std::process::ExitCode;

use super::args::ReportArgs;
use crate::analysis::table1;
use crate::error::Error;
use crate::experiments::profile::folder::{RUN, Records};
use crate::process::output::{check, print, replace, require_name};
use crate::render::html;

pub fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    if let Some(output) = &args.output {
        require_name("--output", output, "file")?;
    }
    let records = Records::load(&args.dir)?;
    let path = records.folder.join(RUN);
    let wrong = |what: String| Error::Data { origin: path.display().to_string(), what };
    let text = std::fs::read_to_string(&path).map_err(|e| {
        wrong(format!(
            "cannot read: {e}; `gpp --json {}` on the same GPU writes it",
            path.display()
        ))
    })?;
    let run = serde_json::from_str(&text).map_err(|e| wrong(format!("is no JSON: {e}")))?;
    let mut rows = table1::section(&run, None).map_err(wrong)?.rows;
    table1::rate_by(&mut rows, &records.profiles);
    let system = run["system"]["name"].as_str().unwrap_or_default();
    if system != records.system {
        let what = format!("is of {system}, the profiles beside it are of {}", records.system);
        return Err(wrong(what).into());
    }

    let output = args.output.clone().unwrap_or_else(|| records.folder.join("report.html"));
    let failed = |reason: String| Error::Write { path: output.clone(), reason };
    let inputs = records.files();
    check(&output, &inputs.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let page = html::page(&run, &rows, &records.profiles, &records.ceilings).map_err(failed)?;
    replace(&output, |file| std::io::Write::write_all(file, page.as_bytes()))?;
    print(|to| writeln!(to, "{}", output.display()))?;
    Ok(ExitCode::SUCCESS)
}
