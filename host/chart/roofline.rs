//! Rooflines: a version is a colour and a name, a level of the memory a shape.

use std::ops::Range;

use plotters::coord::combinators::IntoLogRange;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::catalogue::order;
use crate::chart::{
    Area, Chart, Drawn, EDGE, EXPLAINED, HEAD, INK, NAME, head, letters, middle, width,
};
use crate::offdiag::records::{COUNTED, EXECUTED, Matrices};
use crate::record::profile::{Ceilings, Profile};
use crate::roofline::{LEVELS, Level, Point, Timing, points};

/// Colours of versions in their order, over again: of equal lightness, so that each can be read on a
/// light and on a dark background, and neighbours far apart in hue.
const COLORS: [u32; 14] = [
    0xed4a49, 0x039953, 0x7e75ff, 0xc75e00, 0x05a38e, 0xa155da, 0xba7f01, 0x03919d, 0xd052be,
    0x908200, 0x0399cb, 0xd73a7d, 0x6f9e04, 0x127cf4,
];

/// Narrow, so that its letters can be read on a phone.
const SIZE: (u32, u32) = (640, 480);

/// Pixels beside and below the plot, for numbers; to the names at its right, and for them at most.
const LEFT: i32 = 66;
const BELOW: i32 = 54;
const TO_NAMES: i32 = 30;
const NAMES: i32 = 160;

/// Pixels from a name to the next, where there is room.
const LINE: i32 = 18;

/// Operations a byte and operations a second that have a place in a chart.
const INTENSITIES: Range<f64> = 1e-6..1e9;
const RATES: Range<f64> = 1.0..1e21;

/// A line from a place to another, its name, and whether it is only promised.
type Roof = ([(f64, f64); 2], String, bool);

/// A roofline: these points under these ceilings.
pub struct Roofline<'a> {
    title: String,
    counted: Vec<Point>,
    /// The same as outlines, by the operations that are executed; none where nothing else is counted.
    executed: Vec<Point>,
    ceilings: &'a Ceilings,
    /// The peak of matrix units, where it is drawn.
    matrix: Option<f64>,
    known: &'static str,
}

impl<'a> Roofline<'a> {
    /// Of these profiles at these levels of the memory.
    pub fn of(
        title: &str,
        profiles: &[&Profile],
        ceilings: &'a Ceilings,
        levels: &[Level],
    ) -> Roofline<'a> {
        let timing = Timing::of(profiles.iter().copied());
        let all = profiles.iter().flat_map(|profile| points(profile, timing));
        Roofline {
            title: format!("{}, {title}", ceilings.device),
            counted: all.filter(|point| levels.contains(&point.level)).collect(),
            executed: Vec::new(),
            ceilings,
            matrix: None,
            known: match timing {
                Timing::Runs => "times and ceilings: runs",
                Timing::Profiler => "times: under the profiler; ceilings: runs",
            },
        }
    }

    /// Of versions of Σ as a matrix: outlines are by the operations that are executed.
    pub fn of_matrices(of: &Matrices<'a>) -> Roofline<'a> {
        Roofline {
            title: format!("{}, {}", of.ceilings.device, of.title),
            counted: of.points.clone(),
            executed: of.executed(),
            ceilings: of.ceilings,
            matrix: of.matrix,
            known: "rates and ceilings: runs",
        }
    }

    fn color(&self, version: &str) -> RGBColor {
        let mut names: Vec<&str> = self.counted.iter().map(|point| &*point.version).collect();
        names.dedup();
        let among = || names.iter().position(|name| *name == version).unwrap_or(0);
        let own = COLORS[order::place(version).unwrap_or_else(among) % COLORS.len()];
        let [_, r, g, b] = own.to_be_bytes();
        RGBColor(r, g, b)
    }

    /// The levels' bandwidths up to the highest peak, and the peaks, as far as they are within the axes.
    fn roofs(&self, x: &Range<f64>, y: &Range<f64>) -> Vec<Roof> {
        let Roofline { counted, ceilings, matrix, .. } = self;
        let shown = |level: Level| counted.iter().any(|point| point.level == level);
        let levels = LEVELS.into_iter().filter(|level| shown(*level));
        let bandwidths: Vec<(Level, f64)> =
            levels.filter_map(|level| Some((level, level.bandwidth(ceilings)?))).collect();
        let widest = bandwidths.iter().fold(ceilings.hbm, |widest, (_, own)| own.max(widest));
        let highest = matrix.unwrap_or(ceilings.fp64);
        let slope = |(level, bandwidth): (Level, f64)| {
            let [begin, end] = [x.start.max(y.start / bandwidth), x.end.min(highest / bandwidth)];
            let promised = level == Level::Shared;
            let by = if promised { ", by its width" } else { "" };
            let name = format!("{} {}{by}", level.name(), rate(bandwidth, 1, "B/s"));
            ([(begin, begin * bandwidth), (end, end * bandwidth)], name, promised)
        };
        let flat = |peak: f64, name: &str, promised: bool| {
            let name = name.replace("{}", &rate(peak, 1, "FLOP/s"));
            ([((peak / widest).max(x.start), peak), (x.end, peak)], name, promised)
        };
        let of = if matrix.is_some() { "FP64 vector peak {}" } else { "measured FP64 peak {}" };
        let peak = flat(ceilings.fp64, of, false);
        let matrix = matrix.map(|peak| flat(peak, "FP64 matrix peak {}, by its clock", true));
        let all = bandwidths.into_iter().map(slope).chain([peak]).chain(matrix);
        let is_within = |([from, to], ..): &Roof| {
            x.start <= from.0
                && from.0 < to.0
                && to.0 <= x.end
                && from.1 >= 0.99 * y.start
                && to.1 <= y.end
        };
        all.filter(is_within).collect()
    }

    /// Axes with room for the points, the FP64 roofs and where the lower meets the first slope.
    fn axes(&self, all: &[&Point]) -> [Range<f64>; 2] {
        let Ceilings { fp64, hbm, .. } = *self.ceilings;
        let range = |values: Vec<f64>, possible: Range<f64>, beyond: f64| {
            let values = values.into_iter().filter(|value| possible.contains(value));
            let (low, high) = values
                .fold((f64::INFINITY, 0.0), |(low, high), value| (value.min(low), value.max(high)));
            if low <= high { low / 1.6..high * beyond } else { 1.0..10.0 }
        };
        let x = all.iter().map(|point| point.intensity).chain([fp64 / hbm]).collect();
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
        let has_place = |point: &&Point| {
            INTENSITIES.contains(&point.intensity) && RATES.contains(&point.flops_per_s)
        };
        let counted: Vec<&Point> = self.counted.iter().filter(has_place).collect();
        let executed: Vec<&Point> = self.executed.iter().filter(has_place).collect();
        let all = [&counted[..], &executed].concat();
        let lost = self.counted.len() + self.executed.len() - all.len();

        let [x, y] = self.axes(&all);
        let (unit, prefix) = unit(y.end);
        let names = all.iter().map(|point| width(on, &point.version, NAME)).max().unwrap_or(0);
        let right = SIZE.0 as i32 - TO_NAMES - names.min(NAMES) - 6;
        let (top, bottom) = (HEAD, SIZE.1 as i32 - BELOW);
        let axis = |range: &Range<f64>| {
            let numbers = ticks(range, &[1.0, 2.0, 5.0]);
            let lines = ticks(range, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
            range.clone().log_scale().with_key_points(numbers).with_light_points(lines)
        };
        let mut plot = ChartBuilder::on(on)
            .margin_top(top)
            .margin_right(SIZE.0 as i32 - right)
            .x_label_area_size(BELOW)
            .margin_left(EDGE)
            .y_label_area_size(LEFT - EDGE)
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
        let place = |x: f64, y: f64| plot.backend_coord(&(x, y));
        let at = |point: &Point| place(point.intensity, point.flops_per_s);

        // What is of each version: the line between its points and to its name.
        let mut taken: Vec<[i32; 4]> = Vec::new();
        let mut named: Vec<(&str, (i32, i32))> = Vec::new();
        for point in &counted {
            let (x, y) = at(point);
            match named.iter_mut().find(|(name, _)| *name == point.version) {
                Some((_, own)) if own.0 < x => *own = (x, y),
                Some(_) => {}
                None => named.push((&point.version, (x, y))),
            }
        }
        named.sort_by_key(|(_, (_, y))| *y);
        let heights = spread(named.iter().map(|(_, (_, y))| *y), top..bottom);
        for ((name, (x, y)), height) in named.into_iter().zip(heights) {
            let ends = vec![(x, y), (right, y), (right + TO_NAMES - 5, height)];
            on.draw(&PathElement::new(ends, self.color(name).mix(0.6)))?;
            on.draw_text(name, &middle(NAME, HPos::Left), (right + TO_NAMES, height))?;
            taken.push([x, y - 1, right, y + 1]);
        }
        for level in LEVELS {
            let steps = counted.iter().filter(|point| point.level == level).map(|point| at(point));
            on.draw(&PathElement::new(steps.collect::<Vec<_>>(), INK.mix(0.25)))?;
        }
        let roofs = self.roofs(&x, &y);
        for ([from, to], _, promised) in &roofs {
            let [from, to] = [place(from.0, from.1), place(to.0, to.1)];
            let opacity = if *promised { 0.6 } else { 0.9 };
            on.draw(&PathElement::new(vec![from, to], INK.mix(opacity).stroke_width(1)))?;
            taken.extend(along(from, to).map(|(x, y)| [x - 2, y - 2, x + 2, y + 2]));
        }
        for (points, outline) in [(&counted, false), (&executed, true)] {
            for point in points {
                let (x, y) = at(point);
                mark(on, point.level, (x, y), self.color(&point.version), outline)?;
                taken.push([x - 7, y - 7, x + 7, y + 7]);
            }
        }
        for ([from, to], name, _) in &roofs {
            let wide = width(on, name, NAME);
            let [from, to] = [place(from.0, from.1), place(to.0, to.1)];
            // From the upper end on, as near as there is room: above a peak or below it, beside a slope.
            let tried = [0, 18, 36].into_iter().flat_map(|off| {
                along(to, from).flat_map(move |(x, y)| {
                    let above = [x - 6 - wide, y - 20 - off, x - 6, y - 3 - off];
                    let below = [x + 6, y + 6 + off, x + 6 + wide, y + 23 + off];
                    if from.1 == to.1 { [above, below] } else { [below, above] }
                })
            });
            let inside =
                |own: &[i32; 4]| own[0] > LEFT && own[2] < right && own[1] > top && own[3] < bottom;
            let meets = |own: &[i32; 4], other: &[i32; 4]| {
                own[0] < other[2] && other[0] < own[2] && own[1] < other[3] && other[1] < own[3]
            };
            let tried: Vec<[i32; 4]> = tried.filter(inside).collect();
            let free = tried.iter().find(|own| !taken.iter().any(|other| meets(own, other)));
            if let Some(own) = free.or(tried.first()) {
                let at = (own[0], i32::midpoint(own[1], own[3]));
                on.draw_text(name, &middle(NAME, HPos::Left), at)?;
                taken.push([own[0] - 12, own[1], own[2] + 12, own[3]]);
            }
        }
        self.explain(on, lost)
    }
}

impl Roofline<'_> {
    /// Title, which shape is which level, and what is to be known.
    fn explain<B: DrawingBackend>(&self, on: &Area<B>, lost: usize) -> Drawn<B> {
        let mut x = LEFT + 6;
        let shown = |level: &Level| self.counted.iter().any(|point| point.level == *level);
        let levels = LEVELS.into_iter().filter(shown).map(|level| (level, level.name().into()));
        let executed = format!("executed, {EXECUTED} of {COUNTED} operations");
        let outline = (!self.executed.is_empty()).then_some((Level::Hbm, executed));
        for (level, name) in levels.chain(outline) {
            mark(on, level, (x, EXPLAINED), INK, name.starts_with("executed"))?;
            on.draw_text(&name, &middle(NAME, HPos::Left), (x + 11, EXPLAINED))?;
            x += width(on, &name, NAME) + 28;
        }
        let known = match lost {
            0 => self.known.into(),
            _ => format!("points without a place: {lost}; {}", self.known),
        };
        head(on, LEFT, &self.title, &known, SIZE.0 as i32 - 16 - x)
    }
}

/// Draws a level's shape.
fn mark<B: DrawingBackend>(
    on: &Area<B>,
    level: Level,
    (x, y): (i32, i32),
    color: RGBColor,
    outline: bool,
) -> Drawn<B> {
    let corners: &[(i32, i32)] = match level {
        Level::Hbm if outline => return on.draw(&Circle::new((x, y), 5, color.stroke_width(2))),
        Level::Hbm => return on.draw(&Circle::new((x, y), 5, color.filled())),
        Level::L2 => &[(-5, -5), (5, -5), (5, 5), (-5, 5), (-5, -5)],
        Level::L1 => &[(0, -7), (6, 4), (-6, 4), (0, -7)],
        Level::Shared => &[(0, -7), (7, 0), (0, 7), (-7, 0), (0, -7)],
    };
    let corners: Vec<(i32, i32)> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    if outline {
        on.draw(&PathElement::new(corners, color.stroke_width(2)))
    } else {
        on.draw(&Polygon::new(corners, color.filled()))
    }
}

/// Heights for names beside some that ascend: as near as they can be, a line apart where there is room.
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

/// Places on a line, a few pixels apart.
fn along(from: (i32, i32), to: (i32, i32)) -> impl Iterator<Item = (i32, i32)> {
    let part = |from: i32, to: i32, at: i32| from + (to - from) * at / 64;
    (0..=64).map(move |at| (part(from.0, to.0, at), part(from.1, to.1, at)))
}

/// A rate of a GPU's size or of a processor's.
fn rate(value: f64, digits: usize, of: &str) -> String {
    let (size, prefix) = unit(value);
    format!("{:.digits$} {prefix}{of}", value / size)
}

/// What rates of this size are told in, and its prefix.
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
