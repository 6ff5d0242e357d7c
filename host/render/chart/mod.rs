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
use crate::analysis::matrices::{COUNTED, EXECUTED, Matrices};
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
        Ok(self.chart()?.svg())
    }

    /// The chart as SVG for a page, which brings the colours.
    ///
    /// # Errors
    /// [`ChartError`].
    pub fn inline(&self) -> Result<String, ChartError> {
        Ok(self.chart()?.inline())
    }

    /// The chart as a PNG file.
    ///
    /// # Errors
    /// [`ChartError`].
    pub fn png(&self, path: &Path) -> Result<(), ChartError> {
        self.chart()?.png(path)
    }

    /// The chart itself.
    ///
    /// # Errors
    /// [`ChartError`].
    pub fn chart(&self) -> Result<Chart, ChartError> {
        let Roofline { title, profiles, ceilings, levels } = *self;
        let timing = Timing::of(profiles.iter().copied());
        let all = profiles.iter().flat_map(|profile| points(profile, timing));
        let counted = all.filter(|point| levels.contains(&point.level)).collect();
        let said = match timing {
            Timing::Runs => "times and ceilings: runs",
            Timing::Profiler => "times: under the profiler; ceilings: runs",
        };
        scene(Shown { title, counted, executed: Vec::new(), ceilings, matrix: None, said })
            .map(Chart)
    }
}

/// The roofline of versions of Σ as a matrix: outlines are by the operations that are executed.
///
/// # Errors
/// [`ChartError`].
pub fn matrices(of: &Matrices) -> Result<Chart, ChartError> {
    let Matrices { title, points, ceilings, matrix } = of;
    let (counted, executed) = (points.clone(), of.executed());
    let said = "rates and ceilings: runs";
    scene(Shown { title, counted, executed, ceilings, matrix: *matrix, said }).map(Chart)
}

/// A chart whose parts have their places.
pub struct Chart(Scene);

impl Chart {
    /// As [`Roofline::svg`].
    pub fn svg(&self) -> String {
        svg::alone(&self.0)
    }

    /// As [`Roofline::inline`].
    pub fn inline(&self) -> String {
        svg::inline(&self.0)
    }

    /// As [`Roofline::png`].
    ///
    /// # Errors
    /// [`ChartError::Drawing`].
    pub fn png(&self, path: &Path) -> Result<(), ChartError> {
        png::png(path, &self.0)
    }
}

/// What a chart shows.
struct Shown<'a> {
    title: &'a str,
    /// Dots.
    counted: Vec<Point>,
    /// The same as outlines, by the operations that are executed; none where nothing else is counted.
    executed: Vec<Point>,
    ceilings: &'a Ceilings,
    /// The peak of matrix units.
    matrix: Option<f64>,
    /// What is said beside the levels.
    said: &'a str,
}

/// Dots within so many pixels of each other share a name.
const TOGETHER: f64 = 6.0;

/// Where everything is.
fn scene(of: Shown) -> Result<Scene, ChartError> {
    let Shown { title, counted, executed, ceilings, matrix, said } = of;
    let (first, has_outlines) = (counted.len(), !executed.is_empty());
    let all = [counted, executed].concat();
    if let Some(bad) = all.iter().find(|p| !(p.intensity > 0.0 && p.flops_per_s > 0.0)) {
        return Err(ChartError::NoPoint {
            version: bad.version.clone(),
            level: bad.level.name(),
            intensity: bad.intensity,
            flops_per_s: bad.flops_per_s,
        });
    }
    let title = format!("{}, {title}", ceilings.device);
    let axes = axes(&all, ceilings, matrix);
    axes.check()?;
    let roofs = roofs::roofs(&all, ceilings, matrix, &axes);
    let mut shapes = Vec::new();
    axes.draw(&mut shapes);
    head(&mut shapes, &title, &all, has_outlines, said);
    for roof in &roofs {
        let (width, opacity) = if roof.faint { (1.0, 0.6) } else { (1.6, 0.85) };
        let points = roof.line.to_vec();
        shapes.push(Shape::Line { points, tone: Tone::Ink, width, opacity });
    }
    let dots = dots::dots(all, first, &axes);
    let named = &dots[..first];
    for level in LEVELS {
        let of_level: Vec<&scene::Dot> =
            named.iter().filter(|dot| dot.point.level == level).collect();
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
    let mut groups = together(named);
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

/// Axes with room for the points, the FP64 roofs and where the lower meets the first slope.
fn axes(all: &[Point], ceilings: &Ceilings, matrix: Option<f64>) -> Axes {
    let lowest = |of: fn(&Point) -> f64| all.iter().map(of).fold(f64::INFINITY, f64::min);
    let highest = |of: fn(&Point) -> f64| all.iter().map(of).fold(0.0, f64::max);
    let ridge = ceilings.fp64 / ceilings.hbm;
    let roof = ceilings.fp64.max(matrix.unwrap_or(0.0));
    Axes {
        x: lowest(|p| p.intensity).min(ridge) / 1.6..highest(|p| p.intensity).max(ridge) * 1.9,
        y: lowest(|p| p.flops_per_s) / 1.6..roof.max(highest(|p| p.flops_per_s)) * 1.5,
    }
}

/// Title, what is said beside it, and which shape is which level.
fn head(to: &mut Vec<Shape>, title: &str, all: &[Point], has_outlines: bool, said: &str) {
    let [left, _, right, _] = Axes::frame();
    let text = Text::new(title, (left, 8.0), TITLE, Tone::Ink);
    // A long title is made to fit.
    let letters = TITLE * ((right - left) / text.size().0).min(1.0);
    to.push(Shape::Text(Text { letters, ..text }));
    let mut x = left + 6.0;
    let shown = LEVELS.into_iter().filter(|level| all.iter().any(|p| p.level == *level));
    let mut marks: Vec<(Level, bool, &str)> =
        shown.map(|level| (level, false, level.name())).collect();
    let executed = format!("executed, {EXECUTED} of {COUNTED} operations");
    marks.extend(has_outlines.then_some((Level::Hbm, true, executed.as_str())));
    for (level, outline, name) in marks {
        let (mut points, hollow) = dots::mark(level, (x, 48.0));
        if hollow || outline {
            points.push(points[0]);
            to.push(Shape::Line { points, tone: Tone::Ink, width: 1.6, opacity: 1.0 });
        } else {
            to.push(Shape::Area { points, tone: Tone::Ink });
        }
        let name = Text::new(name, (x + 11.0, 40.0), SUBTITLE, Tone::Ink);
        x += name.size().0 + 34.0;
        to.push(Shape::Text(name));
    }
    let mut said = Text::new(said, (0.0, 40.0), SUBTITLE, Tone::Ink);
    said.at.0 = right - said.size().0;
    to.push(Shape::Text(said));
}
