//! A comparison for the terminal.

use std::io::{self, Write};

use super::results::regime;
use super::table::{Cells, or_dash, outcome, sigma};
use super::units::{Unit, time};
use crate::analysis::comparison::{ratios, systems};
use crate::record::comparison::{Comparison, Heat, Pair, Racer, Side};
use crate::record::times::Verdict;

/// Our versions in a finished heat beside the yardstick, a line each.
pub fn lines(heat: &Heat) -> impl Iterator<Item = String> {
    let line = |racer: &Racer, other: &Racer| {
        let [own, by] = [racer, other].map(|racer| racer.times.median);
        let (name, yardstick) = (&racer.name, other.side.name());
        format!("{name:<4} Rust {}, {yardstick} {}, {:.3}", time(own), time(by), own / by)
    };
    let ours = heat.racers.iter().filter(|racer| racer.side == Side::Rust);
    ours.filter_map(move |racer| Some(line(racer, heat.yardstick()?)))
}

/// Sums that did not pass, in a line.
pub fn failure(heat: &Heat, racer: &Racer) -> String {
    let (name, by, system) = (&racer.name, racer.side.name(), &heat.system);
    format!("{name} by {by} on {system}: {}", outcome(racer.outcome))
}

/// All who ran, of a comparison that is rated.
///
/// # Errors
/// Those of `to`.
pub fn comparison(to: &mut dyn Write, found: &Comparison) -> io::Result<()> {
    let device = &found.head.device;
    writeln!(to, "on {}: {}, {}", device.id, device.name, found.yardstick)?;
    pairs(found, None).print(to, &[10, 9])?;
    for system in systems(found) {
        let mean = ratios(found, system).map_or(f64::NAN, |of| of.mean);
        writeln!(to, "{system}: geometric mean of Rust over CUDA {mean:.3}")?;
    }
    best(found).print(to, &[9, 11, 8])?;
    racers(found).print(to, &[5, 8, 4, 3])?;
    let mut flags: Vec<&str> =
        found.racers().filter_map(|(_, racer)| racer.flags.as_deref()).collect();
    flags.sort_by_key(|flags| flags.len());
    if let Some(common) = flags.first() {
        writeln!(to, "Fortran: {common} and what a build names")?;
    }
    let regime = found.head.provenance.as_ref().and_then(|from| from.regime).map(regime);
    regime.map_or(Ok(()), |said| writeln!(to, "{said}"))
}

fn error(error: Option<f64>) -> String {
    or_dash(error.map(|error| format!("{error:.1e}")))
}

fn times(ratio: Option<f64>) -> String {
    or_dash(ratio.map(|ratio| format!("{ratio:.2}×")))
}

/// Whether the ranks of the times tell both sides apart.
fn told(verdict: Option<Verdict>) -> String {
    or_dash(verdict.map(|verdict| match verdict {
        Verdict::Differs => "yes",
        Verdict::Noise => "no",
    }))
}

/// Median clock of a side, with what the limit of power took of it.
fn clock(side: &Racer) -> Option<String> {
    let state = side.state.as_ref()?;
    let clock = state.sm_mhz?.median;
    Some(match state.clock_lost() {
        Some(lost) if lost >= 0.005 => format!("{clock:.0}, {:.1} % lost", 100.0 * lost),
        _ => format!("{clock:.0}"),
    })
}

fn unit<'a>(pairs: &[Pair<'a>]) -> Unit {
    Unit::of_times(pairs.iter().flat_map(|pair| [pair.ours, pair.other]).map(|of| of.times.median))
}

/// Versions beside the same ones of the yardstick, on all systems or on one.
pub fn pairs(found: &Comparison, system: Option<&str>) -> Cells {
    let on = |pair: &Pair| system.is_none_or(|system| pair.heat.system == system);
    let pairs: Vec<Pair> = found.pairs().filter(on).collect();
    let unit = unit(&pairs);
    let headings = [
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
    ];
    let row = |Pair { heat, ours, other }: &Pair| {
        let ratio = |over: Option<f64>| or_dash(over.map(|over| format!("{:.3}", 1.0 / over)));
        vec![
            heat.system.clone(),
            ours.name.clone(),
            unit.show(ours.times.median),
            unit.show(other.times.median),
            ratio(ours.over_yardstick),
            ratio(ours.over_before_cap),
            told(ours.verdict),
            or_dash(clock(ours)),
            or_dash(clock(other)),
            error(ours.max_rel_error),
            error(other.max_rel_error),
        ]
    };
    Cells::new(&headings, pairs.iter().map(row))
}

/// The best version beside another one of the yardstick.
pub fn best(found: &Comparison) -> Cells {
    let pairs: Vec<Pair> = found.best().collect();
    let unit = unit(&pairs);
    let other = pairs.first().map_or("", |pair| &pair.other.name);
    let headings = [
        "system",
        "version",
        "poles",
        &format!("time [{}]", unit.name),
        &format!("CUDA {other} [{}]", unit.name),
        &format!("CUDA {other}/best"),
        "before cap",
        "told apart",
        "rel. error",
        "v3 rel. error",
        "FP64 busy",
        "HBM [GB]",
    ];
    let row = |Pair { heat, ours, other }: &Pair| {
        vec![
            heat.system.clone(),
            ours.name.clone(),
            or_dash(heat.poles.map(|poles| poles.name())),
            unit.show(ours.times.median),
            unit.show(other.times.median),
            times(ours.over_yardstick),
            times(ours.over_before_cap),
            told(ours.verdict),
            error(ours.max_rel_error),
            error(heat.v3_error),
            or_dash(ours.fp64_pipe_percent.map(|busy| format!("{busy:.0} %"))),
            or_dash(ours.hbm_bytes.map(|bytes| format!("{:.2}", bytes / 1e9))),
        ]
    };
    Cells::new(&headings, pairs.iter().map(row))
}

/// All who ran on a processor.
pub fn racers(found: &Comparison) -> Cells {
    let unit = Unit::of_times(found.racers().map(|(_, racer)| racer.times.median));
    let headings = [
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
    ];
    let row = |(heat, racer): (&Heat, &Racer)| {
        vec![
            heat.system.clone(),
            racer.side.name().into(),
            racer.name.clone(),
            or_dash(racer.threads),
            unit.show(racer.times.median),
            sigma(&racer.times),
            or_dash(heat.ns_per_term(racer).map(|ns| format!("{ns:.3}"))),
            times(racer.over_yardstick),
            error(racer.max_rel_error),
            outcome(racer.outcome).into(),
        ]
    };
    Cells::new(&headings, found.racers().map(row))
}
