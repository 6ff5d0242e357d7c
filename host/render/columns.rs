//! The columns of Table I and of the tables of other journeys.

use std::ops::Range;

use super::table::or_dash;
use crate::analysis::table1::{Row, Section};
use crate::catalogue;
use crate::record::times::Verdict;

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
    /// Columns that are left out where no row has a value: in tables of other journeys than the paper's all,
    /// since these differ in what they publish.
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
const NOISE: &str = "≈ as fast as the version before, to within noise";

/// Whether noise explains the step from the version before.
pub fn is_noise(row: &Row) -> bool {
    row.step == Some(Verdict::Noise)
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
        "95 % interval [ms]",
        "SM [MHz]",
        "cycles [10⁶]",
        "energy [J]",
        "held back by",
        "TFLOP/s",
        &section.by.over(baseline),
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
            or_dash(interval(row)),
            or_dash(row.sm_mhz.map(|clock| format!("{clock:.0}"))),
            or_dash(row.cycles.map(|cycles| digits(cycles / 1e6, 1))),
            or_dash(row.energy_j.map(|energy| digits(energy, 1))),
            or_dash(row.held_back_by.as_ref()),
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
        spare: &[3, 17, 16, 8, 4, 12, 11, 14, 6],
        words: None,
        optional: 4..9,
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
        "95 % interval [ms]",
        "SM [MHz]",
        "cycles [10⁶]",
        "energy [J]",
        "held back by",
        "TFLOP",
        "TFLOP/s",
        &section.by.over(baseline),
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
            or_dash(interval(row)),
            or_dash(row.sm_mhz.map(|clock| format!("{clock:.0}"))),
            or_dash(row.cycles.map(|cycles| digits(cycles / 1e6, 1))),
            or_dash(row.energy_j.map(|energy| digits(energy, 1))),
            or_dash(row.held_back_by.as_ref()),
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
        spare: &[2, 4, 9, 5, 15, 14, 17, 19, 7],
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
            spare: &[],
            optional: 0..0,
            words: self.words.and_then(|at| kept.iter().position(|&own| own == at)),
        }
    }
}

fn marked(row: &Row) -> String {
    let mark = if row.order_differs { "*" } else { "" };
    let noise = if is_noise(row) { "≈" } else { "" };
    format!("{}{mark}{noise}", row.version)
}

fn sigma(row: &Row) -> Option<String> {
    row.sigma_s.map(|sigma| format!("{:.1} %", 100.0 * sigma / row.time_s))
}

fn interval(row: &Row) -> Option<String> {
    let [from, to] = [row.interval_from_s?, row.interval_to_s?].map(|time| digits(time * 1e3, 2));
    Some(format!("{from}–{to}"))
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
