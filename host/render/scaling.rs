//! A scaling for the terminal.

use std::io::{self, Write};

use super::table::{fit, or_dash, outcome, table, terminal};
use crate::record::scaling::{Point, Scaling};

/// A finished point in a line.
pub fn line(point: &Point) -> String {
    let Point { nbands, ngpown, ncouls, nw, .. } = point;
    let extents = format!("{nbands} × {ngpown} × {ncouls} × {nw}");
    format!("{extents:<28} {:>12.4} ms  {}", point.time_ms, outcome(point.outcome))
}

/// The points of a scaling that is rated.
///
/// # Errors
/// Those of `to`.
pub fn scaling(to: &mut dyn Write, scaling: &Scaling) -> io::Result<()> {
    let mut rows = table(&[
        "line",
        "nbands",
        "ngpown",
        "ncouls",
        "nw",
        "median [ms]",
        "σ",
        "terms/s",
        "efficiency",
        "outcome",
    ]);
    for p in &scaling.points {
        rows.add_row([
            p.line.name().to_string(),
            p.nbands.to_string(),
            p.ngpown.to_string(),
            p.ncouls.to_string(),
            p.nw.to_string(),
            format!("{:.4}", p.time_ms),
            or_dash(p.sigma_ms.map(|sigma| format!("{:.1} %", 100.0 * sigma / p.time_ms))),
            format!("{:.3e}", p.terms_per_s),
            or_dash(p.efficiency.map(|efficiency| format!("{:.0} %", efficiency * 100.0))),
            outcome(p.outcome).into(),
        ]);
    }
    writeln!(to, "{} on {}", scaling.version, scaling.head.device.name)?;
    writeln!(to, "{}", fit(rows, &[6, 7, 4], terminal()))
}
