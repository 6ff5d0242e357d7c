//! The roofs of a chart: bandwidths up to the FP64 peak, and that peak.

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

/// The roofs of a chart that shows these points: the measured peak, and the levels' bandwidths as far as they
/// are within the axes.
pub fn roofs(points: &[Point], ceilings: &Ceilings, axes: &Axes) -> Vec<Roof> {
    let shown = |level: &Level| points.iter().any(|point| point.level == *level);
    let both = shown(&Level::L2) && shown(&Level::L2AndFabric);
    let levels = LEVELS.iter().filter(|level| shown(level));
    let levels: Vec<&Level> =
        levels.filter(|level| !(both && **level == Level::L2AndFabric)).collect();
    let widest = levels.iter().filter_map(|level| level.bandwidth(ceilings));
    let widest = widest.fold(ceilings.hbm, f64::max);
    let line =
        |from: (f64, f64), to: (f64, f64)| [axes.place(from.0, from.1), axes.place(to.0, to.1)];
    let slope = |level: &Level| {
        let bandwidth = level.bandwidth(ceilings)?;
        let begin = axes.x.start.max(axes.y.start / bandwidth);
        let end = axes.x.end.min(ceilings.fp64 / bandwidth);
        let measured = *level != Level::Shared;
        // L2's ceiling is one, whatever an older profile counts.
        let name = if *level == Level::L2AndFabric { Level::L2 } else { *level };
        let name = name.name_on(ceilings.of_processor());
        let promised = if measured { "" } else { ", by its width" };
        (begin < end).then(|| Roof {
            line: line((begin, begin * bandwidth), (end, end * bandwidth)),
            name: format!("{name} {}{promised}", rate(bandwidth, 1, "B/s")),
            faint: !measured,
        })
    };
    let begin = (ceilings.fp64 / widest).max(axes.x.start);
    let peak = Roof {
        line: line((begin, ceilings.fp64), (axes.x.end, ceilings.fp64)),
        name: format!("measured FP64 peak {}", rate(ceilings.fp64, 1, "FLOP/s")),
        faint: false,
    };
    levels.into_iter().filter_map(slope).chain([peak]).collect()
}
