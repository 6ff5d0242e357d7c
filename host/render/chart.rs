//! The roofline as SVG and PNG.

use std::sync::Once;

use plotters::coord::combinators::LogCoord;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

use super::labels::Labels;
use crate::analysis::levels::{LEVELS, Level};
use crate::analysis::peaks::share_of_peak;
use crate::analysis::roofline::{Point, Timing, points};
use crate::error::ChartError;
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;

/// Pixels of a chart.
pub const SIZE: (u32, u32) = (960, 640);

const FONT: &str = "chart";

type Chart<'a, DB> = ChartContext<'a, DB, Cartesian2d<LogCoord<f64>, LogCoord<f64>>>;

/// A point and where it is in pixels.
type Dot = (Point, (i32, i32));

fn color(level: Level) -> RGBColor {
    match level {
        Level::Hbm => RGBColor(0x1f, 0x5f, 0xbf),
        Level::L2 | Level::L2AndFabric => RGBColor(0xc9, 0x6a, 0x00),
        Level::L1 | Level::Shared => RGBColor(0x1f, 0x8a, 0x4c),
    }
}

/// The chart as SVG; each dot tells its version, intensity and rate where a pointer rests on it.
///
/// # Errors
/// [`ChartError`].
pub fn svg(title: &str, profiles: &[&Profile], ceilings: &Ceilings) -> Result<String, ChartError> {
    let mut text = String::new();
    let dots = draw(SVGBackend::with_string(&mut text, SIZE), title, profiles, ceilings)?;
    let hover: String = dots
        .iter()
        .map(|(point, (x, y))| {
            format!(
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"9\" fill=\"#000\" fill-opacity=\"0\">\
                 <title>{} {}: {:.2} FLOP/byte, {}</title></circle>\n",
                point.version,
                point.level.name_on(ceilings.of_processor()),
                point.intensity,
                rate(point.flops_per_s, 2, "FLOP/s")
            )
        })
        .collect();
    // The registered font is for measuring; a viewer has its own.
    let text = text.replace(&format!("font-family=\"{FONT}\""), "font-family=\"sans-serif\"");
    Ok(text.replace("</svg>", &format!("{hover}</svg>")))
}

/// The chart as a PNG file.
///
/// # Errors
/// [`ChartError`].
pub fn png(
    path: &std::path::Path,
    title: &str,
    profiles: &[&Profile],
    ceilings: &Ceilings,
) -> Result<(), ChartError> {
    draw(BitMapBackend::new(path, SIZE), title, profiles, ceilings).map(|_| ())
}

/// Draws ceilings, paths and dots; returns where each dot is in pixels.
fn draw<DB: DrawingBackend>(
    backend: DB,
    title: &str,
    profiles: &[&Profile],
    ceilings: &Ceilings,
) -> Result<Vec<Dot>, ChartError> {
    // The same letters in SVG and PNG, whatever fonts the machine has.
    static FONTS: Once = Once::new();
    FONTS.call_once(|| {
        let _ = register_font(FONT, FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT);
    });
    let area = backend.into_drawing_area();
    let said = |e: DrawingAreaErrorKind<DB::ErrorType>| ChartError::Drawing(e.to_string());
    area.fill(&WHITE).map_err(said)?;

    let all: Vec<Point> = profiles.iter().flat_map(|profile| points(profile, Timing::Runs)).collect();
    if let Some(bad) = all.iter().find(|p| !(p.intensity > 0.0 && p.flops_per_s > 0.0)) {
        return Err(ChartError::NoPoint {
            version: bad.version.clone(),
            level: bad.level.name(),
            intensity: bad.intensity,
            flops_per_s: bad.flops_per_s,
        });
    }
    let lowest = |of: fn(&Point) -> f64| all.iter().map(of).fold(f64::INFINITY, f64::min);
    let highest = |of: fn(&Point) -> f64| all.iter().map(of).fold(0.0, f64::max);
    let peak = ceilings.theoretical.fp64.unwrap_or(ceilings.fp64).max(ceilings.fp64);
    let x = lowest(|p| p.intensity).min(1.0) / 5.0..highest(|p| p.intensity).max(40.0) * 2.0;
    let y = lowest(|p| p.flops_per_s) / 4.0..peak * 1.8;

    let mut chart: Chart<'_, DB> = ChartBuilder::on(&area)
        .caption(format!("{}, {title}", ceilings.device), (FONT, 22))
        .margin(14)
        .x_label_area_size(46)
        .y_label_area_size(64)
        .build_cartesian_2d(x.clone().log_scale(), y.clone().log_scale())
        .map_err(said)?;
    chart
        .configure_mesh()
        .x_desc("arithmetic intensity [FLOP/byte]")
        .y_desc("TFLOP/s")
        .axis_desc_style((FONT, 17))
        .label_style((FONT, 15))
        .light_line_style(RGBColor(240, 240, 240))
        .x_label_formatter(&|v| plain(*v))
        .y_label_formatter(&|v| plain(*v / 1e12))
        .draw()
        .map_err(said)?;

    roofs(&mut chart, profiles, ceilings, &x, &y).map_err(said)?;
    let place = |p: &Point| chart.backend_coord(&(p.intensity, p.flops_per_s));
    let mut labels = Labels::new(all.iter().map(place));
    let mut dots = Vec::new();
    for level in LEVELS {
        let path: Vec<Point> = all.iter().filter(|p| p.level == level).cloned().collect();
        let at: Vec<(f64, f64)> = path.iter().map(|p| (p.intensity, p.flops_per_s)).collect();
        let style = color(level);
        chart
            .draw_series(LineSeries::new(at.iter().copied(), style.mix(0.5).stroke_width(1)))
            .map_err(said)?;
        chart.draw_series(at.iter().map(|&at| Circle::new(at, 5, style.filled()))).map_err(said)?;
        for (i, p) in path.iter().enumerate() {
            let font = (FONT, 15).into_font().color(&style);
            let (width, height) = area.estimate_text_size(&p.version, &font).map_err(said)?;
            // Above and below in turn, so that neighbours stay readable.
            let dot = chart.backend_coord(&(p.intensity, p.flops_per_s));
            let shift = labels.place(dot, (width as i32, height as i32), i % 2 == 1);
            let name = EmptyElement::at((p.intensity, p.flops_per_s))
                + Text::new(p.version.clone(), shift, font);
            chart.draw_series([name]).map_err(said)?;
        }
        dots.extend(path.into_iter().zip(at).map(|(p, at)| (p, chart.backend_coord(&at))));
    }
    area.present().map_err(said)?;
    drop(chart);
    drop(area);
    Ok(dots)
}

/// The ceilings: bandwidths up to the peak, the measured and theoretical peak, and the peak for the
/// last version's share of fused operations.
fn roofs<DB: DrawingBackend>(
    chart: &mut Chart<'_, DB>,
    profiles: &[&Profile],
    ceilings: &Ceilings,
    x: &std::ops::Range<f64>,
    y: &std::ops::Range<f64>,
) -> Result<(), DrawingAreaErrorKind<DB::ErrorType>> {
    let label = |at: (f64, f64), text: String, color: RGBColor, shift: (i32, i32)| {
        EmptyElement::at(at) + Text::new(text, shift, (FONT, 14).into_font().color(&color))
    };
    for (level, bandwidth) in
        [(Level::Hbm, ceilings.hbm), (Level::L2, ceilings.l2), (Level::L1, ceilings.l1)]
    {
        let bend = ceilings.fp64 / bandwidth;
        // Out of the chart's range the library would bend the line.
        let begin = x.start.max(y.start / bandwidth);
        let line = [(begin, begin * bandwidth), (bend, ceilings.fp64)];
        chart.draw_series(LineSeries::new(line, color(level).stroke_width(2)))?;
        let name = level.name_on(ceilings.of_processor());
        let text = format!("{name} {}", rate(bandwidth, 1, "B/s"));
        // Low on the line, to its right, where no dot is.
        let from = (1.3 * y.start / bandwidth).max(1.15 * x.start);
        chart.draw_series([label((from, from * bandwidth), text, color(level), (10, -4))])?;
    }
    let mut flat = |rate: f64, from: f64, text: String, color: RGBColor, below: bool| {
        chart.draw_series(LineSeries::new([(from, rate), (x.end, rate)], color.stroke_width(2)))?;
        let shift = (-330, if below { 4 } else { -17 });
        chart.draw_series([label((x.end, rate), text, color, shift)]).map(|_| ())
    };
    let text = format!("measured FP64 peak {}", rate(ceilings.fp64, 1, "FLOP/s"));
    flat(ceilings.fp64, ceilings.fp64 / ceilings.l1, text, BLACK, true)?;
    if let Some(peak) = ceilings.theoretical.fp64 {
        let text = format!("theoretical FP64 peak {}", rate(peak, 1, "FLOP/s"));
        flat(peak, x.start, text, RGBColor(150, 150, 150), false)?;
    }
    if let Some(last) = profiles.last() {
        let share = share_of_peak(last.fma_ratio());
        let peak = share * ceilings.fp64;
        let text = format!(
            "{}: {:.0} % fused, {:.0} % of the peak: {}",
            last.version,
            last.fma_ratio() * 100.0,
            share * 100.0,
            rate(peak, 1, "FLOP/s")
        );
        flat(peak, peak / ceilings.hbm, text, RGBColor(160, 30, 60), true)?;
    }
    Ok(())
}

/// A rate of a GPU's size or of a processor's.
fn rate(value: f64, digits: usize, unit: &str) -> String {
    let (value, prefix) = if value < 1e12 { (value / 1e9, 'G') } else { (value / 1e12, 'T') };
    format!("{value:.digits$} {prefix}{unit}")
}

/// A number without needless zeros.
fn plain(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}
