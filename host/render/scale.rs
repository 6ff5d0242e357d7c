//! A scaling for the terminal.

use std::io::{self, Write};

use super::results;
use super::table::{Cells, or_dash, outcome, sigma};
use super::units::{Unit, percent, time};
use crate::record::scale::{Constants, Line, Model, Over, Point, Predicted, Prediction, Scale};

/// A finished point in a line.
pub fn line(point: &Point) -> String {
    let Point { line, data, members, nbands, ngpown, ncouls, nw, .. } = point;
    let of = if Line::EXTENTS.contains(line) {
        format!("{} {nbands} × {ngpown} × {ncouls} × {nw}", line.name())
    } else {
        format!("{} {}, {members}: {ngpown} G′", line.name(), data.words())
    };
    format!("{of:<32} {:>12}  {}", time(point.times.median), outcome(point.outcome))
}

/// The points of a scaling that is rated: members or extents, whichever vary.
pub fn points(scale: &Scale) -> Cells {
    let unit = Unit::of_times(scale.points.iter().map(|point| point.times.median));
    let extents = scale.over == Over::Extents;
    let headings = [
        "scaling",
        "data",
        scale.over.name(),
        "bands",
        "G′",
        "G",
        "energies",
        "slabs",
        &format!("median [{}]", unit.name),
        "σ",
        "terms/s",
        "speed-up",
        "efficiency",
        "imbalance",
        &format!("gather [{}]", unit.name),
        &format!("model [{}]", unit.name),
        "off by",
        "outcome",
    ];
    let varies = |of: bool, cell: String| or_dash(of.then_some(cell));
    let cells = |point: &Point| {
        // What the model was fitted on is no check of it.
        let off = point.modelled.map(|by| {
            let fitted = if by.fitted { " (fitted)" } else { "" };
            format!("{}{fitted}", percent(by.deviation))
        });
        vec![
            point.line.name().into(),
            varies(!extents, point.data.words().into()),
            varies(!extents, point.members.to_string()),
            varies(extents, point.nbands.to_string()),
            point.ngpown.to_string(),
            varies(extents, point.ncouls.to_string()),
            varies(extents, point.nw.to_string()),
            varies(!extents, point.slabs.to_string()),
            unit.show(point.times.median),
            sigma(&point.times),
            varies(extents, format!("{:.3e}", point.terms_per_s())),
            or_dash(point.speed_up.map(|ratio| format!("{ratio:.2}×"))),
            or_dash(point.efficiency.map(share)),
            or_dash(point.imbalance.filter(|_| point.shares.len() > 1).map(share)),
            or_dash(point.gather_s.map(|seconds| unit.show(seconds))),
            or_dash(point.modelled.map(|by| unit.show(by.seconds))),
            or_dash(off),
            outcome(point.outcome).into(),
        ]
    };
    Cells::new(&headings, scale.points.iter().map(cells))
}

/// What the model says of powers of four, and of as many members as there are groups; the record has more.
pub fn predicted(model: &Model, over: Over) -> Cells {
    let headings = ["predicted", "data", "groups", over.name(), "time", "speed-up", "efficiency"];
    let cells = |of: &Prediction| {
        let last = of.teams.len().saturating_sub(1);
        let shown = of.teams.iter().enumerate().filter(|(at, _)| at % 2 == 0 || *at == last);
        let row = |(_, team): (usize, &Predicted)| {
            vec![
                of.system.clone(),
                of.data.words().into(),
                of.groups.to_string(),
                team.members.to_string(),
                time(team.seconds),
                format!("{:.1}×", team.speed_up),
                share(team.efficiency),
            ]
        };
        shown.map(row).collect::<Vec<_>>()
    };
    Cells::new(&headings, model.predictions.iter().flat_map(cells))
}

/// The model's constants, and what they are worth.
pub fn constants(model: &Model, over: Over) -> String {
    let Constants { slab_s, igp_s, bandwidth, .. } = model.constants;
    let from_host = bandwidth.map(|rate| format!(", {:.1} GB/s from the host", rate / 1e9));
    let from_host = from_host.unwrap_or_default();
    let (up_to, members) = (model.fitted_up_to, over.name());
    let worth = match model.worst_deviation {
        Some(worst) => format!(
            "fitted on up to {up_to} of the {members}, of more it is off by {} at worst",
            percent(worst)
        ),
        None => "fitted on all that was measured".into(),
    };
    format!("{:.2} µs a slab and {:.3} µs a G′{from_host}; {worth}", slab_s * 1e6, igp_s * 1e6)
}

/// What is said in place of predictions.
pub const NOTHING: &str =
    "it predicts nothing: no point on which it was not fitted shows that it is within 5 %";

/// The points of a scaling that is rated, and its model.
///
/// # Errors
/// Those of `to`.
pub fn scale(to: &mut dyn Write, scale: &Scale) -> io::Result<()> {
    let (members, extents) = (scale.over.name(), scale.over == Over::Extents);
    writeln!(to, "{}", results::system(&scale.system))?;
    writeln!(to, "{} over {members} of {}", scale.version, scale.head.device.name)?;
    points(scale).print(to, if extents { &[9] } else { &[9, 7, 14, 13, 4] })?;
    let Some(model) = &scale.model else { return Ok(()) };
    writeln!(to, "model: {}", constants(model, scale.over))?;
    if model.predictions.is_empty() {
        return writeln!(to, "{NOTHING}");
    }
    predicted(model, scale.over).print(to, &[2])?;
    writeln!(to, "The predictions take for granted that")?;
    model.assumptions.iter().try_for_each(|text| writeln!(to, "- {text}"))
}

fn share(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}
