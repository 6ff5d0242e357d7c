//! A scaling over devices for the terminal.

use std::io::{self, Write};

use super::results;
use super::table::{fit, or_dash, outcome, sigma, table, terminal};
use super::units::{Unit, percent, time};
use crate::record::scale::{Constants, Measured, Model, Over, Predicted, Prediction, Scale};

/// A finished point in a line.
pub fn line(point: &Measured) -> String {
    let Measured { law, data, members, ngpown, .. } = point;
    let of = format!("{} {}, {members}: {ngpown} G′", law.name(), data.words());
    format!("{of:<32} {:>12}  {}", time(point.times.median), outcome(point.outcome))
}

/// A table, in every form.
pub struct Cells {
    /// Of the columns.
    pub headings: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Cells {
    fn fitted(self, drops: &[usize]) -> String {
        let mut rows = table(&self.headings);
        rows.add_rows(self.rows);
        fit(rows, drops, terminal())
    }
}

/// The points of a scaling that is rated.
pub fn points(scale: &Scale) -> Cells {
    let unit = Unit::of_times(scale.measured.iter().map(|point| point.times.median));
    let headings = [
        "scaling",
        "data",
        scale.over.name(),
        "G′",
        "slabs",
        &format!("median [{}]", unit.name),
        "σ",
        "speed-up",
        "efficiency",
        "imbalance",
        &format!("gather [{}]", unit.name),
        &format!("model [{}]", unit.name),
        "off by",
        "outcome",
    ];
    let cells = |point: &Measured| {
        // What the model was fitted on is no check of it.
        let off = point.modelled.map(|by| {
            let fitted = if by.fitted { " (fitted)" } else { "" };
            format!("{}{fitted}", percent(by.deviation))
        });
        vec![
            point.law.name().into(),
            point.data.words().into(),
            point.members.to_string(),
            point.ngpown.to_string(),
            point.slabs.to_string(),
            unit.show(point.times.median),
            sigma(&point.times),
            or_dash(point.speed_up.map(|ratio| format!("{ratio:.2}×"))),
            or_dash(point.efficiency.map(share)),
            or_dash(point.imbalance.filter(|_| point.shares.len() > 1).map(share)),
            or_dash(point.gather_s.map(|seconds| unit.show(seconds))),
            or_dash(point.modelled.map(|by| unit.show(by.seconds))),
            or_dash(off),
            outcome(point.outcome).into(),
        ]
    };
    Cells {
        headings: headings.map(str::to_string).into(),
        rows: scale.measured.iter().map(cells).collect(),
    }
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
    let headings = headings.map(str::to_string).into();
    Cells { headings, rows: model.predictions.iter().flat_map(cells).collect() }
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
    let members = scale.over.name();
    writeln!(to, "{}", results::system(&scale.system))?;
    writeln!(to, "{} over {members} of {}", scale.version, scale.head.device.name)?;
    writeln!(to, "{}", points(scale).fitted(&[6, 4, 10, 9, 3]))?;
    let Some(model) = &scale.model else { return Ok(()) };
    writeln!(to, "model: {}", constants(model, scale.over))?;
    if model.predictions.is_empty() {
        return writeln!(to, "{NOTHING}");
    }
    writeln!(to, "{}", predicted(model, scale.over).fitted(&[2]))?;
    writeln!(to, "The predictions take for granted that")?;
    model.assumptions.iter().try_for_each(|text| writeln!(to, "- {text}"))
}

fn share(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}
