//! Table I and the tables of other journeys for the terminal, a page, a spreadsheet and a program.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::Range;

use comfy_table::CellAlignment;
use serde_json::json;

use crate::catalogue;
use crate::record::plain;
use crate::record::run::Verdict;
use crate::table::{Row, Section};
use crate::terminal::{Unit, fit, or_dash, rated_by, sigma, table, terminal};

const SCHEMA: u32 = 4;

/// What stands above a section: the system, the device, and which journey where it is not the paper's.
pub fn title(section: &Section) -> String {
    match section.journey {
        "paper" => section.title.clone(),
        journey => format!("{journey}: {}", section.title),
    }
}

/// Which system the published columns of a section are of, where its source names none.
pub fn of_which_system(section: &Section) -> Option<String> {
    let told =
        section.rows.iter().any(|row| row.published_time_s.or(row.published_tflops).is_some());
    let journey = section.journey;
    told.then(|| format!("V100: as the {journey} publishes it, of a system that it does not name"))
}

/// The tables for the terminal, one for each section.
pub fn text(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    let width = terminal();
    for section in sections {
        writeln!(to, "{}\n{}", title(section), section_table(section, width))?;
        for what in &section.left_out {
            writeln!(to, "left out: {what}")?;
        }
        let differs = section.rows.iter().any(|row| row.order_differs || is_noise(row));
        if let Some(said) = mark(section).filter(|_| differs) {
            writeln!(to, "{said}")?;
        }
        if let Some(said) = of_which_system(section) {
            writeln!(to, "{said}")?;
        }
    }
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let sources: BTreeSet<&str> = rows().map(|row| row.flops_source.as_str()).collect();
    for source in sources {
        writeln!(to, "{}", rated_by(source))?;
    }
    Ok(())
}

fn section_table(section: &Section, width: Option<u16>) -> String {
    let Columns { headings, rows, words, .. } = columns(section);
    let headings: Vec<String> =
        headings.iter().map(|heading| heading.replace("V100 ", "V100\n")).collect();
    // The system stands above the table.
    let mut table = table(&headings[1..]);
    if let Some(column) = words.and_then(|at| table.column_mut(at - 1)) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for row in &rows {
        table.add_row(&row[1..]);
    }
    fit(table, width)
}

pub fn markdown(sections: &[Section]) -> String {
    fn line(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
        let cells: Vec<_> = cells.into_iter().collect();
        let cells: Vec<&str> = cells.iter().map(AsRef::as_ref).collect();
        format!("| {} |\n", cells.join(" | "))
    }
    let rule = |columns: usize| line(vec!["---"; columns]);
    let mut text = String::new();
    for section in sections {
        let Columns { headings, rows, .. } = columns(section).filled();
        let own: String = rows.iter().map(line).collect();
        let left_out: String =
            section.left_out.iter().map(|what| format!("- left out: {what}\n")).collect();
        let table = format!("{}{}{own}", line(&headings), rule(headings.len()));
        text += &format!("{}:\n\n{table}\n", title(section));
        if !left_out.is_empty() {
            text += &format!("{left_out}\n");
        }
    }
    let mut notes: Vec<String> = Vec::new();
    for note in sections.iter().filter_map(mark).chain(sections.iter().filter_map(of_which_system))
    {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    text += &format!("{}\n", notes.join("\n\n"));
    text
}

pub fn csv(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    for row in sections.iter().flat_map(|section| &section.rows) {
        csv.serialize(row)?;
    }
    csv.flush()
}

pub fn json(to: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    let left_out = sections.iter().flat_map(|section| {
        section.left_out.iter().map(|what| format!("{}: {what}", section.title))
    });
    let run = |s: &Section| json!({ "title": s.title, "provenance": s.provenance });
    let document = json!({
        "schema": SCHEMA,
        "complete": sections.iter().all(|section| section.complete),
        "runs": sections.iter().map(run).collect::<Vec<_>>(),
        "rows": sections.iter().flat_map(|section| &section.rows).collect::<Vec<_>>(),
        "left_out": left_out.collect::<Vec<_>>(),
    });
    writeln!(to, "{}", plain(&document))
}

// The columns of Table I and of the tables of other journeys.

/// Headings and cells of a section.
pub struct Columns {
    /// Headings, in every format of the table.
    pub headings: Vec<String>,
    /// Of its rows; a version whose step goes the other way than in what was published has a mark.
    pub rows: Vec<Vec<String>>,
    pub words: Option<usize>,
    /// Columns that are left out where no row has a value. Outside the paper's table these are all: other
    /// journeys publish other quantities.
    optional: Range<usize>,
}

/// Whether a section is told by the paper, whose table has columns of its own.
fn is_papers(section: &Section) -> bool {
    section.journey == "paper"
}

/// What the marks mean beside a section: where times were published to compare with, and where a step is within
/// noise.
pub fn mark(section: &Section) -> Option<String> {
    let there = if is_papers(section) { "paper" } else { section.journey };
    let has_times = |row: &Row| row.paper_time_s.or(row.published_time_s).is_some();
    let order = section.rows.iter().any(has_times).then(|| {
        format!(
            "* against the version before: faster here and slower in the {there}, or the other way \
             round"
        )
    });
    let noise = section.rows.iter().any(is_noise).then(|| NOISE.to_string());
    let said: Vec<String> = order.into_iter().chain(noise).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

/// What the mark of a small step means.
const NOISE: &str = "≈ not told apart from the version before by the ranks of their times";

/// Whether noise explains the step from the version before.
pub fn is_noise(row: &Row) -> bool {
    row.step == Some(Verdict::Noise)
}

pub fn columns(section: &Section) -> Columns {
    let own = if is_papers(section) { papers } else { journeys };
    own(section)
}

/// Those of the paper's Table I.
fn papers(section: &Section) -> Columns {
    let baseline = section.baseline;
    let Units { time, rate, .. } = Units::of(section);
    let headings = [
        "system",
        "version",
        &format!("median [{}]", time.name),
        "σ",
        &format!("95 % interval [{}]", time.name),
        "SM [MHz]",
        "cycles [10⁶]",
        "energy [J]",
        "clock lost",
        rate.name,
        &format!("over {baseline}"),
        "warps/SM",
        "registers",
        "V100 time [ms]",
        "V100 TFLOP/s",
        &format!("V100 over {baseline}"),
        "V100 warps/SM",
        "V100 registers",
    ]
    .map(str::to_string);
    let cells = |row: &Row| {
        vec![
            row.system.clone(),
            marked(row),
            time.show(row.time_s),
            sigma(&row.times),
            or_dash(interval(row, time)),
            or_dash(row.sm_mhz.map(|clock| format!("{clock:.0}"))),
            or_dash(row.cycles.map(|cycles| crate::terminal::digits(cycles / 1e6))),
            or_dash(row.energy_j.map(crate::terminal::digits)),
            or_dash(row.held_back_by.as_ref()),
            or_dash(row.tflops.map(|tera| rate.show(tera * 1e12))),
            or_dash(row.over_baseline.map(times)),
            or_dash(row.warps_per_sm),
            or_dash(row.registers),
            or_dash(row.paper_time_s.map(milliseconds)),
            or_dash(row.paper_tflops.map(|rate| format!("{rate:.2}"))),
            or_dash(row.paper_over_baseline.map(times)),
            or_dash(row.paper_warps_per_sm),
            or_dash(row.paper_registers),
        ]
    };
    Columns {
        headings: headings.into(),
        rows: section.rows.iter().map(cells).collect(),
        words: None,
        optional: 3..9,
    }
}

/// Those of another journey: what it publishes, and what it changes.
fn journeys(section: &Section) -> Columns {
    let baseline = section.baseline.rsplit(':').next().unwrap_or_default();
    let Units { time, operations, rate } = Units::of(section);
    let headings = [
        "system",
        "version",
        "what it changes",
        &format!("median [{}]", time.name),
        "σ",
        &format!("95 % interval [{}]", time.name),
        "SM [MHz]",
        "cycles [10⁶]",
        "energy [J]",
        "clock lost",
        operations.name,
        rate.name,
        &format!("over {baseline}"),
        "FLOP/byte",
        "warps/SM",
        "registers",
        "V100 time [ms]",
        "V100 TFLOP",
        "V100 TFLOP/s",
        &format!("V100 over {baseline}"),
        "V100 FLOP/byte",
    ]
    .map(str::to_string);
    let cells = |row: &Row| {
        let change = catalogue::find(&row.version).map(|listed| listed.version.change);
        vec![
            row.system.clone(),
            marked(row),
            or_dash(change),
            time.show(row.time_s),
            sigma(&row.times),
            or_dash(interval(row, time)),
            or_dash(row.sm_mhz.map(|clock| format!("{clock:.0}"))),
            or_dash(row.cycles.map(|cycles| crate::terminal::digits(cycles / 1e6))),
            or_dash(row.energy_j.map(crate::terminal::digits)),
            or_dash(row.held_back_by.as_ref()),
            or_dash(row.tflop.map(|tera| operations.show(tera * 1e12))),
            or_dash(row.tflops.map(|tera| rate.show(tera * 1e12))),
            or_dash(row.over_baseline.map(times)),
            or_dash(row.intensity.map(crate::terminal::digits)),
            or_dash(row.warps_per_sm),
            or_dash(row.registers),
            or_dash(row.published_time_s.map(milliseconds)),
            or_dash(row.published_tflop.map(|count| format!("{count:.2}"))),
            or_dash(row.published_tflops.map(|rate| format!("{rate:.2}"))),
            or_dash(row.published_over_baseline.map(times)),
            or_dash(row.published_intensity),
        ]
    };
    Columns {
        headings: headings.into(),
        rows: section.rows.iter().map(cells).collect(),
        words: Some(2),
        optional: 0..21,
    }
}

impl Columns {
    /// Without the columns that may be left out and in which no row has a value.
    pub fn filled(self) -> Columns {
        if self.rows.is_empty() {
            return self;
        }
        let empty =
            |at: usize| self.optional.contains(&at) && self.rows.iter().all(|row| row[at] == "–");
        let kept: Vec<usize> = (0..self.headings.len()).filter(|&at| !empty(at)).collect();
        let of = |cells: &[String]| kept.iter().map(|&at| cells[at].clone()).collect();
        Columns {
            headings: of(&self.headings),
            rows: self.rows.iter().map(|row| of(row)).collect(),
            optional: 0..0,
            words: self.words.and_then(|at| kept.iter().position(|&own| own == at)),
        }
    }
}

fn marked(row: &Row) -> String {
    let mark = if row.order_differs && !is_noise(row) { "*" } else { "" };
    let noise = if is_noise(row) { "≈" } else { "" };
    format!("{}{mark}{noise}", row.version)
}

fn interval(row: &Row, unit: Unit) -> Option<String> {
    let [from, to] = [row.interval_from_s?, row.interval_to_s?].map(|time| unit.show(time));
    Some(format!("{from}–{to}"))
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.0}", seconds * 1e3)
}

/// The units of a section: those of what was published beside it, where anything was.
struct Units {
    time: Unit,
    operations: Unit,
    rate: Unit,
}

impl Units {
    fn of(section: &Section) -> Units {
        let rows = || section.rows.iter();
        if rows().any(|row| row.paper_time_s.or(row.published_time_s).is_some()) {
            let tera = [1e12];
            let (operations, rate) = (Unit::of_operations(tera), Unit::of_rates(tera));
            return Units { time: Unit::MILLISECONDS, operations, rate };
        }
        let tera = |of: fn(&Row) -> Option<f64>| rows().filter_map(of).map(|tera| tera * 1e12);
        Units {
            time: Unit::of_times(rows().map(|row| row.time_s)),
            operations: Unit::of_operations(tera(|row| row.tflop)),
            rate: Unit::of_rates(tera(|row| row.tflops)),
        }
    }
}
