//! All rooflines of some profiles and their points, as files in a folder.

use std::io::{self, Write};
use std::path::Path;

use super::chart::{self, Chart, Roofline};
use crate::analysis::by_energies::ByEnergies;
use crate::analysis::levels::Level;
use crate::analysis::matrices::{self, Matrices};
use crate::analysis::peaks::of_own_ceiling;
use crate::analysis::roofline::{FIGURES, Point, Timing, points};
use crate::error::{ChartError, Error, Result};
use crate::process::interrupt;
use crate::process::output::replace;
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;

/// Writes each figure as SVG and PNG, and all points as CSV.
///
/// # Errors
/// [`Error::Write`], also for a chart that cannot be drawn.
pub fn write(folder: &Path, profiles: &[Profile], ceilings: &Ceilings) -> Result<()> {
    std::fs::create_dir_all(folder)
        .map_err(|e| Error::Write { path: folder.into(), reason: e.to_string() })?;
    replace(&folder.join("roofline.csv"), |file| csv(file, profiles, ceilings))?;

    for figure in FIGURES {
        let shown = figure.of(profiles);
        if shown.is_empty() {
            continue;
        }
        let title = figure.title(&shown);
        let levels = figure.levels();
        let chart = Roofline { title: &title, profiles: &shown, ceilings, levels };
        draw(&folder.join(figure.name), chart.chart())?;
    }
    Ok(())
}

/// Writes a chart of each version that has several numbers of energies, as SVG and PNG, and their points as
/// CSV.
///
/// # Errors
/// [`Error::Write`], also for a chart that cannot be drawn.
pub fn by_energies(folder: &Path, versions: &[ByEnergies], ceilings: &Ceilings) -> Result<()> {
    for version in versions {
        let shown: Vec<&Profile> = version.profiles.iter().collect();
        let path = folder.join(version.name());
        let (title, levels) = (version.title(), &[Level::Hbm]);
        let chart = Roofline { title: &title, profiles: &shown, ceilings, levels };
        draw(&path, chart.chart())?;
        replace(&path.with_extension("csv"), |file| csv(file, &version.profiles, ceilings))?;
    }
    Ok(())
}

/// Writes the chart of versions of Σ as a matrix as SVG and PNG, and their points as CSV.
///
/// # Errors
/// [`Error::Write`], also for a chart that cannot be drawn.
pub fn matrices(folder: &Path, of: &Matrices) -> Result<()> {
    let path = folder.join(matrices::NAME);
    draw(&path, chart::matrices(of))?;
    replace(&path.with_extension("csv"), |file| {
        let mut csv = csv::Writer::from_writer(file);
        csv.write_record(["version", "level", "operations", "intensity", "flops_per_s"])?;
        let all = [("counted", of.points.clone()), ("executed", of.executed())];
        for (operations, points) in all {
            for Point { version, level, intensity, flops_per_s } in points {
                csv.serialize((version, level, operations, intensity, flops_per_s))?;
            }
        }
        csv.flush()
    })
}

/// A chart as SVG and PNG.
fn draw(path: &Path, chart: std::result::Result<Chart, ChartError>) -> Result<()> {
    let failed = |reason: String| Error::Write { path: path.into(), reason };
    let chart = chart.map_err(|e| failed(e.to_string()))?;
    replace(&path.with_extension("svg"), |file| file.write_all(chart.svg().as_bytes()))?;
    png(&path.with_extension("png"), |to| chart.png(to))
}

/// Has `draw` make a picture, which appears whole or not at all.
///
/// # Errors
/// [`Error::Write`], also for a chart that cannot be drawn.
pub fn png(
    path: &Path,
    draw: impl FnOnce(&Path) -> std::result::Result<(), ChartError>,
) -> Result<()> {
    let failed = |reason: String| Error::Write { path: path.into(), reason };
    // The drawing library writes pictures to a name of its own.
    let (_guard, scratch) = interrupt::scratch().map_err(|e| failed(e.to_string()))?;
    let drawn = scratch.path().join("chart.png");
    draw(&drawn).map_err(|e| failed(e.to_string()))?;
    let picture = std::fs::read(&drawn).map_err(|e| failed(e.to_string()))?;
    replace(path, |file| file.write_all(&picture))
}

/// The points of all profiles, and the share of its own ceiling that a version reaches.
fn csv(to: &mut dyn Write, profiles: &[Profile], ceilings: &Ceilings) -> io::Result<()> {
    let timing = Timing::of(profiles);
    let mut csv = csv::Writer::from_writer(to);
    csv.write_record([
        "version",
        "level",
        "intensity",
        "flops_per_s",
        "of_own_ceiling",
        "of_own_sustained_ceiling",
    ])?;
    for profile in profiles {
        let own = of_own_ceiling(profile, ceilings);
        for point in points(profile, timing) {
            let Point { version, level, intensity, flops_per_s } = point;
            csv.serialize((version, level, intensity, flops_per_s, own.burst, own.sustained))?;
        }
    }
    csv.flush()
}
