//! Cards as text, Markdown and JSON; the steps between versions; the loop nest.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::CellAlignment;
use serde::Serialize;

use crate::catalogue::{find, order};
use crate::explain::difference::{Difference, Sign};
use crate::explain::verdict::differs;
use crate::explain::{Card, Row, SCHEMA, digits};
use crate::record::run::{Times, Verdict};
use crate::terminal::{Unit, fit, or_dash, percent, table};

/// Lines of a difference that a card has, where it has not all.
const LINES: usize = 80;

/// Columns of text where the terminal says nothing.
const WIDTH: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// The idea, the beginning of a long difference, figures and verdict.
    Explained,
    /// The whole difference, figures and verdict.
    Compared,
}

/// A number with three digits, or with all those before the point.
pub fn number(value: Option<f64>) -> String {
    match value {
        None => "–".into(),
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => digits(value),
    }
}

/// A change in percent, or as a factor of two and more; a dash where there is none.
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

pub fn text(
    to: &mut dyn Write,
    cards: &[Card],
    parts: Parts,
    width: Option<u16>,
) -> io::Result<()> {
    let paint = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let columns = width.map_or(WIDTH, usize::from);
    for (at, card) in cards.iter().enumerate() {
        if at > 0 {
            writeln!(to)?;
        }
        writeln!(to, "{}", painted(&heading(card), Style::new().bold(), paint))?;
        if parts == Parts::Explained {
            for paragraph in &card.idea.text {
                writeln!(to, "\n{}", wrapped(paragraph, columns, ""))?;
            }
        }
        writeln!(to, "\n{}", wrapped(&source(card), columns, ""))?;
        if let Some(difference) = &card.difference {
            changes(to, difference, most(parts), paint)?;
            write!(to, "{}", rest(card, difference, parts))?;
        }
        let (headings, rows) = cells(card);
        let mut figures = table(&headings);
        figures.add_rows(rows);
        let origin = wrapped(&origin(card), columns, "");
        writeln!(to, "\n{origin}\n{}\n", fit(figures, width))?;
        for statement in &card.verdict {
            writeln!(to, "{}", wrapped(&format!("- {}", statement.text), columns, "  "))?;
        }
    }
    Ok(())
}

fn most(parts: Parts) -> usize {
    if parts == Parts::Explained { LINES } else { usize::MAX }
}

fn heading(card: &Card) -> String {
    let title = card.idea.title.trim_end_matches('.');
    match &card.before {
        Some(before) => format!("{} against {before}: {title}", card.version),
        None => format!("{}: {title}", card.version),
    }
}

/// Where the idea is from, and how much of the source changed.
fn source(card: &Card) -> String {
    let idea = &card.idea;
    let from = format!("{} ({}), {}", idea.change, idea.source, idea.file);
    match (&card.difference, &card.before) {
        (Some(changed), Some(before)) => {
            format!(
                "{from}; against {before} {} lines new, {} gone",
                changed.added, changed.removed
            )
        }
        _ => format!("{from}; nothing before it to compare with"),
    }
}

fn rest(card: &Card, difference: &Difference, parts: Parts) -> String {
    let all: usize = difference.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    match all.saturating_sub(most(parts)) {
        0 => String::new(),
        left => {
            let before = card.before.as_deref().unwrap_or_default();
            format!("… {left} more lines: gpp diff {before} {}\n", card.version)
        }
    }
}

fn changes(
    to: &mut dyn Write,
    difference: &Difference,
    most: usize,
    paint: bool,
) -> io::Result<()> {
    let mut left = most;
    for hunk in &difference.hunks {
        if left == 0 {
            break;
        }
        let style = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
        writeln!(to, "{}", painted(&hunk.place(), style, paint))?;
        for line in hunk.lines.iter().take(left) {
            let color = match line.sign {
                Sign::Kept => None,
                Sign::Added => Some(AnsiColor::Green.into()),
                Sign::Removed => Some(AnsiColor::Red.into()),
            };
            let text = format!("{} {}", line.sign.sign(), line.text);
            writeln!(to, "{}", painted(&text, Style::new().fg_color(color), paint))?;
        }
        left -= hunk.lines.len().min(left);
    }
    Ok(())
}

fn painted(text: &str, style: Style, paint: bool) -> String {
    if paint { format!("{style}{text}{style:#}") } else { text.into() }
}

const NOTHING_MEASURED: &str = "nothing measured: `gpp offdiag --version all --repeat 5 --json FOLDER/run.json` on a \
    GPU writes times, and --from FOLDER shows them; ncu's counters are in FOLDER/counters.csv";

fn origin(card: &Card) -> String {
    let Some(figures) = &card.figures else { return NOTHING_MEASURED.into() };
    let of = format!("{} on {}: {}", figures.system, figures.device, figures.from);
    match &card.published_by {
        Some(by) => format!("{of}; published: {by}"),
        None => of,
    }
}

fn cells(card: &Card) -> (Vec<String>, Vec<Vec<String>>) {
    let published = card.rows.iter().any(|row| row.published.is_some());
    let before = card.before.as_deref();
    let mut headings = vec!["".to_string()];
    headings.extend(before.map(str::to_string));
    headings.push(card.version.clone());
    headings.extend(before.map(|_| "change".to_string()));
    if published {
        headings.extend(before.map(|before| format!("V100 {before}")));
        headings.push(format!("V100 {}", card.version));
        headings.extend(before.map(|_| "V100 change".to_string()));
    }
    let cells = |row: &Row| {
        let unit = if row.unit.is_empty() { String::new() } else { format!(" [{}]", row.unit) };
        let mut cells = vec![format!("{}{unit}", row.name)];
        cells.extend(before.map(|_| number(row.before)));
        cells.push(number(row.now));
        cells.extend(before.map(|_| change(row.change)));
        if published {
            let pair = row.published;
            cells.extend(before.map(|_| number(pair.and_then(|pair| pair.before))));
            cells.push(number(pair.map(|pair| pair.now)));
            cells.extend(before.map(|_| change(pair.and_then(|pair| pair.change))));
        }
        cells
    };
    (headings, card.rows.iter().map(cells).collect())
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

pub fn markdown(cards: &[Card], parts: Parts) -> String {
    cards.iter().map(|card| markdown_card(card, parts)).collect::<Vec<_>>().join("\n")
}

fn markdown_card(card: &Card, parts: Parts) -> String {
    let mut page = format!("## {}\n\n", heading(card));
    if parts == Parts::Explained {
        card.idea.text.iter().for_each(|paragraph| {
            let _ = write!(page, "{paragraph}\n\n");
        });
    }
    let _ = write!(page, "{}\n\n", source(card));
    if let Some(difference) = &card.difference {
        let mut lines = Vec::new();
        // Into memory nothing fails.
        let _ = changes(&mut lines, difference, most(parts), false);
        let lines = String::from_utf8_lossy(&lines);
        let rest = rest(card, difference, parts);
        let _ = write!(page, "```diff\n{lines}```\n\n{rest}");
    }
    let (headings, rows) = cells(card);
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = vec!["---".to_string(); headings.len()];
    let _ = write!(page, "{}\n\n{}{}", origin(card), line(&headings), line(&rule));
    rows.iter().for_each(|row| page.push_str(&line(row)));
    page.push('\n');
    card.verdict.iter().for_each(|statement| {
        let _ = writeln!(page, "- {}", statement.text);
    });
    page
}

pub fn json(to: &mut dyn Write, cards: &[Card], steps: &[StepBetween]) -> io::Result<()> {
    #[derive(Serialize)]
    struct Cards<'a> {
        schema: u32,
        cards: &'a [Card],
        #[serde(skip_serializing_if = "<[StepBetween]>::is_empty")]
        steps: &'a [StepBetween],
    }
    writeln!(to, "{}", crate::record::plain(&Cards { schema: SCHEMA, cards, steps }))
}

// The steps between two versions, a line each.

/// The steps between two versions as a table; nothing where there are none.
pub fn steps_text(to: &mut dyn Write, steps: &[StepBetween], width: Option<u16>) -> io::Result<()> {
    if steps.is_empty() {
        return Ok(());
    }
    let (headings, rows) = steps_cells(steps);
    let mut shown = table(&headings);
    for at in [1, 4] {
        if let Some(column) = shown.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Left);
        }
    }
    shown.add_rows(rows);
    writeln!(to, "\nstep by step:\n{}", fit(shown, width))
}

pub fn steps_markdown(steps: &[StepBetween]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let (headings, rows) = steps_cells(steps);
    let rule = vec!["---".to_string(); headings.len()];
    let all = [vec![headings, rule], rows].concat();
    let lines = all.iter().map(|cells| format!("| {} |\n", cells.join(" | ")));
    format!("\nStep by step:\n\n{}", lines.collect::<String>())
}

fn steps_cells(steps: &[StepBetween]) -> (Vec<String>, Vec<Vec<String>>) {
    let times = steps.iter().filter_map(|step| step.time);
    let unit = Unit::of_times(times.map(|time| time.now_s));
    let time = format!("time [{}]", unit.name);
    let headings = ["version", "what it changes", &time, "change", "by the ranks of the times"];
    let row = |step: &StepBetween| {
        vec![
            step.version.into(),
            step.what.into(),
            or_dash(step.time.map(|time| unit.show(time.now_s))),
            or_dash(step.time.map(|time| percent(time.change))),
            or_dash(step.time.map(|time| time.words())),
        ]
    };
    (headings.map(str::to_string).into(), steps.iter().map(row).collect())
}

// How times changed from one version to the next.

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChangeBetween {
    pub before_s: f64,
    pub now_s: f64,
    /// Now over before, less one: −0.3 for a third less.
    pub change: f64,
    /// Whether the ranks of the samples tell both apart; null of too few samples.
    pub verdict: Option<Verdict>,
}

impl ChangeBetween {
    pub fn of(before: &Times, now: &Times) -> ChangeBetween {
        let verdict = differs(before, now);
        ChangeBetween { verdict, ..ChangeBetween::of_medians(before.median, now.median) }
    }

    /// From one time to another whose samples nobody has.
    pub fn of_medians(before_s: f64, now_s: f64) -> ChangeBetween {
        ChangeBetween { before_s, now_s, change: now_s / before_s - 1.0, verdict: None }
    }

    pub fn words(&self) -> &'static str {
        match self.verdict {
            Some(Verdict::Differs) if self.change < 0.0 => "faster",
            Some(Verdict::Differs) => "slower",
            Some(Verdict::Noise) => "not told apart",
            None => "too few runs to tell",
        }
    }
}

/// A version after the one before it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepBetween {
    pub before: &'static str,
    pub version: &'static str,
    pub what: &'static str,
    /// Its time after that of the version before; null where the records lack one.
    pub time: Option<ChangeBetween>,
}

/// The steps from one version to a later one of the same story, where there are several; `time` is what
/// changed from one to the next.
pub fn steps(
    first: &str,
    last: &str,
    time: impl Fn(&str, &str) -> Option<ChangeBetween>,
) -> Vec<StepBetween> {
    let ids = between(first, last);
    let step = |pair: &[&'static str]| {
        let (before, version) = (pair[0], pair[1]);
        let what = find(version)?.version.change;
        Some(StepBetween { before, version, what, time: time(before, version) })
    };
    if ids.len() < 3 { Vec::new() } else { ids.windows(2).filter_map(step).collect() }
}

/// The versions from one to a later one of the same story; none where they are of two.
pub fn between(first: &str, last: &str) -> Vec<&'static str> {
    let stories = [first, last].map(|id| order::story(id).map(|story| story.id));
    if stories[0] == stories[1] { order::range(first, last) } else { Vec::new() }
}
