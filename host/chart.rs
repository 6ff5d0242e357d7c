//! Charts in SVG: times, rooflines and Σ(ω).

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use maud::html;
use num_complex::Complex64;
use plotters::coord::Shift;
use plotters::coord::combinators::IntoLogRange;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::catalogue::{self, SERIES};
use crate::error::Result;
use crate::output::replace;
use crate::record::run::{Sigma, SigmaRow, UNIT};
use crate::record::{Ceilings, LEVELS, MemoryLevel, Point, Profile, point};

/// Heights of letters in pixels.
const TITLE: f64 = 22.0;
const LABEL: f64 = 18.0;

const INK: RGBColor = RGBColor(28, 35, 43);

/// Pixels above a plot, and the middle of the line below the title.
const TOP: i32 = 66;
const SUBTITLE: i32 = 48;

/// Pixels before the label of a vertical axis.
const EDGE: i32 = 8;

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub type Drawn = std::result::Result<(), DrawingAreaErrorKind<std::io::Error>>;

pub trait Chart {
    fn title(&self) -> String;

    /// Width and height in pixels.
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw(&self, on: &Area) -> Drawn;

    fn svg(&self) -> String {
        let mut text = String::new();
        let area = SVGBackend::with_string(&mut text, self.size()).into_drawing_area();
        let drawn = area.fill(&WHITE).and_then(|()| self.draw(&area)).and_then(|()| area.present());
        drawn.expect("memory does not fail");
        drop(area);
        let title = html! { (self.title()) }.into_string();
        text.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{title}\" "), 1)
    }

    /// The SVG in the colours of the page around it.
    fn inline(&self) -> String {
        let RGBColor(r, g, b) = INK;
        let ink = format!("\"#{r:02X}{g:02X}{b:02X}\"");
        self.svg().replace(&ink, "\"currentColor\"").replace("\"#FFFFFF\"", "\"none\"")
    }
}

pub fn write_svg(path: &Path, chart: &impl Chart) -> Result<()> {
    replace(path, |file| file.write_all(chart.svg().as_bytes()))
}

fn letters(size: f64) -> TextStyle<'static> {
    // The viewer's own font.
    ("sans-serif", size).into_font().color(&INK)
}

fn middle(size: f64, across: HPos) -> TextStyle<'static> {
    letters(size).pos(Pos::new(across, VPos::Center))
}

/// Width of a text in pixels, with room for wider fonts of a viewer.
fn width(on: &Area, text: &str, size: f64) -> i32 {
    let estimated = on.estimate_text_size(text, &letters(size));
    estimated.map_or(0, |(width, _)| (1.1 * f64::from(width)) as i32)
}

/// Draws a title, and a subtitle at the right of the line below it, both made to fit; the subtitle begins at `from`.
fn head(on: &Area, left: i32, title: &str, subtitle: &str, from: i32) -> Drawn {
    let right = on.dim_in_pixel().0 as i32 - 16;
    let fit = |text: &str, size: f64, room: i32| {
        size * (f64::from(room) / f64::from(width(on, text, size).max(1))).clamp(0.2, 1.0)
    };
    let size = fit(title, TITLE, right - left);
    on.draw_text(title, &middle(size, HPos::Left), (left, 20))?;
    let size = fit(subtitle, LABEL, right - from);
    on.draw_text(subtitle, &middle(size, HPos::Right), (right, SUBTITLE))
}

/// Colours of versions in their order, repeated: of equal lightness, so that each can be read on a light and on a dark
/// background, and neighbours differ in hue.
const COLORS: [u32; 14] = [
    0xed4a49, 0x039953, 0x7e75ff, 0xc75e00, 0x05a38e, 0xa155da, 0xba7f01, 0x03919d, 0xd052be,
    0x908200, 0x0399cb, 0xd73a7d, 0x6f9e04, 0x127cf4,
];

/// Narrow, so that its letters can be read on a phone.
const SIZE: (u32, u32) = (640, 480);

/// Pixels to the left of the plot and below it.
const AT_LEFT: i32 = 66;
const AT_BOTTOM: i32 = 54;

/// Height of a line of text, and radius of a point, in pixels.
const LINE: i32 = 18;
const RADIUS: i32 = 5;

/// The versions of a series at a level of the memory.
pub struct Roofline<'a> {
    /// Of its file, without the extension.
    pub name: String,
    pub title: String,
    pub level: MemoryLevel,
    pub points: Vec<Point>,
    pub ceilings: &'a Ceilings,
}

/// A chart by HBM for each series, and by the other levels for the paper's with what continues it.
pub fn rooflines<'a>(profiles: &[Profile], ceilings: &'a Ceilings) -> Vec<Roofline<'a>> {
    let mut charts = Vec::new();
    for series in SERIES.iter().filter(|series| series.continues.is_none()) {
        let in_series = |profile: &&Profile| {
            catalogue::first_series_of(&profile.version).is_some_and(|first| first.id == series.id)
        };
        let shown: Vec<&Profile> = profiles.iter().filter(in_series).collect();
        let is_paper = series.id == "paper";
        let levels = if is_paper { &LEVELS[..] } else { &[MemoryLevel::Hbm] };
        let is_known = |level: &&MemoryLevel| shown.iter().any(|of| level.bytes(of).is_some());
        for &level in levels.iter().filter(is_known) {
            let name = match (is_paper, level) {
                (true, MemoryLevel::Hbm) => "roofline".into(),
                (true, _) => format!("roofline-{}", level.name().to_lowercase()),
                (false, _) => format!("roofline-{}", series.id),
            };
            let [first, last] = [0, shown.len() - 1].map(|index| &shown[index].version);
            let title = format!("{}, {first} to {last}", ceilings.device);
            let points = shown.iter().filter_map(|profile| point(profile, level)).collect();
            charts.push(Roofline { name, title, level, points, ceilings });
        }
    }
    charts
}

fn color(version: &str) -> RGBColor {
    rgb(COLORS[catalogue::place(version).unwrap_or(0) % COLORS.len()])
}

fn rgb(color: u32) -> RGBColor {
    let [_, r, g, b] = color.to_be_bytes();
    RGBColor(r, g, b)
}

impl Chart for Roofline<'_> {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn draw(&self, on: &Area) -> Drawn {
        // Neither zero nor infinite, as for a version without bytes.
        let has_place = |point: &&Point| {
            (1e-6..1e9).contains(&point.intensity) && (1.0..1e21).contains(&point.flops_per_s)
        };
        let points: Vec<&Point> = self.points.iter().filter(has_place).collect();
        let peak = self.ceilings.fp64;
        let bandwidth = self.level.bandwidth(self.ceilings);
        let ridge = peak / bandwidth.unwrap_or(self.ceilings.hbm);
        let x = around(points.iter().map(|point| point.intensity).chain([ridge]), 1.9);
        let y = around(points.iter().map(|point| point.flops_per_s).chain([peak]), 1.6);
        let (unit, prefix) = unit(y.end);
        let right = SIZE.0 as i32 - RIGHT;
        let bottom = SIZE.1 as i32 - AT_BOTTOM;
        let axis = |range: &Range<f64>| range.clone().log_scale().with_key_points(ticks(range));
        let mut plot = ChartBuilder::on(on)
            .margin_top(TOP)
            .margin_right(RIGHT)
            .x_label_area_size(AT_BOTTOM)
            .margin_left(EDGE)
            .y_label_area_size(AT_LEFT - EDGE)
            .build_cartesian_2d(axis(&x), axis(&y))?;
        plot.configure_mesh()
            .bold_line_style(INK.mix(0.1))
            .light_line_style(INK.mix(0.0))
            .axis_style(INK)
            .label_style(letters(LABEL))
            .x_label_formatter(&|value| plain(*value))
            .y_label_formatter(&|value| plain(value / unit))
            .x_desc("arithmetic intensity [FLOP/byte]")
            .y_desc(format!("{prefix}FLOP/s"))
            .draw()?;
        let pixel = |x: f64, y: f64| plot.backend_coord(&(x, y));
        let place = |point: &Point| pixel(point.intensity, point.flops_per_s);

        let at: Vec<(i32, i32)> = points.iter().map(|point| place(point)).collect();
        let sizes = points.iter().map(|point| (width(on, &point.version, LABEL), LINE)).collect();
        let names = label_places(&at, sizes, [(AT_LEFT, TOP), (right, bottom)]);
        for ((point, &at), (name, is_far)) in points.iter().zip(&at).zip(names) {
            if is_far {
                on.draw(&PathElement::new(vec![at, name], color(&point.version).mix(0.6)))?;
            }
            on.draw_text(&point.version, &middle(LABEL, HPos::Center), name)?;
        }
        on.draw(&PathElement::new(at, INK.mix(0.25)))?;

        let ridge = bandwidth.map_or(x.start, |bandwidth| (peak / bandwidth).max(x.start));
        if let Some(bandwidth) = bandwidth {
            let from = x.start.max(y.start / bandwidth);
            let ends = [from, ridge.min(x.end)].map(|x| pixel(x, x * bandwidth));
            on.draw(&PathElement::new(ends.to_vec(), INK.mix(0.9)))?;
        }
        let ends = [ridge, x.end].map(|x| pixel(x, peak));
        on.draw(&PathElement::new(ends.to_vec(), INK.mix(0.9)))?;
        let name = format!("FP64 peak {}", rate(peak, "FLOP/s"));
        on.draw_text(&name, &middle(LABEL, HPos::Right), (right - 6, ends[1].1 - 11))?;
        for point in &points {
            on.draw(&Circle::new(place(point), RADIUS, color(&point.version).filled()))?;
        }
        let lost = self.points.len() - points.len();
        let lost = if lost > 0 { format!("points not drawn: {lost}; ") } else { String::new() };
        let bandwidth = bandwidth.map_or(String::new(), |bandwidth| rate(bandwidth, "B/s"));
        let subtitle = format!("{lost}slope: {} {bandwidth}", self.level.name());
        head(on, AT_LEFT, &self.title, &subtitle, AT_LEFT)
    }
}

fn around(values: impl Iterator<Item = f64>, beyond: f64) -> Range<f64> {
    let ends = |(low, high): (f64, f64), value: f64| (value.min(low), value.max(high));
    let (low, high) = values.fold((f64::INFINITY, 0.0), ends);
    low / 1.6..high * beyond
}

/// Middles of names of these sizes, each as near to its point as others allow, and whether it is not next to it.
fn label_places(
    points: &[(i32, i32)],
    sizes: Vec<(i32, i32)>,
    [first, last]: [(i32, i32); 2],
) -> Vec<((i32, i32), bool)> {
    let around = |(x, y): (i32, i32), (wide, high): (i32, i32)| {
        [x - wide / 2, y - high / 2, x + wide / 2, y + high / 2]
    };
    let mut taken: Vec<[i32; 4]> =
        points.iter().map(|at| around(*at, (2 * RADIUS, 2 * RADIUS))).collect();
    let mut names = Vec::new();
    for (&(x, y), size) in points.iter().zip(sizes) {
        let directions = [(1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (1, 1), (-1, -1), (-1, 1)];
        let places = (0..40).flat_map(|step| {
            let [across, down] = [size.0, size.1].map(|size| size / 2 + RADIUS + 1 + 8 * step);
            directions.map(|(right, below)| ((x + right * across, y + below * down), step > 0))
        });
        let is_free = |(name, _): &((i32, i32), bool)| {
            let [left, top, right, bottom] = around(*name, size);
            let is_inside = left > first.0 && top > first.1 && right < last.0 && bottom < last.1;
            let meets =
                |of: &[i32; 4]| left < of[2] && of[0] < right && top < of[3] && of[1] < bottom;
            is_inside && !taken.iter().any(meets)
        };
        let name = places.clone().find(is_free).unwrap_or(((x, y), false));
        taken.push(around(name.0, size));
        names.push(name);
    }
    names
}

fn rate(value: f64, name: &str) -> String {
    let (size, prefix) = unit(value);
    format!("{:.1} {prefix}{name}", value / size)
}

fn unit(rate: f64) -> (f64, char) {
    if rate < 1e12 { (1e9, 'G') } else { (1e12, 'T') }
}

/// 1, 2 and 5 times powers of ten on an axis; on one of many powers these alone, or some of them.
fn ticks(axis: &Range<f64>) -> Vec<f64> {
    let [first, last] = [axis.start.log10().floor() as i32, axis.end.log10().ceil() as i32];
    let digits = if last - first > 5 { &[1.0][..] } else { &[1.0, 2.0, 5.0] };
    let powers = (first..=last).step_by(1 + (last - first) as usize / 8);
    let ticks = powers.flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)));
    ticks.filter(|value| axis.contains(value)).collect()
}

fn plain(value: f64) -> String {
    if !(1e-3..1e6).contains(&value) {
        return format!("{value:.0e}");
    }
    let digits = (-value.log10().floor()).max(0.0) as usize;
    format!("{value:.digits$}")
}

/// Times of versions as bars, one below the other, each series in its colour.
pub struct Bars {
    pub title: String,
    /// Version and milliseconds.
    pub bars: Vec<(String, f64)>,
}

impl Chart for Bars {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn size(&self) -> (u32, u32) {
        (SIZE.0, (TOP + BAR * self.bars.len() as i32 + AT_BOTTOM) as u32)
    }

    fn draw(&self, on: &Area) -> Drawn {
        let names = self.bars.iter().map(|(name, _)| width(on, name, LABEL)).max().unwrap_or(0);
        let (left, right) = (EDGE + names + 12, on.dim_in_pixel().0 as i32 - RIGHT);
        let (count, bottom) = (self.bars.len(), TOP + BAR * self.bars.len() as i32);
        let series = |name: &str| catalogue::series_of(name).map_or("", |series| series.id);
        let mut shown: Vec<&str> = self.bars.iter().map(|(name, _)| series(name)).collect();
        shown.dedup();
        let color = |name: &str| {
            let place = shown.iter().position(|shown| *shown == series(name)).unwrap_or(0);
            rgb(OF_SERIES[place % OF_SERIES.len()])
        };
        // The longest bar leaves room for its number.
        let most = 1.12 * self.bars.iter().map(|(_, ms)| *ms).fold(1e-300, f64::max);
        let mut plot = ChartBuilder::on(on)
            .margin_top(TOP)
            .margin_right(RIGHT)
            .x_label_area_size(AT_BOTTOM)
            .margin_left(left)
            .build_cartesian_2d(0.0..most, 0..BAR * count as i32)?;
        plot.configure_mesh()
            .disable_y_mesh()
            .bold_line_style(INK.mix(0.1))
            .light_line_style(INK.mix(0.0))
            .axis_style(INK)
            .label_style(letters(LABEL))
            .x_labels(8)
            .x_label_formatter(&|value| label(*value, &(0.0..most)))
            .x_desc("time of one calculation [ms]")
            .draw()?;
        for (index, (name, ms)) in self.bars.iter().enumerate() {
            let top = TOP + BAR * index as i32;
            let end = left + (f64::from(right - left) * ms / most) as i32;
            let (from, to) = ((left, top + 4), (end, top + BAR - 4));
            on.draw(&Rectangle::new([from, to], color(name).filled()))?;
            let at = top + BAR / 2;
            on.draw_text(name, &middle(LABEL, HPos::Right), (left - 8, at))?;
            on.draw_text(&format!("{ms:.1}"), &middle(LABEL, HPos::Left), (end + 6, at))?;
        }
        on.draw(&PathElement::new(vec![(left, TOP), (left, bottom)], INK))?;
        let mut x = left;
        for (place, name) in shown.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let square = [(x, SUBTITLE - 6), (x + 12, SUBTITLE + 6)];
            on.draw(&Rectangle::new(square, rgb(OF_SERIES[place % OF_SERIES.len()]).filled()))?;
            on.draw_text(name, &middle(LABEL, HPos::Left), (x + 18, SUBTITLE))?;
            x += width(on, name, LABEL) + 40;
        }
        head(on, left, &self.title, "", x)
    }
}

/// Colours of the series of a chart: those of [`PARTS`], then others of [`COLORS`].
const OF_SERIES: [u32; 8] =
    [0x127cf4, 0xc75e00, 0x039953, 0xd052be, 0x908200, 0x03919d, 0xd73a7d, 0x7e75ff];

/// Pixels from a bar to the next.
const BAR: i32 = 26;

/// Pixels around and between the plots, with room for numbers, and for the name of an axis.
const LEFT: i32 = 116;
const RIGHT: i32 = 16;
const BETWEEN: i32 = 16;

/// Colours that are readable on white and on black, also for colour-blind readers.
const PARTS: [(&str, RGBColor, fn(Complex64) -> f64); 2] =
    [("Re", RGBColor(0x12, 0x7c, 0xf4), |z| z.re), ("Im", RGBColor(0xc7, 0x5e, 0x00), |z| z.im)];

const SUMS: [(&str, fn(&SigmaRow) -> Complex64); 3] = [
    ("SX(ω) [vcoul]", |row| row.sx),
    ("CH(ω) [vcoul]", |row| row.ch),
    ("Σ(ω) [vcoul]", SigmaRow::total),
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

    fn draw(&self, on: &Area) -> Drawn {
        let x = axis(self.rows.iter().map(|row| row.shown_ev), 0.01);
        let (wide, high) = on.dim_in_pixel();
        let sums = if self.result.is_sigma_alone() { &SUMS[2..] } else { &SUMS[..] };
        let each = (high as i32 - TOP - AT_BOTTOM) / sums.len() as i32;
        for (index, (name, sum)) in sums.iter().enumerate() {
            let values = self.rows.iter().map(sum).flat_map(|z| [z.re, z.im]);
            let y = axis(values, 0.05);
            let is_last = index + 1 == sums.len();
            let (top, below) = (TOP + index as i32 * each, if is_last { AT_BOTTOM } else { 0 });
            let panel = on.clone().shrink((0, top), (wide, (each + below) as u32));
            let mut plot = ChartBuilder::on(&panel)
                .margin_right(RIGHT)
                .margin_bottom(if is_last { 0 } else { BETWEEN })
                .x_label_area_size(below)
                .margin_left(EDGE)
                .y_label_area_size(LEFT - EDGE)
                .build_cartesian_2d(x.clone(), y.clone())?;
            plot.configure_mesh()
                .bold_line_style(INK.mix(0.1))
                .light_line_style(INK.mix(0.0))
                .axis_style(INK)
                .label_style(letters(LABEL))
                .x_labels(12)
                .y_labels(5)
                .x_label_formatter(&|value| label(*value, &x))
                .y_label_formatter(&|value| label(*value, &y))
                .x_desc(if is_last { self.run.system.energy() } else { "" })
                .y_desc(*name)
                .draw()?;
            // The real part is drawn last, over the imaginary part.
            for (_, color, part) in PARTS.iter().rev() {
                let points = self.rows.iter().map(|row| (row.shown_ev, part(sum(row))));
                let points: Vec<(f64, f64)> = points.collect();
                // A line ends at a value that is NaN or infinite.
                for line in points.split(|(_, value)| !is_drawn(*value)) {
                    match line {
                        [] => {}
                        [one] => drop(plot.draw_series([Circle::new(*one, 2, color.filled())])?),
                        points => drop(plot.draw_series(LineSeries::new(points.to_vec(), color))?),
                    }
                }
            }
        }
        let mut x = LEFT;
        for (name, color, _) in &PARTS {
            let line = vec![(x, SUBTITLE), (x + 22, SUBTITLE)];
            on.draw(&PathElement::new(line, color.stroke_width(2)))?;
            on.draw_text(name, &middle(LABEL, HPos::Left), (x + 28, SUBTITLE))?;
            x += width(on, name, LABEL) + 46;
        }
        let parts = match sums.len() {
            1 => "screened exchange and Coulomb hole together",
            _ => "screened exchange, Coulomb hole and their sum",
        };
        let panels = format!("{parts}, in {UNIT}");
        head(on, LEFT, &self.title(), &panels, x)
    }
}

/// Neither NaN nor so large that an axis could not hold it.
fn is_drawn(value: f64) -> bool {
    value.abs() < 1e300
}

/// A linear axis for these values, with room beyond them for this share of their width.
fn axis(values: impl Iterator<Item = f64>, beyond: f64) -> Range<f64> {
    let values: Vec<f64> = values.filter(|value| is_drawn(*value)).collect();
    let low = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let high = values.iter().copied().reduce(f64::max).unwrap_or(0.0);
    let largest = low.abs().max(high.abs());
    let room = match low == high {
        true => largest.max(1.0) / 2.0,
        // Wide enough for numbers to tell the ends apart.
        false => (beyond * (high - low)).max(1e-6 * largest).max(1e-300),
    };
    low - room..high + room
}

/// A number of an axis, with as many digits as its labels need to differ.
fn label(value: f64, axis: &Range<f64>) -> String {
    let largest = axis.start.abs().max(axis.end.abs());
    if !(1e-3..1e7).contains(&largest) {
        return format!("{value:.2e}");
    }
    let step = (axis.end - axis.start) / 20.0;
    let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".into() } else { text.into() }
}
