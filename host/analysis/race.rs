//! Who is how much faster than the fastest build of the yardstick in Fortran.

use crate::record::race::{Race, Racer, Side};
use crate::reference::verify::Outcome;

/// The fastest build on a system, of those whose sums passed.
pub fn fastest<'a>(race: &'a Race, system: &str) -> Option<&'a Racer> {
    let builds = race.racers.iter().filter(|racer| {
        racer.system == system && racer.side == Side::Fortran && racer.outcome == Outcome::Passed
    });
    builds.min_by(|a, b| a.times.median.total_cmp(&b.times.median))
}

/// The race with everyone's ratio to the fastest build.
pub fn rated(race: &Race) -> Race {
    let over = |racer: &Racer| {
        let fastest = fastest(race, &racer.system)?;
        Some(fastest.times.median / racer.times.median).filter(|ratio| ratio.is_finite())
    };
    let rated = |racer: &Racer| Racer { over_fortran: over(racer), ..racer.clone() };
    Race { racers: race.racers.iter().map(rated).collect(), ..race.clone() }
}
