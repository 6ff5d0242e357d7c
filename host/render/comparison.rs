//! A comparison for the terminal.

use std::io::{self, Write};

use super::results::regime;
use super::table::{Cells, Column, or_dash, outcome, sigma};
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
    let ratio = |over: Option<f64>| or_dash(over.map(|over| format!("{:.3}", 1.0 / over)));
    let columns: [Column<Pair>; 11] = [
        ("system", &|pair| pair.heat.system.clone()),
        ("version", &|pair| pair.ours.name.clone()),
        (&format!("Rust [{}]", unit.name), &|pair| unit.show(pair.ours.times.median)),
        (&format!("CUDA [{}]", unit.name), &|pair| unit.show(pair.other.times.median)),
        ("Rust/CUDA", &|pair| ratio(pair.ours.over_yardstick)),
        ("before cap", &|pair| ratio(pair.ours.over_before_cap)),
        ("told apart", &|pair| told(pair.ours.verdict)),
        ("Rust [MHz]", &|pair| or_dash(clock(pair.ours))),
        ("CUDA [MHz]", &|pair| or_dash(clock(pair.other))),
        ("Rust rel. error", &|pair| error(pair.ours.max_rel_error)),
        ("CUDA rel. error", &|pair| error(pair.other.max_rel_error)),
    ];
    Cells::new(&columns, pairs)
}

/// The best version beside another one of the yardstick.
pub fn best(found: &Comparison) -> Cells {
    let pairs: Vec<Pair> = found.best().collect();
    let unit = unit(&pairs);
    let other = pairs.first().map_or("", |pair| &pair.other.name);
    let hbm = |bytes: Option<f64>| or_dash(bytes.map(|bytes| format!("{:.2}", bytes / 1e9)));
    let busy = |percent: Option<f64>| or_dash(percent.map(|percent| format!("{percent:.0} %")));
    let columns: [Column<Pair>; 12] = [
        ("system", &|pair| pair.heat.system.clone()),
        ("version", &|pair| pair.ours.name.clone()),
        ("poles", &|pair| or_dash(pair.heat.poles.map(|poles| poles.name()))),
        (&format!("time [{}]", unit.name), &|pair| unit.show(pair.ours.times.median)),
        (&format!("CUDA {other} [{}]", unit.name), &|pair| unit.show(pair.other.times.median)),
        (&format!("CUDA {other}/best"), &|pair| times(pair.ours.over_yardstick)),
        ("before cap", &|pair| times(pair.ours.over_before_cap)),
        ("told apart", &|pair| told(pair.ours.verdict)),
        ("rel. error", &|pair| error(pair.ours.max_rel_error)),
        ("v3 rel. error", &|pair| error(pair.heat.v3_error)),
        ("FP64 busy", &|pair| busy(pair.ours.fp64_pipe_percent)),
        ("HBM [GB]", &|pair| hbm(pair.ours.hbm_bytes)),
    ];
    Cells::new(&columns, pairs)
}

/// All who ran on a processor.
pub fn racers(found: &Comparison) -> Cells {
    let unit = Unit::of_times(found.racers().map(|(_, racer)| racer.times.median));
    let ns = |ns: Option<f64>| or_dash(ns.map(|ns| format!("{ns:.3}")));
    let columns: [Column<(&Heat, &Racer)>; 10] = [
        ("system", &|(heat, _)| heat.system.clone()),
        ("by", &|(_, racer)| racer.side.name().into()),
        ("build or version", &|(_, racer)| racer.name.clone()),
        ("threads", &|(_, racer)| or_dash(racer.threads)),
        (&format!("time [{}]", unit.name), &|(_, racer)| unit.show(racer.times.median)),
        ("σ", &|(_, racer)| sigma(&racer.times)),
        ("ns/term", &|(heat, racer)| ns(heat.ns_per_term(racer))),
        ("× fastest Fortran", &|(_, racer)| times(racer.over_yardstick)),
        ("rel. error", &|(_, racer)| error(racer.max_rel_error)),
        ("verified", &|(_, racer)| outcome(racer.outcome).into()),
    ];
    Cells::new(&columns, found.racers())
}
