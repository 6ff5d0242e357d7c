//! A scaling over devices for the terminal.

use std::io::{self, Write};

use super::results;
use super::table::{fit, or_dash, outcome, outcome_cell, sigma, table, terminal};
use crate::record::scale::{Measured, Model, Predicted, Prediction, Scale};

/// A finished point in a line.
pub fn line(point: &Measured) -> String {
    let Measured { law, data, members, ngpown, .. } = point;
    let of = format!("{} {}, {members}: {ngpown} G′", law.name(), data.words());
    format!("{of:<32} {:>12.3} ms  {}", point.times.median * 1e3, outcome(point.outcome))
}

/// The points of a scaling that is rated, and its model.
///
/// # Errors
/// Those of `to`.
pub fn scale(to: &mut dyn Write, scale: &Scale) -> io::Result<()> {
    let members = scale.over.name();
    let mut rows = table(&[
        "scaling",
        "data",
        members,
        "G′",
        "slabs",
        "median [ms]",
        "σ",
        "speed-up",
        "efficiency",
        "imbalance",
        "gather [ms]",
        "model [ms]",
        "off by",
        "outcome",
    ]);
    for point in &scale.measured {
        // What the model was fitted on is no check of it.
        let off = point.modelled.map(|by| {
            let fitted = if by.fitted { " (fitted)" } else { "" };
            format!("{}{fitted}", signed(by.deviation))
        });
        rows.add_row(vec![
            point.law.name().into(),
            point.data.words().into(),
            point.members.to_string().into(),
            point.ngpown.to_string().into(),
            point.slabs.to_string().into(),
            milliseconds(point.times.median).into(),
            sigma(&point.times).into(),
            or_dash(point.speed_up.map(|ratio| format!("{ratio:.2}×"))).into(),
            or_dash(point.efficiency.map(percent)).into(),
            or_dash(point.imbalance.filter(|_| point.shares.len() > 1).map(percent)).into(),
            or_dash(point.gather_s.map(milliseconds)).into(),
            or_dash(point.modelled.map(|by| milliseconds(by.seconds))).into(),
            or_dash(off).into(),
            outcome_cell(point.outcome),
        ]);
    }
    writeln!(to, "{}", results::system(&scale.system))?;
    writeln!(to, "{} over {members} of {}", scale.version, scale.head.device.name)?;
    writeln!(to, "{}", fit(rows, &[6, 4, 10, 9, 3], terminal()))?;
    scale.model.as_ref().map_or(Ok(()), |model| self::model(to, model, members))
}

/// The constants, what they are worth, and what follows.
fn model(to: &mut dyn Write, model: &Model, members: &str) -> io::Result<()> {
    let of = &model.constants;
    write!(to, "model: {:.2} µs a slab and {:.3} µs a G′", of.slab_s * 1e6, of.igp_s * 1e6)?;
    if let Some(bandwidth) = of.bandwidth {
        write!(to, ", {:.1} GB/s from the host", bandwidth / 1e9)?;
    }
    let up_to = model.fitted_up_to;
    match model.worst_deviation {
        Some(worst) => writeln!(
            to,
            "; fitted on up to {up_to} of the {members}, of more it is off by {} at worst",
            signed(worst)
        )?,
        None => writeln!(to, "; fitted on all that was measured")?,
    }
    let mut rows =
        table(&["predicted", "data", "groups", members, "time [ms]", "speed-up", "efficiency"]);
    for of in &model.predictions {
        for team in shown(of) {
            rows.add_row([
                of.system.clone(),
                of.data.words().into(),
                of.groups.to_string(),
                team.members.to_string(),
                milliseconds(team.seconds),
                format!("{:.1}×", team.speed_up),
                percent(team.efficiency),
            ]);
        }
    }
    writeln!(to, "{}", fit(rows, &[2], terminal()))?;
    writeln!(to, "The predictions take for granted that")?;
    model.assumptions.iter().try_for_each(|text| writeln!(to, "- {text}"))
}

/// Powers of four and the last: the record has all.
fn shown(of: &Prediction) -> impl Iterator<Item = &Predicted> {
    let last = of.teams.len().saturating_sub(1);
    let teams = of.teams.iter().enumerate();
    teams.filter(move |(at, _)| at % 2 == 0 || *at == last).map(|(_, team)| team)
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.3}", seconds * 1e3)
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}

fn signed(part: f64) -> String {
    format!("{:+.1} %", 100.0 * part)
}
