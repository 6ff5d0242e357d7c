//! `gpp explain`: cards of versions, which the report has too: what bounds a version, why its time changed, the idea,
//! the change in the source, and counters. What a record lacks is left out.

mod why;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::iter;
use std::path::Path;

use similar::TextDiff;

use crate::catalogue::{self, BackEnd, Version, find, named, single};
use crate::cli::{DEFAULT_FOLDER, ExplainArgs};
use crate::error::{Result, invalid};
use crate::output::print;
use crate::profile::Measured;
use crate::profile::ncu::STALLS;
use crate::record::run::Measurement;
use crate::record::{self, Ceilings, ELIGIBLE, LEVELS, Profile, share_of_peak};
use crate::terminal::{TextTable, digits, or_dash, percent};

pub fn explain(args: &ExplainArgs) -> anyhow::Result<bool> {
    let names = args.versions.join(",");
    let versions = named(&names, BackEnd::Gpu)?;
    let one = |name: &String| single("--before", name, BackEnd::Gpu);
    let before = args.before.as_ref().map(one).transpose()?.map(Version::id);
    if versions.iter().any(|version| Some(version.id()) == before) {
        let what = "is what is explained: give another version";
        return Err(invalid(format!("--before {}", before.unwrap_or_default()), what).into());
    }
    let loaded = Measured::load(args.from.as_deref())?;
    // A series goes without versions that its records lack, unless they lack all; one that is named fails.
    let ids = loaded.as_ref().map_or(Vec::new(), Measured::ids);
    let lacks_all = versions.iter().all(|version| !ids.contains(&version.id()));
    let is_shown =
        |shown: &&Version| lacks_all || names.contains(shown.id()) || ids.contains(&shown.id());
    let card = |version: &Version| {
        let id = version.id();
        if let Some(loaded) = &loaded {
            return loaded.card(id, before.or(loaded.before(id)));
        }
        let has_before = |archived: &Measured| before.is_none_or(|id| archived.ids().contains(&id));
        let archived = Measured::archived(id)?.filter(has_before).unwrap_or_default();
        archived.card(id, before.or(archived.before(id)))
    };
    let cards = versions.iter().filter(is_shown).map(card).collect::<Result<Vec<_>>>()?;
    let lines = if before.is_some() { usize::MAX } else { LINES };
    print(|to| {
        cards.iter().try_for_each(|card| text(to, card, lines))?;
        match cards.iter().all(|card| card.measured.is_some()) {
            true => Ok(()),
            false => writeln!(to, "{NOT_MEASURED}"),
        }
    })?;
    Ok(true)
}

struct Side<'a> {
    /// Its result in the run, if it passed and was not emulated.
    measured: Option<&'a Measurement>,
    profile: Option<&'a Profile>,
    over_baseline: Option<f64>,
}

impl Side<'_> {
    fn seconds(&self) -> Option<f64> {
        self.measured.map(|own| own.times.median).or(self.profile.and_then(|own| own.time_s))
    }

    /// Cycles between two instructions of a warp: it issues in `selected` of them.
    fn cycles_per_instruction(&self) -> Option<f64> {
        let issuing = *self.profile?.stalls.get("selected")?;
        (issuing > 0.0).then(|| issuing.recip())
    }

    /// Instructions of all warps of an SM: its cycles × active warps ÷ cycles between two instructions of a warp.
    fn instructions(&self) -> Option<f64> {
        let profile = self.profile?;
        Some(profile.cycles? * profile.warps_per_sm? / self.cycles_per_instruction()?)
    }

    fn flops_per_s(&self) -> Option<f64> {
        let profile = self.profile?;
        Some(profile.flops() / self.seconds().unwrap_or(profile.duration_s))
    }
}

impl Measured {
    /// From a folder of profiles or a run's JSON; by default from the usual folder, none if there is none.
    pub fn load(from: Option<&Path>) -> Result<Option<Measured>> {
        let usual = Path::new(DEFAULT_FOLDER);
        let Some(path) = from.or(usual.is_dir().then_some(usual)) else {
            return Ok(None);
        };
        if path.is_file() {
            let (from, run) = (path.display().to_string(), Some(record::read(path)?));
            return Ok(Some(Measured { from, run, ..Measured::default() }));
        }
        Measured::in_folder(path).map(Some)
    }

    pub fn is_empty(&self) -> bool {
        self.run.is_none() && self.profiles.is_empty()
    }

    /// The versions with a profile or, if there are none, with a result.
    pub fn ids(&self) -> Vec<&str> {
        let profiled: Vec<&str> =
            self.profiles.iter().map(|profile| profile.version.as_str()).collect();
        let ran =
            self.run.iter().flat_map(|run| &run.results).map(|result| result.version.as_str());
        if profiled.is_empty() { ran.collect() } else { profiled }
    }

    /// The nearest measured version that a version builds on.
    pub fn before(&self, id: &str) -> Option<&str> {
        let ids = self.ids();
        let mut earlier = iter::successors(catalogue::before(id), |id| catalogue::before(id));
        earlier.find(|id| self.is_empty() || ids.contains(id))
    }

    /// `None` if the version was not measured.
    fn side(&self, id: &str) -> Option<Side<'_>> {
        let result = |id: &str| -> Option<&Measurement> {
            self.run.as_ref()?.passed_result(id).filter(|result| !result.emulated)
        };
        let measured = result(id);
        let profile = self.profiles.iter().find(|profile| profile.version == id);
        let baseline = catalogue::first_series_of(id).and_then(|series| result(series.baseline()));
        let over_baseline =
            baseline.zip(measured).map(|(from, to)| from.times.median / to.times.median);
        let is_known = measured.is_some() || profile.is_some();
        is_known.then_some(Side { measured, profile, over_baseline })
    }

    pub fn card(&self, id: &str, before: Option<&str>) -> Result<Card> {
        let ids = self.ids();
        let missing = [Some(id), before].into_iter().flatten().find(|id| !ids.contains(id));
        if let (Some(missing), false) = (missing, self.is_empty()) {
            let ids = ids.join(", ");
            let what = format!(
                "has no profile of {missing}, but of {ids}: `gpp profile --version {missing}` makes it"
            );
            return Err(invalid(&self.from, what));
        }
        let no_source = || invalid(id, "has no source in this program");
        let (listed, file) = find(id).zip(version_file(id)).ok_or_else(no_source)?;
        let sides = [before.and_then(|before| self.side(before)), self.side(id)];
        let [earlier, now] = &sides;
        let bound = now
            .as_ref()
            .and_then(|now| Some(bound(now.profile?, self.ceilings.as_ref()?, now.measured)));
        let of_run = self.run.iter().map(|run| (&run.system.name, &run.head.device.name));
        let of_profiles = self.profiles.iter().map(|profile| (&profile.system, &profile.device));
        let place = now.as_ref().and_then(|_| of_run.chain(of_profiles).next());
        let why = earlier.as_ref().zip(now.as_ref()).zip(before);
        let why = why.and_then(|((earlier, now), name)| why::why(name, [earlier, now]));
        Ok(Card {
            version: id.into(),
            before: before.map(str::to_string),
            change: listed.label().change,
            // The first paragraph is the change.
            text: file.header().into_iter().skip(1).collect(),
            source: listed.label().source,
            file: file.path,
            difference: before.and_then(|id| Some(source_change(&version_file(id)?, &file))),
            measured: place.map(|(system, device)| format!("{system} on {device}: {}", self.from)),
            rows: now.as_ref().map_or(Vec::new(), |_| rows(&sides, self.ceilings.as_ref())),
            verdict: bound.into_iter().chain(why).collect(),
        })
    }
}

pub struct Card {
    pub version: String,
    /// The version that it is compared with; none for the first of a series.
    pub before: Option<String>,
    pub change: &'static str,
    pub text: Vec<String>,
    pub source: &'static str,
    pub file: &'static str,
    pub difference: Option<SourceChange>,
    /// System, device and source of the numbers; none if nothing was measured.
    pub measured: Option<String>,
    pub rows: Vec<CardRow>,
    /// What bounds the version, and why its time differs from that of the version before, if these are known.
    pub verdict: Vec<String>,
}

/// Unchanged lines around those that changed.
const CONTEXT: usize = 2;

pub struct SourceChange {
    pub added: usize,
    pub removed: usize,
    /// Those of a unified diff.
    pub lines: Vec<String>,
}

/// What changed from one source to another, without comments and imports.
pub fn source_change(before: &SourceFile, now: &SourceFile) -> SourceChange {
    let (old, new) = (code(before), code(now));
    let diff = TextDiff::from_lines(&old, &new);
    let text = diff.unified_diff().context_radius(CONTEXT).to_string();
    let lines: Vec<String> = text.lines().map(str::to_string).collect();
    let count = |sign: char| lines.iter().filter(|line| line.starts_with(sign)).count();
    SourceChange { added: count('+'), removed: count('-'), lines }
}

/// The lines of code, without comments, tests and imports but those from another version; an entry's symbol as that of
/// any version.
fn code(file: &SourceFile) -> String {
    let name = file.path.split_once("/versions/").map_or("", |(_, name)| name);
    let symbol = format!("gpp_{}", name.trim_end_matches(".rs").replace('/', "_"));
    let mut imports = false;
    let mut code = String::new();
    for line in file.text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")) {
        imports |= line.starts_with("use ") && !line.starts_with("use super::v");
        if !imports && !line.trim().is_empty() && !line.trim_start().starts_with("//") {
            code += &(line.replace(&symbol, "gpp") + "\n");
        }
        imports &= !line.ends_with(';');
    }
    code
}

pub struct CardRow {
    pub name: String,
    pub unit: &'static str,
    pub before: Option<f64>,
    pub now: Option<f64>,
    /// `now / before − 1`.
    pub change: Option<f64>,
}

/// Stalls of a card at most.
const LEADING: usize = 5;

/// Rows of two versions, or of the second alone.
fn rows([before, now]: &[Option<Side>; 2], ceilings: Option<&Ceilings>) -> Vec<CardRow> {
    let mut rows = Vec::new();
    let mut row = |name: &str, unit: &'static str, value: &dyn Fn(&Side) -> Option<f64>| {
        let [before, now] = [before, now].map(|side| side.as_ref().and_then(value));
        let change = before.zip(now).map(|(before, now)| now / before - 1.0);
        let change = change.filter(|change| change.is_finite());
        let row = CardRow { name: name.into(), unit, before, now, change };
        rows.extend(before.or(now).map(|_| row));
    };
    row("time", "ms", &|side| Some(side.seconds()? * 1e3));
    row("over baseline", "×", &|side| side.over_baseline);
    row("cycles", "10⁶", &|side| Some(side.measured?.cycles()? / 1e6));
    row("clock", "MHz", &|side| side.measured?.sm_mhz());
    row("power", "W", &|side| side.measured?.clock_and_power.as_ref()?.watts());
    row("energy", "J", &|side| side.measured?.energy_j);
    row("registers", "", &|side| {
        let registers = side.measured.and_then(|own| own.registers);
        registers.or(side.profile.and_then(|own| own.registers)).map(f64::from)
    });
    row("warps that fit", "", &|side| side.measured?.warps_per_sm.map(f64::from));
    row("warps active", "", &|side| side.profile?.warps_per_sm);
    row("FLOP per term", "", &|side| side.profile.map(Profile::flops_per_term));
    row("FMA share", "%", &|side| side.profile.map(|own| own.fma_ratio() * 100.0));
    row("rate", "TFLOP/s", &|side| Some(side.flops_per_s()? / 1e12));
    row("FP64 pipe busy", "%", &|side| side.profile?.fp64_pipe_percent);
    row("instructions per SM", "10⁶", &|side| Some(side.instructions()? / 1e6));
    for (name, level) in ["HBM", "L2", "L1", "shared memory"].into_iter().zip(LEVELS) {
        row(name, "GB", &|side| Some(level.bytes(side.profile?)? / 1e9));
    }
    row("intensity", "FLOP/B", &|side| side.profile.map(|own| own.flops() / own.bytes.hbm));
    row("cycles between a warp's instructions", "", &|side| side.cycles_per_instruction());
    row("share of its FMA ceiling", "%", &|side| {
        let ceiling = ceilings?.fp64 * share_of_peak(side.profile?.fma_ratio());
        Some(side.flops_per_s()? / ceiling * 100.0)
    });
    for reason in leading_stalls(&[before, now]) {
        row(&format!("stall: {}", reason.replace('_', " ")), "%", &|side| {
            Some(side.profile?.stalls.get(reason)? * 100.0)
        });
    }
    rows
}

/// The reasons that warps of either version wait for most, the leading one first.
fn leading_stalls<'a>(sides: &[&Option<Side<'a>>]) -> Vec<&'a str> {
    let profiles = sides.iter().filter_map(|side| side.as_ref()?.profile);
    let mut stalls: Vec<(&str, f64)> = profiles
        .flat_map(|own| own.stalls.iter().map(|(reason, share)| (reason.as_str(), *share)))
        .filter(|(reason, share)| !ELIGIBLE.contains(reason) && *share > 0.0)
        .collect();
    stalls.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut seen = BTreeSet::new();
    stalls.retain(|(reason, _)| seen.insert(*reason));
    stalls.into_iter().map(|(reason, _)| reason).take(LEADING).collect()
}

/// Lines of a difference with the version before; of one with another all are shown.
const LINES: usize = 80;

const NOT_MEASURED: &str = "No measurements: `gpp profile` makes them on a GPU, `gpp --json FILE` times versions for CPUs, and \
    --from reads both, such as those in data/runs of gpp's repository.";

fn text(to: &mut dyn Write, card: &Card, lines: usize) -> io::Result<()> {
    let Card { version, before, change, text, source, file, verdict, .. } = card;
    let against = before.as_ref().map_or(String::new(), |id| format!(" against {id}"));
    writeln!(to, "{version}{against}: {change}\n")?;
    if !verdict.is_empty() {
        writeln!(to, "- {}\n", verdict.join("\n- "))?;
    }
    text.iter().try_for_each(|text| writeln!(to, "{text}\n"))?;
    let count =
        |lines: &SourceChange| format!("; {} lines new, {} gone", lines.added, lines.removed);
    let changed = card.difference.as_ref().map_or(String::new(), count);
    writeln!(to, "{source}; {file}{changed}\n")?;
    if let Some(difference) = &card.difference {
        difference.lines.iter().take(lines).try_for_each(|line| writeln!(to, "{line}"))?;
        if let more @ 1.. = difference.lines.len().saturating_sub(lines) {
            let before = before.as_deref().unwrap_or_default();
            writeln!(to, "… {more} more lines: gpp explain {version} --before {before}")?;
        }
        writeln!(to)?;
    }
    let Some(measured) = &card.measured else { return Ok(()) };
    writeln!(to, "{measured}")?;
    rows_table(card, card.rows.iter()).print(to)?;
    writeln!(to)
}

/// Rows of a card, before and now; the change is in percent, or a factor of two and more.
pub fn rows_table<'a>(card: &Card, rows: impl Iterator<Item = &'a CardRow>) -> TextTable {
    TextTable::new(
        &[
            ("", &|CardRow { name, unit, .. }: &&CardRow| match *unit {
                "" => name.clone(),
                unit => format!("{name} [{unit}]"),
            }),
            (card.before.as_deref().unwrap_or("before"), &|row| number(row.before)),
            (&card.version, &|row| number(row.now)),
            ("change", &|row| {
                or_dash(row.change.map(|change| match change >= 1.0 {
                    true => format!("× {:.1}", change + 1.0),
                    false => percent(change),
                }))
            }),
        ],
        rows,
    )
}

/// A number with four digits, or without decimals if it has none.
pub fn number(value: Option<f64>) -> String {
    or_dash(value.map(|of| if of.fract() == 0.0 { format!("{of:.0}") } else { digits(of) }))
}

// What bounds a version. Shares of units are from the profiler's run, the clock is from the timed runs.

/// A unit that is busy at this share or more bounds a version.
const BOUND: f64 = 0.8;

/// Below this share no unit is near its limit: latency bounds the version.
const NEAR: f64 = 0.6;

/// Losses of clock below this share are not reported.
const LEAST_LOSS: f64 = 0.01;

/// The busiest unit, the leading stall, and what the power limit took of the clock.
pub fn bound(profile: &Profile, ceilings: &Ceilings, measured: Option<&Measurement>) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut sentences = Vec::new();
    if let Some(&(unit, share)) = uses(profile, ceilings).first() {
        let busy = percent(share);
        sentences.push(match share {
            _ if share >= BOUND => format!("Bound by {unit}, which is busy at {busy}."),
            _ if share >= NEAR => format!("The busiest unit is {unit}, at {busy}."),
            _ => format!("Latency-bound: the busiest unit is {unit}, at {busy}."),
        });
    }
    if let Some((reason, share)) = profile.main_stall() {
        let share = percent(share);
        sentences.push(format!("Warps wait {share} of the time for {}.", meaning(reason)));
    }
    let state = measured.and_then(|measured| measured.clock_and_power.as_ref());
    if let Some(state) = state.filter(|state| state.is_at_power_limit())
        && let Some(lost) = state.clock_lost().filter(|lost| *lost >= LEAST_LOSS)
    {
        let watts = state.power_limit_w.map_or(String::new(), |watts| format!("{watts:.0} W "));
        sentences.push(format!("The {watts}power limit lowers the clock by {}.", percent(lost)));
    }
    sentences.join(" ")
}

/// Shares of the units that a version uses, the largest first: bandwidths by the ceilings, the others as counted.
pub fn uses(profile: &Profile, ceilings: &Ceilings) -> Vec<(&'static str, f64)> {
    let names = ["HBM bandwidth", "L2 bandwidth", "L1 bandwidth", "shared memory’s bandwidth"];
    let bandwidths = LEVELS.into_iter().zip(names).filter_map(|(level, name)| {
        let rate = level.bytes(profile)? / profile.duration_s;
        Some((name, rate / level.bandwidth(ceilings)?))
    });
    let pipes = [
        ("instruction issue", profile.pipes_percent.get("issue slots").copied()),
        ("the ALU pipe", profile.pipes_percent.get("ALU").copied()),
        ("the MUFU pipe", profile.pipes_percent.get("MUFU").copied()),
        ("the load/store pipe", profile.pipes_percent.get("load/store").copied()),
        ("the FP64 pipe", profile.fp64_pipe_percent),
    ];
    let pipes = pipes.into_iter().filter_map(|(name, busy)| Some((name, busy? / 100.0)));
    // A record without a duration or a ceiling has no share.
    let mut uses: Vec<_> = bandwidths.chain(pipes).filter(|(_, share)| share.is_finite()).collect();
    uses.sort_by(|a, b| b.1.total_cmp(&a.1));
    uses
}

/// What a reason means; the profiler's own name if it is not known.
fn meaning(reason: &str) -> String {
    let known = STALLS.iter().find(|(name, _)| *name == reason);
    known.map_or_else(|| reason.replace('_', " "), |(_, meaning)| (*meaning).into())
}

// The sources of the kernels, as they were when the program was built.

/// A source file, or a module of one of versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceFile {
    pub path: &'static str,
    pub text: &'static str,
}

const FILES: &[SourceFile] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The file of a version: the one that states its id.
pub fn version_file(version: &str) -> Option<SourceFile> {
    let stated = format!("id: \"{version}\"");
    let is_stated =
        |file: &SourceFile| file.path.contains("/versions") && file.text.contains(&stated);
    FILES.iter().copied().find(is_stated)
}

impl SourceFile {
    /// The paragraphs at its head, a line each.
    pub fn header(&self) -> Vec<String> {
        let lines = self.text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        let lines: Vec<&str> = lines.collect();
        lines.split(|line| line.is_empty()).map(|paragraph| paragraph.join(" ")).collect()
    }
}
