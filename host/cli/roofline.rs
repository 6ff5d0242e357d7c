//! `gpp roofline`: charts from stored profiles; nothing runs.

use std::io::Write;
use std::process::ExitCode;

use super::args::RooflineArgs;
use crate::analysis::roofline::{FIGURES, points};
use crate::error::Error;
use crate::experiments::profile::folder::Records;
use crate::process::interrupt;
use crate::process::output::{print, replace, require_name};
use crate::render::chart;

pub fn roofline(args: &RooflineArgs) -> anyhow::Result<ExitCode> {
    if let Some(output) = &args.output {
        require_name("--output", output, "folder")?;
    }
    let Records { folder, profiles, ceilings, .. } = Records::load(&args.dir)?;
    let output = args.output.as_ref().unwrap_or(&folder);
    std::fs::create_dir_all(output)
        .map_err(|e| Error::Write { path: output.clone(), reason: e.to_string() })?;

    let mut table = csv::Writer::from_writer(Vec::new());
    for point in profiles.iter().flat_map(points) {
        table.serialize(point)?;
    }
    let table = table.into_inner()?;
    replace(&output.join("roofline.csv"), |file| file.write_all(&table))?;

    // The drawing library writes pictures to a name of its own.
    let (_guard, scratch) = interrupt::scratch()?;
    for figure in FIGURES {
        let shown = figure.of(&profiles);
        if shown.is_empty() {
            continue;
        }
        let path = output.join(figure.name);
        let failed = |what: String| Error::Write { path: path.clone(), reason: what };
        let title = figure.title(&shown);
        let svg = chart::svg(&title, &shown, &ceilings).map_err(failed)?;
        replace(&path.with_extension("svg"), |file| file.write_all(svg.as_bytes()))?;
        let drawn = scratch.path().join("chart.png");
        chart::png(&drawn, &title, &shown, &ceilings).map_err(failed)?;
        let picture = std::fs::read(&drawn).map_err(|e| failed(e.to_string()))?;
        replace(&path.with_extension("png"), |file| file.write_all(&picture))?;
    }
    print(|to| writeln!(to, "rooflines in {}", output.display()))?;
    Ok(ExitCode::SUCCESS)
}
