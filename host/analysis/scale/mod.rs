//! Speed-ups and efficiencies of a scaling. One over members has a model. The model is fitted on few members, checked
//! against more, and predicts other numbers of members and other systems.

pub mod fit;
pub mod predict;
pub mod task;

use crate::record::scale::{Line, Model, Modelled, Over, Point, Scale};
use task::{Kind, Task};

/// A model that is further off on any point on which it was not fitted predicts nothing; nor does one that no such
/// point has checked.
pub const BOUND: f64 = 0.05;

/// The scaling with its speed-ups and efficiencies, and with the model where one member with its data in place was
/// measured.
pub fn rated(scale: &Scale) -> Scale {
    if scale.over == Over::Extents {
        let rate = |point: &Point| {
            let efficiency = Some(point.terms_per_s() / fastest(scale, point.line));
            Point { efficiency, ..point.clone() }
        };
        return Scale { points: scale.points.iter().map(rate).collect(), ..scale.clone() };
    }
    let kind = Kind::of(scale);
    let model = fit::fitted(scale, &kind).map(|(constants, fitted_up_to)| {
        let predictions = predict::predictions(scale, &constants);
        let assumptions = predict::assumptions(scale, &constants);
        Model { constants, fitted_up_to, worst_deviation: None, assumptions, predictions }
    });
    let rate = |point: &Point| {
        let speed_up = base(scale, point).map(|base| {
            let rate = |point: &Point| point.ngpown as f64 / point.times.median;
            rate(point) / rate(base)
        });
        let modelled = model.as_ref().map(|model| {
            let seconds = task(&kind, point).seconds(&model.constants);
            let fitted = point.members <= model.fitted_up_to;
            Modelled { seconds, deviation: seconds / point.times.min - 1.0, fitted }
        });
        let efficiency = speed_up.map(|speed_up| speed_up / point.members as f64);
        Point { speed_up, efficiency, modelled, ..point.clone() }
    };
    let points: Vec<Point> = scale.points.iter().map(rate).collect();
    let checked = points.iter().filter_map(|point| point.modelled).filter(|by| !by.fitted);
    let worst = checked.map(|by| by.deviation).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let holds = worst.is_some_and(|worst| worst.abs() <= BOUND);
    let model = model.map(|mut model| {
        model.worst_deviation = worst;
        model.predictions.retain(|_| holds);
        model
    });
    Scale { points, model, ..scale.clone() }
}

/// Terms a second of the fastest point of a line.
fn fastest(scale: &Scale, line: Line) -> f64 {
    let on_line = scale.points.iter().filter(|point| point.line == line);
    on_line.map(Point::terms_per_s).fold(0.0, f64::max)
}

/// Least efficiency along a line, of a scaling that is rated.
pub fn least(scale: &Scale, line: &str) -> Option<f64> {
    let on_line = scale.points.iter().filter(|point| point.line.name() == line);
    on_line.filter_map(|point| point.efficiency).min_by(f64::total_cmp)
}

/// The point of one member on the line of another.
fn base<'s>(scale: &'s Scale, of: &Point) -> Option<&'s Point> {
    let is_base = |point: &&Point| {
        of.line != Line::Slabs && (point.line, point.data, point.members) == (of.line, of.data, 1)
    };
    scale.points.iter().find(is_base)
}

/// What a point did.
fn task<'k>(kind: &'k Kind, point: &Point) -> Task<'k> {
    let Point { members, ngpown, igp, data, .. } = *point;
    Task { kind, members, ngpown, igp, data }
}
