//! `gpp roofline`: charts from stored profiles; nothing runs.

use std::process::ExitCode;

use super::RooflineArgs;
use super::profile::ceilings;
use crate::error::Error;
use crate::output::replace;
use crate::profile;
use crate::roofline::{FIGURES, chart, points};

pub fn roofline(args: &RooflineArgs) -> anyhow::Result<ExitCode> {
    let profiles = profile::load(&args.dir)?;
    let ceilings = ceilings(&args.dir)?;
    let output = args.output.as_ref().unwrap_or(&args.dir);
    std::fs::create_dir_all(output)
        .map_err(|e| Error::Write { path: output.clone(), reason: e.to_string() })?;

    let mut table = csv::Writer::from_writer(Vec::new());
    for point in profiles.iter().flat_map(points) {
        table.serialize(point)?;
    }
    let table = table.into_inner()?;
    replace(&output.join("roofline.csv"), |file| std::io::Write::write_all(file, &table))?;

    for figure in FIGURES {
        let shown = figure.of(&profiles);
        if shown.is_empty() {
            continue;
        }
        let path = output.join(figure.name);
        let failed = |what: String| Error::Write { path: path.clone(), reason: what };
        let title = figure.title(&shown);
        let svg = chart::svg(&title, &shown, &ceilings).map_err(failed)?;
        replace(&path.with_extension("svg"), |file| {
            std::io::Write::write_all(file, svg.as_bytes())
        })?;
        chart::png(&path.with_extension("png"), &title, &shown, &ceilings).map_err(failed)?;
    }
    println!("rooflines in {}", output.display());
    Ok(ExitCode::SUCCESS)
}
