//! The sizes of a matrix' elements as a map: a square for each, or for a few of them the largest, coloured by its
//! power of ten.

use std::path::Path;

use gpp_core::offdiag::Sums;

use super::scene::{Place, Scene, Shape, Text, Tone};
use super::{NAME, SUBTITLE, TITLE};
use crate::analysis::sigma::UNIT;
use crate::error::ChartError;
use crate::record::map::Grid;
use crate::record::offdiag::{Offdiag, pictured};

/// Pixels of the picture, of the map's left upper corner, and along its sides.
const SIZE: (u32, u32) = (760, 700);
const CORNER: Place = (84.0, 74.0);
const SIDE: f64 = 560.0;

/// Squares along a side at most.
const MOST: usize = 128;

/// Powers of ten below the largest that have colours of their own.
const DECADES: f64 = 6.0;

/// From small to large: told apart by all eyes, and by their lightness alone.
const COLORS: [[u8; 3]; 5] = [
    [0x44, 0x01, 0x54],
    [0x3b, 0x52, 0x8b],
    [0x21, 0x91, 0x8c],
    [0x5e, 0xc9, 0x62],
    [0xfd, 0xe7, 0x25],
];

/// What is no number.
const BROKEN: [u8; 3] = [0xd7, 0x3a, 0x7d];

/// Parts of the scale of colours.
const STEPS: usize = 48;

/// `|SX_lm + CH_lm|` at the energy nearest to the state's.
pub struct Sizes<'a> {
    record: &'a Offdiag,
    grid: Grid,
}

impl<'a> Sizes<'a> {
    /// Of the matrices.
    pub fn of(record: &'a Offdiag, sums: &Sums) -> Sizes<'a> {
        Sizes { record, grid: Grid::of(sums, pictured(&record.matrices), MOST) }
    }

    /// Of what the record holds of them; older ones hold none.
    pub fn recorded(record: &'a Offdiag) -> Option<Sizes<'a>> {
        Some(Sizes { record, grid: record.map.as_ref()?.grid() })
    }

    /// As SVG, for a page.
    pub fn inline(&self) -> String {
        super::svg::inline(&self.scene())
    }

    /// As SVG, to stand alone.
    pub fn svg(&self) -> String {
        super::svg::alone(&self.scene())
    }

    /// As a PNG file.
    ///
    /// # Errors
    /// [`ChartError::Drawing`].
    pub fn png(&self, path: &Path) -> Result<(), ChartError> {
        super::png::png(path, &self.scene())
    }

    fn scene(&self) -> Scene {
        let Sizes { record, grid: Grid { count, sizes, .. } } = self;
        let top = self.grid.largest().max(f64::MIN_POSITIVE).log10();
        let mut shapes = Vec::new();
        let pixel = SIDE / *count as f64;
        for (at, &size) in sizes.iter().enumerate() {
            let (x, y) = ((at % count) as f64 * pixel, (at / count) as f64 * pixel);
            let share = 1.0 + (size.log10() - top) / DECADES;
            shapes.push(square((CORNER.0 + x, CORNER.1 + y), (pixel, pixel), color(size, share)));
        }
        self.axes(&mut shapes);
        scale(&mut shapes, top);
        let [from, to] = record.bands;
        let title = format!("|Σ_lm| of {}, bands {from} to {to}", record.system.name);
        shapes.push(Shape::Text(Text::new(&*title, (CORNER.0, 8.0), TITLE, Tone::Ink)));
        let device = &record.head.device.name;
        let told = format!("{}, in {UNIT}; {device}", energy(record));
        let mut told = Text::new(told, (CORNER.0, 40.0), SUBTITLE, Tone::Ink);
        let room = f64::from(SIZE.0) - CORNER.0;
        told.letters *= (room / told.size().0).min(1.0);
        shapes.push(Shape::Text(told));
        Scene { title, size: SIZE, shapes, dots: Vec::new() }
    }

    /// The numbers of the first and the last band, and what they are.
    fn axes(&self, to: &mut Vec<Shape>) {
        let [first, last] = self.record.bands;
        let (right, bottom) = (CORNER.0 + SIDE, CORNER.1 + SIDE);
        for (band, part) in [(first, 0.0), (last, 1.0)] {
            let mut below = Text::new(band.to_string(), (0.0, bottom + 6.0), SUBTITLE, Tone::Ink);
            let (width, height) = below.size();
            let mut beside = Text::new(band.to_string(), (0.0, 0.0), SUBTITLE, Tone::Ink);
            below.at.0 = CORNER.0 + part * (SIDE - width);
            beside.at = (CORNER.0 - 7.0 - width, CORNER.1 + part * (SIDE - height));
            to.extend([below, beside].map(Shape::Text));
        }
        let mut m = Text::new("m", (0.0, bottom + 28.0), NAME, Tone::Ink);
        m.at.0 = f64::midpoint(CORNER.0, right);
        let l = Text::new("l", (CORNER.0 - 60.0, f64::midpoint(CORNER.1, bottom)), NAME, Tone::Ink);
        to.extend([m, l].map(Shape::Text));
    }
}

/// The energy of the matrix that is drawn.
pub fn energy(record: &Offdiag) -> String {
    let matrix = record.matrices.get(pictured(&record.matrices));
    let above = matrix.and_then(|matrix| matrix.above_state_ev);
    match above {
        None => "the bands' energies E_l".into(),
        Some(0.0) => "the state's energy".into(),
        Some(above) => format!("{above:+} eV above the state"),
    }
}

/// The scale of colours, from the largest down.
fn scale(to: &mut Vec<Shape>, top: f64) {
    let (left, step) = (CORNER.0 + SIDE + 24.0, SIDE / STEPS as f64);
    for at in 0..STEPS {
        let share = 1.0 - (at as f64 + 0.5) / STEPS as f64;
        to.push(square((left, CORNER.1 + at as f64 * step), (18.0, step), color(1.0, share)));
    }
    for decade in 0..=DECADES as i32 {
        let value = 10f64.powf(top - f64::from(decade));
        let y = CORNER.1 + SIDE * f64::from(decade) / DECADES;
        let mut text = Text::new(format!("{value:.1e}"), (left + 24.0, y), SUBTITLE, Tone::Ink);
        text.at.1 -= text.size().1 / 2.0;
        to.push(Shape::Text(text));
    }
}

fn square((x, y): Place, (width, height): Place, color: [u8; 3]) -> Shape {
    let points = vec![(x, y), (x + width, y), (x + width, y + height), (x, y + height)];
    Shape::Area { points, tone: Tone::Color(color) }
}

/// The colour of a share of the scale, of a size that is a number.
fn color(size: f64, share: f64) -> [u8; 3] {
    if !size.is_finite() {
        return BROKEN;
    }
    let place = share.clamp(0.0, 1.0) * (COLORS.len() - 1) as f64;
    let at = (place as usize).min(COLORS.len() - 2);
    let part = place - at as f64;
    let between = |i: usize| {
        let [a, b] = [COLORS[at][i], COLORS[at + 1][i]].map(f64::from);
        (a + part * (b - a)).round() as u8
    };
    [between(0), between(1), between(2)]
}
