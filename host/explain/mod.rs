//! `gpp explain`, and `gpp diff` of two versions: cards.

pub mod difference;
pub mod matrices;
pub mod show;
pub mod verdict;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gpp_core::offdiag::versions::{ALL, Version};
use serde::Serialize;

use crate::catalogue::{BackEnd, Listed, find, journey_of, order, sources};
use crate::cli::args::{
    AUTO, CardArgs, DEFAULT_FOLDER, DeviceArgs, ExplainArgs, Format, PAPER_SYSTEM, SMALL_SYSTEM,
};
use crate::error::{Error, Result};
use crate::explain::difference::{Difference, difference};
use crate::explain::show::{ChangeBetween, StepBetween, steps};
use crate::explain::verdict::{Power, Statement};
use crate::offdiag::records::Folder;
use crate::output::{Files, document, is_stdout, print};
use crate::problem::systems::DEFAULT_SEED;
use crate::profile::{RUN, Records};
use crate::progress::Progress;
use crate::record::profile::{Ceilings, Profile};
use crate::record::run::{Measurement, Repetition, Run};
use crate::roofline::{Level, share_of_peak};
use crate::run::{self, Options, exit_code};
use crate::setup::{Setting, Source};
use crate::table::published::{self, BESIDE_SYSTEM};
use crate::terminal::terminal;

pub fn explain(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    let of_matrices = args.matrices()?;
    if !of_matrices.is_empty() {
        return matrices(&of_matrices, None, &args.cards);
    }
    let versions = args.named()?;
    let ids: Vec<&'static str> = versions.iter().map(Listed::id).collect();
    let built_on = ids.iter().filter_map(|id| order::before(id)).filter_map(find);
    let all = [versions.clone(), built_on.collect()].concat();
    let records = match gather(&args.cards, &all)? {
        Gathered::Records(records) => records,
        Gathered::NotVerified(code) => return Ok(code),
    };
    let cards = ids.iter().map(|id| records.card(id, records.nearest_before(id)));
    show(&cards.collect::<Result<Vec<_>>>()?, &[], &args.cards, show::Parts::Explained)
}

/// The cards of versions of Σ as a matrix, by the records of a folder where one is named: against a version or, of
/// `None`, each against the one before it. Where all are asked for, those are shown that the record has.
pub fn matrices(
    versions: &[&'static Version],
    before: Option<&'static Version>,
    args: &CardArgs,
) -> anyhow::Result<ExitCode> {
    let folder = args.from.as_deref().map(Folder::load).transpose()?;
    let read = folder.iter().flat_map(Folder::files);
    Files::new().reads("--from", read).writes_or_prints("--json", &args.json).check()?;
    let folder = folder.as_ref();
    let mut cards = Vec::new();
    let mut missing = None;
    for version in versions {
        let before = before.or_else(|| matrices::before(version, folder));
        match matrices::card(version, before, folder) {
            Some(card) => cards.push(card),
            None => missing = missing.or(Some(version.id)),
        }
    }
    let are_all = versions.len() == ALL.len() && !cards.is_empty();
    if let (Some(id), Some(from), false) = (missing, &args.from, are_all) {
        let what = format!(
            "its record of most versions has no {id} that passed: `gpp offdiag --version all --json FILE` writes all"
        );
        return Err(Error::Input { origin: from.display().to_string(), what }.into());
    }
    let parts = before.map_or(show::Parts::Explained, |_| show::Parts::Compared);
    show(&cards, &[], args, parts)
}

/// Prints cards, and steps below them where there are any.
pub fn show(
    cards: &[Card],
    steps: &[StepBetween],
    args: &CardArgs,
    parts: show::Parts,
) -> anyhow::Result<ExitCode> {
    show_document(
        args,
        |to| {
            show::text(to, cards, parts, terminal())?;
            show::steps_text(to, steps, terminal())
        },
        |to| write!(to, "{}{}", show::markdown(cards, parts), show::steps_markdown(steps)),
        |to| show::json(to, cards, steps),
    )
}

/// Prints text or Markdown, unless JSON goes to standard output, and writes JSON where it was asked for.
pub fn show_document(
    args: &CardArgs,
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    markdown: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    json: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<ExitCode> {
    let to_stdout = args.json.as_deref().is_some_and(is_stdout);
    let printed = match args.format {
        _ if to_stdout => Ok(()),
        Format::Text => print(text),
        Format::Markdown => print(markdown),
    };
    if let Some(path) = &args.json {
        document(path, json)?;
    }
    printed?;
    Ok(ExitCode::SUCCESS)
}

pub enum Gathered {
    Records(Box<Found>),
    /// A run in which something did not pass.
    NotVerified(ExitCode),
}

/// Records of one system and device.
pub struct Found {
    from: String,
    run: Option<Run>,
    profiles: Vec<Profile>,
    ceilings: Option<Ceilings>,
}

/// The records of a folder: the one named, else the system's in gpp-profile; else those of a run.
pub fn gather(args: &CardArgs, versions: &[Listed]) -> Result<Gathered> {
    Files::new().writes_or_prints("--json", &args.json).check()?;
    let back_end = versions[0].kernel.back_end();
    if let Some(folder) = &args.from {
        return stored(folder);
    }
    if let Some(other) = versions.iter().find(|other| other.kernel.back_end() != back_end) {
        let what = "one device runs both: they are made for different ones".into();
        let origin = format!("{} and {}", versions[0].id(), other.id());
        return Err(Error::Input { origin, what });
    }
    let usual = if back_end == BackEnd::Gpu { PAPER_SYSTEM } else { SMALL_SYSTEM };
    let system = args.system.as_deref().unwrap_or(usual);
    let source = Source::system(system, DEFAULT_SEED)?;
    let folder = PathBuf::from(DEFAULT_FOLDER).join(system);
    if args.device == AUTO && folder.is_dir() {
        stored(&folder)
    } else {
        live(args, versions, &source)
    }
}

fn stored(folder: &Path) -> Result<Gathered> {
    let records = Records::load(folder)?;
    let has_run = records.folder.join(RUN).exists();
    let run = has_run.then(|| records.run()).transpose()?;
    let Records { folder, profiles, ceilings, .. } = records;
    let from = folder.display().to_string();
    Ok(Gathered::Records(Box::new(Found { from, run, profiles, ceilings: Some(ceilings) })))
}

fn live(args: &CardArgs, versions: &[Listed], source: &Source) -> Result<Gathered> {
    let progress = Progress { shown: !args.quiet };
    let back_end = versions[0].kernel.back_end();
    let made_for = if back_end == BackEnd::Gpu { "gpu" } else { "cpu" };
    let device = if args.device == AUTO { made_for } else { &args.device };
    let place = DeviceArgs { device: device.into(), simd: None, threads: args.threads };
    let opened = crate::setup::device(&place, versions, progress).map_err(|error| match error {
        Error::NoGpu { why } => {
            Error::NoGpu { why: format!("{why}; --from FOLDER explains by stored profiles") }
        }
        other => other,
    })?;
    let device = opened.as_ref();
    if device.back_end() != back_end {
        let what = format!("is made for a GPU: {} would emulate it", device.info().id);
        return Err(Error::Input { origin: versions[0].id().into(), what });
    }
    let mut ids = Vec::new();
    let mut once = versions.to_vec();
    once.retain(|version| {
        !ids.contains(&version.id()) && {
            ids.push(version.id());
            true
        }
    });
    once.sort_by_key(|version| order::place(version.id()));
    let problem = source.load(progress)?;
    let options = Options::new(&once, Repetition::exactly(1, 5));
    let setting = Setting::whole(&device, &problem);
    let run = run::run_versions(&setting, &options, progress, |run| run::say_last(run, progress))?;
    if !run.passed() {
        return Ok(Gathered::NotVerified(exit_code(&run.results)));
    }
    let from = "measured for this card, without counters: `gpp profile` has them counted".into();
    let found = Found { from, run: Some(run), profiles: Vec::new(), ceilings: None };
    Ok(Gathered::Records(Box::new(found)))
}

impl Found {
    /// Versions that cards can be made of: those with a profile or, where there are none, with a result.
    fn has(&self) -> Vec<&str> {
        let profiled: Vec<&str> = self.profiles.iter().map(|own| own.version.as_str()).collect();
        let ran = self.run.iter().flat_map(|run| &run.results).map(|own| own.version.as_str());
        if profiled.is_empty() { ran.collect() } else { profiled }
    }

    /// The nearest of them that a version builds on.
    fn nearest_before(&self, id: &str) -> Option<&str> {
        order::nearest_before(id, self.has())
    }

    pub fn steps(&self, first: &str, last: &str) -> Vec<StepBetween> {
        let times = |id: &str| {
            let result = self.run.as_ref()?.passed_result(id)?;
            (!result.emulated).then_some(&result.times)
        };
        let seconds = |id: &str| {
            let profile = self.profiles.iter().find(|profile| profile.version == id)?;
            Some(profile.seconds())
        };
        steps(first, last, |before, now| match (times(before), times(now)) {
            (Some(before), Some(now)) => Some(ChangeBetween::of(before, now)),
            _ => Some(ChangeBetween::of_medians(seconds(before)?, seconds(now)?)),
        })
    }

    /// The card of a version against another.
    pub fn card(&self, id: &str, before: Option<&str>) -> Result<Card> {
        let has = self.has();
        if let Some(missing) = [Some(id), before].into_iter().flatten().find(|id| !has.contains(id))
        {
            let what = format!(
                "has no profile of {missing}, but of {}: `gpp profile --version {missing}` makes it",
                has.join(", ")
            );
            return Err(Error::Input { origin: self.from.clone(), what });
        }
        let evidence = Evidence {
            from: &self.from,
            run: self.run.as_ref(),
            profiles: &self.profiles,
            ceilings: self.ceilings.as_ref(),
        };
        card(id, before, evidence).ok_or_else(|| Error::Input {
            origin: self.from.clone(),
            what: format!("has nothing of {id} that passed"),
        })
    }
}

// Why a version's time is what it is: a card with the idea, what changed in the source, what the
// counters say, and a verdict.
//
// A card compares a version with another one, by the records of one folder or one run. What a record lacks
// is left out: its rows, and the sentences that would need it.

pub const SCHEMA: u32 = 2;

/// Why a version takes the time that it takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    pub version: String,
    /// The version that it is compared with; null of a journey's first.
    pub before: Option<String>,
    pub journey: String,
    pub idea: Idea,
    /// What changed in the source; null where there is nothing before.
    pub difference: Option<Difference>,
    /// Where the figures come from; null where nothing was measured.
    pub figures: Option<Figures>,
    /// Who published the figures of the same step, and on what; null where nobody did.
    pub published_by: Option<String>,
    /// What was measured, before and now.
    pub rows: Vec<Row>,
    /// Why the time changed, what bounds the version, and what was published: a sentence or two each.
    pub verdict: Vec<Statement>,
}

/// What a version is, in the words of its source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Idea {
    pub title: String,
    pub text: Vec<String>,
    pub change: String,
    /// The lines of [`sources::NEST`] that it changes, from 1; null where its source names none.
    pub lines: Option<Vec<usize>>,
    pub source: String,
    pub file: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// A folder, or that they were measured for the card.
    pub from: String,
    pub system: String,
    pub device: String,
    /// Whether hardware or the source counted operations and bytes.
    pub has_counters: bool,
}

/// The card of a version, against another or, of `None`, by itself; `None` for what is no version, and
/// for one that the records do not have.
pub fn card(version: &str, before: Option<&str>, evidence: Evidence) -> Option<Card> {
    let step = Step::of(version, before, evidence)?;
    let rows = rows(&step);
    Some(Card {
        version: version.into(),
        before: before.map(str::to_string),
        journey: journey_of(version)?.id.into(),
        idea: idea(version)?,
        difference: before.and_then(|before| difference(before, version)),
        figures: Some(Figures {
            from: evidence.from.into(),
            system: step.system.into(),
            device: step.device.into(),
            has_counters: step.now.profile.is_some(),
        }),
        published_by: step.published.as_ref().map(|published| published.by.clone()),
        rows,
        verdict: verdict::verdict(&step),
    })
}

fn idea(version: &str) -> Option<Idea> {
    let (listed, file) = (find(version)?, sources::of(version)?);
    let mut header = file.header().into_iter();
    let title = header.next().unwrap_or_default();
    let own = title.strip_prefix(version).map(|rest| rest.trim_start_matches([',', ':', ' ']));
    let other = title.split_once(": ").filter(|(id, _)| !id.contains(' ')).map(|(_, title)| title);
    let title = own.or(other).unwrap_or(&title);
    Some(Idea {
        title: title.into(),
        text: header.filter(|paragraph| !sources::names_lines(paragraph)).collect(),
        lines: sources::changed(version),
        change: listed.version.change.into(),
        source: listed.version.source.into(),
        file: file.path.into(),
    })
}

/// A number with three digits, or all those before the point.
pub fn digits(value: f64) -> String {
    let first = value.abs().log10().floor();
    let decimals = if first.is_finite() { (2.0 - first).clamp(0.0, 15.0) as usize } else { 0 };
    format!("{value:.decimals$}")
}

// The table of a card: what was measured of a version and of the one before.

/// Reasons to wait that a card names.
const STALLS: usize = 5;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub group: Group,
    pub name: String,
    pub unit: &'static str,
    pub before: Option<f64>,
    pub now: Option<f64>,
    /// `now / before − 1`; null where one of them is, or where there was none before.
    pub change: Option<f64>,
    /// What was published of the same quantity; null where nothing was.
    pub published: Option<Pair>,
}

/// A published quantity, before and now.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    pub before: Option<f64>,
    pub now: f64,
    /// As [`Row::change`].
    pub change: Option<f64>,
}

/// Kinds of quantities, in the order of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    Time,
    Kernel,
    Operations,
    Bytes,
    Waits,
}

/// All rows that one of the versions has a value for.
pub fn rows(step: &Step) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |group, name: &str, unit, of: &dyn Fn(&Side) -> Option<f64>, told: ToldOf| {
        let (before, now) = (step.before.as_ref().and_then(of), of(&step.now));
        let published = step.published.as_ref().and_then(|published| {
            let (before, now) = (published.before.as_ref().and_then(told), told(&published.now)?);
            Some(Pair { before, now, change: change(before, Some(now)) })
        });
        if before.or(now).is_some() {
            let change = change(before, now);
            rows.push(Row { group, name: name.into(), unit, before, now, change, published });
        }
    };
    time(&mut row, step);
    kernel(&mut row);
    operations(&mut row, step);
    bytes(&mut row);
    waits(&mut row, step);
    rows
}

type ToldOf<'a> = &'a dyn Fn(&Told) -> Option<f64>;

/// Takes a row in: group, name, unit, the value of a version, what was published.
type Take<'a> = &'a mut dyn FnMut(Group, &str, &'static str, &dyn Fn(&Side) -> Option<f64>, ToldOf);

fn nothing(_: &Told) -> Option<f64> {
    None
}

fn time(row: Take, step: &Step) {
    let told: ToldOf = &|told| Some(told.time_s? * 1e3);
    row(Group::Time, "time", "ms", &|side| Some(side.seconds()? * 1e3), told);
    let over = format!("over {}", baseline(step.now.id).unwrap_or("the baseline"));
    row(Group::Time, &over, "×", &|side| side.over_baseline, &|told| told.over_baseline);
    row(Group::Time, "cycles", "10⁶", &|side| Some(side.cycles()? / 1e6), &nothing);
    let counted = |side: &Side| Some(side.profile?.cycles? / 1e6);
    if step.now.cycles().is_none() {
        row(Group::Time, "cycles under the profiler", "10⁶", &counted, &nothing);
    }
    row(Group::Time, "clock", "MHz", &|side| side.clock_mhz(), &nothing);
    row(Group::Time, "power", "W", &|side| side.watts(), &nothing);
    row(Group::Time, "energy", "J", &|side| side.measured?.energy_j, &nothing);
}

fn kernel(row: Take) {
    let told: ToldOf = &|told| told.registers.map(f64::from);
    row(Group::Kernel, "registers", "", &|side| side.registers().map(f64::from), told);
    let fit = |side: &Side| side.measured?.warps_per_sm.map(f64::from);
    row(Group::Kernel, "warps that fit", "", &fit, &|told| told.warps.map(f64::from));
    row(Group::Kernel, "warps active", "", &|side| side.profile?.warps_per_sm, &nothing);
    let local = |side: &Side| side.measured?.local_bytes.map(f64::from);
    row(Group::Kernel, "local memory of a thread", "B", &local, &nothing);
}

fn operations(row: Take, step: &Step) {
    let profile = |of: fn(&Profile) -> f64| move |side: &Side| side.profile.map(of);
    row(Group::Operations, "FLOP a term", "", &profile(|own| own.flops_per_term()), &nothing);
    let fused = profile(|own| own.fma_ratio() * 100.0);
    row(Group::Operations, "fused, of the arithmetic", "%", &fused, &nothing);
    let rate = |side: &Side| {
        side.profile.map(|own| own.flops() / side.seconds().unwrap_or(own.duration_s))
    };
    row(Group::Operations, "rate", "TFLOP/s", &|side| Some(rate(side)? / 1e12), &|told| {
        told.tflops
    });
    let own = |side: &Side| {
        let reachable = step.ceilings?.fp64 * share_of_peak(side.profile?.fma_ratio());
        Some(rate(side)? / reachable * 100.0)
    };
    row(Group::Operations, "of what its fused share can reach", "%", &own, &nothing);
    let pipe = |side: &Side| side.profile?.fp64_pipe_percent;
    row(Group::Operations, "FP64 pipe busy", "%", &pipe, &nothing);
    let instructions = |side: &Side| Some(side.instructions()? / 1e6);
    row(Group::Operations, "instructions of a multiprocessor", "10⁶", &instructions, &nothing);
}

fn bytes(row: Take) {
    let of = |level: Level| move |side: &Side| Some(level.bytes(side.profile?)? / 1e9);
    row(Group::Bytes, Level::Hbm.name(), "GB", &of(Level::Hbm), &nothing);
    row(Group::Bytes, "L2, from L1", "GB", &of(Level::L2), &nothing);
    let fabric = |side: &Side| Some(side.profile?.bytes.l2_fabric? / 1e9);
    row(Group::Bytes, "L2, its fabric", "GB", &fabric, &nothing);
    row(Group::Bytes, "L1", "GB", &of(Level::L1), &nothing);
    row(Group::Bytes, "shared memory", "GB", &of(Level::Shared), &nothing);
    let intensity = |side: &Side| side.profile.map(|own| own.flops() / own.bytes.hbm);
    row(Group::Bytes, "operations a byte of memory", "FLOP/B", &intensity, &|told| told.intensity);
}

fn waits(row: Take, step: &Step) {
    let between = |side: &Side| side.cycles_an_instruction();
    row(Group::Waits, "cycles between two instructions of a warp", "", &between, &nothing);
    for reason in leading(step) {
        let share = |side: &Side| Some(side.profile?.stalls.get(reason)? * 100.0);
        row(Group::Waits, &reason.replace('_', " "), "%", &share, &nothing);
    }
}

/// The reasons that warps of one version or the other wait for most, the leading one first.
fn leading<'a>(step: &Step<'a>) -> Vec<&'a str> {
    let sides = step.before.iter().chain([&step.now]);
    let profiles: Vec<_> = sides.filter_map(|side| side.profile).collect();
    let all: BTreeSet<&str> =
        profiles.iter().flat_map(|own| own.stalls.keys()).map(String::as_str).collect();
    let largest = |reason: &str| {
        profiles.iter().filter_map(|own| own.stalls.get(reason)).fold(0.0_f64, |a, &b| a.max(b))
    };
    let issues = ["selected", "not_selected"];
    let mut reasons: Vec<&str> = all
        .into_iter()
        .filter(|reason| !issues.contains(reason) && largest(reason) > 0.0)
        .collect();
    reasons.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    reasons.truncate(STALLS);
    reasons
}

/// The change of a quantity, where both are known.
pub fn change(before: Option<f64>, now: Option<f64>) -> Option<f64> {
    let (before, now) = before.zip(now)?;
    let change = now / before - 1.0;
    change.is_finite().then_some(change)
}

// A step: a version and the one that it is compared with, as records tell of them.

/// The records that cards are made from: of one system and device.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    pub from: &'a str,
    pub run: Option<&'a Run>,
    /// Counters; none where nothing was profiled.
    pub profiles: &'a [Profile],
    pub ceilings: Option<&'a Ceilings>,
}

#[derive(Clone, Copy)]
pub struct Side<'a> {
    pub id: &'a str,
    /// Its result in the run, where it passed and was not emulated.
    pub measured: Option<&'a Measurement>,
    pub profile: Option<&'a Profile>,
    pub over_baseline: Option<f64>,
}

pub struct Step<'a> {
    /// The version that it is compared with, where there is one.
    pub before: Option<Side<'a>>,
    pub now: Side<'a>,
    pub ceilings: Option<&'a Ceilings>,
    pub published: Option<PublishedStep>,
    pub system: &'a str,
    pub device: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PublishedStep {
    pub by: String,
    /// Of the version before, where it is of the same source.
    pub before: Option<Told>,
    pub now: Told,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    pub time_s: Option<f64>,
    /// 10¹² operations a second.
    pub tflops: Option<f64>,
    pub over_baseline: Option<f64>,
    pub registers: Option<u32>,
    pub warps: Option<u32>,
    /// FLOP/byte on HBM.
    pub intensity: Option<f64>,
}

impl<'a> Side<'a> {
    fn of(id: &'a str, evidence: Evidence<'a>) -> Option<Side<'a>> {
        let result = |id: &str| {
            let result = evidence.run?.passed_result(id)?;
            (!result.emulated).then_some(result)
        };
        let measured = result(id);
        let profile = evidence.profiles.iter().find(|profile| profile.version == id);
        let baseline = baseline(id).and_then(result);
        let over_baseline =
            baseline.zip(measured).map(|(from, own)| from.times.median / own.times.median);
        (measured.is_some() || profile.is_some()).then_some(Side {
            id,
            measured,
            profile,
            over_baseline,
        })
    }

    /// Time of a calculation without a profiler, in seconds.
    pub fn seconds(&self) -> Option<f64> {
        self.measured.map(|own| own.times.median).or(self.profile.and_then(|own| own.time_s))
    }

    /// Clock of the multiprocessors in the timed runs, in MHz.
    pub fn clock_mhz(&self) -> Option<f64> {
        Some(self.measured?.state.as_ref()?.sm_mhz?.median)
    }

    /// Cycles of the timed runs: time × clock.
    pub fn cycles(&self) -> Option<f64> {
        self.measured?.cycles
    }

    /// Power of the board in the timed runs, in watts.
    pub fn watts(&self) -> Option<f64> {
        self.measured?.state.as_ref()?.watts()
    }

    pub fn registers(&self) -> Option<u32> {
        self.measured.and_then(|own| own.registers).or(self.profile.and_then(|own| own.registers))
    }

    /// Cycles between two instructions of a warp: it issues in `selected` of them.
    pub fn cycles_an_instruction(&self) -> Option<f64> {
        let issuing = *self.profile?.stalls.get("selected")?;
        (issuing > 0.0).then(|| issuing.recip())
    }

    /// Instructions of all warps on a multiprocessor, by its cycles, warps and how often one issues.
    pub fn instructions(&self) -> Option<f64> {
        let own = self.profile?;
        Some(own.cycles? * own.warps_per_sm? / self.cycles_an_instruction()?)
    }
}

impl<'a> Step<'a> {
    /// Of a version against another, or by itself; `None` where the records lack one.
    pub fn of(
        version: &'a str,
        before: Option<&'a str>,
        evidence: Evidence<'a>,
    ) -> Option<Step<'a>> {
        let now = Side::of(version, evidence)?;
        let before = match before {
            Some(before) => Some(Side::of(before, evidence)?),
            None => None,
        };
        let (system, device) = match (evidence.run, evidence.profiles.first()) {
            (Some(run), _) => (run.system.name.as_str(), run.head.device.name.as_str()),
            (None, Some(profile)) => (profile.system.as_str(), profile.device.as_str()),
            (None, None) => return None,
        };
        let published = published(before.map(|side| side.id), version, system);
        let ceilings = evidence.ceilings;
        Some(Step { before, now, ceilings, published, system, device })
    }

    pub fn both(&self, of: impl Fn(&Side<'a>) -> Option<f64>) -> Option<(f64, f64)> {
        of(self.before.as_ref()?).zip(of(&self.now))
    }

    /// What the power cap did to the clock of one of them.
    pub fn power(&self, side: &Side) -> Option<Power> {
        Power::of(side.measured?.state.as_ref()?)
    }
}

/// What speed-ups of a version are over: the baseline of the journey that its own goes on from.
pub fn baseline(id: &str) -> Option<&'static str> {
    Some(order::story(id)?.baseline)
}

/// What was published of a step on such a system.
fn published(before: Option<&str>, version: &str, system: &str) -> Option<PublishedStep> {
    let journey = journey_of(version)?.id;
    let told =
        |id: &str| if journey == "paper" { paper(id, system) } else { other(journey, id, system) };
    let by = match journey {
        "paper" => "the paper, one V100".to_string(),
        other => format!("the {other}, one V100, system not named"),
    };
    Some(PublishedStep { by, now: told(version)?, before: before.and_then(told) })
}

/// What the paper's Table I says.
fn paper(id: &str, system: &str) -> Option<Told> {
    let rows = published::paper();
    let of = |id: &str| rows.iter().find(|row| row.version == id);
    let (row, first) = (of(id)?, of(baseline(id)?)?);
    let time_s = row.time_s(system)?;
    Some(Told {
        time_s: Some(time_s),
        tflops: row.tflops(system),
        over_baseline: first.time_s(system).map(|first| first / time_s),
        registers: Some(row.registers_per_thread),
        warps: Some(row.warps_per_sm),
        intensity: None,
    })
}

/// What the talk or the blog says.
fn other(journey: &str, id: &str, system: &str) -> Option<Told> {
    if system != BESIDE_SYSTEM {
        return None;
    }
    let rows = published::told(journey);
    let of = |id: &str| rows.iter().find(|row| row.version == id);
    let (row, first) = (of(id)?, of(baseline(id)?));
    let over = |first: &published::Told| Some(first.time_s? / row.time_s?);
    Some(Told {
        time_s: row.time_s,
        tflops: row.tflops,
        over_baseline: first.and_then(over),
        registers: None,
        warps: None,
        intensity: row.intensity,
    })
}
