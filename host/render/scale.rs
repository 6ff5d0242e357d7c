//! A scaling for the terminal.

use std::io::{self, Write};

use super::results;
use super::table::{Cells, Column, or_dash, outcome, sigma};
use super::units::{Unit, percent, time};
use crate::record::scale::{
    Constants, Line, Model, Modelled, Over, Point, Predicted, Prediction, Scale,
};

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
    let varies = |of: bool, cell: &dyn ToString| or_dash(of.then(|| cell.to_string()));
    let ratio = |ratio: Option<f64>| or_dash(ratio.map(|ratio| format!("{ratio:.2}×")));
    // What the model was fitted on is no check of it.
    let off = |by: Modelled| {
        let fitted = if by.fitted { " (fitted)" } else { "" };
        format!("{}{fitted}", percent(by.deviation))
    };
    let columns: [Column<&Point>; 18] = [
        ("scaling", &|point| point.line.name().into()),
        ("data", &|point| varies(!extents, &point.data.words())),
        (scale.over.name(), &|point| varies(!extents, &point.members)),
        ("bands", &|point| varies(extents, &point.nbands)),
        ("G′", &|point| point.ngpown.to_string()),
        ("G", &|point| varies(extents, &point.ncouls)),
        ("energies", &|point| varies(extents, &point.nw)),
        ("slabs", &|point| varies(!extents, &point.slabs)),
        (&format!("median [{}]", unit.name), &|point| unit.show(point.times.median)),
        ("σ", &|point| sigma(&point.times)),
        ("terms/s", &|point| varies(extents, &format!("{:.3e}", point.terms_per_s()))),
        ("speed-up", &|point| ratio(point.speed_up)),
        ("efficiency", &|point| or_dash(point.efficiency.map(share))),
        ("imbalance", &|p| or_dash(p.imbalance.filter(|_| p.shares.len() > 1).map(share))),
        (&format!("gather [{}]", unit.name), &|p| or_dash(p.gather_s.map(|s| unit.show(s)))),
        (&format!("model [{}]", unit.name), &|p| {
            or_dash(p.modelled.map(|by| unit.show(by.seconds)))
        }),
        ("off by", &|point| or_dash(point.modelled.map(off))),
        ("outcome", &|point| outcome(point.outcome).into()),
    ];
    Cells::new(&columns, &scale.points)
}

/// What the model says of powers of four, and of as many members as there are groups; the record has more.
pub fn predicted(model: &Model, over: Over) -> Cells {
    let columns: [Column<(&Prediction, &Predicted)>; 7] = [
        ("predicted", &|(of, _)| of.system.clone()),
        ("data", &|(of, _)| of.data.words().into()),
        ("groups", &|(of, _)| of.groups.to_string()),
        (over.name(), &|(_, team)| team.members.to_string()),
        ("time", &|(_, team)| time(team.seconds)),
        ("speed-up", &|(_, team)| format!("{:.1}×", team.speed_up)),
        ("efficiency", &|(_, team)| share(team.efficiency)),
    ];
    let rows = model.predictions.iter().flat_map(|of| {
        let last = of.teams.len().saturating_sub(1);
        let shown = of.teams.iter().enumerate().filter(move |(at, _)| at % 2 == 0 || *at == last);
        shown.map(move |(_, team)| (of, team))
    });
    Cells::new(&columns, rows)
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
