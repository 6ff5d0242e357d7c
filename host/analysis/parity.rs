//! Our kernels against the yardstick's, summed up.

use std::collections::BTreeMap;

use super::noise::differs;
use crate::record::comparison::{Best, ByPoles, Comparison, Competitor, Parity};
use crate::record::system::Poles;

/// The comparison with its means and the figures of the best version.
pub fn rated(found: &Comparison) -> Comparison {
    let first = |poles: Poles| {
        let best = found.best.iter().find(|best| best.poles == poles);
        best.map(|best| best.cuda_v8_over_best)
    };
    let side = |side: &Option<Competitor>| side.as_ref().map(|side| side.times.clone());
    let verdict = |a: &_, b: &_| side(a).zip(side(b)).and_then(|(a, b)| differs(&a, &b));
    let parity = found.parity.iter().map(|row| {
        let verdict = verdict(&row.rust, &row.cuda);
        Parity { verdict, ..row.clone() }
    });
    let best = found.best.iter().map(|row| {
        let verdict = verdict(&row.best, &row.cuda_v8);
        Best { verdict, ..row.clone() }
    });
    Comparison {
        parity: parity.collect(),
        best: best.collect(),
        geometric_mean: means(&found.parity),
        best_over_cuda_v8: ByPoles { real: first(Poles::Real), complex: first(Poles::Complex) },
        fp64_pipe_percent: found.best.first().and_then(|best| best.fp64_pipe_percent),
        ..found.clone()
    }
}

/// Geometric means of ours over the yardstick's, by system.
pub fn means(parity: &[Parity]) -> BTreeMap<String, f64> {
    let mut ratios: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for row in parity {
        ratios.entry(row.system.clone()).or_default().push(row.ratio);
    }
    ratios.into_iter().filter_map(|(system, of)| Some((system, Ratios::of(&of)?.mean))).collect()
}

/// Ratios of one system, summed up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratios {
    /// Geometric mean.
    pub mean: f64,
    /// Least.
    pub least: f64,
    /// Most.
    pub most: f64,
}

impl Ratios {
    /// Of at least one ratio.
    pub fn of(ratios: &[f64]) -> Option<Ratios> {
        let logarithms: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
        (!ratios.is_empty()).then(|| Ratios {
            mean: f64::exp(logarithms / ratios.len() as f64),
            least: ratios.iter().copied().fold(f64::INFINITY, f64::min),
            most: ratios.iter().copied().fold(0.0, f64::max),
        })
    }
}
