//! Charts as SVG and PNG by one drawing for both: rooflines, Σ(ω) by energy, and the sizes of a matrix' elements.

use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Once;

use gpp_core::offdiag::Sums;
use image::ImageEncoder;
use maud::{PreEscaped, html};
use num_complex::Complex64;
use plotters::coord::Shift;
use plotters::coord::combinators::IntoLogRange;
use plotters::prelude::*;
use plotters::style::register_font;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::catalogue::order;
use crate::error::{Error, Result};
use crate::offdiag::records::{COUNTED, EXECUTED, Matrices};
use crate::output::replace;
use crate::record::offdiag::{Offdiag, pictured};
use crate::record::profile::{Ceilings, Profile};
use crate::record::run::{Row, Sigma, UNIT};
use crate::roofline::{Level, Point, Timing, point};

/// Letters of a viewer's own font in an SVG, and of the font below in a PNG.
const FONT: &str = "sans-serif";

/// Heights of letters in pixels.
const TITLE: f64 = 22.0;
const NAME: f64 = 18.0;

/// Of axes, roofs and texts.
const INK: RGBColor = RGBColor(28, 35, 43);

/// Pixels above a plot, and the middle of the line below the title.
const HEAD: i32 = 66;
const EXPLAINED: i32 = 48;

/// Pixels before the name of an upright axis.
const EDGE: i32 = 8;

pub type Area<B> = DrawingArea<B, Shift>;
pub type Drawn<B> = std::result::Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// What can be drawn.
pub trait Chart {
    fn title(&self) -> String;

    /// Width and height in pixels.
    fn size(&self) -> (u32, u32);

    /// Draws onto a white area of that size.
    fn draw<B: DrawingBackend>(&self, on: &Area<B>) -> Drawn<B>;

    /// The chart as SVG, to stand alone.
    fn svg(&self) -> String {
        let (width, height) = self.size();
        let mut text = String::new();
        drawn(self, &SVGBackend::with_string(&mut text, self.size()).into_drawing_area());
        let inside = text.split_once("<svg").and_then(|(_, rest)| rest.split_once('>'));
        let inside = inside.map_or("", |(_, inside)| inside).replace("</svg>", "");
        let markup = html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(height)
                viewBox=(format!("0 0 {width} {height}")) role="img" aria-label=(self.title()) {
                (PreEscaped(inside))
            }
        };
        markup.into_string()
    }

    /// The chart as SVG for a page: on the page's paper and with its ink.
    fn inline(&self) -> String {
        let RGBColor(r, g, b) = INK;
        let ink = format!("\"#{r:02X}{g:02X}{b:02X}\"");
        self.svg().replace(&ink, "\"currentColor\"").replace("\"#FFFFFF\"", "\"none\"")
    }

    fn png(&self) -> Vec<u8> {
        let (width, height) = self.size();
        let mut pixels = vec![0; 3 * width as usize * height as usize];
        let area = BitMapBackend::with_buffer(&mut pixels, self.size()).into_drawing_area();
        drawn(self, &area);
        drop(area);
        let mut bytes = Vec::new();
        let encoder = image::codecs::png::PngEncoder::new(&mut bytes);
        let written = encoder.write_image(&pixels, width, height, image::ColorType::Rgb8);
        written.expect("memory takes what is written");
        bytes
    }
}

fn drawn<B: DrawingBackend>(chart: &(impl Chart + ?Sized), area: &Area<B>) {
    // The same letters in each picture, whatever fonts the machine has.
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    let all = area.fill(&WHITE).and_then(|()| chart.draw(area)).and_then(|()| area.present());
    all.expect("memory takes what is drawn, and the font is there");
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    Svg,
    Png,
}

impl Picture {
    /// That of a file, by its name's ending.
    pub fn of(path: &Path) -> Result<Picture> {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match ending.as_str() {
            "svg" => Ok(Picture::Svg),
            "png" => Ok(Picture::Png),
            _ => Err(Error::write(path, "a plot's name ends in .svg or .png")),
        }
    }

    /// Writes a chart, whole or not at all.
    pub fn write(self, path: &Path, chart: &impl Chart) -> Result<()> {
        let bytes = match self {
            Picture::Svg => chart.svg().into_bytes(),
            Picture::Png => chart.png(),
        };
        replace(path, |file| file.write_all(&bytes))
    }
}

fn letters(size: f64) -> TextStyle<'static> {
    (FONT, size).into_font().color(&INK)
}

/// The same, placed by the middle of its height.
fn middle(size: f64, across: HPos) -> TextStyle<'static> {
    letters(size).pos(Pos::new(across, VPos::Center))
}

/// Pixels across a text.
fn width<B: DrawingBackend>(on: &Area<B>, text: &str, size: f64) -> i32 {
    // Without a font nothing is drawn, which drawing says. The letters of a viewer may be wider.
    on.estimate_text_size(text, &letters(size))
        .map_or(0, |(width, _)| (1.1 * f64::from(width)) as i32)
}

/// Draws a title at the top, and at the end of the line below it what is to be known; each is made to fit.
fn head<B: DrawingBackend>(
    on: &Area<B>,
    left: i32,
    title: &str,
    known: &str,
    room: i32,
) -> Drawn<B> {
    let right = on.dim_in_pixel().0 as i32 - 16;
    let fit = |text: &str, size: f64, room: i32| {
        size * (f64::from(room) / f64::from(width(on, text, size).max(1))).clamp(0.2, 1.0)
    };
    let size = fit(title, TITLE, right - left);
    on.draw_text(title, &middle(size, HPos::Left), (left, 20))?;
    let size = fit(known, NAME, room);
    on.draw_text(known, &middle(size, HPos::Right), (right, EXPLAINED))
}

// Rooflines: operations a second over operations per byte, under the ceilings of the device.

/// Colours of versions in their order, repeated: of equal lightness, so that each can be read on a light and on a dark
/// background, and neighbours differ in hue.
const COLORS: [u32; 14] = [
    0xed4a49, 0x039953, 0x7e75ff, 0xc75e00, 0x05a38e, 0xa155da, 0xba7f01, 0x03919d, 0xd052be,
    0x908200, 0x0399cb, 0xd73a7d, 0x6f9e04, 0x127cf4,
];

/// Narrow, so that its letters can be read on a phone.
const SIZE: (u32, u32) = (640, 480);

/// Pixels to the left of the plot and below it; from the plot to the names at its right, and for them at most.
const AT_LEFT: i32 = 66;
const AT_BOTTOM: i32 = 54;
const TO_NAMES: i32 = 30;
const NAMES: i32 = 160;

/// Pixels from a name to the next.
const LINE: i32 = 18;

/// Points beyond these are not drawn.
const INTENSITIES: Range<f64> = 1e-6..1e9;
const RATES: Range<f64> = 1.0..1e21;

/// A roofline at one level of the memory.
pub struct Roofline<'a> {
    title: String,
    level: Level,
    counted: Vec<Point>,
    /// The same as outlines, by the operations that are executed; none if these are the ones counted.
    executed: Vec<Point>,
    ceilings: &'a Ceilings,
    /// The peak of tensor cores, if it is drawn.
    matrix: Option<f64>,
    source: &'static str,
}

impl<'a> Roofline<'a> {
    pub fn of(
        title: &str,
        profiles: &[&Profile],
        ceilings: &'a Ceilings,
        level: Level,
    ) -> Roofline<'a> {
        let timing = Timing::of(profiles.iter().copied());
        Roofline {
            title: format!("{}, {title}", ceilings.device),
            level,
            counted: profiles.iter().filter_map(|own| point(own, level, timing)).collect(),
            executed: Vec::new(),
            ceilings,
            matrix: None,
            source: match timing {
                Timing::Runs => "times and ceilings: runs",
                Timing::Profiler => "times: under the profiler; ceilings: runs",
            },
        }
    }

    /// Of versions of Σ as a matrix.
    pub fn of_matrices(of: &Matrices<'a>) -> Roofline<'a> {
        Roofline {
            title: format!("{}, {}", of.ceilings.device, of.title),
            level: Level::Hbm,
            counted: of.points.clone(),
            executed: of.executed(),
            ceilings: of.ceilings,
            matrix: of.matrix,
            source: "rates and ceilings: runs",
        }
    }

    fn color(&self, version: &str) -> RGBColor {
        let among = || self.counted.iter().position(|own| own.version == version).unwrap_or(0);
        let own = COLORS[order::place(version).unwrap_or_else(among) % COLORS.len()];
        let [_, r, g, b] = own.to_be_bytes();
        RGBColor(r, g, b)
    }

    /// Axes with room for the points and the ceilings.
    fn axes(&self, all: &[&Point]) -> [Range<f64>; 2] {
        let Ceilings { fp64, hbm, .. } = *self.ceilings;
        let bandwidth = self.level.bandwidth(self.ceilings).unwrap_or(hbm);
        let range = |values: Vec<f64>, possible: Range<f64>, beyond: f64| {
            let values = values.into_iter().filter(|value| possible.contains(value));
            let (low, high) = values
                .fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)));
            if low <= high { low / 1.6..high * beyond } else { 1.0..10.0 }
        };
        let x = all.iter().map(|point| point.intensity).chain([fp64 / bandwidth]).collect();
        let y = all.iter().map(|point| point.flops_per_s).chain([fp64]).chain(self.matrix);
        [range(x, INTENSITIES, 1.9), range(y.collect(), RATES, 1.6)]
    }
}

impl Chart for Roofline<'_> {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw<B: DrawingBackend>(&self, on: &Area<B>) -> Drawn<B> {
        let fits = |point: &&Point| {
            INTENSITIES.contains(&point.intensity) && RATES.contains(&point.flops_per_s)
        };
        let counted: Vec<&Point> = self.counted.iter().filter(fits).collect();
        let executed: Vec<&Point> = self.executed.iter().filter(fits).collect();
        let all = [&counted[..], &executed].concat();
        let lost = self.counted.len() + self.executed.len() - all.len();
        let [x, y] = self.axes(&all);
        let (unit, prefix) = unit(y.end);
        let names = all.iter().map(|point| width(on, &point.version, NAME)).max().unwrap_or(0);
        let right = SIZE.0 as i32 - TO_NAMES - names.min(NAMES) - 6;
        let (top, bottom) = (HEAD, SIZE.1 as i32 - AT_BOTTOM);
        let axis = |range: &Range<f64>| {
            let numbers = ticks(range, &[1.0, 2.0, 5.0]);
            let lines = ticks(range, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
            range.clone().log_scale().with_key_points(numbers).with_light_points(lines)
        };
        let mut plot = ChartBuilder::on(on)
            .margin_top(top)
            .margin_right(SIZE.0 as i32 - right)
            .x_label_area_size(AT_BOTTOM)
            .margin_left(EDGE)
            .y_label_area_size(AT_LEFT - EDGE)
            .build_cartesian_2d(axis(&x), axis(&y))?;
        plot.configure_mesh()
            .bold_line_style(INK.mix(0.1))
            .light_line_style(INK.mix(0.1))
            .axis_style(INK)
            .label_style(letters(NAME))
            .x_label_formatter(&|value| plain(*value))
            .y_label_formatter(&|value| plain(value / unit))
            .x_desc("arithmetic intensity [FLOP/byte]")
            .y_desc(format!("{prefix}FLOP/s"))
            .draw()?;
        let pixel = |x: f64, y: f64| plot.backend_coord(&(x, y));

        // Each version's name at the right, and a line to it.
        let at = |point: &Point| pixel(point.intensity, point.flops_per_s);
        let mut named: Vec<(&str, (i32, i32))> =
            counted.iter().map(|point| (&*point.version, at(point))).collect();
        named.sort_by_key(|(_, (_, y))| *y);
        let heights = spread(named.iter().map(|(_, (_, y))| *y), top..bottom);
        for ((name, (x, y)), height) in named.into_iter().zip(heights) {
            let ends = vec![(x, y), (right, y), (right + TO_NAMES - 5, height)];
            on.draw(&PathElement::new(ends, self.color(name).mix(0.6)))?;
            on.draw_text(name, &middle(NAME, HPos::Left), (right + TO_NAMES, height))?;
        }
        let steps: Vec<(i32, i32)> = counted.iter().map(|point| at(point)).collect();
        on.draw(&PathElement::new(steps, INK.mix(0.25)))?;

        let Ceilings { fp64, .. } = *self.ceilings;
        let highest = self.matrix.unwrap_or(fp64);
        let bandwidth = self.level.bandwidth(self.ceilings);
        let ridge =
            |peak: f64| bandwidth.map_or(x.start, |bandwidth| (peak / bandwidth).max(x.start));
        if let Some(bandwidth) = bandwidth {
            let from = x.start.max(y.start / bandwidth);
            let ends = [from, ridge(highest).min(x.end)].map(|x| pixel(x, x * bandwidth));
            on.draw(&PathElement::new(ends.to_vec(), INK.mix(0.9)))?;
            let name = format!("{} {}", self.level.name(), rate(bandwidth, 1, "B/s"));
            let [from, to] = ends;
            let place = (from.0 + (to.0 - from.0) / 3 + 10, from.1 + (to.1 - from.1) / 3 + 10);
            on.draw_text(&name, &middle(NAME, HPos::Left), place)?;
        }
        let vectors = if self.matrix.is_some() { "FP64 vector peak" } else { "FP64 peak" };
        let peaks =
            [(Some(fp64), vectors, ""), (self.matrix, "FP64 matrix peak", ", by its clock")];
        for (peak, name, promised) in peaks {
            let Some(peak) = peak else { continue };
            let ends = [ridge(peak), x.end].map(|x| pixel(x, peak));
            on.draw(&PathElement::new(ends.to_vec(), INK.mix(0.9)))?;
            let name = format!("{name} {}{promised}", rate(peak, 1, "FLOP/s"));
            on.draw_text(&name, &middle(NAME, HPos::Right), (right - 6, ends[1].1 - 11))?;
        }
        for point in counted {
            on.draw(&Circle::new(at(point), 5, self.color(&point.version).filled()))?;
        }
        for point in executed {
            on.draw(&Circle::new(at(point), 5, self.color(&point.version).stroke_width(2)))?;
        }
        let outlines = match self.executed.is_empty() {
            true => String::new(),
            false => format!("; outlines: executed, {EXECUTED} of {COUNTED} operations"),
        };
        let left_out = if lost > 0 { format!("points not drawn: {lost}; ") } else { String::new() };
        let known = format!("{left_out}by {}{outlines}; {}", self.level.name(), self.source);
        head(on, AT_LEFT, &self.title, &known, SIZE.0 as i32 - 16 - AT_LEFT)
    }
}

/// Heights of names: as near to those wanted as possible, a line apart if there is room.
fn spread(wanted: impl ExactSizeIterator<Item = i32>, within: Range<i32>) -> Vec<i32> {
    let line = LINE.min((within.end - within.start) / (wanted.len().max(1) as i32));
    let mut next = within.start + line / 2;
    let mut heights: Vec<i32> = Vec::new();
    for height in wanted {
        heights.push(height.max(next));
        next = heights[heights.len() - 1] + line;
    }
    let mut next = within.end - line / 2;
    for height in heights.iter_mut().rev() {
        *height = next.min(*height);
        next = *height - line;
    }
    heights
}

fn rate(value: f64, digits: usize, of: &str) -> String {
    let (size, prefix) = unit(value);
    format!("{:.digits$} {prefix}{of}", value / size)
}

/// The unit for rates of this size, and its prefix.
fn unit(rate: f64) -> (f64, char) {
    if rate < 1e12 { (1e9, 'G') } else { (1e12, 'T') }
}

/// Multiples of powers of ten on an axis; on one of many powers these alone, or some of them.
fn ticks(axis: &Range<f64>, digits: &[f64]) -> Vec<f64> {
    let [first, last] = [axis.start.log10().floor() as i32, axis.end.log10().ceil() as i32];
    let digits = if last - first > 5 { &digits[..1] } else { digits };
    let powers = (first..=last).step_by(1 + (last - first) as usize / 8);
    let all = powers.flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)));
    all.filter(|value| axis.contains(value)).collect()
}

/// A number without needless zeros.
fn plain(value: f64) -> String {
    if !(1e-3..1e6).contains(&value) {
        return format!("{value:.0e}");
    }
    let digits = (-value.log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}")
}

// Σ(ω) by energy: screened exchange, Coulomb hole and their sum, one below the other.

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

/// Colours that are readable on white and on black, also for colour-blind readers.
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

// The sizes of a matrix' elements as a map.

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
    /// Squares along a side, and the size of square `(l, m)` at `count · l + m`.
    count: usize,
    sizes: Vec<f64>,
}

impl<'a> Sizes<'a> {
    pub fn of(record: &'a Offdiag, sums: &Sums) -> Sizes<'a> {
        let iw = pictured(&record.matrices);
        let each = sums.bands.div_ceil(MOST);
        let count = sums.bands.div_ceil(each);
        let bands = |square: usize| square * each..sums.bands.min((square + 1) * each);
        let largest = |at: usize| {
            let all =
                bands(at / count).flat_map(|l| bands(at % count).map(move |m| sums.at(l, m, iw)));
            // NaN is larger than all numbers, whatever its sign.
            let sizes = all.map(|at| (sums.sx[at] + sums.ch[at]).norm().abs());
            sizes.max_by(f64::total_cmp).unwrap_or(0.0)
        };
        Sizes { record, count, sizes: (0..count * count).map(largest).collect() }
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
        let Sizes { record, count, sizes } = self;
        let finite = sizes.iter().copied().filter(|size| size.is_finite());
        let top = finite.fold(f64::MIN_POSITIVE, f64::max).log10();
        let (right, bottom) = (LEFT + SIDE, HEAD + SIDE);
        let color = |share: f64| ViridisRGB.get_color(share.clamp(0.0, 1.0) as f32);
        let edge = |at: usize| (at * SIDE as usize / count) as i32;
        for (at, size) in sizes.iter().enumerate() {
            let (l, m) = (at / count, at % count);
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

        // The scale of colours, from the largest down.
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
