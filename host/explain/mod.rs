//! Cards of versions, for `gpp explain`, `gpp diff` and the report: the idea, the change in the source, counters and a
//! diagnosis. What a record lacks is left out: its rows, and the sentences that would need it.

pub mod verdict;

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use gpp_core::offdiag::gpu::{self as versions, Version};
use serde::Serialize;
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use crate::catalogue::sources::{self, SourceFile};
use crate::catalogue::{self, find};
use crate::cli::{CardArgs, DEFAULT_FOLDER};
use crate::error::{Result, invalid};
use crate::explain::verdict::{Diagnosis, Side, Step};
use crate::output;
use crate::profile::{RUN, Records};
use crate::record::run::{Measurement, Run};
use crate::record::{self, Ceilings, ELIGIBLE, Profile};
use crate::roofline::{Level, share_of_peak};
use crate::terminal::{Cells, digits, or_dash, percent, terminal};

/// What was measured of versions on one system and device.
#[derive(Default)]
pub struct Measured {
    pub from: String,
    pub run: Option<Run>,
    pub profiles: Vec<Profile>,
    pub ceilings: Option<Ceilings>,
}

impl Measured {
    /// From a folder of profiles or a run's JSON; by default from the usual folder, if there is one.
    pub fn load(from: Option<&Path>) -> Result<Measured> {
        let usual = Path::new(DEFAULT_FOLDER);
        let Some(path) = from.or(usual.is_dir().then_some(usual)) else {
            return Ok(Measured::default());
        };
        if path.is_file() {
            let (from, run) = (path.display().to_string(), Some(record::read(path)?));
            return Ok(Measured { from, run, ..Measured::default() });
        }
        let records = Records::load(path)?;
        let run = records.folder.join(RUN).exists().then(|| records.run()).transpose()?;
        let Records { folder, profiles, ceilings, .. } = records;
        Ok(Measured { from: folder.display().to_string(), run, profiles, ceilings: Some(ceilings) })
    }

    pub fn is_empty(&self) -> bool {
        self.run.is_none() && self.profiles.is_empty()
    }

    /// The versions with a profile or, if there are none, with a result.
    pub fn ids(&self) -> Vec<&str> {
        let profiled: Vec<&str> = self.profiles.iter().map(|own| own.version.as_str()).collect();
        let ran = self.run.iter().flat_map(|run| &run.results).map(|own| own.version.as_str());
        if profiled.is_empty() { ran.collect() } else { profiled }
    }

    /// The nearest measured version that a version builds on.
    pub fn before(&self, id: &str) -> Option<&str> {
        if self.is_empty() {
            catalogue::before(id)
        } else {
            catalogue::nearest_before(id, self.ids())
        }
    }

    fn side<'a>(&'a self, id: &'a str) -> Option<Side<'a>> {
        let result = |id: &str| -> Option<&Measurement> {
            self.run.as_ref()?.passed_result(id).filter(|result| !result.emulated)
        };
        let measured = result(id);
        let profile = self.profiles.iter().find(|profile| profile.version == id);
        let baseline = catalogue::first_series_of(id).and_then(|series| result(series.baseline));
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
        let (listed, file) = find(id).zip(sources::of(id)).ok_or_else(no_source)?;
        let mut header = file.header().into_iter();
        let title = header.next().unwrap_or_default();
        let own = title.strip_prefix(id).map(|rest| rest.trim_start_matches([',', ':', ' ']));
        let other = title.split_once(": ").filter(|(id, _)| !id.contains(' ')).map(|(_, own)| own);
        let step = self.step(id, before);
        Ok(Card {
            version: id.into(),
            before: before.map(str::to_string),
            idea: Idea {
                title: own.or(other).unwrap_or(&title).trim_end_matches('.').into(),
                text: header.filter(|paragraph| !sources::names_lines(paragraph)).collect(),
                lines: sources::changed(id),
                change: listed.version.change.into(),
                source: listed.version.source.into(),
                file: file.path.into(),
            },
            difference: before.and_then(|id| Some(difference(&sources::of(id)?, &file))),
            measured: step
                .as_ref()
                .map(|step| format!("{} on {}: {}", step.system, step.device, self.from)),
            rows: step.as_ref().map_or(Vec::new(), rows),
            diagnosis: step.as_ref().map(Diagnosis::of).unwrap_or_default(),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    pub version: String,
    /// The version that it is compared with; null for the first of a series.
    pub before: Option<String>,
    pub idea: Idea,
    pub difference: Option<Difference>,
    /// System, device and source of the numbers; null if nothing was measured.
    pub measured: Option<String>,
    pub rows: Vec<Row>,
    pub diagnosis: Diagnosis,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Idea {
    pub title: String,
    pub text: Vec<String>,
    pub change: String,
    /// The lines of the loop nest (`data/kernel.json`) that it changes, from 1; null if its source names none.
    pub lines: Option<Vec<usize>>,
    pub source: String,
    pub file: String,
}

/// Unchanged lines around those that changed.
const CONTEXT: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub added: usize,
    pub removed: usize,
    /// Each with its sign: blank, + or -; `@` marks file and line of the first change of those that follow.
    pub lines: Vec<(char, String)>,
}

/// What changed from one source to another, without comments and imports.
pub fn difference(before: &SourceFile, now: &SourceFile) -> Difference {
    let (old, new) = (code(before), code(now));
    let [old_texts, new_texts] =
        [&old, &new].map(|lines| lines.iter().map(|line| line.1.as_str()).collect::<Vec<_>>());
    let diff = TextDiff::from_slices(&old_texts, &new_texts);
    let mut lines = Vec::new();
    for ops in diff.grouped_ops(CONTEXT) {
        let at = lines.len();
        let (mut first_new, mut first_old) = (None, None);
        for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match (change.tag(), change.old_index(), change.new_index()) {
                (ChangeTag::Insert, _, Some(at)) => {
                    first_new.get_or_insert_with(|| format!("{}:{}", now.path, new[at].0));
                    '+'
                }
                (ChangeTag::Delete, Some(at), _) => {
                    first_old.get_or_insert_with(|| format!("{}:{}", before.path, old[at].0));
                    '-'
                }
                _ => ' ',
            };
            lines.push((sign, change.value().to_string()));
        }
        lines.insert(at, ('@', first_new.or(first_old).unwrap_or_default()));
    }
    let count = |of: char| lines.iter().filter(|(sign, _)| *sign == of).count();
    Difference { added: count('+'), removed: count('-'), lines }
}

/// The lines of code with their numbers, without comments, tests and imports but those from another version; an entry's
/// symbol as that of any version.
fn code(file: &SourceFile) -> Vec<(u32, String)> {
    let folder = file.path.split_once("/versions/").map_or("", |(_, name)| name);
    let symbol = format!("gpp_{}", folder.trim_end_matches(".rs").replace('/', "_"));
    let mut imports = false;
    let mut lines = Vec::new();
    for (at, text) in file.text.lines().enumerate() {
        if text.starts_with("#[cfg(test)]") {
            break;
        }
        imports |= text.starts_with("use ") && !text.starts_with("use super::v");
        if !imports && !text.trim().is_empty() && !text.trim_start().starts_with("//") {
            lines.push((at as u32 + 1, text.replace(&symbol, "gpp")));
        }
        imports &= !text.ends_with(';');
    }
    lines
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub name: String,
    pub unit: &'static str,
    pub before: Option<f64>,
    pub now: Option<f64>,
    /// `now / before − 1`.
    pub change: Option<f64>,
}

impl Row {
    pub fn of(
        name: &str,
        unit: &'static str,
        before: Option<f64>,
        now: Option<f64>,
    ) -> Option<Row> {
        before.or(now)?;
        let change = before.zip(now).map(|(before, now)| now / before - 1.0);
        let change = change.filter(|change| change.is_finite());
        Some(Row { name: name.into(), unit, before, now, change })
    }

    pub fn heading(&self) -> String {
        if self.unit.is_empty() {
            self.name.clone()
        } else {
            format!("{} [{}]", self.name, self.unit)
        }
    }
}

/// Stalls of a card at most.
const STALLS: usize = 5;

fn rows(step: &Step) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut row = |name: &str, unit: &'static str, of: &dyn Fn(&Side) -> Option<f64>| {
        rows.extend(Row::of(name, unit, step.before.as_ref().and_then(of), of(&step.now)));
    };
    let bytes = |side: &Side, level: Level| Some(level.bytes(side.profile?)? / 1e9);
    row("time", "ms", &|side| Some(side.seconds()? * 1e3));
    row("over baseline", "×", &|side| side.over_baseline);
    row("cycles", "10⁶", &|side| Some(side.cycles()? / 1e6));
    row("clock", "MHz", &|side| side.clock_mhz());
    row("power", "W", &|side| side.measured?.state.as_ref()?.watts());
    row("energy", "J", &|side| side.measured?.energy_j);
    row("registers", "", &|side| {
        let own = side.measured.and_then(|own| own.registers);
        own.or(side.profile.and_then(|own| own.registers)).map(f64::from)
    });
    row("warps that fit", "", &|side| side.measured?.warps_per_sm.map(f64::from));
    row("warps active", "", &|side| side.profile?.warps_per_sm);
    row("FLOP per term", "", &|side| side.profile.map(Profile::flops_per_term));
    row("FMA share", "%", &|side| side.profile.map(|own| own.fma_ratio() * 100.0));
    row("rate", "TFLOP/s", &|side| Some(side.flops_per_s()? / 1e12));
    row("FP64 pipe busy", "%", &|side| side.profile?.fp64_pipe_percent);
    row("instructions per SM", "10⁶", &|side| Some(side.instructions()? / 1e6));
    row("HBM", "GB", &|side| bytes(side, Level::Hbm));
    row("L2", "GB", &|side| bytes(side, Level::L2));
    row("L1", "GB", &|side| bytes(side, Level::L1));
    row("shared memory", "GB", &|side| bytes(side, Level::Shared));
    row("intensity", "FLOP/B", &|side| side.profile.map(|own| own.flops() / own.bytes.hbm));
    row("cycles between a warp's instructions", "", &|side| side.cycles_per_instruction());
    row("share of its FMA ceiling", "%", &|side| {
        let ceiling = step.ceilings?.fp64 * share_of_peak(side.profile?.fma_ratio());
        Some(side.flops_per_s()? / ceiling * 100.0)
    });
    for reason in leading_stalls(step) {
        row(&format!("stall: {}", reason.replace('_', " ")), "%", &|side| {
            Some(side.profile?.stalls.get(reason)? * 100.0)
        });
    }
    rows
}

/// The reasons that warps of either version wait for most, the leading one first.
fn leading_stalls<'a>(step: &Step<'a>) -> Vec<&'a str> {
    let profiles = step.before.iter().chain([&step.now]).filter_map(|side| side.profile);
    let mut stalls: Vec<(&str, f64)> = profiles
        .flat_map(|own| own.stalls.iter().map(|(reason, share)| (reason.as_str(), *share)))
        .filter(|(reason, share)| !ELIGIBLE.contains(reason) && *share > 0.0)
        .collect();
    stalls.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut seen = BTreeSet::new();
    stalls.retain(|(reason, _)| seen.insert(*reason));
    stalls.into_iter().map(|(reason, _)| reason).take(STALLS).collect()
}

/// Lines of a difference that `explain` shows; `diff` shows all.
pub const LINES: usize = 80;

/// Columns of text if the terminal has no width.
const WIDTH: usize = 100;

/// Prints cards, and a note if not all were measured, or writes them as JSON.
pub fn show(
    cards: &[Card],
    args: &CardArgs,
    lines: usize,
    not_measured: &str,
) -> anyhow::Result<ExitCode> {
    output::check_outputs(&args.json, None)?;
    let json = || record::plain(&json!({ "schema": 4, "cards": cards }));
    let columns = terminal().map_or(WIDTH, usize::from);
    let print = |to: &mut dyn Write| -> io::Result<()> {
        cards.iter().try_for_each(|card| text(to, card, lines, columns))?;
        match cards.iter().all(|card| card.measured.is_some()) {
            true => Ok(()),
            false => writeln!(to, "{}", wrapped(not_measured, columns, "")),
        }
    };
    output::show(args.json.as_deref(), false, json, print)?;
    Ok(ExitCode::SUCCESS)
}

pub const NOT_MEASURED: &str = "No measurements given: `gpp profile` makes them on a GPU, and --from reads others, such as \
    those in data/runs of gpp's repository.";

fn text(to: &mut dyn Write, card: &Card, lines: usize, columns: usize) -> io::Result<()> {
    let mut paragraph = |text: &str| writeln!(to, "{}\n", wrapped(text, columns, ""));
    let Idea { title, text, change, source, file, .. } = &card.idea;
    let against = card.before.as_ref().map_or(String::new(), |id| format!(" against {id}"));
    paragraph(&format!("{}{against}: {title}", card.version))?;
    if lines != usize::MAX {
        text.iter().try_for_each(|text| paragraph(text))?;
    }
    let lines_of = |of: &Difference| format!("; {} lines new, {} gone", of.added, of.removed);
    let changed = card.difference.as_ref().map_or(String::new(), lines_of);
    paragraph(&format!("{change} ({source}), {file}{changed}"))?;
    if let Some(difference) = &card.difference {
        changes(to, card, difference, lines)?;
    }
    let Some(measured) = &card.measured else { return Ok(()) };
    writeln!(to, "{}", wrapped(measured, columns, ""))?;
    let before = card.before.as_deref().unwrap_or("before");
    let table = Cells::new(
        &[
            ("", &|row: &&Row| row.heading()),
            (before, &|row: &&Row| number(row.before)),
            (&card.version, &|row: &&Row| number(row.now)),
            ("change", &|row: &&Row| change_of(row)),
        ],
        &card.rows,
    );
    table.filled().print(to)?;
    for text in card.diagnosis.texts() {
        writeln!(to, "{}", wrapped(&format!("- {text}"), columns, "  "))?;
    }
    writeln!(to)
}

fn changes(
    to: &mut dyn Write,
    card: &Card,
    difference: &Difference,
    most: usize,
) -> io::Result<()> {
    let paint = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    for (sign, text) in difference.lines.iter().take(most) {
        let color = match sign {
            '+' => Some(AnsiColor::Green),
            '-' => Some(AnsiColor::Red),
            '@' => Some(AnsiColor::Cyan),
            _ => None,
        };
        let style = Style::new().fg_color(color.filter(|_| paint).map(Into::into));
        writeln!(to, "{style}{sign} {text}{style:#}")?;
    }
    if let more @ 1.. = difference.lines.len().saturating_sub(most) {
        let before = card.before.as_deref().unwrap_or_default();
        writeln!(to, "… {more} more lines: gpp diff {before} {}", card.version)?;
    }
    writeln!(to)
}

/// A number with four digits, or without decimals if it has none.
pub fn number(value: Option<f64>) -> String {
    or_dash(value.map(|value| match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => digits(value),
    }))
}

/// A row's change in percent, or as a factor of two and more.
pub fn change_of(row: &Row) -> String {
    or_dash(row.change.map(|change| match change >= 1.0 {
        true => format!("× {:.1}", change + 1.0),
        false => percent(change),
    }))
}

fn wrapped(text: &str, columns: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= columns {
            *line += &format!(" {word}");
        } else {
            lines.push(format!("{indent}{word}"));
        }
    }
    lines.join("\n")
}

// Cards of the versions of Σ as a matrix.

/// The versions named: of `offdiag` all. `None` if other versions are named.
pub fn matrices_named(names: &str) -> Option<Vec<&'static Version>> {
    match names {
        "offdiag" => Some(versions::ALL.to_vec()),
        _ => names.split(',').map(|name| versions::find(name.trim())).collect(),
    }
}

/// Shows the cards of versions: against a version or, for `None`, each against the one that it is made from.
pub fn show_matrices(
    versions: &[&'static Version],
    before: Option<&'static Version>,
    args: &CardArgs,
) -> anyhow::Result<ExitCode> {
    if args.from.is_some() {
        let what = "has no effect on versions of Σ as a matrix: `gpp report --offdiag FOLDER` shows their records";
        return Err(invalid("--from", what).into());
    }
    let card = |version: &&'static Version| {
        matrices_card(version, before.or_else(|| versions::find(version.from?)))
    };
    let cards: Vec<Card> = versions.iter().filter_map(card).collect();
    show(&cards, args, if before.is_some() { usize::MAX } else { LINES }, MATRICES_NOT_MEASURED)
}

const MATRICES_NOT_MEASURED: &str = "`gpp offdiag --version all` times these versions.";

fn matrices_card(version: &Version, before: Option<&Version>) -> Option<Card> {
    let file = matrices_file(version)?;
    let mut header = file.header().into_iter();
    let first = header.next().unwrap_or_default();
    let title = first.split_once(": ").map_or(&*first, |(_, title)| title);
    Some(Card {
        version: version.id.into(),
        before: before.map(|before| before.id.into()),
        idea: Idea {
            title: title.trim_end_matches('.').into(),
            text: header.collect(),
            change: version.change.into(),
            lines: None,
            source: "docs/off-diagonal.md".into(),
            file: file.path.into(),
        },
        difference: before.and_then(|before| Some(difference(&matrices_file(before)?, &file))),
        measured: None,
        rows: Vec::new(),
        diagnosis: Diagnosis::default(),
    })
}

fn matrices_file(version: &Version) -> Option<SourceFile> {
    let path = format!("kernels/src/offdiag/mod.rs#{}", version.id);
    sources::all().find(|file| file.path == path)
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
        assert_eq!(found.lines[0], ('@', "a/versions/v2.rs:5".into()));
        assert_eq!(found.lines[2], ('-', "    old();".into()));
        assert_eq!(difference(&now, &now).lines, []);
    }
}
