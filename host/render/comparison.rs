//! A comparison for the terminal.

use std::io::{self, Write};

use super::results::regime;
use super::table::{fit, or_dash, outcome, table, terminal};
use super::units::{Unit, time};
use crate::record::comparison::{Best, By, Comparison, Competitor, Failure, Parity};
use crate::record::times::Verdict;

/// A finished version in a line.
pub fn line(row: &Parity) -> String {
    let Parity { version, rust_ms, cuda_ms, ratio, .. } = row;
    let [rust, cuda] = [rust_ms, cuda_ms].map(|ms| time(ms / 1e3));
    format!("{version:<4} Rust {rust}, CUDA {cuda}, {ratio:.3}")
}

/// Sums that did not pass, in a line.
pub fn failure(failure: &Failure) -> String {
    let by = match failure.by {
        By::Rust => "Rust",
        By::Cuda => "CUDA",
    };
    let Failure { version, system, .. } = failure;
    format!("{version} by {by} on {system}: {}", outcome(failure.outcome))
}

/// Both sides and the best version, of a comparison that is rated.
///
/// # Errors
/// Those of `to`.
pub fn comparison(to: &mut dyn Write, found: &Comparison) -> io::Result<()> {
    let (device, width) = (&found.head.device, terminal());
    writeln!(to, "on {}: {}, {}", device.id, device.name, found.yardstick)?;
    writeln!(to, "{}", sides(&found.parity, width))?;
    for (system, mean) in &found.geometric_mean {
        writeln!(to, "{system}: geometric mean of Rust over CUDA {mean:.3}")?;
    }
    writeln!(to, "{}", best(&found.best, width))?;
    let regime = found.head.provenance.as_ref().and_then(|from| from.regime).map(regime);
    regime.map_or(Ok(()), |said| writeln!(to, "{said}"))
}

/// Our times against the yardstick's.
fn sides(rows: &[Parity], width: Option<u16>) -> String {
    let unit = Unit::of_times(rows.iter().flat_map(|row| [row.rust_ms / 1e3, row.cuda_ms / 1e3]));
    let mut table = table(&[
        "system",
        "version",
        &format!("Rust [{}]", unit.name),
        &format!("CUDA [{}]", unit.name),
        "Rust/CUDA",
        "before cap",
        "told apart",
        "Rust [MHz]",
        "CUDA [MHz]",
        "Rust rel. error",
        "CUDA rel. error",
    ]);
    let error = |error: Option<f64>| or_dash(error.map(|error| format!("{error:.1e}")));
    for row in rows {
        table.add_row([
            row.system.clone(),
            row.version.clone(),
            unit.show(row.rust_ms / 1e3),
            unit.show(row.cuda_ms / 1e3),
            format!("{:.3}", row.ratio),
            or_dash(row.ratio_before_cap.map(|ratio| format!("{ratio:.3}"))),
            or_dash(row.verdict.map(verdict)),
            or_dash(row.rust.as_ref().and_then(clock)),
            or_dash(row.cuda.as_ref().and_then(clock)),
            error(row.rust_error),
            error(row.cuda_error),
        ]);
    }
    fit(table, &[10, 9], width)
}

/// A verdict in the column that asks whether the ranks of the times tell both sides apart.
fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Differs => "yes",
        Verdict::Noise => "no",
    }
}

/// Median clock of a side, with what the limit of power took of it.
fn clock(side: &Competitor) -> Option<String> {
    let state = side.state.as_ref()?;
    let clock = state.sm_mhz?.median;
    Some(match state.clock_lost() {
        Some(lost) if lost >= 0.005 => format!("{clock:.0}, {:.1} % lost", 100.0 * lost),
        _ => format!("{clock:.0}"),
    })
}

/// The best version against the yardstick's v8.
fn best(rows: &[Best], width: Option<u16>) -> String {
    let unit =
        Unit::of_times(rows.iter().flat_map(|row| [row.best_ms / 1e3, row.cuda_v8_ms / 1e3]));
    let mut table = table(&[
        "system",
        "version",
        "poles",
        &format!("time [{}]", unit.name),
        &format!("CUDA v8 [{}]", unit.name),
        "CUDA v8/best",
        "before cap",
        "told apart",
        "rel. error",
        "v3 rel. error",
        "FP64 busy",
        "HBM [GB]",
    ]);
    let error = |error: Option<f64>| or_dash(error.map(|error| format!("{error:.1e}")));
    for row in rows {
        table.add_row([
            row.system.clone(),
            row.version.clone(),
            row.poles.name().into(),
            unit.show(row.best_ms / 1e3),
            unit.show(row.cuda_v8_ms / 1e3),
            format!("{:.2}×", row.cuda_v8_over_best),
            or_dash(row.over_best_before_cap.map(|ratio| format!("{ratio:.2}×"))),
            or_dash(row.verdict.map(verdict)),
            error(row.best_error),
            error(row.v3_error),
            or_dash(row.fp64_pipe_percent.map(|busy| format!("{busy:.0} %"))),
            or_dash(row.hbm_bytes.map(|bytes| format!("{:.2}", bytes / 1e9))),
        ]);
    }
    fit(table, &[9, 11, 8], width)
}
