//! Σ(ω) as SVG and PNG: screened exchange, Coulomb hole and their sum, one below the other, with a vertex for
//! each energy.

use std::path::Path;

use gpp_core::offdiag::Sums;
use num_complex::Complex64;

use crate::chart::scene::{Place, SIZE, Scene, Shape, Text, Tone};
use crate::chart::{Axis, NAME, Panel, SUBTITLE, TITLE};
use crate::error::ChartError;
use crate::record::offdiag::{Grid, Offdiag, pictured};
use crate::sigma::{Row, Sigma, UNIT};

/// Pixels around the panels, left, top, right, bottom, and between two of them.
const AROUND: [f64; 4] = [84.0, 66.0, 16.0, 54.0];
const BETWEEN: f64 = 16.0;

/// Room above and below the values, as a share of their width; beside them.
const ABOVE: f64 = 0.05;
const BESIDE: f64 = 0.01;

/// A part of a sum: its name, that of its curves, its colour, and what it is.
struct Part {
    name: &'static str,
    id: &'static str,
    color: [u8; 3],
    of: fn(Complex64) -> f64,
}

/// Read on white and on black, and told apart by all eyes.
const PARTS: [Part; 2] = [
    Part { name: "Re", id: "re", color: [0x12, 0x7c, 0xf4], of: |z| z.re },
    Part { name: "Im", id: "im", color: [0xc7, 0x5e, 0x00], of: |z| z.im },
];

/// A sum: its name, that of its curves, and which it is.
struct Sum {
    name: &'static str,
    id: &'static str,
    of: fn(&Row) -> Complex64,
}

const SUMS: [Sum; 3] = [
    Sum { name: "SX(ω) [vcoul]", id: "sx", of: |row| row.sx },
    Sum { name: "CH(ω) [vcoul]", id: "ch", of: |row| row.ch },
    Sum { name: "Σ(ω) [vcoul]", id: "sigma", of: Row::total },
];

/// The chart as SVG, to stand alone. The curves have the class `curve` and an attribute
/// `data-curve`, re-sx to im-sigma.
pub fn svg(sigma: &Sigma) -> String {
    scene(sigma).svg()
}

/// The chart as SVG for a page, which brings the colours.
pub fn inline(sigma: &Sigma) -> String {
    scene(sigma).inline()
}

pub fn png(path: &Path, sigma: &Sigma) -> Result<(), ChartError> {
    scene(sigma).png(path)
}

fn scene(sigma: &Sigma) -> Scene {
    let rows = &sigma.rows;
    let [left, top, right, bottom] = AROUND;
    let (right, bottom) = (f64::from(SIZE.0) - right, f64::from(SIZE.1) - bottom);
    let gaps = (SUMS.len() - 1) as f64 * BETWEEN;
    let height = (bottom - top - gaps) / SUMS.len() as f64;
    let x = Axis::of(rows.iter().map(|row| row.above_ev), BESIDE);
    let mut shapes = Vec::new();
    for (at, sum) in SUMS.iter().enumerate() {
        let top = top + at as f64 * (height + BETWEEN);
        let values = rows.iter().map(sum.of).flat_map(|z| [z.re, z.im]);
        let y = Axis::of(values, ABOVE);
        let panel = Panel { frame: [left, top, right, top + height], x: &x, y };
        panel.draw(sum.name, &mut shapes);
        if at + 1 == SUMS.len() {
            panel.draw_below("ω − E of the state [eV]", &mut shapes);
        }
        // What is real in most places lies over what is imaginary there.
        for part in PARTS.iter().rev() {
            let values = rows.iter().map(|row| (row.above_ev, (part.of)((sum.of)(row))));
            let id = format!("{}-{}", part.id, sum.id);
            for points in unbroken(values, |x, y| panel.place(x, y)) {
                shapes.push(Shape::Curve { id: id.clone(), points, color: part.color });
            }
        }
    }
    let title = title(sigma);
    head(&mut shapes, &title, sigma, [left, right]);
    Scene { title, size: SIZE, shapes, dots: Vec::new() }
}

fn title(sigma: &Sigma) -> String {
    let (system, device) = (&sigma.run.system.name, &sigma.run.head.device.name);
    let count = match sigma.rows.len() {
        1 => "one energy".into(),
        nw => format!("{nw} energies"),
    };
    format!("Σ(ω) of {system} at {count}, {} on {device}", sigma.result.version)
}

/// The places of values one after another, parted where one is no number.
fn unbroken(
    values: impl Iterator<Item = (f64, f64)>,
    place: impl Fn(f64, f64) -> Place,
) -> Vec<Vec<Place>> {
    let mut lines = vec![Vec::new()];
    for (x, y) in values {
        match lines.last_mut() {
            Some(line) if y.is_finite() => line.push(place(x, y)),
            Some(line) if line.is_empty() => {}
            _ => lines.push(Vec::new()),
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// Title, which colour is which part, which panel which sum, and how often there is no number.
fn head(to: &mut Vec<Shape>, title: &str, sigma: &Sigma, [left, right]: [f64; 2]) {
    let text = Text::new(title, (left, 8.0), TITLE, Tone::Ink);
    // A long title is made to fit.
    let letters = TITLE * ((right - left) / text.size().0).min(1.0);
    to.push(Shape::Text(Text { letters, ..text }));
    let mut x = left;
    for part in &PARTS {
        let (points, tone) = (vec![(x, 49.0), (x + 22.0, 49.0)], Tone::Color(part.color));
        to.push(Shape::Line { points, tone, width: 2.0, opacity: 1.0 });
        let name = Text::new(part.name, (x + 28.0, 40.0), SUBTITLE, Tone::Ink);
        x += name.size().0 + 46.0;
        to.push(Shape::Text(name));
    }
    let broken = sigma.broken().len();
    if broken > 0 {
        let said = format!("no number at {broken} of {}: lines end there", sigma.rows.len());
        to.push(Shape::Text(Text::new(said, (x + 8.0, 40.0), SUBTITLE, Tone::Ink)));
    }
    let panels = format!("screened exchange, Coulomb hole and their sum, in {UNIT}");
    let mut said = Text::new(panels, (0.0, 40.0), SUBTITLE, Tone::Ink);
    said.at.0 = right - said.size().0;
    to.push(Shape::Text(said));
}

// The sizes of a matrix' elements as a map: a square for each, or for a few of them the largest, coloured by its
// power of ten.

/// Pixels of the picture, of the map's left upper corner, and along its sides.
const MATRIX_SIZE: (u32, u32) = (760, 700);
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

const BROKEN: [u8; 3] = [0xd7, 0x3a, 0x7d];

/// Parts of the scale of colours.
const STEPS: usize = 48;

/// `|SX_lm + CH_lm|` at the energy nearest to the state's.
pub struct Sizes<'a> {
    record: &'a Offdiag,
    grid: Grid,
}

impl<'a> Sizes<'a> {
    pub fn of(record: &'a Offdiag, sums: &Sums) -> Sizes<'a> {
        Sizes { record, grid: Grid::of(sums, pictured(&record.matrices), MOST) }
    }

    /// Of what the record holds of them; older ones hold none.
    pub fn recorded(record: &'a Offdiag) -> Option<Sizes<'a>> {
        Some(Sizes { record, grid: record.map.as_ref()?.grid() })
    }

    pub fn inline(&self) -> String {
        self.scene().inline()
    }

    pub fn svg(&self) -> String {
        self.scene().svg()
    }

    pub fn png(&self, path: &Path) -> Result<(), ChartError> {
        self.scene().png(path)
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
        let room = f64::from(MATRIX_SIZE.0) - CORNER.0;
        told.letters *= (room / told.size().0).min(1.0);
        shapes.push(Shape::Text(told));
        Scene { title, size: MATRIX_SIZE, shapes, dots: Vec::new() }
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
