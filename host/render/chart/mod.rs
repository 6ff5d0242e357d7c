//! Charts as SVG and PNG. Here the roofline: a version is a colour and a name, a level a shape.

mod axes;
mod dots;
mod labels;
pub mod matrix;
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

use crate::analysis::levels::{LEVELS, Level};
use crate::analysis::roofline::{Point, Timing, points};
use crate::error::ChartError;
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;

/// Pixels of letters: of the title, of what is below it, of names.
const TITLE: f64 = 18.0;
const SUBTITLE: f64 = 14.0;
const NAME: f64 = 15.0;

/// A roofline: these profiles at these levels of the memory.
#[derive(Clone, Copy)]
pub struct Roofline<'a> {
    /// What it is of, beside the device.
    pub title: &'a str,
    /// The versions, in their order.
    pub profiles: &'a [&'a Profile],
    /// What the device can do.
    pub ceilings: &'a Ceilings,
    /// The levels that have dots.
    pub levels: &'a [Level],
}

impl Roofline<'_> {
    /// The chart as SVG, to stand alone, with colours for light and dark. Each dot is a group of class `dot`
    /// that tells its version, intensity and rate to a pointer and to the keyboard's focus; dots, names and
    /// the lines between dots have the attribute `data-version`.
    ///
    /// # Errors
    /// [`ChartError`].
    pub fn svg(&self) -> Result<String, ChartError> {
        Ok(svg::alone(&self.scene()?))
    }

    /// The chart as SVG for a page, which brings the colours.
    ///
    /// # Errors
    /// [`ChartError`].
    pub fn inline(&self) -> Result<String, ChartError> {
        Ok(svg::inline(&self.scene()?))
    }

    /// The chart as a PNG file.
    ///
    /// # Errors
    /// [`ChartError`].
    pub fn png(&self, path: &Path) -> Result<(), ChartError> {
        png::png(path, &self.scene()?)
    }

    fn scene(&self) -> Result<Scene, ChartError> {
        scene(self)
    }
}

/// Dots within so many pixels of each other share a name.
const TOGETHER: f64 = 6.0;

/// Where everything is.
fn scene(of: &Roofline) -> Result<Scene, ChartError> {
    let Roofline { title, profiles, ceilings, levels } = *of;
    let timing = Timing::of(profiles.iter().copied());
    let all = profiles.iter().flat_map(|profile| points(profile, timing));
    let all: Vec<Point> = all.filter(|point| levels.contains(&point.level)).collect();
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
    axes.check()?;
    let roofs = roofs::roofs(&all, ceilings, &axes);
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
        let of_level: Vec<&scene::Dot> =
            dots.iter().filter(|dot| dot.point.level == level).collect();
        for pair in of_level.windows(2) {
            let version = pair[1].point.version.clone();
            shapes.push(Shape::Step { version, points: [pair[0].at, pair[1].at] });
        }
    }

    let [left, top, right, bottom] = Axes::frame();
    let frame = Area { left, top, right, bottom };
    let places: Vec<Place> = dots.iter().map(|dot| dot.at).collect();
    let lines = roofs.iter().map(|roof| roof.line);
    let mut labels = Labels::new(frame, places.iter().copied(), lines);
    // Where it is crowded first, while there is room.
    let mut groups = together(&dots);
    let near = |group: &Vec<&scene::Dot>| {
        let close = |at: &&Place| apart(**at, group[0].at) < 40.0;
        places.iter().filter(close).count()
    };
    groups.sort_by_key(|group| std::cmp::Reverse(near(group)));
    for group in groups {
        let names: Vec<&str> = group.iter().map(|dot| dot.point.version.as_str()).collect();
        let name = names.join(", ");
        let placed = labels.place(&[group[0].at], size(&name, NAME));
        let placed = placed.ok_or_else(|| ChartError::NoRoom { name: name.clone() })?;
        let text = Text::new(name, (placed.area.left, placed.area.top), NAME, Tone::Ink);
        let point = &group[0].point;
        let (version, level) = (point.version.clone(), point.level.name());
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
    Ok(Scene { title, size: axes::SIZE, shapes, dots })
}

/// Dots of one level that lie on each other, each group in the versions' order.
fn together(dots: &[scene::Dot]) -> Vec<Vec<&scene::Dot>> {
    let mut groups: Vec<Vec<&scene::Dot>> = Vec::new();
    for dot in dots {
        let near = |group: &&mut Vec<&scene::Dot>| {
            group[0].point.level == dot.point.level && apart(group[0].at, dot.at) < TOGETHER
        };
        match groups.iter_mut().find(near) {
            Some(group) => group.push(dot),
            None => groups.push(vec![dot]),
        }
    }
    groups
}

fn apart(a: Place, b: Place) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

/// Axes with room for the points, the FP64 roof and where it meets the first slope.
fn axes(all: &[Point], ceilings: &Ceilings) -> Axes {
    let lowest = |of: fn(&Point) -> f64| all.iter().map(of).fold(f64::INFINITY, f64::min);
    let highest = |of: fn(&Point) -> f64| all.iter().map(of).fold(0.0, f64::max);
    let ridge = ceilings.fp64 / ceilings.hbm;
    Axes {
        x: lowest(|p| p.intensity).min(ridge) / 1.6..highest(|p| p.intensity).max(ridge) * 1.9,
        y: lowest(|p| p.flops_per_s) / 1.6..ceilings.fp64.max(highest(|p| p.flops_per_s)) * 1.5,
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
    let shown = LEVELS.into_iter().filter(|level| all.iter().any(|p| p.level == *level));
    for level in shown {
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
        Timing::Runs => "times and ceilings: runs",
        Timing::Profiler => "times: under the profiler; ceilings: runs",
    };
    let mut said = Text::new(by, (0.0, 40.0), SUBTITLE, Tone::Ink);
    said.at.0 = right - said.size().0;
    to.push(Shape::Text(said));
}
