//! A tuning for the terminal.

use std::io::{self, Write};

use super::table::{fit, or_dash, outcome, outcome_cell, sigma, table, terminal};
use super::units::{Unit, time};
use crate::record::run::TileShape;
use crate::record::tuning::{Trial, Tuning};

/// The flags that run a shape.
fn flags(TileShape { tile, warps, max_registers }: TileShape) -> String {
    let cap = max_registers.map_or(String::new(), |cap| format!(" --registers {cap}"));
    format!("--tile {tile} --warps {warps}{cap}")
}

/// A finished shape in a line.
pub fn line(trial: &Trial) -> String {
    let (time, outcome) = (time(trial.times.median), outcome(trial.outcome));
    format!("{} {time:>12}  {outcome}", flags(trial.shape))
}

/// The shapes of a tuning that is ranked, and the fastest.
///
/// # Errors
/// Those of `to`.
pub fn tuning(to: &mut dyn Write, tuning: &Tuning) -> io::Result<()> {
    let unit = Unit::of_times(tuning.results.iter().map(|trial| trial.times.median));
    let mut rows = table(&[
        "G′ of a thread",
        "warps of a block",
        "most registers",
        &format!("median [{}]", unit.name),
        "σ",
        "registers",
        "local [B]",
        "warps/SM",
        "outcome",
    ]);
    for trial in &tuning.results {
        rows.add_row(vec![
            trial.shape.tile.to_string().into(),
            trial.shape.warps.to_string().into(),
            or_dash(trial.shape.max_registers).into(),
            unit.show(trial.times.median).into(),
            sigma(&trial.times).into(),
            or_dash(trial.registers).into(),
            or_dash(trial.local_bytes).into(),
            or_dash(trial.warps_per_sm).into(),
            outcome_cell(trial.outcome),
        ]);
    }
    let (system, device, poles) = (&tuning.system, &tuning.head.device.name, tuning.poles.name());
    write!(to, "{system} on {device}, {poles} poles")?;
    match (tuning.head.complete, tuning.tried, tuning.shapes) {
        (false, Some(tried), Some(shapes)) => {
            writeln!(to, ": interrupted after {tried} of {shapes} shapes")?;
        }
        _ => writeln!(to)?,
    }
    writeln!(to, "{}", fit(rows, &[6, 7, 5], terminal()))?;
    if let Some(best) = &tuning.best {
        let (tile, warps, max_registers) = (best.tile, best.warps, best.max_registers);
        let flags = flags(TileShape { tile, warps, max_registers });
        writeln!(to, "fastest: gpp --version {} {flags}", tuning.version)?;
        writeln!(to, "for data/tuned.json: {}", serde_json::to_string(best)?)?;
    }
    Ok(())
}
