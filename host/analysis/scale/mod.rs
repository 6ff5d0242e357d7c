//! Speed-ups of a scaling over devices, and a model of it. The model is fitted on few members, checked
//! against more, and predicts other numbers of members and other systems.

pub mod fit;
pub mod predict;
pub mod task;

use crate::record::scale::{Data, Law, Measured, Model, Modelled, Scale};
use task::{Kind, Task};

/// A model that is further off on any point on which it was not fitted predicts nothing; nor does one that no such
/// point has checked.
pub const BOUND: f64 = 0.05;

/// The scaling with its speed-ups, and with the model where one member with its data in place was measured.
pub fn rated(scale: &Scale) -> Scale {
    let kind = Kind::of(scale);
    let model = fit::fitted(scale, &kind).map(|(constants, fitted_up_to)| {
        let predictions = predict::predictions(scale, &constants);
        let assumptions = predict::assumptions(scale, &constants);
        Model { constants, fitted_up_to, worst_deviation: None, assumptions, predictions }
    });
    let rate = |point: &Measured| {
        let speed_up = base(scale, point.law, point.data).map(|base| {
            let rate = |point: &Measured| point.ngpown as f64 / point.times.median;
            rate(point) / rate(base)
        });
        let modelled = model.as_ref().map(|model| {
            let seconds = task(&kind, point).seconds(&model.constants);
            let fitted = point.members <= model.fitted_up_to;
            Modelled { seconds, deviation: seconds / point.times.min - 1.0, fitted }
        });
        let efficiency = speed_up.map(|speed_up| speed_up / point.members as f64);
        Measured { speed_up, efficiency, modelled, ..point.clone() }
    };
    let measured: Vec<Measured> = scale.measured.iter().map(rate).collect();
    let checked = measured.iter().filter_map(|point| point.modelled).filter(|by| !by.fitted);
    let worst = checked.map(|by| by.deviation).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let holds = worst.is_some_and(|worst| worst.abs() <= BOUND);
    let model = model.map(|mut model| {
        model.worst_deviation = worst;
        model.predictions.retain(|_| holds);
        model
    });
    Scale { measured, model, ..scale.clone() }
}

/// The point of one member on a line.
fn base(scale: &Scale, law: Law, data: Data) -> Option<&Measured> {
    let is_base = |point: &&Measured| {
        law != Law::Slabs && (point.law, point.data, point.members) == (law, data, 1)
    };
    scale.measured.iter().find(is_base)
}

/// What a point did.
fn task<'k>(kind: &'k Kind, point: &Measured) -> Task<'k> {
    let Measured { members, ngpown, igp, data, .. } = *point;
    Task { kind, members, ngpown, igp, data }
}
