//! `gpp`: versions run and verified; `gpp sigma`: Σ(ω) of one.

use std::io::{self, Write};
use std::mem;
use std::time::Duration;

use crate::catalogue::{self, BEST, BackEnd, MAIN, Version, named_for, single};
use crate::chart::write_svg;
use crate::cli::{OutputArgs, RunArgs, SMALL_SYSTEM, SigmaArgs};
use crate::devices::Control;
use crate::engine::Engine;
use crate::error::{Result, invalid};
use crate::kernels::plan::Poles;
use crate::measure::{measure, sampled, window};
use crate::output::{Progress, STOP, check_outputs, document, is_stdout, note, polling};
use crate::problem::input_file::MINI_APPS_ENERGIES;
use crate::problem::{self, Problem, Slabs};
use crate::ranks::{Ranks, require_same};
use crate::record::run::{Measurement, RunRecord, Sigma, SigmaRow, SystemInfo};
use crate::record::{self, Head, Repetition};
use crate::reference::{self, Outcome, Reference, ReferenceSource};
use crate::session::Session;
use crate::setup::{self, ProblemSource, partition};
use crate::summary::{device_lines, failure, run_text, sigma_text};

pub fn run(args: &RunArgs, ranks: &dyn Ranks) -> anyhow::Result<bool> {
    check_outputs(args.output.json.iter().filter(|_| ranks.is_root()), &args.problem.input)?;
    let run = measured(args, ranks, |output, run| output.show(run, run_text))?;
    Ok(reported(&run.results, args.no_verify))
}

pub fn sigma(args: &SigmaArgs, ranks: &dyn Ranks) -> anyhow::Result<bool> {
    let run_args = args.run();
    let outputs = run_args.output.json.iter().chain(&args.csv).chain(&args.plot);
    check_outputs(outputs.filter(|_| ranks.is_root()), &run_args.problem.input)?;
    if let Some(name) = &run_args.version {
        single("--version", name, BackEnd::Gpu)?;
    }
    let run = measured(&run_args, ranks, |output, run| {
        let sigma = Sigma::from_run(run).expect("a run shows results");
        let prints = args.csv.as_deref().is_some_and(is_stdout);
        let output = OutputArgs { quiet: output.quiet || prints, ..output.clone() };
        let shown = output.show(run, |to, _| sigma_text(to, &sigma));
        // The files are written even if printing fails.
        if let Some(path) = &args.csv {
            document(path, |to| csv(to, &sigma))?;
        }
        args.plot.iter().try_for_each(|path| write_svg(path, &sigma))?;
        shown
    })?;
    Ok(reported(&run.results, run_args.no_verify))
}

/// A row for each energy, every number to the last bit; of Σ alone without its parts.
pub fn csv(to: &mut dyn Write, sigma: &Sigma) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    let parts = ["re_sx", "im_sx", "re_ch", "im_ch", "re_sigma", "im_sigma"];
    let first = if sigma.result.is_sigma_alone() { 2 } else { 0 };
    let rates = sigma.result.derivative.iter().flat_map(|_| &["re_derivative", "im_derivative"]);
    let head = ["omega_above_ev", "omega_ev"].iter().chain(&parts[2 * first..]);
    csv.write_record(head.chain(rates))?;
    let above = |row: &SigmaRow| sigma.run.system.state_ev.map(|_| row.shown_ev);
    for row in &sigma.rows {
        let sums = [row.sx, row.ch, row.total()].into_iter().skip(first).chain(row.derivative);
        let parts: Vec<f64> = sums.flat_map(|z| [z.re, z.im]).collect();
        csv.serialize((above(row), row.omega_ev, parts))?;
    }
    csv.flush()
}

/// Runs the versions of the arguments. `show` shows the results, also those before an error or an interrupt.
pub fn measured(
    args: &RunArgs,
    ranks: &dyn Ranks,
    show: impl FnOnce(&OutputArgs, &RunRecord) -> anyhow::Result<()>,
) -> anyhow::Result<RunRecord> {
    let output = if ranks.is_root() { args.output.clone() } else { OutputArgs::silent() };
    let progress = output.progress();
    // Names are looked up before a device is opened and the problem made.
    let names = args.version.as_deref();
    let named = names.map_or(Ok(Vec::new()), |names| named_for(names, BackEnd::Gpu, None))?;
    let source = ProblemSource::from_args(&args.problem, SMALL_SYSTEM)?;
    let limits = args.limits();
    let session = &setup::open(&args.devices, limits, &named, progress, ranks)?;
    let (device, back_end) = (session.first(), session.first().back_end());
    named.iter().try_for_each(|listed| listed.require_on(back_end))?;
    session.require_one_kind()?;
    // Printed before kernels and memory can fail: a device may be the reason.
    let workers = setup::places(session).unwrap_or_default();
    device_lines(&workers).iter().for_each(|line| progress.say(line));

    let mut opened = source.open(progress)?;
    let mut emulated = names.map_or(Ok(Vec::new()), |names| named_for(names, back_end, None))?;
    emulated.retain(|kernel| kernel.back_end() != back_end);
    if let (Some(names), [_, ..]) = (names, &emulated[..]) {
        let what = format!("the CPU emulates the threads of {names} one after the other");
        progress.say(format_args!("note: {what}: such times say nothing about a GPU"));
        if let Some(columns) = sample(&source, &emulated, args, session, progress)? {
            opened.sample(columns);
        }
    }
    let mut problem = session.load(opened)?;
    problem.tolerance = args.tolerance;
    let header = problem.header();
    let counted = |n: &usize| problem.occ()[*n] == 1.0 && header.e(*n) > header.efermi + header.tol;
    if let Some(n) = (0..header.nbands).find(counted) {
        let (number, efermi) = (header.peinf_indext_dist[n], header.efermi);
        let place = format!("band {number} is at {} eV, above efermi, {efermi} eV", header.e(n));
        progress.say(format_args!("note: {place}, and counts as occupied by nvband"));
    }
    let is_named = |id: &str| names.is_some_and(|names| names.split(',').any(|name| name == id));
    let names = names.unwrap_or_else(|| default_names(args, back_end, &problem));
    let chosen = (problem.outline(), args.sigma_alone);
    let mut versions = match names {
        BEST if args.derivative => vec![catalogue::with_derivative(back_end)],
        "v15" if args.derivative => vec![catalogue::with_derivative(BackEnd::Gpu)],
        "cpu:alone" if args.derivative => vec![catalogue::with_derivative(BackEnd::Cpu)],
        _ if args.derivative => {
            return Err(invalid("--derivative", "is of v15, cpu:alone or best alone").into());
        }
        BEST if args.is_single() => {
            vec![catalogue::best_single_on(back_end, device.info().single_over_double)]
        }
        _ => named_for(names, back_end, Some(chosen))?,
    };
    if args.is_single() {
        problem.require_single()?;
    }
    if let Some(double) = versions.iter().find(|listed| args.is_single() && !listed.is_single()) {
        let why = format!("{} sums in double: name versions in single, or best", double.id());
        return Err(invalid("--precision single", why).into());
    }
    let sums_both = |listed: &&Version| args.sigma_alone && !listed.is_sigma_alone();
    if let Some(both) = versions.iter().find(|listed| sums_both(listed) && names != BEST) {
        let why = format!("{} sums SX and CH apart: name versions of Σ alone, or best", both.id());
        return Err(invalid("--sigma-alone", why).into());
    }
    // A series leaves out what the device cannot run; a version named by its id fails.
    versions.retain(|listed| {
        is_named(listed.id()) || listed.gpu().is_none_or(|gpu| device.info().runs(gpu))
    });
    versions.iter().try_for_each(|listed| listed.require_for(problem.outline()))?;
    let plan = RunPlan {
        versions: versions.clone(),
        warmup: args.warmup,
        repeat: args.repeat,
        quick: args.repeat.is_none() && args.output.json.is_none(),
        compares: !args.no_verify,
    };
    if ranks.size() > 1 {
        let ids: Vec<&str> = versions.iter().map(|version| version.id()).collect();
        let level = device.cpu().map(|(level, _)| level.to_string());
        let checks = (args.no_verify, args.tolerance, args.derivative);
        let flags = (args.warmup, args.repeat, checks, limits.slab);
        let problem = problem::digest(&problem)?;
        let digest = format!("{problem} {ids:?} {level:?} {flags:?} {}", record::program());
        require_same(ranks, "input, energies, versions, flags or program", &digest)?;
    }
    let igp = session.slab_size(&problem, &plan.versions, false)?;
    let problem = session.in_whole_slabs(problem, igp)?;
    let slabs = Slabs::new(&problem, igp);
    let mut run = record_of(session, slabs, &plan);
    let done = run_versions(&mut run, session, slabs, &plan, progress);
    let _polling = polling();
    let mut shown = Ok(());
    if !run.results.is_empty() {
        if done.is_err() && !output.quiet {
            let (ran, all) = (run.results.len(), plan.versions.len());
            note(format_args!("{ran} of {all} versions ran"));
        }
        shown = show(&output, &run);
    }
    done?;
    shown.map(|()| run)
}

/// Terms beyond which a calculation takes a CPU more than a second.
const LARGE: u64 = 1_000_000_000;

/// Seconds for which a CPU emulates versions for GPUs, all together, unless `--emulate` is given.
const EMULATION: f64 = 10.0;

/// How many columns fit that time if all do not, by the time of a few. Collective.
fn sample(
    source: &ProblemSource,
    emulated: &[Version],
    args: &RunArgs,
    session: &Session,
    progress: Progress,
) -> Result<Option<usize>> {
    let extents = source.open(progress)?.extents();
    if args.emulate || extents.terms() <= LARGE / 10 {
        return Ok(None);
    }
    let _polling = polling();
    let control = Control { stop: &STOP, ..Control::none() };
    let mut columns = 1;
    // Most kernels for GPUs take as long for a column as for a few.
    let each = loop {
        let mut some = source.open(progress)?;
        some.sample(columns);
        let problem = some.load()?;
        let mut engine = Engine::whole(session.first(), &problem)?;
        let mut seconds = 0.0;
        for &kernel in emulated {
            seconds += engine.run_with(kernel, None, control)?.seconds;
        }
        if 8.0 * seconds > EMULATION || 8 * columns > extents.ngpown {
            break seconds / columns as f64;
        }
        columns *= 8;
    };
    let runs = f64::from(args.warmup.unwrap_or(0)) + f64::from(args.repeat.unwrap_or(1));
    let columns = (EMULATION / (each * runs)).max(1.0) as u64;
    let columns = session.ranks.least(columns) as usize;
    Ok(Some(columns).filter(|columns| *columns < extents.ngpown))
}

fn default_names(args: &RunArgs, back_end: BackEnd, problem: &Problem) -> &'static str {
    let is_other = args.is_single() || args.sigma_alone || args.derivative;
    match back_end {
        _ if is_other || args.problem.energies.is_some() => BEST,
        _ if problem.poles() == Poles::Windowed => BEST,
        _ if problem.nw() > MINI_APPS_ENERGIES => BEST,
        BackEnd::Gpu => MAIN,
        BackEnd::Cpu if problem.terms() > LARGE => BEST,
        BackEnd::Cpu => "cpu",
    }
}

/// Reports on standard error what did not pass; whether everything did.
pub fn reported(results: &[Measurement], no_verify: bool) -> bool {
    let as_asked = |result: &&Measurement| no_verify && result.outcome() == Outcome::NotVerified;
    let failed = results.iter().filter(|result| !as_asked(result));
    let failures: Vec<String> = failed.filter_map(failure).collect();
    failures.iter().for_each(note);
    failures.is_empty()
}

#[derive(Default)]
pub struct RunPlan {
    pub versions: Vec<Version>,
    pub warmup: Option<u32>,
    pub repeat: Option<u32>,
    /// Whether nobody keeps the times.
    pub quick: bool,
    pub compares: bool,
}

impl RunPlan {
    fn repetition(&self, version: Version, session: &Session, slabs: Slabs) -> Repetition {
        let (device, problem) = (session.first(), slabs.problem());
        let is_emulated = version.back_end() != device.back_end();
        let (warmup, repeat) = match device.back_end() {
            _ if !problem.stays() => (0, 1),
            BackEnd::Cpu if is_emulated || problem.terms() > LARGE => (0, 1),
            _ => (1, 5),
        };
        // All ranks run equally often, however long it takes each.
        let is_single = session.workers() == 1 && slabs.count() == 1;
        Repetition {
            warmup: self.warmup.map_or(warmup, |warmup| warmup as usize),
            repeat: self.repeat.map_or(repeat, |repeat| repeat as usize),
            window: if is_single { window(device, self.warmup) } else { Duration::ZERO },
            quick: self.quick,
            has_sample: self.compares && version.is_single(),
        }
    }
}

/// A record without results of versions that are to be run.
pub fn record_of(session: &Session, slabs: Slabs, plan: &RunPlan) -> RunRecord {
    let first = plan.versions.first();
    let first = first.map(|&version| plan.repetition(version, session, slabs));
    let repetition = first.unwrap_or(Repetition::exactly(0, 0));
    let problem = slabs.problem();
    RunRecord {
        head: Head::new(session.first().info(), problem.origin(), repetition),
        system: SystemInfo::from_problem(problem),
        partition: None,
        results: Vec::new(),
    }
}

/// Runs versions, and records what was measured until the end or an error. Of several ranks rank 0 measures, the others
/// take part in its calculations.
pub fn run_versions(
    run: &mut RunRecord,
    session: &Session,
    slabs: Slabs,
    plan: &RunPlan,
    progress: Progress,
) -> Result<()> {
    let (device, ranks, versions) = (session.first(), session.ranks, &plan.versions);
    run.partition = partition(session, slabs);
    let compares = plan.compares && ranks.is_root();
    let stored = if compares { reference::for_problem(slabs, progress)? } else { None };
    // If rank 0 has no reference, all ranks take part in computing one.
    let is_known = !plan.compares || ranks.least((stored.is_some() || !compares).into()) == 1;
    let _polling = polling();
    let mut engine = session.engine(slabs.problem(), slabs.igp(), versions)?;
    let other = if is_known { None } else { reference_version(device.back_end(), versions) };
    let computed = other.map(|other| by_version(&mut engine, other, progress)).transpose()?;
    let reference = stored.or(computed);
    let has_rates = compares && versions.iter().any(|version| version.has_derivative());
    let rates = if has_rates { reference::derivatives(slabs, progress)? } else { None };
    let repetition = |version: Version| plan.repetition(version, session, slabs);
    let runs: usize = versions.iter().map(|&version| repetition(version).runs()).sum();
    let bar = progress.bar("running", runs as u64);
    let (mut ran, mut next, mut igp) = (0, 0, engine.slabs().igp());
    while let Some(&version) = versions.get(next) {
        let times = repetition(version);
        let done = |calculations: f64| bar.set(ran as f64 + calculations);
        bar.set_message(format!("{} on {}", version.id(), device.info().id));
        if ranks.is_root() {
            let reference = reference.as_ref();
            let mut result = measure(version, device, &mut engine, reference, times, &done)?;
            result.verify_derivative(slabs.problem(), rates.as_ref());
            run.results.push(result);
        } else {
            for _ in 0..times.runs() {
                engine.run_with(version, None, Control { advance: &done, stop: &STOP })?;
            }
            if times.has_sample {
                sampled(version, &mut engine, Control { stop: &STOP, ..Control::none() })?;
            }
        }
        ran += times.runs();
        next += 1;
        if mem::replace(&mut igp, engine.slabs().igp()) != igp {
            // A device had no room for larger slabs: all versions have these.
            run.partition = partition(session, engine.slabs());
            if next > 1 {
                run.results.clear();
                next = 0;
            }
        }
    }
    drop(bar);
    run.head.complete = true;
    Ok(())
}

/// The version that others are compared with if a problem has no reference: none of those that run, made for the back
/// end, with terms as in the definition.
fn reference_version(back_end: BackEnd, versions: &[Version]) -> Option<Version> {
    let ids = match back_end {
        BackEnd::Gpu => ["v3", "v8", "v0"],
        BackEnd::Cpu => ["cpu:blocked", "cpu:simd", "cpu:threads"],
    };
    let runs = |id: &&str| versions.iter().any(|version| version.id() == *id);
    let id = ids.iter().find(|id| !runs(id))?;
    catalogue::find(id)
}

/// The sums of a version as a reference; of many energies at some.
fn by_version(engine: &mut Engine, version: Version, progress: Progress) -> Result<Reference> {
    let problem = engine.problem();
    let bar = progress.bar(&format!("{}, to compare with", version.id()), 1);
    let done = |part: f64| bar.set(part);
    let control = Control { advance: &done, stop: &STOP };
    let energies = reference::chosen(problem.nw());
    let some = Some(&energies[..]).filter(|some| some.len() < problem.nw());
    let sums = engine.run_with(version, some, control)?.sums;
    Ok(Reference::at(&energies, problem, &sums, ReferenceSource::Device, progress))
}
