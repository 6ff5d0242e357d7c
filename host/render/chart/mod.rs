//! Charts as SVG and PNG. Here the roofline: a version is a colour, a level a shape.

mod axes;
mod dots;
mod labels;
mod panel;
mod png;
mod roofs;
mod scene;
pub mod sigma;
mod svg;

use std::path::Path;

use axes::Axes;
use labels::{Area, Labels};
use scene::{Place, Scene, Shape, Text, Tone, size};

use crate::analysis::levels::LEVELS;
use crate::analysis::roofline::{Point, Timing, points};
use crate::error::ChartError;
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;

/// Pixels of letters: of the title, of what is below it, of names.
const TITLE: f64 = 20.0;
const SUBTITLE: f64 = 14.0;
const NAME: f64 = 14.0;

/// The chart as SVG, to stand alone or in a page. Each dot is a group of class `dot` that tells its
/// version, intensity and rate to a pointer and to the keyboard's focus; dots and names have the
/// attributes `data-version` and `data-level`.
///
/// # Errors
/// [`ChartError`].
pub fn svg(title: &str, profiles: &[&Profile], ceilings: &Ceilings) -> Result<String, ChartError> {
    Ok(svg::svg(&scene(title, profiles, ceilings)?))
}

/// The chart as a PNG file.
///
/// # Errors
/// [`ChartError`].
pub fn png(
    path: &Path,
    title: &str,
    profiles: &[&Profile],
    ceilings: &Ceilings,
) -> Result<(), ChartError> {
    png::png(path, &scene(title, profiles, ceilings)?)
}

/// Where everything is.
fn scene(title: &str, profiles: &[&Profile], ceilings: &Ceilings) -> Result<Scene, ChartError> {
    let timing = Timing::of(profiles.iter().copied());
    let all: Vec<Point> = profiles.iter().flat_map(|profile| points(profile, timing)).collect();
    if let Some(bad) = all.iter().find(|p| !(p.intensity > 0.0 && p.flops_per_s > 0.0)) {
        return Err(ChartError::NoPoint {
            version: bad.version.clone(),
            level: bad.level.name(),
            intensity: bad.intensity,
            flops_per_s: bad.flops_per_s,
        });
    }
    let title = format!("{}, {title}", ceilings.device);
    let axes = axes(&all, ceilings);
    let roofs = roofs::roofs(profiles, &all, ceilings, &axes);
    let mut shapes = Vec::new();
    axes.draw(&mut shapes);
    head(&mut shapes, &title, &all, timing, ceilings.of_processor());
    for roof in &roofs {
        let (width, opacity) = if roof.faint { (1.0, 0.6) } else { (1.6, 0.85) };
        let points = roof.line.to_vec();
        shapes.push(Shape::Line { points, tone: Tone::Ink, width, opacity });
    }
    let dots = dots::dots(all, &axes, ceilings.of_processor());
    for level in LEVELS {
        let of_level = dots.iter().filter(|dot| dot.point.level == level);
        let points: Vec<Place> = of_level.map(|dot| dot.at).collect();
        if points.len() > 1 {
            shapes.push(Shape::Line { points, tone: Tone::Ink, width: 1.0, opacity: 0.2 });
        }
    }

    let [left, top, right, bottom] = Axes::frame();
    let frame = Area { left, top, right, bottom };
    let places: Vec<Place> = dots.iter().map(|dot| dot.at).collect();
    let lines = roofs.iter().map(|roof| roof.line);
    let mut labels = Labels::new(frame, places.iter().copied(), lines);
    // Where it is crowded first, while there is room.
    let mut order: Vec<&scene::Dot> = dots.iter().collect();
    let near = |dot: &scene::Dot| {
        let close = |at: &&Place| (at.0 - dot.at.0).hypot(at.1 - dot.at.1) < 40.0;
        places.iter().filter(close).count()
    };
    order.sort_by_key(|dot| std::cmp::Reverse(near(dot)));
    for dot in order {
        let name = &dot.point.version;
        let placed = labels.place(&[dot.at], size(name, NAME));
        let placed = placed.ok_or_else(|| ChartError::NoRoom { name: name.clone() })?;
        let text =
            Text::new(name, (placed.area.left, placed.area.top), NAME, Tone::Color(dot.color));
        let (version, level) = (name.clone(), dot.point.level.name());
        shapes.push(Shape::Name { version, level, text, leader: placed.leader });
    }
    for roof in &roofs {
        let placed = labels.place(&roof.anchors(), size(&roof.name, NAME));
        let placed = placed.ok_or_else(|| ChartError::NoRoom { name: roof.name.clone() })?;
        if let Some(leader) = placed.leader {
            let points = leader.to_vec();
            shapes.push(Shape::Line { points, tone: Tone::Ink, width: 0.8, opacity: 0.7 });
        }
        let at = (placed.area.left, placed.area.top);
        shapes.push(Shape::Text(Text::new(&roof.name, at, NAME, Tone::Ink)));
    }
    Ok(Scene { title, shapes, dots })
}

/// Axes with room for all points, roofs and names.
fn axes(all: &[Point], ceilings: &Ceilings) -> Axes {
    let lowest = |of: fn(&Point) -> f64| all.iter().map(of).fold(f64::INFINITY, f64::min);
    let highest = |of: fn(&Point) -> f64| all.iter().map(of).fold(0.0, f64::max);
    let peak = ceilings.theoretical.fp64.unwrap_or(ceilings.fp64).max(ceilings.fp64);
    Axes {
        x: lowest(|p| p.intensity).min(1.0) / 5.0..highest(|p| p.intensity).max(40.0) * 2.0,
        y: lowest(|p| p.flops_per_s) / 4.0..peak * 2.0,
    }
}

/// Title, what the times are by, and which shape is which level.
fn head(to: &mut Vec<Shape>, title: &str, all: &[Point], timing: Timing, processor: bool) {
    let [left, _, right, _] = Axes::frame();
    let text = Text::new(title, (left, 8.0), TITLE, Tone::Ink);
    // A long title is made to fit.
    let letters = TITLE * ((right - left) / text.size().0).min(1.0);
    to.push(Shape::Text(Text { letters, ..text }));
    let mut x = left + 6.0;
    for level in LEVELS.into_iter().filter(|level| all.iter().any(|p| p.level == *level)) {
        let (mut points, hollow) = dots::mark(level, (x, 48.0));
        if hollow {
            points.push(points[0]);
            to.push(Shape::Line { points, tone: Tone::Ink, width: 1.6, opacity: 1.0 });
        } else {
            to.push(Shape::Area { points, tone: Tone::Ink });
        }
        let name = Text::new(level.name_on(processor), (x + 11.0, 40.0), SUBTITLE, Tone::Ink);
        x += name.size().0 + 34.0;
        to.push(Shape::Text(name));
    }
    let by = match timing {
        Timing::Runs if processor => "times and ceilings: runs",
        Timing::Runs => "times and ceilings: runs, by the GPU’s events",
        Timing::Profiler => "times: under the profiler; ceilings: runs",
    };
    let mut said = Text::new(by, (0.0, 40.0), SUBTITLE, Tone::Ink);
    said.at.0 = right - said.size().0;
    to.push(Shape::Text(said));
}
