//! A race for the terminal.

use std::io::{self, Write};

use comfy_table::Cell;

use super::table::{fit, or_dash, outcome, outcome_cell, sigma, table, terminal};
use super::units::Unit;
use crate::record::race::{Race, Racer, Side};

/// Whose it is, as in texts.
fn side(side: Side) -> &'static str {
    match side {
        Side::Rust => "Rust",
        Side::Fortran => "Fortran",
    }
}

/// Sums that did not pass, in a line.
pub fn failure(racer: &Racer) -> String {
    let Racer { name, system, .. } = racer;
    format!("{} {name} on {system}: {}", side(racer.side), outcome(racer.outcome))
}

/// All who ran, of a race that is rated.
///
/// # Errors
/// Those of `to`.
pub fn race(to: &mut dyn Write, race: &Race) -> io::Result<()> {
    let device = &race.head.device;
    writeln!(to, "on {}: {}, {}", device.id, device.name, race.yardstick)?;
    let unit = Unit::of_times(race.racers.iter().map(|racer| racer.times.median));
    let mut table = table(&[
        "system",
        "by",
        "build or version",
        "threads",
        &format!("time [{}]", unit.name),
        "σ",
        "ns/term",
        "× fastest Fortran",
        "rel. error",
        "verified",
    ]);
    for racer in &race.racers {
        table.add_row(vec![
            Cell::new(&racer.system),
            Cell::new(side(racer.side)),
            Cell::new(&racer.name),
            Cell::new(racer.threads),
            Cell::new(unit.show(racer.times.median)),
            Cell::new(sigma(&racer.times)),
            Cell::new(format!("{:.3}", racer.ns_per_term)),
            Cell::new(or_dash(racer.over_fortran.map(|ratio| format!("{ratio:.2}×")))),
            Cell::new(or_dash(racer.max_rel_error.map(|error| format!("{error:.1e}")))),
            outcome_cell(racer.outcome),
        ]);
    }
    writeln!(to, "{}", fit(table, &[5, 8, 4, 3], terminal()))?;
    let mut flags: Vec<&str> =
        race.racers.iter().filter_map(|racer| racer.flags.as_deref()).collect();
    flags.sort_by_key(|flags| flags.len());
    match flags.first() {
        Some(common) => writeln!(to, "Fortran: {common} and what a build names"),
        None => Ok(()),
    }
}
