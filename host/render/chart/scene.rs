//! What a chart is drawn of: lines, areas, texts and dots, in pixels from the left upper corner.

use std::sync::Once;

use plotters::style::{FontStyle, IntoFont, register_font};

use crate::analysis::roofline::Point;

/// Pixels of a chart of Σ(ω).
pub const SIZE: (u32, u32) = (960, 640);

/// Pixels across a curve, and from the middle of one that is a dot to its side.
pub const CURVE: f64 = 1.5;
pub const LONE: f64 = 2.0;

/// The letters' name among the drawing library's.
pub const FONT: &str = "chart";

/// A place: x, y.
pub type Place = (f64, f64);

/// What something is drawn with: a page, or a reader who likes it dark, may give the first three other colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Of the background.
    Paper,
    /// Of the lines behind all.
    Grid,
    /// Of axes, roofs and their texts.
    Ink,
    /// Of a version or a curve.
    Color([u8; 3]),
}

impl Tone {
    /// Red, green and blue of a chart by itself.
    pub fn rgb(self) -> [u8; 3] {
        match self {
            Tone::Paper => [255, 255, 255],
            Tone::Grid => [232, 235, 239],
            Tone::Ink => [28, 35, 43],
            Tone::Color(rgb) => rgb,
        }
    }
}

/// A part of a chart.
pub enum Shape {
    /// A line through points.
    Line {
        /// The points.
        points: Vec<Place>,
        /// Its colour.
        tone: Tone,
        /// Pixels across.
        width: f64,
        /// From 0 to 1.
        opacity: f64,
    },
    /// A filled area.
    Area {
        /// Its corners.
        points: Vec<Place>,
        /// Its colour.
        tone: Tone,
    },
    /// A line through values, with a vertex for each; a dot where there is but one.
    Curve {
        /// What a page knows it by.
        id: String,
        /// The vertices, one at least.
        points: Vec<Place>,
        /// Its colour.
        color: [u8; 3],
    },
    /// The line from a dot to the next version's.
    Step {
        /// The next version.
        version: String,
        /// From where to where.
        points: [Place; 2],
    },
    /// A line of text.
    Text(Text),
    /// A dot's name, and the line that leads to it where the name stands apart.
    Name {
        /// The dot's version.
        version: String,
        /// The name of the dot's level.
        level: &'static str,
        /// The name.
        text: Text,
        /// From the dot to the name.
        leader: Option<[Place; 2]>,
    },
}

/// A line of text.
pub struct Text {
    /// What it says.
    pub text: String,
    /// Left upper corner of its [`Text::size`]; of an upright one the left lower corner, its text
    /// running upwards.
    pub at: Place,
    /// Height of the letters in pixels.
    pub letters: f64,
    /// Its colour.
    pub tone: Tone,
    /// Whether it runs upwards.
    pub upright: bool,
}

impl Text {
    /// A text that runs to the right.
    pub fn new(text: impl Into<String>, at: Place, letters: f64, tone: Tone) -> Text {
        Text { text: text.into(), at, letters, tone, upright: false }
    }

    /// Width and height along the text.
    pub fn size(&self) -> Place {
        size(&self.text, self.letters)
    }
}

/// Width and height of a text.
pub fn size(text: &str, letters: f64) -> Place {
    // The same letters in each picture, whatever fonts the machine has.
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    let found = (FONT, letters).into_font().layout_box(text);
    let width = found.map_or(0.6 * letters * text.len() as f64, |((left, _), (right, _))| {
        f64::from(right - left)
    });
    // The letters of a viewer may be wider.
    (1.1 * width, 1.2 * letters)
}

/// A dot, told of where a pointer rests on it or the keyboard's focus is.
pub struct Dot {
    /// The version, the level and what is drawn of them.
    pub point: Point,
    /// What is told.
    pub told: String,
    /// Its middle.
    pub at: Place,
    /// Its shape's corners.
    pub mark: Vec<Place>,
    /// Whether the shape is an outline.
    pub hollow: bool,
    /// Where a pointer meets this dot and no other.
    pub hit: Vec<Place>,
    /// Its version's colour.
    pub color: [u8; 3],
}

/// A chart.
pub struct Scene {
    /// What it tells, in a sentence.
    pub title: String,
    /// Its pixels.
    pub size: (u32, u32),
    /// What is behind the dots, in the order in which it is drawn.
    pub shapes: Vec<Shape>,
    /// The dots, in the versions' order.
    pub dots: Vec<Dot>,
}
