//! The roofs of a chart: bandwidths up to the highest FP64 peak, and the peaks.

use super::axes::Axes;
use super::dots::rate;
use super::scene::Place;
use crate::analysis::levels::{LEVELS, Level};
use crate::analysis::roofline::Point;
use crate::record::ceilings::Ceilings;

/// A line that no dot passes, and its name.
pub struct Roof {
    /// From where to where.
    pub line: [Place; 2],
    /// What it is.
    pub name: String,
    /// Whether it is only promised.
    pub faint: bool,
}

impl Roof {
    /// Places on the line that its name may stand by.
    pub fn anchors(&self) -> Vec<Place> {
        let [from, to] = self.line;
        let at = |part: f64| (from.0 + part * (to.0 - from.0), from.1 + part * (to.1 - from.1));
        (1..20).map(|twentieth| at(f64::from(twentieth) / 20.0)).collect()
    }
}

/// The roofs of a chart that shows these points: the measured peak, that of matrix units where one is given, in
/// operations a second, and the levels' bandwidths as far as they are within the axes.
pub fn roofs(points: &[Point], ceilings: &Ceilings, matrix: Option<f64>, axes: &Axes) -> Vec<Roof> {
    let shown = |level: &Level| points.iter().any(|point| point.level == *level);
    let both = shown(&Level::L2) && shown(&Level::L2AndFabric);
    let levels = LEVELS.iter().filter(|level| shown(level));
    let levels: Vec<&Level> =
        levels.filter(|level| !(both && **level == Level::L2AndFabric)).collect();
    let widest = levels.iter().filter_map(|level| level.bandwidth(ceilings));
    let widest = widest.fold(ceilings.hbm, f64::max);
    let line =
        |from: (f64, f64), to: (f64, f64)| [axes.place(from.0, from.1), axes.place(to.0, to.1)];
    let highest = matrix.unwrap_or(ceilings.fp64);
    let slope = |level: &Level| {
        let bandwidth = level.bandwidth(ceilings)?;
        let begin = axes.x.start.max(axes.y.start / bandwidth);
        let end = axes.x.end.min(highest / bandwidth);
        let measured = *level != Level::Shared;
        // L2's ceiling is one, whatever an older profile counts.
        let name = if *level == Level::L2AndFabric { Level::L2 } else { *level };
        let name = name.name();
        let promised = if measured { "" } else { ", by its width" };
        (begin < end).then(|| Roof {
            line: line((begin, begin * bandwidth), (end, end * bandwidth)),
            name: format!("{name} {}{promised}", rate(bandwidth, 1, "B/s")),
            faint: !measured,
        })
    };
    let flat = |peak: f64, name: &str, faint: bool| Roof {
        line: line(((peak / widest).max(axes.x.start), peak), (axes.x.end, peak)),
        name: name.replace("{}", &rate(peak, 1, "FLOP/s")),
        faint,
    };
    let of =
        if matrix.is_some() { "measured FP64 vector peak {}" } else { "measured FP64 peak {}" };
    let matrix = matrix.map(|peak| flat(peak, "FP64 matrix peak {}, by its clock", true));
    let peaks = [flat(ceilings.fp64, of, false)].into_iter().chain(matrix);
    levels.into_iter().filter_map(slope).chain(peaks).collect()
}
