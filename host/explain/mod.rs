//! Cards of versions, for `gpp explain`, `gpp diff` and the report: the idea, the change in the source, counters and a
//! diagnosis. What a record lacks is left out: its rows, and the sentences that would need it.

pub mod matrices;
pub mod verdict;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use crate::catalogue::sources::{self, SourceFile};
use crate::catalogue::{find, journey_of, order};
use crate::cli::{CardArgs, DEFAULT_FOLDER};
use crate::error::{Result, invalid};
use crate::explain::verdict::{Side, Statement, Step};
use crate::outcomes::differs;
use crate::output;
use crate::profile::{RUN, Records};
use crate::record;
use crate::record::profile::{Ceilings, Profile};
use crate::record::run::{Measurement, Run, Times, Verdict};
use crate::roofline::{Level, share_of_peak};
use crate::table::{Published, published, published_over_baseline};
use crate::terminal::{Cells, Unit, or_dash, percent, terminal};

/// Measurements of one system and device.
#[derive(Default)]
pub struct Found {
    from: String,
    pub run: Option<Run>,
    pub profiles: Vec<Profile>,
    pub ceilings: Option<Ceilings>,
}

impl Found {
    /// Of a folder of profiles or a run's JSON; by default the usual folder, if there is one.
    pub fn load(from: Option<&Path>) -> Result<Found> {
        let usual = Path::new(DEFAULT_FOLDER);
        let Some(path) = from.or(usual.is_dir().then_some(usual)) else {
            return Ok(Found::default());
        };
        if path.is_file() {
            let run = record::read(path)?;
            return Ok(Found {
                from: path.display().to_string(),
                run: Some(run),
                ..Found::default()
            });
        }
        let records = Records::load(path)?;
        let run = records.folder.join(RUN).exists().then(|| records.run()).transpose()?;
        let Records { folder, profiles, ceilings, .. } = records;
        Ok(Found { from: folder.display().to_string(), run, profiles, ceilings: Some(ceilings) })
    }

    pub fn of(run: Run, profiles: Vec<Profile>, ceilings: Ceilings) -> Found {
        Found { from: String::new(), run: Some(run), profiles, ceilings: Some(ceilings) }
    }

    pub fn is_empty(&self) -> bool {
        self.run.is_none() && self.profiles.is_empty()
    }

    /// Versions that were measured: those with a profile or, if there are none, with a result.
    pub fn ids(&self) -> Vec<&str> {
        let profiled: Vec<&str> = self.profiles.iter().map(|own| own.version.as_str()).collect();
        let ran = self.run.iter().flat_map(|run| &run.results).map(|own| own.version.as_str());
        if profiled.is_empty() { ran.collect() } else { profiled }
    }

    /// The nearest measured version that a version builds on.
    pub fn before(&self, id: &str) -> Option<&str> {
        if self.is_empty() { order::before(id) } else { order::nearest_before(id, self.ids()) }
    }

    fn result(&self, id: &str) -> Option<&Measurement> {
        self.run.as_ref()?.passed_result(id).filter(|result| !result.emulated)
    }

    pub fn steps(&self, first: &str, last: &str) -> Vec<StepBetween> {
        let is_one_series =
            order::story(first).map(|own| own.id) == order::story(last).map(|own| own.id);
        let ids = if is_one_series { order::range(first, last) } else { Vec::new() };
        let step = |pair: &[&'static str]| {
            let times = self.result(pair[0]).zip(self.result(pair[1]));
            Some(StepBetween {
                before: pair[0],
                version: pair[1],
                what: find(pair[1])?.version.change,
                time: times.map(|(a, b)| ChangeBetween::of(&a.times, &b.times)),
            })
        };
        if ids.len() < 3 { Vec::new() } else { ids.windows(2).filter_map(step).collect() }
    }

    fn side<'a>(&'a self, id: &'a str) -> Option<Side<'a>> {
        let measured = self.result(id);
        let profile = self.profiles.iter().find(|profile| profile.version == id);
        let baseline = order::story(id).and_then(|series| self.result(series.baseline));
        let over_baseline =
            baseline.zip(measured).map(|(from, own)| from.times.median / own.times.median);
        let is_known = measured.is_some() || profile.is_some();
        is_known.then_some(Side { id, measured, profile, over_baseline })
    }

    /// A version against another, or by itself; `None` if one was not measured.
    fn step<'a>(&'a self, version: &'a str, before: Option<&'a str>) -> Option<Step<'a>> {
        let now = self.side(version)?;
        let before = match before {
            Some(before) => Some(self.side(before)?),
            None => None,
        };
        let (system, device) = match (&self.run, self.profiles.first()) {
            (Some(run), _) => (run.system.name.as_str(), run.head.device.name.as_str()),
            (None, Some(profile)) => (profile.system.as_str(), profile.device.as_str()),
            (None, None) => return None,
        };
        Some(Step { before, now, ceilings: self.ceilings.as_ref(), system, device })
    }

    /// The card of a version, against another or by itself.
    pub fn card(&self, id: &str, before: Option<&str>) -> Result<Card> {
        let ids = self.ids();
        let missing = [Some(id), before].into_iter().flatten().find(|id| !ids.contains(id));
        if let (Some(missing), false) = (missing, self.is_empty()) {
            let what = format!(
                "has no profile of {missing}, but of {}: `gpp profile --version {missing}` makes it",
                ids.join(", ")
            );
            return Err(invalid(&self.from, what));
        }
        let step = self.step(id, before);
        let file = sources::of(id);
        let idea = idea(id).ok_or_else(|| invalid(id, "has no source in this program"))?;
        Ok(Card {
            version: id.into(),
            before: before.map(str::to_string),
            series: journey_of(id).map_or("", |series| series.id).into(),
            idea,
            difference: before.and_then(|id| Some(difference(&sources::of(id)?, &file?))),
            measured: step
                .as_ref()
                .map(|step| format!("{} on {}: {}", step.system, step.device, self.from)),
            rows: step.as_ref().map_or(Vec::new(), rows),
            verdict: step.as_ref().map_or(Vec::new(), verdict::verdict),
        })
    }
}

/// Why a version takes the time that it takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    pub version: String,
    /// The version that it is compared with; null for the first of a series.
    pub before: Option<String>,
    pub series: String,
    pub idea: Idea,
    /// What changed in the source; null if there is nothing before.
    pub difference: Option<Difference>,
    /// System, device and source of the figures; null if nothing was measured.
    pub measured: Option<String>,
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
    /// The lines of [`sources::NEST`] that it changes, from 1; null if its source names none.
    pub lines: Option<Vec<usize>>,
    pub source: String,
    pub file: String,
}

fn idea(version: &str) -> Option<Idea> {
    let (listed, file) = (find(version)?, sources::of(version)?);
    let mut header = file.header().into_iter();
    let title = header.next().unwrap_or_default();
    let own = title.strip_prefix(version).map(|rest| rest.trim_start_matches([',', ':', ' ']));
    let other = title.split_once(": ").filter(|(id, _)| !id.contains(' ')).map(|(_, title)| title);
    Some(Idea {
        title: own.or(other).unwrap_or(&title).trim_end_matches('.').into(),
        text: header.filter(|paragraph| !sources::names_lines(paragraph)).collect(),
        lines: sources::changed(version),
        change: listed.version.change.into(),
        source: listed.version.source.into(),
        file: file.path.into(),
    })
}

// What changed in the source.

/// Unchanged lines around those that changed.
const CONTEXT: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub added: usize,
    pub removed: usize,
    pub hunks: Vec<Hunk>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// File and line of the first line that changed.
    pub place: String,
    /// Each with its sign: blank, + or −.
    pub lines: Vec<(char, String)>,
}

/// What changed from one source to another, without comments and imports.
pub fn difference(before: &SourceFile, now: &SourceFile) -> Difference {
    let (old, new) = (code(before), code(now));
    let [old_texts, new_texts] =
        [&old, &new].map(|lines| lines.iter().map(|line| line.1.as_str()).collect::<Vec<_>>());
    let diff = TextDiff::from_slices(&old_texts, &new_texts);
    let hunk = |ops: &Vec<similar::DiffOp>| {
        let (mut lines, mut places) = (Vec::new(), [None, None]);
        for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
            let place = |file: &SourceFile, line: u32| format!("{}:{line}", file.path);
            let (sign, text) = match (change.tag(), change.old_index(), change.new_index()) {
                (ChangeTag::Insert, _, Some(at)) => {
                    places[0].get_or_insert(place(now, new[at].0));
                    ('+', &new[at].1)
                }
                (ChangeTag::Delete, Some(at), _) => {
                    places[1].get_or_insert(place(before, old[at].0));
                    ('-', &old[at].1)
                }
                (_, _, at) => (' ', &new[at.unwrap_or_default()].1),
            };
            lines.push((sign, text.clone()));
        }
        let place = places.into_iter().flatten().next().unwrap_or_default();
        Hunk { place, lines }
    };
    let hunks: Vec<Hunk> = diff.grouped_ops(CONTEXT).iter().map(hunk).collect();
    let count = |sign| hunks.iter().flat_map(|hunk| &hunk.lines).filter(|l| l.0 == sign).count();
    Difference { added: count('+'), removed: count('-'), hunks }
}

/// The lines of code with their numbers, without comments, imports and tests; an entry's symbol as that of any version.
fn code(file: &SourceFile) -> Vec<(u32, String)> {
    let folder = file.path.split_once("/versions/").map_or("", |(_, name)| name);
    let symbol = format!("gpp_{}", folder.trim_end_matches(".rs").replace('/', "_"));
    let mut imports = false;
    let mut lines = Vec::new();
    for (at, text) in file.text.lines().enumerate() {
        if text.starts_with("#[cfg(test)]") {
            break;
        }
        imports |= text.starts_with("use ");
        if !imports && !text.trim().is_empty() && !text.trim_start().starts_with("//") {
            lines.push((at as u32 + 1, text.replace(&symbol, "gpp")));
        }
        imports &= !text.ends_with(';');
    }
    lines
}

// The table of a card.

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub name: String,
    pub unit: &'static str,
    pub before: Option<f64>,
    pub now: Option<f64>,
    /// `now / before − 1`.
    pub change: Option<f64>,
    /// The same quantity where it was published, before and now.
    pub published: Option<(Option<f64>, f64)>,
}

impl Row {
    /// A row if one of the versions has a value.
    pub fn of(
        name: &str,
        unit: &'static str,
        before: Option<f64>,
        now: Option<f64>,
    ) -> Option<Row> {
        before.or(now)?;
        let change = before.zip(now).map(|(before, now)| now / before - 1.0);
        let change = change.filter(|change| change.is_finite());
        Some(Row { name: name.into(), unit, before, now, change, published: None })
    }
}

/// A quantity of a version: its name, its unit, and its value.
type Quantity = (&'static str, &'static str, for<'a> fn(&Side<'a>) -> Option<f64>);

fn bytes(side: &Side, level: Level) -> Option<f64> {
    Some(level.bytes(side.profile?)? / 1e9)
}

const QUANTITIES: [Quantity; 20] = [
    ("time", "ms", |side| Some(side.seconds()? * 1e3)),
    ("over baseline", "×", |side| side.over_baseline),
    ("cycles", "10⁶", |side| Some(side.cycles()? / 1e6)),
    ("clock", "MHz", |side| side.clock_mhz()),
    ("power", "W", |side| side.measured?.state.as_ref()?.watts()),
    ("energy", "J", |side| side.measured?.energy_j),
    ("registers", "", |side| {
        let own = side.measured.and_then(|own| own.registers);
        own.or(side.profile.and_then(|own| own.registers)).map(f64::from)
    }),
    ("warps that fit", "", |side| side.measured?.warps_per_sm.map(f64::from)),
    ("warps active", "", |side| side.profile?.warps_per_sm),
    ("FLOP per term", "", |side| side.profile.map(Profile::flops_per_term)),
    ("FMA share", "%", |side| side.profile.map(|own| own.fma_ratio() * 100.0)),
    ("rate", "TFLOP/s", |side| Some(side.flops_per_s()? / 1e12)),
    ("FP64 pipe busy", "%", |side| side.profile?.fp64_pipe_percent),
    ("instructions per multiprocessor", "10⁶", |side| Some(side.instructions()? / 1e6)),
    ("HBM", "GB", |side| bytes(side, Level::Hbm)),
    ("L2", "GB", |side| bytes(side, Level::L2)),
    ("L1", "GB", |side| bytes(side, Level::L1)),
    ("shared memory", "GB", |side| bytes(side, Level::Shared)),
    ("intensity", "FLOP/B", |side| side.profile.map(|own| own.flops() / own.bytes.hbm)),
    ("cycles between a warp's instructions", "", |side| side.cycles_an_instruction()),
];

/// The value of a quantity that was published too.
fn of_published(name: &str, id: &str, system: &str) -> Option<f64> {
    let Published { time_s, tflops, intensity, registers, warps_per_sm, .. } =
        published(id, system)?;
    match name {
        "time" => Some(time_s? * 1e3),
        "over baseline" => published_over_baseline(id, system),
        "rate" => tflops,
        "intensity" => intensity,
        "registers" => registers.map(f64::from),
        "warps that fit" => warps_per_sm.map(f64::from),
        _ => None,
    }
}

/// Stall reasons in a card.
const STALLS: usize = 5;

fn rows(step: &Step) -> Vec<Row> {
    let row = |(name, unit, of): &Quantity| {
        let row = Row::of(name, unit, step.before.as_ref().and_then(of), of(&step.now))?;
        let there = |side: &Side| of_published(name, side.id, step.system);
        let published = there(&step.now).map(|now| (step.before.as_ref().and_then(there), now));
        Some(Row { published, ..row })
    };
    let own = |side: &Side| {
        let ceiling = step.ceilings?.fp64 * share_of_peak(side.profile?.fma_ratio());
        Some(side.flops_per_s()? / ceiling * 100.0)
    };
    let share = Row::of(
        "share of its FMA ceiling",
        "%",
        step.before.as_ref().and_then(own),
        own(&step.now),
    );
    let stalls = leading(step).into_iter().filter_map(|reason| {
        let share = |side: &Side| Some(side.profile?.stalls.get(reason)? * 100.0);
        let name = format!("stall: {}", reason.replace('_', " "));
        Row::of(&name, "%", step.before.as_ref().and_then(share), share(&step.now))
    });
    QUANTITIES.iter().filter_map(row).chain(share).chain(stalls).collect()
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
    let waits =
        |reason: &&str| !["selected", "not_selected"].contains(reason) && largest(reason) > 0.0;
    let mut reasons: Vec<&str> = all.into_iter().filter(waits).collect();
    reasons.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    reasons.truncate(STALLS);
    reasons
}

// How times changed from one version or run to another.

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChangeBetween {
    pub before_s: f64,
    pub now_s: f64,
    /// `now / before − 1`.
    pub change: f64,
    /// Whether the samples differ significantly; null if there are too few.
    pub verdict: Option<Verdict>,
}

impl ChangeBetween {
    pub fn of(before: &Times, now: &Times) -> ChangeBetween {
        let (before_s, now_s) = (before.median, now.median);
        let change = now_s / before_s - 1.0;
        ChangeBetween { before_s, now_s, change, verdict: differs(before, now) }
    }

    pub fn words(&self) -> &'static str {
        match self.verdict {
            Some(Verdict::Differs) if self.change < 0.0 => "faster",
            Some(Verdict::Differs) => "slower",
            Some(Verdict::Noise) => "not significant",
            None => "too few runs",
        }
    }
}

/// A version after the one before it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepBetween {
    before: &'static str,
    version: &'static str,
    what: &'static str,
    time: Option<ChangeBetween>,
}

// Cards for the terminal and as JSON.

/// Lines of a difference that `explain` shows; `diff` shows all.
pub const LINES: usize = 80;

/// Columns of text if the terminal has no width.
const WIDTH: usize = 100;

/// Prints cards, and steps below them, and writes JSON if that was asked for.
pub fn show(
    cards: &[Card],
    steps: &[StepBetween],
    args: &CardArgs,
    lines: usize,
) -> anyhow::Result<ExitCode> {
    output::check_outputs(&args.json, None)?;
    let json = || record::plain(&json!({ "schema": 3, "cards": cards, "steps": steps }));
    output::show(args.json.as_deref(), false, json, |to| text(to, cards, steps, lines))?;
    Ok(ExitCode::SUCCESS)
}

fn text(to: &mut dyn Write, cards: &[Card], steps: &[StepBetween], lines: usize) -> io::Result<()> {
    let paint = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let columns = terminal().map_or(WIDTH, usize::from);
    let blank = |to: &mut dyn Write| writeln!(to);
    for (at, card) in cards.iter().enumerate() {
        if at > 0 {
            blank(to)?;
        }
        let heading = match &card.before {
            Some(before) => format!("{} against {before}: {}", card.version, card.idea.title),
            None => format!("{}: {}", card.version, card.idea.title),
        };
        writeln!(to, "{}", painted(&heading, Style::new().bold(), paint))?;
        if lines != usize::MAX {
            for paragraph in &card.idea.text {
                writeln!(to, "\n{}", wrapped(paragraph, columns, ""))?;
            }
        }
        let Idea { change, source, file, .. } = &card.idea;
        let mut from = format!("{change} ({source}), {file}");
        if let Some(changed) = &card.difference {
            let _ = write!(from, "; {} lines new, {} gone", changed.added, changed.removed);
        }
        writeln!(to, "\n{}", wrapped(&from, columns, ""))?;
        changes(to, card, lines, paint)?;
        match &card.measured {
            Some(measured) => writeln!(to, "\n{}", wrapped(measured, columns, ""))?,
            None => writeln!(to, "\n{}", wrapped(NOT_MEASURED, columns, ""))?,
        }
        figures(card).print(to)?;
        for statement in &card.verdict {
            writeln!(to, "{}", wrapped(&format!("- {}", statement.text), columns, "  "))?;
        }
    }
    if !steps.is_empty() {
        writeln!(to, "\nstep by step:")?;
        steps_table(steps).print(to)?;
    }
    Ok(())
}

const NOT_MEASURED: &str = "Not measured here: `gpp profile` on a GPU writes gpp-profile/; --from FOLDER reads stored \
    records, such as data/runs/h200-2026-11-23/si214, and for versions of Σ as a matrix …/offdiag.";

fn changes(to: &mut dyn Write, card: &Card, most: usize, paint: bool) -> io::Result<()> {
    let Some(difference) = &card.difference else { return Ok(()) };
    let mut left = most;
    for hunk in difference.hunks.iter() {
        if left == 0 {
            break;
        }
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        writeln!(to, "{}", painted(&hunk.place, color(AnsiColor::Cyan), paint))?;
        for (sign, text) in hunk.lines.iter().take(left) {
            let style = match sign {
                '+' => color(AnsiColor::Green),
                '-' => color(AnsiColor::Red),
                _ => Style::new(),
            };
            writeln!(to, "{}", painted(&format!("{sign} {text}"), style, paint))?;
        }
        left -= hunk.lines.len().min(left);
    }
    let all: usize = difference.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    match all.saturating_sub(most) {
        0 => Ok(()),
        more => {
            let before = card.before.as_deref().unwrap_or_default();
            writeln!(to, "… {more} more lines: gpp diff {before} {}", card.version)
        }
    }
}

fn painted(text: &str, style: Style, paint: bool) -> String {
    if paint { format!("{style}{text}{style:#}") } else { text.into() }
}

fn figures(card: &Card) -> Cells {
    let before = card.before.as_deref().unwrap_or("before");
    let unit =
        |row: &Row| if row.unit.is_empty() { String::new() } else { format!(" [{}]", row.unit) };
    Cells::new(
        &[
            ("", &|row: &Row| format!("{}{}", row.name, unit(row))),
            (before, &|row: &Row| number(row.before)),
            (&card.version, &|row: &Row| number(row.now)),
            ("change", &|row: &Row| change(row.change)),
            (&format!("V100 {before}"), &|row: &Row| number(row.published.and_then(|pair| pair.0))),
            (&format!("V100 {}", card.version), &|row: &Row| {
                number(row.published.map(|pair| pair.1))
            }),
        ],
        card.rows.clone(),
    )
    .filled()
}

fn steps_table(steps: &[StepBetween]) -> Cells {
    let times = steps.iter().filter_map(|step| step.time);
    let unit = Unit::of_times(times.map(|time| time.now_s));
    Cells::new(
        &[
            ("version", &|step: &StepBetween| step.version.into()),
            ("what it changes", &|step: &StepBetween| step.what.into()),
            (&format!("time [{}]", unit.name), &|step: &StepBetween| {
                or_dash(step.time.map(|time| unit.show(time.now_s)))
            }),
            ("change", &|step: &StepBetween| or_dash(step.time.map(|time| percent(time.change)))),
            ("significance", &|step: &StepBetween| or_dash(step.time.map(|time| time.words()))),
        ],
        steps.to_vec(),
    )
}

/// A number with three digits, or with all those before the point.
pub fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return "–".into() };
    if value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    let first = value.abs().log10().floor();
    let decimals = if first.is_finite() { (2.0 - first).clamp(0.0, 15.0) as usize } else { 0 };
    format!("{value:.decimals$}")
}

/// A change in percent, or as a factor of two and more.
pub fn change(change: Option<f64>) -> String {
    match change {
        None => "–".into(),
        Some(change) if change >= 9.0 => format!("× {:.0}", change + 1.0),
        Some(change) if change >= 1.0 => format!("× {:.1}", change + 1.0),
        Some(change) if change.abs() < 0.0005 => "=".into(),
        Some(change) if change.abs() < 0.0995 => {
            format!("{:+.1} %", change * 100.0).replace('-', "−")
        }
        Some(change) => format!("{:+.0} %", change * 100.0).replace('-', "−"),
    }
}

/// Text in lines of at most so many columns, all but the first with an indent.
fn wrapped(text: &str, columns: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one");
        if line.chars().count() + 1 + word.chars().count() > columns && !line.trim().is_empty() {
            lines.push(format!("{indent}{word}"));
        } else if line.is_empty() {
            line.push_str(word);
        } else {
            let _ = write!(line, " {word}");
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_leaves_comments_and_imports_out() {
        let file = |path, text| SourceFile { path, text, hash: "" };
        let before = file("a/versions/v1.rs", "//! One.\nuse a;\nfn gpp_v1() {\n    old();\n}\n");
        let now = file(
            "a/versions/v2.rs",
            "//! Two.\nuse b;\nfn gpp_v2() {\n    // Why.\n    new();\n}\n",
        );
        let found = difference(&before, &now);
        assert_eq!((found.added, found.removed), (1, 1));
        assert_eq!(found.hunks[0].place, "a/versions/v2.rs:5");
        assert_eq!(found.hunks[0].lines[1], ('-', "    old();".into()));
        assert_eq!(difference(&now, &now).hunks, []);
    }
}
