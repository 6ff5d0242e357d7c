//! Σ(ω) as SVG and PNG: screened exchange, Coulomb hole and their sum, one below the other, with a vertex for
//! each energy.

use std::path::Path;

use num_complex::Complex64;

use super::panel::{Axis, Panel};
use super::scene::{Place, SIZE, Scene, Shape, Text, Tone};
use super::{SUBTITLE, TITLE};
use crate::analysis::sigma::{Row, Sigma, UNIT};
use crate::error::ChartError;

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
    super::svg::alone(&scene(sigma))
}

/// The chart as SVG for a page, which brings the colours.
pub fn inline(sigma: &Sigma) -> String {
    super::svg::inline(&scene(sigma))
}

/// The chart as a PNG file.
///
/// # Errors
/// [`ChartError::Drawing`].
pub fn png(path: &Path, sigma: &Sigma) -> Result<(), ChartError> {
    super::png::png(path, &scene(sigma))
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

/// What the chart shows.
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
