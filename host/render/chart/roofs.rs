//! The roofs of a chart: bandwidths up to the peak, and the peaks.

use super::axes::Axes;
use super::dots::rate;
use super::scene::Place;
use crate::analysis::levels::{LEVELS, Level};
use crate::analysis::peaks::share_of_peak;
use crate::analysis::roofline::Point;
use crate::record::ceilings::Ceilings;
use crate::record::profile::Profile;

/// A line that no dot passes, and its name.
pub struct Roof {
    /// From where to where.
    pub line: [Place; 2],
    /// What it is.
    pub name: String,
    /// Whether it is only promised, or of one version alone.
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

/// All roofs of a chart that shows these points of these profiles.
pub fn roofs(
    profiles: &[&Profile],
    points: &[Point],
    ceilings: &Ceilings,
    axes: &Axes,
) -> Vec<Roof> {
    let shown = |level: &Level| points.iter().any(|point| point.level == *level);
    let widest = LEVELS.iter().filter(|level| shown(level)).filter_map(|l| l.bandwidth(ceilings));
    let widest = widest.fold(ceilings.hbm, f64::max);
    let line =
        |from: (f64, f64), to: (f64, f64)| [axes.place(from.0, from.1), axes.place(to.0, to.1)];
    let slope = |level: &Level| {
        let bandwidth = level.bandwidth(ceilings)?;
        let begin = axes.x.start.max(axes.y.start / bandwidth);
        let measured = *level != Level::Shared;
        // L2's ceiling is one, whatever an older profile counts.
        let name = if *level == Level::L2AndFabric { Level::L2 } else { *level };
        let name = name.name_on(ceilings.of_processor());
        let promised = if measured { "" } else { ", by its width" };
        Some(Roof {
            line: line((begin, begin * bandwidth), (ceilings.fp64 / bandwidth, ceilings.fp64)),
            name: format!("{name} {}{promised}", rate(bandwidth, 1, "B/s")),
            faint: !measured,
        })
    };
    let flat = |value: f64, name: String, faint: bool| Roof {
        line: line(((value / widest).max(axes.x.start), value), (axes.x.end, value)),
        name: format!("{name} {}", rate(value, 1, "FLOP/s")),
        faint,
    };
    let both = shown(&Level::L2) && shown(&Level::L2AndFabric);
    let levels = LEVELS.iter().filter(|level| shown(level));
    let mut roofs: Vec<Roof> =
        levels.filter(|level| !(both && **level == Level::L2AndFabric)).filter_map(slope).collect();
    let burst =
        if ceilings.fp64_sustained.is_some() { "FP64 peak, burst" } else { "measured FP64 peak" };
    roofs.push(flat(ceilings.fp64, burst.into(), false));
    let sustained = ceilings.fp64_sustained;
    roofs.extend(sustained.map(|rate| flat(rate, "FP64 peak, sustained".into(), false)));
    let promised = ceilings.theoretical.fp64;
    roofs.extend(promised.map(|rate| flat(rate, "theoretical FP64 peak".into(), true)));
    roofs.extend(profiles.last().map(|last| {
        let fused = last.fma_ratio();
        let share = share_of_peak(fused);
        let [fused, percent] = [fused, share].map(|part| format!("{:.0} %", 100.0 * part));
        let name = format!("{}: {fused} fused, {percent} of the peak:", last.version);
        flat(share * ceilings.fp64, name, true)
    }));
    roofs
}
