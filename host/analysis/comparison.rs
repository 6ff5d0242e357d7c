//! Our versions beside the yardstick, summed up.

use super::noise::differs;
use crate::record::comparison::{Comparison, Heat, Racer};

/// The comparison with everyone's ratio to the yardstick of the heat.
pub fn rated(found: &Comparison) -> Comparison {
    let heats = found.heats.iter().map(|heat| {
        let racers = heat.racers.iter().map(|racer| over(heat.yardstick(), racer)).collect();
        Heat { racers, ..heat.clone() }
    });
    Comparison { heats: heats.collect(), ..found.clone() }
}

fn over(yardstick: Option<&Racer>, racer: &Racer) -> Racer {
    let ratio = |of: &dyn Fn(&Racer) -> Option<f64>| {
        Some(of(yardstick?)? / of(racer)?).filter(|ratio: &f64| ratio.is_finite())
    };
    let before = |of: &Racer| Some(of.before_cap.as_ref()?.times.median);
    let others = yardstick.filter(|other| other.side != racer.side);
    Racer {
        over_yardstick: ratio(&|of| Some(of.times.median)),
        over_before_cap: ratio(&before),
        verdict: others.and_then(|other| differs(&racer.times, &other.times)),
        ..racer.clone()
    }
}

/// The systems on which versions ran beside the same ones of the yardstick.
pub fn systems(found: &Comparison) -> Vec<&str> {
    let mut systems: Vec<&str> = found.pairs().map(|pair| pair.heat.system.as_str()).collect();
    systems.dedup();
    systems
}

/// Our times over the yardstick's on a system, summed up.
pub fn ratios(found: &Comparison, system: &str) -> Option<Ratios> {
    let pairs = found.pairs().filter(|pair| pair.heat.system == system);
    Ratios::of(&pairs.map(|pair| pair.ratio()).collect::<Vec<_>>())
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
