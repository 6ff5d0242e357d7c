//! Σ(ω) by energy: screened exchange, Coulomb hole and their sum, one below the other. And the sizes of a matrix'
//! elements as a map.

use std::ops::Range;

use gpp_core::offdiag::Sums;
use num_complex::Complex64;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::chart::{
    Area, Chart, Drawn, EDGE, EXPLAINED, HEAD, INK, NAME, head, letters, middle, width,
};
use crate::record::offdiag::{Grid, Offdiag, pictured};
use crate::sigma::{Row, Sigma, UNIT};

/// Pixels beside and below the plots, for numbers.
const LEFT: i32 = 84;
const BELOW: i32 = 54;
const RIGHT: i32 = 16;
const BETWEEN: i32 = 16;

/// Room above and below the values, as a share of their width; beside them.
const ABOVE: f64 = 0.05;
const BESIDE: f64 = 0.01;

/// A part of a sum: its name, its colour, and what it is.
type Part = (&'static str, RGBColor, fn(Complex64) -> f64);

/// Read on white and on black, and told apart by all eyes.
const PARTS: [Part; 2] =
    [("Re", RGBColor(0x12, 0x7c, 0xf4), |z| z.re), ("Im", RGBColor(0xc7, 0x5e, 0x00), |z| z.im)];

type Sum = (&'static str, fn(&Row) -> Complex64);

const SUMS: [Sum; 3] = [
    ("SX(ω) [vcoul]", |row| row.sx),
    ("CH(ω) [vcoul]", |row| row.ch),
    ("Σ(ω) [vcoul]", Row::total),
];

impl Chart for Sigma<'_> {
    fn title(&self) -> String {
        let (system, device) = (&self.run.system.name, &self.run.head.device.name);
        let count = match self.rows.len() {
            1 => "one energy".into(),
            nw => format!("{nw} energies"),
        };
        format!("Σ(ω) of {system} at {count}, {} on {device}", self.result.version)
    }

    fn size(&self) -> (u32, u32) {
        (960, 640)
    }

    fn draw<B: DrawingBackend>(&self, on: &Area<B>) -> Drawn<B> {
        let x = Axis::of(self.rows.iter().map(|row| row.above_ev), BESIDE);
        let (wide, high) = on.dim_in_pixel();
        let each = (high as i32 - HEAD - BELOW) / SUMS.len() as i32;
        for (at, (name, sum)) in SUMS.iter().enumerate() {
            let values = self.rows.iter().map(sum).flat_map(|z| [z.re, z.im]);
            let y = Axis::of(values, ABOVE);
            let is_last = at + 1 == SUMS.len();
            let (top, below) = (HEAD + at as i32 * each, if is_last { BELOW } else { 0 });
            let end = top + each + below;
            let panel = on.clone().shrink((0, top), (wide, (end - top) as u32));
            let mut plot = ChartBuilder::on(&panel)
                .margin_right(RIGHT)
                .margin_bottom(if is_last { 0 } else { BETWEEN })
                .x_label_area_size(below)
                .margin_left(EDGE)
                .y_label_area_size(LEFT - EDGE)
                .build_cartesian_2d(x.range.clone(), y.range.clone())?;
            plot.configure_mesh()
                .bold_line_style(INK.mix(0.1))
                .light_line_style(INK.mix(0.0))
                .axis_style(INK)
                .label_style(letters(NAME))
                .x_labels(12)
                .y_labels(5)
                .x_label_formatter(&|value| x.number(*value))
                .y_label_formatter(&|value| y.number(*value))
                .x_desc(if is_last { x.named("ω − E of the state [eV]") } else { String::new() })
                .y_desc(y.named(name))
                .draw()?;
            let (Range { start: left, end: right }, Range { start, end }) = (&x.range, &y.range);
            for zero in [[(0.0, *start), (0.0, *end)], [(*left, 0.0), (*right, 0.0)]] {
                if x.range.contains(&zero[0].0) && y.range.contains(&zero[0].1) {
                    plot.draw_series([PathElement::new(zero, INK.mix(0.35))])?;
                }
            }
            // What is real in most places lies over what is imaginary there.
            for (_, color, part) in PARTS.iter().rev() {
                let place = |row: &Row| (x.scaled(row.above_ev), y.scaled(part(sum(row))));
                let places: Vec<(f64, f64)> = self.rows.iter().map(place).collect();
                // Lines end where a value is no number. The library draws those of a pixel vertex by vertex.
                for line in places.split(|(_, value)| !value.is_finite()) {
                    match line {
                        [] => {}
                        [one] => drop(plot.draw_series([Circle::new(*one, 2, color.filled())])?),
                        all => drop(plot.draw_series(LineSeries::new(all.to_vec(), color))?),
                    }
                }
            }
        }
        let mut x = LEFT;
        for (name, color, _) in &PARTS {
            let line = vec![(x, EXPLAINED), (x + 22, EXPLAINED)];
            on.draw(&PathElement::new(line, color.stroke_width(2)))?;
            on.draw_text(name, &middle(NAME, HPos::Left), (x + 28, EXPLAINED))?;
            x += width(on, name, NAME) + 46;
        }
        let panels = format!("screened exchange, Coulomb hole and their sum, in {UNIT}");
        let known = match self.broken().len() {
            0 => panels,
            broken => {
                let all = self.rows.len();
                format!("no number at {broken} of {all}: lines end there; {panels}")
            }
        };
        head(on, LEFT, &self.title(), &known, wide as i32 - RIGHT - x)
    }
}

/// Sizes of what has numbers as they are, and the least width of an axis relative to its values.
const PLAIN: Range<f64> = 1e-3..1e5;
const NARROWEST: f64 = 1e-6;

/// An even axis in units of a power of ten.
struct Axis {
    range: Range<f64>,
    exponent: i32,
}

impl Axis {
    /// With room for these values, and beyond them for this share of their width; what is no number has no
    /// place.
    fn of(values: impl Iterator<Item = f64> + Clone, beyond: f64) -> Axis {
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

    fn scaled(&self, value: f64) -> f64 {
        value / 10f64.powi(self.exponent)
    }

    /// With as many digits as tell the numbers of the axis apart.
    fn number(&self, value: f64) -> String {
        let step = (self.range.end - self.range.start) / 20.0;
        let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
        let text = format!("{value:.digits$}");
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        if text == "-0" { "0".into() } else { text.into() }
    }

    fn named(&self, name: &str) -> String {
        match self.exponent {
            0 => name.into(),
            exponent => format!("{name}, in 1e{exponent}"),
        }
    }
}

/// Pixels along the map's sides.
const SIDE: i32 = 560;

/// Squares along a side at most.
const MOST: usize = 128;

/// Powers of ten below the largest that have colours of their own.
const DECADES: i32 = 6;

/// Parts of the scale of colours.
const STEPS: i32 = 48;

const BROKEN: RGBColor = RGBColor(0xd7, 0x3a, 0x7d);

/// `|SX_lm + CH_lm|` at the energy nearest to the state's: a square for each element, or for a few of them the
/// largest, coloured by its power of ten.
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
}

impl Chart for Sizes<'_> {
    fn title(&self) -> String {
        let [from, to] = self.record.bands;
        format!("|Σ_lm| of {}, bands {from} to {to}", self.record.system.name)
    }

    fn size(&self) -> (u32, u32) {
        (760, 700)
    }

    fn draw<B: DrawingBackend>(&self, on: &Area<B>) -> Drawn<B> {
        let Sizes { record, grid } = self;
        let top = grid.largest().max(f64::MIN_POSITIVE).log10();
        let (right, bottom) = (LEFT + SIDE, HEAD + SIDE);
        let color = |share: f64| ViridisRGB.get_color(share.clamp(0.0, 1.0) as f32);
        let edge = |at: usize| (at * SIDE as usize / grid.count) as i32;
        for (at, size) in grid.sizes.iter().enumerate() {
            let (l, m) = (at / grid.count, at % grid.count);
            let [from, to] =
                [(m, l), (m + 1, l + 1)].map(|(x, y)| (LEFT + edge(x), HEAD + edge(y)));
            let share = 1.0 + (size.log10() - top) / f64::from(DECADES);
            let color = if size.is_finite() { color(share) } else { BROKEN };
            on.draw(&Rectangle::new([from, to], color.filled()))?;
        }
        let [first, last] = record.bands.map(|band| band.to_string());
        let text = |text: &str, across: HPos, at: (i32, i32)| {
            on.draw_text(text, &middle(NAME, across), at)
        };
        text(&first, HPos::Left, (LEFT, bottom + 14))?;
        text(&last, HPos::Right, (right, bottom + 14))?;
        text(&first, HPos::Right, (LEFT - 7, HEAD + 8))?;
        text(&last, HPos::Right, (LEFT - 7, bottom - 8))?;
        text("m", HPos::Center, (i32::midpoint(LEFT, right), bottom + 36))?;
        text("l", HPos::Center, (LEFT - 50, i32::midpoint(HEAD, bottom)))?;

        // The scale of colours, from the largest down: told apart by all eyes, and by their lightness alone.
        let part = |at: i32, of: i32| HEAD + SIDE * at / of;
        for at in 0..STEPS {
            let corners = [(right + 24, part(at, STEPS)), (right + 42, part(at + 1, STEPS))];
            let share = 1.0 - (f64::from(at) + 0.5) / f64::from(STEPS);
            on.draw(&Rectangle::new(corners, color(share).filled()))?;
        }
        for decade in 0..=DECADES {
            let value = 10f64.powf(top - f64::from(decade));
            text(&format!("{value:.1e}"), HPos::Left, (right + 48, part(decade, DECADES)))?;
        }
        let known = format!("{}, in {UNIT}; {}", energy(record), record.head.device.name);
        head(on, LEFT, &self.title(), &known, self.size().0 as i32 - RIGHT - LEFT)
    }
}

/// The energy of the matrix that is drawn.
fn energy(record: &Offdiag) -> String {
    let matrix = record.matrices.get(pictured(&record.matrices));
    let above = matrix.and_then(|matrix| matrix.above_state_ev);
    match above {
        None => "the bands' energies E_l".into(),
        Some(0.0) => "the state's energy".into(),
        Some(above) => format!("{above:+} eV above the state"),
    }
}
