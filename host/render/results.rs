//! A run for the terminal.

use std::io::{self, Write};

use comfy_table::{Cell, Table};

use super::columns::BEFORE;
use super::table::{fit, or_dash, outcome, outcome_cell, rated_by, sigma, table, terminal};
use super::units::{Unit, time};
use super::work;
use crate::analysis::outcomes::{
    all_reservations, clock_lost, mini_app, outliers, reference, reservations,
};
use crate::analysis::speed_ups::{by_story, over_baseline};
use crate::record::parting::Place;
use crate::record::provenance::Regime;
use crate::record::run::{Measurement, Run};
use crate::record::system::SystemInfo;
use crate::reference::verify::Outcome;

/// A finished version in a line, with a warning of times that stand apart.
pub fn line(result: &Measurement) -> String {
    let (time, outcome) = (time(result.times.median), outcome(result.outcome()));
    let warning = outliers(result).map_or(String::new(), |warning| format!("; {warning}"));
    let but = reservations(&result.verification);
    format!("{:<18} {time:>12}  {outcome}{but}{warning}", named(result))
}

/// The problem in a line.
pub fn system(s: &SystemInfo) -> String {
    let masked = match s.masked {
        0 => String::new(),
        masked => format!(" ({masked} masked ones left out)"),
    };
    format!(
        "{}: {} bands ({} occupied), {} G′{masked}, {} G, {}; {:.3e} terms",
        s.name,
        s.nbands,
        s.nvband,
        s.ngpown,
        s.ncouls,
        energies(s),
        s.terms() as f64,
    )
}

/// The energies in a few words.
fn energies(s: &SystemInfo) -> String {
    match s.energies_ev.as_deref() {
        Some([first, .., last]) if s.nw() > LISTED => {
            format!("{} energies from {first:+} eV to {last:+} eV", s.nw())
        }
        Some(few @ [_, ..]) => {
            let few: Vec<String> = few.iter().map(|energy| format!("{energy:+}")).collect();
            format!("energies {} eV from the state's", few.join(", "))
        }
        // Older records.
        _ => format!("energies {} to {} of the problem", s.nstart, s.nend),
    }
}

/// Energies whose sums find room on a terminal.
const LISTED: usize = 3;

/// Where the workers are, a line each: of several processes the rank and its host, of GPUs what tells each
/// from all others. Nothing where there is but one worker.
pub fn places(places: &[Place]) -> Vec<String> {
    let is_alone = places.iter().all(|place| place.rank == 0);
    let line = |place: &Place| {
        let Place { rank, host, device } = place;
        let uuid = device.uuid.iter().map(|uuid| format!(", {uuid}")).collect::<String>();
        let device = format!("{}: {}{uuid}", device.id, device.name);
        match host {
            _ if is_alone => device,
            Some(host) => format!("rank {rank} on {host}: {device}"),
            None => format!("rank {rank}: {device}"),
        }
    };
    if places.len() > 1 { places.iter().map(line).collect() } else { Vec::new() }
}

/// One line for each result, a table for each journey; speed-ups are over the baseline where it ran and
/// passed.
pub fn results(results: &[Measurement], width: Option<u16>) -> String {
    let stories = by_story(results);
    let tables = stories.iter().map(|(_, told)| fit(results_table(told), SPARE, width));
    tables.collect::<Vec<_>>().join("\n")
}

/// What times are of, and what speed-ups are by.
pub fn regime(regime: Regime) -> &'static str {
    match regime {
        Regime::Sustained => {
            "median, speed-ups and all beside them: sustained, at the steady state; before cap: until the limit \
             of power lowered the clock; clock lost: to that limit"
        }
        Regime::BeforeCap => "times are of runs before the limit of power lowered the clock",
    }
}

/// Columns of [`results_table`] that a narrow terminal goes without, the first of them first.
pub const SPARE: &[usize] = &[10, 11, 3, 7, 12, 4, 9, 6];

/// The table of [`results`] of one journey.
pub fn results_table(results: &[Measurement]) -> Table {
    let (baseline, over) = over_baseline(results);
    let unit = Unit::of_times(results.iter().map(|result| result.times.median));
    let rates = results.iter().filter_map(|result| result.tflops).map(|rate| rate * 1e12);
    let rate_unit = Unit::of_rates(rates);
    let for_processors = results.iter().all(|result| result.simd.is_some());
    let [held, beside] = if for_processors { ["threads", "vectors"] } else { GPU_COLUMNS };
    let mut table = table(&[
        "version",
        &format!("median [{}]", unit.name),
        &format!("{BEFORE} [{}]", unit.name),
        "σ",
        &format!("95 % interval [{}]", unit.name),
        "SM [MHz]",
        "energy [J]",
        "clock lost",
        &format!("over {baseline}"),
        rate_unit.name,
        held,
        beside,
        "rel. error",
        "outcome",
    ]);
    for (result, over) in results.iter().zip(over) {
        let error = result.verification.max_rel_error.map(|error| format!("{error:.1e}"));
        let interval = result.times.interval().map(|ends| ends.map(|time| unit.show(time)));
        let before = result.before_cap.as_ref();
        let clock = result.state.as_ref().and_then(|state| state.sm_mhz);
        let warps = result.warps_per_sm.map(|warps| warps.to_string());
        table.add_row(vec![
            Cell::new(named(result)),
            Cell::new(unit.show(result.times.median)),
            Cell::new(or_dash(before.map(|of| unit.show(of.times.median)))),
            Cell::new(sigma(&result.times)),
            Cell::new(or_dash(interval.map(|[from, to]| format!("{from}–{to}")))),
            Cell::new(or_dash(clock.map(|clock| format!("{:.0}", clock.median)))),
            Cell::new(or_dash(result.energy_j.map(|energy| format!("{energy:.2}")))),
            Cell::new(or_dash(result.state.as_ref().and_then(clock_lost))),
            Cell::new(or_dash(over.map(|ratio| format!("{ratio:.2}×")))),
            Cell::new(or_dash(result.tflops.map(|rate| rate_unit.show(rate * 1e12)))),
            Cell::new(or_dash(result.registers.or(result.threads.map(|threads| threads.count)))),
            Cell::new(or_dash(warps.or(result.simd.clone()))),
            Cell::new(or_dash(error)),
            outcome_cell(result.outcome()),
        ]);
    }
    table
}

/// What a GPU's versions have and use of it.
const GPU_COLUMNS: [&str; 2] = ["registers", "warps/SM"];

/// The version, and whether its kernels were emulated.
fn named(result: &Measurement) -> String {
    let emulated = if result.is_emulated() { ", emulated" } else { "" };
    format!("{}{emulated}", result.version)
}

/// A run: what it was of, its table, and the last version's sums.
///
/// # Errors
/// Those of `to`.
pub fn run(to: &mut dyn Write, run: &Run) -> io::Result<()> {
    let device = &run.head.device;
    writeln!(to, "{}", system(&run.system))?;
    writeln!(to, "on {}: {}", device.id, device.name)?;
    writeln!(to, "{}", results(&run.results, terminal()))?;
    if let Some(said) = run.head.provenance.as_ref().and_then(|from| from.regime).map(regime) {
        writeln!(to, "{said}")?;
    }
    if let Some(parting) = &run.parting {
        writeln!(to, "{}", work::parting(parting))?;
        for result in &run.results {
            let Some(done) = &result.work else { continue };
            writeln!(to, "{}:\n{}", result.version, work::shares(parting, done, terminal()))?;
        }
    }
    let Some(last) = run.results.last() else { return Ok(()) };
    let is_short = run.system.nw() <= LISTED;
    for (name, z) in last.sums.named(run.system.nstart).filter(|_| is_short) {
        writeln!(to, "{} {name} = {:+.15e} {:+.15e} i", last.version, z.re, z.im)?;
    }
    let compared = last.verification.energies.as_ref().map_or(String::new(), |energies| {
        format!(", at {} of {} energies", energies.len(), run.system.nw())
    });
    writeln!(to, "reference: {}{compared}", reference(last.verification.reference))?;
    for (said, versions) in all_reservations(&run.results) {
        writeln!(to, "{}: {}{said}", versions.join(", "), outcome(Outcome::Passed))?;
    }
    writeln!(to, "{}", rated_by(&last.flops_source))?;
    for said in mini_app(&run.results) {
        // Whatever passed differs by rounding only; where that is more than the criterion, so is its bound.
        let means = match (said.holds, said.passed) {
            (true, _) => "holds",
            (false, true) => "asks for less than rounding leaves",
            (false, false) => "does not hold",
        };
        writeln!(
            to,
            "{}: the reference mini-app's criterion {means}: it is absolute, 1e-12, {:.1e} of the \
             largest sum",
            said.versions.join(", "),
            said.relative
        )?;
    }
    Ok(())
}
