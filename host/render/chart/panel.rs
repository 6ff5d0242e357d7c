//! A panel of a chart with two even axes.

use std::ops::Range;

use super::scene::{Place, Shape, Text, Tone};

/// Parts of the axis to the right and of the upright one that have a number, at most.
const STEPS: [f64; 2] = [12.0, 8.0];

/// Sizes of what has numbers as they are, and the least width of an axis relative to its values.
const PLAIN: Range<f64> = 1e-3..1e5;
const NARROWEST: f64 = 1e-6;

/// Pixels of numbers and of names.
const NUMBER: f64 = 14.0;
const NAME: f64 = 16.0;

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

    /// What the numbers are of.
    fn named(&self, name: &str) -> String {
        match self.exponent {
            0 => name.into(),
            exponent => format!("{name}, in 1e{exponent}"),
        }
    }
}

/// Where a panel is, and its axes.
pub struct Panel<'a> {
    /// Left, top, right and bottom in pixels.
    pub frame: [f64; 4],
    /// To the right.
    pub x: &'a Axis,
    /// Upwards.
    pub y: Axis,
}

impl Panel<'_> {
    /// Where two values are.
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
        let mut text = Text::new(self.y.named(name), (6.0, 0.0), NAME, Tone::Ink);
        text.upright = true;
        text.at.1 = f64::midpoint(top, bottom) + text.size().0 / 2.0;
        to.push(Shape::Text(text));
    }

    /// Numbers and name of the axis below.
    pub fn draw_below(&self, name: &str, to: &mut Vec<Shape>) {
        let [left, _, right, bottom] = self.frame;
        for (part, number) in self.x.steps(STEPS[0]) {
            let mut text = Text::new(number, (0.0, bottom + 6.0), NUMBER, Tone::Ink);
            let width = text.size().0;
            text.at.0 = (left + part * (right - left) - width / 2.0).min(right - width);
            to.push(Shape::Text(text));
        }
        let mut text = Text::new(self.x.named(name), (0.0, bottom + 28.0), NAME, Tone::Ink);
        text.at.0 = f64::midpoint(left, right) - text.size().0 / 2.0;
        to.push(Shape::Text(text));
    }
}
