//! The frame of a chart: two logarithmic axes and what is where on them.

use std::ops::Range;

use super::scene::{Place, Shape, Text, Tone};
use crate::error::{ChartError, MOST_DECADES};

/// Pixels of a roofline: narrow, so that its letters can be read on a phone.
pub const SIZE: (u32, u32) = (600, 460);

/// Pixels around the plot: left, top, right, bottom.
const AROUND: [f64; 4] = [66.0, 66.0, 16.0, 54.0];

/// Axes of intensity and rate.
pub struct Axes {
    /// Operations for each byte.
    pub x: Range<f64>,
    /// Operations a second.
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
    ///
    /// # Errors
    /// [`ChartError::Axis`].
    pub fn check(&self) -> Result<(), ChartError> {
        let has_room = |axis: &&Range<f64>| {
            axis.start > 0.0
                && axis.end.is_finite()
                && (axis.end / axis.start).log10() <= MOST_DECADES
        };
        match [&self.x, &self.y].into_iter().find(|axis| !has_room(axis)) {
            Some(axis) => Err(ChartError::Axis { from: axis.start, to: axis.end }),
            None => Ok(()),
        }
    }

    /// Where an intensity and a rate are.
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
