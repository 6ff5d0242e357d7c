//! `gpp`: versions run, verified and shown; outcomes in words, speed-ups.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use comfy_table::{Cell, Table};
use indicatif::HumanDuration;
use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

use crate::catalogue::{self, BEST, BackEnd, Kernel, MAIN, named_for};
use crate::cli::{OutputArgs, RunArgs, SMALL_SYSTEM};
use crate::devices::Watch;
use crate::engine::{Calculation, Engine};
use crate::error::Result;
use crate::measure::{measure, window};
use crate::memory::{Resources, in_whole_slabs, load, slab_size};
use crate::output::{Progress, STOP, note, polling};
use crate::problem::input_file::MINI_APPS_ENERGIES;
use crate::problem::{self, Problem, Slabs};
use crate::ranks::{Ranks, require_same};
use crate::record::run::{
    Measurement, Parting, Place, Run, Sigma, StaticCh, SystemInfo, Times, UNIT, Verdict, Work,
};
use crate::record::{self, Repetition};
use crate::reference::{
    self, MAX_SERIAL_TERMS, Outcome, Reference, RelativeTo, Undecided, Verification,
    verify_static_ch,
};
use crate::setup::{Devices, Session, Source};
use crate::terminal::{Unit, fit, or_dash, outcome, outcome_cell, table, terminal, time};

pub fn run(args: &RunArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    args.check_files(ranks)?;
    let run = measured(args, ranks, |output, run| output.show(run, run_text))?;
    Ok(exit_code(&run.results, args.no_verify))
}

/// Runs the versions of the arguments. `show` shows the results, also those before an error or an interrupt.
pub fn measured(
    args: &RunArgs,
    ranks: &dyn Ranks,
    show: impl FnOnce(&OutputArgs, &Run) -> anyhow::Result<()>,
) -> anyhow::Result<Run> {
    let output = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = output.progress();
    // Names are looked up before a device is opened and the problem made.
    let names = args.version.as_deref();
    let named = names.map_or(Ok(Vec::new()), |names| named_for(names, BackEnd::Gpu, None))?;
    let source = Source::of(&args.problem, SMALL_SYSTEM)?;
    let limits = args.limits();
    let opened = Devices::open(&args.devices, limits.device, &named, progress, ranks)?;
    let devices = opened.all();
    let (device, back_end) = (devices[0], devices[0].back_end());
    named.iter().try_for_each(|listed| listed.kernel.require_on(back_end))?;
    let resources = Resources { devices: &devices, ranks, limits };
    resources.require_one_kind()?;
    // Printed before kernels and memory can fail: a device may be the reason.
    let workers = resources.places().unwrap_or_default();
    places(&workers).iter().for_each(|line| progress.say(line));

    let mut opened = source.open(progress)?;
    let named = names.map_or(Ok(Vec::new()), |names| named_for(names, back_end, None))?;
    let mut emulated: Vec<Kernel> = named.iter().map(|listed| listed.kernel).collect();
    emulated.retain(|kernel| kernel.back_end() != back_end);
    if let (Some(names), [_, ..]) = (names, &emulated[..]) {
        let what = format!("the CPU emulates the threads of {names} one after the other");
        progress.say(format_args!("note: {what}: such times say nothing about a GPU"));
        if let Some(columns) = sample(&source, &emulated, args, resources, progress)? {
            opened.sample(columns);
        }
    }
    let problem = load(opened, resources)?;
    let header = problem.header();
    let counted = |n: &usize| problem.occ()[*n] == 1.0 && header.e(*n) > header.efermi + header.tol;
    if let Some(n) = (0..header.nbands).find(counted) {
        let (number, efermi) = (header.peinf_indext_dist[n], header.efermi);
        let place = format!("band {number} is at {} eV, above efermi, {efermi} eV", header.e(n));
        progress.say(format_args!("note: {place}, and counts as occupied by nvband"));
    }
    let is_named = |id: &str| names.is_some_and(|names| names.split(',').any(|name| name == id));
    let names = names.unwrap_or_else(|| default_names(args, back_end, &problem));
    let mut versions = named_for(names, back_end, Some(problem.outline()))?;
    // A series leaves out what the device cannot run; a version named by its id fails.
    versions.retain(|listed| {
        is_named(listed.id()) || listed.gpu().is_none_or(|gpu| device.info().runs(gpu))
    });
    let mut kernels: Vec<Kernel> = versions.iter().map(|listed| listed.kernel).collect();
    let options = Options {
        versions: kernels.clone(),
        warmup: args.warmup,
        repeat: args.repeat,
        quick: args.repeat.is_none() && args.output.json.is_none(),
        compares: !args.no_verify,
        static_ch: args.static_ch,
    };
    if ranks.size() > 1 {
        let ids: Vec<&str> = kernels.iter().map(|kernel| kernel.id()).collect();
        let level = device.cpu().map(|(level, _)| level.to_string());
        let flags = (args.warmup, args.repeat, args.no_verify, args.static_ch, limits.slab);
        let problem = problem::digest(&problem)?;
        let own = format!("{problem} {ids:?} {level:?} {flags:?} {}", record::program());
        require_same(ranks, "input, energies, versions, flags or program", &own)?;
    }
    kernels.extend(args.static_ch.then(|| catalogue::ch_of_bands(back_end, true)));
    let igp = slab_size(&problem, &kernels, resources)?;
    let problem = in_whole_slabs(problem, igp, ranks)?;
    let session = Session { resources, slabs: Slabs::new(&problem, igp) };
    let (run, done) = run_versions(&session, &options, progress);
    let _polling = polling();
    let mut shown = Ok(());
    if !run.results.is_empty() {
        if done.is_err() && !output.quiet {
            let (ran, all) = (run.results.len(), options.versions.len());
            note(format_args!("{ran} of {all} versions ran"));
        }
        shown = show(&output, &run);
    }
    done?;
    shown.map(|()| run)
}

/// Terms beyond which a calculation takes a CPU more than a second.
const LARGE: u64 = 1_000_000_000;

/// Terms of a problem that a CPU emulates whole, whatever the versions.
const EMULATED: u64 = 100_000_000;

/// Seconds for which a CPU emulates versions for GPUs, all together, unless `--emulate` is given.
const EMULATION: f64 = 10.0;

/// How many columns fit that time if all do not, by the time of a few. Collective.
fn sample(
    source: &Source,
    emulated: &[Kernel],
    args: &RunArgs,
    resources: Resources,
    progress: Progress,
) -> Result<Option<usize>> {
    let all = source.open(progress)?.extents();
    if args.emulate || all.terms() <= EMULATED {
        return Ok(None);
    }
    let _polling = polling();
    let watch = Watch { done: &|_| (), stop: &STOP };
    let mut columns = 1;
    // Most kernels for GPUs take as long for a column as for a few.
    let each = loop {
        let mut some = source.open(progress)?;
        some.sample(columns);
        let problem = some.load()?;
        let mut engine = Engine::whole(resources.devices[0], &problem)?;
        let bar = progress.bar(&format!("{columns} of {} G′", all.ngpown), emulated.len() as u64);
        let mut seconds = 0.0;
        for &kernel in emulated {
            seconds += engine.run_with(kernel, watch)?.seconds;
            bar.step();
        }
        if 8.0 * seconds > EMULATION || 8 * columns > all.ngpown {
            break seconds / columns as f64;
        }
        columns *= 8;
    };
    let runs = f64::from(args.warmup.unwrap_or(0)) + f64::from(args.repeat.unwrap_or(1));
    let columns = (EMULATION / (each * runs)).max(1.0) as u64;
    let columns = resources.ranks.least(columns) as usize;
    Ok(Some(columns).filter(|columns| *columns < all.ngpown))
}

fn default_names(args: &RunArgs, back_end: BackEnd, problem: &Problem) -> &'static str {
    match back_end {
        _ if problem.nw() > MINI_APPS_ENERGIES || args.problem.energies.is_some() => BEST,
        BackEnd::Gpu => MAIN,
        BackEnd::Cpu if problem.terms() > LARGE => BEST,
        BackEnd::Cpu => "cpu",
    }
}

/// Reports on standard error what did not pass; 0 if everything did, else 1.
pub fn exit_code(results: &[Measurement], no_verify: bool) -> ExitCode {
    let as_asked = |result: &&Measurement| no_verify && result.outcome() == Outcome::NotVerified;
    let failed = results.iter().filter(|result| !as_asked(result));
    let failures: Vec<String> = failed.filter_map(failure).collect();
    failures.iter().for_each(note);
    code(failures.is_empty())
}

pub fn code(passed: bool) -> ExitCode {
    ExitCode::from(u8::from(!passed))
}

pub struct Options {
    pub versions: Vec<Kernel>,
    pub warmup: Option<u32>,
    pub repeat: Option<u32>,
    /// Whether nobody keeps the times.
    pub quick: bool,
    pub compares: bool,
    pub static_ch: bool,
}

impl Options {
    fn repetition(&self, version: Kernel, session: &Session) -> Repetition {
        let (device, problem) = (session.resources.devices[0], session.slabs.problem());
        let is_emulated = version.back_end() != device.back_end();
        let (warmup, repeat) = match device.back_end() {
            _ if !problem.stays() => (0, 1),
            BackEnd::Cpu if is_emulated || problem.terms() > LARGE => (0, 1),
            _ => (1, 5),
        };
        // All ranks run equally often, however long it takes each.
        let is_single = session.is_single();
        Repetition {
            warmup: self.warmup.map_or(warmup, |warmup| warmup as usize),
            repeat: self.repeat.map_or(repeat, |repeat| repeat as usize),
            window: if is_single { window(device, self.warmup) } else { Duration::ZERO },
            quick: self.quick,
        }
    }
}

/// Runs versions, and returns what was measured until the end or an error. Of several ranks rank 0 measures, the others
/// take part in its calculations.
pub fn run_versions(session: &Session, options: &Options, progress: Progress) -> (Run, Result<()>) {
    let first = options.versions.first().map(|&version| options.repetition(version, session));
    let device = session.resources.devices[0].info();
    let repetition = first.unwrap_or(Repetition::exactly(0, 0));
    let mut run = Run::new(device, session.slabs.problem(), repetition);
    let done = fill(&mut run, session, options, progress);
    run.head.complete = done.is_ok();
    (run, done)
}

fn fill(run: &mut Run, session: &Session, options: &Options, progress: Progress) -> Result<()> {
    let Session { resources: Resources { devices, ranks, .. }, slabs } = *session;
    let (device, versions) = (devices[0], &options.versions);
    run.parting = session.partition();
    let compares = options.compares && ranks.is_root();
    let stored = if compares { reference::of(slabs, progress)? } else { None };
    // If rank 0 has no reference, all ranks take part in computing one.
    let is_known = !options.compares || ranks.least((stored.is_some() || !compares).into()) == 1;
    let _polling = polling();
    let mut engine = session.engine(versions)?;
    let other = if is_known { None } else { reference_version(device.back_end(), versions) };
    let computed = other.map(|other| by_version(&mut engine, other, progress)).transpose()?;
    let reference = stored.or(computed);
    let repetition = |version: Kernel| options.repetition(version, session);
    let runs: usize = versions.iter().map(|&version| repetition(version).runs()).sum();
    let bar = progress.bar("running", runs as u64);
    let mut ran = 0;
    for &version in versions {
        let times = repetition(version);
        let done = |calculations: f64| bar.set(ran as f64 + calculations);
        bar.set_message(format!("{} on {}", version.id(), device.info().id));
        if ranks.is_root() {
            let reference = reference.as_ref();
            run.results.push(measure(version, device, &mut engine, reference, times, &done)?);
        } else {
            for _ in 0..times.runs() {
                engine.run_with(version, Watch { done: &done, stop: &STOP })?;
            }
        }
        ran += times.runs();
    }
    drop(bar);
    if options.static_ch {
        run.static_ch = Some(static_ch(&mut engine, device.back_end(), compares, progress)?);
    }
    Ok(())
}

/// The version that others are compared with if a problem has no reference: none of those that run, made for the back
/// end, with terms as in the definition.
fn reference_version(back_end: BackEnd, versions: &[Kernel]) -> Option<Kernel> {
    let ids = match back_end {
        BackEnd::Gpu => ["v3", "v8", "v0"],
        BackEnd::Cpu => ["cpu:blocked", "cpu:simd", "cpu:threads"],
    };
    let runs = |id: &&str| versions.iter().any(|version| version.id() == *id);
    let id = ids.iter().find(|id| !runs(id))?;
    catalogue::find(id).map(|listed| listed.kernel)
}

/// The sums of a version as a reference; of many energies at some.
fn by_version(engine: &mut Engine, version: Kernel, progress: Progress) -> Result<Reference> {
    let problem = engine.problem();
    let bar = progress.bar(&format!("{}, to compare with", version.id()), 1);
    let done = |part: f64| bar.set(part);
    let watch = Watch { done: &done, stop: &STOP };
    Ok(match reference::chosen(problem.nw()) {
        Some(energies) => {
            let sums = engine.run_at(&energies, version, watch)?.sums;
            Reference::at(&energies, problem, &sums, reference::Source::Device, progress)
        }
        None => {
            let sums = problem.start().plus(&engine.run_with(version, watch)?.sums);
            Reference::new(sums, reference::Source::Device, progress)
        }
    })
}

/// The static CH of an engine's problem, compared with the definition unless that takes too long.
fn static_ch(
    engine: &mut Engine,
    back_end: BackEnd,
    compares: bool,
    progress: Progress,
) -> Result<StaticCh> {
    let watch = Watch { done: &|_| (), stop: &STOP };
    let Calculation { sums, seconds, .. } =
        engine.run_at(&[0], catalogue::ch_of_bands(back_end, true), watch)?;
    let problem = engine.problem();
    let products = problem.terms() / problem.nw() as u64;
    let reference = match compares && products <= MAX_SERIAL_TERMS {
        true => Some(reference::static_ch(engine.slabs(), progress)?),
        false => None,
    };
    let sum = sums.ach.iter().sum();
    let verification = verify_static_ch(problem, sum, reference);
    Ok(StaticCh::of(sum, seconds, verification))
}

pub fn system(s: &SystemInfo) -> String {
    let igp = match (s.ngpown, s.masked) {
        (igp, _) if let Some(whole) = s.sample_of => format!("a sample of {igp} of {whole} G′"),
        (igp, 0) => format!("{igp} G′"),
        (igp, 1) => format!("{igp} of {} G′ (1 has no terms)", igp + 1),
        (igp, masked) => format!("{igp} of {} G′ ({masked} have no terms)", igp + masked),
    };
    format!(
        "{}: {} bands ({} occupied), {igp}, {} G, {}; {:.3e} terms",
        s.name,
        s.nbands,
        s.occupied.unwrap_or(s.nvband.into()),
        s.ncouls,
        energies(s),
        s.terms() as f64,
    )
}

/// An energy in eV, to six decimals at most.
fn shown(energy: &f64) -> String {
    format!("{:+}", (1e6 * energy).round() / 1e6)
}

fn energies(s: &SystemInfo) -> String {
    let from = if s.state_ev.is_some() { " from the state's energy" } else { "" };
    match s.energies_ev.as_deref() {
        Some([first, .., last]) if s.nw() > LISTED => {
            format!("{} energies from {} eV to {} eV", s.nw(), shown(first), shown(last))
        }
        Some(few @ [_, ..]) => {
            let few: Vec<String> = few.iter().map(shown).collect();
            format!("energies {} eV{from}", few.join(", "))
        }
        _ => format!("energies {} to {} of the problem", s.nstart, s.nend),
    }
}

const LISTED: usize = 3;

/// Where several workers are, a line each: of several processes the rank and its host, of GPUs the UUID.
pub fn places(places: &[Place]) -> Vec<String> {
    let is_alone = places.iter().all(|place| place.rank == 0);
    let line = |place: &Place| {
        let device = &place.device;
        let uuid = device.uuid.iter().map(|uuid| format!(", {uuid}")).collect::<String>();
        worker(place, is_alone, format!("{}: {}{uuid}", device.id, device.name))
    };
    if places.len() > 1 { places.iter().map(line).collect() } else { Vec::new() }
}

/// One line for each result, a table for each series; speed-ups are over the baseline if it ran and passed.
pub fn results(results: &[Measurement], width: Option<u16>) -> String {
    let all = by_series(results);
    let tables = all.iter().map(|(_, own)| fit(results_table(own), width));
    tables.collect::<Vec<_>>().join("\n")
}

fn results_table(results: &[Measurement]) -> Table {
    let (baseline, over) = over_baseline(results);
    let unit = Unit::of_times(results.iter().map(|result| result.times.median));
    let rates = results.iter().filter_map(|result| result.tflops).map(|rate| rate * 1e12);
    let rate_unit = Unit::of_rates(rates);
    let passed = results.iter().all(Measurement::passed);
    let mut table = table(&[
        "version",
        "result",
        &format!("time [{}]", unit.name),
        &format!("over {baseline}"),
        rate_unit.name,
        "clock [MHz]",
        "energy [J]",
        "max. error",
    ]);
    for (at, (result, over)) in results.iter().zip(over).enumerate() {
        let before = at.checked_sub(1).map(|before| &results[before].times);
        let is_noise =
            before.is_some_and(|times| differs(times, &result.times) == Some(Verdict::Noise));
        let emulated = if result.emulated { ", emulated" } else { "" };
        let noise = if is_noise { " ≈" } else { "" };
        let error = result.verification.max_rel_error.map(|error| format!("{error:.1e}"));
        table.add_row(vec![
            Cell::new(format!("{}{emulated}", result.version)),
            if passed { Cell::new("–") } else { outcome_cell(result.outcome()) },
            Cell::new(format!("{}{noise}", unit.show(result.times.median))),
            Cell::new(or_dash(over.map(|ratio| format!("{ratio:.2}×")))),
            Cell::new(or_dash(result.tflops.map(|rate| rate_unit.show(rate * 1e12)))),
            Cell::new(or_dash(result.sm_mhz().map(|mhz| format!("{mhz:.0}")))),
            Cell::new(or_dash(result.energy_j.map(|energy| format!("{energy:.1}")))),
            Cell::new(or_dash(error)),
        ]);
    }
    table
}

pub fn run_text(to: &mut dyn Write, run: &Run) -> io::Result<()> {
    let device = &run.head.device;
    let is_synthetic = run.head.provenance.as_ref().is_some_and(|from| from.seed.is_some());
    let synthetic = if is_synthetic { "; synthetic values" } else { "" };
    writeln!(to, "{}{synthetic}", system(&run.system))?;
    writeln!(to, "on {}: {}", device.id, device.name)?;
    let table = results(&run.results, terminal());
    writeln!(to, "{table}")?;
    if let Some(parting) = &run.parting {
        writeln!(to, "{}", self::parting(parting))?;
        for result in &run.results {
            let Some(done) = &result.work else { continue };
            writeln!(to, "{}:\n{}", result.version, shares(parting, done, terminal()))?;
        }
    }
    if table.contains('≈') {
        writeln!(to, "≈ not significantly different from the row above")?;
    }
    let fastest = run.fastest();
    if let Some(fastest) = fastest.filter(|_| run.results.len() > 1) {
        writeln!(to, "{}", fastest_line(fastest, &run.results))?;
    }
    agreement(&run.results).iter().try_for_each(|line| writeln!(to, "{line}"))?;
    power(&run.results).iter().try_for_each(|line| writeln!(to, "{line}"))?;
    run.results.iter().filter_map(outliers).try_for_each(|line| writeln!(to, "{line}"))?;
    if let Some(whole) = run.system.sample_of {
        return sampled(to, whole as f64 / run.system.ngpown as f64, &run.results);
    }
    let Some(fastest) = fastest else { return Ok(()) };
    if let Ok(sigma) = Sigma::of(run) {
        if sigma.rows.len() > LISTED {
            writeln!(to, "Σ at all energies: `gpp sigma`, or --json FILE.")?;
        } else {
            writeln!(to, "\nSelf-energy by {}, in {UNIT}:", fastest.version)?;
            let energy = run.system.energy();
            writeln!(to, "{energy:>12}  {:^28}  {:^28}", "SX − X", "CH")?;
            for row in &sigma.rows {
                let [sx, ch] = [row.sx, row.ch].map(|z| format!("{:+.6e} {:+.6e}i", z.re, z.im));
                writeln!(to, "{:>12}  {sx:>28}  {ch:>28}", shown(&row.shown_ev))?;
            }
        }
    }
    let id = &fastest.version;
    writeln!(
        to,
        "\nNext: gpp explain {id} (what it changes), gpp sigma --plot sigma.svg (Σ(ω)), --json run.json (all numbers)"
    )
}

/// What emulates all G′, so many times as many as in the sample, and what computes without emulating.
fn sampled(to: &mut dyn Write, times: f64, results: &[Measurement]) -> io::Result<()> {
    let emulated = results.iter().filter(|result| result.emulated);
    let seconds = emulated.flat_map(|result| &result.times.samples).sum::<f64>();
    let estimate = HumanDuration(Duration::from_secs_f64(seconds * times));
    let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    writeln!(to, "All G′, in about {estimate}: gpp {command} --emulate")?;
    writeln!(to, "The CPU's own versions: the same command without --version")
}

fn fastest_line(fastest: &Measurement, results: &[Measurement]) -> String {
    let Measurement { version: id, times, .. } = fastest;
    if fastest.emulated {
        return "These versions were emulated on a CPU: their times say nothing about a GPU."
            .into();
    }
    let is_baseline = |r: &&Measurement| catalogue::baseline(id) == Some(&r.version) && r.passed();
    let baseline = results.iter().find(is_baseline).filter(|baseline| baseline.version != *id);
    let over =
        baseline.map_or(String::new(), |Measurement { version, times: baseline, .. }| {
            format!(", {:.1} times as fast as {version}", baseline.median / times.median)
        });
    format!("Fastest: {id}, {}{over}.", time(times.median))
}

pub fn parting(parting: &Parting) -> String {
    let Parting { igp, slabs, in_memory, ranks, places, .. } = parting;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let whose = if *in_memory { "all in memory" } else { "generated or read slab by slab" };
    format!(
        "{slabs} slab{} of {igp} G′, {whose}; {} worker{} of {ranks} rank{}",
        plural(*slabs),
        places.len(),
        plural(places.len()),
        plural(*ranks)
    )
}

pub fn shares(of: &Parting, work: &Work, width: Option<u16>) -> String {
    let seconds = work.shares.iter().flat_map(|share| [share.kernels_s, share.busy_s]);
    let unit = Unit::of_times(seconds);
    let heading = |what: &str| format!("{what} [{}]", unit.name);
    let [kernels, uploads, source, busy] = ["kernels", "uploads", "source", "busy"].map(heading);
    let mut shares = table(&["worker", "G′", &kernels, &uploads, &source, &busy]);
    for (place, share) in of.places.iter().zip(&work.shares) {
        let seconds = [share.kernels_s, share.uploads_s, share.source_s, share.busy_s];
        let shown = seconds.map(|s| if s > 0.0 { unit.show(s) } else { "–".into() });
        let worker = worker(place, of.ranks == 1, place.device.id.clone());
        shares.add_row([worker, share.igp.to_string()].into_iter().chain(shown));
    }
    let mut text = fit(shares, width);
    if let Some(imbalance) = work.imbalance.filter(|_| work.shares.len() > 1) {
        let percent = 100.0 * imbalance;
        text += &format!("\nimbalance {percent:.1} %: longest busy time over the average");
    }
    if let Some(first) = work.first_s {
        text += &format!("\nfirst calculation, with all uploads: {}", time(first));
    }
    text
}

/// A device, and whose it is if there are several ranks.
fn worker(place: &Place, is_alone: bool, device: String) -> String {
    match &place.host {
        _ if is_alone => device,
        Some(host) => format!("rank {} on {host}: {device}", place.rank),
        None => format!("rank {}: {device}", place.rank),
    }
}

pub fn reference(source: Option<reference::Source>) -> &'static str {
    match source {
        Some(reference::Source::File) => "the reference values in the input file",
        Some(reference::Source::Golden) => "the stored reference values of this system",
        Some(reference::Source::Serial) => "the definition, evaluated now on the CPU",
        Some(reference::Source::Device) => "the definition on the same device",
        None => "nothing",
    }
}

pub fn failure(result: &Measurement) -> Option<String> {
    let (version, verification) = (&result.version, &result.verification);
    match verification.outcome {
        Outcome::Passed | Outcome::Sampled => None,
        Outcome::NotVerified => Some(format!(
            "{version}: not verified: no reference values are stored, and the problem has too many terms to evaluate them now"
        )),
        Outcome::Nondeterministic => Some(format!("{version}: repeated runs gave different bits")),
        Outcome::Incorrect => {
            let worst = verification.worst.as_ref().map(|(name, value, expected)| {
                format!("{name} = {value:e}, the reference has {expected:e}")
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
pub fn reservations(of: &Verification) -> String {
    if !matches!(of.outcome, Outcome::Passed | Outcome::Sampled) {
        return String::new();
    }
    let undecided = of.undecided.map(|of| format!(", but {}", undecided(of)));
    let real_parts = "; only real parts compared: the reference values have no imaginary parts";
    undecided.unwrap_or_default() + if of.real_parts { real_parts } else { "" }
}

pub fn agreement(results: &[Measurement]) -> Vec<String> {
    let Some(first) = results.first().map(|result| &result.verification) else { return Vec::new() };
    if first.reference.is_none() {
        return vec!["The results were not verified.".into()];
    }
    let passed = results.iter().filter(|result| result.passed()).count();
    let mut line = match (passed, results.len()) {
        (1, 1) => "The result agrees".into(),
        (passed, all) if passed == all => format!("All {all} results agree"),
        (passed, all) => format!("{passed} of {all} results agree"),
    };
    line += &format!(" with {}", reference(first.reference));
    if first.outcome == Outcome::Sampled {
        line += ", of the same G′";
    }
    if let Some(energies) = &first.energies {
        line += &format!(" at {} energies", energies.len());
    }
    let errors = results.iter().filter_map(|result| result.verification.max_rel_error);
    let decided = results.iter().all(|result| result.verification.undecided.is_none());
    if let Some(error) = errors.reduce(f64::max) {
        line += &match decided {
            true => format!(" (largest error {error:.1e}, tolerance {:.1e})", first.tolerance),
            false => format!(" (largest error {error:.1e}, by terms that rounding decides)"),
        };
    }
    let texts = results.iter().map(|result| reservations(&result.verification));
    let texts: Vec<String> = texts.collect();
    let each: BTreeSet<&String> = texts.iter().filter(|text| !text.is_empty()).collect();
    let open = each.into_iter().map(|text| {
        let own = results.iter().zip(&texts).filter(|(_, own)| *own == text);
        let ids: Vec<&str> = own.map(|(result, _)| &result.version[..]).collect();
        format!("{}: {}{text}.", ids.join(", "), outcome(Outcome::Passed))
    });
    [line + "."].into_iter().chain(open).collect()
}

/// Share of the clock from which on a loss is reported.
const LOSS: f64 = 0.01;

pub fn power(results: &[Measurement]) -> Option<String> {
    let lost = |result: &Measurement| result.state.as_ref()?.clock_lost();
    let known: Vec<(&Measurement, f64)> =
        results.iter().filter_map(|result| Some((result, lost(result)?))).collect();
    let (most, share) = known.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let count = known.iter().filter(|(_, share)| *share >= LOSS).count();
    let watts = most.state.as_ref().and_then(|state| state.power_limit_w);
    let limit = watts.map_or("power limit".into(), |watts| format!("{watts:.0} W power limit"));
    Some(match count {
        0 => format!("The {limit} did not lower any clock by 1 % or more."),
        _ => format!(
            "The {limit} lowered the clock of {count} of {} versions by 1 % or more, most for {} ({:.0} %).",
            known.len(),
            most.version,
            100.0 * share
        ),
    })
}

pub fn outliers(result: &Measurement) -> Option<String> {
    let (times, count) = (&result.times, result.times.outliers());
    let (id, all, [min, max]) =
        (&result.version, times.samples.len(), [times.min, times.max].map(|s| s * 1e3));
    (count > 0).then(|| {
        let of = format!("{id}: {count} of {all} times are outliers");
        format!("{of} ({min:.3} to {max:.3} ms): is the device shared?")
    })
}

/// The results by the series of their versions, with what continues it, in the order in which these begin.
pub fn by_series(results: &[Measurement]) -> Vec<(&'static str, Vec<Measurement>)> {
    let mut all: Vec<(&'static str, Vec<Measurement>)> = Vec::new();
    for result in results {
        let id = catalogue::first_series_of(&result.version).unwrap_or(&catalogue::SERIES[0]).id;
        match all.iter_mut().find(|(series, _)| *series == id) {
            Some((_, own)) => own.push(result.clone()),
            None => all.push((id, vec![result.clone()])),
        }
    }
    all
}

/// The baseline of the first result's series, and its time over each result's, if it passed and is not alone.
pub fn over_baseline(results: &[Measurement]) -> (&'static str, Vec<Option<f64>>) {
    let first = results.first().and_then(|result| catalogue::baseline(&result.version));
    let id = first.unwrap_or(catalogue::SERIES[0].baseline);
    let is_alone = results.iter().all(|result| result.version == id);
    let ran = results.iter().find(|result| result.version == id && result.passed() && !is_alone);
    let over = |result: &Measurement| Some(ran?.times.median / result.times.median);
    (id, results.iter().map(over).collect())
}

const LEVEL: f64 = 0.05;

/// Whether two sets of times differ significantly: the two-sided Mann-Whitney test at 5 %, by its normal approximation
/// with corrections for ties and continuity, which assumes no distribution. `None` if there are so few samples that
/// even disjoint sets would not differ.
pub fn differs(a: &Times, b: &Times) -> Option<Verdict> {
    let (a, b) = (&a.samples, &b.samples);
    let disjoint: Vec<f64> = (0..a.len() + b.len()).map(|rank| rank as f64).collect();
    let (below, above) = disjoint.split_at(a.len());
    if probability(below, above)? > LEVEL {
        return None;
    }
    let found = probability(a, b)?;
    Some(if found <= LEVEL { Verdict::Differs } else { Verdict::Noise })
}

/// The probability of ranks as uneven as these or more if both are samples of the same times.
fn probability(a: &[f64], b: &[f64]) -> Option<f64> {
    let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
    let (_, probability) = mannwhitneyu(a, b, method, Alternative::TwoSided).ok()?;
    (probability >= 0.0).then_some(probability)
}
