//! `gpp`: versions run, verified and shown.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use bytesize::ByteSize;
use comfy_table::{Cell, Table};

use crate::catalogue::names::{BEST, MAIN, versions_for};
use crate::catalogue::{self, BackEnd, Kernel, Listed};
use crate::cli::{OutputArgs, RunArgs, SMALL_SYSTEM};
use crate::devices::{Device, Watch};
use crate::engine::{Calculation, Engine};
use crate::error::{self, Result};
use crate::interrupt::{self, Deferred, lock};
use crate::measure::{self, measure, window};
use crate::memory::{Crew, Loaded, of_sorted};
use crate::outcomes::{agreement, by_series, differs, failure, outliers, over_baseline, power};
use crate::output::note;
use crate::problem::file::MINI_APPS_ENERGIES;
use crate::problem::{Extents, Outline, digest};
use crate::progress::Progress;
use crate::ranks::Ranks;
use crate::record::Repetition;
use crate::record::run::{
    Measurement, Parting, Place, Run, Sigma, StaticCh, SystemInfo, UNIT, Verdict, Work,
};
use crate::reference::verify::{Outcome, verify_static_ch};
use crate::reference::{self, MAX_SERIAL_TERMS, Reference, Source, static_ch as evaluate};
use crate::setup::{self, Setting, require_one_kind, say_emulated};
use crate::terminal::{Unit, fit, or_dash, outcome_cell, table, terminal, time};

pub fn run(args: &RunArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    args.files(ranks.is_root()).check()?;
    let run = measured(args, ranks, |output, run| output.show(run, run_text))?;
    Ok(exit_code_of(&run.results, args.no_verify))
}

/// Runs what the arguments say. `show` shows the results at the end, on an error and on an interrupt, if there are any.
pub fn measured(
    args: &RunArgs,
    ranks: &dyn Ranks,
    show: impl Fn(&OutputArgs, &Run) -> anyhow::Result<()> + Send + Sync + 'static,
) -> anyhow::Result<Run> {
    let output = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = output.progress();
    let given = args.version.as_deref();
    let versions = |back_end: BackEnd, task: Option<Outline>| -> error::Result<Vec<Listed>> {
        let default = || default_names(args, back_end, task);
        versions_for(given.unwrap_or_else(default), back_end, task)
    };
    // Whatever can fail at once fails before the device is opened and the problem made.
    let named = if given.is_some() { versions(BackEnd::Gpu, None)? } else { Vec::new() };
    let source = setup::Source::of(&args.problem, SMALL_SYSTEM)?;
    let limits = args.slabs.limits();
    let devices = setup::devices(&args.place, limits.device, &named, progress, ranks)?;
    let devices: Vec<&dyn Device> = devices.iter().map(AsRef::as_ref).collect();
    let back_end = devices[0].back_end();
    let of_any = versions(back_end, None)?;
    setup::require_vectors(&args.place, &of_any)?;
    if given.is_some() && ranks.is_root() {
        say_emulated(&args.place, back_end, &of_any);
    }
    of_any.iter().try_for_each(|listed| listed.kernel.require_on(back_end))?;
    limits.require_effect_on(back_end)?;

    let crew = Crew { devices: &devices, ranks };
    require_one_kind(crew)?;
    // Shown before anything of the problem or of kernels can fail: it may be for a device.
    let workers = setup::places(crew).unwrap_or_default();
    places(&workers).iter().for_each(|line| progress.say(line));
    let loaded = Loaded::of(source.open(progress)?, crew, limits)?;
    let mut versions = versions(back_end, Some(loaded.problem().outline()))?;
    // What a journey or `all` names goes without what the device cannot run; a version named by its id fails.
    versions.retain(|listed| {
        let is_named = given.is_some_and(|names| names.split(',').any(|name| name == listed.id()));
        is_named || listed.gpu().is_none_or(|gpu| devices[0].info().runs(gpu))
    });
    let kernels: Vec<Kernel> = versions.iter().map(|listed| listed.kernel).collect();
    if ranks.size() > 1 {
        setup::require_same_task(crew, &kernels, digest::of_problem(loaded.problem())?)?;
    }
    let of_static_ch = args.static_ch.then(|| catalogue::static_ch(back_end));
    let all: Vec<Kernel> = kernels.into_iter().chain(of_static_ch).collect();
    let igp = loaded.igp(&all, crew, limits)?;
    let loaded = loaded.for_slabs(igp, ranks)?;
    let slabs = loaded.slabs(igp);
    let setting = Setting { crew, slabs, whole: loaded.whole(), limits };
    let is_long = |emulated: bool| {
        !loaded.stays()
            || back_end == BackEnd::Cpu && (emulated || loaded.problem().terms() > LARGE)
    };
    let often = |emulated: bool| {
        let (warmup, repeat) = match back_end {
            _ if is_long(emulated) => (0, 1),
            BackEnd::Cpu => (1, 3),
            BackEnd::Gpu => (1, 5),
        };
        Repetition {
            warmup: args.warmup.map_or(warmup, |warmup| warmup as usize),
            repeat: args.repeat.map_or(repeat, |repeat| repeat as usize),
            window: window(devices[0], args.warmup),
        }
    };
    let options = Options {
        repetition: often(false),
        emulated: often(true),
        compares: !args.no_verify,
        static_ch: args.static_ch,
        versions,
    };

    let count = options.versions.len();
    let last = Arc::new(Mutex::new(None::<Run>));
    let ran = last.clone();
    let show = Arc::new(move || match &*lock(&ran) {
        None => Ok(()),
        Some(run) => {
            if !run.head.complete && !output.quiet {
                note(format_args!("{} of {count} versions ran", run.results.len()));
            }
            if run.results.is_empty() { Ok(()) } else { show(&output, run) }
        }
    });
    let at_signal = show.clone();
    interrupt::shows_by(move || at_signal());
    let keep = |run: &Run| *lock(&last) = Some(run.clone());
    let done = run_versions(&setting, &options, progress, keep);
    if let Ok(run) = &done {
        keep(run);
    }
    // What was done before an error is shown as well.
    let shown = interrupt::show_at_end(|| show());
    let run = done?;
    shown.map(|()| run)
}

/// Terms beyond which a calculation takes a CPU more than a second.
const LARGE: u64 = 1_000_000_000;

/// What runs if no version is named.
fn default_names(args: &RunArgs, back_end: BackEnd, problem: Option<Outline>) -> &'static str {
    let energies = problem.map_or(0, |problem| problem.extents.nw);
    let terms = problem.map_or(0, |problem| {
        let Extents { nbands, ngpown, ncouls, nw } = problem.extents;
        nbands as u64 * ngpown as u64 * ncouls as u64 * nw as u64
    });
    match back_end {
        _ if energies > MINI_APPS_ENERGIES || args.problem.energies.is_some() => BEST,
        BackEnd::Gpu => MAIN,
        BackEnd::Cpu if terms > LARGE => BEST,
        BackEnd::Cpu => "cpu",
    }
}

/// [`exit_code`], but results that are not verified are fine if that was asked for.
pub fn exit_code_of(results: &[Measurement], no_verify: bool) -> ExitCode {
    let as_asked = |result: &Measurement| result.outcome() == Outcome::NotVerified;
    match no_verify && results.iter().all(as_asked) {
        true => ExitCode::SUCCESS,
        false => exit_code(results),
    }
}

/// Reports on standard error what did not pass; 0 if everything did, else 1.
pub fn exit_code(results: &[Measurement]) -> ExitCode {
    results.iter().filter_map(failure).for_each(note);
    code(results.iter().all(Measurement::passed))
}

pub fn code(passed: bool) -> ExitCode {
    ExitCode::from(u8::from(!passed))
}

// Versions on one problem and device: timed, verified, recorded.

pub struct Options {
    pub versions: Vec<Listed>,
    pub repetition: Repetition,
    /// How often each emulated version runs.
    pub emulated: Repetition,
    pub compares: bool,
    /// Whether the static CH is summed after the versions.
    pub static_ch: bool,
}

/// Runs the versions of `options`; `each` is called when the run begins and after each version. Of several processes
/// rank 0 measures, the others take part in its calculations.
pub fn run_versions(
    setting: &Setting,
    options: &Options,
    progress: Progress,
    mut each: impl FnMut(&Run),
) -> Result<Run> {
    let Setting { crew, slabs, .. } = *setting;
    let (device, problem) = (crew.devices[0], slabs.problem());
    let versions: Vec<Kernel> = options.versions.iter().map(|listed| listed.kernel).collect();
    let back_end = device.back_end();
    let times = |kernel: &Kernel| {
        let own = kernel.back_end() == back_end;
        let times = if own { options.repetition } else { options.emulated };
        // All ranks run equally often, however long it takes each.
        if setting.is_plain() { times } else { Repetition::exactly(times.warmup, times.repeat) }
    };

    // What is under way in several slabs ends by itself.
    let deferred = || (!setting.is_plain()).then(|| Deferred::new("the slabs at hand"));
    let mut run =
        Run::new(device.info(), problem, versions.first().map_or(options.repetition, times));
    run.parting = setting.parting();
    let of_static_ch = options.static_ch.then(|| catalogue::static_ch(back_end));
    let is_judged = options.compares && !reference::is_known(slabs);
    let judge = is_judged.then(|| judge(back_end, &versions)).flatten();
    if !crew.ranks.is_root() {
        let _deferred = deferred();
        let mut engine = setting.engine(&versions)?;
        judge.map_or(Ok(()), |judge| judged(&mut engine, judge, progress).map(drop))?;
        for version in &versions {
            (0..times(version).runs()).try_for_each(|_| engine.run(*version).map(drop))?;
        }
        of_static_ch
            .map_or(Ok(()), |kernel| engine.run_at(&[0], kernel, Watch::none()).map(drop))?;
        return Ok(run);
    }
    each(&run);
    let known = if options.compares { reference::of(slabs, progress)? } else { None };
    let _deferred = deferred();
    let mut engine = setting.engine(&versions)?;
    let room = engine.kept();
    let again =
        of_sorted(slabs, &versions, crew).filter(|needed| engine.streams() && *needed > room);
    if let Some(needed) = again {
        progress.say(format_args!(
            "note: the sorted pairs take {} of host memory, of which {} are free: the rest is sorted again in each \
             calculation",
            ByteSize(needed).display().iec(),
            ByteSize(room).display().iec()
        ));
    }
    let judged = judge.map(|judge| judged(&mut engine, judge, progress)).transpose()?;
    let reference = known.or(judged);
    let all = versions.iter().map(|kernel| times(kernel).runs()).sum::<usize>();
    let bar = progress.fine_bar("running", all as u64);
    let mut ran = 0;
    for &version in &versions {
        let done = |calculations: f64| bar.set(ran as f64 + calculations);
        done(0.0);
        bar.set_message(format!("{} on {}", version.id(), device.info().id));
        let progress = measure::Progress { done: &done, last: &|| () };
        run.push(measure(
            version,
            device,
            &mut engine,
            reference.as_ref(),
            times(&version),
            &progress,
        )?);
        ran += times(&version).runs();
        each(&run);
    }
    bar.finish_and_clear();
    if let Some(kernel) = of_static_ch {
        run.static_ch = Some(static_ch(&mut engine, kernel, options.compares, progress)?);
    }
    run.head.complete = true;
    Ok(run)
}

/// The sums of a version, to compare others with; of many energies at some.
fn judged(engine: &mut Engine, judge: Kernel, progress: Progress) -> Result<Reference> {
    let problem = engine.problem();
    let chosen = reference::chosen(problem.nw());
    let batches = chosen.map_or_else(|| judge.batches(problem).count(), |chosen| chosen.len());
    let parts = (engine.slabs().count() * batches) as u64;
    let bar = progress.fine_bar(&format!("{}, to compare with", judge.id()), parts);
    let done = |part: f64| bar.set(part * parts as f64);
    let found = match chosen {
        Some(energies) => {
            let sums = engine.run_at(&energies, judge, Watch::of(&done))?.sums;
            Reference::at(&energies, problem, &sums, Source::Device, progress)
        }
        None => {
            let sums = problem.start().plus(&engine.run_with(judge, Watch::of(&done))?.sums);
            Reference::new(sums, Source::Device, progress)
        }
    };
    bar.finish_and_clear();
    Ok(found)
}

/// The version that others are compared with if a problem has no reference: none of those that run, made for the back
/// end, with terms as in the definition.
fn judge(back_end: BackEnd, versions: &[Kernel]) -> Option<Kernel> {
    let ids = match back_end {
        BackEnd::Gpu => ["v3", "v8", "v0"],
        BackEnd::Cpu => ["cpu:blocked", "cpu:simd", "cpu:threads"],
    };
    let runs = |id: &&str| versions.iter().any(|version| version.id() == *id);
    let judge = ids.iter().find(|id| !runs(id))?;
    catalogue::find(judge).map(|listed| listed.kernel)
}

/// The static CH of an engine's problem, compared with the definition unless that takes too long.
pub fn static_ch(
    engine: &mut Engine,
    kernel: Kernel,
    compares: bool,
    progress: Progress,
) -> Result<StaticCh> {
    let Calculation { sums, seconds, .. } = engine.run_at(&[0], kernel, Watch::none())?;
    let problem = engine.problem();
    let products = problem.terms() / problem.nw() as u64;
    let is_compared = compares && products <= MAX_SERIAL_TERMS;
    let reference = is_compared.then(|| evaluate(engine.slabs(), progress)).transpose()?;
    let verification = verify_static_ch(problem, sums.ach[0], reference);
    Ok(StaticCh::of(sums.ach[0], seconds, verification))
}

// A run for the terminal.

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

fn energies(s: &SystemInfo) -> String {
    match s.energies_ev.as_deref() {
        Some([first, .., last]) if s.nw() > LISTED => {
            format!("{} energies from {first:+} eV to {last:+} eV", s.nw())
        }
        Some(few @ [_, ..]) => {
            let few: Vec<String> = few.iter().map(|energy| format!("{energy:+}")).collect();
            format!("energies {} eV from the state's", few.join(", "))
        }
        _ => format!("energies {} to {} of the problem", s.nstart, s.nend),
    }
}

/// Energies whose sums are printed.
const LISTED: usize = 3;

/// Where the workers are, a line each: of several processes the rank and its host, of GPUs the UUID. Nothing for one
/// worker.
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
        &format!("time [{}]", unit.name),
        &format!("over {baseline}"),
        rate_unit.name,
        "clock [MHz]",
        "energy [J]",
        "max. error",
        "result",
    ]);
    for (at, (result, over)) in results.iter().zip(over).enumerate() {
        let before = at.checked_sub(1).map(|before| &results[before].times);
        let is_noise =
            before.is_some_and(|times| differs(times, &result.times) == Some(Verdict::Noise));
        let emulated = if result.emulated { ", emulated" } else { "" };
        let error = result.verification.max_rel_error.map(|error| format!("{error:.1e}"));
        table.add_row(vec![
            Cell::new(format!("{}{emulated}", result.version)),
            Cell::new(format!(
                "{}{}",
                unit.show(result.times.median),
                if is_noise { " ≈" } else { "" }
            )),
            Cell::new(or_dash(over.map(|ratio| format!("{ratio:.2}×")))),
            Cell::new(or_dash(result.tflops.map(|rate| rate_unit.show(rate * 1e12)))),
            Cell::new(or_dash(result.sm_mhz().map(|mhz| format!("{mhz:.0}")))),
            Cell::new(or_dash(result.energy_j.map(|energy| format!("{energy:.1}")))),
            Cell::new(or_dash(error)),
            if passed { Cell::new("–") } else { outcome_cell(result.outcome()) },
        ]);
    }
    table
}

/// A run: what it was of, its table, what was found, Σ by the fastest version, and what to do next.
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
    let Some(fastest) = fastest else { return Ok(()) };
    if let Ok(sigma) = Sigma::of(run) {
        if sigma.rows.len() > LISTED {
            writeln!(to, "Σ at all energies: `gpp sigma`, or --json FILE.")?;
        } else {
            writeln!(to, "\nSelf-energy by {}, in {UNIT}:", fastest.version)?;
            writeln!(to, "{:>12}  {:^28}  {:^28}", "ω − E [eV]", "SX − X", "CH")?;
            for row in &sigma.rows {
                let [sx, ch] = [row.sx, row.ch].map(|z| format!("{:.6} {:+.6}i", z.re, z.im));
                writeln!(to, "{:>+12}  {sx:>28}  {ch:>28}", row.above_ev)?;
            }
        }
    }
    let id = &fastest.version;
    writeln!(
        to,
        "\nNext: gpp explain {id} (what it changes), gpp sigma (a plot of Σ), --json run.json (all numbers)"
    )
}

/// Which version is the fastest, and by how much.
fn fastest_line(fastest: &Measurement, results: &[Measurement]) -> String {
    let series = by_series(results);
    let own = series.iter().find(|(_, own)| own.iter().any(|r| r.version == fastest.version));
    let over = own.and_then(|(_, own)| {
        let (baseline, over) = over_baseline(own);
        let at = own.iter().position(|result| result.version == fastest.version)?;
        Some(format!(", {:.1} times as fast as {baseline}", over[at]?))
    });
    let over = over.filter(|_| !fastest.emulated).unwrap_or_default();
    let emulated =
        if fastest.emulated { " (times of emulated versions say nothing about a GPU)" } else { "" };
    format!("Fastest: {}, {}{over}.{emulated}", fastest.version, time(fastest.times.median))
}

// How a problem was divided into slabs, and what each worker did.

pub fn parting(parting: &Parting) -> String {
    let Parting { igp, slabs, in_memory, ranks, places, .. } = parting;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let whose = if *in_memory { "all in memory" } else { "made or read slab by slab" };
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
    let mut shares = table(&[
        "worker",
        "slabs",
        "G′",
        &format!("kernels [{}]", unit.name),
        &format!("uploads [{}]", unit.name),
        "GB/s",
        &format!("source [{}]", unit.name),
        &format!("busy [{}]", unit.name),
    ]);
    let shown = |seconds: f64| if seconds > 0.0 { unit.show(seconds) } else { "–".into() };
    for (place, share) in of.places.iter().zip(&work.shares) {
        let rate = share.uploaded as f64 / share.uploads_s / 1e9;
        shares.add_row(vec![
            Cell::new(worker(place, of.ranks == 1, place.device.id.clone())),
            Cell::new(share.slabs),
            Cell::new(share.igp),
            Cell::new(shown(share.kernels_s)),
            Cell::new(shown(share.uploads_s)),
            Cell::new(if rate.is_finite() { format!("{rate:.1}") } else { "–".into() }),
            Cell::new(shown(share.source_s)),
            Cell::new(shown(share.busy_s)),
        ]);
    }
    let mut text = fit(shares, width);
    if let Some(imbalance) = work.imbalance.filter(|_| work.shares.len() > 1) {
        text +=
            &format!("\nimbalance {:.1} %: the longest busy over the average", imbalance * 100.0);
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
