//! The columns of Table I and of the tables of other journeys.

use super::table::or_dash;
use crate::analysis::table1::{Row, Section};
use crate::catalogue;

/// Headings and cells of a section.
pub struct Columns {
    /// The same in every form.
    pub headings: Vec<String>,
    /// Of its rows; a version whose step goes the other way than in what was published has a mark.
    pub rows: Vec<Vec<String>>,
    /// Columns that a narrow terminal goes without, the first of them first.
    pub spare: &'static [usize],
    /// A column of words.
    pub words: Option<usize>,
}

/// Whether a section is told by the paper, whose table has columns of its own.
fn is_papers(section: &Section) -> bool {
    section.journey == "paper"
}

/// What the mark means beside a section, where times were published to compare with.
pub fn mark(section: &Section) -> Option<String> {
    let there = if is_papers(section) { "paper" } else { section.journey };
    let has_times = |row: &Row| row.paper_time_s.or(row.published_time_s).is_some();
    section.rows.iter().any(has_times).then(|| {
        format!(
            "* against the version before: faster here and slower in the {there}, or the other way \
             round"
        )
    })
}

/// The columns of a section.
pub fn columns(section: &Section) -> Columns {
    let own = if is_papers(section) { papers } else { journeys };
    own(section)
}

/// Those of the paper's Table I.
fn papers(section: &Section) -> Columns {
    let baseline = section.baseline;
    let headings = [
        "system",
        "version",
        "median [ms]",
        "σ",
        "TFLOP/s",
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
            digits(row.time_s * 1e3, 1),
            or_dash(sigma(row)),
            or_dash(row.tflops.map(|rate| digits(rate, 2))),
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
        spare: &[3, 12, 11, 7, 6, 9],
        words: None,
    }
}

/// Those of another journey: what it publishes, and what it changes.
fn journeys(section: &Section) -> Columns {
    let baseline = section.baseline.rsplit(':').next().unwrap_or_default();
    let headings = [
        "system",
        "version",
        "what it changes",
        "median [ms]",
        "σ",
        "TFLOP",
        "TFLOP/s",
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
            digits(row.time_s * 1e3, 1),
            or_dash(sigma(row)),
            or_dash(row.tflop.map(|count| digits(count, 2))),
            or_dash(row.tflops.map(|rate| digits(rate, 2))),
            or_dash(row.over_baseline.map(times)),
            or_dash(row.intensity.map(|intensity| digits(intensity, 1))),
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
        spare: &[2, 4, 10, 9, 12, 14],
        words: Some(2),
    }
}

impl Columns {
    /// Without the columns in which no row has a value, in the tables of other journeys than the
    /// paper's: these differ in what they publish.
    pub fn filled(self, section: &Section) -> Columns {
        let empty = |at: usize| self.rows.iter().all(|row| row[at] == "–");
        if is_papers(section) || self.rows.is_empty() {
            return self;
        }
        let kept: Vec<usize> = (0..self.headings.len()).filter(|&at| !empty(at)).collect();
        let of = |cells: &[String]| kept.iter().map(|&at| cells[at].clone()).collect();
        Columns {
            headings: of(&self.headings),
            rows: self.rows.iter().map(|row| of(row)).collect(),
            spare: &[],
            words: self.words.and_then(|at| kept.iter().position(|&own| own == at)),
        }
    }
}

fn marked(row: &Row) -> String {
    let mark = if row.order_differs { "*" } else { "" };
    format!("{}{mark}", row.version)
}

fn sigma(row: &Row) -> Option<String> {
    row.sigma_s.map(|sigma| format!("{:.1} %", 100.0 * sigma / row.time_s))
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.0}", seconds * 1e3)
}

/// A number with so many decimals, or with those that three digits take.
fn digits(value: f64, decimals: usize) -> String {
    let first = value.abs().log10().floor();
    let needed = if first.is_finite() { (2.0 - first).clamp(0.0, 15.0) as usize } else { 0 };
    format!("{value:.*}", needed.max(decimals))
}
