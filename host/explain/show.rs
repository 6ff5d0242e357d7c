//! Cards as text, Markdown and JSON; the steps between versions; the loop nest.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::CellAlignment;
use maud::{Markup, html};
use serde::Serialize;

use crate::catalogue::nest::{ABOUT, NEST, SUM, WORDS, changed};
use crate::catalogue::{find, order};
use crate::explain::difference::{Difference, Sign};
use crate::explain::verdict::differs;
use crate::explain::{Card, Row, SCHEMA, digits};
use crate::record::run::{SystemInfo, Times, Verdict};
use crate::terminal::{Unit, fit, or_dash, percent, table};

/// Lines of a difference that a card has, where it has not all.
const LINES: usize = 80;

/// Columns of text where the terminal says nothing.
const WIDTH: usize = 100;

/// What is shown of a card.
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

/// Cards for the terminal.
///
/// # Errors
/// Those of `to`.
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
        writeln!(to, "\n{origin}\n{}\n", fit(figures, &[], width))?;
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

/// Of a version that nothing was measured of.
const NOTHING_MEASURED: &str = "nothing measured: `gpp offdiag --version all --repeat 5 --json FOLDER/run.json` on a \
    GPU writes times, and --from FOLDER shows them; ncu's counters are in FOLDER/counters.csv";

/// Where the figures come from.
fn origin(card: &Card) -> String {
    let Some(figures) = &card.figures else { return NOTHING_MEASURED.into() };
    let of = format!("{} on {}: {}", figures.system, figures.device, figures.from);
    match &card.published_by {
        Some(by) => format!("{of}; published: {by}"),
        None => of,
    }
}

/// The table's headings and rows.
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

/// Cards for a page.
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

/// Cards for a program.
///
/// # Errors
/// Those of `to`.
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
///
/// # Errors
/// Those of `to`.
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
    writeln!(to, "\nstep by step:\n{}", fit(shown, &[1], width))
}

/// The same for a page.
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

/// A time and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChangeBetween {
    /// Median before, in seconds.
    pub before_s: f64,
    /// Median now.
    pub now_s: f64,
    /// Now over before, less one: −0.3 for a third less.
    pub change: f64,
    /// Whether the ranks of the samples tell both apart; null of too few samples.
    pub verdict: Option<Verdict>,
}

impl ChangeBetween {
    /// From some times to others.
    pub fn of(before: &Times, now: &Times) -> ChangeBetween {
        let verdict = differs(before, now);
        ChangeBetween { verdict, ..ChangeBetween::of_medians(before.median, now.median) }
    }

    /// From one time to another whose samples nobody has.
    pub fn of_medians(before_s: f64, now_s: f64) -> ChangeBetween {
        ChangeBetween { before_s, now_s, change: now_s / before_s - 1.0, verdict: None }
    }

    /// What may be said of it.
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
    /// The version before.
    pub before: &'static str,
    /// The version.
    pub version: &'static str,
    /// What it changes.
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

// The kernel in a minute, as Markdown and as a picture of its arrays.

/// The loops with their numbers, as they stand in a block of code.
pub fn loops() -> Vec<String> {
    let code =
        |line: &crate::catalogue::nest::Line| format!("{}{}", "  ".repeat(line.depth), line.code);
    let widest = NEST.iter().map(|line| code(line).chars().count()).max().unwrap_or(0);
    let numbered = NEST.iter().enumerate();
    numbered
        .map(|(at, line)| format!("{:2}  {:<widest$}  // {}", at + 1, code(line), line.why))
        .collect()
}

/// Sum, loops, picture and words, as Markdown; the picture is a file at that path.
pub fn nest_markdown(picture: &str) -> String {
    let mut text = format!("{ABOUT}\n\n```text\n{}\n```\n\n", SUM.join("\n"));
    let _ = write!(text, "```text\n{}\n```\n\n", loops().join("\n"));
    let _ = write!(
        text,
        "![The arrays and one term]({picture})\n\n| word | what it is |\n| --- | --- |\n"
    );
    for (word, meaning) in WORDS {
        let _ = writeln!(text, "| {word} | {meaning} |");
    }
    text
}

/// Which lines these versions change, as a Markdown table.
pub fn marks(versions: &[&str]) -> String {
    let numbers: Vec<String> = (1..=NEST.len()).map(|line| line.to_string()).collect();
    let mut text = format!("| version | {} |\n", numbers.join(" | "));
    let _ = writeln!(text, "| --- |{}", " :-: |".repeat(NEST.len()));
    for id in versions {
        let lines = changed(id).unwrap_or_default();
        let mark = |line| if lines.contains(&line) { "●" } else { "" };
        let marks: Vec<&str> = (1..=NEST.len()).map(mark).collect();
        let _ = writeln!(text, "| {id} | {} |", marks.join(" | "));
    }
    text
}

/// The colours of a picture that stands alone, by the reader's taste.
const ALONE: &str = "svg{--paper:#fff;--ink:#1a2129;--soft:#525d69;--rule:#c4ccd6;--raised:#eef1f5;--accent:#1857b0}\
    @media(prefers-color-scheme:dark){svg{--paper:#12161b;--ink:#e4e9ef;--soft:#a3aeba;--rule:#4a5562;\
    --raised:#232b34;--accent:#86b6ff}}";

/// A box: left, top, width, height.
type Area = [u32; 4];

const AQSN: Area = [24, 176, 110, 190];
const AQSM: Area = [200, 44, 150, 84];
const POLES: Area = [200, 176, 150, 190];
const WX: Area = [24, 100, 110, 28];
const VCOUL: Area = [200, 396, 150, 10];

/// Where the one term's band, G and G′ are.
const BAND: [u32; 2] = [70, 80];
const G: u32 = 262;
const G_PRIME: u32 = 292;

/// The arrays as areas whose sides are bands, G and G′, and what one term reads of each. Alone it brings its
/// colours, in a page it takes the page's.
pub fn picture(system: &SystemInfo, alone: bool) -> Markup {
    let said = format!(
        "Arrays of {}: aqsn is {} G by {} bands, aqsm {} G′ by the bands, the poles and eps are G by G′. A \
         term reads one element of each.",
        system.name, system.ncouls, system.nbands, system.ngpown
    );
    html! {
        svg .arrays xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 440" width="400" height="440"
            font-family="system-ui, sans-serif" font-size="14" role="img" aria-label=(said) {
            @if alone {
                style { (maud::PreEscaped(ALONE)) }
                rect width="400" height="440" fill="var(--paper)" {}
            }
            (area([POLES[0] + 10, POLES[1] - 10, POLES[2], POLES[3]]))
            @for array in [AQSN, AQSM, POLES, WX, VCOUL] { (area(array)) }
            // What one term reads: a band, a G and a G′ through all arrays.
            (strip([BAND[0], WX[1], 8, WX[3]])) (strip([BAND[0], AQSN[1], 8, AQSN[3]]))
            (strip([AQSM[0], BAND[1], AQSM[2], 8]))
            (strip([AQSN[0], G, AQSN[2], 8])) (strip([POLES[0], G, POLES[2], 8]))
            (strip([G_PRIME, AQSM[1], 8, AQSM[3]])) (strip([G_PRIME, POLES[1], 8, POLES[3]]))
            @for (x, y) in [(BAND[0], G), (G_PRIME, BAND[1]), (G_PRIME, G), (BAND[0], WX[1] + 10), (G_PRIME, VCOUL[1] + 1)] {
                rect x=(x) y=(y) width="8" height="8" fill="var(--accent)" {}
            }
            polyline points=(format!("{},{} {},{}", BAND[0] + 8, G + 4, G_PRIME, G + 4)) stroke="var(--accent)"
                stroke-width="1.5" fill="none" {}
            polyline points=(format!("{},{} {},{}", G_PRIME + 4, BAND[1] + 8, G_PRIME + 4, G)) stroke="var(--accent)"
                stroke-width="1.5" fill="none" {}
            (nest_text(24, 24, "a term reads one", true)) (nest_text(24, 42, "element of each", true))
            (nest_text(24, 92, "wx(iw,n)", true))
            (nest_text(200, 34, "aqsm(igp,n)", true))
            (nest_text(24, 168, "aqsn(ig,n)", true))
            (nest_text(200, 158, "ω̃, eps(ig,igp)", true))
            (nest_text(200, 424, "vcoul(igp)", true))
            (nest_text(24, 384, &format!("n: {} bands →", system.nbands), false))
            (nest_text(24, 402, &format!("ig: {} G ↓", system.ncouls), false))
            (nest_text(24, 420, &format!("igp: {} G′ →", system.ngpown), false))
        }
    }
}

fn area([x, y, width, height]: Area) -> Markup {
    html! {
        rect x=(x) y=(y) width=(width) height=(height) fill="var(--raised)" stroke="var(--soft)" {}
    }
}

fn strip([x, y, width, height]: Area) -> Markup {
    html! { rect x=(x) y=(y) width=(width) height=(height) fill="var(--rule)" {} }
}

fn nest_text(x: u32, y: u32, text: &str, is_name: bool) -> Markup {
    let fill = if is_name { "var(--ink)" } else { "var(--soft)" };
    html! { text x=(x) y=(y) fill=(fill) { (text) } }
}
