//! A comparison for the terminal.

use std::io::{self, Write};

use super::table::{fit, or_dash, outcome, table, terminal};
use crate::record::comparison::{Best, By, Comparison, Competitor, Failure, Parity};
use crate::record::times::Verdict;

/// A finished version in a line.
pub fn line(row: &Parity) -> String {
    let Parity { version, rust_ms, cuda_ms, ratio, .. } = row;
    format!("{version:<4} Rust {rust_ms:.2} ms, CUDA {cuda_ms:.2} ms, {ratio:.3}")
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
    writeln!(to, "{}", best(&found.best, width))
}

/// Our times against the yardstick's.
fn sides(rows: &[Parity], width: Option<u16>) -> String {
    let mut table = table(&[
        "system",
        "version",
        "Rust [ms]",
        "CUDA [ms]",
        "Rust/CUDA",
        "larger than noise",
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
            format!("{:.2}", row.rust_ms),
            format!("{:.2}", row.cuda_ms),
            format!("{:.3}", row.ratio),
            or_dash(row.verdict.map(verdict)),
            or_dash(row.rust.as_ref().and_then(clock)),
            or_dash(row.cuda.as_ref().and_then(clock)),
            error(row.rust_error),
            error(row.cuda_error),
        ]);
    }
    fit(table, &[9, 8], width)
}

/// A verdict in the column that asks whether a difference is larger than noise.
fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Differs => "yes",
        Verdict::Noise => "no",
    }
}

/// Median clock of a side, with how many of its runs something held back.
fn clock(side: &Competitor) -> Option<String> {
    let clock = side.state.as_ref()?.sm_mhz?.median;
    Some(match side.held_back {
        Some(held) if held > 0 => {
            format!("{clock:.0}, held back in {held} of {}", side.times.samples.len())
        }
        _ => format!("{clock:.0}"),
    })
}

/// The best version against the yardstick's v8.
fn best(rows: &[Best], width: Option<u16>) -> String {
    let mut table = table(&[
        "system",
        "version",
        "poles",
        "time [ms]",
        "CUDA v8 [ms]",
        "CUDA v8/best",
        "larger than noise",
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
            format!("{:.2}", row.best_ms),
            format!("{:.2}", row.cuda_v8_ms),
            format!("{:.2}×", row.cuda_v8_over_best),
            or_dash(row.verdict.map(verdict)),
            error(row.best_error),
            error(row.v3_error),
            or_dash(row.fp64_pipe_percent.map(|busy| format!("{busy:.0} %"))),
            or_dash(row.hbm_bytes.map(|bytes| format!("{:.2}", bytes / 1e9))),
        ]);
    }
    fit(table, &[8, 10, 7], width)
}
