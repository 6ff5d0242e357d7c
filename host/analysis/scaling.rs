//! Where efficiency falls off along a line of a scaling.

use crate::record::scaling::{Line, Point, Scaling};

/// The scaling with the efficiencies of its points, which need all of a line.
pub fn rated(scaling: &Scaling) -> Scaling {
    let fastest = |line: Line| {
        let on_line = scaling.points.iter().filter(|point| point.line == line);
        on_line.map(|point| point.terms_per_s).fold(0.0, f64::max)
    };
    let rate = |p: &Point| Point { efficiency: Some(p.terms_per_s / fastest(p.line)), ..p.clone() };
    Scaling { points: scaling.points.iter().map(rate).collect(), ..scaling.clone() }
}

/// Least efficiency along a line, of a scaling that is rated.
pub fn least(scaling: &Scaling, line: &str) -> Option<f64> {
    let on_line = scaling.points.iter().filter(|point| point.line.name() == line);
    on_line.filter_map(|point| point.efficiency).min_by(f64::total_cmp)
}
