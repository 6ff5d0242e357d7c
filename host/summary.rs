//! What `gpp` says of a run: its problem, a table of results, and sentences.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write};
use std::time::Duration;

use indicatif::HumanDuration;

use crate::catalogue;
use crate::problem::synthesis::SYSTEMS;
use crate::record::ClockAndPower;
use crate::record::run::{
    Measurement, Partition, RunRecord, Sigma, SigmaRow, SystemInfo, Times, UNIT, WorkerPlace,
    by_series, differ, over_baseline,
};
use crate::reference::{Outcome, ReferenceSource, RelativeTo, Undecided, Verification};
use crate::terminal::{TextTable, digits, fixed, ms, or_dash, outcome, rough};

pub fn system(s: &SystemInfo) -> String {
    let igp = match (s.ngpown, s.masked) {
        (igp, _) if let Some(count) = s.sample_of => format!("a sample of {igp} of {count} G′"),
        (igp, 0) => format!("{igp} G′"),
        (igp, 1) => format!("{igp} of {} G′ (1 has no terms)", igp + 1),
        (igp, masked) => format!("{igp} of {} G′ ({masked} have no terms)", igp + masked),
    };
    let formula = s.time_ordered_eta_ev.map(|eta| match s.time_ordered_window_ev {
        None => format!("; time-ordered, η {eta} eV"),
        Some(window) => format!("; time-ordered, window {window} eV"),
    });
    format!(
        "{}: {} bands ({} occupied), {igp}, {} G, {}; {:.3e} terms{}",
        s.name,
        s.nbands,
        s.occupied.unwrap_or(s.nvband.into()),
        s.ncouls,
        energies(s),
        s.terms() as f64,
        formula.unwrap_or_default(),
    )
}

/// An energy in eV, to six decimals at most.
fn shown(energy: &f64) -> String {
    format!("{:+}", (1e6 * energy).round() / 1e6)
}

fn energies(s: &SystemInfo) -> String {
    let from = if s.state_ev.is_some() { " from the state's energy" } else { "" };
    match &s.energies_ev[..] {
        [first, .., last] if s.nw() > LISTED => {
            format!("{} energies from {} eV to {} eV", s.nw(), shown(first), shown(last))
        }
        few => {
            let few: Vec<String> = few.iter().map(shown).collect();
            format!("energies {} eV{from}", few.join(", "))
        }
    }
}

const LISTED: usize = 3;

/// Where several workers are, a line each: of several processes the rank and its host, of GPUs the UUID.
pub fn device_lines(workers: &[WorkerPlace]) -> Vec<String> {
    let is_alone = workers.iter().all(|place| place.rank == 0);
    let line = |WorkerPlace { rank, host, device }: &WorkerPlace| {
        let uuid = device.uuid.iter().map(|uuid| format!(", {uuid}")).collect::<String>();
        let whose = match host {
            _ if is_alone => String::new(),
            Some(host) => format!("rank {rank} on {host}: "),
            None => format!("rank {rank}: "),
        };
        format!("{whose}{}: {}{uuid}", device.id, device.name)
    };
    if workers.len() > 1 { workers.iter().map(line).collect() } else { Vec::new() }
}

pub const NOISE: &str = "≈ not significantly different from the row above";

/// Whether a result's time does not differ significantly from that of the result before it.
pub fn is_noise(results: &[Measurement], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &results[before].times);
    before.is_some_and(|before| differ(before, &results[at].times) == Some(false))
}

const PUBLISHED: &str = include_str!("../data/published.csv");

/// Seconds and TFLOP/s of a version on one V100, where these are published: Table I of the paper, and the tables of the
/// talk (NERSC, February 2020) and of the blog, which do not name their system, but have times like those of si214.
pub fn published(version: &str, system: &str) -> [Option<f64>; 2] {
    let row = format!("{version},{system},");
    let row = PUBLISHED.lines().find_map(|line| line.strip_prefix(&row)?.split_once(','));
    row.map_or([None; 2], |(time, rate)| [time, rate].map(|number| number.parse().ok()))
}

/// A row for each result; speed-ups are over the baseline if it ran and passed. With all that is known of them, and what
/// is published for the system whose name is given, or with the most important.
pub fn results_table(results: &[Measurement], all_on: Option<&str>) -> TextTable {
    let (baseline, over) = over_baseline(results);
    let all_passed = results.iter().all(Measurement::passed);
    let change = |result: &Measurement| {
        let is_paper = catalogue::first_series_of(&result.version)?.id == "paper";
        catalogue::find(&result.version).filter(|_| !is_paper).map(|listed| listed.label().change)
    };
    let percent = |share: Option<f64>| share.map(|share| format!("{:.1} %", 100.0 * share));
    let spread = |times: &Times| percent(times.sigma().map(|sigma| sigma / times.median));
    let lost =
        |state: &Option<ClockAndPower>| percent(state.as_ref().and_then(ClockAndPower::clock_lost));
    let more = |text: Option<String>| or_dash(text.filter(|_| all_on.is_some()));
    let there = |version: &str| published(version, all_on.unwrap_or_default());
    TextTable::new(
        &[
            ("version", &|&at: &usize| {
                let Measurement { version, emulated, .. } = &results[at];
                format!("{version}{}", if *emulated { ", emulated" } else { "" })
            }),
            ("what it changes", &|&at| more(change(&results[at]).map(str::to_string))),
            ("result", &|&at| or_dash((!all_passed).then(|| outcome(results[at].outcome())))),
            ("time [ms]", &|&at| {
                ms(results[at].times.median) + if is_noise(results, at) { " ≈" } else { "" }
            }),
            (&format!("over {baseline}"), &|&at| {
                or_dash(over[at].map(|ratio| format!("{ratio:.2}×")))
            }),
            ("TFLOP/s", &|&at| or_dash(results[at].tflops.map(digits))),
            ("V100 time [ms]", &|&at| fixed(there(&results[at].version)[0].map(|s| 1e3 * s), 0)),
            (&format!("V100 over {baseline}"), &|&at| {
                let pair = there(baseline)[0].zip(there(&results[at].version)[0]);
                or_dash(pair.map(|(base, time)| format!("{:.2}×", base / time)))
            }),
            ("V100 TFLOP/s", &|&at| fixed(there(&results[at].version)[1], 2)),
            ("spread", &|&at| more(spread(&results[at].times))),
            ("clock [MHz]", &|&at| fixed(results[at].sm_mhz(), 0)),
            ("clock lost", &|&at| more(lost(&results[at].clock_and_power))),
            ("energy [J]", &|&at| fixed(results[at].energy_j, 1)),
            ("error", &|&at| rough(results[at].verification.max_rel_error)),
            ("bound of Σ", &|&at| rough(results[at].error_bound)),
            ("found", &|&at| rough(results[at].error_found)),
            ("in a sample", &|&at| rough(results[at].sample.map(|sample| sample.lost))),
            ("warps/SM", &|&at| more(results[at].warps_per_sm.map(|count| count.to_string()))),
            ("registers", &|&at| more(results[at].registers.map(|count| count.to_string()))),
        ],
        0..results.len(),
    )
}

fn results_text(to: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
    let device = &run.head.device;
    let is_synthetic = run.head.provenance.seed.is_some();
    let synthetic = if is_synthetic { "; synthetic values" } else { "" };
    writeln!(to, "{}{synthetic}", system(&run.system))?;
    writeln!(to, "on {}: {}", device.id, device.name)?;
    for (_, results) in by_series(&run.results) {
        results_table(&results, None).print(to)?;
        let sample = results.iter().find_map(|result| result.sample);
        if let Some([igp, all]) = sample.map(|sample| sample.igp) {
            writeln!(to, "in a sample: error of the sums of {igp} of {all} columns, by FP64")?;
        }
        if (0..results.len()).any(|at| is_noise(&results, at)) {
            writeln!(to, "{NOISE}")?;
        }
    }
    if let Some(partition) = &run.partition {
        writeln!(to, "{}", self::partition(partition))?;
    }
    if let Some(fastest) = run.fastest().filter(|_| run.results.len() > 1) {
        writeln!(to, "{}", fastest_line(fastest, &run.results))?;
    }
    agreement(&run.results).iter().try_for_each(|line| writeln!(to, "{line}"))?;
    if let Some(ratio) = device.single_over_double.filter(|ratio| *ratio >= 32)
        && !run.results.iter().any(|result| result.error_bound.is_some())
    {
        let what = "--precision single sums Σ in FP32, with a bound on the error";
        writeln!(to, "FP64 runs at 1/{ratio} of FP32 on this GPU: {what}.")?;
    }
    Ok(())
}

pub fn sigma_text(to: &mut dyn Write, sigma: &Sigma) -> io::Result<()> {
    results_text(to, sigma.run)?;
    sigma_table(sigma, true).print(to)?;
    if sigma.result.is_sigma_alone() {
        return writeln!(to, "Σ alone, without bare exchange (SX−X+CH), in {UNIT}");
    }
    writeln!(to, "Σ = SX + CH; SX is without bare exchange (SX−X); all three in {UNIT}")
}

pub fn run_text(to: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
    results_text(to, run)?;
    if let Some(count) = run.system.sample_of {
        let seconds = run.results.iter().flat_map(|result| &result.times.samples).sum::<f64>();
        let seconds = Duration::from_secs_f64(seconds * count as f64 / run.system.ngpown as f64);
        let command = env::args().skip(1).collect::<Vec<_>>().join(" ");
        writeln!(to, "All G′, in about {}: gpp {command} --emulate", HumanDuration(seconds))?;
        return writeln!(to, "The CPU's own versions: the same command without --version");
    }
    let Some(fastest) = run.fastest() else { return Ok(()) };
    if let Some(sigma) = Sigma::from_run(run) {
        if sigma.rows.len() > LISTED {
            writeln!(to, "Σ at all energies: `gpp sigma`, or --json FILE.")?;
        } else {
            writeln!(to, "\nSelf-energy by {}, in {UNIT}:", sigma.result.version)?;
            sigma_table(&sigma, false).print(to)?;
        }
    }
    let (id, name) = (&fastest.version, &run.system.name);
    let of = if SYSTEMS.iter().any(|system| system.name == *name) { "-s" } else { "-i" };
    writeln!(
        to,
        "\nNext: gpp explain {id} (what it changes), gpp sigma {of} {name} --energies=-10:10:101 --plot sigma.svg (Σ(ω)), --json run.json (all numbers)"
    )
}

/// Σ, if it is asked for or summed alone, and its parts at each energy.
fn sigma_table(sigma: &Sigma, with_total: bool) -> TextTable {
    let (energy, is_alone) = (sigma.run.system.energy(), sigma.result.is_sigma_alone());
    let number = |part: f64| format!("{part:+.6e}");
    let of_part = |part: f64| or_dash((!is_alone).then(|| number(part)));
    let of_total = |part: f64| or_dash((with_total || is_alone).then(|| number(part)));
    TextTable::new(
        &[
            (energy, &|row: &&SigmaRow| format!("{:+.6}", row.shown_ev)),
            ("Re Σ", &|row| of_total(row.total().re)),
            ("Im Σ", &|row| of_total(row.total().im)),
            ("Re dΣ/dω", &|row| or_dash(row.derivative.map(|rate| number(rate.re)))),
            ("Im dΣ/dω", &|row| or_dash(row.derivative.map(|rate| number(rate.im)))),
            ("Re SX", &|row| of_part(row.sx.re)),
            ("Im SX", &|row| of_part(row.sx.im)),
            ("Re CH", &|row| of_part(row.ch.re)),
            ("Im CH", &|row| of_part(row.ch.im)),
        ],
        &sigma.rows,
    )
}

pub fn fastest_line(fastest: &Measurement, results: &[Measurement]) -> String {
    let Measurement { version: id, times, .. } = fastest;
    if fastest.emulated {
        return "These versions were emulated on a CPU: their times say nothing about a GPU."
            .into();
    }
    let others = || results.iter().filter(|r| r.passed() && !r.emulated && r.version != *id);
    // For few samples: whether their ranges overlap.
    let is_as_fast = |other: &&Measurement| {
        let overlap = || other.times.min <= times.max;
        let differ = differ(times, &other.times).unwrap_or_else(|| !overlap());
        !differ && other.times.median < 1.1 * times.median
    };
    let as_fast: Vec<&str> = others().filter(is_as_fast).map(|r| r.version.as_str()).collect();
    let baseline =
        others().find(|r| catalogue::series_of(id).is_some_and(|of| of.baseline() == r.version));
    let mut line = format!("Fastest: {id}, {} ms", ms(times.median));
    if let Some(Measurement { version, times: of_baseline, .. }) =
        baseline.filter(|baseline| !is_as_fast(baseline))
    {
        let over = of_baseline.median / times.median;
        let digits = if over < 1.1 { 2 } else { 1 };
        line += &format!(", {over:.digits$} times as fast as {version}");
    }
    if !as_fast.is_empty() {
        line += &format!("; equally fast within the spread: {}", as_fast.join(", "));
    }
    line + "."
}

pub fn partition(partition: &Partition) -> String {
    let Partition { igp, slabs, in_memory, ranks, workers, .. } = partition;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let whose = if *in_memory { "all in memory" } else { "generated or read slab by slab" };
    format!(
        "{slabs} slab{} of {igp} G′, {whose}; {} worker{} of {ranks} rank{}",
        plural(*slabs),
        workers.len(),
        plural(workers.len()),
        plural(*ranks)
    )
}

pub fn failure(result: &Measurement) -> Option<String> {
    let (version, verification) = (&result.version, &result.verification);
    match verification.outcome {
        Outcome::Passed => None,
        Outcome::NotVerified => Some(format!(
            "{version}: not verified: no reference values are stored, and the problem has too many terms to evaluate them now"
        )),
        Outcome::Nondeterministic => Some(format!("{version}: repeated runs gave different bits")),
        Outcome::Incorrect => {
            let (bound, sample) = (result.error_bound.unwrap_or(f64::INFINITY), result.sample);
            if let Some(sample) = sample.filter(|sample| !sample.is_within(bound)) {
                let lost = format!("off by {:.1e} in a sample", sample.lost);
                return Some(format!("{version}: incorrect: {lost}, more than the bound of Σ"));
            }
            let worst = verification.worst.as_ref().map(|(name, value, expected)| {
                format!("{name} is {value:e}, but the reference value is {expected:e}")
            });
            Some(format!(
                "{version}: incorrect: {} (tolerance {:.1e} of {}{})",
                worst.unwrap_or_default(),
                verification.tolerance,
                match verification.relative_to {
                    RelativeTo::Sum => "it",
                    RelativeTo::Terms => "Σ|terms|",
                },
                verification.undecided.map_or(String::new(), |of| format!("; {}", undecided(of)))
            ))
        }
    }
}

pub fn undecided(Undecided { of_terms, of_sum }: Undecided) -> String {
    let share = match 100.0 * of_terms {
        percent if percent >= 0.1 => format!("{percent:.1} %"),
        _ => format!("{of_terms:.1e}"),
    };
    let by = of_sum.map_or(String::new(), |of_sum| format!(" by {of_sum:.1e} of themselves"));
    format!("rounding decides {share} of Σ|terms|: sums may differ{by}")
}

/// What a comparison that passed leaves open: nothing, or words to put after the outcome.
pub fn reservations(verification: &Verification) -> String {
    if verification.outcome != Outcome::Passed {
        return String::new();
    }
    let undecided = verification.undecided.map(|of| format!(", but {}", undecided(of)));
    let real_parts = "; only real parts compared: the reference values have no imaginary parts";
    undecided.unwrap_or_default() + if verification.real_parts { real_parts } else { "" }
}

pub fn agreement(results: &[Measurement]) -> Vec<String> {
    let Some(first) = results.first().map(|result| &result.verification) else { return Vec::new() };
    let reference = match first.reference {
        Some(ReferenceSource::File) => "the reference values in the input file",
        Some(ReferenceSource::Golden) => "the stored reference values of this system",
        Some(ReferenceSource::Serial) => "the definition, evaluated now on the CPU",
        Some(ReferenceSource::Device) => "the definition on the same device",
        None => return vec!["The results were not verified.".into()],
    };
    let passed = results.iter().filter(|result| result.passed()).count();
    let mut line = match (passed, results.len()) {
        (1, 1) => "The result agrees".into(),
        (passed, all) if passed == all => format!("All {all} results agree"),
        (passed, all) => format!("{passed} of {all} results agree"),
    };
    line += &format!(" with {reference}");
    if let Some(energies) = &first.energies {
        line += &format!(" at {} energies", energies.len());
    }
    let errors = results.iter().filter_map(|result| result.verification.max_rel_error);
    let decided = results.iter().all(|result| result.verification.undecided.is_none());
    let tolerances = results.iter().map(|of| of.verification.tolerance);
    let [least, largest] =
        [tolerances.clone().fold(f64::INFINITY, f64::min), tolerances.fold(0.0, f64::max)];
    if let Some(error) = errors.reduce(f64::max) {
        line += &match decided {
            true if least < largest && passed == results.len() => {
                format!(" (each error is below its tolerance, {least:.1e} to {largest:.1e})")
            }
            true => format!(" (largest error {error:.1e}, tolerance {largest:.1e})"),
            false => format!(" (largest error {error:.1e}, by terms that rounding decides)"),
        };
    }
    let mut open: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for result in results {
        open.entry(reservations(&result.verification)).or_default().push(&result.version);
    }
    open.remove("");
    let passed = outcome(Outcome::Passed);
    let open = open.iter().map(|(text, ids)| format!("{}: {passed}{text}.", ids.join(", ")));
    [line + "."].into_iter().chain(open).collect()
}
