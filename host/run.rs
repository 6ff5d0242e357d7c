//! `gpp`: versions run, verified and shown.

use std::io::{self, Write};
use std::process::ExitCode;

use bytesize::ByteSize;
use comfy_table::{Cell, Table};

use crate::catalogue::names::{BEST, MAIN, ON_PROCESSOR, versions_for};
use crate::catalogue::{self, BackEnd, Kernel, Listed, Task};
use crate::cli::args::{AUTO, OutputArgs, RunArgs, SMALL_SYSTEM, VerifyArgs};
use crate::devices::entry;
use crate::devices::{Device, Watch};
use crate::engine::{Calculation, Engine};
use crate::error::{self, Error, Result};
use crate::interrupt::Deferred;
use crate::measure::{Telling, measure};
use crate::memory::{Crew, Loaded, of_sorted};
use crate::outcomes::{
    all_reservations, by_story, clock_lost, failure, mini_app, outliers, over_baseline,
    reservations,
};
use crate::output::note;
use crate::problem::digest;
use crate::problem::file::MINI_APPS_ENERGIES;
use crate::progress::Progress;
use crate::ranks::Ranks;
use crate::record::run::{
    Measurement, Parting, Place, Repetition, Run, StaticCh, SystemInfo, Work,
};
use crate::reference::verify::{Outcome, verify_static_ch};
use crate::reference::{self, MAX_SERIAL_TERMS, Reference, Source, static_ch as evaluate};
use crate::setup::{self, Setting, keep, require_one_kind, require_same_tasks, say_emulated};
use crate::terminal::{
    Unit, fit, or_dash, outcome, outcome_cell, rated_by, sigma, table, terminal, time,
};

pub fn run(args: &RunArgs, ranks: &dyn Ranks) -> anyhow::Result<ExitCode> {
    args.files(ranks.is_root()).check()?;
    let show =
        |output: &OutputArgs, run: &Run| -> anyhow::Result<()> { output.show(run, run_text) };
    let run = measured(args, |back_end, nw| default_names(args, back_end, nw), ranks, show)?;
    Ok(exit_code_of(&run.results, args.verify))
}

/// Runs what the arguments say; `default` names the versions where they name none, of so many energies. `show`
/// shows the results at the end, on an error and on an interrupt, once there is one.
pub fn measured(
    args: &RunArgs,
    default: impl Fn(BackEnd, Option<usize>) -> &'static str,
    ranks: &dyn Ranks,
    show: impl Fn(&OutputArgs, &Run) -> anyhow::Result<()> + Send + Sync + 'static,
) -> anyhow::Result<Run> {
    let output = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = output.progress();
    let place = &args.measure.place;
    let given = args.versions.given()?;
    let options = |back_end: BackEnd, task: Option<&Task>| -> error::Result<Options> {
        let names = given.unwrap_or_else(|| default(back_end, task.map(|task| task.nw)));
        let versions = versions_for(names, back_end, task)?;
        // How often is known with device and problem.
        let repetition = args.measure.emulated();
        let compares = !args.verify.no_verify;
        let base = Options::new(&versions, repetition);
        let static_ch = args.static_ch;
        let options = Options { compares, static_ch, ..base };
        Ok(options)
    };
    // Whatever can fail at once fails before the problem is made and the device opened.
    let named = options(BackEnd::Gpu, None)?.versions;
    let named = given.map_or(Vec::new(), |_| named);
    let source = args.problem.source_or(SMALL_SYSTEM)?;
    let limits = args.slabs.limits();
    let devices = setup::devices(place, limits.device, &named, progress, ranks)?;
    let devices: Vec<&dyn Device> = devices.iter().map(AsRef::as_ref).collect();
    let back_end = devices[0].back_end();
    let of_any = options(back_end, None)?;
    setup::require_vectors(place, &of_any.versions)?;
    if given.is_some() && ranks.is_root() {
        say_emulated(place, back_end, &of_any.versions);
    }
    of_any.require_effect_on(devices[0])?;
    limits.require_effect_on(back_end)?;

    let crew = Crew { devices: &devices, ranks };
    require_one_kind(crew)?;
    // Before anything of the problem or of kernels can fail: it may be for a device.
    let places = setup::places(crew).unwrap_or_default();
    self::places(&places).iter().for_each(|line| progress.say(line));
    let loaded = Loaded::of(source.open(progress)?, crew, limits)?;
    let mut options = options(back_end, Some(&loaded.frame().outline().task()))?;
    // What a journey or `all` names goes without what the device cannot run; a version named by its id fails.
    options.versions.retain(|listed| {
        let is_named = given.is_some_and(|names| names.split(',').any(|name| name == listed.id()));
        is_named || listed.gpu().is_none_or(|gpu| devices[0].info().runs(gpu))
    });
    let kernels = options.kernels();
    let contents = digest::of_problem(loaded.slabs(1))?;
    let task = |&kernel: &Kernel| setup::task(crew, loaded.frame(), contents, kernel);
    require_same_tasks(ranks, &kernels.iter().map(task).collect::<Vec<_>>())?;
    let of_static_ch = args.static_ch.then(|| catalogue::static_ch(back_end));
    let all: Vec<Kernel> = kernels.into_iter().chain(of_static_ch).collect();
    let igp = loaded.igp(&all, crew, limits)?;
    let loaded = loaded.for_slabs(igp, ranks)?;
    let slabs = loaded.slabs(igp);
    let contents = contents.into();
    let setting = Setting { crew, slabs, whole: loaded.whole(), limits, contents };
    if !setting.is_plain() && args.measure.settle.is_some() {
        let what = "has no effect on several devices or slabs".into();
        return Err(Error::Data { origin: "--settle".into(), what }.into());
    }
    let terms = loaded.frame().terms();
    options.repetition = args.measure.repetition(devices[0], terms);
    options.emulated = args.measure.emulated();
    if !loaded.stays() {
        options.once(args.measure.repeat, args.measure.warmup);
    }

    let count = options.versions.len();
    let show = move |run: &Run| {
        if !run.head.complete && !output.quiet {
            note(format_args!("{} of {count} versions ran", run.results.len()));
        }
        if run.results.is_empty() { Ok(()) } else { show(&output, run) }
    };
    keep(show, |kept| {
        run_versions(&setting, &options, progress, |run| {
            kept(run);
            say_last(run, progress);
        })
    })
}

/// What runs where no version is named. Who names nothing at all is shown what there is; who asks for energies,
/// or has a problem of more than the mini-app's, wants their sums.
fn default_names(args: &RunArgs, back_end: BackEnd, nw: Option<usize>) -> &'static str {
    let are_many = nw.is_some_and(|nw| nw > MINI_APPS_ENERGIES);
    let names_nothing = args.measure.place.device == AUTO && !args.problem.is_named();
    match back_end {
        _ if are_many || args.problem.energies.grid().is_some() => BEST,
        BackEnd::Gpu => MAIN,
        BackEnd::Cpu if names_nothing => ON_PROCESSOR,
        BackEnd::Cpu => BEST,
    }
}

/// Says the version that was finished last.
pub fn say_last(run: &Run, progress: Progress) {
    if let Some(last) = run.results.last() {
        progress.say(problem_line(last));
    }
}

/// [`exit_code`], where results that are not verified are what was asked for.
pub fn exit_code_of(results: &[Measurement], verify: VerifyArgs) -> ExitCode {
    let as_asked = |result: &Measurement| result.outcome() == Outcome::NotVerified;
    match verify.no_verify && results.iter().all(as_asked) {
        true => ExitCode::SUCCESS,
        false => exit_code(results),
    }
}

/// Says on standard error what did not pass; 0 where everything did, else 1.
pub fn exit_code(results: &[Measurement]) -> ExitCode {
    for failure in results.iter().filter_map(failure) {
        note(failure);
    }
    code(results.iter().all(Measurement::passed))
}

/// 0 where everything passed, else 1.
pub fn code(passed: bool) -> ExitCode {
    ExitCode::from(u8::from(!passed))
}

// Versions on one problem and device: timed, verified, recorded.

#[derive(Clone)]
pub struct Options {
    pub versions: Vec<Listed>,
    pub repetition: Repetition,
    /// How often each emulated version runs.
    pub emulated: Repetition,
    pub compares: bool,
    /// Whether the static CH is summed after the versions.
    pub static_ch: bool,
}

impl Options {
    pub fn new(versions: &[Listed], repetition: Repetition) -> Options {
        Options {
            versions: versions.to_vec(),
            repetition,
            emulated: repetition,
            compares: true,
            static_ch: false,
        }
    }

    /// Runs each version once, unless the user asks for more: for what takes long.
    pub fn once(&mut self, repeat: Option<usize>, warmup: Option<usize>) {
        let times = Repetition::exactly(warmup.unwrap_or(0), repeat.unwrap_or(1));
        (self.repetition, self.emulated) = (times, times);
    }

    pub fn kernels(&self) -> Vec<Kernel> {
        self.versions.iter().map(|listed| listed.kernel).collect()
    }

    /// Fails where the device cannot run a version.
    pub fn require_effect_on(&self, device: &dyn Device) -> Result<()> {
        let back_end = device.back_end();
        self.versions.iter().try_for_each(|listed| listed.kernel.require_on(back_end))
    }
}

/// Runs the versions of `options`; `each` is called when the run begins and after each version. Of several
/// processes rank 0 measures, the others take part in its calculations.
pub fn run_versions(
    setting: &Setting,
    options: &Options,
    progress: Progress,
    mut each: impl FnMut(&Run),
) -> Result<Run> {
    let Options { repetition, emulated, .. } = options;
    let Setting { crew, slabs, .. } = *setting;
    let (device, problem) = (crew.devices[0], slabs.frame());
    let versions = options.kernels();
    let back_end = device.back_end();
    // All processes run as often, however long it takes each.
    let within = |times: Repetition| match setting.is_plain() {
        true => times,
        false => Repetition::exactly(times.warmup, times.repeat),
    };
    let [repetition, emulated] = [*repetition, *emulated].map(within);
    let times = |kernel: &Kernel| if kernel.back_end() == back_end { repetition } else { emulated };

    // What is under way in several slabs ends by itself.
    let deferred = || (!setting.is_plain()).then(|| Deferred::new("the slabs at hand"));
    let all: Vec<Repetition> = versions.iter().map(times).collect();
    let alike = all.first().copied().filter(|first| all.iter().all(|other| other == first));
    let mut run = Run::new(device.info(), problem, alike.unwrap_or(repetition));
    if let (None, Some(provenance)) = (alike, &mut run.head.provenance) {
        (provenance.warmup, provenance.repeat) = (None, None);
    }
    run.parting = setting.parting();
    let of_static_ch = options.static_ch.then(|| catalogue::static_ch(back_end));
    let is_judged = options.compares && reference::source_of(slabs).is_none();
    let judge = is_judged.then(|| judge(back_end, &versions)).flatten();
    if !crew.ranks.is_root() {
        let _deferred = deferred();
        let mut engine = setting.engine(&versions)?;
        judge.map_or(Ok(()), |judge| judged(&mut engine, judge, progress).map(drop))?;
        for version in &versions {
            (0..times(version).runs()).try_for_each(|_| engine.run(*version).map(drop))?;
        }
        of_static_ch.map_or(Ok(()), |kernel| engine.static_ch(kernel, Watch::none()).map(drop))?;
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
            "note: the slabs' sorted pairs take {} of the host's memory, for which {} are free: what finds no \
             room is sorted again in each calculation",
            ByteSize(needed).display().iec(),
            ByteSize(room).display().iec()
        ));
    }
    let all = versions.iter().map(|kernel| times(kernel).runs()).sum::<usize>();
    let parts = |version: &Kernel| slabs.count() * problem.batches_for(*version).count();
    let judged = judge.map(|judge| judged(&mut engine, judge, progress)).transpose()?;
    // A bar of slabs and batches tells more than one of a single run.
    let steps = if all == 1 { versions.iter().map(parts).sum() } else { all };
    let bar = progress.fine_bar("running", steps as u64);
    let scale = if all == 1 { steps as f64 } else { 1.0 };
    let reference = known.or(judged);
    let mut ran = 0;
    for (at, &version) in versions.iter().enumerate() {
        let done = |calculations: f64| bar.set((ran as f64 + calculations) * scale);
        // Loads of kernels go beside a last run, never between timed ones or their batches.
        let next = versions.get(at + 1).and_then(|next| next.gpu()).map(|next| {
            let batch = problem.batches_for(Kernel::Gpu(next)).first();
            entry(batch.plan().kernel(next), batch.nw())
        });
        let is_one = problem.batches_for(version).count() == 1;
        let prepare = || {
            let Some(entry) = next.filter(|_| is_one) else { return };
            for device in crew.devices {
                device.prepare(entry);
            }
        };
        let telling = Telling { done: &done, last: &prepare };
        done(0.0);
        bar.set_message(format!("{} on {}", version.id(), device.info().id));
        let reference = reference.as_ref();
        let mut result =
            measure(version, device, &mut engine, reference, times(&version), &telling)?;
        result.task = Some(setting.task(version)?);
        ran += times(&version).runs();
        run.push(result);
        each(&run);
    }
    bar.finish_and_clear();
    if let Some(kernel) = of_static_ch {
        run.static_ch = Some(static_ch(&mut engine, kernel, options.compares, progress)?);
    }
    run.head.complete = true;
    Ok(run)
}

/// What a version finds, to compare others with: of many energies at some.
fn judged(engine: &mut Engine, judge: Kernel, progress: Progress) -> Result<Reference> {
    let problem = engine.problem();
    let chosen = reference::chosen(problem.nw());
    let batches = chosen.map_or_else(|| problem.batches_for(judge).count(), |chosen| chosen.len());
    let parts = (engine.slabs().count() * batches) as u64;
    let bar = progress.fine_bar(&format!("{}, to compare with", judge.id()), parts);
    let done = |part: f64| bar.set(part * parts as f64);
    let found = match chosen {
        Some(energies) => {
            let sums = engine.run_at(&energies, judge, Watch::of(&done))?.sums;
            Reference::at(&energies, problem, &sums, Source::Device, progress)
        }
        None => {
            let sums = problem.start().plus(&engine.run_telling(judge, Watch::of(&done))?.sums);
            Reference::new(sums, Source::Device, progress)
        }
    };
    bar.finish_and_clear();
    Ok(found)
}

/// The version that judges others where a problem has no reference: none of those that run, made for the back
/// end, with terms as the definition writes them.
fn judge(back_end: BackEnd, versions: &[Kernel]) -> Option<Kernel> {
    let ids = match back_end {
        BackEnd::Gpu => ["v3", "v8", "v0"],
        BackEnd::Cpu => ["cpu:blocked", "cpu:simd", "cpu:threads"],
    };
    let runs = |id: &&str| versions.iter().any(|version| version.id() == *id);
    let judge = ids.iter().find(|id| !runs(id))?;
    catalogue::find(judge).map(|listed| listed.kernel)
}

// The static CH beside the sums of a run.

/// The static CH of an engine's problem by a kernel, compared with one that is evaluated now where that is wanted
/// and not too much.
pub fn static_ch(
    engine: &mut Engine,
    kernel: Kernel,
    compares: bool,
    progress: Progress,
) -> Result<StaticCh> {
    let Calculation { sums, seconds, .. } = engine.static_ch(kernel, Watch::none())?;
    let problem = engine.problem();
    let products = problem.terms() / problem.nw() as u64;
    let is_compared = compares && products <= MAX_SERIAL_TERMS;
    let reference = is_compared.then(|| evaluate(engine.slabs(), progress)).transpose()?;
    let verification = verify_static_ch(problem, sums.ach[0], reference);
    Ok(StaticCh::of(sums.ach[0], seconds, verification))
}

// A run for the terminal.

/// A finished version in a line, with a warning of times that stand apart.
pub fn problem_line(result: &Measurement) -> String {
    let (time, outcome) = (time(result.times.median), outcome(result.outcome()));
    let warning = outliers(result).map_or(String::new(), |warning| format!("; {warning}"));
    let but = reservations(&result.verification);
    format!("{:<18} {time:>12}  {outcome}{but}{warning}", named(result))
}

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
    let tables = stories.iter().map(|(_, told)| fit(results_table(told), width));
    tables.collect::<Vec<_>>().join("\n")
}

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
        let clock = result.state.as_ref().and_then(|state| state.sm_mhz);
        let warps = result.warps_per_sm.map(|warps| warps.to_string());
        table.add_row(vec![
            Cell::new(named(result)),
            Cell::new(unit.show(result.times.median)),
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
    let emulated = if result.emulated { ", emulated" } else { "" };
    format!("{}{emulated}", result.version)
}

/// A run: what it was of, its table, and the last version's sums.
pub fn run_text(to: &mut dyn Write, run: &Run) -> io::Result<()> {
    let device = &run.head.device;
    writeln!(to, "{}", system(&run.system))?;
    writeln!(to, "on {}: {}", device.id, device.name)?;
    writeln!(to, "{}", results(&run.results, terminal()))?;
    if let Some(parting) = &run.parting {
        writeln!(to, "{}", self::parting(parting))?;
        for result in &run.results {
            let Some(done) = &result.work else { continue };
            writeln!(to, "{}:\n{}", result.version, shares(parting, done, terminal()))?;
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
    writeln!(
        to,
        "reference: {}{compared}",
        crate::outcomes::reference(last.verification.reference)
    )?;
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

// How a problem was parted, and what each worker did.

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
        "UUID",
    ]);
    let shown = |seconds: f64| if seconds > 0.0 { unit.show(seconds) } else { "–".into() };
    for (place, share) in of.places.iter().zip(&work.shares) {
        let rate = share.uploaded as f64 / share.uploads_s / 1e9;
        shares.add_row(vec![
            Cell::new(worker(of, place)),
            Cell::new(share.slabs),
            Cell::new(share.igp),
            Cell::new(shown(share.kernels_s)),
            Cell::new(shown(share.uploads_s)),
            Cell::new(if rate.is_finite() { format!("{rate:.1}") } else { "–".into() }),
            Cell::new(shown(share.source_s)),
            Cell::new(shown(share.busy_s)),
            Cell::new(place.device.uuid.as_deref().unwrap_or("–")),
        ]);
    }
    let mut text = fit(shares, width);
    if let Some(imbalance) = work.imbalance.filter(|_| work.shares.len() > 1) {
        text +=
            &format!("\nimbalance {:.1} %: the longest busy over the average", imbalance * 100.0);
    }
    if let Some(first) = work.first_s {
        text += &format!("\nfirst calculation, nothing in place: {}", time(first));
    }
    text
}

/// A device, and whose it is where there are several.
fn worker(of: &Parting, place: &Place) -> String {
    match (&place.host, of.ranks) {
        (_, 1) => place.device.id.clone(),
        (Some(host), _) => format!("rank {} on {host}: {}", place.rank, place.device.id),
        (None, _) => format!("rank {}: {}", place.rank, place.device.id),
    }
}
