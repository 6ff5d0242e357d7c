//! `gpp report`: one page of stored profiles; nothing runs.

use std::process::ExitCode;

use super::ReportArgs;
use super::profile::ceilings;
use crate::error::Error;
use crate::output::replace;
use crate::profile;
use crate::report::{html, table1};

pub fn report(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let profiles = profile::load(&args.dir)?;
    let ceilings = ceilings(&args.dir)?;
    let path = args.dir.join("run.json");
    let wrong = |what: String| Error::Data { origin: path.display().to_string(), what };
    let text = std::fs::read_to_string(&path).map_err(|e| wrong(format!("cannot read: {e}")))?;
    let run = serde_json::from_str(&text).map_err(|e| wrong(format!("is no JSON: {e}")))?;
    let mut rows = table1::rows(&run).map_err(wrong)?;
    table1::rate_by(&mut rows, &profiles);

    let output = args.output.clone().unwrap_or_else(|| args.dir.join("report.html"));
    let page = html::page(&run, &rows, &profiles, &ceilings)
        .map_err(|what| Error::Write { path: output.clone(), reason: what })?;
    replace(&output, |file| std::io::Write::write_all(file, page.as_bytes()))?;
    println!("{}", output.display());
    Ok(ExitCode::SUCCESS)
}
