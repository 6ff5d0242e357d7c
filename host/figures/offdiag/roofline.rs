//! The versions of Σ as a matrix on the roofline: the picture, and its figures.

use super::{Result, SYSTEM, folder};
use crate::analysis::matrices::{Matrices, NAME};
use crate::analysis::roofline::Point;
use crate::error::FigureError;
use crate::figures::archive::Archive;
use crate::figures::quantities::text;
use crate::render::chart;

/// A figure: `intensity VERSION` in operations a byte, `of-peak VERSION` and `executed-of-peak VERSION` in percent of the
/// matrix units' `peak` in TFLOP/s, or the intensity of their `ridge`, where memory allows that peak.
///
/// # Errors
/// What there is none of.
pub fn figure(archive: &Archive, words: &[&str]) -> Result<String> {
    let none = |what: &str| FigureError::missing("the roofline of matrices", what);
    let of = read(archive)?;
    let peak = of.matrix.ok_or_else(|| none("peak of matrix units"))?;
    let find = |points: &[Point], version: &str| {
        let point = points.iter().find(|point| point.version == version);
        point.cloned().ok_or_else(|| none(version))
    };
    let share = |point: Point| format!("{:.0}", 100.0 * point.flops_per_s / peak);
    match *words {
        ["intensity", version] => Ok(format!("{:.0}", find(&of.points, version)?.intensity)),
        ["of-peak", version] => find(&of.points, version).map(share),
        ["executed-of-peak", version] => find(&of.executed(), version).map(share),
        ["peak"] => Ok(text("tflops", 1e-12 * peak, None)),
        ["ridge"] => Ok(format!("{:.0}", peak / of.ceilings.hbm)),
        _ => Err(FigureError::Unknown("figure")),
    }
}

/// The picture, by the name of its file.
///
/// # Errors
/// What is wrong with a file; a picture that cannot be drawn.
pub fn picture(archive: &Archive) -> Result<(String, String)> {
    Ok((NAME.into(), chart::matrices(&read(archive)?)?.svg()))
}

fn read(archive: &Archive) -> Result<Matrices<'_>> {
    let ceilings = &archive.system(SYSTEM)?.ceilings;
    let found = Matrices::of(&folder(archive)?, ceilings);
    found.map_err(|error| FigureError::Record(error.to_string()))
}
