//! Which shape of tiles is the fastest.

use crate::catalogue::tuned::Tuned;
use crate::record::run::TileShape;
use crate::record::tuning::Tuning;
use crate::reference::verify::Outcome;

/// The tuning with its shapes in order, fastest first, and the fastest that passed, where all were
/// tried.
pub fn ranked(tuning: &Tuning) -> Tuning {
    let mut ranked = tuning.clone();
    ranked.results.sort_by(|a, b| a.times.median.total_cmp(&b.times.median));
    let fastest = ranked.results.iter().find(|trial| trial.outcome == Outcome::Passed);
    let complete = ranked.head.complete;
    ranked.best = fastest.filter(|_| complete).map(|trial| tuned(tuning, trial.shape));
    ranked
}

/// A shape as `data/tuned.json` has it.
fn tuned(tuning: &Tuning, shape: TileShape) -> Tuned {
    Tuned {
        device: tuning.head.device.name.clone(),
        version: tuning.version.clone(),
        poles: tuning.poles.into(),
        tile: shape.tile,
        warps: shape.warps,
        max_registers: shape.max_registers,
    }
}
