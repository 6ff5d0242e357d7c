//! Figures of archived scalings over members: `scale FOLDER/FILE strong place 4`, the part of linear in percent by
//! medians, `scale-least …` by the shortest runs, `scale-time …` in milliseconds, `model FOLDER/FILE`, how far the
//! model is off on points on which it was not fitted.

use super::archive::Archive;
use crate::analysis::scale::rated;
use crate::error::FigureError;
use crate::record;
use crate::record::scale::{Point, Scale};
use crate::record::times::Times;

type Found<T> = std::result::Result<T, FigureError>;

/// Such a figure: what it is and its value; `None` where the name is none.
pub fn quantity(archive: &Archive, name: &[&str]) -> Option<Found<(&'static str, f64)>> {
    let read = |file: &str| -> Found<Scale> {
        let path = archive.runs.join(format!("{file}.json"));
        record::read(&path).map_err(|error| FigureError::Record(error.to_string()))
    };
    let median = |times: &Times| times.median;
    let least = |times: &Times| times.min;
    Some(match *name {
        ["scale", file, line, data, members] => {
            read(file).and_then(|scale| of_linear(&scale, [line, data, members], median))
        }
        ["scale-least", file, line, data, members] => {
            read(file).and_then(|scale| of_linear(&scale, [line, data, members], least))
        }
        ["scale-time", file, line, data, members] => read(file).and_then(|scale| {
            let point = point(&scale, [line, data, members])?;
            Ok(("time", 1e3 * point.times.median))
        }),
        ["model", file] => read(file).and_then(|scale| {
            let worst = rated(&scale).model.and_then(|model| model.worst_deviation);
            let none = || FigureError::missing(file, "points that check its model");
            worst.map(|worst| ("%", 100.0 * worst.abs())).ok_or_else(none)
        }),
        _ => return None,
    })
}

/// The point of a line, of data in `place` or from the `host`, on so many members.
fn point<'s>(scale: &'s Scale, [line, data, members]: [&str; 3]) -> Found<&'s Point> {
    let place = if data == "place" { "in place" } else { "from host" };
    let mut points = scale.points.iter().filter(|point| {
        point.line.name() == line
            && point.data.words() == place
            && point.members.to_string() == members
    });
    points.next().ok_or_else(|| FigureError::missing(line, format!("{members} members, {place}")))
}

/// G′ a second of each member over those of one.
fn of_linear(scale: &Scale, at: [&str; 3], of: fn(&Times) -> f64) -> Found<(&'static str, f64)> {
    let rate = |point: &Point| point.ngpown as f64 / of(&point.times);
    let (many, one) = (point(scale, at)?, point(scale, [at[0], at[1], "1"])?);
    Ok(("%", 100.0 * rate(many) / rate(one) / many.members as f64))
}
