//! Rooflines as charts.

mod dots;
pub mod plots;
pub mod scene;

use std::ops::Range;
use std::path::Path;

use crate::chart::dots::{Area, Labels, rate};
use crate::chart::scene::{Place, Scene, Shape, Text, Tone, size};
use crate::error::ChartError;
use crate::offdiag::records::{COUNTED, EXECUTED, Matrices};
use crate::record::profile::{Ceilings, Profile};
use crate::roofline::{LEVELS, Level, Point, Timing, points};

// Charts as SVG and PNG. Here the roofline: a version is a colour and a name, a level a shape.

/// Pixels of letters: of the title, of what is below it, of names.
const TITLE: f64 = 18.0;
const SUBTITLE: f64 = 14.0;
const NAME: f64 = 15.0;

/// A roofline: these profiles at these levels of the memory.
#[derive(Clone, Copy)]
pub struct Roofline<'a> {
    pub title: &'a str,
    pub profiles: &'a [&'a Profile],
    pub ceilings: &'a Ceilings,
    pub levels: &'a [Level],
}

impl Roofline<'_> {
    /// The chart as SVG, to stand alone, with colours for light and dark. Each dot is a group of class `dot`
    /// that tells its version, intensity and rate to a pointer and to the keyboard's focus; dots, names and
    /// the lines between dots have the attribute `data-version`.
    pub fn svg(&self) -> Result<String, ChartError> {
        Ok(self.chart()?.svg())
    }

    /// The chart as SVG for a page, which brings the colours.
    pub fn inline(&self) -> Result<String, ChartError> {
        Ok(self.chart()?.inline())
    }

    pub fn png(&self, path: &Path) -> Result<(), ChartError> {
        self.chart()?.png(path)
    }

    pub fn chart(&self) -> Result<Scene, ChartError> {
        let Roofline { title, profiles, ceilings, levels } = *self;
        let timing = Timing::of(profiles.iter().copied());
        let all = profiles.iter().flat_map(|profile| points(profile, timing));
        let counted = all.filter(|point| levels.contains(&point.level)).collect();
        let said = match timing {
            Timing::Runs => "times and ceilings: runs",
            Timing::Profiler => "times: under the profiler; ceilings: runs",
        };
        scene(Shown { title, counted, executed: Vec::new(), ceilings, matrix: None, said })
    }
}

/// The roofline of versions of Σ as a matrix: outlines are by the operations that are executed.
pub fn matrices(of: &Matrices) -> Result<Scene, ChartError> {
    let Matrices { title, points, ceilings, matrix } = of;
    let (counted, executed) = (points.clone(), of.executed());
    let said = "rates and ceilings: runs";
    scene(Shown { title, counted, executed, ceilings, matrix: *matrix, said })
}

struct Shown<'a> {
    title: &'a str,
    counted: Vec<Point>,
    /// The same as outlines, by the operations that are executed; none where nothing else is counted.
    executed: Vec<Point>,
    ceilings: &'a Ceilings,
    matrix: Option<f64>,
    said: &'a str,
}

/// Powers of ten that an axis has room for.
const MOST_DECADES: f64 = 24.0;

/// Dots within so many pixels of each other share a name.
const TOGETHER: f64 = 6.0;

fn scene(of: Shown) -> Result<Scene, ChartError> {
    let Shown { title, counted, executed, ceilings, matrix, said } = of;
    let (first, has_outlines) = (counted.len(), !executed.is_empty());
    let all = [counted, executed].concat();
    if let Some(bad) = all.iter().find(|p| !(p.intensity > 0.0 && p.flops_per_s > 0.0)) {
        return Err(ChartError(format!(
            "{} has no {} point: {} FLOP/byte, {} FLOP/s",
            bad.version,
            bad.level.name(),
            bad.intensity,
            bad.flops_per_s
        )));
    }
    let title = format!("{}, {title}", ceilings.device);
    let axes = axes(&all, ceilings, matrix);
    axes.check()?;
    let roofs = roofs(&all, ceilings, matrix, &axes);
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
        let placed = placed.ok_or_else(|| ChartError(format!("no room for the name `{name}`")))?;
        let text = Text::new(name, (placed.area.left, placed.area.top), NAME, Tone::Ink);
        let point = &group[0].point;
        let (version, level) = (point.version.clone(), point.level.name());
        shapes.push(Shape::Name { version, level, text, leader: placed.leader });
    }
    for roof in &roofs {
        let placed = labels.place(&roof.anchors(), size(&roof.name, NAME));
        let placed =
            placed.ok_or_else(|| ChartError(format!("no room for the name `{}`", roof.name)))?;
        if let Some(leader) = placed.leader {
            let points = leader.to_vec();
            shapes.push(Shape::Line { points, tone: Tone::Ink, width: 0.8, opacity: 0.7 });
        }
        let at = (placed.area.left, placed.area.top);
        shapes.push(Shape::Text(Text::new(&roof.name, at, NAME, Tone::Ink)));
    }
    Ok(Scene { title, size: SIZE, shapes, dots })
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

// The roofs of a chart: bandwidths up to the highest FP64 peak, and the peaks.

/// A line that no dot passes, and its name.
pub struct Roof {
    pub line: [Place; 2],
    pub name: String,
    /// Whether it is only promised.
    pub faint: bool,
}

impl Roof {
    /// Places on the line that its name may stand by.
    pub fn anchors(&self) -> Vec<Place> {
        let [from, to] = self.line;
        let at = |part: f64| (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1));
        (1..20).map(|twentieth| at(f64::from(twentieth) / 20.0)).collect()
    }
}

/// The roofs of a chart that shows these points: the measured peak, that of matrix units where one is given, in
/// operations a second, and the levels' bandwidths as far as they are within the axes.
pub fn roofs(points: &[Point], ceilings: &Ceilings, matrix: Option<f64>, axes: &Axes) -> Vec<Roof> {
    let shown = |level: &Level| points.iter().any(|point| point.level == *level);
    let both = shown(&Level::L2) && shown(&Level::L2AndFabric);
    let levels = LEVELS.iter().filter(|level| shown(level));
    let levels: Vec<&Level> =
        levels.filter(|level| !(both && **level == Level::L2AndFabric)).collect();
    let widest = levels.iter().filter_map(|level| level.bandwidth(ceilings));
    let widest = widest.fold(ceilings.hbm, f64::max);
    let line =
        |from: (f64, f64), to: (f64, f64)| [axes.place(from.0, from.1), axes.place(to.0, to.1)];
    let highest = matrix.unwrap_or(ceilings.fp64);
    let slope = |level: &Level| {
        let bandwidth = level.bandwidth(ceilings)?;
        let begin = axes.x.start.max(axes.y.start / bandwidth);
        let end = axes.x.end.min(highest / bandwidth);
        let measured = *level != Level::Shared;
        // L2's ceiling is one, whatever an older profile counts.
        let name = if *level == Level::L2AndFabric { Level::L2 } else { *level };
        let name = name.name();
        let promised = if measured { "" } else { ", by its width" };
        (begin < end).then(|| Roof {
            line: line((begin, begin * bandwidth), (end, end * bandwidth)),
            name: format!("{name} {}{promised}", rate(bandwidth, 1, "B/s")),
            faint: !measured,
        })
    };
    let flat = |peak: f64, name: &str, faint: bool| Roof {
        line: line(((peak / widest).max(axes.x.start), peak), (axes.x.end, peak)),
        name: name.replace("{}", &rate(peak, 1, "FLOP/s")),
        faint,
    };
    let of =
        if matrix.is_some() { "measured FP64 vector peak {}" } else { "measured FP64 peak {}" };
    let matrix = matrix.map(|peak| flat(peak, "FP64 matrix peak {}, by its clock", true));
    let peaks = [flat(ceilings.fp64, of, false)].into_iter().chain(matrix);
    levels.into_iter().filter_map(slope).chain(peaks).collect()
}

// A panel of a chart with two even axes.

/// Parts of the axis to the right and of the upright one that have a number, at most.
const STEPS: [f64; 2] = [12.0, 8.0];

/// Sizes of what has numbers as they are, and the least width of an axis relative to its values.
const PLAIN: Range<f64> = 1e-3..1e5;
const NARROWEST: f64 = 1e-6;

const NUMBER: f64 = 14.0;
const PANEL_NAME: f64 = 16.0;

/// An even axis in units of a power of ten.
pub struct Axis {
    range: Range<f64>,
    exponent: i32,
}

impl Axis {
    /// With room for these values, and beyond them for this share of their width; what is no number has no
    /// place.
    pub fn of(values: impl Iterator<Item = f64> + Clone, beyond: f64) -> Axis {
        let finite = values.filter(|value| value.is_finite());
        let largest = finite.clone().map(f64::abs).fold(0.0, f64::max);
        let is_plain = largest == 0.0 || PLAIN.contains(&largest);
        // Beyond these powers of ten are no normal numbers.
        let exponent = if is_plain { 0 } else { (largest.log10().floor() as i32).max(-300) };
        let unit = 10f64.powi(exponent);
        let low = finite.clone().map(|value| value / unit).fold(f64::INFINITY, f64::min);
        let high = finite.map(|value| value / unit).fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
        let largest = largest / unit;
        let width = high - low;
        let around = if width == 0.0 || largest < PLAIN.start {
            largest.max(1.0) / 2.0
        } else {
            (beyond * width).max((NARROWEST * largest - width) / 2.0)
        };
        Axis { range: low - around..high + around, exponent }
    }

    /// The share of the axis before a value.
    fn part(&self, value: f64) -> f64 {
        let Range { start, end } = self.range;
        (value / 10f64.powi(self.exponent) - start) / (end - start)
    }

    /// What has a number, as a share of the axis, and its number: multiples of 1, 2 or 5 times a power of
    /// ten, in `most` parts or fewer.
    fn steps(&self, most: f64) -> Vec<(f64, String)> {
        let Range { start, end } = self.range;
        let width = end - start;
        let power = (width / most).log10().floor() as i32;
        let sizes = [(1.0, power), (2.0, power), (5.0, power), (1.0, power + 1)];
        let sizes = sizes.map(|(digit, power)| (digit * 10f64.powi(power), power));
        let fits = |(step, _): &(f64, i32)| width / step <= most;
        let (step, power) = sizes.into_iter().find(fits).unwrap_or(sizes[3]);
        let digits = usize::try_from(-power).unwrap_or(0);
        let multiples = (start / step).ceil() as i64..=(end / step).floor() as i64;
        let number = |multiple: i64| {
            let value = multiple as f64 * step;
            ((value - start) / width, format!("{value:.digits$}"))
        };
        multiples.map(number).collect()
    }

    fn named(&self, name: &str) -> String {
        match self.exponent {
            0 => name.into(),
            exponent => format!("{name}, in 1e{exponent}"),
        }
    }
}

pub struct Panel<'a> {
    /// Left, top, right and bottom in pixels.
    pub frame: [f64; 4],
    pub x: &'a Axis,
    pub y: Axis,
}

impl Panel<'_> {
    pub fn place(&self, x: f64, y: f64) -> Place {
        let [left, top, right, bottom] = self.frame;
        (left + self.x.part(x) * (right - left), bottom - self.y.part(y) * (bottom - top))
    }

    /// Grid, zeros, frame, and numbers and name of the upright axis.
    pub fn draw(&self, name: &str, to: &mut Vec<Shape>) {
        let [left, top, right, bottom] = self.frame;
        let mut line = |points: [Place; 2], tone: Tone, opacity: f64| {
            to.push(Shape::Line { points: points.to_vec(), tone, width: 1.0, opacity });
        };
        let at_x = |part: f64| left + part * (right - left);
        let at_y = |part: f64| bottom - part * (bottom - top);
        for (part, _) in self.x.steps(STEPS[0]) {
            line([(at_x(part), top), (at_x(part), bottom)], Tone::Grid, 1.0);
        }
        for (part, _) in self.y.steps(STEPS[1]) {
            line([(left, at_y(part)), (right, at_y(part))], Tone::Grid, 1.0);
        }
        let zeros = [self.x.part(0.0), self.y.part(0.0)];
        if (0.0..=1.0).contains(&zeros[0]) {
            line([(at_x(zeros[0]), top), (at_x(zeros[0]), bottom)], Tone::Ink, 0.35);
        }
        if (0.0..=1.0).contains(&zeros[1]) {
            line([(left, at_y(zeros[1])), (right, at_y(zeros[1]))], Tone::Ink, 0.35);
        }
        line([(left, top), (left, bottom)], Tone::Ink, 1.0);
        line([(left, bottom), (right, bottom)], Tone::Ink, 1.0);
        for (part, number) in self.y.steps(STEPS[1]) {
            let mut text = Text::new(number, (0.0, 0.0), NUMBER, Tone::Ink);
            let (width, height) = text.size();
            text.at = (left - 7.0 - width, at_y(part) - height / 2.0);
            to.push(Shape::Text(text));
        }
        let mut text = Text::new(self.y.named(name), (6.0, 0.0), PANEL_NAME, Tone::Ink);
        text.upright = true;
        text.at.1 = f64::midpoint(top, bottom) + text.size().0 / 2.0;
        to.push(Shape::Text(text));
    }

    pub fn draw_below(&self, name: &str, to: &mut Vec<Shape>) {
        let [left, _, right, bottom] = self.frame;
        for (part, number) in self.x.steps(STEPS[0]) {
            let mut text = Text::new(number, (0.0, bottom + 6.0), NUMBER, Tone::Ink);
            let width = text.size().0;
            text.at.0 = (left + part * (right - left) - width / 2.0).min(right - width);
            to.push(Shape::Text(text));
        }
        let mut text = Text::new(self.x.named(name), (0.0, bottom + 28.0), PANEL_NAME, Tone::Ink);
        text.at.0 = f64::midpoint(left, right) - text.size().0 / 2.0;
        to.push(Shape::Text(text));
    }
}

// The frame of a chart: two logarithmic axes and what is where on them.

/// Pixels of a roofline: narrow, so that its letters can be read on a phone.
pub const SIZE: (u32, u32) = (600, 460);

/// Pixels around the plot: left, top, right, bottom.
const AROUND: [f64; 4] = [66.0, 66.0, 16.0, 54.0];

pub struct Axes {
    pub x: Range<f64>,
    pub y: Range<f64>,
}

impl Axes {
    /// Left, top, right and bottom of the plot.
    pub fn frame() -> [f64; 4] {
        let (width, height) = (f64::from(SIZE.0), f64::from(SIZE.1));
        let [left, top, right, bottom] = AROUND;
        [left, top, width - right, height - bottom]
    }

    /// Fails where one reaches farther than there is room for, or to no number.
    pub fn check(&self) -> Result<(), ChartError> {
        let has_room = |axis: &&Range<f64>| {
            axis.start > 0.0
                && axis.end.is_finite()
                && (axis.end / axis.start).log10() <= MOST_DECADES
        };
        match [&self.x, &self.y].into_iter().find(|axis| !has_room(axis)) {
            Some(axis) => Err(ChartError(format!(
                "an axis from {:e} to {:e}, and {MOST_DECADES} powers of ten have room",
                axis.start, axis.end
            ))),
            None => Ok(()),
        }
    }

    pub fn place(&self, x: f64, y: f64) -> Place {
        let [left, top, right, bottom] = Axes::frame();
        let part = |value: f64, axis: &Range<f64>| {
            (value / axis.start).log10() / (axis.end / axis.start).log10()
        };
        (left + part(x, &self.x) * (right - left), bottom - part(y, &self.y) * (bottom - top))
    }

    /// The grid, the frame and the numbers beside it.
    pub fn draw(&self, to: &mut Vec<Shape>) {
        let [left, top, right, bottom] = Axes::frame();
        let mut line = |points: [Place; 2], tone: Tone| {
            to.push(Shape::Line { points: points.to_vec(), tone, width: 1.0, opacity: 1.0 });
        };
        for (value, _) in steps(&self.x) {
            let (x, _) = self.place(value, self.y.start);
            line([(x, top), (x, bottom)], Tone::Grid);
        }
        for (value, _) in steps(&self.y) {
            let (_, y) = self.place(self.x.start, value);
            line([(left, y), (right, y)], Tone::Grid);
        }
        line([(left, top), (left, bottom)], Tone::Ink);
        line([(left, bottom), (right, bottom)], Tone::Ink);
        let mut taken = f64::NEG_INFINITY;
        for (value, _) in numbered(&self.x) {
            let mut text = Text::new(plain(value), (0.0, bottom + 6.0), 14.0, Tone::Ink);
            let (x, _) = self.place(value, self.y.start);
            text.at.0 = x - text.size().0 / 2.0;
            if text.at.0 > taken {
                taken = text.at.0 + text.size().0 + 4.0;
                to.push(Shape::Text(text));
            }
        }
        let unit = unit(self.y.end);
        for (value, _) in numbered(&self.y) {
            let mut text = Text::new(plain(value / unit.0), (0.0, 0.0), 14.0, Tone::Ink);
            let (width, height) = text.size();
            let (_, y) = self.place(self.x.start, value);
            text.at = (left - 7.0 - width, y - height / 2.0);
            to.push(Shape::Text(text));
        }
        let name = "arithmetic intensity [FLOP/byte]";
        let mut text = Text::new(name, (0.0, bottom + 28.0), 16.0, Tone::Ink);
        text.at.0 = f64::midpoint(left, right) - text.size().0 / 2.0;
        to.push(Shape::Text(text));
        let mut text = Text::new(format!("{}FLOP/s", unit.1), (6.0, 0.0), 16.0, Tone::Ink);
        text.upright = true;
        text.at.1 = f64::midpoint(top, bottom) + text.size().0 / 2.0;
        to.push(Shape::Text(text));
    }
}

/// What rates of this size are told in, and its prefix.
pub fn unit(rate: f64) -> (f64, char) {
    if rate < 1e12 { (1e9, 'G') } else { (1e12, 'T') }
}

/// One to nine times each power of ten on an axis, with the first digit.
fn steps(axis: &Range<f64>) -> Vec<(f64, u32)> {
    let powers = axis.start.log10().floor() as i32..=axis.end.log10().ceil() as i32;
    let all = powers
        .flat_map(|power| (1..10).map(move |digit| (f64::from(digit) * 10f64.powi(power), digit)));
    all.filter(|(value, _)| axis.contains(value)).collect()
}

/// Those that are numbered: powers of ten, twice and five times these.
fn numbered(axis: &Range<f64>) -> Vec<(f64, u32)> {
    steps(axis).into_iter().filter(|(_, digit)| [1, 2, 5].contains(digit)).collect()
}

/// A number without needless zeros.
fn plain(value: f64) -> String {
    let digits = (-value.log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}")
}
